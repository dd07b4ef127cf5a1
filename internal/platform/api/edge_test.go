package api_test

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"stead.dev/stead/internal/platform/api"
	"stead.dev/stead/internal/platform/api/apitest"
	"stead.dev/stead/internal/platform/auth"
	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/idempotency"
	"stead.dev/stead/internal/platform/page"
	"stead.dev/stead/internal/platform/testkit"
	"stead.dev/stead/internal/platform/throttle"
)

// tokens verifies the tokens of a map.
type tokens map[string]auth.Principal

func (ts tokens) Verify(_ context.Context, token string) (auth.Principal, error) {
	p, ok := ts[token]
	if !ok {
		return p, fault.TokenExpired.New()
	}
	return p, nil
}

type sections map[api.Section]bool // the ones that are switched off

func (s sections) Enabled(x api.Section) bool { return !s[x] }

var errTooPoor = fault.Define(fault.KindUnprocessable, "test_too_poor")

type thingIn struct {
	ID   int64  `path:"id" minimum:"1"`
	Mode string `query:"mode" enum:"a,b"`
}

type endIn struct {
	ID   int64  `path:"id" minimum:"1"`
	When string `query:"when"`
}

type thing struct {
	ID   int64  `json:"id"`
	Mode string `json:"mode"`
}

type listIn struct {
	page.Params
}

type makeIn struct {
	Body struct {
		Name  string  `json:"name" minLength:"2" maxLength:"10"`
		Count int     `json:"count,omitempty" minimum:"0" maximum:"9"`
		Note  *string `json:"note,omitempty"`
	}
}

// world is an edge with a few operations; paid counts committed effects.
type world struct {
	handler http.Handler
	off     sections
	paid    func() int
	block   chan struct{} // when not nil, pay waits for it
	entered chan struct{}
}

// config is the configuration of an edge whose throttle allows limit requests.
func config(d *db.DB, clk clock.Clock, limit int) api.Config {
	return api.Config{
		DB: d, Switches: sections{}, Limiter: throttle.New(d, clk), Answers: idempotency.NewStore(d),
		Verifier: tokens{
			"full":    {AccountID: 1, ApplicationID: 1, Scopes: []string{"orders:read", "orders:write"}},
			"reader":  {AccountID: 1, ApplicationID: 2, Scopes: []string{"orders:read"}},
			"sandbox": {AccountID: 1, ApplicationID: 3, Scopes: []string{"orders:read", "orders:write"}, Sandbox: true},
			"russian": {AccountID: 2, ApplicationID: 1, Scopes: []string{"orders:read"}, Locale: "ru"},
		},
		Default: throttle.Policy{Name: "default", Limit: limit, Window: time.Minute},
		MaxBody: 1 << 10, Timeout: 10 * time.Second, Language: "en", BaseURL: "http://stead.test", Version: "test",
		ClientAddr: func(*http.Request) netip.Addr { return netip.MustParseAddr("203.0.113.9") },
	}
}

