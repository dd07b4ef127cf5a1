package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/sdk/go/webhook"
)

// receiver receives webhooks, misbehaves as mood says, and reports what must not arrive: a wrong signature, an event
// with two bodies, an event before an earlier one of its subject was accepted.
type receiver struct {
	*httptest.Server
	t    *testing.T
	mood func() string

	mu       sync.Mutex
	secret   string
	requests int
	bodies   map[string][]byte         // by event
	taken    map[string]webhook.Event  // answered with 200
	last     map[string]map[int64]bool // accepted sequences, by subject
	repeated int                       // number of repeated arrivals
	arrived  chan struct{}
}

func newReceiver(t *testing.T, mood func() string) *receiver {
	t.Helper()
	rc := &receiver{
		t: t, mood: mood, bodies: map[string][]byte{}, taken: map[string]webhook.Event{}, last: map[string]map[int64]bool{},
		arrived: make(chan struct{}, 10_000),
	}
	rc.Server = httptest.NewServer(rc)
	t.Cleanup(func() {
		rc.CloseClientConnections() // a request may hang
		rc.Close()
	})
	return rc
}

// subject is the subject of an event, as the outbox numbers it.
func subject(e webhook.Event) string {
	var o struct {
		ID        int64 `json:"id"`
		ServiceID int64 `json:"service_id"`
	}
	_ = json.Unmarshal(e.Data.Object, &o) // an object without an id belongs to the account
	group, _, _ := strings.Cut(e.Type, ".")
	if o.ServiceID != 0 && group != "order" {
		return fmt.Sprint("service ", o.ServiceID)
	}
	return fmt.Sprint(group, " ", o.ID)
}

func (rc *receiver) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/trap" {
		rc.t.Error("a redirect was followed")
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the sender died
	}
	rc.mu.Lock()
	mood := rc.take(r.Header, body)
	rc.mu.Unlock()
	select {
	case rc.arrived <- struct{}{}:
	default:
	}
	switch mood {
	case "fail":
		w.WriteHeader(http.StatusInternalServerError)
	case "busy":
		w.Header().Set("Retry-After", "7200")
		w.WriteHeader(http.StatusServiceUnavailable)
	case "redirect":
		http.Redirect(w, r, "/trap", http.StatusTemporaryRedirect)
	case "reset":
		panic(http.ErrAbortHandler)
	case "hang":
		<-r.Context().Done()
	case "gone":
		w.WriteHeader(http.StatusGone)
	}
}

// take checks a webhook, and returns the answer.
func (rc *receiver) take(h http.Header, body []byte) (mood string) {
	rc.requests++
	var e webhook.Event
	if err := json.Unmarshal(body, &e); err != nil {
		rc.t.Errorf("%v in %s", err, body)
		return "fail"
	}
	// The sender's clock is offset, so any time is right.
	v := webhook.Verifier{Secrets: []string{rc.secret}, Tolerance: 100 * 365 * 24 * time.Hour}
	if err := v.Verify(h, body); err != nil || h.Get(webhook.HeaderID) != e.ID {
		rc.t.Errorf("%v: %v", err, h)
	}
	if before, ok := rc.bodies[e.ID]; ok {
		rc.repeated++
		if !bytes.Equal(before, body) {
			rc.t.Errorf("%s has two bodies:\n%s\n%s", e.ID, before, body)
		}
	}
	rc.bodies[e.ID] = body
	mood = rc.mood()
	of := subject(e)
	if rc.last[of] == nil {
		rc.last[of] = map[int64]bool{}
	}
	since := strings.HasPrefix(of, "service ") || strings.HasPrefix(of, "order ") // all of these were created after the endpoint
	if since && e.Sequence > 1 && !rc.last[of][e.Sequence-1] && mood != "gone" {
		rc.t.Errorf("%s: %d comes before %d was taken", of, e.Sequence, e.Sequence-1)
	}
	if mood == "" {
		rc.last[of][e.Sequence], rc.taken[e.ID] = true, e
	}
	return mood
}

// labels are the labels of services whose change was accepted.
func (rc *receiver) labels() map[string]bool {
	rc.mu.Lock()
	defer rc.mu.Unlock()
	all := map[string]bool{}
	for _, e := range rc.taken {
		var o struct{ Label string }
		if e.Type == "service.updated" && json.Unmarshal(e.Data.Object, &o) == nil {
			all[o.Label] = true
		}
	}
	return all
}

