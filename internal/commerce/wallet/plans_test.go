package wallet

import (
	"context"
	"errors"
	"testing"

	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/testkit"
)

func TestNoQueryReadsAWholeTable(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		testkit.Indexed(t, w.DB, func(q db.Querier) error {
			ctx := context.Background()
			_, ofHistory := history(ctx, q, 1, 20, 0)
			_, ofCount := countHistory(ctx, q, 1)
			_, ofBalance := readBalance(ctx, q, 1)
			_, _, ofEntry := findEntry(ctx, q, order(1), TypeCharge, 0)
			_, ofEnds := endsOf(ctx, q, order(1))
			ofEntry = errors.Join(ofEntry, ofEnds)
			_, ofRefunds := refundedOf(ctx, q, 1)
			_, ofUnpaid := countUnpaid(ctx, q, 1, w.clk.Now())
			ofRefunds = errors.Join(ofRefunds, ofUnpaid)
			_, ofDue := db.Collect(ctx, q, topupRows.Scan, dueTopupsQuery, w.clk.Now(), batch)
			for _, query := range []string{` WHERE id = 1 AND account_id = 1`, ` WHERE gateway = 'stripe' AND gateway_payment = 'x'`} {
				_, err := db.Collect(ctx, q, topupRows.Scan, selectTopup+query)
				ofDue = errors.Join(ofDue, err)
			}
			_, ofToken := db.Collect(ctx, q, topupRows.Scan, selectTopup+` WHERE token_hash = $1`, []byte("x"))
			all := Filter{Types: []Type{TypeCharge, TypeRefund}, From: w.clk.Now(), To: w.clk.Now().Add(1)}
			for _, f := range []Filter{{}, {Types: all.Types}, {ClientRef: "x"}, {From: all.From, To: all.To}, all} {
				_, ofChosen := chosen(ctx, q, 1, f, 20, 0)
				_, ofTotal := countChosen(ctx, q, 1, f)
				_, ofFile := following(ctx, q, 1, f, 5, 20)
				ofHistory = errors.Join(ofHistory, ofChosen, ofTotal, ofFile)
			}
			_, ofStatement := statementOf(ctx, q, 1, "2031-04")
			_, ofChoices := readSettings(ctx, q, 1)
			_, ofMethods := methods(ctx, q, 1)
			_, ofMethod := findMethod(ctx, q, 1, "demo")
			if errors.Is(ofMethod, db.ErrNoRows) {
				ofMethod = nil
			}
			_, _, ofAutomatic := automaticSince(ctx, q, 1, w.clk.Now())
			_, ofDueWallets := db.Collect(ctx, q, func(r db.Row) (id int64, err error) { return id, r.Scan(&id) }, dueAutomaticQuery, 0, batch)
			ofBalance = errors.Join(ofBalance, ofStatement, ofChoices, ofMethods, ofMethod, ofAutomatic, ofDueWallets)
			return errors.Join(ofHistory, ofCount, ofBalance, ofEntry, ofRefunds, ofDue, ofToken)
		})
	})
}
