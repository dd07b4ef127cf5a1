package oauth_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"golang.org/x/oauth2"

	"stead.dev/stead/internal/identity/oauth"
	"stead.dev/stead/internal/platform/api"
	"stead.dev/stead/internal/platform/auth"
	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/i18n"
	"stead.dev/stead/internal/platform/testkit"
)

func TestAStandardClientGetsTokensAndRefreshesThem(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		w := newWorld(t, d, clk)
		server := httptest.NewServer(w.handler)
		defer server.Close()
		public, _ := w.register()
		private, sec := w.register(confidential)
		for _, tc := range []struct {
			name   string
			app    oauth.Application
			secret string
			style  oauth2.AuthStyle
			pkce   bool
		}{
			{"public with PKCE", public, "", oauth2.AuthStyleInParams, true},
			{"public with PKCE, style found out", public, "", oauth2.AuthStyleAutoDetect, true},
			{"confidential with HTTP Basic", private, sec, oauth2.AuthStyleInHeader, false},
			{"confidential with the secret in the form and PKCE", private, sec, oauth2.AuthStyleInParams, true},
		} {
			t.Run(tc.name, func(t *testing.T) {
				conf := oauth2.Config{
					ClientID: tc.app.ClientID, ClientSecret: tc.secret, RedirectURL: callback, Scopes: []string{"profile", "wallet:read"},
					Endpoint: oauth2.Endpoint{AuthURL: base + "/oauth/authorize", TokenURL: server.URL + "/oauth/token", AuthStyle: tc.style},
				}
				var begin, end []oauth2.AuthCodeOption
				if tc.pkce {
					begin, end = append(begin, oauth2.S256ChallengeOption(verifier)), append(end, oauth2.VerifierOption(verifier))
				}
				u, err := url.Parse(conf.AuthCodeURL("st", begin...))
				if err != nil {
					t.Fatal(err)
				}
				back := w.approve(alice, u.Query())
				if back.Get("state") != "st" || back.Get("iss") != base {
					t.Errorf("state and iss come back as %v", back)
				}
				tok, err := conf.Exchange(t.Context(), back.Get("code"), end...)
				if err != nil {
					t.Fatal(err)
				}
				p, err := w.s.Verify(t.Context(), tok.AccessToken)
				if err != nil || p.AccountID != alice || p.Locale != "ru" || p.Currency != "UZS" || strings.Join(p.Scopes, " ") != "profile wallet:read" {
					t.Errorf("the principal is %+v, error %v", p, err)
				}
				tok.Expiry = time.Unix(1, 0)
				next, err := conf.TokenSource(t.Context(), tok).Token()
				if err != nil || next.AccessToken == tok.AccessToken || next.RefreshToken == tok.RefreshToken {
					t.Fatalf("refreshed to %v, error %v", next, err)
				}
				if !w.good(next.AccessToken) {
					t.Error("the refreshed token is not good")
				}
			})
		}
	})
}

// The answer is exactly the specification's, members and values.
func TestTheTokenResponseIsTheSpecifications(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		w := newWorld(t, d, clk)
		app, _ := w.register()
		got := w.exchange(app, w.code(app))
		if got.status != http.StatusOK || got.header.Get("Cache-Control") != "no-store" || got.header.Get("Pragma") != "no-cache" {
			t.Fatalf("answered %d %v", got.status, got.header)
		}
		if got.header.Get("X-Request-Id") == "" || got.header.Get("RateLimit") == "" || got.header.Get("Access-Control-Allow-Origin") != "*" {
			t.Errorf("headers are missing: %v", got.header)
		}
		access, refresh := got.str("access_token"), got.str("refresh_token")
		if !strings.HasPrefix(access, "sta_") || !strings.HasPrefix(refresh, "str_") {
			t.Errorf("tokens are %q and %q", access, refresh)
		}
		want := map[string]any{
			"access_token": access, "refresh_token": refresh, "expires_in": 1296000.0, "token_type": "Bearer", "scope": "profile orders:read",
		}
		if len(got.body) != len(want) {
			t.Errorf("the answer is %v", got.body)
		}
		for k, v := range want {
			if got.body[k] != v {
				t.Errorf("%s is %v, want %v", k, got.body[k], v)
			}
		}
		next := w.form("/oauth/token/refresh", "client_id", app.ClientID, "refresh_token", refresh)
		if next.status != http.StatusOK || next.body["expires_in"] != 1296000.0 {
			t.Errorf("the refresh address answers %d %v", next.status, next.body)
		}
		wantRefused(t, w.form("/oauth/token/refresh", "client_id", app.ClientID, "grant_type", "authorization_code", "code", "x"), "unsupported_grant_type")
	})
}

