package admin

import (
	"context"
	"testing"
	"time"

	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/money"
	"stead.dev/stead/internal/platform/testkit"
)

// taxed adds a tenth to what account 1 pays.
type taxed struct{}

func (taxed) Taxes(context.Context, db.Querier, []int64) (map[int64]money.Tax, error) {
	return map[int64]money.Tax{1: {BasisPoints: 1000}}, nil
}

// TestTheDashboardCountsMoneyOnce: an add-on is in the price of the renewal, the plan that comes with the renewal sets its price,
// tax is added, and play money is none.
func TestTheDashboardCountsMoneyOnce(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		a := New(Sections{DB: d, Clock: clk, Taxes: taxed{}})
		now := clk.Now()
		err := d.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
			for _, s := range []struct {
				account       int64
				sandbox       bool
				price, addons money.USDCents
				pending       *money.USDCents
			}{
				{1, false, 1500, 500, nil},
				{1, false, 1000, 0, new(money.USDCents(2000))},
				{2, false, 700, 0, nil},
				{3, true, 9000, 0, nil},
			} {
				_, err := tx.Exec(ctx, `INSERT INTO services (account_id, sandbox, order_id, type, label, status, search, plan_id, plan_slug, plan_name, limits,
						period_months, auto_renew, renew_price, addon_price, pending_plan_id, pending_plan_at, pending_price, panel, panel_ref, username,
						created_at, provisioning_at, provisioned_at, expires_at, next_renewal_attempt_at, step_at)
					SELECT $1, $2, 0, 'hosting', 'a', 'active', '', 1, 's', 'S', '{}', 1, TRUE, $3, $4, CASE WHEN CAST($5 AS BIGINT) IS NULL THEN NULL ELSE 2 END,
						CASE WHEN CAST($5 AS BIGINT) IS NULL THEN NULL ELSE CAST($6 AS BIGINT) END, $5, 'sandbox', '1', 'u', $7, $7, $7, $6, $6, $6`,
					s.account, s.sandbox, s.price, s.addons, s.pending, now.Add(24*time.Hour), now)
				if err != nil {
					return err
				}
			}
			for account, balance := range map[int64]money.USDCents{1: 1650, 2: 699, 3: 100_000} {
				if _, err := tx.Exec(ctx, `INSERT INTO wallet_ledger_accounts (kind, owner_id, balance) VALUES ('customer', $1, $2)`, account, balance); err != nil {
					return err
				}
			}
			_, err := tx.Exec(ctx, `INSERT INTO wallet_sandboxes (account_id) VALUES (3)`)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		var home Dashboard
		if err := a.totals(t.Context(), now, &home); err != nil {
			t.Fatal(err)
		}
		if home.Recurring != 3200 || home.Wallets != 2349 {
			t.Errorf("recurring %d, want 3200; wallets %d, want 2349", home.Recurring, home.Wallets)
		}
		days, err := a.renewals(t.Context(), now)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := days[1], (DayRenewals{Day: now.Add(24 * time.Hour).Format(time.DateOnly), Services: 3, Amount: 1650 + 2200 + 700, Uncovered: 2}); got != want {
			t.Errorf("%+v, want %+v", got, want)
		}
	})
}
