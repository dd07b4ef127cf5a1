package app

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"stead.dev/stead/internal/front/reseller"
	"stead.dev/stead/internal/platform/auth"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/money"
	"stead.dev/stead/internal/platform/testkit"
)

// TestAnAccountIsClosedWhenNothingIsLeftOfIt: not while it has a service, a domain, a payment on its way, or money that
// nobody said may stay. Then nobody comes in, and nothing names its owner.
func TestAnAccountIsClosedWhenNothingIsLeftOfIt(t *testing.T) {
	engines(t, map[string]string{"demo": "true", "panel": "sandbox", "node_listen": "off"}, func(t *testing.T, a *App) {
		w := &world{App: a, t: t}
		w.owner = a.customer(t, a.application(t, false), 100_000)
		w.plan = w.aPlan()
		who := strconv.FormatInt(w.owner.id, 10)
		refused := func(why string, leaveMoney bool) {
			t.Helper()
			if u, err := a.admin.CloseUser(t.Context(), who, leaveMoney); !errors.Is(err, fault.InUse) || u.ClosedAt != nil {
				t.Errorf("with %s: closed at %v, %v", why, u.ClosedAt, err)
			}
		}
		service := w.orderOf(w.bought("shop.example.com")).ServiceID
		refused("a service", true)
		w.ends(service, func() { refused("a service that ends", true) })

		w.keepACard()
		var made struct {
			ID          int64  `json:"id"`
			CheckoutURL string `json:"checkout_url"`
		}
		a.post(t, w.owner.token, "/api/v1/wallet/topups", `{"amount_usd_cents": 1000, "gateway": "demo"}`).decode(t, &made)
		page := made.CheckoutURL[len(a.cfg.BaseURL):]
		a.do(t, request{method: http.MethodGet, path: page})
		refused("a payment on its way", true)
		a.do(t, request{method: http.MethodPost, path: page, body: "action=cancel", contentType: "application/x-www-form-urlencoded"})
		refused("money", false)

		u, err := a.admin.CloseUser(t.Context(), who, true)
		if err != nil || u.ClosedAt == nil || u.Name != "" || u.Email != fmt.Sprintf("closed-%d@account.invalid", w.owner.id) {
			t.Fatalf("%+v, %v", u, err)
		}
		testkit.Eventually(t, time.Minute, func() bool {
			return a.do(t, request{method: http.MethodGet, path: "/api/v1/me", token: w.owner.token}).status == http.StatusUnauthorized
		}, "nobody comes in")
		var cards int
		if err := a.db.QueryRow(t.Context(), `SELECT COUNT(*) FROM wallet_methods WHERE account_id = $1`, w.owner.id).Scan(&cards); err != nil || cards != 0 {
			t.Errorf("%d cards are kept, %v", cards, err)
		}
		if b, err := a.admin.Balance(t.Context(), who); err != nil || b.Balance <= money.USDCents(0) {
			t.Errorf("what is in the books: %+v, %v", b, err)
		}
		if err := auditLedger(t.Context(), a.wallet); err != nil {
			t.Error(err)
		}
	})
}

// TestTheSandboxIsClosedWithItsAccount: nothing of it keeps the account open, its services end, and nobody is told of either world any
// more.
func TestTheSandboxIsClosedWithItsAccount(t *testing.T) {
	engines(t, map[string]string{"demo": "true", "panel": "sandbox", "node_listen": "off"}, func(t *testing.T, a *App) {
		w := &world{App: a, t: t}
		w.owner = a.customer(t, a.application(t, false), 0)
		w.plan = w.aPlan()
		live, play := w.aKey(w.owner, reseller.NewKey{}), w.aKey(w.owner, reseller.NewKey{Sandbox: true})
		for _, key := range []string{live, play} {
			if r := a.post(t, key, "/api/v1/reseller/webhooks", `{"url": "https://reseller.example.com/hooks"}`); r.status != http.StatusCreated {
				t.Fatal(r)
			}
		}
		service := w.id(a.post(t, play, "/api/v1/reseller/services", fmt.Sprintf(`{"plan_id": %d, "domain": "shop.example.com"}`, w.plan)))
		status := func() string {
			s, err := a.admin.Service(t.Context(), service)
			if err != nil {
				t.Fatal(err)
			}
			return s.Status
		}
		testkit.Eventually(t, time.Minute, func() bool { return status() == "active" }, "the service is active")
		sandbox, err := a.accounts.SandboxOf(t.Context(), a.db, w.owner.id)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := a.admin.CloseUser(t.Context(), strconv.FormatInt(w.owner.id, 10), true); err != nil {
			t.Fatal(err)
		}
		if p, err := a.accounts.Profile(t.Context(), a.db, sandbox); err != nil || p.Name != "" || p.ClosedAt == nil {
			t.Errorf("the sandbox is %+v, %v", p, err)
		}
		var endpoints int
		if err := a.db.QueryRow(t.Context(), `SELECT count(*) FROM webhooks_endpoints`).Scan(&endpoints); err != nil || endpoints != 0 {
			t.Errorf("%d endpoints are left, %v", endpoints, err)
		}
		testkit.Eventually(t, time.Minute, func() bool { return status() == "terminated" }, "its service has ended")
	})
}

// ends has an operator end a service; during happens while it does.
func (w *world) ends(service int64, during func()) {
	w.t.Helper()
	if _, err := w.admin.SuspendService(w.t.Context(), service, "manual"); err != nil {
		w.t.Fatal(err)
	}
	if _, err := w.admin.TerminateService(w.t.Context(), service); err != nil {
		w.t.Fatal(err)
	}
	during()
	testkit.Eventually(w.t, time.Minute, func() bool {
		s, err := w.admin.Service(w.t.Context(), service)
		return err == nil && s.Status == "terminated"
	}, "the service has ended")
}

