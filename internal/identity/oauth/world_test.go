package oauth_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/oauth2"

	"stead.dev/stead/internal/identity/oauth"
	"stead.dev/stead/internal/platform/api"
	"stead.dev/stead/internal/platform/auth"
	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/idempotency"
	"stead.dev/stead/internal/platform/secret"
	"stead.dev/stead/internal/platform/signal"
	"stead.dev/stead/internal/platform/testkit"
	"stead.dev/stead/internal/platform/throttle"
)

const (
	base     = "https://shop.example"
	callback = "https://client.example/cb"
	alice    = int64(7)
	admin    = int64(8)
	verifier = "a-verifier-of-at-least-43-characters-0123456789"
)

// people are the accounts of a test.
type people struct {
	mu   sync.Mutex
	m    map[int64]oauth.Holder
	read int
	// sessions are alive until then; those that are not named live for thirty days
	sessions map[int64]time.Time
}

func (p *people) SessionEnd(_ context.Context, _ db.Querier, _, id int64, now time.Time) (time.Time, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	ends, ok := p.sessions[id]
	if !ok {
		ends = testkit.Start.Add(30 * 24 * time.Hour)
	}
	if !now.Before(ends) {
		return ends, fault.NotFound.New()
	}
	return ends, nil
}

// session says when a browser's session ends.
func (p *people) session(id int64, ends time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.sessions == nil {
		p.sessions = map[int64]time.Time{}
	}
	p.sessions[id] = ends
}

func (p *people) Holder(_ context.Context, _ db.Querier, id int64) (oauth.Holder, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.read++
	h, ok := p.m[id]
	if !ok {
		return h, fault.NotFound.New()
	}
	return h, nil
}

func (p *people) set(id int64, h oauth.Holder) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.m[id] = h
}

func (p *people) reads() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.read
}

type switches map[api.Section]bool // switched off

func (s switches) Enabled(x api.Section) bool { return !s[x] }

// world is an authorization server behind an edge.
type world struct {
	t       testing.TB
	d       *db.DB
	clk     *clock.Fake
	hub     *signal.Hub
	people  *people
	s       *oauth.Service
	handler http.Handler
	off     switches
	edge    *api.Edge
}

// newWorldOn is a world on SQLite, for what no engine decides.
func newWorldOn(t testing.TB) *world {
	t.Helper()
	clk := clock.NewFake(testkit.Start)
	return newWorld(t, testkit.SQLite(t, clk), clk)
}

func newWorld(t testing.TB, d *db.DB, clk *clock.Fake, changes ...func(*oauth.Config)) *world {
	t.Helper()
	box, err := secret.OpenKeyFile(filepath.Join(t.TempDir(), "key"))
	if err != nil {
		t.Fatal(err)
	}
	return replica(t, d, clk, box, &people{m: map[int64]oauth.Holder{
		alice: {Locale: "ru", Currency: "UZS"}, admin: {Locale: "en", Currency: "USD", Role: auth.Owner},
	}}, changes...)
}

// replica is a world on a database that others may share.
func replica(t testing.TB, d *db.DB, clk clock.Clock, box *secret.Box, p *people, changes ...func(*oauth.Config)) *world {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	w := &world{t: t, d: d, hub: signal.NewHub(d, clk, log), people: p, off: switches{}}
	w.clk, _ = clk.(*clock.Fake)
	c := oauth.Config{DB: d, Clock: clk, Hub: w.hub, Box: box, Accounts: p, BaseURL: base, Log: log}
	for _, change := range changes {
		change(&c)
	}
	w.s = oauth.New(c)
	w.s.Connect(oauth.Needs{Endings: []oauth.Ending{}})
	edge := api.NewEdge(api.Config{
		DB: d, Verifier: browsers{w.s}, Switches: w.off, Limiter: throttle.New(d, clk), Answers: idempotency.NewStore(d),
		Default:  throttle.Policy{Name: "default", Limit: 100_000, Window: time.Minute},
		Policies: map[string]throttle.Policy{oauth.Throttle.Name: oauth.Throttle},
		MaxBody:  1 << 20, Timeout: time.Minute, Language: "en", BaseURL: base, Version: "test",
		ClientAddr: func(*http.Request) netip.Addr { return netip.MustParseAddr("192.0.2.1") },
	})
	if err := edge.Mount(append(w.s.Operations(), probe(), probeWrite())...); err != nil {
		t.Fatal(err)
	}
	edge.Document(oauth.AuthorizePage())
	w.edge = edge
	w.handler = api.Outer(log, clk, nil, edge)
	return w
}

