package invoices

import (
	"context"
	"errors"
	"maps"
	"math/rand/v2"
	"strings"
	"testing"

	"stead.dev/stead/internal/commerce/sale"
	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/i18n"
	"stead.dev/stead/internal/platform/money"
	"stead.dev/stead/internal/platform/outbox"
)

func TestPartsOfAnInvoiceSumToItWhateverTheyAre(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 11))
	for range 20_000 {
		price := money.USDCents(1 + random.Int64N(3000))
		added, contained, err := money.Tax{BasisPoints: random.IntN(2500), Included: random.IntN(2) == 0}.Of(price)
		if err != nil {
			t.Fatal(err)
		}
		r := record{subtotal: price, tax: added, taxIncluded: contained, total: price + added}
		var sum part
		for r.left() > 0 {
			p, err := r.partOfTotal(r.left())
			wanted := money.USDCents(-1)
			switch random.IntN(4) {
			case 0:
				wanted = 1 + money.USDCents(random.Int64N(int64(r.left())))
				p, err = r.partOfTotal(wanted)
			case 1:
				p, err = r.partOfPrice(money.USDCents(random.Int64N(int64(price + 10))))
			}
			if err != nil || p.price < 0 || p.tax < 0 || p.taxIncluded < 0 || wanted >= 0 && p.total() != wanted {
				t.Fatalf("%+v of %+v for %d: %v", p, r, wanted, err)
			}
			r.credited, r.creditedTax = r.credited+p.price, r.creditedTax+p.tax
			sum = part{sum.price + p.price, sum.tax + p.tax, sum.taxIncluded + p.taxIncluded}
			if r.credited > r.price() || r.creditedTax > r.tax {
				t.Fatalf("more was taken back than there was: %+v", r)
			}
		}
		if sum != (part{price, added, contained}) {
			t.Fatalf("the parts of %+v sum to %+v", r, sum)
		}
	}
}

func TestARefundIsACreditNoteAndNeverMoreThanWhatIsLeft(t *testing.T) {
	t.Parallel()
	each(t, func(w *world, _ *clock.Fake) {
		sold := w.sell(1, 1, 9, 999) // and 12 % of it: 1119
		refund := func(total money.USDCents) (r sale.Refund, err error) {
			err = w.in(func(ctx context.Context, tx *db.Tx) error {
				r, err = w.RefundOrder(ctx, tx, 1, total, "goodwill")
				return err
			})
			return r, err
		}
		first, err := refund(500)
		if err != nil || first.Total != 500 || first.Price != 446 {
			t.Fatalf("%+v %v", first, err)
		}
		note := w.get(first.CreditNote)
		if note.kind != CreditNote || note.number() != "CN-2026-000001" || *note.corrects != sold.id || note.document.Corrects != sold.number() ||
			note.document.Reason != "goodwill" || note.total != 500 || note.tax != 54 || note.document.Buyer != sold.document.Buyer {
			t.Errorf("%+v", note)
		}
		if now := w.get(sold.id); now.status() != Paid || now.left() != 619 {
			t.Errorf("%s, %d is left", now.status(), now.left())
		}
		_, err = refund(620)
		if !errors.Is(err, ErrRefundTooLarge) {
			t.Errorf("more than is left: %v", err)
		}
		if text := i18n.T(i18n.English, "error.refund_too_large", fault.From(err).Fields); !strings.HasSuffix(text, " $6.19.") {
			t.Errorf("the operator is told: %s", text)
		}
		rest, err := refund(0)
		if err != nil || rest.Total != 619 || rest.Price != 999-446 {
			t.Fatalf("%+v %v", rest, err)
		}
		if now := w.get(sold.id); now.status() != Refunded {
			t.Errorf("%s", now.status())
		}
		if _, err := refund(0); !errors.Is(err, ErrRefundTooLarge) {
			t.Errorf("of nothing that is left: %v", err)
		}
		if n := w.numbers(1, CreditNote); len(n) != 2 {
			t.Errorf("%v", n)
		}
	})
}

func TestAnOrderThatCannotBeMadeIsCreditedOnce(t *testing.T) {
	t.Parallel()
	each(t, func(w *world, _ *clock.Fake) {
		sold := w.sell(1, 1, 9, 1000)
		for range 2 {
			w.must(func(ctx context.Context, tx *db.Tx) error { return w.CancelOrder(ctx, tx, 1) })
		}
		w.must(func(ctx context.Context, tx *db.Tx) error { return w.CancelOrder(ctx, tx, 404) })
		if n := w.numbers(1, CreditNote); len(n) != 1 || w.get(sold.id).status() != Refunded {
			t.Errorf("%v, %s", n, w.get(sold.id).status())
		}
		// One that fails in the transaction in which it was paid.
		b := w.billFor(1, 2, 9, 1000)
		w.must(func(ctx context.Context, tx *db.Tx) error {
			if _, err := w.invoice(ctx, tx, b); err != nil {
				return err
			}
			return w.CancelOrder(ctx, tx, 2)
		})
		w.number()
		rows, _, err := list(t.Context(), w.DB, 1, CreditNote, pageOne)
		if err != nil || len(rows) != 2 || rows[0].document.Corrects != "INV-2026-000002" {
			t.Errorf("%+v %v", rows, err)
		}
	})
}

