package app

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"stead.dev/stead/internal/front/reseller"
	"stead.dev/stead/internal/identity/account"
	"stead.dev/stead/internal/platform/db"
)

// panelToken is what one of Stead's own applications gets in a browser's session; nobody is asked for it.
func (a *App) panelToken(t *testing.T, session string, c client) string {
	t.Helper()
	challenge := sha256.Sum256([]byte(verifier))
	r := a.do(t, request{method: http.MethodGet, path: "/oauth/authorize?" + url.Values{
		"client_id": {c.id}, "redirect_uri": {c.redirect}, "response_type": {"code"},
		"code_challenge": {base64.RawURLEncoding.EncodeToString(challenge[:])}, "code_challenge_method": {"S256"},
	}.Encode(), header: map[string]string{"Cookie": "stead_session=" + session}})
	back, err := url.Parse(r.header.Get("Location"))
	if err != nil || r.status != http.StatusFound {
		t.Fatalf("%s: %v", r, err)
	}
	token := a.exchange(t, c, back)
	if got := a.get(t, token, "/api/v1/me"); got.status != http.StatusOK {
		t.Fatalf("%s", got)
	}
	return token
}

// TestStealingASessionGivesNoTokensThatOutliveIt: those of Stead's own applications are in no list of connections, and
// no change of the password ended them.
func TestStealingASessionGivesNoTokensThatOutliveIt(t *testing.T) {
	a := start(t, nil)
	panel := a.firstParty(t)
	email, first, second := unique("anna")+"@example.com", "correct horse battery", "staple of the wrong colour"
	if _, err := a.accounts.Create(t.Context(), account.NewAccount{Email: email, Name: "Anna", Password: first}); err != nil {
		t.Fatal(err)
	}
	browser := account.Client{Address: netip.MustParseAddr("203.0.113.7"), UserAgent: "Firefox"}
	sign := func(password string) account.Outcome {
		t.Helper()
		out, err := a.accounts.SignIn(t.Context(), email, password, browser)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	for name, end := range map[string]func(mine, thief account.Outcome) error{
		"its session is ended": func(mine, thief account.Outcome) error {
			return a.accounts.EndSession(t.Context(), mine.Session.Account.ID, thief.Session.ID)
		},
		"all other sessions are ended": func(mine, _ account.Outcome) error {
			return a.accounts.EndOtherSessions(t.Context(), mine.Session)
		},
		"it is signed out": func(_, thief account.Outcome) error { return a.accounts.SignOut(t.Context(), thief.Token) },
		"the password is changed": func(mine, _ account.Outcome) error {
			first, second = second, first
			return a.accounts.ChangePassword(t.Context(), mine.Session, second, first, browser)
		},
	} {
		t.Run(name, func(t *testing.T) {
			mine, thief := sign(first), sign(first)
			own, stolen := a.panelToken(t, mine.Token, panel), a.panelToken(t, thief.Token, panel)
			if err := end(mine, thief); err != nil {
				t.Fatal(err)
			}
			if got := a.get(t, stolen, "/api/v1/me"); got.status != http.StatusUnauthorized || got.key() != "token_revoked" {
				t.Errorf("the thief's token: %s", got)
			}
			if got := a.get(t, own, "/api/v1/me"); got.status != http.StatusOK {
				t.Errorf("one's own: %s", got)
			}
		})
	}
}

// TestCredentialsChangeAfterARecentProofAlone: a browser that was left open changes nothing of how somebody gets into the
// account, and no token does, also none of Stead's own applications.
func TestCredentialsChangeAfterARecentProofAlone(t *testing.T) {
	a := start(t, nil)
	cookie, id := a.signedIn(t)
	own := a.token(t, id, a.firstParty(t), thirdParty()...)
	enrol := func() answer { return a.panel(t, cookie, http.MethodPost, "/panel/api/v1/me/two-factor/enrol", "") }
	if r := enrol(); r.status != http.StatusOK {
		t.Fatalf("after signing in: %s", r)
	}
	err := a.db.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
		_, err := tx.Exec(ctx, `UPDATE account_sessions SET authenticated_at = 0 WHERE account_id = $1`, id)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if r := enrol(); r.status != http.StatusForbidden || r.key() != "reauthentication_required" {
		t.Errorf("long after: %s", r)
	}
	for what, body := range map[string]string{"a wrong password": `{"password": "staple"}`, "none": `{}`} {
		if r := a.panel(t, cookie, http.MethodPost, "/panel/confirm", body); r.status != http.StatusUnprocessableEntity || !strings.Contains(string(r.body), `"password":[`) {
			t.Errorf("%s: %s", what, r)
		}
	}
	foreign := a.do(t, request{method: http.MethodPost, path: "/panel/confirm", body: `{"password": "correct horse battery"}`, header: map[string]string{
		"Cookie": cookie, "Sec-Fetch-Site": "cross-site",
	}})
	if foreign.status != http.StatusForbidden {
		t.Errorf("from another site: %s", foreign)
	}
	r := a.panel(t, cookie, http.MethodPost, "/panel/confirm", `{"password": "correct horse battery"}`)
	fresh := regexp.MustCompile(`stead_session=[^;]+`).FindString(r.header.Get("Set-Cookie"))
	if r.status != http.StatusOK || fresh == "" || fresh == cookie {
		t.Fatalf("%s, cookie %q", r, fresh)
	}
	if r := enrol(); r.status != http.StatusUnauthorized {
		t.Errorf("with the token of before: %s", r)
	}
	cookie = fresh
	if r := enrol(); r.status != http.StatusOK {
		t.Errorf("after the proof: %s", r)
	}
	if r := a.do(t, request{method: http.MethodPatch, path: "/api/v1/me", token: own, body: `{"name": "Eve"}`}); r.status != http.StatusForbidden {
		t.Errorf("a token changes the name: %s", r)
	}
}

// TestSecretsAreShownInAProvenBrowserAlone: passwords of services and keys of resellers are shown once, to an owner who has
// proved a short time ago who they are; to no token, and to no stranger.
func TestSecretsAreShownInAProvenBrowserAlone(t *testing.T) {
	a := start(t, simulated)
	w := &world{App: a, t: t}
	w.owner, w.stranger = a.customer(t, a.application(t, false), 100_000), a.customer(t, a.application(t, false), 0)
	w.ownersKey = w.aKey(w.owner, reseller.NewKey{})
	w.plan = w.aPlan()
	w.service = w.id(w.post(t, w.ownersKey, "/api/v1/reseller/services", fmt.Sprintf(`{"plan_id": %d, "domain": "%s.example.com"}`, w.plan, unique("secret"))))
	w.rests(fmt.Sprintf("/api/v1/reseller/services/%d", w.service), "active")
	w.database = w.newDatabase()
	session := w.aSession(w.owner)
	cookie, strangers := "stead_session="+session, "stead_session="+w.aSession(w.stranger)
	own := a.token(t, w.owner.id, a.firstParty(t), thirdParty()...)

	passwords := fmt.Sprintf("/api/v1/services/%d/passwords", w.service)
	one := fmt.Sprintf("%s/%d", passwords, w.aPassword())
	const keys = "/api/v1/me/api-keys"
	const wish = `{"name": "Billing", "read_only": true, "addresses": ["192.0.2.7", "2001:db8::/32"]}`
	secret := func(body string) bool { return strings.Contains(body, `"password":`) || strings.Contains(body, "rsk_") }
	for _, call := range []struct{ path, body string }{{one + "/reveal", ""}, {one + "/reset", ""}, {keys, wish}} {
		if r := a.panel(t, strangers, http.MethodPost, "/panel"+call.path, call.body); r.status != http.StatusNotFound || secret(string(r.body)) {
			t.Errorf("%s of a stranger: %s", call.path, r)
		}
		if r := a.post(t, own, call.path, call.body); r.status != http.StatusForbidden || secret(string(r.body)) {
			t.Errorf("%s with a token: %s", call.path, r)
		}
	}
	prove := func(at int) {
		t.Helper()
		err := a.db.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
			_, err := tx.Exec(ctx, `UPDATE account_sessions SET authenticated_at = $1 WHERE account_id = $2`, at, w.owner.id)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	var before int
	if err := a.db.QueryRow(t.Context(), `SELECT MAX(authenticated_at) FROM account_sessions WHERE account_id = $1`, w.owner.id).Scan(&before); err != nil {
		t.Fatal(err)
	}
	prove(0)
	for _, call := range []struct{ path, body string }{{one + "/reveal", ""}, {one + "/reset", ""}, {keys, wish}} {
		if r := a.panel(t, cookie, http.MethodPost, "/panel"+call.path, call.body); r.key() != "reauthentication_required" || secret(string(r.body)) {
			t.Errorf("%s long after signing in: %s", call.path, r)
		}
	}
	prove(before)

	var shown [2]struct {
		Password string `json:"password"`
	}
	for i := range shown {
		r := a.panel(t, cookie, http.MethodPost, "/panel"+one+"/reveal", "")
		r.decode(t, &shown[i])
		if len(shown[i].Password) < 20 || r.header.Get("Cache-Control") != "no-store" {
			t.Fatalf("%s, kept for %q", r, r.header.Get("Cache-Control"))
		}
		if r := a.panel(t, cookie, http.MethodGet, "/panel"+passwords, ""); strings.Contains(string(r.body), shown[i].Password) || !strings.Contains(string(r.body), `"shown_at":"`) {
			t.Errorf("the list: %s", r)
		}
		if r := a.panel(t, cookie, http.MethodPost, "/panel"+one+"/reveal", ""); r.status != http.StatusNotFound {
			t.Errorf("shown twice: %d", r.status)
		}
		if r := a.panel(t, cookie, http.MethodPost, "/panel"+one+"/reset", ""); r.status != http.StatusOK || secret(string(r.body)) || !strings.Contains(string(r.body), `"shown_at":null`) {
			t.Errorf("a new one: %s", r)
		}
	}
	if shown[0] == shown[1] {
		t.Error("the new password is the old one")
	}

	var made struct {
		ID  int64  `json:"id"`
		Key string `json:"key"`
	}
	a.panel(t, cookie, http.MethodPost, "/panel"+keys, wish).decode(t, &made)
	if r := a.get(t, made.Key, "/api/v1/reseller/me"); !strings.HasPrefix(made.Key, "rsk_") || r.key() != "ip_not_allowed" {
		t.Errorf("a key for two networks, from elsewhere: %s", r)
	}
	if r := a.panel(t, cookie, http.MethodGet, "/panel"+keys, ""); secret(string(r.body)) || !strings.Contains(string(r.body), `"192.0.2.7/32"`) {
		t.Errorf("the list: %s", r)
	}
	for _, bad := range []string{`{"name": " "}`, `{"name": "a", "addresses": ["everywhere"]}`, `{"name": "a", "addresses": ["fe80::1%eth0"]}`} {
		if r := a.panel(t, cookie, http.MethodPost, "/panel"+keys, bad); r.status != http.StatusUnprocessableEntity {
			t.Errorf("%s: %s", bad, r)
		}
	}
	prove(0) // revoking a leaked key needs no other proof
	revoke := fmt.Sprintf("/panel%s/%d", keys, made.ID)
	if r := a.panel(t, strangers, http.MethodDelete, revoke, ""); r.status != http.StatusNotFound {
		t.Errorf("a stranger revokes: %s", r)
	}
	if r := a.panel(t, cookie, http.MethodDelete, revoke, ""); r.status != http.StatusOK {
		t.Errorf("revoking: %s", r)
	}
	if r := a.get(t, made.Key, "/api/v1/reseller/me"); r.key() != "api_key_revoked" {
		t.Errorf("revoked: %s", r)
	}
	log := string(a.panel(t, cookie, http.MethodGet, "/panel/api/v1/me/security-log", "").body)
	for _, kind := range []string{"key_created", "key_revoked"} {
		if !strings.Contains(log, kind) {
			t.Errorf("the security log lacks %s: %s", kind, log)
		}
	}
}