func (rc *receiver) has(id string) bool {
	rc.mu.Lock()
	defer rc.mu.Unlock()
	_, ok := rc.taken[id]
	return ok
}

// timePasses makes a month pass for the queue of a stopped installation: the queue uses the machine's clock.
func (in *installation) timePasses(t *testing.T) {
	t.Helper()
	c := db.Config{Clock: clock.NewFake(time.Unix(0, 0)), URL: in.get("STEAD_DATABASE_URL")}
	past := func(column string) string { return column + ` = ` + column + ` - interval '30 days'` }
	if c.URL == "" {
		c.Path = filepath.Join(in.get("STEAD_DATA_DIR"), "stead.db")
		// A rescued job's times end in a zone, which SQLite cannot read.
		past = func(column string) string {
			return column + ` = datetime(substr(` + column + `, 1, 19), '-30 days')`
		}
	}
	d, err := db.Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	err = d.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
		for _, query := range []string{
			`UPDATE river_job SET ` + past("scheduled_at") + ` WHERE state IN ('scheduled', 'retryable')`,
			`UPDATE river_job SET ` + past("attempted_at") + ` WHERE state = 'running'`,
			`DELETE FROM river_job WHERE state = 'completed'`, // a periodic job exists once in its period
			`DELETE FROM river_leader`,
		} {
			if _, err := tx.Exec(ctx, query); err != nil {
				return err
			}
		}
		return nil
	})
	if err = errors.Join(err, d.Close()); err != nil {
		t.Fatal(err)
	}
}

func (in *installation) get(name string) string {
	for _, e := range in.env {
		if value, ok := strings.CutPrefix(e, name+"="); ok {
			return value
		}
	}
	return ""
}

// at is the installation with an offset clock.
func (in *installation) at(offset time.Duration) *installation {
	return &installation{env: append(in.env[:len(in.env):len(in.env)], "STEAD_CLOCK_OFFSET="+offset.String())}
}

