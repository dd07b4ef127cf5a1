package reseller

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"stead.dev/stead/internal/commerce/sale"
	"stead.dev/stead/internal/commerce/services"
	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/money"
	"stead.dev/stead/internal/platform/page"
	"stead.dev/stead/internal/platform/testkit"
)

// aPriced is an active service with a price, whose paid time ends an hour later than that of the one before.
func (w *world) aPriced(accountID int64, domain string, price money.USDCents) int64 {
	w.t.Helper()
	id := w.aService(accountID, domain, "seven")
	w.exec(`UPDATE services SET renew_price = $1, first_price = $1 WHERE id = $2`, price, id)
	w.clk.Advance(time.Hour)
	return id
}

func TestRenewalsAreCoveredInTheOrderInWhichTheyAreDue(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		w.balance = 500
		first := w.clk.Now().AddDate(0, 1, 0)
		w.aPriced(w.AccountID, "a.test", 200)
		w.aPriced(w.AccountID, "b.test", 300)
		last := w.aPriced(w.AccountID, "c.test", 1)
		unrenewed := w.aPriced(w.AccountID, "d.test", 100_000)
		w.exec(`UPDATE services SET auto_renew = FALSE WHERE id = $1`, unrenewed)
		w.aPriced(w.SandboxID, "e.test", 100_000)
		pending := w.aPriced(w.AccountID, "f.test", 1)
		w.exec(`UPDATE services SET status = 'pending', expires_at = NULL WHERE id = $1`, pending)
		list, err := w.resoldList(t.Context(), w.AccountID, services.Filter{}, page.Params{PerPage: 50})
		if err != nil || list.Meta.Total != 5 {
			t.Fatalf("%+v, %v", list, err)
		}
		got := ""
		for _, s := range list.Data {
			got += fmt.Sprint(*s.Domain, s.RenewalCovered, s.RenewCost.USDCents, " ")
		}
		if want := "f.testfalse $0.01 d.testfalse $1,000.00 c.testfalse $0.01 b.testtrue $3.00 a.testtrue $2.00 "; got != want {
			t.Errorf("%s, want %s", got, want)
		}
		rows, err := w.renewals(t.Context(), w.AccountID, w.clk.Now().AddDate(0, 2, 0), page.Params{Page: 2, PerPage: 2})
		if err != nil || rows.Meta.Total != 3 || len(rows.Data) != 1 || rows.Data[0].RunningTotal.USDCents != 501 || rows.Data[0].Covered || *rows.Data[0].Domain != "c.test" {
			t.Errorf("page 2: %+v, %v", rows, err)
		}
		rows, err = w.renewals(t.Context(), w.AccountID, first.Add(time.Minute), page.Params{})
		if err != nil || rows.Meta.Total != 1 || len(rows.Data) != 1 || rows.Data[0].RunningTotal.USDCents != 200 || !rows.Data[0].Covered || *rows.Data[0].ClientRef != "seven" {
			t.Errorf("the first: %+v, %v", rows, err)
		}
		has, err := w.Billing.Funds(t.Context(), w.DB, w.AccountID)
		if err != nil {
			t.Fatal(err)
		}
		due, err := sumDue(t.Context(), w.DB, w.AccountID, w.clk.Now().AddDate(0, 2, 0), has)
		if want := (dueStats{Count: 3, Cost: 501, Uncovered: 1, UncoveredCost: 1}); err != nil || due != want {
			t.Errorf("%+v, want %+v, %v", due, want, err)
		}
		byStatus, err := countServices(t.Context(), w.DB, w.AccountID)
		if err != nil || len(byStatus) != 2 || byStatus[services.Active] != 4 || byStatus[services.Pending] != 1 {
			t.Errorf("%v, %v", byStatus, err)
		}
		byStatus, err = countServices(t.Context(), w.DB, 3)
		if err != nil || len(byStatus) != 0 {
			t.Errorf("of nothing: %v, %v", byStatus, err)
		}
		// A service that is being provisioned renews, too, once it stands.
		for price, want := range map[money.USDCents]bool{1: true, 2: false} { // 501 are for the others
			w.balance = 502
			w.exec(`UPDATE services SET status = 'provisioning', provisioning_at = created_at, renew_price = $1 WHERE id = $2`, price, pending)
			one, err := w.resoldOne(t.Context(), w.DB, w.AccountID, pending)
			if err != nil || one.RenewalCovered != want {
				t.Errorf("provisioning at %d: %+v, %v", price, one, err)
			}
		}
		w.balance = 500
		// What the next renewal is sold as is another plan: its price is the one that counts.
		for price, want := range map[money.USDCents]bool{0: true, 2: false} {
			w.exec(`UPDATE services SET pending_plan_id = 4, pending_plan_at = expires_at, pending_price = $1 WHERE id = $2`, price, last)
			one, err := w.resoldOne(t.Context(), w.DB, w.AccountID, last)
			if err != nil || one.RenewalCovered != want || one.RenewCost.USDCents != price || one.RenewPrice.USDCents != price {
				t.Errorf("at %d: %+v, %v", price, one, err)
			}
		}
	})
}

// TestPagesOfAListJoin: every page has what comes after the one before.
func TestPagesOfAListJoin(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		var want []int64
		for i := range 7 {
			want = append([]int64{w.aService(w.AccountID, fmt.Sprintf("n%d.test", i), "")}, want...)
		}
		for _, f := range []services.Filter{{}, {Query: "n", Status: "active"}} {
			for perPage := 1; perPage <= 8; perPage++ {
				var ids []int64
				for p := 1; p <= 9; p++ {
					shown, err := w.resoldList(t.Context(), w.AccountID, f, page.Params{Page: p, PerPage: perPage})
					if err != nil || shown.Meta.Total != 7 || len(shown.Data) != max(0, min(perPage, 7-(p-1)*perPage)) {
						t.Fatalf("%+v, page %d of %d: %+v, %v", f, p, perPage, shown, err)
					}
					for _, s := range shown.Data {
						ids = append(ids, s.ID)
					}
				}
				if fmt.Sprint(ids) != fmt.Sprint(want) {
					t.Errorf("%d of a page: %v, want %v", perPage, ids, want)
				}
			}
		}
	})
}

