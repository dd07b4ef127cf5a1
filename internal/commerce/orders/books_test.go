package orders

import (
	"context"
	"errors"
	"math/rand/v2"
	"testing"

	"stead.dev/stead/internal/commerce/sale"
	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/money"
	"stead.dev/stead/internal/platform/testkit"
)

func TestTheTaxOfAnOrderDoesNotDependOnItsItems(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 5))
	for range 5000 {
		by := money.Tax{BasisPoints: random.IntN(3000), Included: random.IntN(2) == 0}
		items := make([]item, 1+random.IntN(6))
		var price money.USDCents
		for i := range items {
			own := money.USDCents(random.Int64N(2000))
			// It was taxed otherwise before, which does not count.
			items[i] = item{total: own + 7, tax: 7, taxIncluded: 3, discount: 5}
			price += own
		}
		now, err := taxed(items, by)
		if err != nil {
			t.Fatal(err)
		}
		all, err := sumsOf(now)
		added, contained, _ := by.Of(price)
		want := sums{price + money.USDCents(5*len(items)), money.USDCents(5 * len(items)), added, contained, price + added}
		if err != nil || all != want {
			t.Fatalf("%+v of %+v: %+v, %v; want %+v", by, items, all, err, want)
		}
		for _, i := range now {
			if i.tax < 0 || i.taxIncluded < 0 {
				t.Fatalf("%+v", i)
			}
		}
	}
}

// levy is how everybody is taxed.
type levy struct{ by money.Tax }

func (l *levy) Taxes(_ context.Context, _ db.Querier, accountIDs []int64) (map[int64]money.Tax, error) {
	all := map[int64]money.Tax{}
	for _, id := range accountIDs {
		all[id] = l.by
	}
	return all, nil
}

// shoebox keeps bills in memory: those of transactions that were undone too.
type shoebox struct {
	bills     []sale.Bill
	ids       int64
	cancelled []int64
	credited  map[int64]money.USDCents // orders that the next credit is of
}

func (s *shoebox) NextIDs(_ context.Context, _ *db.Tx, n int) (ids []int64, err error) {
	for range n {
		s.ids++
		ids = append(ids, 500+s.ids)
	}
	return ids, nil
}

func (s *shoebox) Invoice(_ context.Context, _ *db.Tx, bills []sale.Bill) error {
	s.bills = append(s.bills, bills...)
	return nil
}

func (s *shoebox) CancelOrder(_ context.Context, _ *db.Tx, id int64) error {
	s.cancelled = append(s.cancelled, id)
	return nil
}

func (s *shoebox) CreditService(_ context.Context, _ *db.Tx, _, _ int64, price money.USDCents) (money.USDCents, map[int64]money.USDCents, error) {
	return price + price/10, s.credited, nil
}

func (s *shoebox) RefundOrder(_ context.Context, _ *db.Tx, id int64, total money.USDCents, _ string) (sale.Refund, error) {
	return sale.Refund{CreditNote: 900 + id, Total: total, Price: total - total/10}, nil
}

