package notifications

import (
	"testing"

	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/page"
	"stead.dev/stead/internal/platform/testkit"
)

func TestNoQueryReadsAWholeTable(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, _ *clock.Fake) {
		testkit.Indexed(t, d, func(q db.Querier) error {
			_, err := lasts(t.Context(), q, notification{accountID: 1, subject: "service", subjectID: 1, kind: "ssl_restored", ends: "ssl_failed"})
			return err
		})
		testkit.Indexed(t, d, func(q db.Querier) error {
			_, err := chosenBy(t.Context(), q, 1)
			return err
		})
		for _, unread := range []bool{false, true} {
			testkit.Indexed(t, d, func(q db.Querier) error {
				_, _, _, err := list(t.Context(), q, 1, unread, page.Params{Page: 1, PerPage: 20})
				return err
			})
		}
	})
}
