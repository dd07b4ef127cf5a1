package invoices

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/db"
)

func TestFiftyPaidAtOnceHaveFiftyNumbersWithoutAGap(t *testing.T) {
	each(t, func(w *world, _ *clock.Fake) {
		refused := errors.New("the payment is refused after its invoice was written")
		var paid, undone sync.WaitGroup
		errs := make(chan error, 100)
		for n := range int64(50) {
			b, other := w.billFor(1, n+1, n+1, 1000), w.billFor(2, n+1001, n+1001, 500)
			paid.Go(func() {
				errs <- w.DB.InTx(context.Background(), func(ctx context.Context, tx *db.Tx) error {
					_, err := w.invoice(ctx, tx, b)
					return err
				})
			})
			undone.Go(func() {
				err := w.DB.InTx(context.Background(), func(ctx context.Context, tx *db.Tx) error {
					if n%2 == 0 {
						tx.AtEnd("~z", func(context.Context) error { return refused }) // when the number is taken already
					}
					if _, err := w.invoice(ctx, tx, other); err != nil || n%2 == 0 {
						return err
					}
					return refused
				})
				if !errors.Is(err, refused) {
					errs <- fmt.Errorf("a refused payment: %w", err)
				}
			})
		}
		paid.Wait()
		undone.Wait()
		close(errs)
		for err := range errs {
			if err != nil {
				t.Error(err)
			}
		}
		got := w.numbers(1, Invoice)
		slices.Sort(got)
		var want []string
		for n := range 50 {
			want = append(want, fmt.Sprintf("INV-2026-%06d", n+1))
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("the numbers (-want +got):\n%s", diff)
		}
		if left := w.numbers(2, Invoice); left != nil {
			t.Errorf("refused payments have %v", left)
		}
		if err := w.Verify(t.Context()); err != nil {
			t.Error(err)
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		if len(w.told) != 50 {
			t.Errorf("%d events", len(w.told))
		}
		for _, e := range w.told {
			if told := e.Data.(invoiceWire); e.Type != "invoice.issued" || !slices.Contains(want, told.Number) || *told.ID != e.SubjectID {
				t.Fatalf("%+v", e)
			}
		}
	})
}

// TestOneThatFailsAtTheEndTakesNoNumberFromThoseItWasPaidWith: who is one of several in a transaction that is undone has the
// invoice with the id that was taken when it is paid alone, and the numbers have no gap.
func TestOneThatFailsAtTheEndTakesNoNumberFromThoseItWasPaidWith(t *testing.T) {
	each(t, func(w *world, _ *clock.Fake) {
		const all, failing = 20, 5
		refused := errors.New("refused when all are numbered")
		together := w.DB.NewGroup()
		var paying sync.WaitGroup
		ends, ids := make([]error, all), make([]int64, all)
		for n := range int64(all) {
			b := w.billFor(1, n+1, n+1, 1000)
			paying.Go(func() {
				ends[n] = together.InTx(context.Background(), 1, n, func(ctx context.Context, tx *db.Tx) (err error) {
					if n%failing == 0 {
						tx.AtEnd("~z", func(context.Context) error { return refused })
					}
					ids[n], err = w.invoice(ctx, tx, b)
					return err
				})
			})
		}
		paying.Wait()
		for n, err := range ends {
			if n%failing == 0 {
				if !errors.Is(err, refused) {
					t.Errorf("%d: %v", n, err)
				}
				continue
			}
			if r := w.get(ids[n]); err != nil || *r.orderID != int64(n+1) {
				t.Errorf("%d: %v, %+v", n, err, r)
			}
		}
		if got := w.numbers(1, Invoice); len(got) != all-all/failing {
			t.Errorf("%v", got)
		}
		if err := w.Verify(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func TestNumbersAreOfASellerAKindAndAYear(t *testing.T) {
	each(t, func(w *world, clk *clock.Fake) {
		tashkent, err := time.LoadLocation("Asia/Tashkent")
		if err != nil {
			t.Fatal(err)
		}
		w.Zone = tashkent
		w.sell(1, 1, 1, 1000)
		w.sell(3, 2, 2, 1000) // the sandbox
		w.sell(1, 3, 3, 1000)
		w.must(func(ctx context.Context, tx *db.Tx) error {
			if err := w.CancelOrder(ctx, tx, 1); err != nil {
				return err
			}
			return w.CancelOrder(ctx, tx, 3)
		})
		clk.Set(time.Date(2026, 12, 31, 18, 59, 0, 0, time.UTC))
		w.sell(1, 4, 4, 1000)
		clk.Set(time.Date(2026, 12, 31, 19, 1, 0, 0, time.UTC)) // it is 2027 in Tashkent
		w.sell(1, 5, 5, 1000)
		w.Prefix = "ACME-"
		w.sell(1, 6, 6, 1000)
		for _, c := range []struct {
			account int64
			kind    Kind
			want    []string
		}{
			{1, Invoice, []string{"INV-2026-000001", "INV-2026-000002", "INV-2026-000003", "INV-2027-000001", "ACME-INV-2027-000001"}},
			{1, CreditNote, []string{"CN-2026-000001", "CN-2026-000002"}},
			{3, Invoice, []string{"SANDBOX-3-INV-2026-000001"}},
		} {
			if diff := cmp.Diff(c.want, w.numbers(c.account, c.kind)); diff != "" {
				t.Errorf("%ss of %d (-want +got):\n%s", c.kind, c.account, diff)
			}
		}
		if err := w.Verify(t.Context()); err != nil {
			t.Error(err)
		}
		w.must(func(ctx context.Context, tx *db.Tx) error {
			_, err := tx.Exec(ctx, `UPDATE invoices SET sequence = 9 WHERE order_id = 3 AND kind = 'invoice'`)
			return err
		})
		if err := w.Verify(t.Context()); err == nil {
			t.Error("a gap was not found")
		}
	})
}

func TestAnOrderHasOneInvoiceAndAFreeOneNone(t *testing.T) {
	each(t, func(w *world, _ *clock.Fake) {
		w.sell(1, 1, 1, 1000)
		b := w.billFor(1, 1, 1, 1000)
		if err := w.in(func(ctx context.Context, tx *db.Tx) error { _, err := w.invoice(ctx, tx, b); return err }); err == nil {
			t.Error("an order has two invoices")
		}
		w.must(func(ctx context.Context, tx *db.Tx) error {
			_, err := w.invoice(ctx, tx, Bill{AccountID: 1, OrderID: 2})
			return err
		})
		if n := w.numbers(1, Invoice); len(n) != 1 {
			t.Errorf("%v", n)
		}
		if err := w.Verify(t.Context()); err != nil {
			t.Error(err)
		}
	})
}
