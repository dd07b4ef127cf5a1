package sitetest

import (
	"errors"
	"testing"

	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/testkit"
)

// Indexed is testkit.Indexed for queries of which some find nothing: ask notes the error of each.
func Indexed(t *testing.T, d *db.DB, ask func(q db.Querier, note func(error))) {
	t.Helper()
	testkit.Indexed(t, d, func(q db.Querier) (failed error) {
		ask(q, func(err error) {
			if !errors.Is(err, fault.NotFound) && !errors.Is(err, db.ErrNoRows) {
				failed = errors.Join(failed, err)
			}
		})
		return failed
	})
}
