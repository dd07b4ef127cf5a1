package webhooks_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"stead.dev/stead/internal/platform/api/apitest"
	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/jobs"
	"stead.dev/stead/internal/platform/outbox"
	"stead.dev/stead/internal/platform/secret"
	"stead.dev/stead/internal/platform/testkit"
	"stead.dev/stead/internal/resale/webhooks"
	"stead.dev/stead/sdk/go/webhook"
)

// worlds: 1 sells on, 2 is its sandbox, 3 is another reseller, 4 is none.
type worlds struct{}

func (worlds) World(_ context.Context, _ db.Querier, id int64) (bool, bool, error) {
	return id <= 3, id == 2, nil
}

// tags: services above 100 have one.
type tags struct{}

func (tags) ClientRef(_ context.Context, _ db.Querier, id int64) (*string, error) {
	if id <= 100 {
		return nil, nil
	}
	ref := fmt.Sprint("tag-", id)
	return &ref, nil
}

type world struct {
	t     *testing.T
	db    *db.DB
	clk   *clock.Fake
	queue *jobs.Queue
	out   *outbox.Outbox
	*webhooks.Service
	edge http.Handler
}

func engines(t *testing.T, f func(t *testing.T, w *world)) {
	t.Helper()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		q, err := jobs.New(d, jobs.Config{MaxWorkers: 4, Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		box, err := secret.OpenKeyFile(filepath.Join(t.TempDir(), "key"))
		if err != nil {
			t.Fatal(err)
		}
		w := &world{t: t, db: d, clk: clk, queue: q, out: outbox.New(d)}
		w.Service = webhooks.New(webhooks.Config{DB: d, Clock: clk, Queue: q, Events: w.out, Box: box, Worlds: worlds{}, Tags: tags{}, OrderTags: tags{}, AllowLoopback: true})
		w.out.Subscribe("*", w.Follow)
		w.Register(q.Workers())
		w.edge = apitest.NewEdge(t, d, clk, apitest.Tokens{
			"own": {AccountID: 1, KeyID: 1}, "sandbox": {AccountID: 2, KeyID: 2}, "other": {AccountID: 3, KeyID: 3},
		}, w.Operations())
		f(t, w)
	})
}

type object = map[string]any

func (w *world) call(key, method, path, body string) (int, object) {
	w.t.Helper()
	rec := apitest.Call(w.edge, key, method, "/api/v1/reseller/"+path, body)
	a := object{}
	if rec.Body.Len() > 0 {
		if err := json.Unmarshal(rec.Body.Bytes(), &a); err != nil {
			w.t.Fatalf("%s: %v", rec.Body, err)
		}
	}
	return rec.Code, a
}

// must is a call that answers with the status.
func (w *world) must(status int, key, method, path, body string) object {
	w.t.Helper()
	got, a := w.call(key, method, path, body)
	if got != status {
		w.t.Fatalf("%s %s: %d %v, want %d", method, path, got, a, status)
	}
	return a
}

// endpoint makes one and answers its id and secret.
func (w *world) endpoint(url string) (int64, string) {
	w.t.Helper()
	a := w.must(http.StatusCreated, "own", "POST", "webhooks", fmt.Sprintf(`{"url": %q}`, url))
	return int64(a["id"].(float64)), a["secret"].(string)
}

func (w *world) show(id int64) object {
	w.t.Helper()
	for _, e := range w.must(200, "own", "GET", "webhooks", "")["data"].([]any) {
		if e := e.(object); e["id"] == float64(id) {
			return e
		}
	}
	w.t.Fatal("the endpoint is not listed")
	return nil
}

// emit tells of one thing of the first reseller's.
func (w *world) emit(typ string, service int64, data object) {
	w.t.Helper()
	w.emitOf("service", typ, service, data)
}

func (w *world) emitOf(subject, typ string, id int64, data object) {
	w.t.Helper()
	err := w.db.InTx(w.t.Context(), func(ctx context.Context, tx *db.Tx) error {
		return w.out.Emit(ctx, tx, outbox.Event{Type: typ, AccountID: 1, Subject: subject, SubjectID: id, Data: data})
	})
	if err != nil {
		w.t.Fatal(err)
	}
}

