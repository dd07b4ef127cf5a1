package oauth_test

import (
	"context"
	"encoding/base64"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"stead.dev/stead/internal/identity/oauth"
	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/testkit"
)

func TestPKCEIsRequiredAndOnlyS256(t *testing.T) {
	t.Parallel()
	w := newWorldOn(t)
	app, _ := w.register()
	for name, q := range map[string]url.Values{
		"no challenge":         query(app, "code_challenge", "", "code_challenge_method", ""),
		"method only":          query(app, "code_challenge", ""),
		"plain":                query(app, "code_challenge", verifier, "code_challenge_method", "plain"),
		"no method, so plain":  query(app, "code_challenge_method", ""),
		"lower case":           query(app, "code_challenge_method", "s256"),
		"short":                query(app, "code_challenge", "abc"),
		"the verifier itself":  query(app, "code_challenge", verifier),
		"padded":               query(app, "code_challenge", base64.URLEncoding.EncodeToString(make([]byte, 32))),
		"not the url alphabet": query(app, "code_challenge", strings.Repeat("+", 43)),
	} {
		r := w.refusal(q)
		if r.Def.Key != "invalid_request" || !strings.HasPrefix(r.Redirect, callback+"?") {
			t.Errorf("%s: %v, to %q", name, r, r.Redirect)
		}
	}
}

// Whatever is wrong with the way its application presents a code, the code is
// spent.
func TestACodeIsBoundToItsRequestAndTriedOnce(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		w := newWorld(t, d, clk)
		public, _ := w.register(func(r *oauth.Registration) { r.RedirectURIs = []string{callback, callback + "/other"} })
		private, sec := w.register(confidential)
		plainCode := func() string {
			return w.approve(alice, query(private, "code_challenge", "", "code_challenge_method", "")).Get("code")
		}
		pkceCode := func() string { return w.approve(alice, query(private)).Get("code") }
		for _, tc := range []struct {
			name  string
			app   oauth.Application
			code  func() string
			pairs []string
			good  []string
		}{
			{
				"wrong verifier", public, func() string { return w.code(public) },
				[]string{"redirect_uri", callback, "code_verifier", verifier + "x"},
				[]string{"redirect_uri", callback, "code_verifier", verifier},
			},
			{
				"missing verifier", public, func() string { return w.code(public) },
				[]string{"redirect_uri", callback},
				[]string{"redirect_uri", callback, "code_verifier", verifier},
			},
			{
				"the challenge as verifier", public, func() string { return w.code(public) },
				[]string{"redirect_uri", callback, "code_verifier", query(public).Get("code_challenge")},
				[]string{"redirect_uri", callback, "code_verifier", verifier},
			},
			{
				"another registered redirect", public, func() string { return w.code(public) },
				[]string{"redirect_uri", callback + "/other", "code_verifier", verifier},
				[]string{"redirect_uri", callback, "code_verifier", verifier},
			},
			{
				"missing redirect", public, func() string { return w.code(public) },
				[]string{"code_verifier", verifier},
				[]string{"redirect_uri", callback, "code_verifier", verifier},
			},
			{
				"PKCE downgrade: a verifier without a challenge", private, plainCode,
				[]string{"redirect_uri", callback, "code_verifier", verifier, "client_secret", sec},
				[]string{"redirect_uri", callback, "client_secret", sec},
			},
			{
				"PKCE begun by a confidential client and not ended", private, pkceCode,
				[]string{"redirect_uri", callback, "client_secret", sec},
				[]string{"redirect_uri", callback, "code_verifier", verifier, "client_secret", sec},
			},
		} {
			t.Run(tc.name, func(t *testing.T) {
				code := tc.code()
				head := []string{"grant_type", "authorization_code", "client_id", tc.app.ClientID, "code", code}
				wantRefused(t, w.form("/oauth/token", append(slices.Clone(head), tc.pairs...)...), "invalid_grant")
				wantRefused(t, w.form("/oauth/token", append(slices.Clone(head), tc.good...)...), "invalid_grant")
			})
		}
	})
}

func TestAReplayedCodeEndsTheTokensItGave(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		w := newWorld(t, d, clk)
		app, _ := w.register()
		code := w.code(app)
		got := w.exchange(app, code)
		access, refresh := got.str("access_token"), got.str("refresh_token")
		if !w.good(access) {
			t.Fatal("the token is not good")
		}
		wantRefused(t, w.exchange(app, code), "invalid_grant")
		w.wantVerify(access, fault.TokenRevoked)
		wantRefused(t, w.refresh(app, refresh), "invalid_grant")
	})
}