func TestLifetimesAreTheSpecifications(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		w := newWorld(t, d, clk)
		app, _ := w.register()
		access, refresh := w.tokens(app)
		clk.Advance(15*24*time.Hour - time.Second)
		if !w.good(access) {
			t.Error("the access token ends before its time")
		}
		clk.Advance(time.Second)
		w.wantVerify(access, fault.TokenExpired)
		if got := w.call(http.MethodGet, "/api/v1/probe", access, ""); got.status != http.StatusUnauthorized || got.str("error") != "token_expired" {
			t.Errorf("an expired token answers %d %v", got.status, got.body)
		}
		clk.Advance(15*24*time.Hour - time.Second)
		next := w.refresh(app, refresh)
		if next.status != http.StatusOK {
			t.Fatalf("the refresh token ends before its time: %v", next.body)
		}
		clk.Advance(30 * 24 * time.Hour)
		wantRefused(t, w.refresh(app, next.str("refresh_token")), "invalid_grant")

		code := w.code(app)
		clk.Advance(oauth.CodeLife)
		wantRefused(t, w.exchange(app, code), "invalid_grant")
	})
}

func TestScopesAreWhatWasApprovedAndNoMore(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		w := newWorld(t, d, clk)
		app, _ := w.register(func(r *oauth.Registration) { r.Scopes = []string{"profile", "orders:read", "wallet:read"} })
		got := w.exchange(app, w.code(app, "scope", ""))
		if got.str("scope") != "profile" {
			t.Errorf("without scope a token has %q", got.str("scope"))
		}
		for scope, want := range map[string]string{
			"nonsense": "invalid_scope", "profile wallet:write": "invalid_scope", "admin": "invalid_scope", "profile admin": "invalid_scope",
		} {
			r := w.refusal(query(app, "scope", scope))
			if r.Def.Key != want || r.Redirect == "" {
				t.Errorf("scope %q is refused as %v", scope, r)
			}
		}
		_, refresh := w.tokens(app, "scope", "orders:read  profile profile")
		wantRefused(t, w.refresh(app, refresh, "scope", "profile wallet:read"), "invalid_scope")
		wantRefused(t, w.refresh(app, refresh, "scope", "bogus"), "invalid_scope")
		narrow := w.refresh(app, refresh, "scope", "profile") // a refused refresh has used nothing up
		if narrow.status != http.StatusOK || narrow.str("scope") != "profile" {
			t.Fatalf("narrowing answers %v", narrow.body)
		}
		wide := w.refresh(app, narrow.str("refresh_token"))
		if wide.str("scope") != "profile orders:read" {
			t.Errorf("the refresh token lost scopes: %v", wide.body)
		}
		if _, _, err := w.s.CreateApplication(t.Context(), alice, oauth.Registration{
			Name: "x", Type: oauth.Public, RedirectURIs: []string{callback}, Scopes: []string{"admin"},
		}); fault.From(err).Def != fault.Validation {
			t.Errorf("a third party may have admin: %v", err)
		}
		if err := d.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
			_, err := w.s.Ensure(ctx, tx, oauth.Seed{ClientID: "third", Name: "x", RedirectURIs: []string{callback}, Scopes: oauth.Scopes{"admin"}})
			return err
		}); err == nil {
			t.Error("a seed that is not first party may have admin")
		}
		// The application loses a scope: so do its tokens.
		access := wide.str("access_token")
		if _, err := w.s.UpdateApplication(t.Context(), alice, app.ID, oauth.Changes{Scopes: &[]string{"profile"}}); err != nil {
			t.Fatal(err)
		}
		if p, err := w.s.Verify(t.Context(), access); err != nil || strings.Join(p.Scopes, " ") != "profile" {
			t.Errorf("the token still has %v, error %v", p.Scopes, err)
		}
	})
}

