package billing

import (
	"context"
	"fmt"
	"net/http"
	"testing"

	"stead.dev/stead/internal/commerce/sale"
	"stead.dev/stead/internal/commerce/services/servicestest"
	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/money"
	"stead.dev/stead/internal/platform/testkit"
)

// levy is added to everybody's prices.
type levy int

func (l levy) Taxes(_ context.Context, _ db.Querier, accountIDs []int64) (map[int64]money.Tax, error) {
	all := map[int64]money.Tax{}
	for _, id := range accountIDs {
		all[id] = money.Tax{BasisPoints: int(l)}
	}
	return all, nil
}

func TestWhatARenewalCostsIsTheSameInSQL(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, _ *clock.Fake) {
		for _, rate := range []int{0, 1, 750, 1200, 1900, 2500} {
			for _, price := range []money.USDCents{0, 1, 4, 5, 49, 50, 499, 1249, 1250, 1251, 99_999, 1_234_567_890} {
				on, _, err := money.Tax{BasisPoints: rate}.Of(price)
				if err != nil {
					t.Fatal(err)
				}
				var got money.USDCents
				err = d.QueryRow(t.Context(), `SELECT `+RenewalCost(1)+` FROM (SELECT CAST($2 AS BIGINT) AS renew_price,
					CAST(NULL AS BIGINT) AS pending_price, 0 AS addon_price) AS s`, rate, price).Scan(&got)
				if err != nil || got != price+on {
					t.Errorf("%d at %d: %d, %v; want %d", price, rate, got, err, price+on)
				}
				if has := (sale.Funds{Balance: price + on, Tax: money.Tax{BasisPoints: rate}}); !has.Covers(price) || has.Covers(price+1) {
					t.Errorf("%d at %d: what covers it is not the least that does", price, rate)
				}
			}
		}
	})
}

func TestTaxCountsInWhatIsShownAndExpected(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		id := w.active(servicestest.Ask("a.test"))
		w.Taxes = levy(1200)
		status, answer := w.Post("own", id, "renew", `{"dry_run":true}`)
		if total, _ := answer["total"].(map[string]any); status != 200 || total["usd_cents"] != 559.0 { // 499 and 12 %
			t.Errorf("%d %v", status, answer)
		}
		w.refuses(id, "renew", `{"expected_usd_cents":499}`, 422, "price_changed")
		if status, answer := w.Post("own", id, "renew", `{"expected_usd_cents":559}`); status != 200 || w.Till.Sales[0].Price != 499 {
			t.Errorf("%d %v, sold for %v", status, answer, w.Till.Sales)
		}
		due, err := w.DueRenewals(t.Context(), w.DB, 1, 365)
		if err != nil || due != 559 {
			t.Errorf("%d is due: %v", due, err)
		}
		w.Clk.Advance(w.record(id).ExpiresAt.Sub(w.Clk.Now()) / 2)
		_, answer = w.Post("own", id, "tariff", `{"plan_id":4,"dry_run":true}`)
		tariff, _ := answer["tariff"].(map[string]any)
		charge, _ := tariff["charge"].(map[string]any)
		cents, _ := charge["usd_cents"].(float64)
		w.refuses(id, "tariff", fmt.Sprintf(`{"plan_id":4,"expected_usd_cents":%.0f}`, cents-1), http.StatusUnprocessableEntity, "price_changed")
		if status, _ := w.Post("own", id, "tariff", fmt.Sprintf(`{"plan_id":4,"expected_usd_cents":%.0f}`, cents)); status != 200 {
			t.Errorf("%d", status)
		}
		sold := w.Till.Sales[len(w.Till.Sales)-1]
		if on, _, _ := (money.Tax{BasisPoints: 1200}).Of(sold.Price - sold.Discount); float64(sold.Price-sold.Discount+on) != cents {
			t.Errorf("shown were %v, sold was %+v", cents, sold)
		}
	})
}

func TestWhatWasGivenBackIsNotGivenBackByAnotherPlan(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		n := servicestest.Ask("a.test")
		n.FirstPrice = 499
		id := w.active(n)
		w.Post("own", id, "renew", `{}`)
		worthNow := func() money.USDCents {
			all, err := periodsAfter(t.Context(), w.DB, id, w.Clk.Now())
			if err != nil {
				t.Fatal(err)
			}
			sum, err := worth(all, w.Clk.Now())
			if err != nil {
				t.Fatal(err)
			}
			return sum
		}
		const renewed = 1001
		for _, c := range []struct {
			order      int64
			back, left money.USDCents
		}{
			{renewed, 100, 898}, {n.OrderID, 300, 598}, {n.OrderID, 300, 399}, // no more than is left of what it paid
			{4711, 10, 399}, // of it nothing is known, and all other time is of orders that are
			{renewed, 5000, 0}, {renewed, 1, 0},
		} {
			err := w.DB.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error { return w.TakeBack(ctx, tx, id, c.order, c.back) })
			if got := worthNow(); err != nil || got != c.left {
				t.Errorf("after %d were given back the time is worth %d, want %d: %v", c.back, got, c.left, err)
			}
		}
	})
}

// TestARefundTakesOnlyTheTimeThatItsOrderPaid: also after another plan took the place of it, and where orders are from before that
// was noted.
func TestARefundTakesOnlyTheTimeThatItsOrderPaid(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		n := servicestest.Ask("a.test")
		n.FirstPrice = 499
		id := w.active(n)
		first := *w.record(id).ExpiresAt
		w.Post("own", id, "renew", `{}`)
		const renewal, change = 1001, 1002
		refund := func(order int64, price money.USDCents) {
			w.In(func(ctx context.Context, tx *db.Tx) error { return w.TakeBack(ctx, tx, id, order, price) })
		}
		paid := func() map[int64]money.USDCents {
			all, err := periodsAfter(t.Context(), w.DB, id, w.Clk.Now())
			if err != nil {
				t.Fatal(err)
			}
			by := map[int64]money.USDCents{}
			for _, p := range all {
				by[p.order] += p.worth(w.Clk.Now())
			}
			return by
		}
		w.Clk.Set(first) // the first period is over
		refund(n.OrderID, 499)
		w.Same("after a refund of time that is over", map[int64]money.USDCents{renewal: 499}, paid())

		if status, answer := w.Post("own", id, "tariff", `{"plan_id":4}`); status != 200 {
			t.Fatalf("%d %v", status, answer)
		}
		w.Same("after a change of plan", map[int64]money.USDCents{renewal: 499, change: 501}, paid())
		refund(renewal, 200)
		w.Same("after a refund of the renewal", map[int64]money.USDCents{renewal: 299, change: 501}, paid())
		if status, answer := w.Post("own", id, "tariff", `{"plan_id":3}`); status != 200 || w.Till.Sales[2].Credit != 301 {
			t.Fatalf("%d %v, sold %+v", status, answer, w.Till.Sales)
		}
		w.Same("after the change back", map[int64]money.USDCents{renewal: 299, change: 200}, paid()) // off the latest, as off invoices

		w.Exec(`UPDATE services_periods SET order_id = NULL WHERE service_id = $1`, id)
		refund(n.OrderID, 100)
		w.Same("of orders from before", map[int64]money.USDCents{0: 399}, paid())
	})
}
