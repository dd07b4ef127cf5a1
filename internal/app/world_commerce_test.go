package app

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"stead.dev/stead/internal/front/reseller"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/money"
	"stead.dev/stead/internal/platform/testkit"
)

// ownersTag is the tag that the owner, as a reseller, has given the service.
const ownersTag = "the-owner's-client"

func (w *world) tag() {
	w.t.Helper()
	r := w.do(w.t, request{
		method: http.MethodPatch, path: fmt.Sprintf("/api/v1/reseller/services/%d", w.service), token: w.ownersKey,
		body: fmt.Sprintf(`{"client_ref": %q}`, ownersTag),
	})
	if r.status != http.StatusOK {
		w.t.Fatal(r)
	}
}

// keepACard lets the demonstration's gateway keep the owner's card: a top-up is paid with it.
func (w *world) keepACard() {
	w.t.Helper()
	var made struct {
		CheckoutURL string `json:"checkout_url"`
	}
	w.post(w.t, w.owner.token, "/api/v1/wallet/topups", `{"amount_usd_cents": 1000, "gateway": "demo", "save_method": true}`).decode(w.t, &made)
	_, token, _ := strings.Cut(made.CheckoutURL, "/pay/")
	r := w.do(w.t, request{method: http.MethodPost, path: "/pay/" + token, body: "action=pay", contentType: "application/x-www-form-urlencoded"})
	if r.status != http.StatusSeeOther {
		w.t.Fatalf("the payment: %s", r)
	}
}

const registrant = `{"name": "Anna", "email": "anna@example.com", "phone": "+998901234567", "street": "Navoiy 1", "city": "Tashkent", "country": "UZ"}`

func registrationRequest(name string) string {
	return fmt.Sprintf(`{"domain": %q, "contact": %s}`, name, registrant)
}

// newRegistration is a domain that the registry has registered.
func (w *world) newRegistration() int64 {
	w.t.Helper()
	id := w.id(w.post(w.t, w.owner.token, "/api/v1/domains", registrationRequest(unique("own")+".example")))
	w.rests(fmt.Sprintf("/api/v1/reseller/domains/%d", id), "active")
	return id
}

// aPlan is a plan of hosting that is for sale, which allows some of everything. An owner who has but a key finds it
// in the catalog of resellers.
func (w *world) aPlan() int64 {
	w.t.Helper()
	path, token := "/api/v1/catalog", w.owner.token
	if token == "" {
		path, token = "/api/v1/reseller/catalog", w.ownersKey
	}
	var catalog struct {
		Data []struct {
			Type  string `json:"type"`
			Plans []struct {
				ID        int64 `json:"id"`
				Available bool  `json:"available"`
				Limits    struct {
					Databases int64 `json:"databases"`
				} `json:"limits"`
			} `json:"plans"`
		} `json:"data"`
	}
	w.get(w.t, token, path).decode(w.t, &catalog)
	for _, product := range catalog.Data {
		for _, p := range product.Plans {
			if product.Type == "hosting" && p.Available && p.Limits.Databases >= 10 { // room for the examples
				return p.ID
			}
		}
	}
	w.t.Fatal("no plan is on sale")
	return 0
}

// aKey makes the customer a reseller, and a key of its.
func (w *world) aKey(c customer, n reseller.NewKey) string {
	w.t.Helper()
	n.Name = "Test"
	_, err := w.reseller.Appoint(w.t.Context(), c.id, "gold", 2000)
	if err == nil {
		var token string
		if _, token, err = w.reseller.CreateKey(w.t.Context(), c.id, n); err == nil {
			return token
		}
	}
	w.t.Fatal(err)
	return ""
}

// aTariff is a plan that the service may move to.
func (w *world) aTariff() int64 {
	w.t.Helper()
	var list struct {
		Data []struct {
			Available bool `json:"available"`
			Plan      struct {
				ID int64 `json:"id"`
			} `json:"plan"`
		} `json:"data"`
	}
	w.get(w.t, w.owner.token, fmt.Sprintf("/api/v1/services/%d/tariffs", w.service)).decode(w.t, &list)
	for _, t := range list.Data {
		if t.Available {
			return t.Plan.ID
		}
	}
	w.t.Fatal("the service can move to no plan")
	return 0
}

// pendingPlanRests takes the next plan from the service: one whose time was paid by an earlier example can be replaced by no other.
func (w *world) pendingPlanRests() {
	w.t.Helper()
	if err := w.db.InTx(w.t.Context(), func(ctx context.Context, tx *db.Tx) error {
		_, err := tx.Exec(ctx, `UPDATE services SET pending_plan_id = NULL, pending_plan_at = NULL, pending_price = NULL WHERE id = $1`, w.service)
		return err
	}); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) newOrder(c customer, domain string) int64 {
	w.t.Helper()
	return w.id(w.post(w.t, c.token, "/api/v1/orders", fmt.Sprintf(`{"plan_id": %d, "domain": %q}`, w.plan, domain)))
}

// serviceOf waits for the customer's first service to become active.
func (w *world) serviceOf(c customer) (id int64) {
	w.t.Helper()
	testkit.Eventually(w.t, time.Minute, func() bool {
		var list struct {
			Data []struct {
				ID     int64  `json:"id"`
				Status string `json:"status"`
			} `json:"data"`
		}
		w.get(w.t, c.token, "/api/v1/services").decode(w.t, &list)
		for _, s := range list.Data {
			if s.Status == "active" {
				id = s.ID
			}
		}
		return id != 0
	}, "the service is active")
	return id
}

// invoiceOf is the invoice of an order of the owner.
func (w *world) invoiceOf(orderID int64) int64 {
	w.t.Helper()
	var order struct {
		InvoiceID int64 `json:"invoice_id"`
	}
	w.get(w.t, w.owner.token, fmt.Sprintf("/api/v1/orders/%d", orderID)).decode(w.t, &order)
	return order.InvoiceID
}

// price is what a customer's order costs, in cents.
func (w *world) price(c customer, id int64) money.USDCents {
	w.t.Helper()
	var order struct {
		Total struct {
			Cents money.USDCents `json:"usd_cents"`
		} `json:"total"`
	}
	w.get(w.t, c.token, fmt.Sprintf("/api/v1/orders/%d", id)).decode(w.t, &order)
	if order.Total.Cents <= 0 {
		w.t.Fatalf("the order costs %d", order.Total.Cents)
	}
	return order.Total.Cents
}
