package services

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
		now := clk.Now()
		testkit.Indexed(t, d, func(q db.Querier) (err error) {
			ctx := context.Background()
			for _, f := range []filter{
				{},
				{status: string(Active)},
				{typ: "hosting"},
				{query: "shop"},
				{query: "_100%"},
				{expiresBefore: &now},
				{status: string(Active), typ: "hosting", query: "shop", expiresBefore: &now},
			} {
				_, _, listed := list(ctx, q, 1, f, page.Params{})
				err = errors.Join(err, listed)
			}
			_, ofTaken := domainTaken(ctx, q, 1, false, "blog.shop.test")
			_, ofStuck := stuck(ctx, q, now, 0, reconcileBatch)
			_, ofDue := dueRenewals(ctx, q, 1, now, 1200)
			return errors.Join(err, ofTaken, ofStuck, ofDue)
		})
	})
}
