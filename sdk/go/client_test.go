package stead

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// answer is what a fake server does with a request.
type answer func(w http.ResponseWriter, r *http.Request)

func status(code int, body string, headers ...string) answer {
	return func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i+1 < len(headers); i += 2 {
			w.Header().Set(headers[i], headers[i+1])
		}
		w.WriteHeader(code)
		_, _ = io.WriteString(w, body)
	}
}

// broken ends the connection without an answer.
func broken(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }

// seen is what a fake server was sent.
type seen struct{ method, path, key, token, body string }

// fake serves the answers one after the other, the last one for all that follows.
func fake(t *testing.T, answers ...answer) (c *Client, requests func() []seen, waits *[]time.Duration) {
	t.Helper()
	var mu sync.Mutex
	var all []seen
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		n := min(len(all), len(answers)-1)
		all = append(all, seen{r.Method, r.URL.RequestURI(), r.Header.Get("Idempotency-Key"), r.Header.Get("Authorization"), string(body)})
		mu.Unlock()
		answers[n](w, r)
	}))
	t.Cleanup(server.Close)
	c, err := New(server.URL+"/", WithToken("t"))
	if err != nil {
		t.Fatal(err)
	}
	waits = new([]time.Duration)
	c.caller.sleep = func(_ context.Context, d time.Duration) error { *waits = append(*waits, d); return nil }
	return c, func() []seen { mu.Lock(); defer mu.Unlock(); return slices.Clone(all) }, waits
}

func TestWhatIsTriedAgain(t *testing.T) {
	down := status(http.StatusBadGateway, "<html>")
	limited := status(http.StatusTooManyRequests, `{"error": "rate_limited"}`, "Retry-After", "7")
	later := func(key string) answer {
		return status(http.StatusServiceUnavailable, `{"error": "`+key+`"}`, "Retry-After", "5")
	}
	read := func(c *Client) error { _, err := c.Services.Get(t.Context(), 1); return err }
	pay := func(c *Client) error { _, err := c.Orders.Pay(t.Context(), 1); return err }
	create := func(c *Client) error {
		_, err := c.Databases.Create(t.Context(), 1, DatabasesCreateBody{Name: "shop"})
		return err
	}
	remove := func(c *Client) error { return c.Databases.Delete(t.Context(), 1, 2) }
	change := func(c *Client) error {
		_, err := c.DNS.Update(t.Context(), 1, 2, DNSUpdateBody{}, WithHeader("If-Match", `"1"`))
		return err
	}
	for name, c := range map[string]struct {
		do      func(*Client) error
		answers []answer
		tries   int
		key     string // of the error; "-" for none
	}{
		"a read after a bad gateway":                 {read, []answer{down, status(200, `{}`)}, 2, "-"},
		"a read after a broken connection":           {read, []answer{broken, status(200, `{}`)}, 2, "-"},
		"a payment after a broken connection":        {pay, []answer{broken, down, status(200, `{}`)}, 3, "-"},
		"a payment that is under way":                {pay, []answer{status(409, `{"error": "idempotency_in_progress"}`), status(200, `{}`)}, 2, "-"},
		"a creation after a limit":                   {create, []answer{limited, status(201, `{}`)}, 2, "-"},
		"no creation that may have happened":         {create, []answer{down, status(201, `{}`)}, 1, ""},
		"no creation whose commit may have happened": {create, []answer{later("unavailable"), status(201, `{}`)}, 1, "unavailable"},
		"no creation by what stands between":         {create, []answer{status(503, "<html>", "Retry-After", "5"), status(201, `{}`)}, 1, ""},
		"a creation that a busy machine refused":     {create, []answer{later("panel_busy"), status(201, `{}`)}, 2, "-"},
		"a creation during maintenance":              {create, []answer{later("maintenance"), status(201, `{}`)}, 2, "-"},
		"a read whose answer took too long":          {read, []answer{later("unavailable"), status(200, `{}`)}, 2, "-"},
		"a payment whose answer took too long":       {pay, []answer{later("unavailable"), status(200, `{}`)}, 2, "-"},
		"no change that would refuse its repetition": {change, []answer{later("unavailable"), status(200, `{}`)}, 1, "unavailable"},
		"no refusal": {pay, []answer{status(422, `{"error": "insufficient_funds"}`)}, 1, "insufficient_funds"},
		"a deletion that an earlier try has done":      {remove, []answer{broken, status(404, `{"error": "not_found"}`)}, 2, "-"},
		"a deletion of nothing":                        {remove, []answer{status(404, `{"error": "not_found"}`)}, 1, "not_found"},
		"not longer than the tries last":               {read, []answer{down}, 5, ""},
		"not when the server wants more than a minute": {read, []answer{status(503, `{"error": "maintenance"}`, "Retry-After", "3600")}, 1, "maintenance"},
	} {
		t.Run(name, func(t *testing.T) {
			client, requests, _ := fake(t, c.answers...)
			err := c.do(client)
			if c.key == "-" && err != nil || c.key != "-" && err == nil || c.key != "-" && c.key != "" && !HasKey(err, c.key) {
				t.Errorf("error: %v", err)
			}
			all := requests()
			if len(all) != c.tries {
				t.Errorf("%d tries", len(all))
			}
			for _, r := range all {
				if r != all[0] {
					t.Errorf("a later try differs: %+v from %+v", r, all[0])
				}
			}
		})
	}
}

