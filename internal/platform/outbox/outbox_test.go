package outbox_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/riverqueue/river"

	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/outbox"
	"stead.dev/stead/internal/platform/testkit"
)

// recorded counts enqueued jobs.
type recorded []string

func (r *recorded) Enqueue(_ context.Context, _ *db.Tx, args river.JobArgs, _ *river.InsertOpts) error {
	*r = append(*r, args.Kind())
	return nil
}

func emit(t *testing.T, d *db.DB, o *outbox.Outbox, events ...outbox.Event) {
	t.Helper()
	err := d.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
		for _, e := range events {
			if err := o.Emit(ctx, tx, e); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestEventsOfASubjectAreNumberedInOrder(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, _ *clock.Fake) {
		o := outbox.New(d, &recorded{})
		emit(t, d, o,
			outbox.Event{Type: "order.created", AccountID: 7, Subject: "order", SubjectID: 1, Data: map[string]int{"n": 1}},
			outbox.Event{Type: "order.created", AccountID: 7, Subject: "order", SubjectID: 2, Data: nil},
			outbox.Event{Type: "order.paid", AccountID: 7, Subject: "order", SubjectID: 1, Data: map[string]int{"n": 2}, Previous: map[string]string{"status": "pending"}})
		events, err := o.Of(t.Context(), "order", 1)
		if err != nil || len(events) != 2 {
			t.Fatalf("%v %v", events, err)
		}
		if events[0].Sequence != 1 || events[1].Sequence != 2 || string(events[1].Previous) != `{"status":"pending"}` || events[0].UID == events[1].UID {
			t.Fatalf("%+v", events)
		}
	})
}

func TestSubscribersAreToldOnceAndOnlyOfWhatTheyAskedFor(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, _ *clock.Fake) {
		queue := &recorded{}
		o := outbox.New(d, queue)
		var told []string
		fail := errors.New("not now")
		o.Subscribe("order.*", func(_ context.Context, _ *db.Tx, e outbox.Stored) error {
			told = append(told, e.Type)
			err := fail
			fail = nil
			return err
		})
		emit(t, d, o,
			outbox.Event{Type: "service.created", Subject: "service", SubjectID: 1},
			outbox.Event{Type: "order.paid", Subject: "order", SubjectID: 1})
		if len(*queue) != 1 {
			t.Fatalf("jobs: %v", *queue)
		}
		events, err := o.Of(t.Context(), "order", 1)
		if err != nil || len(events) != 1 {
			t.Fatal(events, err)
		}
		if err := o.FanOut(t.Context(), events[0].UID); err == nil {
			t.Fatal("the subscriber's failure was lost")
		}
		for range 2 {
			if err := o.FanOut(t.Context(), events[0].UID); err != nil {
				t.Fatal(err)
			}
		}
		if len(told) != 2 {
			t.Fatalf("told %v: a failure is tried again, a success is not", told)
		}
	})
}

// Jobs that deliver events of the same accounts at the same time lock the accounts' rows in one order.
func TestEventsAreToldOfAccountByAccount(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, _ *clock.Fake) {
		o := outbox.New(d, &recorded{})
		var told []int64
		o.Subscribe("*", func(_ context.Context, _ *db.Tx, e outbox.Stored) error {
			told = append(told, 10*e.AccountID+e.SubjectID)
			return nil
		})
		var events []outbox.Event
		for n, account := range []int64{8, 7, 8, 7} {
			events = append(events, outbox.Event{Type: "order.paid", AccountID: account, Subject: "order", SubjectID: int64(n)})
		}
		emit(t, d, o, events...)
		var uids []string
		for _, e := range events {
			found, err := o.Of(t.Context(), "order", e.SubjectID)
			if err != nil || len(found) != 1 {
				t.Fatal(found, err)
			}
			uids = append(uids, found[0].UID)
		}
		if err := o.FanOut(t.Context(), uids...); err != nil {
			t.Fatal(err)
		}
		if want := []int64{71, 73, 80, 82}; !slices.Equal(told, want) {
			t.Errorf("told %v, want %v", told, want)
		}
	})
}

func TestOldEventsAreForgottenUnlessStillToBeTold(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		o := outbox.New(d, &recorded{})
		o.Subscribe("order.*", func(context.Context, *db.Tx, outbox.Stored) error { return nil })
		emit(t, d, o,
			outbox.Event{Type: "service.created", Subject: "service", SubjectID: 1},
			outbox.Event{Type: "order.paid", Subject: "order", SubjectID: 1},
			outbox.Event{Type: "order.paid", Subject: "order", SubjectID: 2})
		told, err := o.Of(t.Context(), "order", 1)
		if err != nil || len(told) != 1 {
			t.Fatal(told, err)
		}
		if err := o.FanOut(t.Context(), told[0].UID); err != nil {
			t.Fatal(err)
		}
		left := func() (n int) {
			if err := d.QueryRow(t.Context(), `SELECT count(*) FROM outbox_events`).Scan(&n); err != nil {
				t.Fatal(err)
			}
			return n
		}
		for _, step := range []struct {
			age  time.Duration
			left int
		}{{outbox.Retention, 3}, {time.Second, 1}} {
			clk.Advance(step.age)
			if err := o.Clean(t.Context()); err != nil || left() != step.left {
				t.Errorf("%d events stay, want %d; error %v", left(), step.left, err)
			}
		}
	})
}