// happen emits events of services.
func (w *world) happen(account int64, services ...int64) {
	w.t.Helper()
	err := w.db.InTx(w.t.Context(), func(ctx context.Context, tx *db.Tx) error {
		for _, s := range services {
			err := w.out.Emit(ctx, tx, outbox.Event{
				Type: "service.updated", AccountID: account, Subject: "service", SubjectID: s,
				Data: object{"id": s, "client_ref": fmt.Sprint("client-", s)}, Previous: object{"label": "before"},
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		w.t.Fatal(err)
	}
}

// fanOut tells of what has happened, the latest first: as bad as it can be for the order.
func (w *world) fanOut() {
	w.t.Helper()
	uids, err := db.Collect(w.t.Context(), w.db, func(r db.Row) (uid string, err error) { err = r.Scan(&uid); return uid, err },
		`SELECT uid FROM outbox_events WHERE fan_out AND fanned_at IS NULL ORDER BY id DESC`)
	for _, uid := range uids {
		if err == nil {
			err = w.out.FanOut(w.t.Context(), uid)
		}
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) deliver(id int64) {
	w.t.Helper()
	if err := w.Deliver(w.t.Context(), id); err != nil {
		w.t.Fatal(err)
	}
}

// received is one request to a receiver.
type received struct {
	id     string
	body   []byte
	header http.Header
}

// receiver answers as do says, and keeps what it got.
type receiver struct {
	*httptest.Server
	mu  sync.Mutex
	got []received
	do  func(n int, w http.ResponseWriter, r *http.Request)
}

func newReceiver(t *testing.T, do func(n int, w http.ResponseWriter, r *http.Request)) *receiver {
	t.Helper()
	rc := &receiver{do: do}
	rc.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		rc.mu.Lock()
		rc.got = append(rc.got, received{r.Header.Get("webhook-id"), b, r.Header.Clone()})
		n := len(rc.got)
		rc.mu.Unlock()
		if rc.do != nil {
			rc.do(n, w, r)
		}
	}))
	t.Cleanup(rc.Close)
	return rc
}

func (rc *receiver) all() []received {
	rc.mu.Lock()
	defer rc.mu.Unlock()
	return append([]received{}, rc.got...)
}

func status(code int) func(int, http.ResponseWriter, *http.Request) {
	return func(_ int, w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
}

func TestAnEventArrivesSigned(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		rc := newReceiver(t, nil)
		id, key := w.endpoint(rc.URL)
		w.happen(1, 7)
		w.happen(2, 8) // the sandbox has no endpoint
		w.happen(4, 9) // no reseller
		w.fanOut()
		w.deliver(id)
		got := rc.all()
		if len(got) != 1 {
			t.Fatalf("%d requests", len(got))
		}
		v := webhook.Verifier{Secrets: []string{key}, Now: w.clk.Now}
		if err := v.Verify(got[0].header, got[0].body); err != nil {
			t.Error(err)
		}
		var e webhook.Event
		if err := json.Unmarshal(got[0].body, &e); err != nil {
			t.Fatal(err)
		}
		if e.ID != got[0].id || e.Type != "service.updated" || e.Sandbox || e.Sequence != 1 || e.APIVersion != "v1" ||
			e.ClientRef == nil || *e.ClientRef != "client-7" || !bytes.Contains(e.Data.Object, []byte(`"id":7`)) || string(e.Data.Previous) != `{"label":"before"}` {
			t.Errorf("%s", got[0].body)
		}
		a := w.must(200, "own", "GET", "events/"+e.ID, "")
		d := a["deliveries"].([]any)
		if a["delivered"] != true || len(d) != 1 || d[0].(object)["status"] != "success" || d[0].(object)["http_status"] != float64(200) {
			t.Errorf("%v", a)
		}
		w.must(404, "other", "GET", "events/"+e.ID, "")
		w.must(404, "sandbox", "GET", "events/"+e.ID, "")
		w.must(404, "other", "POST", "events/"+e.ID+"/redeliver", "{}")
		for _, c := range [][2]string{{"PATCH", ""}, {"DELETE", ""}, {"POST", "/rotate-secret"}, {"POST", "/test"}} {
			body := "{}"
			if c[0] == "DELETE" || c[1] == "/test" {
				body = ""
			}
			w.must(404, "other", c[0], fmt.Sprintf("webhooks/%d%s", id, c[1]), body)
		}
		sandbox := w.must(200, "sandbox", "GET", "events?type=service.updated&client_ref=client-8&delivered=false&since=2000-01-01T00:00:00Z", "")
		if rows := sandbox["data"].([]any); len(rows) != 1 || rows[0].(object)["body"].(object)["sandbox"] != true {
			t.Errorf("%v", sandbox)
		}
		for filter, want := range map[string]int{"service.*": 1, "*": 1, "service.up*": 0, "order.*": 0} {
			if rows := w.must(200, "sandbox", "GET", "events?type="+filter, "")["data"].([]any); len(rows) != want {
				t.Errorf("events of type %s: %v, want %d", filter, rows, want)
			}
		}
		if rows := w.must(200, "own", "GET", "events?delivered=false", "")["data"].([]any); len(rows) != 0 {
			t.Errorf("%v", rows)
		}
	})
}

func TestWhatBelongsToAServiceBearsItsTag(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		w.emit("database.created", 7, object{"id": 1, "service_id": 7, "name": "shop", "engine": "mariadb"})
		w.emit("database.created", 101, object{"id": 2, "service_id": 101, "name": "shop", "engine": "mariadb"})
		w.emit("service.updated", 102, object{"id": 102, "client_ref": "own"})
		w.emit("service.updated", 103, object{"id": 103, "client_ref": nil})
		w.emitOf("invoice", "invoice.issued", 104, object{"id": 104, "service_id": nil, "order_id": 900})
		w.emitOf("invoice", "invoice.issued", 105, object{"id": 105, "service_id": 101, "order_id": 900})
		w.fanOut()
		tagged := map[string]any{}
		for _, e := range w.must(200, "own", "GET", "events", "")["data"].([]any) {
			body := e.(object)["body"].(object)
			if e.(object)["client_ref"] != body["client_ref"] {
				t.Errorf("%v", e)
			}
			tagged[fmt.Sprint(body["data"].(object)["object"].(object)["id"])] = body["client_ref"]
		}
		if want := map[string]any{"1": nil, "2": "tag-101", "102": "own", "103": "tag-103", "104": "tag-900", "105": "tag-101"}; !reflect.DeepEqual(tagged, want) {
			t.Errorf("%v, want %v", tagged, want)
		}
	})
}

