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
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		now := clk.Now()
		w := newWorld(t, d, clk)
		for _, domain := range []string{"shop1.test", "shop2.test", "shop_3.test"} {
			w.reserve(ask(domain))
		}
		testkit.Indexed(t, d, func(q db.Querier) (err error) {
			ctx := context.Background()
			for _, f := range []filter{
				{},
				{status: string(Active)},
				{typ: "hosting"},
				{query: "shop"},
				{query: "shop_3"},
				{expiresBefore: &now},
				{status: string(Active), typ: "hosting", query: "shop", expiresBefore: &now},
			} {
				for p := 1; p <= 3; p++ { // pages are counted from the nearer end
					_, _, listed := list(ctx, q, 1, f, page.Params{Page: p, PerPage: 1})
					err = errors.Join(err, listed)
				}
			}
			_, ofTaken := domainTaken(ctx, q, 1, false, "blog.shop.test")
			_, ofStuck := stuck(ctx, q, now, 0, reconcileBatch)
			_, ofDue := dueRenewals(ctx, q, 1, now, 1200)
			return errors.Join(err, ofTaken, ofStuck, ofDue)
		})
	})
}
