package domains

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"stead.dev/stead/internal/platform/api/apitest"
	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/testkit"
)

// TestADomainIsPaidAtThePriceThatWasShown: the price operations answer what the caller pays, and an order or a renewal at another
// price than the one that was shown charges nothing.
func TestADomainIsPaidAtThePriceThatWasShown(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		w := newWorld(t, d, clk)
		shown := func(token string) (register, check, transfer int64) {
			t.Helper()
			type price struct {
				Cents int64 `json:"usd_cents"`
			}
			var book struct {
				Data []struct {
					Register []struct{ Price price } `json:"register"`
					Transfer price                   `json:"transfer"`
				} `json:"data"`
			}
			var free struct{ Price price }
			apitest.Answered(t, apitest.Call(w.edge, token, "GET", "/api/v1/domains/tlds?per_page=1", ""), http.StatusOK, &book)
			apitest.Answered(t, apitest.Call(w.edge, token, "GET", "/api/v1/domains/check?domain=free.com", ""), http.StatusOK, &free)
			return book.Data[0].Register[1].Price.Cents, free.Price.Cents, book.Data[0].Transfer.Cents
		}
		retail := [3]int64{2400, 1200, 1200}
		for token, want := range map[string][3]int64{
			"": retail, "own": retail, "resells": {2100, 1050, 1050}, "visits": retail, // a reseller's client does not see what the reseller pays
		} {
			register, check, transfer := shown(token)
			w.same("prices of "+token, want, [3]int64{register, check, transfer})
		}

		for _, wish := range []struct {
			token, name, more string
			seen, pays        int64
		}{
			{"own", "one.com", `"years":2`, 2399, 2400},
			{"resells", "two.com", `"years":2`, 2400, 2100}, // the retail price
			{"own", "taken-three.com", `"operation":"transfer","auth_code":"secret-three.com"`, 0, 1200},
		} {
			before := w.number(`SELECT balance FROM test_purse`)
			order := func(expected int64) (int, string) {
				return w.call(wish.token, "POST", "/api/v1/domains",
					fmt.Sprintf(`{"domain":%q,"contact":%s,"expected_usd_cents":%d,%s}`, wish.name, anna, expected, wish.more))
			}
			if status, body := order(wish.seen); status != http.StatusUnprocessableEntity || !strings.Contains(body, `"price_changed"`) ||
				!strings.Contains(body, fmt.Sprintf(`"usd_cents":%d`, wish.pays)) {
				t.Errorf("%s: %d %s", wish.name, status, body)
			}
			w.same("charged for "+wish.name, before, w.number(`SELECT balance FROM test_purse`))
			if status, body := order(wish.pays); status != http.StatusCreated {
				t.Errorf("%s: %d %s", wish.name, status, body)
			}
			w.same("paid for "+wish.name, before-wish.pays, w.number(`SELECT balance FROM test_purse`))
		}

		id := w.registered("renewed.com")
		before := w.number(`SELECT balance FROM test_purse`)
		renew := fmt.Sprintf("/api/v1/domains/%d/renew", id)
		w.refused("own", "POST", renew, `{"years":2,"expected_usd_cents":1400}`, "price_changed")
		w.same("charged for the renewal", before, w.number(`SELECT balance FROM test_purse`))
		if status, body := w.call("own", "POST", renew, `{"years":2,"expected_usd_cents":2800}`); status != http.StatusOK {
			t.Errorf("%d %s", status, body)
		}
		w.same("paid for the renewal", before-2800, w.number(`SELECT balance FROM test_purse`))
	})
}