func newWorld(t testing.TB, d *db.DB, clk clock.Clock, limit int, more ...api.Route) *world {
	t.Helper()
	c := config(d, clk, limit)
	w := &world{off: sections{}, entered: make(chan struct{}, 8)}
	c.Switches = w.off
	edge := api.NewEdge(c)
	err := edge.Mount(append(more,
		api.Operation[thingIn, thing]{
			ID: "things.get", Method: "GET", Path: "/api/v1/things/{id}", Section: api.Orders, Auth: api.Token,
			Scopes: []string{"orders:read"}, Summary: "One thing",
			Handle: func(_ context.Context, _ auth.Principal, in *thingIn) (*thing, error) {
				if in.ID == 500 {
					return nil, errors.New("the disk of the database is on fire")
				}
				return &thing{ID: in.ID, Mode: in.Mode}, nil
			},
		},
		api.Operation[endIn, thing]{
			ID: "things.end", Method: "DELETE", Path: "/api/v1/things/{id}", Section: api.Orders, Auth: api.Token,
			Scopes: []string{"orders:write"}, Summary: "End a thing",
			Handle: func(_ context.Context, _ auth.Principal, in *endIn) (*thing, error) {
				return &thing{ID: in.ID, Mode: in.When}, nil
			},
		},
		api.Operation[listIn, page.List[thing]]{
			ID: "things.list", Method: "GET", Path: "/api/v1/things", Section: api.Orders, Auth: api.Open, Summary: "Things",
			Handle: func(_ context.Context, _ auth.Principal, in *listIn) (*page.List[thing], error) {
				return page.Of(in.Params, 101, []thing{{ID: int64(in.Offset())}}), nil
			},
		},
		api.Operation[makeIn, thing]{
			ID: "things.create", Method: "POST", Path: "/api/v1/things", Section: api.Orders, Auth: api.Token,
			Scopes: []string{"orders:write"}, Status: 201, Summary: "Make a thing",
			Handle: func(_ context.Context, _ auth.Principal, in *makeIn) (*thing, error) {
				return &thing{ID: int64(in.Body.Count), Mode: in.Body.Name}, nil
			},
		},
		api.Operation[makeIn, thing]{
			ID: "things.pay", Method: "POST", Path: "/api/v1/things/pay", Section: api.Orders, Auth: api.Token,
			Scopes: []string{"orders:write"}, Summary: "Pay", Errors: []*fault.Def{errTooPoor},
			Commit: func(ctx context.Context, tx *db.Tx, _ auth.Principal, in *makeIn) (*thing, error) {
				w.entered <- struct{}{}
				if w.block != nil {
					<-w.block
				}
				_, err := tx.Exec(ctx, `INSERT INTO signal_messages (topic, payload, created_at) VALUES ('paid', '', 1)`)
				if err != nil {
					return nil, err
				}
				if in.Body.Name == "poor" {
					return nil, errTooPoor.With(fault.Fields{"missing": 5})
				}
				return &thing{ID: 7, Mode: in.Body.Name}, nil
			},
		},
		api.Operation[struct{}, api.Empty]{
			ID: "things.stream", Method: "GET", Path: "/api/v1/things/stream", Section: api.Orders, Auth: api.Open, Summary: "Stream",
			Stream: func(_ context.Context, _ auth.Principal, _ *struct{}, w http.ResponseWriter, r *http.Request) error {
				if r.URL.Query().Has("late") {
					_, _ = io.WriteString(w, "part")
				}
				return fault.NotFound.New()
			},
		},
	)...)
	if err != nil {
		t.Fatal(err)
	}
	w.handler = api.Outer(slog.New(slog.DiscardHandler), clk, nil, edge)
	w.paid = func() (n int) {
		if err := d.QueryRow(context.Background(), `SELECT count(*) FROM signal_messages WHERE topic = 'paid'`).Scan(&n); err != nil {
			t.Error(err)
		}
		return n
	}
	return w
}

// do sends a request; the rest are pairs of header names and values.
func (w *world) do(method, target, token, body string, header ...string) *httptest.ResponseRecorder {
	return apitest.Call(w.handler, token, method, target, body, header...)
}

func key(rec *httptest.ResponseRecorder) string {
	var e struct{ Error string }
	_ = json.Unmarshal(rec.Body.Bytes(), &e)
	return e.Error
}

