package webui_test

import (
	"context"
	"html"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"stead.dev/stead/internal/platform/api"
	"stead.dev/stead/internal/platform/auth"
)

// TestATabOfAnotherAccountIsRefused: the tabs of a browser share the cookie. One that was opened for an account neither reads nor
// changes anything of the account that has signed in meanwhile, and does not sign it out.
func TestATabOfAnotherAccountIsRefused(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for _, op := range []struct {
		method, scope string
	}{{http.MethodGet, auth.ScopeServicesRead}, {http.MethodPost, auth.ScopeServicesWrite}} {
		err := s.api.Mount(api.Operation[struct{}, api.Empty]{
			ID: "things." + strings.ToLower(op.method), Method: op.method, Path: "/api/v1/things", Section: api.Files, Auth: api.Token,
			Scopes: []string{op.scope}, Summary: "Things",
			Handle: func(context.Context, auth.Principal, *struct{}) (*api.Empty, error) { return &api.Empty{}, nil },
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	b := s.browser(t)
	open := func() (holder string) {
		t.Helper()
		found := regexp.MustCompile(`"holder":"([^"]+)"`).FindStringSubmatch(html.UnescapeString(b.get("/panel/").body))
		if found == nil {
			t.Fatal("the page names nobody")
		}
		return found[1]
	}
	call := func(method, path, holder, body string) answer {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), method, b.address(path), strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Sec-Fetch-Site", "same-origin")
		if holder != "" {
			r.Header.Set("X-Stead-Panel", holder)
		}
		return b.do(r)
	}
	const things, proof = "/panel/api/v1/things", `{"password": "` + password + `"}`
	b.register("anna@example.com")
	first := open()
	for what, a := range map[string]answer{
		"a read":     call(http.MethodGet, things, first, ""),
		"a change":   call(http.MethodPost, things, first, ""),
		"a proof":    call(http.MethodPost, "/panel/confirm", first, proof),
		"a terminal": call(http.MethodPost, terminalPage+"/ticket", first, ""),
	} {
		if a.status != http.StatusOK {
			t.Errorf("%s in one's own tab: %d %s", what, a.status, a.body)
		}
	}

	b.register("boris@example.com") // in another tab
	second := open()
	if first == second {
		t.Fatal("the pages of both accounts name the same holder")
	}
	for what, a := range map[string]answer{
		"a read":                 call(http.MethodGet, things, first, ""),
		"a change":               call(http.MethodPost, things, first, ""),
		"a change of an old one": call(http.MethodPost, things, "0", ""),
		"a proof":                call(http.MethodPost, "/panel/confirm", first, proof),
		"a passkey's proof":      call(http.MethodPost, "/panel/confirm/passkey/options", first, "{}"),
		"a terminal":             call(http.MethodPost, terminalPage+"/ticket", first, ""),
		"signing out":            call(http.MethodPost, "/logout", first, ""),
	} {
		if a.status != http.StatusConflict || !strings.Contains(a.body, `"session_changed"`) {
			t.Errorf("%s: %d %s", what, a.status, a.body)
		}
	}
	if a := call(http.MethodGet, things, "1", ""); a.status != http.StatusOK {
		t.Errorf("a page of v0.1.0: %d %s", a.status, a.body)
	}
	if a := call(http.MethodPost, "/panel/confirm", "", proof); strings.Contains(a.body, "session_changed") {
		t.Errorf("a proof of a page of v0.1.0: %d %s", a.status, a.body)
	}
	if a := call(http.MethodGet, things, "", ""); a.status != http.StatusOK {
		t.Errorf("a download by a link: %d %s", a.status, a.body)
	}
	if a := call(http.MethodPost, things, second, ""); a.status != http.StatusOK {
		t.Errorf("who is signed in: %d %s", a.status, a.body)
	}
	if a := call(http.MethodPost, "/logout", second, ""); a.status != http.StatusSeeOther || b.cookie("stead_session") != "" {
		t.Errorf("signing out: %d", a.status)
	}
}