func TestACodeIsNoUseToAnotherClient(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		w := newWorld(t, d, clk)
		app, _ := w.register()
		other, _ := w.register()
		code := w.code(app)
		wantRefused(t, w.exchange(other, code), "invalid_grant")
		got := w.exchange(app, code) // nor can the other spoil it
		if got.status != http.StatusOK {
			t.Fatalf("the code was spoilt: %v", got.body)
		}
		wantRefused(t, w.exchange(other, code), "invalid_grant")
		wantRefused(t, w.refresh(other, got.str("refresh_token")), "invalid_grant")
		if !w.good(got.str("access_token")) || w.refresh(app, got.str("refresh_token")).status != http.StatusOK {
			t.Error("another client's attempts ended the tokens")
		}
	})
}

func TestTheRedirectAddressMatchesExactly(t *testing.T) {
	t.Parallel()
	w := newWorldOn(t)
	app, _ := w.register(func(r *oauth.Registration) {
		r.RedirectURIs = []string{callback, "http://127.0.0.1/cb", "http://[::1]:8000/cb?x=1", "http://localhost/cb", "com.example.app:/cb"}
	})
	for _, good := range []string{
		callback, "http://127.0.0.1/cb", "http://127.0.0.1:51004/cb", "http://[::1]:1/cb?x=1", "http://[::1]/cb?x=1", "http://localhost:65535/cb", "com.example.app:/cb",
	} {
		if _, err := w.s.Ask(t.Context(), query(app, "redirect_uri", good)); err != nil {
			t.Errorf("%s is refused: %v", good, err)
		}
	}
	for _, bad := range []string{
		"https://client.example/c", "https://client.example/cb/", "https://client.example/cb/more", "https://client.example/CB",
		"https://CLIENT.example/cb", "HTTPS://client.example/cb", "https://client.example:443/cb", "https://client.example:8443/cb",
		"https://user@client.example/cb", "https://client.example@evil.example/cb", "https://client.example.evil.example/cb",
		"https://client.example/cb?x=1", "https://client.example/cb?", "https://client.example/cb#f", "https://client.example/../cb", "https://client.example/%63b",
		"https://client.example\\@evil.example/cb", "//client.example/cb", "http://client.example/cb", " https://client.example/cb", "https://client.example/cb\n",
		"http://127.0.0.1:0/cb", "http://127.0.0.1:65536/cb", "http://127.0.0.1:/cb", "http://127.0.0.1:80x/cb", "http://127.0.0.1:1:2/cb", "http://127.0.0.1:80@evil.example/cb",
		"http://127.0.0.1.evil.example/cb", "http://127.0.0.1@evil.example/cb", "http://user@127.0.0.1/cb", "http://127.0.0.2/cb", "http://127.1/cb",
		"http://localhost.evil.example/cb", "http://localhost:1/", "http://[::1]:1/cb", "http://[::1]:1/cb?x=2", "https://127.0.0.1/cb",
		"com.example.app:/cb2", "com.example.app://cb", "javascript:alert(1)", "data:text/html,x",
	} {
		r := w.refusal(query(app, "redirect_uri", bad))
		if r.Redirect != "" {
			t.Errorf("%q is redirected to: an open redirector", bad)
		}
	}
}

