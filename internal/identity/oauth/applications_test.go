package oauth_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"stead.dev/stead/internal/identity/oauth"
	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/testkit"
)

// panelToken is a token of Stead's own panel for the account.
func (w *world) panelToken(account int64) string {
	w.t.Helper()
	app := w.panel()
	got := w.exchange(app, w.approve(account, query(app)).Get("code"))
	if got.status != http.StatusOK {
		w.t.Fatal(got.body)
	}
	return got.str("access_token")
}

func TestTheOwnerManagesApplicationsOverTheAPI(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		w := newWorld(t, d, clk)
		mine, theirs := inBrowser+w.panelToken(alice), inBrowser+w.panelToken(admin)
		made := w.call(http.MethodPost, "/api/v1/apps", mine,
			`{"name":" My shop ","type":"confidential","redirect_uris":["https://a.example/cb"],"scopes":["orders:read","profile"],"sandbox":true}`)
		if made.status != http.StatusCreated || !strings.HasPrefix(made.str("client_id"), "app_") || !strings.HasPrefix(made.str("client_secret"), "sts_") ||
			made.str("name") != "My shop" || made.body["sandbox"] != true || fmt.Sprint(made.body["scopes"]) != "[profile orders:read]" {
			t.Fatalf("created: %d %v", made.status, made.body)
		}
		path := fmt.Sprintf("/api/v1/apps/%v", made.body["id"])
		for _, call := range []func() answer{
			func() answer { return w.call(http.MethodGet, path, theirs, "") },
			func() answer { return w.call(http.MethodPatch, path, theirs, `{"name":"x"}`) },
			func() answer { return w.call(http.MethodPost, path+"/rotate-secret", theirs, "") },
			func() answer { return w.call(http.MethodDelete, path, theirs, "") },
		} {
			if got := call(); got.status != http.StatusNotFound || got.str("error") != "not_found" {
				t.Errorf("a stranger gets %d %v", got.status, got.body)
			}
		}
		got := w.call(http.MethodGet, path, mine, "")
		if _, shown := got.body["client_secret"]; got.status != http.StatusOK || shown {
			t.Errorf("the secret is shown again: %d %v", got.status, got.body)
		}
		got = w.call(http.MethodPatch, path, mine, `{"redirect_uris":["https://b.example/cb"],"sandbox":false}`)
		if got.status != http.StatusOK || got.str("name") != "My shop" || got.body["sandbox"] != false || fmt.Sprint(got.body["redirect_uris"]) != "[https://b.example/cb]" {
			t.Errorf("changed: %d %v", got.status, got.body)
		}
		rotated := w.call(http.MethodPost, path+"/rotate-secret", mine, "")
		auth := func(secret string) answer {
			return w.form("/oauth/token", "grant_type", "refresh_token", "refresh_token", "x", "client_id", made.str("client_id"), "client_secret", secret)
		}
		wantRefused(t, auth(made.str("client_secret")), "invalid_client")
		wantRefused(t, auth(rotated.str("client_secret")), "invalid_grant")
		list := w.call(http.MethodGet, "/api/v1/apps", mine, "")
		if meta, _ := list.body["meta"].(map[string]any); meta["total"] != 1.0 {
			t.Errorf("listed: %v", list.body)
		}
		if got := w.call(http.MethodDelete, path, mine, ""); got.status != http.StatusOK {
			t.Errorf("deleted: %d %v", got.status, got.body)
		}
		if got := w.call(http.MethodGet, path, mine, ""); got.status != http.StatusNotFound {
			t.Errorf("after that: %d", got.status)
		}
		wantRefused(t, auth(rotated.str("client_secret")), "invalid_client")
	})
}