func TestThePhases(t *testing.T) {
	t.Parallel()
	clk := clock.NewFake(testkit.Start)
	w := newWorld(t, testkit.SQLite(t, clk), clk, 1000)
	big := `{"name":"` + strings.Repeat("x", 2000) + `"}`
	for _, c := range []struct {
		name, method, target, token, body string
		header                            []string
		status                            int
		key                               string
		contains                          string
	}{
		{name: "a good call", method: "GET", target: "/api/v1/things/5?mode=b", token: "full", status: 200, contains: `{"id":5,"mode":"b"}`},
		{name: "no token", method: "GET", target: "/api/v1/things/5", status: 401, key: "unauthenticated"},
		{name: "a bad token", method: "GET", target: "/api/v1/things/5", token: "old", status: 401, key: "token_expired"},
		{name: "another scheme", method: "GET", target: "/api/v1/things/5", header: []string{"Authorization", "Basic eDp5"}, status: 401, key: "unauthenticated"},
		{name: "a missing scope", method: "POST", target: "/api/v1/things", token: "reader", body: `{"name":"ab"}`, status: 403, key: "insufficient_scope", contains: `"scope":"orders:write"`},
		{name: "a sandbox reads", method: "GET", target: "/api/v1/things/5", token: "sandbox", status: 200},
		{name: "a sandbox writes", method: "POST", target: "/api/v1/things", token: "sandbox", body: `{"name":"ab"}`, status: 403, key: "sandbox_read_only"},
		{name: "creation", method: "POST", target: "/api/v1/things", token: "full", body: `{"name":"ab","count":3}`, status: 201, contains: `{"id":3,"mode":"ab"}`},
		{name: "an unknown member", method: "POST", target: "/api/v1/things", token: "full", body: `{"name":"ab","unknown":{"x":1}}`, status: 422, key: "validation_failed", contains: `"errors":{"unknown":["This name is not known."]}`},
		{name: "a mistyped member", method: "POST", target: "/api/v1/things", token: "full", body: `{"name":"ab","coutn":3}`, status: 422, key: "validation_failed", contains: `"errors":{"coutn":["This name is not known. Did you mean count?"]}`},
		{name: "a member in capitals", method: "POST", target: "/api/v1/things", token: "full", body: `{"name":"ab","Count":3}`, status: 422, key: "validation_failed", contains: `"Count":["This name is not known. Did you mean count?"]`},
		{name: "an unknown parameter of a write", method: "POST", target: "/api/v1/things?dry_run=true", token: "full", body: `{"name":"ab"}`, status: 422, key: "validation_failed", contains: `"errors":{"dry_run":["This name is not known."]}`},
		{name: "a member in the query", method: "POST", target: "/api/v1/things?count=3", token: "full", body: `{"name":"ab"}`, status: 422, key: "validation_failed", contains: `"errors":{"count":["Give it in the body, not in the query."]}`},
		{name: "an unknown parameter of a read", method: "GET", target: "/api/v1/things/5?utm_source=x", token: "full", status: 200},
		{name: "a body where none is read", method: "DELETE", target: "/api/v1/things/5", token: "full", body: `{"wen":"now"}`, status: 422, key: "validation_failed", contains: `"errors":{"wen":["This name is not known. Did you mean when?"]}`},
		{name: "a parameter in the body", method: "DELETE", target: "/api/v1/things/5", token: "full", body: `{"when":"now"}`, status: 422, key: "validation_failed", contains: `"errors":{"when":["Give it in the query, not in the body."]}`},
		{name: "a body that is no object", method: "DELETE", target: "/api/v1/things/5", token: "full", body: `now`, status: 422, key: "validation_failed", contains: `"errors":{"body":["This operation takes no body."]}`},
		{name: "an empty object where no body is read", method: "DELETE", target: "/api/v1/things/5?when=now&lang=ru", token: "full", body: ` {} `, status: 200, contains: `"mode":"now"`},
		{name: "null for an optional member", method: "POST", target: "/api/v1/things", token: "full", body: `{"name":"ab","note":null}`, status: 201},
		{name: "a missing member", method: "POST", target: "/api/v1/things", token: "full", body: `{}`, status: 422, key: "validation_failed", contains: `"errors":{"name":["This member is required."]}`},
		{name: "no body", method: "POST", target: "/api/v1/things", token: "full", status: 422, key: "validation_failed"},
		{name: "too short, in Russian", method: "POST", target: "/api/v1/things?lang=ru", token: "full", body: `{"name":"a"}`, status: 422, key: "validation_failed", contains: "Минимальная длина"},
		{name: "a wrong type", method: "POST", target: "/api/v1/things", token: "full", body: `{"name":7}`, status: 422, key: "validation_failed", contains: `"name":["It must be a text."]`},
		{name: "a fraction", method: "POST", target: "/api/v1/things", token: "full", body: `{"name":"ab","count":1.5}`, status: 422, key: "validation_failed"},
		{name: "a number beyond the bound", method: "POST", target: "/api/v1/things", token: "full", body: `{"name":"ab","count":1e30}`, status: 422, key: "validation_failed"},
		{name: "an array", method: "POST", target: "/api/v1/things", token: "full", body: `[1]`, status: 422, key: "validation_failed"},
		{name: "null", method: "POST", target: "/api/v1/things", token: "full", body: `null`, status: 422, key: "validation_failed"},
		{name: "malformed JSON", method: "POST", target: "/api/v1/things", token: "full", body: `{"name":`, status: 400, key: "malformed_json"},
		{name: "two JSON values", method: "POST", target: "/api/v1/things", token: "full", body: `{"name":"ab"}{}`, status: 400, key: "malformed_json"},
		{name: "bad UTF-8", method: "POST", target: "/api/v1/things", token: "full", body: "{\"name\":\"\xff\xfe\"}", status: 400, key: "malformed_json"},
		{name: "a NUL", method: "POST", target: "/api/v1/things", token: "full", body: `{"name":"a\u0000b"}`, status: 422, key: "validation_failed"},
		{name: "a huge body", method: "POST", target: "/api/v1/things", token: "full", body: big, status: 413, key: "payload_too_large"},
		{name: "a form", method: "POST", target: "/api/v1/things", token: "full", body: `name=ab`, header: []string{"Content-Type", "application/x-www-form-urlencoded"}, status: 415, key: "unsupported_media_type"},
		{name: "a word for an id", method: "GET", target: "/api/v1/things/five", token: "full", status: 404, key: "not_found"},
		{name: "an id too large", method: "GET", target: "/api/v1/things/99999999999999999999", token: "full", status: 404, key: "not_found"},
		{name: "a wrong enum", method: "GET", target: "/api/v1/things/5?mode=c", token: "full", status: 422, key: "validation_failed", contains: `"mode"`},
		{name: "half a character", method: "POST", target: "/api/v1/things", token: "full", body: `{"name":"a\ud83d"}`, status: 400, key: "malformed_json"},
		{name: "the second half of a character", method: "POST", target: "/api/v1/things", token: "full", body: `{"name":"\\\\\uDE00\u0061"}`, status: 400, key: "malformed_json"},
		{name: "both halves", method: "POST", target: "/api/v1/things", token: "full", body: `{"name":"a\ud83d\ude00"}`, status: 201},
		{name: "a backslash before what looks like a half", method: "POST", target: "/api/v1/things", token: "full", body: `{"name":"a\\ud83d"}`, status: 201},
		{name: "bad UTF-8 in the query", method: "GET", target: "/api/v1/things/5?mode=%ff", token: "full", status: 422, key: "validation_failed"},
		{name: "a list", method: "GET", target: "/api/v1/things?page=3", status: 200, contains: `{"data":[{"id":40,"mode":""}],"meta":{"page":3,"per_page":20,"total":101,"last_page":6}}`},
		{name: "per_page is capped", method: "GET", target: "/api/v1/things?per_page=1000", status: 200, contains: `"per_page":50,"total":101,"last_page":3`},
		{name: "page zero", method: "GET", target: "/api/v1/things?page=0", status: 422, key: "validation_failed"},
		{name: "a page too far", method: "GET", target: "/api/v1/things?page=1000001", status: 422, key: "validation_failed", contains: "1000000 or less"},
		{name: "page of letters", method: "GET", target: "/api/v1/things?page=x", status: 422, key: "validation_failed"},
		{name: "an unknown path", method: "GET", target: "/api/v1/nothing", status: 404, key: "not_found"},
		{name: "a trailing slash", method: "GET", target: "/api/v1/things/", status: 404, key: "not_found"},
		{name: "dots in the path", method: "GET", target: "/api/v1/x/../things", status: 404, key: "not_found"},
		{name: "another method", method: "DELETE", target: "/api/v1/things", token: "full", status: 405, key: "method_not_allowed"},
		{name: "an error of ours says nothing", method: "GET", target: "/api/v1/things/500", token: "full", status: 500, key: "internal_error"},
		{name: "a stream refuses", method: "GET", target: "/api/v1/things/stream", status: 404, key: "not_found"},
		{name: "a bad idempotency key", method: "POST", target: "/api/v1/things/pay", token: "full", body: `{"name":"ab"}`, header: []string{"Idempotency-Key", `""`}, status: 422, key: "idempotency_key_invalid"},
	} {
		t.Run(c.name, func(t *testing.T) {
			rec := w.do(c.method, c.target, c.token, c.body, c.header...)
			body := rec.Body.String()
			if rec.Code != c.status || key(rec) != c.key || !strings.Contains(body, c.contains) {
				t.Fatalf("got %d %s; want %d %s with %s", rec.Code, body, c.status, c.key, c.contains)
			}
			if rec.Header().Get("X-Request-Id") == "" {
				t.Error("no X-Request-Id")
			}
			if strings.Contains(body, "on fire") {
				t.Error("the cause was sent to the client")
			}
			if c.key != "" && !strings.Contains(body, `"message":"`) {
				t.Errorf("no message: %s", body)
			}
		})
	}
}