// Nothing is redirected before client and redirect address are certain.
func TestTheServerIsNoOpenRedirector(t *testing.T) {
	t.Parallel()
	w := newWorldOn(t)
	app, _ := w.register()
	off, _ := w.register()
	w.tx(func(ctx context.Context, tx *db.Tx) error {
		_, err := w.s.SetDisabled(ctx, tx, off.ClientID, true)
		return err
	})
	twice := query(app)
	twice.Add("redirect_uri", "https://evil.example/")
	twiceClient := query(app)
	twiceClient.Add("client_id", "app_x")
	for name, q := range map[string]url.Values{
		"unknown client": query(app, "client_id", "app_unknown"), "no client": query(app, "client_id", ""), "NUL in the client id": query(app, "client_id", "a\x00b"),
		"no redirect": query(app, "redirect_uri", ""), "two redirects": twice, "two clients": twiceClient,
		"disabled client": query(off), "unregistered redirect and a wrong scope": query(app, "redirect_uri", "https://evil.example/", "scope", "bogus"),
	} {
		if r := w.refusal(q); r.Redirect != "" {
			t.Errorf("%s: redirected to %q", name, r.Redirect)
		}
	}
	for name, tc := range map[string]struct {
		q   url.Values
		key string
	}{
		"token response":    {query(app, "response_type", "token"), "unsupported_response_type"},
		"no response type":  {query(app, "response_type", ""), "invalid_request"},
		"another resource":  {query(app, "resource", "https://other.example/api"), "invalid_target"},
		"state given twice": {func() url.Values { q := query(app); q.Add("state", "2"); return q }(), "invalid_request"},
		"unknown prompt":    {query(app, "prompt", "login"), "invalid_request"},
		"bad text in scope": {query(app, "scope", "profile\x00"), "invalid_request"},
	} {
		r := w.refusal(tc.q)
		if r.Def.Key != tc.key || !strings.HasPrefix(r.Redirect, callback+"?") {
			t.Errorf("%s: %v to %q", name, r, r.Redirect)
			continue
		}
		u, err := url.Parse(r.Redirect)
		if err != nil {
			t.Fatal(err)
		}
		if v := u.Query(); v.Get("error") != tc.key || v.Get("iss") != base || v.Get("code") != "" {
			t.Errorf("%s: the client is told %v", name, v)
		}
	}
	for _, resource := range []string{base, base + "/", base + "/api/v1"} {
		if _, err := w.s.Ask(t.Context(), query(app, "resource", resource)); err != nil {
			t.Errorf("resource %s is refused: %v", resource, err)
		}
	}
}

// Mix-up: a client of several servers can tell from iss which one answered
// (RFC 9207).
func TestEveryAnswerNamesItsIssuer(t *testing.T) {
	t.Parallel()
	w := newWorldOn(t)
	app, _ := w.register()
	ask, err := w.s.Ask(t.Context(), query(app))
	if err != nil {
		t.Fatal(err)
	}
	for name, to := range map[string]string{
		"denied": ask.Denied(), "login": ask.SignInRequired().Redirect, "consent": ask.ConsentRequired().Redirect,
	} {
		u, err := url.Parse(to)
		if err != nil || u.Query().Get("iss") != base || u.Query().Get("state") != "s&t=1" {
			t.Errorf("%s: %q, error %v", name, to, err)
		}
	}
	if v := w.approve(alice, query(app)); v.Get("iss") != base || v.Get("state") != "s&t=1" {
		t.Errorf("approved: %v", v)
	}
}

func TestAReusedRefreshTokenEndsTheFamily(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		w := newWorld(t, d, clk)
		app, _ := w.register()
		for name, reuse := range map[string]func(first string, second answer){
			"after the grace": func(string, answer) { clk.Advance(10 * time.Second) },
			"after its successor was used": func(_ string, second answer) {
				if got := w.refresh(app, second.str("refresh_token")); got.status != http.StatusOK {
					t.Fatal(got.body)
				}
			},
			"after the new access token was used": func(first string, second answer) {
				if got := w.refresh(app, first); got.str("refresh_token") != second.str("refresh_token") {
					t.Fatalf("repeated as %v", got.body)
				}
				w.wantVerify(second.str("access_token"), nil)
			},
			"as another request": func(first string, _ answer) {
				wantRefused(t, w.refresh(app, first, "scope", "profile"), "invalid_grant")
			},
		} {
			t.Run(name, func(t *testing.T) {
				access, first := w.tokens(app)
				second := w.refresh(app, first)
				if second.status != http.StatusOK {
					t.Fatal(second.body)
				}
				reuse(first, second)
				wantRefused(t, w.refresh(app, first), "invalid_grant")
				w.wantVerify(access, fault.TokenRevoked)
				w.wantVerify(second.str("access_token"), fault.TokenRevoked)
				wantRefused(t, w.refresh(app, second.str("refresh_token")), "invalid_grant")
			})
		}
	})
}

func TestALostAnswerIsRepeatedWithTheSameTokens(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		w := newWorld(t, d, clk)
		app, _ := w.register()
		before, first := w.tokens(app)
		clk.Advance(time.Second)
		lost := w.refresh(app, first)
		w.wantVerify(before, nil) // a former token proves nothing about the answer
		var again answer
		for range 3 {
			clk.Advance(3 * time.Second)
			again = w.refresh(app, first)
			if again.status != http.StatusOK || again.str("access_token") != lost.str("access_token") || again.str("refresh_token") != lost.str("refresh_token") {
				t.Fatalf("first %v, then %v", lost.body, again.body)
			}
		}
		if got := w.refresh(app, again.str("refresh_token")); got.status != http.StatusOK {
			t.Errorf("the family did not go on: %v", got.body)
		}
	})
}

