package devices

import (
	"testing"

	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/testkit"
)

func TestNoQueryReadsAWholeTable(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, _ *clock.Fake) {
		testkit.Indexed(t, d, func(q db.Querier) error {
			_, err := ofAccount(t.Context(), q, 1)
			return err
		})
	})
}