func TestRefusalsTellClientsWhatToDo(t *testing.T) {
	t.Parallel()
	clk := clock.NewFake(testkit.Start)
	w := newWorld(t, testkit.SQLite(t, clk), clk, 1000)
	got := w.do("GET", "/api/v1/things/5", "", "").Header().Get("WWW-Authenticate")
	if want := `Bearer resource_metadata="http://stead.test/.well-known/oauth-protected-resource"`; got != want {
		t.Errorf("no token: %s", got)
	}
	got = w.do("GET", "/api/v1/things/5", "old", "").Header().Get("WWW-Authenticate")
	if !strings.Contains(got, `error="invalid_token"`) {
		t.Errorf("bad token: %s", got)
	}
	got = w.do("POST", "/api/v1/things", "reader", `{}`).Header().Get("WWW-Authenticate")
	if !strings.Contains(got, `error="insufficient_scope", scope="orders:write"`) {
		t.Errorf("scope: %s", got)
	}
	if got := w.do("DELETE", "/api/v1/things", "", "").Header().Get("Allow"); got != "GET, HEAD, POST, OPTIONS" {
		t.Errorf("Allow: %s", got)
	}
	if body := w.do("GET", "/api/v1/things/x", "russian", "").Body.String(); !strings.ContainsAny(body, "абвгдежз") {
		t.Errorf("the account's language was not used: %s", body)
	}
}

