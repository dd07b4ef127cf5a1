package orders

import (
	"context"
	"errors"
	"testing"

	"stead.dev/stead/internal/commerce/sale"
	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/testkit"
)

func TestASaleIsAnOrderThatIsDoneAtOnce(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		w := newWorld(t, d, clk)
		w.give(1000)
		domain := "a.test"
		tariff := sale.Sale{
			AccountID: 1, ServiceID: 9, Kind: "tariff_change", Title: "Pro", Domain: &domain, PlanID: 2, PeriodMonths: 1,
			Price: 750, Discount: 350,
		}
		var id int64
		sell := func(s sale.Sale) error {
			return d.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) (err error) {
				id, err = w.sell(ctx, tx, s)
				return err
			})
		}
		if err := sell(tariff); err != nil {
			t.Fatal(err)
		}
		w.same("the balance", int64(600), w.balance())
		w.same("the state", Completed, w.state(id))
		w.same("what is told", []string{"order.created", "order.paid", "order.completed"}, w.told(id))
		w.same("what was set aside and taken", int64(400), w.number(`SELECT amount FROM test_held WHERE order_id = $1 AND state = 'captured'`, id))

		back := tariff
		back.Price, back.Discount, back.Credit = 200, 200, 150
		if err := sell(back); err != nil {
			t.Fatal(err)
		}
		w.same("the balance after a credit", int64(750), w.balance())

		before := w.number(`SELECT COUNT(*) FROM orders`)
		dear := tariff
		dear.Price, dear.Discount = 5000, 0
		if err := sell(dear); !errors.Is(err, fault.InsufficientFunds) {
			t.Errorf("a sale that is too dear: %v", err)
		}
		for _, wrong := range []sale.Sale{{Price: 1, Discount: 2}, {Price: 1, Discount: -1}, {Price: 1, Credit: -1}} {
			if err := sell(wrong); err == nil {
				t.Errorf("sold %+v", wrong)
			}
		}
		w.same("orders", before, w.number(`SELECT COUNT(*) FROM orders`))
	})
}
