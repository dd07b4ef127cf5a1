package orders

import (
	"context"
	"errors"
	"testing"

	"stead.dev/stead/internal/commerce/sale"
	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/money"
	"stead.dev/stead/internal/platform/testkit"
)

// TestATakeoverCostsNothing: its order is closed when it is made, nobody is told of it, and the plan may be off sale.
func TestATakeoverCostsNothing(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		w := newWorld(t, d, clk)
		kept := money.USDCents(120)
		take := func(i Import) (id int64, price money.USDCents, err error) {
			i.AccountID, i.From = 1, sale.Takeover{Source: "whmcs", ID: i.Domain}
			err = d.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) (err error) {
				id, price, err = w.TakeOver(ctx, tx, i)
				return err
			})
			return id, price, err
		}
		for _, c := range []struct {
			Import
			want money.USDCents
		}{
			{Import{PlanID: 1, PeriodMonths: 12, Domain: "catalog.com"}, 5000},
			{Import{PlanID: 1, PeriodMonths: 3, Domain: "kept.com", Price: &kept}, 120},
			{Import{PlanID: 3, PeriodMonths: 1, Domain: "off-sale.com", Price: &kept}, 120},
		} {
			id, price, err := take(c.Import)
			if err != nil || price != c.want {
				t.Fatalf("%s: %v, %v", c.Domain, price, err)
			}
			o, err := get(t.Context(), d, id-1000)
			if err != nil || o.status != Completed || o.total != 0 || o.invoiceID != nil || o.completedAt == nil || *o.serviceID() != id || *o.items[0].periodMonths != c.PeriodMonths {
				t.Errorf("%s: %+v, %v", c.Domain, o, err)
			}
		}
		if n := w.number(`SELECT COUNT(*) FROM outbox_events`); n != 0 {
			t.Errorf("%d events", n)
		}
		if n := w.number(`SELECT COUNT(*) FROM test_held`); n != 0 {
			t.Errorf("money is held %d times", n)
		}
		if n := w.number(`SELECT sold FROM test_stock WHERE plan_id = 1`); n != 2 {
			t.Errorf("%d sold of plan 1", n)
		}
		for domain, want := range map[string]*fault.Def{"no domain": fault.DomainInvalid, "shop.stead.test": fault.DomainUnavailable, "kept.com": fault.DomainUnavailable} {
			if _, _, err := take(Import{PlanID: 1, PeriodMonths: 1, Domain: domain, Price: &kept}); !errors.Is(err, want) {
				t.Errorf("%s: %v, want %s", domain, err, want.Key)
			}
		}
	})
}