func TestASwitchedOffSectionIsNotThere(t *testing.T) {
	t.Parallel()
	clk := clock.NewFake(testkit.Start)
	w := newWorld(t, testkit.SQLite(t, clk), clk, 1000)
	w.off[api.Orders] = true
	for _, token := range []string{"", "full"} {
		if rec := w.do("GET", "/api/v1/things/5", token, ""); rec.Code != 404 || key(rec) != "section_disabled" {
			t.Errorf("token %q: %d %s", token, rec.Code, rec.Body)
		}
	}
}

func TestTheThrottleCountsPerCallerAndSaysSo(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		w := newWorld(t, d, clk, 3)
		for i := range 3 {
			rec := w.do("GET", "/api/v1/things/5", "full", "")
			if rec.Code != 200 || rec.Header().Get("X-RateLimit-Remaining") != fmt.Sprint(2-i) {
				t.Fatalf("call %d: %d %v", i, rec.Code, rec.Header())
			}
		}
		clk.Advance(17 * time.Second)
		rec := w.do("GET", "/api/v1/things/5", "full", "")
		h := rec.Header()
		if rec.Code != 429 || key(rec) != "rate_limited" || h.Get("Retry-After") != "43" ||
			h.Get("RateLimit-Policy") != `"default";q=3;w=60` || h.Get("RateLimit") != `"default";r=0;t=43` {
			t.Fatalf("%d %v %s", rec.Code, h, rec.Body)
		}
		if rec := w.do("GET", "/api/v1/things/5", "reader", ""); rec.Code != 200 {
			t.Errorf("another application shares the count: %d", rec.Code)
		}
		clk.Advance(43 * time.Second)
		if rec := w.do("GET", "/api/v1/things/5", "full", ""); rec.Code != 200 {
			t.Errorf("the next window: %d", rec.Code)
		}
		// Guesses of tokens count against the address.
		for range 3 {
			w.do("GET", "/api/v1/things/5", "guess", "")
		}
		if rec := w.do("GET", "/api/v1/things/5", "guess", ""); rec.Code != 429 {
			t.Errorf("guessing goes on: %d", rec.Code)
		}
	})
}