func TestOnlyOurOwnPanelManagesApplications(t *testing.T) {
	t.Parallel()
	w := newWorldOn(t)
	app, _ := w.register()
	access, _ := w.tokens(app)
	for _, path := range []string{"/api/v1/apps", "/api/v1/me/connections"} {
		if got := w.call(http.MethodGet, path, access, ""); got.status != http.StatusForbidden || got.str("error") != "forbidden" {
			t.Errorf("%s: %d %v", path, got.status, got.body)
		}
	}
	mine := w.panelToken(alice)
	if got := w.call(http.MethodPost, "/api/v1/apps", mine, `{"name":"n","redirect_uris":["https://a.example/cb"]}`); got.status != http.StatusForbidden {
		t.Errorf("a token makes an application: %d %v", got.status, got.body)
	}
	mine = inBrowser + mine
	public := w.call(http.MethodPost, "/api/v1/apps", mine, `{"name":"n","redirect_uris":["https://a.example/cb"]}`)
	if public.str("type") != "public" || public.body["client_secret"] != nil {
		t.Errorf("by default: %v", public.body)
	}
	if got := w.call(http.MethodPost, fmt.Sprintf("/api/v1/apps/%v/rotate-secret", public.body["id"]), mine, ""); got.str("error") != "unsupported_operation" {
		t.Errorf("a public application's secret: %d %v", got.status, got.body)
	}
}

func TestRegistrationsAreChecked(t *testing.T) {
	t.Parallel()
	w := newWorldOn(t)
	for uri, field := range map[string]string{
		"": "", "x": "", "/cb": "", "https:///cb": "", "https://": "", "http://a.example/cb": "", "http://192.168.0.1/cb": "",
		"https://a.example/cb#x": "", "https://*.example/cb": "", "https://u:p@a.example/cb": "", "https://a.example/cb?code=1": "",
		"https://a.example/ cb": "", "https://a.example/\tcb": "", "https://a.example\\cb": "", "https://пример.example/cb": "",
		"javascript:alert(1)": "", "data:text/html,x": "", "app:/cb": "", "file:///etc/passwd": "", "https://" + strings.Repeat("a", 500): "",
		"http://127.0.0.1:99999/": "", "com.example.app": "",
	} {
		_, _, err := w.s.CreateApplication(t.Context(), alice, oauth.Registration{Name: "x", Type: oauth.Public, RedirectURIs: []string{uri}})
		if f := fault.From(err); f.Def != fault.Validation || f.Invalid["redirect_uris"] == nil {
			t.Errorf("%q is registered: %v %s", uri, err, field)
		}
	}
	if _, _, err := w.s.CreateApplication(t.Context(), alice, oauth.Registration{
		Name: "x", Type: oauth.Confidential, RedirectURIs: []string{"com.example.app:/cb"},
	}); fault.From(err).Def != fault.Validation {
		t.Errorf("a confidential application has a scheme of its own: %v", err)
	}
	for _, name := range []string{"", " ", strings.Repeat("a", 61), "a\nb", "safe\u202ekcatta", "\xff"} {
		if _, _, err := w.s.CreateApplication(t.Context(), alice, oauth.Registration{
			Name: name, Type: oauth.Public, RedirectURIs: []string{callback},
		}); fault.From(err).Def != fault.Validation {
			t.Errorf("the name %q is registered: %v", name, err)
		}
	}
	for i := range 50 {
		w.register(func(r *oauth.Registration) { r.Name = fmt.Sprint(i) })
	}
	if _, _, err := w.s.CreateApplication(t.Context(), alice, oauth.Registration{
		Name: "x", Type: oauth.Public, RedirectURIs: []string{callback},
	}); fault.From(err).Def != fault.LimitReached {
		t.Errorf("the 51st is registered: %v", err)
	}
}

