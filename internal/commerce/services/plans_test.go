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
		now, tag := clk.Now(), "seven"
		testkit.Indexed(t, d, func(q db.Querier) (err error) {
			ctx := context.Background()
			for _, f := range []Filter{
				{},
				{Status: string(Active)},
				{typ: "hosting"},
				{Query: "shop"},
				{Query: "_100%"},
				{expiresBefore: &now},
				{Status: string(Active), typ: "hosting", Query: "shop", expiresBefore: &now},
				{ClientRef: &tag},
				{PlanID: 4},
				{Below: 7},
				{Below: 7, Query: "shop"},
				{Below: 7, RenewsBefore: &now},
				{ClientRef: &tag, Status: string(Active), PlanID: 4, Query: "shop", RenewsBefore: &now},
			} {
				_, _, listed := list(ctx, q, 1, f, page.Params{})
				err = errors.Join(err, listed)
			}
			_, ofTaken := domainTaken(ctx, q, 1, false, "blog.shop.test")
			_, ofStuck := stuck(ctx, q, now, 0, 100)
			return errors.Join(err, ofTaken, ofStuck)
		})
	})
}
