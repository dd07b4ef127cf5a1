package api_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"stead.dev/stead/internal/platform/api"
	"stead.dev/stead/internal/platform/auth"
	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/testkit"
)

func TestEveryAnswerBearsTheHeaders(t *testing.T) {
	t.Parallel()
	clk := clock.NewFake(testkit.Start)
	w := newWorld(t, testkit.SQLite(t, clk), clk, 100)
	for _, c := range []struct {
		method, path, token string
		status              int
	}{
		{"GET", "/api/v1/things/5", "full", 200},
		{"HEAD", "/api/v1/things/5", "full", 200},
		{"GET", "/api/v1/things/5", "", 401},
		{"POST", "/api/v1/things", "reader", 403},
		{"POST", "/api/v1/things", "full", 422},
		{"GET", "/api/v1/things/x", "full", 404},
		{"GET", "/api/v1/things/stream", "", 404},
		{"GET", "/api/v1/nothing", "", 404},
		{"GET", "/api/v1//things", "", 404},
		{"PUT", "/api/v1/things", "full", 405},
	} {
		rec := w.do(c.method, c.path, c.token, "")
		if rec.Code != c.status {
			t.Errorf("%s %s: %d, want %d", c.method, c.path, rec.Code, c.status)
		}
		for _, h := range []string{
			"X-Request-Id", "RateLimit", "RateLimit-Policy", "X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset",
			"Access-Control-Allow-Origin", "Cache-Control",
		} {
			if rec.Header().Get(h) == "" {
				t.Errorf("%s %s (%d): no %s", c.method, c.path, c.status, h)
			}
		}
	}
}

func TestWhoeverTriesAddressesIsThrottled(t *testing.T) {
	t.Parallel()
	clk := clock.NewFake(testkit.Start)
	w := newWorld(t, testkit.SQLite(t, clk), clk, 2)
	for range 2 {
		w.do("GET", "/api/v1/nothing", "", "")
	}
	if rec := w.do("GET", "/api/v1/nothing", "", ""); rec.Code != 429 || key(rec) != "rate_limited" {
		t.Errorf("%d %s", rec.Code, rec.Body)
	}
	if rec := w.do("GET", "/api/v1/things/5", "full", ""); rec.Code != 200 {
		t.Errorf("a token behind the same address: %d", rec.Code)
	}
}

func stream(id string, f func(w http.ResponseWriter, r *http.Request) error) api.Route {
	return api.Operation[struct{}, api.Empty]{
		ID: "test." + id, Method: "GET", Path: "/api/v1/" + id, Section: api.Orders, Auth: api.Open, Summary: "A stream",
		Stream: func(_ context.Context, _ auth.Principal, _ *struct{}, w http.ResponseWriter, r *http.Request) error {
			return f(w, r)
		},
	}
}

func TestAStreamThatIsRefusedLeavesNothingOfItsAnswer(t *testing.T) {
	t.Parallel()
	clk := clock.NewFake(testkit.Start)
	w := newWorld(t, testkit.SQLite(t, clk), clk, 100, stream("download", func(w http.ResponseWriter, _ *http.Request) error {
		w.Header().Set("Content-Length", "5")
		w.Header().Set("Content-Disposition", "attachment")
		w.Header().Set("ETag", `"x"`)
		return fault.NotFound.New()
	}))
	srv := httptest.NewServer(w.handler)
	defer srv.Close()
	res, err := http.Get(srv.URL + "/api/v1/download")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	var e struct{ Error string }
	if err := json.NewDecoder(res.Body).Decode(&e); err != nil || e.Error != "not_found" || res.StatusCode != 404 {
		t.Errorf("%d %q: %v", res.StatusCode, e.Error, err)
	}
	if res.Header.Get("Content-Disposition")+res.Header.Get("ETag") != "" {
		t.Errorf("headers of the answer that was not given: %v", res.Header)
	}
}

func TestAStreamThatFlushedHasBegun(t *testing.T) {
	t.Parallel()
	clk := clock.NewFake(testkit.Start)
	w := newWorld(t, testkit.SQLite(t, clk), clk, 100, stream("events", func(w http.ResponseWriter, _ *http.Request) error {
		if err := http.NewResponseController(w).Flush(); err != nil {
			t.Error(err)
		}
		return fault.NotFound.New()
	}))
	srv := httptest.NewServer(w.handler)
	defer srv.Close()
	res, err := http.Get(srv.URL + "/api/v1/events")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	if body, err := io.ReadAll(res.Body); err == nil {
		t.Errorf("a broken stream ended well, with %q", body)
	}
}

