package invoices

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"stead.dev/stead/internal/commerce/sale"
	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/db"
)

func TestFiftyPaidAtOnceHaveFiftyNumbersWithoutAGap(t *testing.T) {
	t.Parallel()
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
			if told := e.Data.(invoiceWire); e.Type != "invoice.issued" || !slices.Contains(want, *told.Number) || *told.ID != e.SubjectID {
				t.Fatalf("%+v", e)
			}
		}
	})
}

// TestAPaymentThatIsUndoneAtItsEndLeavesNoGap pays side by side; some payments fail after their invoices are written.
func TestAPaymentThatIsUndoneAtItsEndLeavesNoGap(t *testing.T) {
	t.Parallel()
	each(t, func(w *world, _ *clock.Fake) {
		const all, failing = 20, 5
		refused := errors.New("refused when all are numbered")
		var paying sync.WaitGroup
		ends, ids := make([]error, all), make([]int64, all)
		for n := range int64(all) {
			b := w.billFor(1, n+1, n+1, 1000)
			paying.Go(func() {
				ends[n] = w.DB.InTx(context.Background(), func(ctx context.Context, tx *db.Tx) (err error) {
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
	t.Parallel()
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
	t.Parallel()
	each(t, func(w *world, _ *clock.Fake) {
		w.sell(1, 1, 1, 1000)
		b := w.billFor(1, 1, 1, 1000)
		if err := w.in(func(ctx context.Context, tx *db.Tx) error { _, err := w.invoice(ctx, tx, b); return err }); err == nil {
			t.Error("an order has two invoices")
		}
		w.must(func(ctx context.Context, tx *db.Tx) error {
			_, err := w.invoice(ctx, tx, sale.Bill{AccountID: 1, OrderID: 2})
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

// TestADocumentIsThereBeforeItHasItsNumber: between the payment and its number a document is shown without one, and has
// no PDF, which would be kept without a number for good.
func TestADocumentIsThereBeforeItHasItsNumber(t *testing.T) {
	each(t, func(w *world, _ *clock.Fake) {
		var id int64
		w.must(func(ctx context.Context, tx *db.Tx) (err error) {
			id, err = w.invoice(ctx, tx, w.billFor(1, 1, 1, 1000))
			return err
		})
		path := fmt.Sprintf("/api/v1/invoices/%d", id)
		var got invoiceWire
		if w.read(w.call("own", "GET", path, ""), &got); got.Number != nil || got.Status != Paid {
			t.Errorf("%+v", got)
		}
		if rec := w.call("own", "GET", path+"?format=pdf", ""); rec.Code != http.StatusConflict || !strings.Contains(rec.Body.String(), "invoice_not_numbered") {
			t.Errorf("%d %s", rec.Code, rec.Body)
		}
		if err := w.Verify(t.Context()); err != nil {
			t.Errorf("a document that waits for its number is taken for a gap: %v", err)
		}
		w.number()
		if w.read(w.call("own", "GET", path, ""), &got); *got.Number != "INV-2026-000001" {
			t.Errorf("%+v", got)
		}
		if rec := w.call("own", "GET", path+"?format=pdf", ""); rec.Code != http.StatusOK {
			t.Errorf("%d %s", rec.Code, rec.Body)
		}
	})
}

// TestACreditNoteNamesAnInvoiceThatWasNotNumberedYet: an order may fail before its invoice has its number.
func TestACreditNoteNamesAnInvoiceThatWasNotNumberedYet(t *testing.T) {
	each(t, func(w *world, _ *clock.Fake) {
		for _, apart := range []int64{1, 2} { // numbered in one batch with the invoice; in a later one
			w.must(func(ctx context.Context, tx *db.Tx) error {
				if _, err := w.invoice(ctx, tx, w.billFor(1, apart, apart, 1000)); err != nil {
					return err
				}
				if apart == 1 {
					return w.CancelOrder(ctx, tx, 1)
				}
				return nil
			})
		}
		w.must(func(ctx context.Context, tx *db.Tx) error { return w.CancelOrder(ctx, tx, 2) })
		w.must(func(ctx context.Context, tx *db.Tx) error {
			all, err := unnumbered(ctx, tx, 3) // invoice, its note, the other invoice
			if err != nil {
				return err
			}
			return w.Service.number(ctx, tx, all)
		})
		w.number()
		notes, err := db.Collect(t.Context(), w.DB, documentRows.Scan, `SELECT `+documentRows.Columns()+` FROM invoices WHERE kind = 'credit_note' ORDER BY id`)
		if err != nil || len(notes) != 2 {
			t.Fatalf("%+v %v", notes, err)
		}
		for n, note := range notes {
			want := fmt.Sprintf("INV-2026-%06d", n+1)
			if note.document.Corrects != want || note.document.Lines[0].Title != want || note.number() != fmt.Sprintf("CN-2026-%06d", n+1) {
				t.Errorf("%+v, want it to correct %s", note, want)
			}
		}
	})
}

// TestASequencerThatFailsLeavesNoGap: what a run has numbered is undone with its events when it does not commit, and runs
// on several replicas at once give each number once.
func TestASequencerThatFailsLeavesNoGap(t *testing.T) {
	each(t, func(w *world, _ *clock.Fake) {
		const all = 30
		for n := range int64(all) {
			w.must(func(ctx context.Context, tx *db.Tx) error {
				_, err := w.invoice(ctx, tx, w.billFor(1, n+1, n+1, 1000))
				return err
			})
		}
		killed := errors.New("killed before the commit")
		err := w.in(func(ctx context.Context, tx *db.Tx) error {
			some, err := unnumbered(ctx, tx, all/2)
			if err == nil {
				err = w.Service.number(ctx, tx, some)
			}
			return errors.Join(killed, err)
		})
		if !errors.Is(err, killed) {
			t.Fatal(err)
		}
		var running sync.WaitGroup
		errs := make(chan error, 4)
		for range cap(errs) {
			running.Go(func() { errs <- w.Number(t.Context()) })
		}
		running.Wait()
		close(errs)
		for err := range errs {
			if err != nil {
				t.Error(err)
			}
		}
		got := w.numbers(1, Invoice)
		for n, number := range got {
			if want := fmt.Sprintf("INV-2026-%06d", n+1); number != want {
				t.Errorf("%s is %s: not in the order of the payments", want, number)
			}
		}
		if err := w.Verify(t.Context()); err != nil || len(got) != all || len(w.told) != all {
			t.Errorf("%d numbers, %d events, %v", len(got), len(w.told), err)
		}
	})
}