func TestWaits(t *testing.T) {
	c, _, waits := fake(t, status(429, `{}`, "Retry-After", "7"), status(500, `{}`), status(500, `{}`), status(200, `{}`))
	if _, err := c.Account.Get(t.Context()); err != nil {
		t.Fatal(err)
	}
	if w := *waits; len(w) != 3 || w[0] != 7*time.Second || w[1] < firstDelay || w[1] > 2*firstDelay || w[2] < 2*firstDelay || w[2] > 4*firstDelay {
		t.Errorf("waited %v", *waits)
	}
}

func TestAKeyNamesOneIntention(t *testing.T) {
	c, requests, _ := fake(t, status(200, `{}`))
	for range 2 {
		if _, err := c.Orders.Pay(t.Context(), 1); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := c.Orders.Pay(t.Context(), 1, WithIdempotencyKey("mine")); err != nil {
		t.Fatal(err)
	}
	if r := requests(); r[0].key == "" || r[0].key == r[1].key || r[2].key != "mine" {
		t.Errorf("keys %q %q %q", r[0].key, r[1].key, r[2].key)
	}
}

func TestErrors(t *testing.T) {
	c, _, _ := fake(t, status(422, `{"error": "validation_failed", "message": "Xato", "errors": {"name": ["too long"]}, "balance": 5}`, "X-Request-Id", "r1"))
	_, err := c.Databases.Create(t.Context(), 1, DatabasesCreateBody{})
	var e *Error
	if !errors.As(fmt.Errorf("later: %w", err), &e) || e.Status != 422 || e.Key != KeyValidationFailed || e.Message != "Xato" ||
		e.Fields["name"][0] != "too long" || e.RequestID != "r1" || !strings.Contains(string(e.Body), "balance") {
		t.Errorf("%+v", e)
	}
	c, _, _ = fake(t, status(302, "", "Location", "https://elsewhere.example/"))
	if _, err := c.Account.Get(t.Context()); err == nil || !strings.Contains(err.Error(), "elsewhere.example") {
		t.Errorf("redirected: %v", err)
	}
	for _, address := range []string{"", "my.example.com", "ftp://x", "https://x/?a=b"} {
		if _, err := New(address); err == nil {
			t.Errorf("%q is taken for an address", address)
		}
	}
}

func TestPagesAreAskedForAsTheyAreRead(t *testing.T) {
	page := func(n, last int, ids ...int) answer {
		var data []string
		for _, id := range ids {
			data = append(data, fmt.Sprintf(`{"id": %d, "brand_new": true}`, id))
		}
		return status(200, fmt.Sprintf(`{"data": [%s], "meta": {"page": %d, "per_page": 2, "total": 3, "last_page": %d}}`, strings.Join(data, ","), n, last))
	}
	c, requests, _ := fake(t, page(1, 2, 1, 2), page(2, 2, 3))
	var ids []int64
	for s, err := range c.Services.All(t.Context(), ServicesQuery{Status: ServiceStatusActive, PerPage: 2}) {
		if err != nil {
			t.Fatal(err)
		}
		if ids = append(ids, s.ID); len(ids) == 2 && len(requests()) != 1 {
			t.Error("the second page was asked for before it was needed")
		}
	}
	if r := requests(); !slices.Equal(ids, []int64{1, 2, 3}) || len(r) != 2 || r[1].path != "/api/v1/services?page=2&per_page=2&status=active" {
		t.Errorf("%v %+v", ids, r)
	}
	c, _, _ = fake(t, status(200, `{"data": [], "meta": {"page": 1, "last_page": 1}}`))
	for range c.Services.All(t.Context(), ServicesQuery{}) {
		t.Error("something in nothing")
	}
	c, _, _ = fake(t, status(403, `{"error": "insufficient_scope"}`))
	for _, err := range c.Services.All(t.Context(), ServicesQuery{}) {
		if !HasKey(err, KeyInsufficientScope) {
			t.Error(err)
		}
	}
}

func TestNullAndAbsent(t *testing.T) {
	type object struct {
		Maybe Optional[string] `json:"maybe,omitzero"`
		List  []string         `json:"list,omitzero"`
		Text  *string          `json:"text,omitzero"`
	}
	for want, o := range map[string]object{
		`{}`:                          {},
		`{"maybe":null}`:              {Maybe: Null[string]()},
		`{"maybe":"","list":[]}`:      {Maybe: Value(""), List: []string{}},
		`{"maybe":"x","text":"text"}`: {Maybe: Value("x"), Text: Ptr("text")},
	} {
		data, err := json.Marshal(o)
		if err != nil || string(data) != want {
			t.Errorf("%s instead of %s: %v", data, want, err)
		}
		var back object
		if err := json.Unmarshal(data, &back); err != nil || back.Maybe.IsZero() != o.Maybe.IsZero() || back.Maybe.IsNull() != o.Maybe.IsNull() {
			t.Errorf("%s: %+v, %v", want, back, err)
		}
	}
	for body, want := range map[string]string{`"Start"`: "Start", `{"uz": "Boshla", "en": "Start"}`: "Start"} {
		var text Text
		if err := json.Unmarshal([]byte(body), &text); err != nil || text.String() != want {
			t.Errorf("%s: %q, %v", body, text, err)
		}
	}
}

func TestEventsGoOnWhereTheyBrokeOff(t *testing.T) {
	var last []string
	begin := func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, ": hello\n\nid: 1\nevent: line\ndata: {\"a\":\ndata: 1}\n\nid: 2\ndata: half")
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	}
	rest := func(w http.ResponseWriter, r *http.Request) {
		last = append(last, r.Header.Get("Last-Event-ID"), r.Header.Get("Accept"))
		_, _ = io.WriteString(w, "id: 2\ndata: 2\n\n")
	}
	c, requests, _ := fake(t, begin, rest)
	var got []string
	for e, err := range c.Logs.ListEvents(t.Context(), 1, LogsQuery{}) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, e.ID+" "+e.Type+" "+string(e.Data))
	}
	if !slices.Equal(got, []string{"1 line {\"a\":\n1}", "2 message 2"}) || !slices.Equal(last, []string{"1", "text/event-stream"}) {
		t.Errorf("%q, continued from %q", got, last)
	}
	if r := requests(); r[0].path != "/api/v1/services/1/logs?follow=true" {
		t.Errorf("asked for %s", r[0].path)
	}
}