// TestWebhooksUnderFire: the receivers of a reseller fail, hang, reset, redirect and are gone, and the process is killed
// twenty times at random. Whatever was answered to the reseller arrives, in the order of its subject, and what arrives
// twice has the same id and the same bytes.
func TestWebhooksUnderFire(t *testing.T) {
	engines(t, func(t *testing.T, in *installation) {
		in.env = append(in.env, "STEAD_ALLOW_LOOPBACK_TARGETS=true")
		random := rand.New(rand.NewPCG(20, uint64(len(in.env))))
		var mu sync.Mutex // shared by the receivers
		oneOf := func(n int) int {
			mu.Lock()
			defer mu.Unlock()
			return random.IntN(n)
		}
		var calm atomic.Bool
		flaky := newReceiver(t, func() string {
			moods := []string{"fail", "busy", "redirect", "reset", "hang", "", "", "", "", "", "", "", "", "", "", ""}
			if calm.Load() {
				return ""
			}
			return moods[oneOf(len(moods))]
		})
		steady := newReceiver(t, func() string { return "" })
		gone := newReceiver(t, func() string { return "gone" })

		p := in.serve(t, "--demo")
		plan := p.signIn(t).plan()
		in.must(t, &struct{}{}, "admin", "wallet", "credit", demoEmail, "10000", "--reason", "a test")
		in.must(t, &struct{}{}, "admin", "resellers", "appoint", demoEmail, "--tier", "gold", "--discount", "10")
		var key struct{ Key string }
		in.must(t, &key, "admin", "resellers", "add-key", demoEmail, "--name", "test")
		var base atomic.Value // of the running server
		base.Store(p.url)
		reseller := func() *customer { return &customer{t, base.Load().(string), key.Key} }
		for _, rc := range []*receiver{flaky, steady, gone} {
			var made struct{ Secret string }
			reseller().must(http.MethodPost, "/api/v1/reseller/webhooks", fmt.Sprintf(`{"url": %q}`, rc.URL), &made)
			rc.mu.Lock()
			rc.secret = made.Secret
			rc.mu.Unlock()
		}
		const services = 4
		ids := make([]int64, services)
		for i := range ids {
			var made struct{ ID int64 }
			reseller().must(http.MethodPost, "/api/v1/reseller/services",
				fmt.Sprintf(`{"plan_id": %d, "domain": "fire-%d.example.com", "client_ref": "client-%d"}`, plan, i, i), &made)
			ids[i] = made.ID
		}

		// Each service gets one label after the other, whether the server runs or not.
		var (
			kept    sync.Map // labels whose change was answered
			stop    = make(chan struct{})
			clients sync.WaitGroup
			pause   = make(chan struct{}, services) // a token for each change, so that the clients do not spin
		)
		for _, id := range ids {
			clients.Go(func() {
				for n := 0; ; n++ {
					select {
					case <-stop:
						return
					case <-pause:
					}
					label := fmt.Sprintf("label %d of %d", n, id)
					status, answer, err := reseller().call(http.MethodPatch, fmt.Sprintf("/api/v1/reseller/services/%d", id), fmt.Sprintf(`{"label": %q}`, label), "")
					switch {
					case err == nil && status == http.StatusOK:
						kept.Store(label, true)
					case err == nil && status < http.StatusInternalServerError:
						t.Errorf("%d %s", status, answer)
					}
				}
			})
		}
		const kills = 20
		offset := time.Duration(0)
		again := func() {
			p.kill(t)
			in.timePasses(t)
			p = in.at(offset).serve(t, "--demo")
			base.Store(p.url)
		}
		for range kills {
			for len(flaky.arrived)+len(steady.arrived) > 0 { // of the former process
				select {
				case <-flaky.arrived:
				case <-steady.arrived:
				}
			}
			// The server is killed after so many changes and arrivals.
			for range 5 + oneOf(30) {
				select {
				case pause <- struct{}{}:
				case <-flaky.arrived:
				case <-steady.arrived:
				case <-time.After(5 * time.Second):
				}
			}
			offset += 6 * time.Hour
			again()
		}
		close(stop)
		clients.Wait()

		// Without failures now: everything open arrives, however long it takes.
		calm.Store(true)
		missing := func() (lost []string) {
			kept.Range(func(label, _ any) bool {
				for name, rc := range map[string]*receiver{"flaky": flaky, "steady": steady} {
					if !rc.labels()[label.(string)] {
						lost = append(lost, name+": "+label.(string))
					}
				}
				return true
			})
			for page := 1; ; page++ {
				var events struct {
					Data []struct{ ID, Type string }
					Meta struct {
						LastPage int `json:"last_page"`
					}
				}
				reseller().must(http.MethodGet, fmt.Sprintf("/api/v1/reseller/events?per_page=50&page=%d", page), "", &events)
				for _, e := range events.Data {
					if e.Type == "api_key.created" || e.Type == "wallet.adjusted" { // by the operator, before there were receivers
						continue
					}
					for name, rc := range map[string]*receiver{"flaky": flaky, "steady": steady} {
						if !rc.has(e.ID) {
							lost = append(lost, name+": "+e.Type+" "+e.ID)
						}
					}
				}
				if page >= events.Meta.LastPage {
					return lost
				}
			}
		}
		var lost []string
		for range 10 {
			offset += 26 * time.Hour
			again()
			enough, look := time.After(10*time.Second), time.NewTicker(200*time.Millisecond)
			for waiting := true; waiting; {
				select {
				case <-enough: // sleeps: between questions, of which the last may have the answer no
					waiting = false
				case <-look.C: // sleeps: as above
					lost = missing()
					waiting = len(lost) > 0
				}
			}
			look.Stop()
			if len(lost) == 0 {
				break
			}
		}
		n := 0
		kept.Range(func(any, any) bool { n++; return true })
		if len(lost) > 0 {
			t.Errorf("%d of %d changes and their events are lost: %q", len(lost), n, lost)
		}
		t.Logf("%d changes; %d, %d and %d requests, of which %d and %d repeated", n, flaky.requests, steady.requests, gone.requests, flaky.repeated, steady.repeated)
		if n < kills || flaky.repeated == 0 {
			t.Error("the test tests nothing")
		}
		if gone.requests == 0 || gone.requests > kills+1 {
			t.Errorf("%d requests to an address that is gone", gone.requests)
		}
		var endpoints struct {
			Data []struct {
				URL, Status string
				Reason      string `json:"disabled_reason"`
			}
		}
		reseller().must(http.MethodGet, "/api/v1/reseller/webhooks", "", &endpoints)
		for _, e := range endpoints.Data {
			if want := map[bool]string{true: "disabled", false: "active"}[e.URL == gone.URL]; e.Status != want {
				t.Errorf("%+v, want %s", e, want)
			}
		}
		in.booksAreWhole(t)
		p.terminate(t)
		p.ends(t)
	})
}