func TestWhatIsRefused(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		id, _ := w.endpoint("https://hooks.example.com/")
		for body, key := range map[string]string{
			`{"url": "https://10.0.0.1/"}`:                                                             "webhook_url_not_allowed",
			`{"url": "http://example.com/"}`:                                                           "webhook_url_not_allowed",
			`{"url": "https://hooks.example.com/", "events": ["service.updatedd"]}`:                    "event_type_unknown",
			`{"url": "https://hooks.example.com/", "events": ["servic.*"]}`:                            "event_type_unknown",
			`{"url": "https://hooks.example.com/", "events": ["service.up*"]}`:                         "event_type_unknown",
			`{"url": "https://hooks.example.com/", "events": []}`:                                      "validation_failed",
			`{"url": "https://hooks.example.com/", "description": "` + strings.Repeat("a", 201) + `"}`: "validation_failed",
		} {
			if a := w.must(422, "own", "POST", "webhooks", body); a["error"] != key {
				t.Errorf("%s: %v", body, a)
			}
			if strings.Contains(body, `"events": []`) {
				continue
			}
			if a := w.must(422, "own", "PATCH", fmt.Sprint("webhooks/", id), body); a["error"] != key {
				t.Errorf("%s: %v", body, a)
			}
		}
		if e := w.show(id); e["url"] != "https://hooks.example.com/" || e["secret"] != nil {
			t.Errorf("%v", e)
		}
		for range 19 {
			w.endpoint("https://hooks.example.com/")
		}
		if a := w.must(422, "own", "POST", "webhooks", `{"url": "https://hooks.example.com/"}`); a["error"] != "webhook_limit_reached" {
			t.Errorf("%v", a)
		}
		w.must(200, "own", "DELETE", fmt.Sprint("webhooks/", id), "")
		w.must(404, "own", "DELETE", fmt.Sprint("webhooks/", id), "")
	})
}