func TestASeedIsEnsuredAgainAndAgain(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		w := newWorld(t, d, clk)
		if err := w.s.EnsurePanel(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := w.s.Ask(t.Context(), query(oauth.Application{ClientID: oauth.PanelClientID}, "redirect_uri", base+"/panel/callback")); err != nil {
			t.Errorf("the panel cannot sign in: %v", err)
		}
		first, second := w.panel(), w.panel()
		if first.ID != second.ID || !second.FirstParty || second.Type != oauth.Public || !second.Scopes.Has(oauth.Scopes{"admin"}) {
			t.Errorf("ensured %+v and %+v", first, second)
		}
		// Another program could listen on another port, and nobody is asked.
		w.tx(func(ctx context.Context, tx *db.Tx) error {
			_, err := w.s.Ensure(ctx, tx, oauth.Panel("http://127.0.0.1:8080/panel/callback"))
			return err
		})
		if r := w.refusal(query(first, "redirect_uri", "http://127.0.0.1:9999/panel/callback")); r.Redirect != "" {
			t.Error("any port gets a first-party code")
		}
		w.tx(func(ctx context.Context, tx *db.Tx) error {
			_, err := w.s.Ensure(ctx, tx, oauth.Seed{ClientID: "demo", Secret: "s3cret", OwnerID: alice, Name: "Demo", RedirectURIs: []string{callback}})
			return err
		})
		apps, total, err := w.s.ListApplications(t.Context(), alice, 10, 0)
		if err != nil || total != 1 || apps[0].Type != oauth.Confidential {
			t.Errorf("the owner has %+v, error %v", apps, err)
		}
		all, err := w.s.AllApplications(t.Context(), 10, 0)
		if err != nil || len(all) != 2 {
			t.Errorf("the operator sees %d, error %v", len(all), err)
		}
	})
}

func TestAUserDisconnectsAnApplicationOverTheAPI(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		w := newWorld(t, d, clk)
		app, _ := w.register()
		access, refresh := w.tokens(app)
		mine, theirs := w.panelToken(alice), w.panelToken(admin)
		list := w.call(http.MethodGet, "/api/v1/me/connections", mine, "")
		b, err := json.Marshal(list.body["data"])
		if err != nil || !strings.Contains(string(b), app.ClientID) || !strings.Contains(string(b), "orders:read") {
			t.Fatalf("listed %s, error %v", b, err)
		}
		path := fmt.Sprintf("/api/v1/me/connections/%d", app.ID)
		if got := w.call(http.MethodDelete, path, theirs, ""); got.status != http.StatusNotFound || !w.good(access) {
			t.Errorf("a stranger disconnects: %d", got.status)
		}
		if got := w.call(http.MethodDelete, path, mine, ""); got.status != http.StatusOK {
			t.Errorf("disconnected: %d %v", got.status, got.body)
		}
		w.wantVerify(access, fault.TokenRevoked)
		wantRefused(t, w.refresh(app, refresh), "invalid_grant")
		if got := w.call(http.MethodDelete, path, mine, ""); got.status != http.StatusNotFound {
			t.Errorf("disconnected twice: %d", got.status)
		}
		ask, err := w.s.Ask(t.Context(), query(app))
		if err != nil {
			t.Fatal(err)
		}
		if need, err := w.s.NeedsConsent(t.Context(), alice, ask); !need || err != nil {
			t.Errorf("the consent is still remembered: %v", err)
		}
	})
}

