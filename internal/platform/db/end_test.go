package db_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/testkit"
)

func TestWhatIsLeftToTheEndRunsLastInTheOrderOfTheNames(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, _ *clock.Fake) {
		var ran []string
		note := func(name string) func(context.Context) error {
			return func(context.Context) error { ran = append(ran, name); return nil }
		}
		err := d.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
			ran = nil // it may run again
			tx.AtEnd("b", func(ctx context.Context) error {
				tx.AtEnd("a", note("begun at the end"))
				return note("b")(ctx)
			})
			tx.AtEnd("a", note("a"))
			_ = tx.Savepoint(ctx, func(context.Context) error {
				tx.AtEnd("a", note("undone"))
				return errors.New("no")
			})
			return note("the transaction itself")(ctx)
		})
		if want := []string{"the transaction itself", "a", "b", "begun at the end"}; err != nil || !slices.Equal(ran, want) {
			t.Errorf("%v, %v; want %v", ran, err, want)
		}

		refusal := errors.New("refused at the end")
		err = d.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
			tx.AtEnd("a", func(context.Context) error { return refusal })
			return insert(ctx, tx, "left")
		})
		if !errors.Is(err, refusal) || count(t, d) != 0 {
			t.Errorf("%v, and %d rows are left", err, count(t, d))
		}
	})
}