func TestAdminNeedsAFirstPartyApplicationAndTheRole(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		w := newWorld(t, d, clk)
		app := w.panel()
		q := query(app, "scope", "profile admin")
		access := func(account int64) string {
			got := w.exchange(app, w.approve(account, q).Get("code"))
			return got.str("access_token")
		}
		if p, err := w.s.Verify(t.Context(), access(alice)); err != nil || p.HasScope("admin") || !p.FirstParty {
			t.Errorf("without the role: %+v, error %v", p, err)
		}
		token := access(admin)
		if p, err := w.s.Verify(t.Context(), token); err != nil || !p.HasScope("admin") || p.Role != auth.Owner {
			t.Errorf("with the role: %+v, error %v", p, err)
		}
		w.people.set(admin, oauth.Holder{})
		w.signalAccount(admin)
		if p, err := w.s.Verify(t.Context(), token); err != nil || p.HasScope("admin") || p.Role == auth.Owner {
			t.Errorf("after the role was taken: %+v, error %v", p, err)
		}
	})
}

func TestASandboxTokenReadsAndDoesNotWrite(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		w := newWorld(t, d, clk)
		app, _ := w.register(func(r *oauth.Registration) { r.Sandbox = true })
		access, refresh := w.tokens(app)
		if got := w.call(http.MethodGet, "/api/v1/probe", access, ""); got.status != http.StatusOK {
			t.Errorf("reading answers %d %v", got.status, got.body)
		}
		if got := w.call(http.MethodPut, "/api/v1/probe", access, ""); got.status != http.StatusForbidden || got.str("error") != "sandbox_read_only" {
			t.Errorf("writing answers %d %v", got.status, got.body)
		}
		if _, err := w.s.UpdateApplication(t.Context(), alice, app.ID, oauth.Changes{Sandbox: new(bool)}); err != nil {
			t.Fatal(err)
		}
		// Who allowed it was told that it can only read.
		if got := w.call(http.MethodPut, "/api/v1/probe", access, ""); got.status != http.StatusUnauthorized || got.str("error") != "token_revoked" {
			t.Errorf("out of the sandbox, writing answers %d %v", got.status, got.body)
		}
		if got := w.refresh(app, refresh); got.status == http.StatusOK {
			t.Error("its tokens can be refreshed")
		}
		ask, err := w.s.Ask(t.Context(), query(app))
		if err != nil {
			t.Fatal(err)
		}
		if need, err := w.s.NeedsConsent(t.Context(), alice, ask); !need || err != nil {
			t.Errorf("nobody is asked anew: %v", err)
		}
		access, _ = w.tokens(app)
		if _, err := w.s.UpdateApplication(t.Context(), alice, app.ID, oauth.Changes{Sandbox: new(true)}); err != nil {
			t.Fatal(err)
		}
		if got := w.call(http.MethodPut, "/api/v1/probe", access, ""); got.str("error") != "sandbox_read_only" {
			t.Errorf("in the sandbox again, writing answers %d %v", got.status, got.body)
		}
	})
}

func TestConsentIsRememberedForTheSameScopes(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		w := newWorld(t, d, clk)
		app, _ := w.register(func(r *oauth.Registration) {
			r.RedirectURIs = []string{callback, "http://127.0.0.1/cb", "com.example.app:/cb"}
		})
		needs := func(pairs ...string) bool {
			ask, err := w.s.Ask(t.Context(), query(app, pairs...))
			if err != nil {
				t.Fatal(err)
			}
			need, err := w.s.NeedsConsent(t.Context(), alice, ask)
			if err != nil {
				t.Fatal(err)
			}
			_, err = w.s.Approve(t.Context(), alice, ask, false)
			if r := oauth.AsRefusal(err); need && ask.Prompt == "" && strings.HasPrefix(ask.RedirectURI, "https") && (r == nil || r.Redirect == "") {
				t.Errorf("a code without a Yes: %v", err)
			}
			return need
		}
		if !needs() {
			t.Error("nobody was asked")
		}
		w.code(app)
		if needs() || needs("scope", "orders:read") {
			t.Error("the Yes was forgotten")
		}
		if !needs("scope", "profile orders:write") {
			t.Error("more scopes need no Yes")
		}
		if !needs("prompt", "consent") {
			t.Error("prompt=consent is not heard")
		}
		if !needs("redirect_uri", "http://127.0.0.1:5/cb") || !needs("redirect_uri", "com.example.app:/cb") {
			t.Error("a public application that anything on the device can pose as gets a code unseen (RFC 8252, 8.6)")
		}
		w.code(app, "scope", "wallet:read")
		if needs("scope", "profile orders:read wallet:read") {
			t.Error("two Yeses do not add up")
		}
		panel := w.panel()
		ask, err := w.s.Ask(t.Context(), query(panel))
		if err != nil {
			t.Fatal(err)
		}
		if need, err := w.s.NeedsConsent(t.Context(), alice, ask); need || err != nil {
			t.Errorf("our own panel asks for consent: %v, %v", need, err)
		}
	})
}

