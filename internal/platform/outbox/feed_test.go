package outbox_test

import (
	"context"
	"log/slog"
	"slices"
	"testing"
	"time"

	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/outbox"
	"stead.dev/stead/internal/platform/testkit"
)

// received are the types of events that wait for a follower, and its last cursor.
func received(f *outbox.Follower) (types []string, cursor int64) {
	for {
		select {
		case b, ok := <-f.C:
			if !ok {
				return append(types, "closed"), cursor
			}
			for _, e := range b.Events {
				types = append(types, e.Type)
			}
			cursor = b.Cursor
		default:
			return types, cursor
		}
	}
}

func of(account int64, typ string) outbox.Event {
	return outbox.Event{Type: typ, AccountID: account, Subject: "order", SubjectID: account, Data: map[string]int64{"id": account}}
}

// TestAFollowerGetsTheEventsOfTheirAccountOnce: also those whose number was given before that of an event which came earlier.
func TestAFollowerGetsTheEventsOfTheirAccountOnce(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		o, feed := outbox.New(d), outbox.NewFeed(d, clk, slog.New(slog.DiscardHandler))
		emit(t, d, o, of(7, "order.early"))
		mine, err := feed.Follow(t.Context(), 7)
		if err != nil {
			t.Fatal(err)
		}
		defer mine.Close()
		began := feed.Cursor()
		has := func(want ...string) {
			t.Helper()
			if err := feed.Read(t.Context()); err != nil {
				t.Fatal(err)
			}
			if got, _ := received(mine); !slices.Equal(got, want) {
				t.Fatalf("received %v, want %v", got, want)
			}
		}
		emit(t, d, o, of(8, "order.theirs"), of(7, "order.paid"))
		has("order.paid")
		has()

		// An event is inserted with a number that leaves one free, and then the one before it.
		insert := func(number int64, typ string) {
			t.Helper()
			err := d.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
				_, err := tx.Exec(ctx, `INSERT INTO outbox_events (id, uid, type, account_id, subject, subject_id, sequence, data, fan_out, created_at)
					VALUES ($1, $2, $3, 7, 'late', $4, 1, '{}', FALSE, $5)`, number, typ, typ, number, tx.Now)
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		insert(1001, "order.second")
		has("order.second")
		insert(1000, "order.first")
		has("order.first")

		if feed.Cursor() != began {
			t.Errorf("the cursor is %d before anything has settled, want %d", feed.Cursor(), began)
		}
		clk.Advance(time.Minute)
		has()
		if feed.Cursor() != 1001 {
			t.Errorf("the cursor is %d, want that of what has settled", feed.Cursor())
		}
		again, err := feed.After(t.Context(), 7, began, 10)
		if err != nil || len(again) != 3 {
			t.Errorf("behind the first cursor there are %d events (%v), want 3", len(again), err)
		}
	})
}

// TestAFollowerWhoFallsBehindIsClosed, and keeps nobody else from reading.
func TestAFollowerWhoFallsBehindIsClosed(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		o, feed := outbox.New(d), outbox.NewFeed(d, clk, slog.New(slog.DiscardHandler))
		slow, err := feed.Follow(t.Context(), 7)
		if err != nil {
			t.Fatal(err)
		}
		for range 70 {
			emit(t, d, o, of(7, "order.paid"))
			if err := feed.Read(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if got, _ := received(slow); len(got) != 65 || got[64] != "closed" {
			t.Errorf("%d events, and then %s", len(got)-1, got[len(got)-1])
		}
		slow.Close()
	})
}
