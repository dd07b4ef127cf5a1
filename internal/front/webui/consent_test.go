package webui

import (
	"context"
	"encoding/json"
	"errors"
	"html"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"golang.org/x/oauth2"

	"stead.dev/stead/internal/identity/account"
	"stead.dev/stead/internal/identity/oauth"
	"stead.dev/stead/internal/platform/api"
	"stead.dev/stead/internal/platform/brand"
	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/idempotency"
	"stead.dev/stead/internal/platform/jobs"
	"stead.dev/stead/internal/platform/secret"
	"stead.dev/stead/internal/platform/signal"
	"stead.dev/stead/internal/platform/testkit"
	"stead.dev/stead/internal/platform/throttle"
	"stead.dev/stead/internal/port/mailer"
)

const (
	shopURL     = "http://shop.example"
	clientURL   = "https://client.example/cb"
	pkce        = "a-verifier-of-at-least-43-characters-0123456789"
	aPassword   = "correct horse battery staple"
	fromAnother = "https://evil.example"
)

type off map[api.Section]bool

func (o off) Enabled(s api.Section) bool { return !o[s] }

type holders struct{ accounts *account.Service }

func (h holders) Holder(ctx context.Context, q db.Querier, id int64) (oauth.Holder, error) {
	p, err := h.accounts.Profile(ctx, q, id)
	return oauth.Holder{Locale: p.Locale, Currency: p.Currency, Role: p.Role}, err
}

func (h holders) SessionEnd(ctx context.Context, q db.Querier, accountID, sessionID int64, now time.Time) (time.Time, error) {
	return h.accounts.SessionEnd(ctx, q, accountID, sessionID, now)
}

// nobody gets mail.
type nobody struct{}

func (nobody) Send(context.Context, mailer.Message) error { return nil }

// site is the pages with accounts and the authorization server behind them.
type site struct {
	t         *testing.T
	accounts  *account.Service
	oauth     *oauth.Service
	clk       *clock.Fake
	off       off
	busy      bool // too many requests
	mux       *http.ServeMux
	endpoints http.Handler // of the protocol, for applications
}

