package replicas_test

import (
	"context"
	"log/slog"
	"slices"
	"testing"

	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/replicas"
	"stead.dev/stead/internal/platform/testkit"
)

func TestTheDeadAreBuriedOnceAndTheLivingAreNot(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, _ *clock.Fake) {
		var buried []string
		takeOver := func(_ context.Context, _ *db.Tx, dead []string) error {
			buried = append(buried, dead...)
			return nil
		}
		member := func(id string) *replicas.Member {
			m := replicas.New(d, id, "v1", slog.New(slog.DiscardHandler), takeOver)
			if err := m.Join(t.Context()); err != nil {
				t.Fatal(err)
			}
			return m
		}
		one, other := member("one"), member("other")
		member("dead")
		member("ended")
		// The clock of the database cannot be moved; the beats can.
		age := func(id string, by int64) {
			err := d.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
				_, err := tx.Exec(ctx, `UPDATE replicas SET seen_at = seen_at - $1 WHERE id = $2`, by, id)
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		age("dead", (replicas.DeadAfter + replicas.Beat).Microseconds())
		age("one", (replicas.DeadAfter + replicas.Beat).Microseconds()) // nobody is dead in his own eyes
		age("other", (replicas.DeadAfter - replicas.Beat).Microseconds())
		if err := replicas.New(d, "ended", "v1", slog.New(slog.DiscardHandler), takeOver).Leave(t.Context()); err != nil {
			t.Fatal(err)
		}
		living, err := replicas.Living(t.Context(), d)
		if err != nil || !slices.Equal(living, []replicas.Replica{{ID: "other", Version: "v1"}}) {
			t.Errorf("living: %v, %v", living, err)
		}
		if err := one.Bury(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := other.Join(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := one.Join(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := other.Bury(t.Context()); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(buried, []string{"dead"}) {
			t.Errorf("buried %v", buried)
		}
	})
}
