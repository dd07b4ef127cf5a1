package billing

import (
	"fmt"
	"testing"

	"stead.dev/stead/internal/commerce/services/servicestest"
)

// TestAPaidTariffChangeIsNotReplaced: the time after the change was paid at the price of the plan that waits. Another one that
// waits would give that time to the plan of today, at that price.
func TestAPaidTariffChangeIsNotReplaced(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		for _, c := range []struct {
			domain  string
			waiting int64
			tariff  string
		}{
			{"cheaper.test", 5, `{"plan_id":5,"when":"renewal"}`},
			{"dearer.test", 4, `{"plan_id":4,"when":"renewal"}`},
		} {
			id := w.active(servicestest.Ask(c.domain))
			end := *w.record(id).ExpiresAt
			w.Post("own", id, "tariff", `{"plan_id":4,"when":"renewal"}`)
			if status, answer := w.Post("own", id, "tariff", c.tariff); status != 200 { // nothing is paid yet
				t.Fatalf("%d %v", status, answer)
			}
			for range 2 {
				if status, answer := w.Post("own", id, "renew", `{}`); status != 200 {
					t.Fatalf("%d %v", status, answer)
				}
			}
			for _, body := range []string{
				`{"plan_id":4,"when":"renewal"}`, `{"plan_id":5,"when":"renewal"}`, `{"plan_id":4,"when":"renewal","dry_run":true}`, `{"plan_id":3,"when":"renewal"}`,
			} {
				w.refuses(id, "tariff", body, 422, "tariff_change_not_allowed")
			}
			w.Clk.Set(end)
			if err := w.ApplyTariffs(t.Context()); err != nil {
				t.Fatal(err)
			}
			r := w.record(id)
			w.Same(c.domain, []int64{c.waiting, int64(servicestest.PlanPrices[c.waiting])}, []int64{r.PlanID, int64(r.RenewPrice)})
			// From then on another one may wait.
			if status, answer := w.Post("own", id, "tariff", `{"plan_id":3,"when":"renewal"}`); status != 200 {
				t.Errorf("%d %v", status, answer)
			}
		}
	})
}

// TestAPaidTariffChangeIsSettledByAChangeNow: all time that is left is paid at the price of the plan that comes now, less what
// was paid for it.
func TestAPaidTariffChangeIsSettledByAChangeNow(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		n := servicestest.Ask("a.test")
		n.FirstPrice = 499
		id := w.active(n)
		w.Post("own", id, "tariff", `{"plan_id":5,"when":"renewal"}`)
		w.Post("own", id, "renew", `{}`)
		if status, answer := w.Post("own", id, "tariff", `{"plan_id":4}`); status != 200 {
			t.Fatalf("%d %v", status, answer)
		}
		sold := w.Till.Sales[1]
		w.Same("paid for two months of plan 4", []int64{2000, 599}, []int64{int64(sold.Price), int64(sold.Discount)})
		if r := w.record(id); r.PlanID != 4 || r.PendingPlanID != nil {
			t.Errorf("%+v", r)
		}
	})
}

// TestAServicesOwnPeriodIsRenewedHoweverItIsNamed: of a plan that was to come and was withdrawn, the present one is renewed, also
// where a client writes the period out.
func TestAServicesOwnPeriodIsRenewedHoweverItIsNamed(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		n := servicestest.Ask("a.test")
		n.PeriodMonths, n.RenewPrice = 12, 4990
		id := w.active(n)
		w.Exec(`UPDATE services SET pending_plan_id = 6, pending_plan_at = expires_at WHERE id = $1`, id) // is not sold
		for _, body := range []string{`{"dry_run":true}`, `{"dry_run":true,"period_months":12}`} {
			if status, quote := w.Post("own", id, "renew", body); status != 200 || quote["plan_id"] != 3.0 {
				t.Errorf("%s: %d %v", body, status, quote)
			}
		}
		w.refuses(id, "renew", `{"period_months":1}`, 422, "renewal_not_allowed") // the plan that comes is asked for another period
		if status, answer := w.Post("own", id, "renew", `{"period_months":12}`); status != 200 {
			t.Fatalf("%d %v", status, answer)
		}
		w.Same("the sale", []int64{3, 4990}, []int64{w.Till.Sales[0].PlanID, int64(w.Till.Sales[0].Price)})
		if r := w.record(id); r.PendingPlanID != nil || count(w.Told(id), "service.tariff_change_failed") != 1 {
			t.Errorf("%+v, told %v", r, w.Told(id))
		}
	})
}

// TestAServiceThatOutgrewThePlanThatWaitsRenewsItsOwn: chosen while little was used, it would keep everything at its price.
func TestAServiceThatOutgrewThePlanThatWaitsRenewsItsOwn(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		id := w.active(servicestest.Ask("a.test"))
		end := *w.record(id).ExpiresAt
		if status, answer := w.Post("own", id, "tariff", `{"plan_id":5,"when":"renewal"}`); status != 200 {
			t.Fatalf("%d %v", status, answer)
		}
		w.Used.Counts = map[string]int64{"disk_mb": 101}
		if status, answer := w.Post("own", id, "renew", `{}`); status != 200 || answer["plan_id"] != 3.0 {
			t.Fatalf("%d %v", status, answer)
		}
		w.Same("what was paid", "3 for $4.99", fmt.Sprintf("%d for %s", w.Till.Sales[0].PlanID, w.Till.Sales[0].Price))
		w.Clk.Set(end)
		if err := w.ApplyTariffs(t.Context()); err != nil {
			t.Fatal(err)
		}
		if r := w.record(id); r.PlanID != 3 || r.RenewPrice != 499 || r.PendingPlanID != nil || count(w.Told(id), "service.tariff_change_failed") != 1 {
			t.Errorf("%+v, told %v", r, w.Told(id))
		}
	})
}