func TestTheLanguageOfAnAnswer(t *testing.T) {
	t.Parallel()
	clk := clock.NewFake(testkit.Start)
	c := config(testkit.SQLite(t, clk), clk, 100)
	c.Language = "uz"
	edge := api.NewEdge(c)
	err := edge.Mount(api.Operation[struct{}, api.Empty]{
		ID: "a.b", Method: "POST", Path: "/api/v1/x", Section: api.Orders, Auth: api.Token, Scopes: []string{"orders:write"}, Summary: "s",
		Handle: func(context.Context, auth.Principal, *struct{}) (*api.Empty, error) { return nil, nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	w := &world{handler: edge}
	const en, ru, uz = "access", "доступ", "ruxsat"
	for _, c := range []struct{ query, token, accept, want string }{
		{"", "reader", "", uz},
		{"", "reader", "*", uz},
		{"", "reader", "de-DE, fr;q=0.5", uz},
		{"", "reader", "not a header;;", uz},
		{"", "reader", "de, ru;q=0.5", ru},
		{"", "russian", "en", ru},
		{"?lang=en", "russian", "uz", en},
		{"?lang=xx", "reader", "en", en},
	} {
		rec := w.do("POST", "/api/v1/x"+c.query, c.token, "", "Accept-Language", c.accept)
		var e struct{ Error, Message string }
		if err := json.Unmarshal(rec.Body.Bytes(), &e); err != nil {
			t.Fatal(err)
		}
		if e.Error != "insufficient_scope" || !strings.Contains(strings.ToLower(e.Message), c.want) {
			t.Errorf("%+v: %s", c, rec.Body)
		}
	}
}

func TestTheLogSaysNoSecretOfAnAddress(t *testing.T) {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /recover/{token}", func(http.ResponseWriter, *http.Request) {})
	mux.Handle("/api/", http.NotFoundHandler())
	pay := http.NewServeMux()
	pay.HandleFunc("GET /pay/{token}", func(http.ResponseWriter, *http.Request) {})
	mux.Handle("/pay/", pay)
	var out bytes.Buffer
	h := api.Outer(slog.New(slog.NewJSONHandler(&out, nil)), clock.System(0), nil, mux)
	for target, want := range map[string]string{
		"/recover/s3cret":                        "/recover/{token}",
		"/recover/s3cret/":                       "/recover/…",
		"/pay/s3cret":                            "/pay/{token}",
		"/pay/s3cret/more":                       "/pay/…",
		"/unknown":                               "/unknown",
		"/api/v1/orders/5?code=s3cret":           "/api/v1/orders/5",
		"/api/" + strings.Repeat("é", 400):       "/api/" + strings.Repeat("é", 125) + "…",
		"/callback?code=s3cret":                  "/callback",
		"/a%0A%7B%22level%22:%22ERROR%22%7D/b/c": "/a\n{\"level\":\"ERROR\"}/…",
	} {
		out.Reset()
		h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", target, nil))
		var line struct{ Path string }
		if err := json.Unmarshal(out.Bytes(), &line); err != nil {
			t.Fatalf("%s: %v in %s", target, err, &out)
		}
		if line.Path != want || strings.Contains(out.String(), "s3cret") {
			t.Errorf("%s: %s", target, &out)
		}
	}
}

// money is an operation under a key.
func money[Out any](id string, f func(ctx context.Context, tx *db.Tx) (*Out, error)) api.Route {
	return api.Operation[struct{}, Out]{
		ID: "test." + id, Method: "POST", Path: "/api/v1/" + id, Section: api.Orders, Auth: api.Token, Scopes: []string{"orders:write"},
		Summary: "Pay",
		Commit: func(ctx context.Context, tx *db.Tx, _ auth.Principal, _ *struct{}) (*Out, error) {
			_, err := tx.Exec(ctx, `INSERT INTO signal_messages (topic, payload, created_at) VALUES ('paid', '', 1)`)
			if err != nil {
				return nil, err
			}
			return f(ctx, tx)
		},
	}
}

func TestAMoneyOperationMayAnswerNothing(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		w := newWorld(t, d, clk, 100, money("empty", func(context.Context, *db.Tx) (*api.Empty, error) { return nil, nil }))
		for i := range 2 {
			rec := w.do("POST", "/api/v1/empty", "full", "", "Idempotency-Key", "k")
			if rec.Code != 200 || rec.Body.String() != "{}\n" || (rec.Header().Get("Idempotency-Replayed") != "") != (i == 1) {
				t.Errorf("%d: %d %s %v", i, rec.Code, rec.Body, rec.Header())
			}
		}
		if w.paid() != 1 {
			t.Errorf("paid %d times", w.paid())
		}
	})
}

func TestAMoneyOperationThatDiesMayBeTriedAgain(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		die := func(context.Context) error { return nil }
		w := newWorld(t, d, clk, 100, money("die", func(ctx context.Context, _ *db.Tx) (*thing, error) {
			return &thing{ID: 1}, die(ctx)
		}))
		pay := func() *httptest.ResponseRecorder {
			return w.do("POST", "/api/v1/die", "full", "", "Idempotency-Key", "k")
		}
		die = func(context.Context) error { panic("a mistake of ours") }
		for range 15 { // more than there are connections
			if rec := pay(); rec.Code != 500 {
				t.Fatalf("a panic: %d %s", rec.Code, rec.Body)
			}
		}
		die = func(context.Context) error { return context.DeadlineExceeded }
		if rec := pay(); rec.Code != 500 {
			t.Errorf("an error: %d %s", rec.Code, rec.Body)
		}
		if w.paid() != 0 {
			t.Errorf("paid %d times before it worked", w.paid())
		}
		die = func(context.Context) error { return nil }
		if rec := pay(); rec.Code != 200 || rec.Header().Get("Idempotency-Replayed") != "" || w.paid() != 1 {
			t.Errorf("in the end: %d %s, paid %d", rec.Code, rec.Body, w.paid())
		}
	})
}

