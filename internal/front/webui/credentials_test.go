package webui_test

import (
	"context"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"stead.dev/stead/internal/platform/db"
)

// hasPassword makes the password of an FTP account of service 10.
func (s *site) hasPassword(t *testing.T) string {
	t.Helper()
	err := s.db.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
		return s.credentials.Put(ctx, tx, 1, 10, "ftp", 7, "s10_anna")
	})
	if err != nil {
		t.Fatal(err)
	}
	return s.password(t)
}

func (s *site) password(t *testing.T) string {
	t.Helper()
	password, _, err := s.credentials.Secret(t.Context(), s.db, "ftp", 7)
	if err != nil {
		t.Fatal(err)
	}
	return password
}

const credentialsPage = "/account/services/10/credentials"

var credentialForm = regexp.MustCompile(`action="(` + credentialsPage + `/\d+/(?:reveal|reset))"`)

// form is the address of the one form for a password on the page.
func form(t *testing.T, a answer) string {
	t.Helper()
	found := credentialForm.FindStringSubmatch(a.body)
	if a.status != http.StatusOK || found == nil {
		t.Fatalf("%d %s", a.status, a.body)
	}
	return found[1]
}

func TestAPasswordIsShownOnceAndThenReplaced(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	b := s.browser(t)
	b.register("anna@example.com")
	made := s.hasPassword(t)
	list := b.get(credentialsPage)
	if strings.Contains(list.body, made) || !strings.Contains(list.body, "s10_anna") || !strings.Contains(list.body, "Blog &lt;1&gt;") {
		t.Fatalf("the list: %s", list.body)
	}
	reveal := form(t, list)
	if !strings.HasSuffix(reveal, "/reveal") {
		t.Fatalf("the password waits to be shown, and the page offers %s", reveal)
	}
	shown := b.post(reveal, nil)
	if shown.status != http.StatusOK || strings.Count(shown.body, made) != 1 {
		t.Fatalf("%d %s", shown.status, shown.body)
	}
	if h := shown.header; h.Get("Cache-Control") != "no-store" || !strings.Contains(h.Get("Content-Security-Policy"), "default-src 'none'") || strings.Contains(h.Get("Set-Cookie"), made) {
		t.Errorf("%v", h)
	}
	if again := b.post(reveal, nil); again.status != http.StatusNotFound || strings.Contains(again.body, made) {
		t.Errorf("shown twice: %d", again.status)
	}
	reset := form(t, b.get(credentialsPage))
	if !strings.HasSuffix(reset, "/reset") {
		t.Fatalf("the password was shown, and the page offers %s", reset)
	}
	if a := b.post(reset, nil); a.status != http.StatusSeeOther || a.to != credentialsPage {
		t.Fatalf("%d %s", a.status, a.to)
	}
	fresh := s.password(t)
	if again := b.post(form(t, b.get(credentialsPage)), nil); fresh == made || !strings.Contains(again.body, fresh) {
		t.Errorf("the new password is not shown")
	}
	if log := s.log.String(); strings.Contains(log, made) || strings.Contains(log, fresh) || strings.Count(log, "credential shown") != 2 || strings.Count(log, "credential replaced") != 1 {
		t.Errorf("log: %s", log)
	}
}

func TestPasswordsAreShownToNobodyElse(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	anna, boris, nobody := s.browser(t), s.browser(t), s.browser(t)
	anna.register("anna@example.com")
	boris.register("boris@example.com")
	made := s.hasPassword(t)
	reveal := form(t, anna.get(credentialsPage))

	refused := func(who string, a answer, status int) {
		t.Helper()
		if a.status != status || strings.Contains(a.body, made) {
			t.Errorf("%s: %d", who, a.status)
		}
	}
	reset := strings.Replace(reveal, "/reveal", "/reset", 1)
	for _, path := range []string{reveal, reset} {
		refused("a stranger", boris.post(path, nil), http.StatusNotFound)
		refused("nobody", nobody.post(path, nil), http.StatusSeeOther)
		refused("another site", anna.post(path, nil, "Sec-Fetch-Site", "cross-site"), http.StatusForbidden)
		refused("a link", anna.get(path), http.StatusSeeOther)
	}
	refused("a stranger's list", boris.get(credentialsPage), http.StatusNotFound)
	for _, path := range []string{"/account/services/11/credentials", "/account/services/x/credentials", "/account/services/-1/credentials"} {
		refused(path, anna.get(path), http.StatusNotFound)
	}

	// A session that was left open somewhere is not enough.
	s.clk.Advance(20 * time.Minute)
	list := anna.get(credentialsPage)
	refused("an old sign-in", list, http.StatusSeeOther)
	if !strings.HasPrefix(list.to, "/account/confirm?") {
		t.Errorf("to %s", list.to)
	}
	for _, path := range []string{reveal, reset} {
		a := anna.post(path, nil)
		refused("an old sign-in", a, http.StatusOK)
		if !strings.Contains(a.body, `name="password"`) {
			t.Errorf("%s asks for no password: %s", path, a.body)
		}
		refused("a wrong password", anna.post(path, url.Values{"password": {"not this one"}}), http.StatusUnprocessableEntity)
	}
	if wrong := anna.post("/account/confirm", url.Values{"password": {"not this one"}, "next": {credentialsPage}}); wrong.status != http.StatusUnprocessableEntity {
		t.Errorf("%d", wrong.status)
	}
	if right := anna.post("/account/confirm", url.Values{"password": {password}, "next": {credentialsPage}}); right.to != credentialsPage {
		t.Errorf("%d %s", right.status, right.to)
	}
	if a := anna.post(reveal, nil); !strings.Contains(a.body, made) {
		t.Errorf("the owner, who proved it: %d", a.status)
	}
	if s.password(t) != made {
		t.Error("somebody else changed the password")
	}
}
