package wallet

import (
	"context"
	"errors"
	"testing"

	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/testkit"
)

func TestNoQueryReadsAWholeTable(t *testing.T) {
	engines(t, func(t *testing.T, w *world) {
		testkit.Indexed(t, w.DB, func(q db.Querier) error {
			ctx := context.Background()
			_, ofHistory := history(ctx, q, 1, 20, 0)
			_, ofCount := countHistory(ctx, q, 1)
			_, ofBalance := readBalance(ctx, q, 1)
			_, _, ofEntry := findEntry(ctx, q, order(1), TypeCharge, 0)
			_, ofRefunds := refundedOf(ctx, q, 1)
			_, ofDue := db.Collect(ctx, q, scanTopup, dueTopupsQuery, w.clk.Now(), batch)
			for _, query := range []string{` WHERE id = 1 AND account_id = 1`, ` WHERE gateway = 'stripe' AND gateway_payment = 'x'`} {
				_, err := db.Collect(ctx, q, scanTopup, selectTopup+query)
				ofDue = errors.Join(ofDue, err)
			}
			_, ofToken := db.Collect(ctx, q, scanTopup, selectTopup+` WHERE token_hash = $1`, []byte("x"))
			return errors.Join(ofHistory, ofCount, ofBalance, ofEntry, ofRefunds, ofDue, ofToken)
		})
	})
}