func TestWithoutAGraceTheFirstRepetitionEndsTheFamily(t *testing.T) {
	t.Parallel()
	clk := clock.NewFake(testkit.Start)
	w := newWorld(t, testkit.SQLite(t, clk), clk, func(c *oauth.Config) { c.RefreshGrace = -1 })
	app, _ := w.register()
	_, first := w.tokens(app)
	next := w.refresh(app, first)
	wantRefused(t, w.refresh(app, first), "invalid_grant")
	w.wantVerify(next.str("access_token"), fault.TokenRevoked)
}

// Sixteen at once with one refresh token are the processes of one client: all get the same tokens.
func TestSixteenRefreshesAtOnceNeverMakeTwoFamilies(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		w := newWorld(t, d, clk)
		app, _ := w.register()
		_, first := w.tokens(app)
		answers := make([]answer, 16)
		var wg sync.WaitGroup
		for i := range answers {
			wg.Go(func() { answers[i] = w.refresh(app, first) })
		}
		wg.Wait()
		given := map[string]int{}
		for _, a := range answers {
			if a.status != http.StatusOK {
				t.Fatal(a.body)
			}
			given[a.str("access_token")+a.str("refresh_token")]++
		}
		if len(given) != 1 {
			t.Fatalf("%d different answers were given", len(given))
		}
		w.wantVerify(answers[0].str("access_token"), nil)
		var branches int
		if err := d.QueryRow(t.Context(), `SELECT count(*) FROM oauth_refresh_tokens WHERE parent_id IS NOT NULL`).Scan(&branches); err != nil || branches != 1 {
			t.Errorf("%d successors in the database, error %v", branches, err)
		}
	})
}

func TestTwoExchangesAtOnceOfOneCodeLeaveNoTokens(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		w := newWorld(t, d, clk)
		app, _ := w.register()
		code := w.code(app)
		answers := make([]answer, 8)
		var wg sync.WaitGroup
		for i := range answers {
			wg.Go(func() { answers[i] = w.exchange(app, code) })
		}
		wg.Wait()
		won := 0
		for _, a := range answers {
			if a.status == http.StatusOK {
				won++
				w.wantVerify(a.str("access_token"), fault.TokenRevoked)
			}
		}
		if won != 1 {
			t.Errorf("%d exchanges won", won)
		}
	})
}

func TestAClientMustBeTheOneItSays(t *testing.T) {
	t.Parallel()
	w := newWorldOn(t)
	public, _ := w.register()
	private, sec := w.register(confidential)
	other, otherSecret := w.register(confidential)
	_, refresh := w.tokens(public)
	basic := func(id, secret string) func(*http.Request) {
		return func(r *http.Request) { r.SetBasicAuth(url.QueryEscape(id), url.QueryEscape(secret)) }
	}
	for _, tc := range []struct {
		name  string
		key   string
		with  func(*http.Request)
		pairs []string
	}{
		{"no client", "invalid_request", nil, nil},
		{"unknown client", "invalid_client", nil, []string{"client_id", "app_nobody"}},
		{"a client id that is none", "invalid_client", nil, []string{"client_id", "' OR 1=1 --"}},
		{"no secret", "invalid_client", nil, []string{"client_id", private.ClientID}},
		{"wrong secret", "invalid_client", nil, []string{"client_id", private.ClientID, "client_secret", sec + "x"}},
		{"another's secret", "invalid_client", nil, []string{"client_id", private.ClientID, "client_secret", otherSecret}},
		{"a secret of a public client", "invalid_client", nil, []string{"client_id", public.ClientID, "client_secret", "x"}},
		{"wrong secret in Basic", "invalid_client", basic(private.ClientID, "x"), nil},
		{"Basic and form", "invalid_request", basic(private.ClientID, sec), []string{"client_secret", sec}},
		{"Basic of one, id of another", "invalid_request", basic(private.ClientID, sec), []string{"client_id", other.ClientID}},
		{"broken Basic", "invalid_client", func(r *http.Request) { r.Header.Set("Authorization", "Basic !!!") }, []string{"client_id", public.ClientID}},
		{"Bearer", "invalid_client", func(r *http.Request) { r.Header.Set("Authorization", "Bearer x") }, []string{"client_id", public.ClientID}},
		{"parameters twice", "invalid_request", nil, []string{"client_id", public.ClientID, "client_id", public.ClientID}},
		{"another's refresh token", "invalid_grant", basic(private.ClientID, sec), nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := formRequest("/oauth/token", append([]string{"grant_type", "refresh_token", "refresh_token", refresh}, tc.pairs...)...)
			if tc.with != nil {
				tc.with(r)
			}
			wantRefused(t, w.do(r), tc.key)
		})
	}
	if got := w.refresh(public, refresh); got.status != http.StatusOK {
		t.Errorf("the refused attempts used the token up: %v", got.body)
	}
}

