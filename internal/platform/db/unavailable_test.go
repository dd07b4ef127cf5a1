package db_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"
	"time"

	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/testkit"
)

func write(ctx context.Context, d *db.DB) error {
	return d.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		_, err := tx.Exec(ctx, `INSERT INTO signal_messages (topic, payload, created_at) VALUES ('x', '', 1)`)
		return err
	})
}

func read(ctx context.Context, d *db.DB) error {
	var n int
	return d.QueryRow(ctx, `SELECT COUNT(*) FROM signal_messages`).Scan(&n)
}

// An outage is told from a mistake of ours and from the failures of other servers.
func TestAnOutageIsKnown(t *testing.T) {
	t.Parallel()
	for name, err := range map[string]error{
		"nothing": nil, "no rows": db.ErrNoRows, "a mistake": errors.New("no such column"),
		"another server": fmt.Errorf("ask the panel: %w", io.ErrUnexpectedEOF), "the caller": context.Canceled,
	} {
		if db.Unavailable(err) {
			t.Errorf("%s is taken for an outage", name)
		}
	}
	testkit.Engines(t, func(t *testing.T, d *db.DB, _ *clock.Fake) {
		ctx := t.Context()
		var x int
		if err := d.QueryRow(ctx, `SELECT nothing FROM signal_messages`).Scan(&x); err == nil || db.Unavailable(err) {
			t.Errorf("a wrong statement: %v", err)
		}
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
		for name, err := range map[string]error{"a read": read(ctx, d), "a write": write(ctx, d)} {
			if !db.Unavailable(fmt.Errorf("section: %w", err)) {
				t.Errorf("%s without connections: %v", name, err)
			}
		}
	})
}

func TestAStoppedServerIsAnOutage(t *testing.T) {
	t.Parallel()
	clk := clock.NewFake(testkit.Start)
	url := testkit.PostgresURL(t)
	d := testkit.Open(t, url, clk)
	if err := errors.Join(read(t.Context(), d), write(t.Context(), d)); err != nil {
		t.Fatal(err)
	}
	var during error
	err := d.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
		var n int
		if err := tx.QueryRow(ctx, `SELECT 1`).Scan(&n); err != nil {
			return err
		}
		defer testkit.Outage(t, url)()
		_, during = tx.Exec(ctx, `INSERT INTO signal_messages (topic, payload, created_at) VALUES ('x', '', 1)`)
		for name, err := range map[string]error{"a read": read(t.Context(), d), "a write": write(t.Context(), d)} {
			if !db.Unavailable(err) {
				t.Errorf("%s while the server is stopped: %v", name, err)
			}
		}
		return during
	})
	if !db.Unavailable(during) || !db.Unavailable(err) {
		t.Errorf("in a transaction: %v, %v", during, err)
	}
	testkit.Eventually(t, time.Minute, func() bool { return write(t.Context(), d) == nil }, "the server answers again")
}

func TestAFullOrBusyFileIsAnOutage(t *testing.T) {
	t.Parallel()
	clk := clock.NewFake(testkit.Start)
	d := testkit.SQLite(t, clk)
	err := d.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
		if _, err := tx.Exec(ctx, `PRAGMA max_page_count = 1`); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, `INSERT INTO signal_messages (topic, payload, created_at) VALUES ('x', hex(zeroblob(10000000)), 1)`)
		return err
	})
	if !db.Unavailable(err) {
		t.Errorf("a full disk: %v", err)
	}
}

// A full pool has its callers wait, and then says that it is full: with one client after another that waits for ever,
// nobody would be answered.
func TestAFullPoolIsAnOutageAfterAWait(t *testing.T) {
	t.Parallel()
	const wait = 300 * time.Millisecond
	d, err := db.Open(t.Context(), db.Config{
		URL: testkit.PostgresURL(t), Clock: clock.NewFake(testkit.Start), MaxConns: 1, MaxReaders: 1, Wait: wait,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	full := func(do func(context.Context, *db.DB) error) {
		t.Helper()
		since := clock.Stopwatch()
		if err := do(t.Context(), d); !db.Unavailable(err) {
			t.Errorf("of a full pool: %v", err)
		}
		if took := since(); took < wait || took > wait+5*time.Second {
			t.Errorf("it waited %v", took)
		}
	}
	err = d.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
		full(write)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	rows, err := d.Query(t.Context(), `SELECT 1`)
	if err != nil {
		t.Fatal(err)
	}
	full(read)
	rows.Close()
	for name, do := range map[string]func(context.Context, *db.DB) error{"read": read, "write": write} {
		for range 3 { // each gives its connection back
			if err := do(t.Context(), d); err != nil {
				t.Errorf("%s afterwards: %v", name, err)
			}
		}
	}
	short, cancel := context.WithTimeout(t.Context(), wait/3)
	defer cancel()
	err = d.InTx(t.Context(), func(context.Context, *db.Tx) error {
		if err := write(short, d); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a caller whose own time is up: %v", err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