func TestAMoneyOperationIsRepeatable(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		w := newWorld(t, d, clk, 1000)
		pay := func(key, body string) *httptest.ResponseRecorder {
			return w.do("POST", "/api/v1/things/pay", "full", body, "Idempotency-Key", key)
		}
		first, again := pay("k1", `{"name":"ab"}`), pay(`"k1"`, `{"name":"ab"}`)
		if first.Code != 200 || again.Code != 200 || first.Body.String() != again.Body.String() || w.paid() != 1 {
			t.Fatalf("%d %s, then %d %s; paid %d times", first.Code, first.Body, again.Code, again.Body, w.paid())
		}
		if first.Header().Get("Idempotency-Replayed") != "" || again.Header().Get("Idempotency-Replayed") != "true" {
			t.Error("Idempotency-Replayed does not say which answer is a repetition")
		}
		if rec := pay("k1", `{"name":"cd"}`); rec.Code != 422 || key(rec) != "idempotency_key_reused" {
			t.Errorf("another body: %d %s", rec.Code, rec.Body)
		}
		if rec := pay("k2", `{"name":"ab"}`); rec.Code != 200 || w.paid() != 2 {
			t.Errorf("another key: %d, paid %d", rec.Code, w.paid())
		}
		if rec := w.do("POST", "/api/v1/things/pay", "full", `{"name":"ab"}`); rec.Code != 200 || w.paid() != 3 {
			t.Errorf("no key: %d, paid %d", rec.Code, w.paid())
		}
		// A refusal undoes its effect and is not stored: the key can be tried again, also with a corrected body.
		for range 2 {
			if poor := pay("k3", `{"name":"poor"}`); poor.Code != 422 || key(poor) != "test_too_poor" || poor.Header().Get("Idempotency-Replayed") != "" || w.paid() != 3 {
				t.Errorf("%d %s, paid %d", poor.Code, poor.Body, w.paid())
			}
		}
		for i := range 2 {
			rich := pay("k3", `{"name":"rich"}`)
			if rich.Code != 200 || (rich.Header().Get("Idempotency-Replayed") != "") != (i == 1) || w.paid() != 4 {
				t.Errorf("corrected, time %d: %d %s, paid %d", i, rich.Code, rich.Body, w.paid())
			}
		}
		if poor := pay("k3", `{"name":"poor"}`); key(poor) != "idempotency_key_reused" {
			t.Errorf("%d %s after its key was used", poor.Code, poor.Body)
		}
		clk.Advance(idempotency.Retention)
		if rec := pay("k1", `{"name":"cd"}`); rec.Code != 200 || w.paid() != 5 {
			t.Errorf("an expired key: %d %s, paid %d", rec.Code, rec.Body, w.paid())
		}
	})
}