func TestAnOrderIsTaxedWhenItIsMadeAndWhenItIsPaid(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		w := newWorld(t, d, clk)
		w.give(2000)
		box, tax := &shoebox{}, &levy{money.Tax{Name: "VAT", BasisPoints: 1000}}
		w.Books, w.Taxes = box, tax
		id := w.order("a.test")
		w.same("total when it is made", int64(550), w.number(`SELECT total FROM orders WHERE id = $1`, id))
		tax.by = money.Tax{Name: "VAT", BasisPoints: 2000}
		if status, key := w.pay(id); status != 200 {
			t.Fatal(key)
		}
		w.same("total when it is paid", int64(600), w.number(`SELECT total FROM orders WHERE id = $1`, id))
		w.same("tax of its item", int64(100), w.number(`SELECT tax FROM orders_items WHERE order_id = $1`, id))
		w.same("the balance", int64(1400), w.balance())
		w.same("its invoice", 500+id, w.number(`SELECT invoice_id FROM orders WHERE id = $1`, id))
		w.same("its bill", []int64{500, 0, 100, 0, 600}, []int64{
			int64(box.bills[0].Subtotal), int64(box.bills[0].Discount), int64(box.bills[0].TaxAdded), int64(box.bills[0].TaxContained), int64(box.bills[0].Total),
		})

		refund := func(id int64, total money.USDCents) error {
			return d.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
				_, err := w.Refund(ctx, tx, id, total, "because")
				return err
			})
		}
		if err := refund(id, 10); !errors.Is(err, ErrNotRefundable) {
			t.Errorf("an order in processing is refunded: %v", err)
		}
		w.in(func(ctx context.Context, tx *db.Tx) error { return w.Complete(ctx, tx, id) })
		if err := refund(id, 200); err != nil {
			t.Error(err)
		}
		w.same("refunded", int64(200), w.number(`SELECT refunded FROM orders WHERE id = $1`, id))
		w.same("the balance after it", int64(1600), w.balance())
		w.same("what is told", []string{"order.created", "order.paid", "order.completed", "order.refunded"}, w.told(id))
		w.same("its state", Completed, w.state(id))
		w.same("services of which time was taken back", int64(1), w.number(`SELECT COUNT(*) FROM test_services WHERE domain = 'a.test less $1.80'`))

		tax.by.Included = true
		failing := w.order("b.test")
		w.same("total with the tax in it", int64(500), w.number(`SELECT total FROM orders WHERE id = $1 AND tax_included = 83`, failing))
		if status, key := w.pay(failing); status != 200 {
			t.Fatal(key)
		}
		w.in(func(ctx context.Context, tx *db.Tx) error { return w.Fail(ctx, tx, failing, "disk_full") })
		w.same("invoices taken back", []int64{failing}, box.cancelled)
	})
}

func TestTheTimeOfAServiceThatCameBackIsTakenBackWithItsMoney(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		w := newWorld(t, d, clk)
		w.give(1000)
		w.Books, w.Taxes = &shoebox{}, &levy{}
		w.exec(`INSERT INTO test_services (id, domain, status) VALUES (9, 'a.test', 'active')`)
		w.in(func(ctx context.Context, tx *db.Tx) error {
			id, err := w.Begin(ctx, tx, sale.Purchase{AccountID: 1, Kind: "renewal", Title: "Start", ServiceID: 9, PeriodMonths: 1, Price: 500})
			if err == nil {
				err = w.Complete(ctx, tx, id)
			}
			if err == nil {
				_, err = w.Refund(ctx, tx, id, 200, "because")
			}
			return err
		})
		w.same("services of which time was taken back", int64(1), w.number(`SELECT COUNT(*) FROM test_services WHERE domain = 'a.test less $1.80'`))
	})
}

func TestASaleGivesBackTheTaxOfWhatItCredits(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		w := newWorld(t, d, clk)
		w.give(1000)
		box := &shoebox{}
		w.Books, w.Taxes = box, &levy{}
		domain := "a.test"
		sell := func(s sale.Sale) (id int64) {
			s.AccountID, s.ServiceID, s.Kind, s.Title, s.Domain, s.PlanID, s.PeriodMonths = 1, 9, "tariff_change", "Small", &domain, 1, 1
			w.in(func(ctx context.Context, tx *db.Tx) (err error) {
				id, err = w.sell(ctx, tx, s)
				return err
			})
			return id
		}
		bought := sell(sale.Sale{Price: 500})
		w.same("the balance", int64(500), w.balance())
		box.credited = map[int64]money.USDCents{bought: 220}
		sell(sale.Sale{Price: 100, Discount: 100, Credit: 200})
		w.same("the balance after it", int64(720), w.balance())
		// Who counts what was spent, as rewards do, hears that it came back.
		w.same("refunded of what was bought", int64(220), w.number(`SELECT refunded FROM orders WHERE id = $1`, bought))
		w.same("what is told of it", []string{"order.created", "order.paid", "order.completed", "order.refunded"}, w.told(bought))
	})
}
