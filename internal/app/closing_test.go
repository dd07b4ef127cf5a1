package app

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"testing"
	"time"

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
