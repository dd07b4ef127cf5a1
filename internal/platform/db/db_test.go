package db_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/testkit"
)

// count reads a table of the platform that these tests may write to.
func count(t *testing.T, q db.Querier) (n int) {
	t.Helper()
	if err := q.QueryRow(t.Context(), `SELECT count(*) FROM signal_messages`).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

func insert(ctx context.Context, tx *db.Tx, topic string) error {
	_, err := tx.Exec(ctx, `INSERT INTO signal_messages (topic, payload, created_at) VALUES ($1, $2, $3)`, topic, "", tx.Now)
	return err
}

func TestTransactionsCommitWholeOrNotAtAll(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, _ *clock.Fake) {
		boom := errors.New("boom")
		err := d.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
			if err := insert(ctx, tx, "a"); err != nil {
				return err
			}
			return boom
		})
		if !errors.Is(err, boom) || count(t, d) != 0 {
			t.Fatalf("a failed transaction left %d rows, error %v", count(t, d), err)
		}
		committed := false
		err = d.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
			tx.OnCommit(func() { committed = true })
			return insert(ctx, tx, "a")
		})
		if err != nil || count(t, d) != 1 || !committed {
			t.Fatalf("rows %d, told of the commit %v, error %v", count(t, d), committed, err)
		}
	})
}

func TestThePlainHandleCannotWrite(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, _ *clock.Fake) {
		var id int64
		err := d.QueryRow(t.Context(), `INSERT INTO signal_messages (topic, payload, created_at) VALUES ('x', '', 1) RETURNING id`).Scan(&id)
		if err == nil {
			t.Fatal("an INSERT through the reading handle went through")
		}
		if n := count(t, d); n != 0 {
			t.Fatalf("%d rows", n)
		}
	})
}

func TestSavepointUndoesOnlyItsPart(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, _ *clock.Fake) {
		var told []string
		err := d.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
			if err := insert(ctx, tx, "kept"); err != nil {
				return err
			}
			tx.OnCommit(func() { told = append(told, "kept") })
			err := tx.Savepoint(ctx, func(ctx context.Context) error {
				tx.OnCommit(func() { told = append(told, "undone") })
				if err := insert(ctx, tx, "undone"); err != nil {
					return err
				}
				_, err := tx.Exec(ctx, `INSERT INTO no_such_table VALUES (1)`)
				return err
			})
			if err == nil {
				t.Error("the savepoint swallowed its error")
			}
			return insert(ctx, tx, "after")
		})
		if err != nil || count(t, d) != 2 || strings.Join(told, " ") != "kept" {
			t.Fatalf("rows %d, told %v, error %v", count(t, d), told, err)
		}
	})
}

func TestTimesTravelAsMicroseconds(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		at := time.Date(2026, 5, 1, 12, 30, 0, 123456000, time.FixedZone("UZT", 5*3600))
		var missing *time.Time
		var back time.Time
		var none, some *time.Time
		err := d.QueryRow(t.Context(), `SELECT CAST($1 AS BIGINT), CAST($2 AS BIGINT), CAST($3 AS BIGINT)`, at, missing, &at).
			Scan(&back, &none, &some)
		if err != nil {
			t.Fatal(err)
		}
		if !back.Equal(at) || back.Location() != time.UTC || none != nil || some == nil || !some.Equal(at) {
			t.Fatalf("got %v, %v, %v", back, none, some)
		}
		err = d.QueryRow(t.Context(), `SELECT CAST(NULL AS BIGINT)`).Scan(&back)
		if err == nil {
			t.Fatal("NULL became a time")
		}
	})
}

func TestPlaceholdersMeanPositions(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, _ *clock.Fake) {
		var a, b, c string
		err := d.QueryRow(t.Context(), `SELECT CAST($2 AS TEXT), CAST($2 AS TEXT), CAST($1 AS TEXT)`, "one", "two").Scan(&a, &b, &c)
		if err != nil || a+b+c != "twotwoone" {
			t.Fatalf("%s %s %s %v", a, b, c, err)
		}
	})
}

func TestANamedLockIsHeldByOne(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, _ *clock.Fake) {
		inside, leave := make(chan struct{}), make(chan struct{})
		var wg sync.WaitGroup
		wg.Go(func() {
			err := d.InTxLocked(context.Background(), "name", func(ctx context.Context, tx *db.Tx) error {
				close(inside)
				<-leave
				return nil
			})
			if err != nil {
				t.Errorf("the first: %v", err)
			}
		})
		<-inside
		err := d.InTxLocked(t.Context(), "name", func(context.Context, *db.Tx) error { return nil })
		if !errors.Is(err, db.ErrLocked) {
			t.Errorf("the second: %v", err)
		}
		close(leave)
		wg.Wait()
		if err := d.InTxLocked(t.Context(), "name", func(context.Context, *db.Tx) error { return nil }); err != nil {
			t.Errorf("after the first: %v", err)
		}
	})
}

func TestATransactionInsideATransactionIsRefused(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, _ *clock.Fake) {
		err := d.InTx(t.Context(), func(ctx context.Context, _ *db.Tx) error {
			return d.InTx(ctx, func(context.Context, *db.Tx) error { return nil })
		})
		if err == nil {
			t.Fatal("it went through; on SQLite it would wait for itself")
		}
	})
}

func TestLostUpdatesDoNotHappen(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, _ *clock.Fake) {
		err := d.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
			_, err := tx.Exec(ctx, `INSERT INTO throttle_windows (key, slots, ends_at) VALUES ('k', '', 0)`)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		for range 20 {
			wg.Go(func() {
				err := d.InTx(context.Background(), func(ctx context.Context, tx *db.Tx) error {
					var used int
					if err := tx.QueryRow(ctx, `SELECT ends_at FROM throttle_windows WHERE key = 'k'`+tx.ForUpdate()).Scan(&used); err != nil {
						return err
					}
					_, err := tx.Exec(ctx, `UPDATE throttle_windows SET ends_at = $1 WHERE key = 'k'`, used+1)
					return err
				})
				if err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		var used int
		if err := d.QueryRow(t.Context(), `SELECT ends_at FROM throttle_windows`).Scan(&used); err != nil || used != 20 {
			t.Fatalf("used %d, error %v", used, err)
		}
	})
}

func TestUniqueAndMissing(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, _ *clock.Fake) {
		put := func() error {
			return d.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
				_, err := tx.Exec(ctx, `INSERT INTO section_switches (section, enabled, changed_at) VALUES ('files', false, 1)`)
				return err
			})
		}
		if err := put(); err != nil {
			t.Fatal(err)
		}
		if err := put(); !db.IsUnique(err) {
			t.Fatalf("a duplicate answers %v", err)
		}
		var on bool
		if err := d.QueryRow(t.Context(), `SELECT enabled FROM section_switches WHERE section = 'files'`).Scan(&on); err != nil || on {
			t.Fatalf("enabled %v, error %v", on, err)
		}
		if err := d.QueryRow(t.Context(), `SELECT enabled FROM section_switches WHERE section = 'none'`).Scan(&on); !errors.Is(err, db.ErrNoRows) {
			t.Fatalf("a missing row answers %v", err)
		}
	})
}

func TestAURLThatIsNoDatabaseIsRefusedWithoutRepeatingIt(t *testing.T) {
	for _, u := range []string{"mysql://u:hunter2@h/d", "postgres://u:hunter2@%zz/d"} {
		_, err := db.Open(t.Context(), db.Config{URL: u, Clock: clock.System(0)})
		if err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%v", err)
		}
	}
}
