package orders

import (
	"context"
	"testing"

	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/money"
	"stead.dev/stead/internal/platform/testkit"
)

// rates are of account 1, which pays a third less.
type rates struct{}

func (rates) Wholesale(_ context.Context, _ db.Querier, accountID int64) (int, bool, error) {
	return 3333, accountID == 1, nil
}

func TestAResellerPaysWholesaleWithoutPromotions(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		w := newWorld(t, d, clk)
		w.Rates = rates{}
		for _, c := range []struct {
			account, plan               int64
			months                      int
			unit, setup, discount, paid money.USDCents
		}{
			{1, 1, 1, 334, 0, 0, 334},     // 333.35 is rounded up
			{1, 1, 12, 3334, 0, 0, 3334},  // 3333.50
			{1, 2, 1, 334, 167, 0, 501},   // cheap at first for others only; its setup is 250
			{2, 2, 1, 500, 250, 400, 350}, // a customer
			{2, 1, 12, 5000, 0, 0, 5000},  //
			{1, 4, 1, 0, 0, 0, 0},         // what is free stays so
		} {
			var o order
			w.in(func(ctx context.Context, tx *db.Tx) (err error) {
				o, err = w.create(ctx, tx, wish{accountID: c.account, planID: c.plan, months: c.months, domain: "shop.example.com"})
				return err
			})
			if i := o.items[0]; i.unitPrice != c.unit || i.setup != c.setup || i.discount != c.discount || o.total != c.paid {
				t.Errorf("account %d, plan %d for %d months: %d + %d - %d = %d, want %+v",
					c.account, c.plan, c.months, i.unitPrice, i.setup, i.discount, o.total, c)
			}
		}
	})
}
