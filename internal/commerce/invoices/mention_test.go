package invoices

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"stead.dev/stead/internal/commerce/sale"
	"stead.dev/stead/internal/platform/api/apitest"
	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/money"
)

// mentioned are the lines of a document that are mentions, each as its title, domain and amount.
func mentioned(r record) (all []string) {
	for _, l := range r.document.Lines {
		if l.Mentioned > 0 {
			all = append(all, l.Title+" "+l.Domain+" "+l.Mentioned.String())
		}
	}
	return all
}

// TestACreditForUptimeIsALineOfTheNextInvoice: one invoice has it, however often it is told and whatever else is bought,
// and the sums stay what was paid.
func TestACreditForUptimeIsALineOfTheNextInvoice(t *testing.T) {
	t.Parallel()
	each(t, func(w *world, _ *clock.Fake) {
		mention := func(accountID, month int64, title string, amount money.USDCents, undo error) {
			t.Helper()
			err := w.in(func(ctx context.Context, tx *db.Tx) error {
				return errors.Join(w.Mention(ctx, tx, Mention{accountID, KindSLACredit, month, title, "example.uz", amount}), undo)
			})
			if !errors.Is(err, undo) {
				t.Fatal(err)
			}
		}
		before := w.sell(1, 1, 9, 1000)
		mention(1, 5, "2026-01", 450, nil)
		mention(1, 5, "2026-01", 450, nil)
		mention(1, 6, "2026-02", 50, nil)
		mention(1, 7, "2026-02", 77, errors.New("the credit is undone"))
		var first, second int64
		w.must(func(ctx context.Context, tx *db.Tx) (err error) {
			first, err = w.invoice(ctx, tx, w.billFor(1, 2, 9, 2000))
			if err == nil {
				second, err = w.invoice(ctx, tx, w.billFor(1, 3, 9, 3000))
			}
			return err
		})
		other := w.sell(2, 4, 10, 500)
		got := w.get(first)
		want := []string{"2026-01 example.uz $4.50", "2026-02 example.uz $0.50"}
		if lines := mentioned(got); !slices.Equal(lines, want) || got.subtotal != 2100 || got.total != 2240 || got.number() == "" {
			t.Errorf("the next invoice mentions %q, and is over %v of %v", lines, got.total, got.subtotal)
		}
		for _, r := range []record{w.get(before.id), w.get(second), other} {
			if lines := mentioned(r); lines != nil {
				t.Errorf("%s mentions %q", r.number(), lines)
			}
		}
		w.mu.Lock()
		for _, e := range w.told {
			if told := e.Data.(invoiceWire); *told.ID == first && (len(told.Lines) != 3 || told.Lines[1].Credited.USDCents != 450 || told.Lines[1].Total.USDCents != 0) {
				t.Errorf("the event tells of %+v", told.Lines)
			}
		}
		w.mu.Unlock()
		for lang, text := range map[string]string{
			"en": "Credit for uptime of 2026-01, put into the wallet: $4.50", "ru": "Компенсация за доступность в 2026-01", "uz": "2026-01 dagi ish vaqti uchun",
		} {
			if document := draw(t, w.Service, got, lang); !strings.Contains(document, text) {
				t.Errorf("%s: the document does not say %q:\n%s", lang, text, document)
			}
		}
		// What is given back of it are its sums.
		w.must(func(ctx context.Context, tx *db.Tx) error {
			back, err := w.RefundOrder(ctx, tx, 2, 0, "tried")
			if err == nil && back.Total != 2240 {
				t.Errorf("%v were given back", back.Total)
			}
			return err
		})
	})
}

func TestWhatNoInvoiceMentionsGoesWithTheAccount(t *testing.T) {
	t.Parallel()
	each(t, func(w *world, _ *clock.Fake) {
		w.must(func(ctx context.Context, tx *db.Tx) error {
			return errors.Join(
				w.Mention(ctx, tx, Mention{1, KindSLACredit, 5, "2026-01", "", 450}), w.Mention(ctx, tx, Mention{2, KindSLACredit, 6, "2026-01", "", 450}),
				w.Forget(ctx, tx, 1))
		})
		if lines := mentioned(w.sell(1, 1, 9, 1000)); lines != nil {
			t.Errorf("a closed account's: %q", lines)
		}
		if lines := mentioned(w.sell(2, 2, 10, 1000)); len(lines) != 1 {
			t.Errorf("another account's: %q", lines)
		}
	})
}

// What was used was paid already, so its tax is contained in the sum, also where taxes are added to prices.
func TestWhatWasUsedIsAnInvoiceThatContainsItsTax(t *testing.T) {
	t.Parallel()
	each(t, func(w *world, _ *clock.Fake) {
		w.must(func(ctx context.Context, tx *db.Tx) error {
			return w.Usage(ctx, tx, sale.Usage{AccountID: 1, Lines: []sale.UsageLine{
				{Kind: sale.KindAIUsage, Title: "2026-10", Domain: "a.example", Amount: 100}, {Kind: sale.KindAIUsage, Title: "2026-10", Domain: "b.example", Amount: 12},
			}})
		})
		if err := w.Number(t.Context()); err != nil {
			t.Fatal(err)
		}
		var l struct {
			Data []struct {
				ID      int64
				Number  string
				OrderID *int64 `json:"order_id"`
				Total   struct {
					USDCents int64 `json:"usd_cents"`
				}
				Tax struct {
					USDCents int64 `json:"usd_cents"`
				}
				TaxIncluded struct {
					USDCents int64 `json:"usd_cents"`
				} `json:"tax_included"`
				Lines []struct{ Kind, Domain string }
			}
		}
		apitest.Answered(t, apitest.Call(w.edge, "own", "GET", "/api/v1/invoices", ""), 200, &l)
		if len(l.Data) != 1 {
			t.Fatalf("%+v", l)
		}
		i := l.Data[0]
		if i.Number == "" || i.OrderID != nil || i.Total.USDCents != 112 || i.Tax.USDCents != 0 || i.TaxIncluded.USDCents != 12 || len(i.Lines) != 2 || i.Lines[1].Domain != "b.example" {
			t.Errorf("%+v", i)
		}
		rec := apitest.Call(w.edge, "own", "GET", fmt.Sprintf("/api/v1/invoices/%d?format=pdf", i.ID), "")
		if rec.Code != 200 || !strings.HasPrefix(rec.Body.String(), "%PDF") {
			t.Errorf("%d %.100s", rec.Code, rec.Body)
		}
	})
}