func TestAListIsRevalidatedAndCompressed(t *testing.T) {
	t.Parallel()
	clk := clock.NewFake(testkit.Start)
	w := newWorld(t, testkit.SQLite(t, clk), clk, 1000, api.Operation[listIn, page.List[thing]]{
		ID: "things.many", Method: "GET", Path: "/api/v1/many", Section: api.Orders, Auth: api.Open, Summary: "Many things",
		Handle: func(_ context.Context, _ auth.Principal, in *listIn) (*page.List[thing], error) {
			return page.Of(in.Params, 101, make([]thing, 100)), nil
		},
	})
	plain := w.do("GET", "/api/v1/many", "", "", "Accept-Encoding", "identity")
	etag := plain.Header().Get("ETag")
	if plain.Code != 200 || etag == "" || plain.Header().Get("Content-Encoding") != "" || plain.Header().Get("Cache-Control") != "private, no-cache" {
		t.Fatalf("%d %v", plain.Code, plain.Header())
	}
	packed := w.do("GET", "/api/v1/many", "", "", "Accept-Encoding", "br, gzip;q=0.5")
	z, err := gzip.NewReader(packed.Body)
	if err != nil || packed.Header().Get("Content-Encoding") != "gzip" || packed.Header().Get("ETag") != etag {
		t.Fatal(err, packed.Header())
	}
	if unpacked, err := io.ReadAll(z); err != nil || string(unpacked) != plain.Body.String() {
		t.Errorf("%v %.100s", err, unpacked)
	}
	for _, c := range []struct {
		header string
		status int
	}{{etag, 304}, {`"x", ` + etag, 304}, {strings.TrimPrefix(etag, "W/"), 304}, {"*", 304}, {`"x"`, 200}} {
		rec := w.do("GET", "/api/v1/many", "", "", "If-None-Match", c.header)
		if rec.Code != c.status || rec.Header().Get("ETag") != etag || (c.status == 304) != (rec.Body.Len() == 0) {
			t.Errorf("If-None-Match %s: %d with %d bytes", c.header, rec.Code, rec.Body.Len())
		}
	}
	if one := w.do("GET", "/api/v1/things/5", "full", ""); one.Header().Get("ETag") != "" || one.Header().Get("Cache-Control") != "no-store" {
		t.Errorf("what is no list: %v", one.Header())
	}
	if rec := w.do("POST", "/api/v1/many", "", ""); rec.Code != 405 || rec.Header().Get("Allow") != "GET, HEAD, OPTIONS" {
		t.Errorf("another method: %d, Allow %s", rec.Code, rec.Header().Get("Allow"))
	}
}

func TestOfTwoAtOnceOneIsToldToWait(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		w := newWorld(t, d, clk, 1000)
		w.block = make(chan struct{})
		var wg sync.WaitGroup
		var first *httptest.ResponseRecorder
		wg.Go(func() {
			first = w.do("POST", "/api/v1/things/pay", "full", `{"name":"ab"}`, "Idempotency-Key", "k")
		})
		<-w.entered
		second := w.do("POST", "/api/v1/things/pay", "full", `{"name":"ab"}`, "Idempotency-Key", "k")
		close(w.block)
		wg.Wait()
		if second.Code != 409 || key(second) != "idempotency_in_progress" || second.Header().Get("Retry-After") == "" {
			t.Errorf("the second: %d %s", second.Code, second.Body)
		}
		if first.Code != 200 || w.paid() != 1 {
			t.Errorf("the first: %d, paid %d", first.Code, w.paid())
		}
	})
}

func TestAStreamThatFailsHalfWayEndsTheConnection(t *testing.T) {
	t.Parallel()
	clk := clock.NewFake(testkit.Start)
	w := newWorld(t, testkit.SQLite(t, clk), clk, 1000)
	srv := httptest.NewServer(w.handler)
	defer srv.Close()
	res, err := http.Get(srv.URL + "/api/v1/things/stream?late=1")
	if err == nil {
		_, err = io.ReadAll(res.Body)
		_ = res.Body.Close()
	}
	if err == nil {
		t.Fatal("the client took a part for the whole")
	}
}