func TestRevocationAndIntrospectionAreForOnesOwnTokens(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		w := newWorld(t, d, clk)
		app, sec := w.register(confidential)
		other, otherSecret := w.register(confidential)
		public, _ := w.register()
		got := w.form("/oauth/token", "grant_type", "authorization_code", "client_id", app.ClientID, "client_secret", sec,
			"code", w.approve(alice, query(app)).Get("code"), "redirect_uri", callback, "code_verifier", verifier)
		access, refresh := got.str("access_token"), got.str("refresh_token")
		ask := func(a oauth.Application, secret, token string) answer {
			return w.form("/oauth/introspect", "client_id", a.ClientID, "client_secret", secret, "token", token)
		}
		info := ask(app, sec, access)
		if info.body["active"] != true || info.str("client_id") != app.ClientID || info.str("sub") != "7" || info.str("scope") != "profile orders:read" ||
			info.body["exp"] != float64(clk.Now().Add(15*24*time.Hour).Unix()) || info.str("iss") != base || info.str("token_type") != "Bearer" {
			t.Errorf("introspected: %v", info.body)
		}
		if info := ask(app, sec, refresh); info.body["active"] != true || info.str("token_type") != "" {
			t.Errorf("the refresh token: %v", info.body)
		}
		for name, info := range map[string]answer{"another's": ask(other, otherSecret, access), "unknown": ask(app, sec, "sta_x")} {
			if len(info.body) != 1 || info.body["active"] != false {
				t.Errorf("%s token: %v", name, info.body)
			}
		}
		// The database is not asked about a token that is in memory: what changes one there is told to all by a signal.
		err := d.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
			_, err := tx.Exec(ctx, `UPDATE oauth_access_tokens SET revoked_at = 1`)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		if info := ask(app, sec, access); info.body["active"] != true || info.str("scope") != "profile orders:read" {
			t.Errorf("introspected again: %v", info.body)
		}
		err = d.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
			_, err := tx.Exec(ctx, `UPDATE oauth_access_tokens SET revoked_at = NULL`)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		// Nor is it asked about the application, until a change of it is told.
		err = d.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
			_, err := tx.Exec(ctx, `UPDATE oauth_applications SET secret_hash = $1 WHERE id = $2`, []byte("x"), app.ID)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		if info := ask(app, sec, access); info.body["active"] != true {
			t.Errorf("introspected by an application in memory: %v", info.body)
		}
		former := sec
		if _, sec, err = w.s.RotateSecret(t.Context(), app.OwnerID, app.ID); err != nil {
			t.Fatal(err)
		}
		wantRefused(t, ask(app, former, access), "invalid_client")
		if info := ask(app, sec, access); info.body["active"] != true {
			t.Errorf("introspected with a new secret: %v", info.body)
		}
		for _, disabled := range []bool{true, false} {
			err = d.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
				_, err := w.s.SetDisabled(ctx, tx, app.ClientID, disabled)
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			if got := ask(app, sec, access); disabled != (got.body["active"] == nil) {
				t.Errorf("disabled %v: %v", disabled, got.body)
			}
		}
		wantRefused(t, ask(public, "", access), "unauthorized_client")
		wantRefused(t, w.form("/oauth/introspect", "token", access), "invalid_request")

		wantRefused(t, w.form("/oauth/revoke", "client_id", other.ClientID, "client_secret", otherSecret, "token", access), "invalid_grant")
		wantRefused(t, w.form("/oauth/revoke", "client_id", app.ClientID, "token", access), "invalid_client")
		if !w.good(access) {
			t.Error("somebody else revoked the token")
		}
		for range 2 { // the second time it is gone, which is as good
			if got := w.form("/oauth/revoke", "client_id", app.ClientID, "client_secret", sec, "token", access); got.status != http.StatusOK {
				t.Errorf("revoked: %d %v", got.status, got.body)
			}
		}
		if info := ask(app, sec, access); info.body["active"] != false {
			t.Errorf("after revocation: %v", info.body)
		}
		if info := ask(app, sec, refresh); info.body["active"] != true {
			t.Errorf("an access token's revocation ended the refresh token: %v", info.body)
		}
		if got := w.form("/oauth/revoke", "client_id", app.ClientID, "client_secret", sec, "token", "unknown"); got.status != http.StatusOK {
			t.Errorf("an unknown token: %d %v", got.status, got.body)
		}
	})
}

func TestCleaningRemovesWhatHasExpiredAndNothingElse(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		w := newWorld(t, d, clk)
		app, _ := w.register()
		_, refresh := w.tokens(app)
		if got := w.refresh(app, refresh); got.status != http.StatusOK {
			t.Fatal(got.body)
		}
		w.code(app)
		count := func(what string) (n int) {
			if err := d.QueryRow(t.Context(), `SELECT count(*) FROM `+what).Scan(&n); err != nil {
				t.Fatal(err)
			}
			return n
		}
		clean := func() {
			for range 2 { // jobs may run twice
				if err := w.s.Clean(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
		}
		clean()
		if count("oauth_refresh_tokens WHERE answer IS NOT NULL") != 1 {
			t.Error("the answer is gone within its grace")
		}
		clk.Advance(11 * time.Second)
		clean()
		if count("oauth_refresh_tokens WHERE answer IS NOT NULL") != 0 || count("oauth_refresh_tokens") != 2 || count("oauth_grants") != 2 {
			t.Error("the answers stay, or something else went")
		}
		clk.Advance(8 * 24 * time.Hour)
		clean()
		if count("oauth_codes") != 0 || count("oauth_grants") != 1 || count("oauth_access_tokens") != 2 {
			t.Errorf("a week after the code: %d codes, %d grants", count("oauth_codes"), count("oauth_grants"))
		}
		if err := w.s.DeleteApplication(t.Context(), alice, app.ID); err != nil {
			t.Fatal(err)
		}
		clk.Advance(30 * 24 * time.Hour)
		clean()
		for _, table := range []string{"oauth_grants", "oauth_access_tokens", "oauth_refresh_tokens", "oauth_consents", "oauth_applications"} {
			if n := count(table); n != 0 {
				t.Errorf("%s still has %d rows", table, n)
			}
		}
	})
}