type probeIn struct{}

type probeOut struct {
	Account int64    `json:"account"`
	Scopes  []string `json:"scopes"`
}

// probe and probeWrite are operations that need a token.
func probe() api.Route {
	return api.Operation[probeIn, probeOut]{
		ID: "probe.get", Method: http.MethodGet, Path: "/api/v1/probe", Section: api.Account, Auth: api.Token,
		Scopes: []string{auth.ScopeProfile}, Summary: "Probe",
		Handle: func(_ context.Context, p auth.Principal, _ *probeIn) (*probeOut, error) {
			return &probeOut{p.AccountID, p.Scopes}, nil
		},
	}
}

func probeWrite() api.Route {
	return api.Operation[probeIn, probeOut]{
		ID: "probe.put", Method: http.MethodPut, Path: "/api/v1/probe", Section: api.Account, Auth: api.Token,
		Scopes: []string{auth.ScopeProfile}, Summary: "Probe",
		Handle: func(_ context.Context, p auth.Principal, _ *probeIn) (*probeOut, error) { return &probeOut{}, nil },
	}
}

// answer is what came back.
type answer struct {
	status int
	header http.Header
	body   map[string]any
}

func (a answer) str(name string) string { s, _ := a.body[name].(string); return s }

func (w *world) do(r *http.Request) answer {
	w.t.Helper()
	rec := httptest.NewRecorder()
	w.handler.ServeHTTP(rec, r)
	a := answer{status: rec.Code, header: rec.Header(), body: map[string]any{}}
	if rec.Body.Len() > 0 {
		if err := json.Unmarshal(rec.Body.Bytes(), &a.body); err != nil {
			w.t.Fatalf("%s %s answered no JSON: %q", r.Method, r.URL, rec.Body)
		}
	}
	return a
}

// form posts name, value, name, value …
func (w *world) form(path string, pairs ...string) answer {
	w.t.Helper()
	return w.do(formRequest(path, pairs...))
}