func TestAnEndpointIsPausedByEitherName(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		id, _ := w.endpoint("https://hooks.example.com/")
		for _, c := range []struct{ body, status string }{
			{`{"enabled": false}`, "paused"},
			{`{"enabled": true}`, "active"},
			{`{"status": "paused", "enabled": false}`, "paused"},
			{`{"description": "Ours"}`, "paused"},
			{`{"status": "active"}`, "active"},
		} {
			if e := w.must(200, "own", "PATCH", fmt.Sprint("webhooks/", id), c.body); e["status"] != c.status || e["enabled"] != (c.status == "active") {
				t.Errorf("%s: %v", c.body, e)
			}
		}
		if a := w.must(422, "own", "PATCH", fmt.Sprint("webhooks/", id), `{"status": "active", "enabled": false}`); a["error"] != "validation_failed" {
			t.Errorf("both: %v", a)
		}
	})
}

func TestBothSecretsSignWhileOneIsRotated(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		rc := newReceiver(t, nil)
		id, before := w.endpoint(rc.URL)
		after := w.must(200, "own", "POST", fmt.Sprintf("webhooks/%d/rotate-secret", id), `{"grace_seconds": 60}`)["secret"].(string)
		verify := func(key string) error {
			got := rc.all()
			r := got[len(got)-1]
			return webhook.Verifier{Secrets: []string{key}, Now: w.clk.Now}.Verify(r.header, r.body)
		}
		test := func() {
			if a := w.must(200, "own", "POST", fmt.Sprintf("webhooks/%d/test", id), ""); a["http_status"] != float64(200) || a["status"] != "success" {
				t.Errorf("%v", a)
			}
		}
		if test(); before == after || verify(before) != nil || verify(after) != nil {
			t.Error("not both are right in the grace")
		}
		w.clk.Advance(time.Minute)
		if test(); verify(before) == nil || verify(after) != nil {
			t.Error("after the grace")
		}
	})
}

func TestAttemptsFollowTheSchedule(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		rc := newReceiver(t, func(n int, rw http.ResponseWriter, _ *http.Request) {
			if n == 1 {
				rw.Header().Set("Retry-After", "600")
			}
			rw.WriteHeader(http.StatusFound)
		})
		id, _ := w.endpoint(rc.URL)
		w.happen(1, 7, 7)
		w.fanOut()
		w.deliver(id)
		w.clk.Advance(9 * time.Minute)
		w.deliver(id)
		if n := len(rc.all()); n != 1 {
			t.Fatalf("%d requests before what the endpoint asked for is over", n)
		}
		for range webhooks.Attempts() * 2 {
			w.clk.Advance(27 * time.Hour)
			w.deliver(id)
			if w.show(id)["status"] != "active" {
				break
			}
		}
		e := w.show(id)
		if e["status"] != "disabled" || e["disabled_reason"] != "failing" {
			t.Fatalf("%v", e)
		}
		for _, r := range rc.all() {
			if r.id != rc.all()[0].id {
				t.Error("a later event of the subject did not wait")
			}
		}
		if told, err := w.out.Of(t.Context(), "webhook", id); err != nil || len(told) != 1 || told[0].Type != "webhook.endpoint_disabled" {
			t.Errorf("%v %v", told, err)
		}
		// Enabled again, it recovers all.
		rc.do = nil
		n := len(rc.all())
		w.must(200, "own", "PATCH", fmt.Sprint("webhooks/", id), `{"status": "active", "recover_since": "2000-01-01T00:00:00Z"}`)
		w.deliver(id)
		got := rc.all()[n:]
		if len(got) != 2 || got[0].id != rc.all()[0].id || !bytes.Equal(got[0].body, rc.all()[0].body) {
			t.Errorf("%d recovered", len(got))
		}
		w.must(200, "own", "PATCH", fmt.Sprint("webhooks/", id), `{"status": "active", "description": "Shop"}`)
		if told, err := w.out.Of(t.Context(), "webhook", id); err != nil || len(told) != 2 || told[1].Type != "webhook.endpoint_enabled" {
			t.Errorf("told once that it is enabled: %v %v", told, err)
		}
	})
}