// TestTheCommandAsksEachTime: any program of a machine, and any page, knows its client id.
func TestTheCommandAsksEachTime(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		w := newWorld(t, d, clk)
		for range 2 { // each start of a server
			if err := w.s.EnsureCommand(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		app := oauth.Application{ClientID: oauth.CommandClientID}
		loopback := query(app, "redirect_uri", "http://127.0.0.1:49152/callback", "scope", "profile services:read services:write")
		w.approve(alice, loopback)
		ask, err := w.s.Ask(t.Context(), loopback)
		if err != nil {
			t.Fatal(err)
		}
		if need, err := w.s.NeedsConsent(t.Context(), alice, ask); !need || err != nil {
			t.Errorf("a code is given unseen: %v", err)
		}
		for _, elsewhere := range []string{"https://phishing.example/callback", "http://127.0.0.1.phishing.example/callback", "http://127.0.0.1:49152/other", base + "/panel/callback"} {
			if r := w.refusal(query(app, "redirect_uri", elsewhere)); r.Redirect != "" {
				t.Errorf("a code can go to %s", elsewhere)
			}
		}
		for _, scope := range []string{"orders:write", "wallet:read", "admin"} {
			if r := w.refusal(query(app, "redirect_uri", "http://127.0.0.1:49152/callback", "scope", scope)); r.Reason != "scope_not_allowed" {
				t.Errorf("%s: %s", scope, r.Reason)
			}
		}
	})
}

// TestATokenOfAPipelineLivesForAYear without a refresh token, and ends like all others.
func TestATokenOfAPipelineLivesForAYear(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		w := newWorld(t, d, clk)
		if err := w.s.EnsureCommand(t.Context()); err != nil {
			t.Fatal(err)
		}
		app := oauth.Application{ClientID: oauth.PipelineClientID}
		token := func() string {
			t.Helper()
			const redirect = "http://127.0.0.1:49152/callback"
			code := w.approve(alice, query(app, "redirect_uri", redirect, "scope", "services:read services:write")).Get("code")
			got := w.form("/oauth/token", "grant_type", "authorization_code", "client_id", app.ClientID, "code", code, "redirect_uri", redirect, "code_verifier", verifier)
			if got.status != http.StatusOK || got.str("refresh_token") != "" || got.body["expires_in"] != float64(365*24*60*60) {
				t.Fatalf("%d %v", got.status, got.body)
			}
			return got.str("access_token")
		}
		if r := w.refusal(query(app, "redirect_uri", "http://127.0.0.1:49152/callback", "scope", "profile")); r.Reason != "scope_not_allowed" {
			t.Errorf("it can read the profile: %s", r.Reason)
		}
		first, second := token(), token()
		clk.Advance(364 * 24 * time.Hour)
		if err := w.s.Clean(t.Context()); err != nil {
			t.Fatal(err)
		}
		if !w.good(first) || !w.good(second) {
			t.Error("it ends before its year")
		}
		if got := w.form("/oauth/revoke", "client_id", app.ClientID, "token", first); got.status != http.StatusOK {
			t.Errorf("revoked: %d %v", got.status, got.body)
		}
		w.wantVerify(first, fault.TokenRevoked)
		if !w.good(second) {
			t.Error("the other pipeline's token ended, too")
		}
		clk.Advance(2 * 24 * time.Hour)
		w.wantVerify(second, fault.TokenExpired)
	})
}