// TestAPageAnswersNoPreflight: no script of another origin may ask for a page that a browser opens with its session.
func TestAPageAnswersNoPreflight(t *testing.T) {
	t.Parallel()
	clk := clock.NewFake(testkit.Start)
	edge := api.NewEdge(config(testkit.SQLite(t, clk), clk, 1000))
	edge.Document(api.Page{Path: "/oauth/authorize", Section: api.OAuth, Get: &huma.Operation{}})
	for _, method := range []string{http.MethodOptions, http.MethodDelete} {
		rec := apitest.Call(edge, "", method, "/oauth/authorize", "", "Origin", "https://evil.test", "Access-Control-Request-Method", "POST")
		if rec.Code != http.StatusMethodNotAllowed {
			t.Errorf("%s: %d", method, rec.Code)
		}
		for name := range rec.Header() {
			if strings.HasPrefix(name, "Access-Control-") {
				t.Errorf("%s: %s", method, name)
			}
		}
	}
}

func TestAPanicIsAnInternalError(t *testing.T) {
	var logged atomic.Int32
	h := api.Outer(slog.New(slog.DiscardHandler), clock.System(0),
		func(_ context.Context, _, _ string, status int, _ time.Duration) { logged.Store(int32(status)) },
		http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("boom") }))
	rec := httptest.NewRecorder()
	h.ServeHTTP(rec, httptest.NewRequest("GET", "/", nil))
	if rec.Code != 500 || key(rec) != "internal_error" || logged.Load() != 500 {
		t.Fatalf("%d %s", rec.Code, rec.Body)
	}
}

func TestMistakesInDeclarationsAreFoundAtStart(t *testing.T) {
	handle := func(context.Context, auth.Principal, *struct{}) (*api.Empty, error) { return nil, nil }
	good := api.Operation[struct{}, api.Empty]{
		ID: "a.b", Method: "GET", Path: "/x", Section: api.Orders, Auth: api.Token, Scopes: []string{"profile"}, Summary: "s", Handle: handle,
	}
	for name, spoil := range map[string]func(o *api.Operation[struct{}, api.Empty]){
		"a protected operation without a scope": func(o *api.Operation[struct{}, api.Empty]) { o.Scopes = nil },
		"an open write":                         func(o *api.Operation[struct{}, api.Empty]) { o.Auth, o.Scopes, o.Method = api.Open, nil, "POST" },
		"an unknown scope":                      func(o *api.Operation[struct{}, api.Empty]) { o.Scopes = []string{"everything"} },
		"no function":                           func(o *api.Operation[struct{}, api.Empty]) { o.Handle = nil },
		"no section":                            func(o *api.Operation[struct{}, api.Empty]) { o.Section = "x" },
		"an unknown throttle":                   func(o *api.Operation[struct{}, api.Empty]) { o.Throttle = "x" },
		"no auth":                               func(o *api.Operation[struct{}, api.Empty]) { o.Auth, o.Scopes = 0, nil },
	} {
		o := good
		spoil(&o)
		if err := api.NewEdge(api.Config{}).Mount(o); err == nil {
			t.Errorf("%s was mounted", name)
		}
	}
	type query struct {
		Amount int `query:"amount"`
	}
	unseen := api.Operation[query, api.Empty]{
		ID: "a.b", Method: "POST", Path: "/x", Section: api.Orders, Auth: api.Token, Scopes: []string{"orders:write"}, Summary: "s",
		Commit: func(context.Context, *db.Tx, auth.Principal, *query) (*api.Empty, error) { return nil, nil },
	}
	if err := api.NewEdge(api.Config{}).Mount(unseen); err == nil {
		t.Error("money that moves by its query was mounted")
	}
	if err := api.NewEdge(api.Config{}).Mount(good, good); err == nil {
		t.Error("an operation was mounted twice")
	}
}
