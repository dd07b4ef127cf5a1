package services

import (
	"fmt"
	"slices"
	"testing"

	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/money"
	"stead.dev/stead/internal/platform/page"
	"stead.dev/stead/internal/platform/testkit"
)

// many services of account 1, which expire one after the other and cost 1, 2, 3 … to renew; two of them every ten minutes.
const many = 11*sumAtOnce + 101

func (w *world) aHost() {
	w.t.Helper()
	id := w.active(sold("seed.test", 0, ""))
	w.exec(`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < `+fmt.Sprint(many)+`)
		INSERT INTO services (account_id, order_id, type, label, status, domain, search, plan_id, plan_slug, plan_name, limits, period_months,
			auto_renew, renew_price, first_price, created_at, provisioned_at, expires_at, panel, panel_ref, metadata)
		SELECT account_id, order_id, type, label, status, 'n' || CAST(i AS TEXT) || '.test', 'n' || CAST(i AS TEXT), plan_id, plan_slug, plan_name, limits,
			period_months, TRUE, i, 0, created_at, provisioned_at, expires_at + CAST(i / 2 AS BIGINT) * 600000000, panel, panel_ref, '{}' FROM services CROSS JOIN n WHERE id = $1`, id)
	w.exec(`DELETE FROM services_history WHERE service_id = $1`, id)
	w.exec(`DELETE FROM services_periods WHERE service_id = $1`, id)
	w.exec(`DELETE FROM services WHERE id = $1`, id)
}

// TestCoverageOfVeryManyIsThatOfFew: however many renewals are summed at once, the first that is not paid for is the one
// that adding them up finds.
func TestCoverageOfVeryManyIsThatOfFew(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		w.aHost()
		var all []record
		for p := 1; ; p++ {
			rows, _, err := list(t.Context(), w.db, 1, filter{}, page.Params{Page: p, PerPage: page.MaxPerPage})
			if err != nil {
				t.Fatal(err)
			}
			if all = append(all, rows...); len(rows) == 0 {
				break
			}
		}
		if len(all) != many || !slices.IsSortedFunc(all, func(a, b record) int { return int(b.id - a.id) }) {
			t.Fatalf("%d services, or not the newest first", len(all))
		}
		slices.SortFunc(all, func(a, b record) int {
			if d := a.expiresAt.Compare(*b.expiresAt); d != 0 {
				return d
			}
			return int(a.id - b.id)
		})
		var sum money.USDCents
		for _, r := range all {
			sum += r.renewPrice + (r.renewPrice*1200+5000)/10_000
		}
		for _, balance := range []money.USDCents{0, 1, 2, 500, 100_000, 2_000_000, 2_300_000, sum / 4, sum / 2, sum - 1, sum, sum + 1} {
			var want *due
			left := balance
			for _, r := range all {
				if left -= r.renewPrice + (r.renewPrice*1200+5000)/10_000; left < 0 {
					want = &due{*r.expiresAt, r.id}
					break
				}
			}
			for _, r := range []record{all[0], all[sumAtOnce+500], all[many/2], all[many-1]} {
				wanted := want
				if want != nil && want.at.After(*r.expiresAt) {
					wanted = nil
				}
				got, err := uncovered(t.Context(), w.db, 1, *r.expiresAt, funds{balance: balance, tax: money.Tax{BasisPoints: 1200}})
				if got != nil && got.at.After(*r.expiresAt) {
					got = nil // it may say more than it is asked
				}
				if err != nil || (got == nil) != (wanted == nil) || (got != nil && (got.id != wanted.id || !got.at.Equal(wanted.at))) {
					t.Errorf("with %d until %v: %v, want %v, %v", balance, r.expiresAt, got, wanted, err)
				}
			}
		}
	})
}

// TestPagesOfAListJoin: every page has what comes after the one before.
func TestPagesOfAListJoin(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		w := newWorld(t, d, clk)
		for i := range 7 {
			w.reserve(ask(fmt.Sprintf("n%d.test", i)))
		}
		for _, f := range []filter{{}, {query: ".test"}, {query: "n", status: string(Pending)}} {
			for perPage := 1; perPage <= 8; perPage++ {
				var ids []int64
				for p := 1; p <= 9; p++ {
					rows, total, err := list(t.Context(), d, 1, f, page.Params{Page: p, PerPage: perPage})
					if err != nil || total != 7 || len(rows) != max(0, min(perPage, 7-(p-1)*perPage)) {
						t.Errorf("%+v, page %d of %d: %d rows of %d, %v", f, p, perPage, len(rows), total, err)
					}
					shown, err := w.ResoldList(t.Context(), 1, Filter{Query: f.query, Status: f.status}, page.Params{Page: p, PerPage: perPage})
					if err != nil || shown.Meta.Total != 7 || len(shown.Data) != len(rows) {
						t.Fatalf("%+v, page %d of %d for a reseller: %+v, %v", f, p, perPage, shown, err)
					}
					for i, r := range rows {
						ids = append(ids, r.id)
						if shown.Data[i].ID != r.id {
							t.Errorf("%+v, page %d of %d for a reseller: %d in the place of %d", f, p, perPage, shown.Data[i].ID, r.id)
						}
					}
				}
				w.same("ids", []int64{7, 6, 5, 4, 3, 2, 1}, ids)
			}
		}
		if rows, total, err := list(t.Context(), d, 1, filter{query: "nowhere"}, page.Params{}); len(rows) != 0 || total != 0 || err != nil {
			t.Errorf("%d rows of %d, %v", len(rows), total, err)
		}
	})
}