func TestUploadsAreStreamedOnce(t *testing.T) {
	c, requests, _ := fake(t, status(503, `{"error": "unavailable"}`, "Retry-After", "1"), status(201, `{}`))
	_, err := c.Files.Upload(t.Context(), 1, FilesUploadQuery{Path: "/public_html"}, UploadFile{"a.txt", strings.NewReader("hello")})
	r := requests()
	if !HasKey(err, KeyUnavailable) || len(r) != 1 || !strings.Contains(r[0].body, `name="file"; filename="a.txt"`) || !strings.Contains(r[0].body, "hello") {
		t.Errorf("%v %+v", err, r)
	}
}

// TestAConnectionThatNothingComesBackOnIsGivenUp: but a stream has no end in time.
func TestAConnectionThatNothingComesBackOnIsGivenUp(t *testing.T) {
	c, err := New("https://my.example.com")
	if err != nil {
		t.Fatal(err)
	}
	usual, ok := c.caller.http.Transport.(*http.Transport)
	if !ok || c.caller.http.Timeout != 0 || usual.ResponseHeaderTimeout != longestWork || usual.HTTP2 == nil || usual.HTTP2.SendPingTimeout == 0 {
		t.Fatalf("%+v", c.caller.http)
	}
	hold, arrived := make(chan struct{}), make(chan struct{})
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ProtoMajor != 2 {
			t.Errorf("HTTP %d", r.ProtoMajor)
		}
		close(arrived)
		<-hold
	}))
	server.Listener, server.EnableHTTP2 = &deafListener{Listener: server.Listener, deaf: arrived}, true
	server.StartTLS()
	t.Cleanup(server.Close)
	defer close(hold)
	fast := usual.Clone()
	fast.TLSClientConfig = server.Client().Transport.(*http.Transport).TLSClientConfig.Clone()
	fast.HTTP2.SendPingTimeout, fast.HTTP2.PingTimeout = 50*time.Millisecond, 50*time.Millisecond
	c.caller.base, c.caller.http.Transport, c.caller.retries = server.URL, fast, 0
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if _, err := c.Account.Get(ctx); err == nil || ctx.Err() != nil {
		t.Errorf("a connection whose other end has gone is waited for: %v", err)
	}
}

// deafListener has connections whose answers get lost once it is deaf, as after the other machine has gone.
type deafListener struct {
	net.Listener
	deaf chan struct{}
}

func (l *deafListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	return &deafConn{c, l.deaf}, err
}

type deafConn struct {
	net.Conn
	deaf chan struct{}
}

func (c *deafConn) Write(b []byte) (int, error) {
	select {
	case <-c.deaf:
		return len(b), nil
	default:
		return c.Conn.Write(b)
	}
}
