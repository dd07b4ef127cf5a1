package runs

import (
	"context"
	"reflect"
	"testing"
	"time"

	"stead.dev/stead/internal/commerce/sale"
	"stead.dev/stead/internal/hosting/site/sitetest"
	"stead.dev/stead/internal/platform/db"
)

// What runs have cost in a month stands on one invoice, once; what this month has cost when the account is closed.
func TestTheRunsOfAMonthAreOnOneInvoice(t *testing.T) {
	t.Parallel()
	engines(t, hours, func(w *world) {
		pay := func(at time.Time, cents int64) {
			w.T.Helper()
			w.Must(w.DB.InTx(w.T.Context(), func(ctx context.Context, tx *db.Tx) error {
				r := newRun(tx, sitetest.Owner, mine, Agent)
				r.held = 100
				ids, err := db.NextIDs(ctx, tx, "ai_runs", 1)
				if err != nil {
					return err
				}
				r.id = ids[0]
				if err := insertRun(ctx, tx, r); err != nil {
					return err
				}
				_, err = tx.Exec(ctx, `UPDATE ai_runs SET status = 'completed', end_reason = 'done', charged = $1, finished_at = $2 WHERE id = $3`, cents, at, r.id)
				return err
			}))
		}
		now := w.Clock.Now()
		last := monthOf(now).Add(-time.Hour)
		pay(last.Add(-time.Hour), 30)
		pay(last, 12)
		pay(last, 0)
		pay(monthOf(last).Add(-time.Hour), 5)
		pay(now, 7)
		w.Must(w.bill(w.T.Context()))
		w.Must(w.bill(w.T.Context()))
		want := []sale.Usage{{AccountID: sitetest.Owner, Lines: []sale.UsageLine{
			{Kind: sale.KindAIUsage, Title: monthOf(last).Add(-time.Hour).Format("2006-01"), Domain: "shop.example", Amount: 5},
			{Kind: sale.KindAIUsage, Title: last.Format("2006-01"), Domain: "shop.example", Amount: 42},
		}}}
		if !reflect.DeepEqual(w.shelf.billed, want) {
			w.T.Fatalf("billed %+v, want %+v", w.shelf.billed, want)
		}
		w.Must(w.DB.InTx(w.T.Context(), func(ctx context.Context, tx *db.Tx) error { return w.closed(ctx, tx, sitetest.Owner) }))
		if len(w.shelf.billed) != 2 || w.shelf.billed[1].Lines[0].Amount != 7 {
			w.T.Errorf("after the account was closed: %+v", w.shelf.billed)
		}
	})
}