func TestAnEventIsGivenUpAfterItsAttempts(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		// One event is poison; the others of its subject follow when it is given up, those of others do not wait.
		var poison string
		rc := newReceiver(t, func(n int, rw http.ResponseWriter, r *http.Request) {
			if n == 1 {
				poison = r.Header.Get("webhook-id")
			}
			if r.Header.Get("webhook-id") == poison {
				rw.WriteHeader(http.StatusInternalServerError)
			}
		})
		id, _ := w.endpoint(rc.URL)
		w.happen(1, 7)
		w.fanOut()
		w.deliver(id)
		w.happen(1, 7, 8)
		w.fanOut()
		w.deliver(id)
		if n := len(rc.all()); n != 2 {
			t.Fatalf("%d requests: the other subject waits, or this one did not", n)
		}
		for range webhooks.Attempts() {
			w.clk.Advance(27 * time.Hour)
			w.happen(1, 8)
			w.fanOut()
			w.deliver(id)
		}
		tries := 0
		for _, r := range rc.all() {
			if r.id == poison {
				tries++
			}
		}
		a := w.must(200, "own", "GET", "events/"+poison, "")
		d := a["deliveries"].([]any)
		if tries != webhooks.Attempts() || len(d) != tries || d[tries-1].(object)["status"] != "failed" || a["delivered"] != false {
			t.Errorf("%d attempts, %v", tries, a)
		}
		if rows := w.must(200, "own", "GET", "events?delivered=false", "")["data"].([]any); len(rows) != 1 {
			t.Errorf("%v", rows)
		}
		poison = ""
		w.must(200, "own", "POST", "events/"+a["id"].(string)+"/redeliver", "{}")
		w.deliver(id)
		if w.must(200, "own", "GET", "events/"+a["id"].(string), "")["delivered"] != true {
			t.Error("not delivered again")
		}
		w.clk.Advance(webhooks.Retention + time.Hour)
		if r := w.must(422, "own", "POST", "events/"+a["id"].(string)+"/redeliver", "{}"); r["error"] != "event_expired" {
			t.Errorf("%v", r)
		}
		if err := w.Clean(t.Context()); err != nil {
			t.Fatal(err)
		}
		w.must(404, "own", "GET", "events/"+a["id"].(string), "")
	})
}

func TestAnEndpointThatIsGoneIsDisabledAtOnce(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		rc := newReceiver(t, status(http.StatusGone))
		id, _ := w.endpoint(rc.URL)
		w.happen(1, 7, 8, 9)
		w.fanOut()
		w.deliver(id)
		if e := w.show(id); len(rc.all()) != 1 || e["status"] != "disabled" || e["disabled_reason"] != "gone" || e["enabled"] != false {
			t.Errorf("%v", e)
		}
		w.must(422, "own", "PATCH", fmt.Sprint("webhooks/", id), `{"recover_since": "2000-01-01T00:00:00Z"}`)
	})
}

func TestWhatHappensWhilePausedWaits(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		rc := newReceiver(t, nil)
		id, _ := w.endpoint(rc.URL)
		w.must(200, "own", "PATCH", fmt.Sprint("webhooks/", id), `{"status": "paused"}`)
		w.happen(1, 7)
		w.fanOut()
		w.deliver(id)
		if len(rc.all()) != 0 {
			t.Error("told while paused")
		}
		w.must(200, "own", "PATCH", fmt.Sprint("webhooks/", id), `{"status": "active", "events": ["order.*"]}`)
		w.happen(1, 7)
		w.fanOut()
		w.deliver(id)
		if n := len(rc.all()); n != 1 {
			t.Errorf("%d requests", n)
		}
	})
}

