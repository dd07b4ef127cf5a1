package app

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"net/netip"
	"net/url"
	"regexp"
	"strings"
	"testing"

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