// TestOwnersCloseTheirAccounts: in a browser, with a fresh proof, by writing the address, when nothing is in the way but money
// that they give up.
func TestOwnersCloseTheirAccounts(t *testing.T) {
	engines(t, map[string]string{"demo": "true", "panel": "sandbox", "node_listen": "off"}, func(t *testing.T, a *App) {
		w := &world{App: a, t: t, panel: a.firstParty(t)}
		w.owner = a.customer(t, a.application(t, false), 100_000)
		w.plan = w.aPlan()
		session := w.aSession(w.owner)
		own := a.token(t, w.owner.id, w.panel, thirdParty()...)
		p, err := a.accounts.Profile(t.Context(), a.db, w.owner.id)
		if err != nil {
			t.Fatal(err)
		}
		key := w.aKey(w.owner, reseller.NewKey{})
		a.post(t, w.owner.token, "/api/v1/me/devices", deviceRequest("a-phone"))
		service := w.orderOf(w.bought("shop.example.com")).ServiceID
		type state struct {
			CanClose bool `json:"can_close"`
			Balance  struct {
				USDCents int64 `json:"usd_cents"`
			} `json:"balance"`
			Obstacles []struct {
				Kind  string `json:"kind"`
				Count int    `json:"count"`
			} `json:"obstacles"`
		}
		closing := func() (s state) {
			t.Helper()
			a.get(t, session, "/api/v1/me/closing").decode(t, &s)
			return s
		}
		end := func(email string, given int64) answer {
			return a.post(t, session, "/api/v1/me/close", fmt.Sprintf(`{"email": %q, "give_up_usd_cents": %d}`, email, given))
		}
		s := closing()
		if s.CanClose || len(s.Obstacles) != 1 || s.Obstacles[0].Kind != "services" || s.Obstacles[0].Count != 1 || s.Balance.USDCents <= 0 {
			t.Errorf("with a service: %+v", s)
		}
		if r := end(p.Email, s.Balance.USDCents); r.key() != "account_not_closable" || !strings.Contains(string(r.body), "services") {
			t.Errorf("with a service: %s", r)
		}
		w.ends(service, func() {})
		if s = closing(); !s.CanClose || len(s.Obstacles) != 0 || s.Balance.USDCents <= 0 {
			t.Errorf("without one: %+v", s)
		}
		if r := end("somebody@example.com", s.Balance.USDCents); r.status != http.StatusUnprocessableEntity || r.key() != "validation_failed" {
			t.Errorf("by another address: %s", r)
		}
		if r := end(p.Email, s.Balance.USDCents-1); r.key() != "account_not_closable" {
			t.Errorf("giving up another sum: %s", r)
		}
		for what, token := range map[string]string{"a third party's token": w.owner.token, "a token of our own": own} {
			if r := a.post(t, token, "/api/v1/me/close", fmt.Sprintf(`{"email": %q, "give_up_usd_cents": %d}`, p.Email, s.Balance.USDCents)); r.status != http.StatusForbidden {
				t.Errorf("by %s: %s", what, r)
			}
		}
		if r := end(strings.ToUpper(p.Email), s.Balance.USDCents); r.status != http.StatusOK {
			t.Fatalf("%s", r)
		}
		for what, token := range map[string]string{"the browser": session, "an application": w.owner.token, "the panel": own} {
			testkit.Eventually(t, time.Minute, func() bool { return a.get(t, token, "/api/v1/me").status == http.StatusUnauthorized }, what+" is out")
		}
		testkit.Eventually(t, time.Minute, func() bool { return a.get(t, key, "/api/v1/reseller/me").status >= 400 }, "the key is out")
		for _, table := range []string{"account_sessions", "account_security_events", "devices", "notifications", "exports", "tickets"} {
			var left int
			if err := a.db.QueryRow(t.Context(), `SELECT count(*) FROM `+table+` WHERE account_id = $1`, w.owner.id).Scan(&left); err != nil || left != 0 {
				t.Errorf("%s has %d rows of the account, %v", table, left, err)
			}
		}
		if now, err := a.accounts.Profile(t.Context(), a.db, w.owner.id); err != nil || now.ClosedAt == nil || now.Name != "" {
			t.Errorf("%+v, %v", now, err)
		}
		testkit.Eventually(t, time.Minute, func() bool { return strings.Contains(a.mailsTo(t, p.Email), "is closed") }, "a last mail is sent")
		if err := auditLedger(t.Context(), a.wallet); err != nil {
			t.Error(err)
		}
	})
}

func TestStaffDoNotCloseTheirAccounts(t *testing.T) {
	a := start(t, nil)
	cookie, id := a.signedIn(t)
	if err := a.accounts.SetRole(t.Context(), id, auth.Owner); err != nil {
		t.Fatal(err)
	}
	p, err := a.accounts.Profile(t.Context(), a.db, id)
	if err != nil {
		t.Fatal(err)
	}
	if r := a.panel(t, cookie, http.MethodPost, "/panel/api/v1/me/close", fmt.Sprintf(`{"email": %q}`, p.Email)); r.key() != "account_not_closable" {
		t.Errorf("%s", r)
	}
}

// mailsTo are the mails to an address that were sent.
func (a *App) mailsTo(t *testing.T, address string) string {
	t.Helper()
	mails, err := os.ReadDir(mailDir(a.cfg))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, m := range mails {
		content, err := os.ReadFile(filepath.Join(mailDir(a.cfg), m.Name()))
		if err == nil && strings.Contains(string(content), address) {
			all.Write(content)
		}
	}
	return all.String()
}
