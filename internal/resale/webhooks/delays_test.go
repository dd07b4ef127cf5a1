package webhooks_test

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/outbox/outboxtest"
	"stead.dev/stead/internal/platform/testkit"
	"stead.dev/stead/internal/resale/webhooks"
)

// TestUnsettledSubjectsDelayNoOther: while a subscriber does not take an event, the later ones of its subject wait for it, and those
// of other subjects do not, however many wait.
func TestUnsettledSubjectsDelayNoOther(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		rc := newReceiver(t, nil)
		id, _ := w.endpoint(rc.URL)
		const waiting = 25
		for range 2 {
			for service := range int64(waiting) {
				w.happen(1, service+1)
			}
		}
		w.happen(1, 99)
		told, err := db.Collect(t.Context(), w.db, func(r db.Row) (uid string, err error) { err = r.Scan(&uid); return uid, err },
			`SELECT uid FROM outbox_events WHERE sequence = 2 OR subject_id = 99 ORDER BY id`)
		if err != nil {
			t.Fatal(err)
		}
		for _, uid := range told {
			if err := w.out.FanOut(t.Context(), uid); err != nil {
				t.Fatal(err)
			}
		}
		if w.deliver(id); len(rc.all()) != 1 || !bytes.Contains(rc.all()[0].body, []byte(`"client-99"`)) {
			t.Errorf("%d have arrived before the earlier events", len(rc.all()))
		}
		w.fanOut()
		w.clk.Advance(time.Second)
		if w.deliver(id); len(rc.all()) < 50 { // a turn
			t.Errorf("%d have arrived", len(rc.all()))
		}
	})
}

// TestOneThatHangsDelaysNobody runs the queue in earnest.
func TestOneThatHangsDelaysNobody(t *testing.T) {
	engines(t, func(t *testing.T, w *world) {
		release := make(chan struct{})
		hanging := newReceiver(t, func(int, http.ResponseWriter, *http.Request) { <-release })
		t.Cleanup(func() { close(release) }) // before the receiver is closed
		quick := newReceiver(t, nil)
		w.endpoint(hanging.URL)
		w.endpoint(quick.URL)
		outboxtest.Relay(t, w.out)
		if err := w.queue.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
			cancel() // running jobs are cancelled
			_ = w.queue.Stop(ctx)
		})
		for n := range int64(10) {
			w.happen(1, n+1)
		}
		testkit.Eventually(t, 10*time.Second, func() bool { return len(quick.all()) == 10 }, "the other endpoint has all")
		if n := len(hanging.all()); n > 1 {
			t.Errorf("%d requests at once to one endpoint", n)
		}
	})
}

// TestSlowEndpointsOfAnAccountDelayNoOther: an account has so many deliveries at a time, and what is above that waits.
func TestSlowEndpointsOfAnAccountDelayNoOther(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		release := make(chan struct{})
		slow := newReceiver(t, func(int, http.ResponseWriter, *http.Request) { <-release })
		quick := newReceiver(t, nil)
		var endpoints []int64
		for range webhooks.MostSending {
			id, _ := w.endpoint(slow.URL)
			endpoints = append(endpoints, id)
		}
		above, _ := w.endpoint(quick.URL)
		other := int64(w.must(http.StatusCreated, "other", "POST", "webhooks", fmt.Sprintf(`{"url": %q}`, quick.URL))["id"].(float64))
		w.happen(1, 7)
		w.happen(3, 8)
		w.fanOut()

		var sending sync.WaitGroup
		end := sync.OnceFunc(func() { close(release); sending.Wait() })
		t.Cleanup(end)
		for _, id := range endpoints {
			sending.Go(func() {
				if err := w.Deliver(context.WithoutCancel(t.Context()), id); err != nil {
					t.Error(err)
				}
			})
		}
		testkit.Eventually(t, time.Minute, func() bool { return len(slow.all()) == len(endpoints) }, "the slow ones are asked")
		if w.deliver(above); len(quick.all()) != 0 {
			t.Errorf("%d are sent above the bound", len(quick.all()))
		}
		if w.deliver(other); len(quick.all()) != 1 {
			t.Errorf("another account has %d", len(quick.all()))
		}
		end()
		w.clk.Advance(webhooks.SendingPause)
		if w.deliver(above); len(quick.all()) != 2 {
			t.Errorf("%d have arrived after a pause", len(quick.all()))
		}
	})
}