func TestTheTokenEndpointTakesFormsOnly(t *testing.T) {
	t.Parallel()
	w := newWorldOn(t)
	app, _ := w.register()
	form := "grant_type=refresh_token&client_id=" + app.ClientID
	for name, r := range map[string]*http.Request{
		"JSON":                httptest.NewRequest(http.MethodPost, "/oauth/token", strings.NewReader(`{"grant_type":"refresh_token"}`)),
		"no type":             httptest.NewRequest(http.MethodPost, "/oauth/token", strings.NewReader(form)),
		"in the address":      httptest.NewRequest(http.MethodPost, "/oauth/token?"+form, strings.NewReader("")),
		"a broken encoding":   httptest.NewRequest(http.MethodPost, "/oauth/token", strings.NewReader(form+"&x=%zz")),
		"more than fits":      httptest.NewRequest(http.MethodPost, "/oauth/token", strings.NewReader(form+"&x="+strings.Repeat("a", 40<<10))),
		"a parameter too big": httptest.NewRequest(http.MethodPost, "/oauth/token", strings.NewReader(form+"&refresh_token="+strings.Repeat("a", 5000))),
		"bad UTF-8":           httptest.NewRequest(http.MethodPost, "/oauth/token", strings.NewReader(form+"&refresh_token=%ff")),
		"NUL":                 httptest.NewRequest(http.MethodPost, "/oauth/token", strings.NewReader(form+"&refresh_token=%00")),
		"nothing":             httptest.NewRequest(http.MethodPost, "/oauth/token", strings.NewReader("")),
	} {
		t.Run(name, func(t *testing.T) {
			switch name {
			case "JSON":
				r.Header.Set("Content-Type", "application/json")
			case "no type":
			default:
				r.Header.Set("Content-Type", "application/x-www-form-urlencoded; charset=utf-8")
			}
			wantRefused(t, w.do(r), "invalid_request")
		})
	}
	wantRefused(t, w.form("/oauth/token", "client_id", app.ClientID), "invalid_request")
	wantRefused(t, w.form("/oauth/token", "client_id", app.ClientID, "grant_type", "password", "username", "a", "password", "b"), "unsupported_grant_type")
	wantRefused(t, w.form("/oauth/token", "client_id", app.ClientID, "grant_type", "client_credentials"), "unsupported_grant_type")
	wantRefused(t, w.refresh(app, "x", "resource", "https://other.example"), "invalid_target")
	if got := w.call(http.MethodGet, "/oauth/token", "", ""); got.status != http.StatusMethodNotAllowed {
		t.Errorf("GET answers %d", got.status)
	}
	preflight := httptest.NewRequest(http.MethodOptions, "/oauth/token", nil)
	rec := httptest.NewRecorder()
	w.handler.ServeHTTP(rec, preflight)
	if rec.Code != http.StatusNoContent || rec.Header().Get("Access-Control-Allow-Origin") != "*" {
		t.Errorf("a browser application's preflight answers %d %v", rec.Code, rec.Header())
	}
}

func TestATokenInTheAddressIsNoToken(t *testing.T) {
	t.Parallel()
	w := newWorldOn(t)
	app, _ := w.register()
	access, refresh := w.tokens(app)
	if got := w.call(http.MethodGet, "/api/v1/probe?access_token="+access, "", ""); got.status != http.StatusUnauthorized {
		t.Errorf("a token in the address answers %d", got.status)
	}
	for name, token := range map[string]string{"a refresh token": refresh, "a code": w.code(app), "a client id": app.ClientID, "nonsense": "sta_x"} {
		if got := w.call(http.MethodGet, "/api/v1/probe", token, ""); got.status != http.StatusUnauthorized || got.str("error") != "unauthenticated" {
			t.Errorf("%s opens the API: %d %v", name, got.status, got.body)
		}
	}
}