func formRequest(path string, pairs ...string) *http.Request {
	v := url.Values{}
	for i := 0; i < len(pairs); i += 2 {
		v.Add(pairs[i], pairs[i+1])
	}
	r := httptest.NewRequest(http.MethodPost, path, strings.NewReader(v.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return r
}

// call calls an operation with a token.
func (w *world) call(method, path, token, body string) answer {
	w.t.Helper()
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	return w.do(r)
}

// register makes an application of alice's.
func (w *world) register(change ...func(*oauth.Registration)) (oauth.Application, string) {
	w.t.Helper()
	r := oauth.Registration{Name: "Client", Type: oauth.Public, RedirectURIs: []string{callback}}
	for _, c := range change {
		c(&r)
	}
	a, sec, err := w.s.CreateApplication(w.t.Context(), alice, r)
	if err != nil {
		w.t.Fatal(err)
	}
	return a, sec
}

func confidential(r *oauth.Registration) { r.Type = oauth.Confidential }

// query is an authorization request; pairs change it, and "" removes.
func query(a oauth.Application, pairs ...string) url.Values {
	q := url.Values{
		"client_id": {a.ClientID}, "redirect_uri": {callback}, "response_type": {"code"}, "state": {"s&t=1"},
		"scope":          {"profile orders:read"},
		"code_challenge": {oauth2.S256ChallengeFromVerifier(verifier)}, "code_challenge_method": {"S256"},
	}
	for i := 0; i < len(pairs); i += 2 {
		q.Set(pairs[i], pairs[i+1])
		if pairs[i+1] == "" {
			q.Del(pairs[i])
		}
	}
	return q
}

// approve asks, lets the account say Yes, and answers the parameters that the
// client gets.
func (w *world) approve(account int64, q url.Values) url.Values {
	w.t.Helper()
	ask, err := w.s.Ask(w.t.Context(), q)
	if err != nil {
		w.t.Fatal(err)
	}
	to, err := w.s.Approve(w.t.Context(), account, ask, true)
	if err != nil {
		w.t.Fatal(err)
	}
	u, err := url.Parse(to)
	if err != nil {
		w.t.Fatal(err)
	}
	return u.Query()
}

// code is a code for the public application a.
func (w *world) code(a oauth.Application, pairs ...string) string {
	w.t.Helper()
	return w.approve(alice, query(a, pairs...)).Get("code")
}

// exchange presents a code as the public application a does; pairs are added.
func (w *world) exchange(a oauth.Application, code string, pairs ...string) answer {
	w.t.Helper()
	return w.form("/oauth/token", append([]string{
		"grant_type", "authorization_code", "client_id", a.ClientID, "code", code,
		"redirect_uri", callback, "code_verifier", verifier,
	}, pairs...)...)
}

// tokens are those of a fresh authorization.
func (w *world) tokens(a oauth.Application, pairs ...string) (access, refresh string) {
	w.t.Helper()
	got := w.exchange(a, w.code(a, pairs...))
	if got.status != http.StatusOK {
		w.t.Fatalf("exchange: %d %v", got.status, got.body)
	}
	return got.str("access_token"), got.str("refresh_token")
}

func (w *world) refresh(a oauth.Application, token string, pairs ...string) answer {
	w.t.Helper()
	return w.form("/oauth/token", append([]string{
		"grant_type", "refresh_token", "client_id", a.ClientID, "refresh_token", token,
	}, pairs...)...)
}

// good tells whether the access token opens the API.
func (w *world) good(token string) bool {
	_, err := w.s.Verify(context.Background(), token)
	return err == nil
}

// wantVerify checks which refusal Verify answers; nil wants none.
func (w *world) wantVerify(token string, want *fault.Def) {
	w.t.Helper()
	_, err := w.s.Verify(w.t.Context(), token)
	if want == nil {
		if err != nil {
			w.t.Errorf("Verify answers %v", err)
		}
		return
	}
	if !errors.Is(err, want) {
		w.t.Errorf("Verify answers %v, want %s", err, want.Key)
	}
}

// wantRefused checks a refusal of the protocol: 400 with all its members.
func wantRefused(t testing.TB, a answer, key string) {
	t.Helper()
	if a.status != http.StatusBadRequest || a.str("error") != key {
		t.Errorf("answered %d %v, want 400 %s", a.status, a.body, key)
	}
	if a.str("error_description") == "" || a.str("message") == "" || a.header.Get("Cache-Control") != "no-store" {
		t.Errorf("error_description, message or no-store is missing: %v", a.body)
	}
}

// asRefusal is the refusal that the authorization request gets.
func (w *world) refusal(q url.Values) *oauth.Refusal {
	w.t.Helper()
	_, err := w.s.Ask(w.t.Context(), q)
	r := oauth.AsRefusal(err)
	if r == nil {
		w.t.Fatalf("Ask(%v) answers %v, want a refusal", q, err)
	}
	return r
}

// panel is Stead's own application, with the test's redirect address.
func (w *world) panel() (a oauth.Application) {
	w.t.Helper()
	w.tx(func(ctx context.Context, tx *db.Tx) (err error) {
		a, err = w.s.Ensure(ctx, tx, oauth.Panel(callback))
		return err
	})
	return a
}

func (w *world) tx(f func(ctx context.Context, tx *db.Tx) error) {
	w.t.Helper()
	if err := w.d.InTx(w.t.Context(), f); err != nil {
		w.t.Fatal(err)
	}
}

// signalAccount tells what the account section tells.
func (w *world) signalAccount(id int64) {
	w.t.Helper()
	w.tx(func(ctx context.Context, tx *db.Tx) error {
		return w.hub.Send(ctx, tx, oauth.AccountTopic, strconv.FormatInt(id, 10))
	})
}

// browsers takes a token with inBrowser before it for the session of a browser whose owner has just proved who they are.
type browsers struct{ *oauth.Service }

const inBrowser = "browser-"

func (b browsers) Verify(ctx context.Context, token string) (auth.Principal, error) {
	token, session := strings.CutPrefix(token, inBrowser)
	p, err := b.Service.Verify(ctx, token)
	if session {
		p.SessionID, p.Recent = 1, true
	}
	return p, err
}
