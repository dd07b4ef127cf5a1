package outbox_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/outbox"
	"stead.dev/stead/internal/platform/outbox/outboxtest"
	"stead.dev/stead/internal/platform/testkit"
)

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
		o := outbox.New(d)
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
		o := outbox.New(d)
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

// Lanes that deliver events of the same accounts at the same time lock the accounts' rows in one order.
func TestEventsAreToldOfAccountByAccount(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, _ *clock.Fake) {
		o := outbox.New(d)
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
		if n, err := o.Deliver(t.Context()); err != nil || n != len(events) {
			t.Fatal(n, err)
		}
		if want := []int64{71, 73, 80, 82}; !slices.Equal(told, want) {
			t.Errorf("told %v, want %v", told, want)
		}
	})
}

func TestOldEventsAreForgottenUnlessStillToBeTold(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		o := outbox.New(d)
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

// TestEventsThatLieAheadAreCleaned: a sandbox's clock may stand years ahead, and its events go with those of their day.
func TestEventsThatLieAheadAreCleaned(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		o := outbox.New(d)
		o.Subscribe("*", func(context.Context, *db.Tx, outbox.Stored) error { return nil })
		var left int
		step := func(pause time.Duration, want int) {
			t.Helper()
			clk.Advance(pause)
			err := o.Clean(t.Context())
			if err == nil {
				err = d.QueryRow(t.Context(), `SELECT count(*) FROM outbox_events`).Scan(&left)
			}
			if err != nil || left != want {
				t.Errorf("%d events stay, want %d; error %v", left, want, err)
			}
		}
		err := d.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
			defer tx.Enter(7, tx.Now.AddDate(1, 0, 0))()
			return o.Emit(ctx, tx, outbox.Event{Type: "order.paid", AccountID: 7, Subject: "order", SubjectID: 1})
		})
		if err != nil {
			t.Fatal(err)
		}
		step(2*outbox.Retention, 1) // it is not delivered
		if _, err := o.Deliver(t.Context()); err != nil {
			t.Fatal(err)
		}
		step(outbox.Retention, 1)
		step(time.Second, 0)
	})
}

// The relays of all replicas share the events, and each is delivered once.
func TestEventsAreSharedByRelays(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, _ *clock.Fake) {
		var (
			mu   sync.Mutex
			told = map[string]int{}
		)
		hear := func(_ context.Context, _ *db.Tx, e outbox.Stored) error {
			mu.Lock()
			defer mu.Unlock()
			told[e.UID]++
			return nil
		}
		here, there := outbox.New(d), outbox.New(d)
		here.Subscribe("*", hear)
		there.Subscribe("*", hear)
		const each = 50
		var events []outbox.Event
		for n := range int64(each) {
			events = append(events, outbox.Event{Type: "order.paid", AccountID: n % 7, Subject: "order", SubjectID: n})
		}
		emit(t, d, here, events...) // as a process that dies before it delivers them
		outboxtest.Relay(t, there)
		outboxtest.Relay(t, here)
		for _, e := range events {
			e.Type = "order.completed"
			emit(t, d, here, e)
		}
		testkit.Eventually(t, time.Minute, func() bool {
			var n int
			err := d.QueryRow(t.Context(), `SELECT COUNT(*) FROM outbox_events WHERE fanned_at IS NULL`).Scan(&n)
			return err == nil && n == 0
		}, "all events are delivered")
		mu.Lock()
		defer mu.Unlock()
		if len(told) != 2*each {
			t.Errorf("told of %d events", len(told))
		}
		for uid, n := range told {
			if n != 1 {
				t.Errorf("%s was told %d times", uid, n)
			}
		}
	})
}

func TestAnEventThatNobodyTakesDoesNotHoldUpOthers(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		o := outbox.New(d)
		var told []int64
		fail := true
		o.Subscribe("order.*", func(ctx context.Context, tx *db.Tx, e outbox.Stored) error {
			if e.SubjectID == 2 && fail {
				return errors.New("not now")
			}
			told = append(told, e.SubjectID)
			return nil
		})
		var events []outbox.Event
		for n := range int64(3) {
			events = append(events, outbox.Event{Type: "order.paid", Subject: "order", SubjectID: n + 1})
		}
		emit(t, d, o, events...)
		if _, err := o.Deliver(t.Context()); err == nil {
			t.Fatal("the subscriber's failure was lost")
		}
		left := func() (n int) {
			if err := d.QueryRow(t.Context(), `SELECT COUNT(*) FROM outbox_events WHERE fanned_at IS NULL`).Scan(&n); err != nil {
				t.Fatal(err)
			}
			return n
		}
		if left() != 1 || !slices.Contains(told, 1) || !slices.Contains(told, 3) {
			t.Fatalf("%d are left, told %v", left(), told)
		}
		if n, err := o.Deliver(t.Context()); err != nil || n != 0 {
			t.Errorf("it comes again at once: %d, %v", n, err)
		}
		fail = false
		clk.Advance(time.Second)
		if n, err := o.Deliver(t.Context()); err != nil || n != 1 || left() != 0 {
			t.Errorf("%d, %v, %d are left", n, err, left())
		}
	})
}

// An event that is put off is no reason to open a transaction twice a second until it is due.
func TestWhatIsPutOffIsNotLookedForByWriting(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		o := outbox.New(d)
		refuses := true
		told := 0
		o.Subscribe("*", func(context.Context, *db.Tx, outbox.Stored) error {
			if refuses {
				return errors.New("not now")
			}
			told++
			return nil
		})
		emit(t, d, o, outbox.Event{Type: "order.paid", Subject: "order", SubjectID: 1})
		if n, err := o.Deliver(t.Context()); n != 1 || err == nil {
			t.Fatalf("%d events, %v", n, err)
		}
		refuses = false
		// Meanwhile another transaction writes. SQLite has one that does at a time, so whoever begins one waits.
		err := d.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
			if _, err := tx.Exec(ctx, `UPDATE outbox_sequences SET last = last`); err != nil {
				return err
			}
			brief, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			if n, err := o.Deliver(brief); n != 0 || err != nil {
				t.Errorf("while it is put off: %d events, %v", n, err)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		clk.Advance(2 * time.Second)
		if n, err := o.Deliver(t.Context()); n != 1 || err != nil || told != 1 {
			t.Errorf("once it is due: %d events, told %d, %v", n, told, err)
		}
	})
}