// TestNothingIsLostWhenWorkersDie: twenty workers die, before they send and after it; the receiver fails and resets at
// random. Everything arrives, in the order of its subject, and what arrives twice is the same.
func TestNothingIsLostWhenWorkersDie(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		random := rand.New(rand.NewPCG(4, 20))
		var mu sync.Mutex
		accepted := map[string]int{}
		var order []webhook.Event
		rc := newReceiver(t, nil)
		rc.do = func(n int, rw http.ResponseWriter, _ *http.Request) {
			mu.Lock()
			defer mu.Unlock()
			switch random.IntN(6) {
			case 0:
				rw.WriteHeader(http.StatusBadGateway)
				return
			case 1:
				panic(http.ErrAbortHandler) // the connection is cut
			}
			got := rc.all()[n-1]
			var e webhook.Event
			if err := json.Unmarshal(got.body, &e); err != nil {
				t.Error(err)
			}
			if accepted[e.ID]++; accepted[e.ID] == 1 {
				order = append(order, e)
			}
		}
		id, _ := w.endpoint(rc.URL)
		const subjects, each = 5, 8
		for range each {
			w.happen(1, 1, 2, 3, 4, 5)
		}
		w.fanOut()
		for died := 0; died < 20; died++ {
			var err error
			if died%2 == 0 {
				_, err = w.DieAfterSending(t.Context(), id)
			} else {
				err = w.DieBeforeSending(t.Context(), id)
			}
			if err != nil {
				t.Fatal(err)
			}
			n := len(rc.all())
			if w.deliver(id); len(rc.all()) != n && died%2 == 1 {
				t.Error("a lease did not hold")
			}
			w.clk.Advance(webhooks.LeaseFor)
		}
		for range 200 {
			w.clk.Advance(10 * time.Minute)
			w.deliver(id)
		}
		if len(accepted) != subjects*each {
			t.Fatalf("%d of %d events have arrived", len(accepted), subjects*each)
		}
		last := map[int64]int64{}
		for _, e := range order {
			var o struct{ ID int64 }
			if err := json.Unmarshal(e.Data.Object, &o); err != nil {
				t.Fatal(err)
			}
			if e.Sequence != last[o.ID]+1 {
				t.Errorf("subject %d: %d after %d", o.ID, e.Sequence, last[o.ID])
			}
			last[o.ID] = e.Sequence
		}
		bodies := map[string][]byte{}
		for _, r := range rc.all() {
			if b, ok := bodies[r.id]; ok && !bytes.Equal(b, r.body) {
				t.Errorf("%s has two bodies", r.id)
			}
			bodies[r.id] = r.body
		}
		if len(rc.all()) == len(bodies) {
			t.Error("nothing arrived twice: the test tests nothing")
		}
	})
}

// TestEventsThatLieAheadAreCleaned: those of a sandbox whose clock stands years ahead go with the others of their day.
func TestEventsThatLieAheadAreCleaned(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		ahead := func() {
			err := w.db.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
				defer tx.Enter(2, tx.Now.AddDate(1, 0, 0))()
				return w.out.Emit(ctx, tx, outbox.Event{Type: "service.updated", AccountID: 2, Subject: "service", SubjectID: 8, Data: object{"id": 8}})
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		stay := func(want int) {
			t.Helper()
			var n int
			err := w.Clean(t.Context())
			if err == nil {
				err = w.db.QueryRow(t.Context(), `SELECT count(*) FROM webhooks_events`).Scan(&n)
			}
			if err != nil || n != want {
				t.Errorf("%d events stay, want %d; error %v", n, want, err)
			}
		}
		ahead()
		w.fanOut()
		w.happen(1, 7)
		w.fanOut()
		w.clk.Advance(webhooks.Retention)
		stay(2)
		ahead()
		w.fanOut()
		w.clk.Advance(time.Second)
		stay(1)
	})
}

func TestRetryAfterIsReadInBothForms(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for value, want := range map[string]time.Duration{
		"": 0, "30": 30 * time.Second, "-1": 0, "x": 0, "999999999": 24 * time.Hour, "99999999999999999999": 0,
		now.Add(time.Minute).Format(http.TimeFormat): time.Minute, now.Add(-time.Minute).Format(http.TimeFormat): 0,
	} {
		if got := webhooks.RetryAfter(value, now); got != want {
			t.Errorf("%q: %s, want %s", value, got, want)
		}
	}
}
