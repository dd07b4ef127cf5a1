package billing

import (
	"context"
	"testing"

	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/testkit"
)

func TestNoQueryReadsAWholeTable(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		now := clk.Now()
		testkit.Indexed(t, d, func(q db.Querier) error {
			_, err := dueRenewals(context.Background(), q, 1, now, 1200)
			return err
		})
	})
}
