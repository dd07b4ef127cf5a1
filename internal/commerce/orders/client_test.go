package orders

import (
	"context"
	"testing"

	"stead.dev/stead/internal/commerce/sale"
	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/page"
	"stead.dev/stead/internal/platform/testkit"
)

func TestAnOrderKeepsTheTagThatItWasMadeWith(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		w := newWorld(t, d, clk)
		w.exec(`INSERT INTO test_purse (account_id, balance) VALUES (1, 100000) ON CONFLICT (account_id) DO UPDATE SET balance = 100000`)
		seven := "seven"
		w.in(func(ctx context.Context, tx *db.Tx) error {
			_, err := w.Buy(ctx, tx, Provision{AccountID: 1, PlanID: 1, Domain: "a.example.com", ClientRef: &seven})
			if err == nil {
				_, err = w.sell(ctx, tx, sale.Sale{AccountID: 1, ServiceID: 1, Kind: "renewal", Title: "One", PlanID: 1, PeriodMonths: 1, Price: 100, ClientRef: &seven})
			}
			if err == nil {
				_, err = w.Begin(ctx, tx, sale.Purchase{AccountID: 1, Kind: "domain_register", Title: "a.example", Domain: new("a.example"), DomainID: 1, PeriodMonths: 12, ClientRef: &seven})
			}
			if err == nil {
				_, err = w.Buy(ctx, tx, Provision{AccountID: 1, PlanID: 1, Domain: "b.example.com"})
			}
			return err
		})
		for tag, want := range map[string]int{"": 4, "seven": 3, "eight": 0} {
			rows, total, err := list(t.Context(), d, 1, "", tag, page.Params{})
			if err != nil || total != want || len(rows) != want {
				t.Errorf("%d orders of %d are tagged %q, want %d: %v", len(rows), total, tag, want, err)
			}
			for _, o := range rows {
				if tag != "" && (o.clientRef == nil || *o.clientRef != tag || *eventOf(t.Context(), o).ClientRef != tag) {
					t.Errorf("order %d is tagged %v", o.id, o.clientRef)
				}
			}
		}
	})
}
