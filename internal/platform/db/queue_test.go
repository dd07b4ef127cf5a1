package db_test

import (
	"context"
	"errors"
	"testing"

	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/testkit"
)

const insertKey = `INSERT INTO throttle_windows (key, slots, ends_at) VALUES ($1, '', 1)`

func TestQueuedStatementsKeepTheirOrder(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, _ *clock.Fake) {
		var rows int64
		err := d.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
			for _, key := range []string{"a", "b"} {
				if err := tx.Queue(ctx, nil, insertKey, key); err != nil {
					return err
				}
			}
			if n := keys(t, tx); n != 2 {
				t.Errorf("a read sees %d rows", n)
			}
			keep := func(n int64, err error) error { rows = n; return err }
			if err := tx.Queue(ctx, keep, `UPDATE throttle_windows SET ends_at = 2`); err != nil {
				return err
			}
			all, err := db.Collect(ctx, tx, func(r db.Row) (n int, err error) { return n, r.Scan(&n) }, `SELECT ends_at FROM throttle_windows`)
			if err != nil || len(all) != 2 || all[0] != 2 || rows != 2 {
				t.Errorf("%v, %v, %d rows", all, err, rows)
			}
			if err := tx.Queue(ctx, nil, `DELETE FROM throttle_windows WHERE key = 'a'`); err != nil {
				return err
			}
			n, err := tx.Exec(ctx, `DELETE FROM throttle_windows`)
			if n != 1 {
				t.Errorf("%d rows were left", n)
			}
			if err != nil {
				return err
			}
			return tx.Queue(ctx, nil, insertKey, "last")
		})
		if err != nil || keys(t, d) != 1 {
			t.Errorf("%v, %d rows", err, keys(t, d))
		}
	})
}

func TestAQueuedStatementThatFailsUndoesTheTransaction(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, _ *clock.Fake) {
		wrong := errors.New("wrong")
		none := func(n int64, err error) error {
			if err == nil && n == 0 {
				err = wrong
			}
			return err
		}
		taken := func(_ int64, err error) error {
			if db.IsUnique(err) {
				err = wrong
			}
			return err
		}
		for name, queue := range map[string]func(ctx context.Context, tx *db.Tx) error{
			"changed nothing": func(ctx context.Context, tx *db.Tx) error {
				return tx.Queue(ctx, none, `UPDATE throttle_windows SET ends_at = 2 WHERE key = 'nobody'`)
			},
			"a duplicate": func(ctx context.Context, tx *db.Tx) error { return tx.Queue(ctx, taken, insertKey, "a") },
		} {
			for end, f := range map[string]func(ctx context.Context, tx *db.Tx) error{
				"commit": func(context.Context, *db.Tx) error { return nil },
				"flush":  func(ctx context.Context, tx *db.Tx) error { return tx.Flush(ctx) },
				"read": func(ctx context.Context, tx *db.Tx) error {
					var n int
					return tx.QueryRow(ctx, `SELECT COUNT(*) FROM throttle_windows`).Scan(&n)
				},
				"write": func(ctx context.Context, tx *db.Tx) error {
					_, err := tx.Exec(ctx, insertKey, "b")
					return err
				},
			} {
				err := d.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
					if _, err := tx.Exec(ctx, insertKey, "a"); err != nil {
						return err
					}
					if err := queue(ctx, tx); err != nil {
						return err
					}
					return f(ctx, tx)
				})
				if !errors.Is(err, wrong) || keys(t, d) != 0 {
					t.Errorf("%s, seen by the %s: %v, %d rows", name, end, err, keys(t, d))
				}
			}
		}
	})
}

func TestASavepointTakesBackWhatIsQueued(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, _ *clock.Fake) {
		refused := errors.New("refused")
		err := d.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
			if err := tx.Queue(ctx, nil, insertKey, "before"); err != nil {
				return err
			}
			for _, sent := range []bool{false, true} {
				err := tx.Savepoint(ctx, func(ctx context.Context) error {
					if err := tx.Queue(ctx, nil, insertKey, "within"); err != nil {
						return err
					}
					if sent {
						keys(t, tx)
						if err := tx.Queue(ctx, nil, insertKey, "more"); err != nil {
							return err
						}
					}
					return refused
				})
				if !errors.Is(err, refused) {
					t.Error(err)
				}
			}
			err := tx.Savepoint(ctx, func(ctx context.Context) error { return tx.Queue(ctx, nil, insertKey, "before") })
			if !db.IsUnique(err) {
				t.Errorf("a duplicate within a savepoint: %v", err)
			}
			return tx.Savepoint(ctx, func(ctx context.Context) error { return tx.Queue(ctx, nil, insertKey, "after") })
		})
		if err != nil || keys(t, d) != 2 {
			t.Errorf("%v, %d rows", err, keys(t, d))
		}
	})
}

func keys(t *testing.T, q db.Querier) (n int) {
	t.Helper()
	if err := q.QueryRow(t.Context(), `SELECT COUNT(*) FROM throttle_windows`).Scan(&n); err != nil {
		t.Error(err)
	}
	return n
}