func TestTheTokenEndpointIsThrottledPerClientAndAddress(t *testing.T) {
	t.Parallel()
	w := newWorldOn(t)
	app, _ := w.register()
	other, _ := w.register()
	for range oauth.Throttle.Limit {
		wantRefused(t, w.refresh(app, "x"), "invalid_grant")
	}
	got := w.refresh(app, "x")
	if got.status != http.StatusTooManyRequests || got.str("error") != "rate_limited" || got.header.Get("Retry-After") == "" || got.header.Get("RateLimit-Policy") == "" {
		t.Errorf("one too many answers %d %v", got.status, got.body)
	}
	wantRefused(t, w.refresh(other, "x"), "invalid_grant") // another application is not disturbed
	for range oauth.Throttle.Limit {
		w.form("/oauth/token", "client_id", "app_invented")
	}
	if got := w.form("/oauth/token", "client_id", "app_invented2"); got.status != http.StatusTooManyRequests {
		t.Errorf("invented names have counts of their own: %d", got.status)
	}
}

func TestNothingSecretIsStoredAsItIs(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		w := newWorld(t, d, clk)
		app, sec := w.register(confidential)
		code := w.code(app)
		got := w.form("/oauth/token", "grant_type", "authorization_code", "client_id", app.ClientID, "client_secret", sec, "code", code, "redirect_uri", callback, "code_verifier", verifier)
		next := w.form("/oauth/token", "grant_type", "refresh_token", "client_id", app.ClientID, "client_secret", sec, "refresh_token", got.str("refresh_token"))
		if next.status != http.StatusOK {
			t.Fatal(got.body, next.body)
		}
		var stored []string
		for _, column := range []string{
			"hash FROM oauth_codes", "hash FROM oauth_access_tokens", "hash FROM oauth_refresh_tokens",
			"answer FROM oauth_refresh_tokens WHERE answer IS NOT NULL", "secret_hash FROM oauth_applications",
		} {
			values, err := db.Collect(t.Context(), d, func(r db.Row) (b []byte, err error) { err = r.Scan(&b); return b, err }, "SELECT "+column)
			if err != nil || len(values) == 0 {
				t.Fatalf("%s: %d values, error %v", column, len(values), err)
			}
			for _, v := range values {
				stored = append(stored, string(v))
			}
		}
		all := strings.Join(stored, "\n")
		for _, s := range []string{code, sec, got.str("access_token"), got.str("refresh_token"), next.str("access_token"), next.str("refresh_token")} {
			if s == "" || strings.Contains(all, s) || strings.Contains(all, s[4:]) {
				t.Errorf("%q is stored", s)
			}
		}
	})
}

// TestWhoDisconnectsWhileACodeIsGivenLeavesNothingBehind: a grant without a consent is in no list that it could be ended
// from.
func TestWhoDisconnectsWhileACodeIsGivenLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		w := newWorld(t, d, clk)
		app, _ := w.register()
		w.tokens(app)
		ask, err := w.s.Ask(t.Context(), query(app))
		if err != nil {
			t.Fatal(err)
		}
		given := make(chan error, 1)
		began := make(chan struct{})
		w.tx(func(ctx context.Context, tx *db.Tx) error { // what Disconnect does, as far as it is when the other begins
			if _, err := tx.Exec(ctx, `DELETE FROM oauth_consents WHERE account_id = $1 AND application_id = $2`, alice, app.ID); err != nil {
				return err
			}
			if _, err := tx.Exec(ctx, `UPDATE oauth_grants SET ended_at = $1, end_reason = 'disconnected' WHERE ended_at IS NULL`, tx.Now); err != nil {
				return err
			}
			go func() {
				close(began)
				_, err := w.s.Approve(context.WithoutCancel(t.Context()), alice, ask, false)
				given <- err
			}()
			<-began
			if d.Engine() != "postgres" {
				return nil // it waits for this transaction to end
			}
			testkit.Eventually(t, time.Minute, func() bool {
				var waiting bool
				err := d.QueryRow(t.Context(), `SELECT EXISTS (SELECT 1 FROM pg_stat_activity
					WHERE datname = current_database() AND wait_event_type = 'Lock')`).Scan(&waiting)
				return err == nil && (waiting || len(given) > 0)
			}, "it waits, or is done")
			return nil
		})
		if r := oauth.AsRefusal(<-given); r == nil || r.Def != oauth.ErrConsentRequired {
			t.Errorf("a code was given: %v", r)
		}
	})
}
