package services

import (
	"context"
	"errors"
	"testing"

	"stead.dev/stead/internal/commerce/sale"
	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/money"
	"stead.dev/stead/internal/platform/page"
	"stead.dev/stead/internal/platform/testkit"
)

func TestNoQueryOfAResellerReadsAWholeTable(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		now, tag := clk.Now(), "seven"
		s := New(Config{DB: d, Clock: clk})
		s.Connect(Needs{Balances: balances{1: 500}, Taxes: sale.Untaxed{}})
		testkit.Indexed(t, d, func(q db.Querier) (err error) {
			ctx := context.Background()
			for _, f := range []filter{
				{clientRef: &tag}, {planID: 4}, {below: 7}, {below: 7, query: "shop"}, {below: 7, renewsBefore: &now}, {clientRef: &tag, status: string(Active), planID: 4, query: "shop", renewsBefore: &now},
			} {
				_, _, listed := list(ctx, q, 1, f, page.Params{})
				err = errors.Join(err, listed)
			}
			_, ofDue := uncovered(ctx, q, 1, now, funds{balance: 500})
			_, _, ofSum := sumBetween(ctx, q, 1, due{at: now, id: 7}, now, money.Tax{BasisPoints: 1200})
			_, ofStats := s.Stats(ctx, q, 1, now)
			_, _, ofHistory := history(ctx, q, 1, page.Params{})
			return errors.Join(err, ofDue, ofSum, ofStats, ofHistory)
		})
	})
}