func TestTheHistoryOfAService(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		id := w.aService(w.AccountID, "a.test", "")
		w.exec(`INSERT INTO services_history (service_id, type, status, previous_status, suspend_reason, error_key, days, created_at)
			VALUES ($1, 'service.provisioned', 'active', 'provisioning', NULL, NULL, NULL, $2),
				($1, 'service.suspended', 'suspended', 'active', 'abuse', NULL, NULL, $2),
				($1, 'service.renewal_failed', 'active', NULL, NULL, 'insufficient_funds', 3, $2)`, id, w.clk.Now())
		list, err := w.history(t.Context(), w.AccountID, id, page.Params{PerPage: 2})
		if err != nil || len(list.Data) != 2 || list.Meta.Total != 3 {
			t.Fatalf("%+v, %v", list, err)
		}
		newest, before := list.Data[0], list.Data[1]
		if newest.Type != "service.renewal_failed" || newest.PreviousStatus != nil || *newest.ErrorKey != "insufficient_funds" || *newest.Days != 3 {
			t.Errorf("%+v", newest)
		}
		if before.Type != "service.suspended" || before.Status != services.Suspended || *before.PreviousStatus != services.Active || *before.SuspendReason != services.Abuse {
			t.Errorf("%+v", before)
		}
		if _, err := w.history(t.Context(), w.SandboxID, id, page.Params{}); !errors.Is(err, fault.NotFound) {
			t.Errorf("of another: %v", err)
		}
	})
}

func TestNoQueryOfServicesReadsAWholeTable(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		now, has := clk.Now(), sale.Funds{Balance: 500}
		testkit.Indexed(t, d, func(q db.Querier) (err error) {
			ctx := context.Background()
			_, ofDue := uncovered(ctx, q, 1, now, has)
			_, _, ofSum := sumBetween(ctx, q, 1, due{at: now, id: 7}, now, money.Tax{BasisPoints: 1200})
			_, counted := countServices(ctx, q, 1)
			_, summed := sumDue(ctx, q, 1, now, has)
			_, _, ofHistory := happenings(ctx, q, 1, page.Params{})
			return errors.Join(ofDue, ofSum, counted, summed, ofHistory)
		})
	})
}

// many services of account 1, which expire one after the other and cost 1, 2, 3 … to renew; two of them every ten minutes.
const many = 11*sumAtOnce + 101

func (w *world) aHost() {
	w.t.Helper()
	id := w.aService(1, "seed.test", "")
	w.exec(`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < `+fmt.Sprint(many)+`)
		INSERT INTO services (account_id, order_id, type, label, status, domain, search, plan_id, plan_slug, plan_name, limits, period_months,
			auto_renew, renew_price, first_price, created_at, provisioned_at, expires_at, panel, panel_ref, metadata)
		SELECT account_id, order_id, type, label, status, 'n' || CAST(i AS TEXT) || '.test', 'n' || CAST(i AS TEXT), plan_id, plan_slug, plan_name, limits,
			period_months, TRUE, i, 0, created_at, provisioned_at, expires_at + CAST(i / 2 AS BIGINT) * 600000000, panel, panel_ref, '{}' FROM services CROSS JOIN n WHERE id = $1`, id)
	w.exec(`DELETE FROM services WHERE id = $1`, id)
}

// TestCoverageOfVeryManyIsThatOfFew: however many renewals are summed at once, the first that is not paid for is the one
// that adding them up finds.
func TestCoverageOfVeryManyIsThatOfFew(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		w.aHost()
		type renewal struct {
			due
			price money.USDCents
		}
		all, err := db.Collect(t.Context(), w.DB, func(row db.Row) (r renewal, err error) {
			err = row.Scan(&r.at, &r.id, &r.price)
			return r, err
		}, `SELECT expires_at, id, renew_price FROM services ORDER BY expires_at, id`)
		if err != nil || len(all) != many {
			t.Fatalf("%d services, %v", len(all), err)
		}
		var sum money.USDCents
		for _, r := range all {
			sum += r.price + (r.price*1200+5000)/10_000
		}
		for _, balance := range []money.USDCents{0, 1, 2, 500, 100_000, 2_000_000, 2_300_000, sum / 4, sum / 2, sum - 1, sum, sum + 1} {
			var want *due
			left := balance
			for _, r := range all {
				if left -= r.price + (r.price*1200+5000)/10_000; left < 0 {
					want = &r.due
					break
				}
			}
			for _, r := range []renewal{all[0], all[sumAtOnce+500], all[many/2], all[many-1]} {
				wanted := want
				if want != nil && want.at.After(r.at) {
					wanted = nil
				}
				got, err := uncovered(t.Context(), w.DB, 1, r.at, sale.Funds{Balance: balance, Tax: money.Tax{BasisPoints: 1200}})
				if got != nil && got.at.After(r.at) {
					got = nil // it may say more than it is asked
				}
				if err != nil || (got == nil) != (wanted == nil) || (got != nil && (got.id != wanted.id || !got.at.Equal(wanted.at))) {
					t.Errorf("with %d until %v: %v, want %v, %v", balance, r.at, got, wanted, err)
				}
			}
		}
	})
}
