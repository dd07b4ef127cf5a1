package billing

import (
	"context"
	"testing"

	"stead.dev/stead/internal/commerce/services/servicestest"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/money"
)

// rates are of account 1, which pays a third less.
type rates struct{}

func (rates) Wholesale(_ context.Context, _ db.Querier, accountID int64) (int, bool, error) {
	return 3333, accountID == 1, nil
}

func TestAResellerPaysWholesaleForWhatComes(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		w.Rates = rates{}
		own, others := w.active(servicestest.Ask("own.test")), servicestest.Ask("others.test")
		others.AccountID = 2
		other := w.active(others)
		for _, c := range []struct {
			account, id int64
			months      int
			want        money.USDCents
		}{
			{1, own, 0, 499},   // its own period costs what it was sold for
			{1, own, 12, 3327}, // 4990 less 33.33 %, 3326.83, rounded up
			{2, other, 12, 4990},
		} {
			w.In(func(ctx context.Context, tx *db.Tx) error {
				quote, _, err := w.renew(ctx, tx, c.account, c.id, renewalWish{months: c.months})
				if quote.price != c.want {
					t.Errorf("service %d for %d months costs %d, want %d", c.id, c.months, quote.price, c.want)
				}
				return err
			})
		}
		for account, want := range map[int64]map[int64]money.USDCents{1: {4: 667, 5: 67, 6: 467}, 2: {4: 1000, 5: 100, 6: 700}} {
			id := map[int64]int64{1: own, 2: other}[account]
			_, quotes, err := w.tariffs(t.Context(), account, id)
			if err != nil || len(quotes) != len(want) {
				t.Fatalf("%d tariffs, %v", len(quotes), err)
			}
			for _, q := range quotes {
				if q.offer.Price != want[q.offer.PlanID] {
					t.Errorf("plan %d costs account %d %d, want %d", q.offer.PlanID, account, q.offer.Price, want[q.offer.PlanID])
				}
			}
		}
		w.In(func(ctx context.Context, tx *db.Tx) error {
			_, _, err := w.changeTariff(ctx, tx, 1, own, tariffWish{planID: 4})
			return err
		})
		if r := w.record(own); r.PlanID != 4 || r.RenewPrice != 667 {
			t.Errorf("plan %d renews for %d, want what the reseller pays", r.PlanID, r.RenewPrice)
		}
	})
}
