package db_test

import (
	"context"
	"errors"
	"testing"

	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/intx"
	"stead.dev/stead/internal/platform/testkit"
)

func TestTheContextOfATransactionRefusesTheNetwork(t *testing.T) {
	testkit.Engines(t, func(t *testing.T, d *db.DB, _ *clock.Fake) {
		type transaction = func(context.Context, *db.Tx) error
		for how, inTx := range map[string]func(transaction) error{
			"InTx":       func(f transaction) error { return d.InTx(t.Context(), f) },
			"InTxLocked": func(f transaction) error { return d.InTxLocked(t.Context(), "a name", f) },
		} {
			for where, f := range map[string]transaction{
				"in its function": func(ctx context.Context, _ *db.Tx) error { return intx.Check(ctx) },
				"in a savepoint":  func(ctx context.Context, tx *db.Tx) error { return tx.Savepoint(ctx, intx.Check) },
				"at its end":      func(_ context.Context, tx *db.Tx) error { tx.AtEnd("last", intx.Check); return nil },
			} {
				if err := inTx(f); !errors.Is(err, intx.ErrInTransaction) {
					t.Errorf("%s, %s: %v", how, where, err)
				}
			}
		}
		// After a transaction the caller's context is free again.
		if err := intx.Check(t.Context()); err != nil {
			t.Error(err)
		}
	})
}