func TestDiscoveryDocumentsNameWhatIsThere(t *testing.T) {
	t.Parallel()
	w := newWorldOn(t)
	meta := w.call(http.MethodGet, "/.well-known/oauth-authorization-server", "", "")
	if meta.status != http.StatusOK || meta.body["issuer"] != base || meta.body["authorization_response_iss_parameter_supported"] != true {
		t.Errorf("RFC 8414: %d %v", meta.status, meta.body)
	}
	for name, want := range map[string]string{
		"token_endpoint": "/oauth/token", "revocation_endpoint": "/oauth/revoke", "introspection_endpoint": "/oauth/introspect",
		"authorization_endpoint": "/oauth/authorize",
	} {
		if meta.body[name] != base+want {
			t.Errorf("%s is %v", name, meta.body[name])
		}
	}
	if strings.Contains(strings.Join(texts(meta.body["scopes_supported"]), " "), "admin") || texts(meta.body["code_challenge_methods_supported"])[0] != "S256" {
		t.Errorf("scopes or methods: %v", meta.body)
	}
	for _, path := range []string{"", "/api/v1"} {
		res := w.call(http.MethodGet, "/.well-known/oauth-protected-resource"+path, "", "")
		if res.status != http.StatusOK || res.body["resource"] != base+path || texts(res.body["authorization_servers"])[0] != base {
			t.Errorf("RFC 9728 %s: %d %v", path, res.status, res.body)
		}
	}
	// A client that starts with nothing is led there.
	got := w.call(http.MethodGet, "/api/v1/probe", "", "")
	if !strings.Contains(got.header.Get("WWW-Authenticate"), base+"/.well-known/oauth-protected-resource") {
		t.Errorf("the challenge is %q", got.header.Get("WWW-Authenticate"))
	}
}

func TestASwitchedOffSectionIsNotFound(t *testing.T) {
	t.Parallel()
	w := newWorldOn(t)
	app, _ := w.register()
	w.off[api.OAuth] = true
	for _, got := range []answer{
		w.exchange(app, "x"), w.form("/oauth/token/refresh"), w.form("/oauth/revoke"), w.form("/oauth/introspect"),
		w.call(http.MethodGet, "/.well-known/oauth-authorization-server", "", ""),
		w.call(http.MethodGet, "/.well-known/oauth-protected-resource", "", ""), w.call(http.MethodGet, "/api/v1/apps", "", ""),
	} {
		if got.status != http.StatusNotFound || got.str("error") != "section_disabled" {
			t.Errorf("answered %d %v", got.status, got.body)
		}
	}
}

func TestEveryRefusalHasItsTextInTheFormOfTheProtocol(t *testing.T) {
	t.Parallel()
	w := newWorldOn(t)
	r := formRequest("/oauth/token", "client_id", "app_unknown", "grant_type", "refresh_token")
	r.Header.Set("Accept-Language", "ru")
	got := w.do(r)
	wantRefused(t, got, "invalid_client")
	if got.str("message") != i18n.T("ru", "error.invalid_client", nil) {
		t.Errorf("the message is %q", got.str("message"))
	}
	for _, c := range got.str("error_description") {
		if c < ' ' || c > '~' || c == '"' || c == '\\' {
			t.Errorf("error_description holds %q (RFC 6749, 5.2)", c)
		}
	}
}

func TestTheOpenAPIDocumentHasTheWholeFlow(t *testing.T) {
	t.Parallel()
	w := newWorldOn(t)
	edge := api.NewEdge(api.Config{BaseURL: base, Version: "1"})
	if err := edge.Mount(w.s.Operations()...); err == nil {
		t.Error("the throttle policy is not asked for")
	}
	_ = edge
	doc, err := json.Marshal(w.edge.OpenAPI())
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`"/oauth/authorize":{"get":`, `"/oauth/token":{"post":`, `"/oauth/token/refresh":{"post":`, `"/oauth/revoke"`, `"/oauth/introspect"`,
		`"application/x-www-form-urlencoded"`, `"code_verifier"`, `"/api/v1/apps/{application}/rotate-secret"`,
	} {
		if !strings.Contains(string(doc), want) {
			t.Errorf("the document lacks %s", want)
		}
	}
}

func texts(v any) []string {
	list, _ := v.([]any)
	out := []string{}
	for _, x := range list {
		s, _ := x.(string)
		out = append(out, s)
	}
	return out
}