func TestAnOperationMayHaveMoreTimeButNotWithoutItsClient(t *testing.T) {
	t.Parallel()
	clk := clock.NewFake(testkit.Start)
	w := newWorld(t, testkit.SQLite(t, clk), clk, 100, api.Operation[struct{}, api.Empty]{
		ID: "things.grind", Method: "GET", Path: "/api/v1/grind", Section: api.Orders, Auth: api.Open, Summary: "Grind",
		Timeout: time.Hour,
		Handle: func(ctx context.Context, _ auth.Principal, _ *struct{}) (*api.Empty, error) {
			if at, bounded := ctx.Deadline(); !bounded || time.Until(at) < 50*time.Minute {
				t.Errorf("it is ended at %s (%t)", at, bounded)
			}
			return nil, ctx.Err()
		},
	})
	if rec := w.do("GET", "/api/v1/grind", "", ""); rec.Code != 200 {
		t.Errorf("%d %s", rec.Code, rec.Body)
	}

	ctx, leave := context.WithCancel(t.Context())
	entered, ended := make(chan struct{}), make(chan error, 1)
	w = newWorld(t, testkit.SQLite(t, clk), clk, 100, api.Operation[struct{}, api.Empty]{
		ID: "things.grind", Method: "GET", Path: "/api/v1/grind", Section: api.Orders, Auth: api.Open, Summary: "Grind",
		Timeout: time.Hour,
		Handle: func(ctx context.Context, _ auth.Principal, _ *struct{}) (*api.Empty, error) {
			close(entered)
			<-ctx.Done()
			ended <- ctx.Err()
			return nil, ctx.Err()
		},
	})
	go w.handler.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/api/v1/grind", nil).WithContext(ctx))
	<-entered
	leave()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("without its client: %v", err)
	}
}

func TestAMoneyOperationThatTakesTooLongIsUndone(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		c := config(d, clk, 100)
		c.Timeout = time.Second
		edge := api.NewEdge(c)
		slow := true
		err := edge.Mount(money("slow", func(ctx context.Context, _ *db.Tx) (*thing, error) {
			if slow {
				<-ctx.Done()
			}
			return &thing{ID: 1}, nil
		}))
		if err != nil {
			t.Fatal(err)
		}
		w := &world{handler: edge}
		if rec := w.do("POST", "/api/v1/slow", "full", "", "Idempotency-Key", "k"); rec.Code != 503 || rec.Header().Get("Retry-After") == "" {
			t.Errorf("too slow: %d %s", rec.Code, rec.Body)
		}
		slow = false
		if rec := w.do("POST", "/api/v1/slow", "full", "", "Idempotency-Key", "k"); rec.Code != 200 || rec.Header().Get("Idempotency-Replayed") != "" {
			t.Errorf("again: %d %s", rec.Code, rec.Body)
		}
	})
}
