package orders

import (
	"context"
	"errors"
	"testing"

	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/page"
	"stead.dev/stead/internal/platform/testkit"
)

func TestNoQueryReadsAWholeTable(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		testkit.Indexed(t, d, func(q db.Querier) error {
			ctx := context.Background()
			_, _, ofList := list(ctx, q, 1, "", "", page.Params{})
			_, _, ofStatus := list(ctx, q, 1, string(Pending), "", page.Params{})
			_, _, ofClient := list(ctx, q, 1, "", "seven", page.Params{})
			_, ofOverdue := overdue(ctx, q, clk.Now(), expireBatch)
			_, ofUnpaid := countUnpaid(ctx, q, 1, clk.Now())
			return errors.Join(ofUnpaid, ofList, ofStatus, ofClient, ofOverdue, fillItems(ctx, q, []order{{id: 1}, {id: 2}}))
		})
	})
}
