package app

import (
	"context"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"testing"

	"stead.dev/stead/internal/identity/account"
	"stead.dev/stead/internal/identity/oauth"
	"stead.dev/stead/internal/platform/api"
	"stead.dev/stead/internal/platform/auth"
	"stead.dev/stead/internal/platform/i18n"
)

// A member of staff who is signed in as a customer sees what the customer sees, but no secrets, and moves no money.
func TestStaffSignInAsACustomer(t *testing.T) {
	engines(t, demo, func(t *testing.T, a *App) {
		const password = "correct horse battery"
		browser := account.Client{Address: netip.MustParseAddr("203.0.113.7"), UserAgent: "Firefox"}
		session := func(role auth.Role) (id int64, token string) {
			t.Helper()
			email := unique("anna") + "@example.com"
			p, err := a.accounts.Create(t.Context(), account.NewAccount{Email: email, Name: "Anna", Password: password, Verified: true, Role: role})
			if err != nil {
				t.Fatal(err)
			}
			out, err := a.accounts.SignIn(t.Context(), email, password, browser)
			if err != nil {
				t.Fatal(err)
			}
			return p.ID, out.Token
		}
		customer, customersSession := session("")
		member, own := session(auth.Support)
		another, anothersSession := session(auth.Support)
		enter := func(of int64, cookie string, header ...string) answer {
			t.Helper()
			in, err := a.admin.SignInAs(asSupport(t, of), fmt.Sprint(customer), "Ticket 17")
			if err != nil {
				t.Fatal(err)
			}
			return a.open(t, in.URL, cookie, header...)
		}
		for name, got := range map[string]answer{
			"led there by another site":   enter(member, own, "Sec-Fetch-Site", "cross-site"),
			"signed in as nobody":         enter(member, ""),
			"a customer":                  enter(member, customersSession),
			"another member of staff":     enter(member, anothersSession),
			"the ticket of another":       enter(another, own),
			"with a ticket that is false": a.open(t, a.cfg.BaseURL+"/staff/enter?ticket=none", own),
		} {
			if got.status < http.StatusBadRequest || setCookie(got, "stead_session") != "" {
				t.Errorf("%s: %s", name, got)
			}
		}

		in, err := a.admin.SignInAs(asSupport(t, member), fmt.Sprint(customer), "Ticket 17")
		if err != nil {
			t.Fatal(err)
		}
		entered := a.open(t, in.URL, own, "Sec-Fetch-Site", "same-origin")
		acting := setCookie(entered, "stead_session")
		if entered.status != http.StatusSeeOther || acting == "" || setCookie(entered, "stead_staff") != own {
			t.Fatalf("entering: %s", entered)
		}
		if again := a.open(t, in.URL, own); again.status < http.StatusBadRequest {
			t.Errorf("a ticket works twice: %s", again)
		}

		holder := fmt.Sprintf("account/%d/staff/%d", customer, member)
		call := func(method, path string) answer {
			return a.do(t, request{method: method, path: "/panel" + path, header: map[string]string{
				"Cookie": "stead_session=" + acting, "X-Stead-Panel": holder,
			}})
		}
		var me struct {
			ID int64 `json:"id"`
		}
		if call(http.MethodGet, "/api/v1/me").decode(t, &me); me.ID != customer {
			t.Errorf("signed in as %d", me.ID)
		}
		// The customer's own page is another one than that of staff who act for them, and so is the page of another member of staff.
		for _, other := range []string{
			fmt.Sprintf("account/%d", customer), fmt.Sprintf("account/%d", member), fmt.Sprintf("account/%d/staff/%d", customer, another),
		} {
			holder = other
			if got := call(http.MethodGet, "/api/v1/me"); got.status != http.StatusConflict || got.key() != "session_changed" {
				t.Errorf("a page of %s: %s", other, got)
			}
		}
		holder = fmt.Sprintf("account/%d/staff/%d", customer, member)
		if got := call(http.MethodGet, "/api/v1/admin/me"); got.key() != "admin_required" && got.key() != "insufficient_scope" {
			t.Errorf("the customer's session has the pages of staff: %s", got)
		}
		refused := 0
		for _, op := range a.edge.Operations() {
			if op.Auth != api.Token || !op.OwnerOnly && !op.MovesMoney {
				continue
			}
			path := op.Path
			for part := range strings.SplitSeq(op.Path, "/") {
				if strings.HasPrefix(part, "{") {
					path = strings.Replace(path, part, "1", 1)
				}
			}
			if strings.HasPrefix(path, "/api/v1/reseller") {
				continue // the session has no key
			}
			refused++
			if got := call(op.Method, path); got.status != http.StatusForbidden || got.key() != "account_owner_required" {
				t.Errorf("%s: %s", op.ID, got)
			}
		}
		if refused < 20 {
			t.Errorf("%d operations are the owner's alone", refused)
		}

		// Who acts gets no token of the owner by the panel's own application, which needs no consent.
		ask := url.Values{
			"response_type": {"code"}, "client_id": {oauth.PanelClientID}, "redirect_uri": {a.cfg.BaseURL + "/panel/callback"}, "scope": {"profile"},
			"code_challenge": {strings.Repeat("c", 43)}, "code_challenge_method": {"S256"},
		}
		if got := a.open(t, "/oauth/authorize?"+ask.Encode(), acting); got.status != http.StatusSeeOther || got.header.Get("Location") != "/panel/" {
			t.Errorf("an application asks who acts: %s, to %s", got, got.header.Get("Location"))
		}
		ask.Set("prompt", "none")
		if got := a.open(t, "/oauth/authorize?"+ask.Encode(), acting); !strings.Contains(got.header.Get("Location"), "error=login_required") {
			t.Errorf("an application asks who acts, without a page: %s, to %s", got, got.header.Get("Location"))
		}

		unused, err := a.admin.SignInAs(asSupport(t, member), fmt.Sprint(customer), "Ticket 17")
		if err != nil {
			t.Fatal(err)
		}
		_, ticket, _ := strings.Cut(unused.URL, "ticket=")
		if got := a.do(t, request{method: http.MethodGet, path: "/panel/api/v1/me", header: map[string]string{
			"Cookie": "stead_session=" + ticket, "X-Stead-Panel": "1",
		}}); got.status != http.StatusUnauthorized {
			t.Errorf("a ticket is the token of a session: %s", got)
		}

		left := a.do(t, request{method: http.MethodPost, path: "/logout", header: map[string]string{
			"Cookie": "stead_session=" + acting + "; stead_staff=" + own, "Sec-Fetch-Site": "same-origin",
		}})
		if setCookie(left, "stead_session") != own {
			t.Errorf("leaving does not lead back to one's own session: %s", left)
		}

		// A session ends with what its member of staff is.
		if acting = setCookie(a.open(t, unused.URL, own), "stead_session"); acting == "" || call(http.MethodGet, "/api/v1/me").status != http.StatusOK {
			t.Fatal("the second ticket does not work")
		}
		if err := a.accounts.SetRole(t.Context(), member, ""); err != nil {
			t.Fatal(err)
		}
		if got := call(http.MethodGet, "/api/v1/me"); got.status != http.StatusUnauthorized {
			t.Errorf("who is staff no longer acts on: %s", got)
		}
	})
}

// open opens an address of the site in a browser with a session.
func (a *App) open(t *testing.T, address, session string, header ...string) answer {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	r := request{method: http.MethodGet, path: u.RequestURI(), header: map[string]string{"Accept-Language": i18n.English}}
	if session != "" {
		r.header["Cookie"] = "stead_session=" + session
	}
	for i := 0; i < len(header); i += 2 {
		r.header[header[i]] = header[i+1]
	}
	return a.do(t, r)
}

// setCookie is the value that an answer gives a cookie; empty when it does not.
func setCookie(r answer, name string) string {
	for _, c := range (&http.Response{Header: r.header}).Cookies() {
		if strings.TrimPrefix(c.Name, "__Host-") == name {
			return c.Value
		}
	}
	return ""
}

// asSupport is a request of a member of staff.
func asSupport(t *testing.T, member int64) context.Context {
	t.Helper()
	return auth.WithActor(t.Context(), auth.Actor{AccountID: member, Role: auth.Support, Via: auth.ViaPanel})
}