func newSite(t *testing.T) *site {
	t.Helper()
	clk := clock.NewFake(testkit.Start)
	d := testkit.SQLite(t, clk)
	log := slog.New(slog.DiscardHandler)
	hub := signal.NewHub(d, clk, log)
	box, err := secret.OpenKeyFile(filepath.Join(t.TempDir(), "key"))
	if err != nil {
		t.Fatal(err)
	}
	queue, err := jobs.New(d, jobs.Config{Logger: log})
	if err != nil {
		t.Fatal(err)
	}
	s := &site{t: t, clk: clk, off: off{}, mux: http.NewServeMux()}
	s.accounts, err = account.New(account.Config{
		DB: d, Clock: clk, Box: box, Queue: queue, Signals: hub, Limiter: throttle.New(d, clk), Mailer: nobody{},
		Modules: s.off, Limits: account.DefaultLimits(), BaseURL: shopURL, Brand: brand.Fixed(brand.Brand{Name: "Shop"}), Letters: &mailer.Writer{Brand: brand.Fixed(brand.Brand{Name: "Shop"}), BaseURL: shopURL}, Language: "en", Currency: "USD", Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	s.accounts.Connect(account.Needs{Grants: account.NoGrants{}, Pushes: account.NoGrants{}, Referrals: account.NoReferrals{}})
	s.accounts.Register(queue.Workers())
	s.oauth = oauth.New(oauth.Config{DB: d, Clock: clk, Hub: hub, Box: box, Accounts: holders{s.accounts}, BaseURL: shopURL, Log: log})
	s.oauth.Connect(oauth.Needs{Endings: []oauth.Ending{}})
	edge := api.NewEdge(api.Config{
		DB: d, Verifier: s.oauth, Switches: s.off, Limiter: throttle.New(d, clk), Answers: idempotency.NewStore(d),
		Default:  throttle.Policy{Name: "default", Limit: 10_000, Window: time.Minute},
		Policies: map[string]throttle.Policy{oauth.Throttle.Name: oauth.Throttle}, MaxBody: 1 << 20, Timeout: time.Minute,
		Language: "en", BaseURL: shopURL, Version: "test", ClientAddr: func(*http.Request) netip.Addr { return netip.MustParseAddr("192.0.2.2") },
	})
	if err := edge.Mount(s.oauth.Operations()...); err != nil {
		t.Fatal(err)
	}
	s.endpoints = api.Outer(log, clk, nil, edge)
	New(Deps{
		Accounts: s.accounts, OAuth: s.oauth, Sections: s.off, Clock: clk, Log: log, BaseURL: shopURL, Brand: brand.Fixed(brand.Brand{Name: "Shop"}), Language: "en",
		ClientAddr: func(*http.Request) netip.Addr { return netip.MustParseAddr("192.0.2.1") },
		ThrottleDevices: func(http.ResponseWriter, *http.Request) error {
			if s.busy {
				return fault.RateLimited.New()
			}
			return nil
		},
		Throttle: func(http.ResponseWriter, *http.Request) error {
			if s.busy {
				return fault.RateLimited.New()
			}
			return nil
		},
	}).Routes(s.mux)
	return s
}

// visitor is somebody with a browser.
type visitor struct {
	*site
	account int64
	token   string
}

func (s *site) visitor(email, locale string) visitor {
	s.t.Helper()
	p, err := s.accounts.Create(s.t.Context(), account.NewAccount{Email: email, Name: "Somebody", Password: aPassword, Locale: locale, Verified: true})
	if err != nil {
		s.t.Fatal(err)
	}
	out, err := s.accounts.SignIn(s.t.Context(), email, aPassword, account.Client{Address: netip.MustParseAddr("192.0.2.1")})
	if err != nil {
		s.t.Fatal(err)
	}
	return visitor{s, p.ID, out.Token}
}

func (v visitor) do(method, path string, form url.Values, headers ...string) *httptest.ResponseRecorder {
	v.t.Helper()
	r := httptest.NewRequest(method, shopURL+path, strings.NewReader(form.Encode()))
	if form != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Origin", shopURL)
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	if v.token != "" {
		r.AddCookie(&http.Cookie{Name: "stead_session", Value: v.token})
	}
	w := httptest.NewRecorder()
	v.mux.ServeHTTP(w, r)
	return w
}

func (v visitor) get(path string) *httptest.ResponseRecorder {
	v.t.Helper()
	return v.do(http.MethodGet, path, nil)
}

// register makes an application of the visitor's.
func (v visitor) register(name string, t oauth.Type) oauth.Application {
	v.t.Helper()
	a, _, err := v.oauth.CreateApplication(v.t.Context(), v.account, oauth.Registration{Name: name, Type: t, RedirectURIs: []string{clientURL}})
	if err != nil {
		v.t.Fatal(err)
	}
	return a
}

// authorizePath is an authorization request; pairs are added.
func authorizePath(a oauth.Application, pairs ...string) string {
	q := url.Values{
		"client_id": {a.ClientID}, "redirect_uri": {clientURL}, "response_type": {"code"}, "scope": {"profile orders:write"}, "state": {"x y&z"},
		"code_challenge": {oauth2.S256ChallengeFromVerifier(pkce)}, "code_challenge_method": {"S256"},
	}
	for i := 0; i < len(pairs); i += 2 {
		q.Set(pairs[i], pairs[i+1])
	}
	return "/oauth/authorize?" + q.Encode()
}

var hidden = regexp.MustCompile(`name="request" value="([^"]*)"`)

// decision is the consent page's form with an answer.
func decision(t *testing.T, page *httptest.ResponseRecorder, answer string) url.Values {
	t.Helper()
	m := hidden.FindStringSubmatch(page.Body.String())
	if page.Code != http.StatusOK || m == nil {
		t.Fatalf("no consent page: %d %s", page.Code, page.Body)
	}
	return url.Values{"request": {html.UnescapeString(m[1])}, "decision": {answer}}
}

// landed is where a 302 leads, when that is the application.
func landed(t *testing.T, w *httptest.ResponseRecorder) url.Values {
	t.Helper()
	u, err := url.Parse(w.Header().Get("Location"))
	if err != nil || w.Code != http.StatusFound || u.Scheme+"://"+u.Host+u.Path != clientURL {
		t.Fatalf("%d to %q, error %v: %s", w.Code, w.Header().Get("Location"), err, w.Body)
	}
	return u.Query()
}

func TestAUserAllowsAnApplication(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	ann := s.visitor("ann@example.com", "ru")
	app := ann.register("<b>Shop</b> & co", oauth.Public)

	stranger := visitor{site: s}
	login := stranger.get(authorizePath(app))
	if to := login.Header().Get("Location"); login.Code != http.StatusSeeOther || !strings.HasPrefix(to, "/login?next="+url.QueryEscape("/oauth/authorize?")) {
		t.Fatalf("a stranger gets %d to %q", login.Code, to)
	}
	page := ann.get(authorizePath(app))
	text := page.Body.String()
	for _, want := range []string{"&lt;b&gt;Shop&lt;/b&gt; &amp; co", "ann@example.com", "Создавать заказы, оплачивать их из кошелька и отменять", "client.example"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if strings.Contains(text, "<script") {
		t.Error("the page needs scripts")
	}
	back := landed(t, ann.do(http.MethodPost, "/oauth/authorize", decision(t, page, "allow")))
	if back.Get("state") != "x y&z" || back.Get("iss") != shopURL || !strings.HasPrefix(back.Get("code"), "stc_") {
		t.Errorf("the application gets %v", back)
	}
	if again := landed(t, ann.get(authorizePath(app))); again.Get("code") == "" {
		t.Errorf("the second time: %v", again)
	}
	if more := ann.get(authorizePath(app, "scope", "profile wallet:write")); more.Code != http.StatusOK {
		t.Errorf("more scopes: %d", more.Code)
	}
	if asked := ann.get(authorizePath(app, "prompt", "consent")); asked.Code != http.StatusOK {
		t.Errorf("prompt=consent: %d", asked.Code)
	}
}

func TestAUserRefusesAnApplication(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	ann := s.visitor("ann@example.com", "en")
	app := ann.register("App", oauth.Public)
	form := decision(t, ann.get(authorizePath(app)), "deny")
	if back := landed(t, ann.do(http.MethodPost, "/oauth/authorize", form)); back.Get("error") != "access_denied" || back.Get("code") != "" || back.Get("iss") != shopURL {
		t.Errorf("the application gets %v", back)
	}
	form.Set("decision", "")
	if w := ann.do(http.MethodPost, "/oauth/authorize", form); w.Code != http.StatusBadRequest {
		t.Errorf("no decision: %d", w.Code)
	}
	// What comes back with the decision is checked like any request.
	form.Set("decision", "allow")
	form.Set("request", strings.Replace(form.Get("request"), url.QueryEscape(clientURL), url.QueryEscape(fromAnother), 1))
	if w := ann.do(http.MethodPost, "/oauth/authorize", form); w.Code != http.StatusBadRequest || w.Header().Get("Location") != "" {
		t.Errorf("a changed request: %d to %q", w.Code, w.Header().Get("Location"))
	}
	for prompt, want := range map[visitor]string{{site: s}: "login_required", ann: "consent_required"} {
		if back := landed(t, prompt.get(authorizePath(app, "prompt", "none"))); back.Get("error") != want {
			t.Errorf("prompt=none: %v, want %s", back, want)
		}
	}
}

// Clickjacking, forged forms and foreign readers (RFC 9700, sections 2.6 and
// 4.16).
func TestTheConsentPageCannotBeUsedByOtherSites(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	ann := s.visitor("ann@example.com", "en")
	app := ann.register("App", oauth.Public)
	page := ann.get(authorizePath(app))
	h := page.Header()
	csp := h.Get("Content-Security-Policy")
	if !strings.Contains(csp, "frame-ancestors 'none'") || !strings.Contains(csp, "form-action 'self' https://client.example;") || h.Get("X-Frame-Options") != "DENY" {
		t.Errorf("it can be framed: %v", h)
	}
	if h.Get("Cache-Control") != "no-store" || h.Get("Access-Control-Allow-Origin") != "" {
		t.Errorf("it can be kept or read: %v", h)
	}
	form := decision(t, page, "allow")
	for name, headers := range map[string][]string{
		"another origin":     {"Origin", fromAnother},
		"another site":       {"Sec-Fetch-Site", "cross-site", "Origin", fromAnother},
		"a sibling of ours":  {"Sec-Fetch-Site", "same-site", "Origin", "http://evil.shop.example"},
		"a sandboxed iframe": {"Origin", "null"},
	} {
		if w := ann.do(http.MethodPost, "/oauth/authorize", form, headers...); w.Code != http.StatusForbidden || w.Header().Get("Location") != "" {
			t.Errorf("%s: %d to %q", name, w.Code, w.Header().Get("Location"))
		}
	}
	list, _, err := s.oauth.ListConnections(t.Context(), ann.account, 10, 0)
	if err != nil || len(list) != 0 {
		t.Errorf("a forged form connected %v, error %v", list, err)
	}
	to := ann.do(http.MethodPost, "/oauth/authorize", form)
	if landed(t, to).Get("code") == "" || to.Header().Get("Referrer-Policy") != "no-referrer" {
		t.Errorf("the code can get into a Referer: %v", to.Header())
	}
}

func TestAMistakeOfTheApplicationIsShownAndNotRedirected(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	ann := s.visitor("ann@example.com", "en")
	app := ann.register("App", oauth.Public)
	for name, path := range map[string]string{
		"redirect": authorizePath(app, "redirect_uri", fromAnother), "client": authorizePath(app, "client_id", "app_x"), "nothing": "/oauth/authorize",
	} {
		w := ann.get(path)
		if w.Code != http.StatusBadRequest || w.Header().Get("Location") != "" || !strings.Contains(w.Body.String(), "made a mistake") {
			t.Errorf("%s: %d to %q", name, w.Code, w.Header().Get("Location"))
		}
	}
	if w := ann.get(authorizePath(app) + "&state=%zz"); w.Code != http.StatusBadRequest || w.Header().Get("Location") != "" {
		t.Errorf("a broken encoding: %d to %q", w.Code, w.Header().Get("Location"))
	}
	if back := landed(t, ann.get(authorizePath(app, "scope", "admin"))); back.Get("error") != "invalid_scope" || back.Get("state") != "x y&z" {
		t.Errorf("a wrong scope: %v", back)
	}
	s.busy = true
	if w := ann.get(authorizePath(app)); w.Code != http.StatusTooManyRequests || w.Header().Get("Location") != "" {
		t.Errorf("too many requests: %d", w.Code)
	}
	s.busy, s.off[api.OAuth] = false, true
	if w := ann.get(authorizePath(app)); w.Code != http.StatusNotFound {
		t.Errorf("switched off: %d", w.Code)
	}
}

// TestAYesToASandboxIsNoneToWhatCanWrite: an application may leave the sandbox while its page is being read.
func TestAYesToASandboxIsNoneToWhatCanWrite(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	ann := s.visitor("ann@example.com", "en")
	app := ann.register("App", oauth.Public)
	sandbox := func(in bool) {
		t.Helper()
		if _, err := s.oauth.UpdateApplication(t.Context(), ann.account, app.ID, oauth.Changes{Sandbox: &in}); err != nil {
			t.Fatal(err)
		}
	}
	const says = "it can only read"
	sandbox(true)
	page := ann.get(authorizePath(app))
	if !strings.Contains(page.Body.String(), says) || !strings.Contains(page.Body.String(), `name="sandbox" value="1"`) {
		t.Fatalf("the page does not say that it is a sandbox: %s", page.Body)
	}
	form := decision(t, page, "allow")
	form.Set("sandbox", "1")
	sandbox(false)
	page = ann.do(http.MethodPost, "/oauth/authorize", form)
	again := decision(t, page, "allow")
	if strings.Contains(page.Body.String(), says) {
		t.Error("the page still says that it is a sandbox")
	}
	if need := ann.get(authorizePath(app)); need.Code != http.StatusOK {
		t.Errorf("the Yes was taken: %d", need.Code)
	}
	if back := landed(t, ann.do(http.MethodPost, "/oauth/authorize", again)); back.Get("code") == "" {
		t.Errorf("a Yes to what it is now: %v", back)
	}
}

// Tokens of Stead's own applications are not refreshed beyond the session in which they were given, and no longer valid after it.
func TestTokensOfOurOwnApplicationsEndWithTheSession(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	for name, c := range map[string]struct {
		uses bool // the session, each time that it refreshes
		ends time.Duration
	}{
		"it expires": {true, 30 * day}, "it is not used": {false, 14 * day},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			ann := s.visitor("ann@example.com", "en")
			if err := s.oauth.EnsureReference(t.Context(), "/docs/"); err != nil {
				t.Fatal(err)
			}
			const redirect = shopURL + "/docs/"
			began := ann.get(authorizePath(oauth.Application{ClientID: oauth.ReferenceClientID}, "scope", "profile", "redirect_uri", redirect))
			to, err := url.Parse(began.Header().Get("Location"))
			if err != nil || to.Query().Get("code") == "" {
				t.Fatalf("no code: %d to %v, error %v", began.Code, to, err)
			}
			var tokens struct {
				Access  string `json:"access_token"`
				Refresh string `json:"refresh_token"`
				Seconds int    `json:"expires_in"`
			}
			ask := func(pairs ...string) int {
				form := url.Values{"client_id": {oauth.ReferenceClientID}}
				for i := 0; i < len(pairs); i += 2 {
					form.Set(pairs[i], pairs[i+1])
				}
				r := httptest.NewRequest(http.MethodPost, "/oauth/token", strings.NewReader(form.Encode()))
				r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
				w := httptest.NewRecorder()
				s.endpoints.ServeHTTP(w, r)
				if err := json.Unmarshal(w.Body.Bytes(), &tokens); err != nil {
					t.Fatal(err)
				}
				return w.Code
			}
			if got := ask("grant_type", "authorization_code", "code", to.Query().Get("code"), "redirect_uri", redirect, "code_verifier", pkce); got != http.StatusOK {
				t.Fatalf("exchange: %d", got)
			}
			age := time.Duration(0)
			for ; age+2*day < c.ends; age += day {
				s.clk.Advance(day)
				if c.uses {
					if _, err := s.accounts.Authenticate(t.Context(), ann.token); err != nil {
						t.Fatal(err)
					}
				}
				if got := ask("grant_type", "refresh_token", "refresh_token", tokens.Refresh); got != http.StatusOK {
					t.Fatalf("refresh after %s: %d", age+day, got)
				}
			}
			if life, left := time.Duration(tokens.Seconds)*time.Second, 30*day-age; life > left {
				t.Errorf("an access token lives for %s, and the session for %s", life, left)
			}
			if _, err := s.oauth.Verify(t.Context(), tokens.Access); err != nil {
				t.Errorf("before the end: %v", err)
			}
			s.clk.Advance(c.ends - age + day)
			if _, err := s.oauth.Verify(t.Context(), tokens.Access); !errors.Is(err, fault.TokenRevoked) && !errors.Is(err, fault.TokenExpired) {
				t.Errorf("after the end: %v", err)
			}
			if got := ask("grant_type", "refresh_token", "refresh_token", tokens.Refresh); got != http.StatusBadRequest {
				t.Errorf("refresh after the end: %d", got)
			}
		})
	}
}
