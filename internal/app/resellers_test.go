package app

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"stead.dev/stead/internal/front/reseller"
	"stead.dev/stead/internal/platform/testkit"
)

// TestAResellerIsToldItsLimits: with its terms and its key (contract: "profile, discount, limits, this key").
func TestAResellerIsToldItsLimits(t *testing.T) {
	type limits struct {
		Requests *int `json:"requests_per_minute"`
		Checks   *int `json:"domain_checks_per_minute"`
		Keys     int
		Webhooks int
	}
	limitsOf := func(t *testing.T, settings map[string]string) limits {
		t.Helper()
		a := start(t, settings)
		w := &world{App: a, t: t}
		w.owner = customer{id: a.account(t)}
		var me struct{ Limits limits }
		a.get(t, w.aKey(w.owner, reseller.NewKey{}), "/api/v1/reseller/me").decode(t, &me)
		return me.Limits
	}
	l := limitsOf(t, map[string]string{"throttle": "true", "throttle_reseller": "61"})
	if l.Requests == nil || *l.Requests != 61 || l.Checks == nil || *l.Checks != 20 || l.Keys != 50 || l.Webhooks != 20 {
		t.Errorf("%+v", l)
	}
	if l := limitsOf(t, nil); l.Requests != nil || l.Checks != nil {
		t.Errorf("without throttles: %+v", l)
	}
}

// TestAnInvoiceThatAResellerIsToldOfOpensWithItsKey: what the event names as PDF is an address of the interface of
// resellers, who have no token.
func TestAnInvoiceThatAResellerIsToldOfOpensWithItsKey(t *testing.T) {
	engines(t, simulated, func(t *testing.T, a *App) {
		w := &world{App: a, t: t}
		w.owner = a.customer(t, a.application(t, false), 100_00)
		w.plan = w.aPlan()
		key := w.aKey(w.owner, reseller.NewKey{})
		w.id(a.post(t, key, "/api/v1/reseller/services", fmt.Sprintf(`{"plan_id": %d, "domain": "shop.example.com"}`, w.plan)))
		var told struct {
			Data []struct {
				Body struct {
					Data struct {
						Object struct {
							PDFURL string `json:"pdf_url"`
						}
					}
				}
			}
		}
		testkit.Eventually(t, time.Minute, func() bool {
			a.get(t, key, "/api/v1/reseller/events?type=invoice.issued").decode(t, &told)
			return len(told.Data) > 0
		}, "the reseller is told of the invoice")
		address := told.Data[0].Body.Data.Object.PDFURL
		path, ok := strings.CutPrefix(address, a.cfg.BaseURL)
		if r := a.get(t, key, path); !ok || r.status != http.StatusOK || r.header.Get("Content-Type") != "application/pdf" {
			t.Errorf("%s: %d %s", address, r.status, r.header.Get("Content-Type"))
		}
	})
}

// TestADomainNamesTheServiceThatHasIt: of the account that asks, and of no other.
func TestADomainNamesTheServiceThatHasIt(t *testing.T) {
	engines(t, simulated, func(t *testing.T, a *App) {
		w := &world{App: a, t: t}
		w.owner = a.customer(t, a.application(t, false), 100_00)
		w.plan = w.aPlan()
		key := w.aKey(w.owner, reseller.NewKey{})
		type domain struct {
			ServiceID    *int64 `json:"service_id"`
			Verification struct{ Status string }
		}
		id := w.id(a.post(t, key, "/api/v1/reseller/domains", registrationRequest("shop.example")))
		seen := func() (one domain) {
			a.get(t, key, fmt.Sprintf("/api/v1/reseller/domains/%d", id)).decode(t, &one)
			var list struct{ Data []domain }
			a.get(t, w.owner.token, "/api/v1/domains").decode(t, &list)
			if len(list.Data) != 1 || (list.Data[0].ServiceID == nil) != (one.ServiceID == nil) {
				t.Errorf("the list says %+v, the domain %+v", list.Data, one)
			}
			return one
		}
		if d := seen(); d.ServiceID != nil || d.Verification.Status != "none" {
			t.Errorf("before: %+v", d)
		}
		service := w.id(a.post(t, key, "/api/v1/reseller/services", fmt.Sprintf(`{"plan_id": %d, "domain": "shop.example"}`, w.plan)))
		if d := seen(); d.ServiceID == nil || *d.ServiceID != service {
			t.Errorf("with the service %d: %+v", service, d)
		}
	})
}

// TestARefusedBasketSaysWhichItemItIs: a basket has up to fifty items.
func TestARefusedBasketSaysWhichItemItIs(t *testing.T) {
	a := start(t, simulated)
	w := &world{App: a, t: t}
	w.owner = a.customer(t, a.application(t, false), 0)
	key := w.aKey(w.owner, reseller.NewKey{})
	good := fmt.Sprintf(`{"kind": "new", "plan_id": %d}`, w.aPlan())
	for bad, want := range map[string]struct{ key, field string }{
		`{"kind": "new"}`:                                        {"validation_failed", "items[1].plan_id"},
		`{"kind": "new", "plan_id": 999999}`:                     {"validation_failed", "items[1].plan_id"},
		`{"kind": "renewal"}`:                                    {"validation_failed", "items[1].service_id"},
		`{"kind": "renewal", "service_id": 1, "quantity": 2}`:    {"validation_failed", "items[1].quantity"},
		`{"kind": "renewal", "service_id": 999999}`:              {"not_found", ""},
		`{"kind": "tariff_change", "service_id": 1}`:             {"validation_failed", "items[1].plan_id"},
		strings.Replace(good, "}", `, "period_months": 119}`, 1): {"validation_failed", "items[1].period_months"},
	} {
		r := a.post(t, key, "/api/v1/reseller/quotes", fmt.Sprintf(`{"items": [%s, %s]}`, good, bad))
		var said struct {
			Item   *int                `json:"item"`
			Errors map[string][]string `json:"errors"`
		}
		r.decode(t, &said)
		if r.key() != want.key || said.Item == nil || *said.Item != 1 || (want.field != "") != (len(said.Errors[want.field]) == 1) {
			t.Errorf("%s: %s", bad, r)
		}
	}
}

// TestAResellerIsToldOfAnotherPrice: of each price that changed, once; every test holds its events to their schemas.
func TestAResellerIsToldOfAnotherPrice(t *testing.T) {
	a := start(t, simulated)
	w := &world{App: a, t: t}
	w.owner = customer{id: a.account(t)}
	key := w.aKey(w.owner, reseller.NewKey{})
	w.id(a.post(t, key, "/api/v1/reseller/webhooks", `{"url": "https://client.example/hook", "events": ["catalog.price_changed"]}`))
	file, err := a.admin.ExportCatalog(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	dearer := strings.Replace(string(file), "usd_cents: 299", "usd_cents: 399", 1)
	for range 2 {
		if _, err := a.admin.ImportCatalog(t.Context(), []byte(dearer)); err != nil {
			t.Fatal(err)
		}
	}
	type priced struct {
		Price struct {
			Cents int64 `json:"usd_cents"`
		}
	}
	var told struct {
		Data []struct {
			Body struct {
				Data struct{ Object, Previous priced }
			}
		}
	}
	testkit.Eventually(t, time.Minute, func() bool {
		a.get(t, key, "/api/v1/reseller/events?type=catalog.price_changed").decode(t, &told)
		return len(told.Data) > 0
	}, "the reseller is told")
	if d := told.Data[0].Body.Data; len(told.Data) != 1 || d.Object.Price.Cents != 399 || d.Previous.Price.Cents != 299 {
		t.Errorf("%+v", told)
	}
}
