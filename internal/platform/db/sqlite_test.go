package db_test

import (
	"context"
	"database/sql"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/testkit"
)

func TestTheFilesAreNobodyElses(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "for-all")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "stead.db")
	for range 2 {
		d, err := db.Open(t.Context(), db.Config{Path: path, Clock: clock.System(0)})
		if err != nil {
			t.Fatal(err)
		}
		err = d.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
			_, err := tx.Exec(ctx, `CREATE TABLE IF NOT EXISTS notes (text TEXT)`)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		files, err := os.ReadDir(dir)
		if err != nil || len(files) < 2 {
			t.Fatalf("%v: %v", files, err)
		}
		for _, f := range files {
			if info, err := f.Info(); err != nil || info.Mode().Perm()&0o007 != 0 {
				t.Errorf("%s: %v %v", f.Name(), info.Mode(), err)
			}
		}
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// As `stead admin` beside a running server.
func TestAnotherProcessMayWriteTheSameFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "shared.db")
	server, err := db.Open(t.Context(), db.Config{Path: path, Clock: clock.System(0)})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = server.Close() }()
	write := func(ctx context.Context, query string) error {
		return server.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
			_, err := tx.Exec(ctx, query)
			return err
		})
	}
	if err := write(t.Context(), `CREATE TABLE notes (text TEXT)`); err != nil {
		t.Fatal(err)
	}
	other, err := sql.Open("sqlite", "file:"+path+"?_txlock=immediate")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = other.Close() }()
	writing, err := other.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}

	// A caller whose time is up is let go although the other still writes.
	began := time.Now()
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if err := write(ctx, `INSERT INTO notes VALUES ('late')`); err == nil {
		t.Error("wrote while another process was writing")
	}
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("a cancelled caller was held for %v", took)
	}

	// A caller with time waits until the other has finished, longer than one
	// attempt does.
	var waiting sync.WaitGroup
	waiting.Go(func() {
		if err := write(t.Context(), `INSERT INTO notes VALUES ('patient')`); err != nil {
			t.Errorf("a patient caller: %v", err)
		}
	})
	time.AfterFunc(2500*time.Millisecond, func() { _ = writing.Commit() })
	waiting.Wait()
}

func TestACancelledCallerLeavesNoTransactionBehind(t *testing.T) {
	testkit.Engines(t, func(t *testing.T, d *db.DB, _ *clock.Fake) {
		for i := range 60 {
			ctx, cancel := context.WithCancel(t.Context())
			timer := time.AfterFunc(time.Duration(i*25)*time.Microsecond, cancel)
			_ = d.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
				return tx.Savepoint(ctx, func(ctx context.Context) error { return insert(ctx, tx, "cancelled") })
			})
			timer.Stop()
			cancel()
			if err := d.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error { return insert(ctx, tx, "next") }); err != nil {
				t.Fatalf("after the cancelled transaction %d: %v", i, err)
			}
		}
	})
}

func TestAPanicLeavesNeitherTransactionNorLock(t *testing.T) {
	testkit.Engines(t, func(t *testing.T, d *db.DB, _ *clock.Fake) {
		for range 20 { // more than a pool has connections
			func() {
				defer func() {
					if recover() == nil {
						t.Error("the panic was swallowed")
					}
				}()
				_ = d.InTxLocked(t.Context(), "name", func(ctx context.Context, tx *db.Tx) error {
					if err := insert(ctx, tx, "a"); err != nil {
						return err
					}
					panic("a mistake of ours")
				})
			}()
		}
		if err := d.InTxLocked(t.Context(), "name", func(context.Context, *db.Tx) error { return nil }); err != nil || count(t, d) != 0 {
			t.Errorf("afterwards %d rows, error %v", count(t, d), err)
		}
	})
}

func TestTheReadingHandleRefusesEveryKindOfWrite(t *testing.T) {
	testkit.Engines(t, func(t *testing.T, d *db.DB, _ *clock.Fake) {
		statements := []string{
			`INSERT INTO signal_messages (topic, payload, created_at) VALUES ('x', '', 1) RETURNING id`,
			`UPDATE signal_messages SET topic = 'y' RETURNING id`,
			`DELETE FROM signal_messages RETURNING id`,
			`CREATE TABLE mine (id BIGINT)`,
		}
		if d.Engine() == "postgres" {
			statements = append(statements,
				`WITH w AS (INSERT INTO signal_messages (topic, payload, created_at) VALUES ('x', '', 1) RETURNING id) SELECT id FROM w`,
				`SELECT nextval(pg_get_serial_sequence('signal_messages', 'id'))`,
				`SELECT id FROM signal_messages FOR UPDATE`)
		} else {
			statements = append(statements, `PRAGMA user_version = 7`)
		}
		err := d.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error { return insert(ctx, tx, "a") })
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range statements {
			var id int64
			if err := d.QueryRow(t.Context(), s).Scan(&id); err == nil {
				t.Errorf("%s: %v", s, err)
			}
		}
		if n := count(t, d); n != 1 {
			t.Errorf("%d rows", n)
		}
		if d.Engine() == "sqlite" {
			var version int
			if err := d.QueryRow(t.Context(), `PRAGMA user_version`).Scan(&version); err != nil || version != 0 {
				t.Errorf("user_version %d, error %v", version, err)
			}
		}
	})
}
