package webhooks_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"
	"time"

	"stead.dev/stead/sdk/go/webhook"
)

// TestWhatWaitsIsSentWhenItsOwnerAsks: the receiver works again, hours before the next attempt.
func TestWhatWaitsIsSentWhenItsOwnerAsks(t *testing.T) {
	t.Parallel()
	for name, ask := range map[string]func(w *world, endpoint int64, last string){
		"recover": func(w *world, endpoint int64, _ string) {
			w.must(200, "own", "PATCH", fmt.Sprint("webhooks/", endpoint), fmt.Sprintf(`{"recover_since": %q}`, w.clk.Now().Format(time.RFC3339)))
		},
		"redeliver": func(w *world, _ int64, last string) {
			w.must(200, "own", "POST", "events/"+last+"/redeliver", "")
		},
	} {
		t.Run(name, func(t *testing.T) {
			engines(t, func(t *testing.T, w *world) {
				rc := newReceiver(t, func(_ int, rw http.ResponseWriter, _ *http.Request) {
					rw.Header().Set("Retry-After", "36000")
					rw.WriteHeader(http.StatusServiceUnavailable)
				})
				id, _ := w.endpoint(rc.URL)
				w.happen(1, 7, 7, 7)
				w.fanOut()
				w.deliver(id)
				rc.do = nil
				w.clk.Advance(time.Hour)
				w.deliver(id)
				if n := len(rc.all()); n != 1 {
					t.Fatalf("%d requests before the next attempt is due", n)
				}
				events := w.must(200, "own", "GET", "events?type=service.updated", "")["data"].([]any)
				ask(w, id, events[0].(object)["id"].(string))
				w.deliver(id)
				got := rc.all()[1:]
				if len(got) != 3 {
					t.Fatalf("%d of 3 arrive", len(got))
				}
				for i, r := range got {
					var e webhook.Event
					if err := json.Unmarshal(r.body, &e); err != nil || e.Sequence != int64(i+1) {
						t.Errorf("%d comes at %d: %v", e.Sequence, i+1, err)
					}
				}
			})
		})
	}
}

// TestOneFailureDoesNotDisableWhoIsToldSeldom: weeks after an event that was given up, the next one meets a receiver that
// stumbles once.
func TestOneFailureDoesNotDisableWhoIsToldSeldom(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		rc := newReceiver(t, status(http.StatusBadGateway))
		id, _ := w.endpoint(rc.URL)
		w.happen(1, 7)
		w.fanOut()
		for _, after := range []time.Duration{0, time.Hour, 3 * time.Hour, 20 * 24 * time.Hour} {
			w.clk.Advance(after)
			w.deliver(id)
		}
		if e := w.show(id); len(rc.all()) != 4 || e["status"] != "active" {
			t.Fatalf("%d attempts, %v", len(rc.all()), e)
		}
		rc.do = nil
		w.clk.Advance(24 * time.Hour)
		w.deliver(id)
		if e := w.show(id); len(rc.all()) != 5 || e["consecutive_failures"] != 0.0 {
			t.Errorf("%d attempts, %v", len(rc.all()), e)
		}
	})
}