func TestTheRestOfAServicesTimeIsCreditedOfItsInvoicesTheNewestFirst(t *testing.T) {
	t.Parallel()
	each(t, func(w *world, _ *clock.Fake) {
		old, others, recent := w.sell(1, 1, 9, 1000), w.sell(1, 2, 8, 1000), w.sell(1, 3, 9, 500)
		stranger := w.sell(2, 4, 9, 700)
		var byOrder map[int64]money.USDCents
		credit := func(price money.USDCents) (back money.USDCents) {
			w.must(func(ctx context.Context, tx *db.Tx) (err error) {
				back, byOrder, err = w.CreditService(ctx, tx, 1, 9, price)
				return err
			})
			return back
		}
		if back := credit(600); back != 672 { // 500 of the newest and 100 of the older one, and 12 % of both
			t.Errorf("%d is given back of 600", back)
		}
		if want := map[int64]money.USDCents{3: 560, 1: 112}; !maps.Equal(byOrder, want) {
			t.Errorf("of the orders %v, want %v", byOrder, want)
		}
		for _, c := range []struct {
			r    record
			left money.USDCents
		}{{recent, 0}, {old, 1008}, {others, 1120}, {stranger, 784}} {
			if left := w.get(c.r.id).left(); left != c.left {
				t.Errorf("of %s %d is left, want %d", c.r.number(), left, c.left)
			}
		}
		if back := credit(1000); back != 1108 { // 900 with tax, and 100 that no invoice covers
			t.Errorf("%d is given back of 1000", back)
		}
		if n := w.numbers(1, CreditNote); len(n) != 3 {
			t.Errorf("%v", n)
		}
	})
}

func TestNoCreditIsOfAnOrderThatIsNotMadeYet(t *testing.T) {
	t.Parallel()
	each(t, func(w *world, _ *clock.Fake) {
		plan, waiting := w.sell(1, 1, 9, 1000), w.sell(1, 2, 9, 500)
		w.held = []int64{2}
		w.must(func(ctx context.Context, tx *db.Tx) error {
			back, byOrder, err := w.CreditService(ctx, tx, 1, 9, 300)
			if want := map[int64]money.USDCents{1: 336}; back != 336 || !maps.Equal(byOrder, want) {
				t.Errorf("%d is given back, of the orders %v", back, byOrder)
			}
			return err
		})
		if left := w.get(plan.id).left(); left != 784 {
			t.Errorf("%d is left of the plan's invoice", left)
		}
		// The operator refuses it: all of it comes back, and its invoice says so.
		w.must(func(ctx context.Context, tx *db.Tx) error { return w.CancelOrder(ctx, tx, 2) })
		rows, _, err := list(t.Context(), w.DB, 1, CreditNote, pageOne)
		if err != nil || len(rows) != 2 || rows[0].total != 560 || *rows[0].corrects != waiting.id {
			t.Errorf("%+v %v", rows, err)
		}
		// Once it is made, it is the newest of which something can be taken back.
		made := w.sell(1, 3, 9, 500)
		w.must(func(ctx context.Context, tx *db.Tx) error {
			_, _, err := w.CreditService(ctx, tx, 1, 9, 300)
			return err
		})
		if left := w.get(made.id).left(); left != 224 {
			t.Errorf("%d is left of the add-on's invoice", left)
		}
	})
}

func TestATopUpHasAReceiptAndWhatIsTakenBackACreditNote(t *testing.T) {
	t.Parallel()
	each(t, func(w *world, _ *clock.Fake) {
		tell := func() {
			w.must(func(ctx context.Context, tx *db.Tx) error {
				return w.Follow(ctx, tx, outbox.Stored{Type: "wallet.topup_succeeded", AccountID: 1, Subject: "topup", SubjectID: 5})
			})
		}
		w.topups[5] = sale.Receipt{AccountID: 1, Gateway: "stripe", Amount: 2000, Fee: 60}
		tell()
		tell()
		if n := w.numbers(1, Receipt); len(n) != 1 || n[0] != "RCP-2026-000001" {
			t.Fatalf("%v", n)
		}
		for _, back := range []money.USDCents{500, 500, 2060} {
			w.topups[5] = sale.Receipt{AccountID: 1, Gateway: "stripe", Amount: 2000, Fee: 60, TakenBack: back}
			tell()
		}
		if n := w.numbers(1, CreditNote); len(n) != 2 {
			t.Errorf("%v", n)
		}
		// Both at once, and told of each in one transaction: it was taken back before anybody heard of it.
		w.topups[5] = sale.Receipt{AccountID: 2, Gateway: "stripe", Amount: 100, TakenBack: 40}
		w.topups[6] = w.topups[5]
		w.must(func(ctx context.Context, tx *db.Tx) error {
			e := outbox.Stored{SubjectID: 6}
			return errors.Join(w.Follow(ctx, tx, e), w.Follow(ctx, tx, e))
		})
		w.number()
		rows, _, err := list(t.Context(), w.DB, 2, CreditNote, pageOne)
		if err != nil || len(rows) != 1 || rows[0].total != 40 || rows[0].document.Corrects != "RCP-2026-000002" {
			t.Errorf("%+v %v", rows, err)
		}
		if err := w.Verify(t.Context()); err != nil {
			t.Error(err)
		}
	})
}
