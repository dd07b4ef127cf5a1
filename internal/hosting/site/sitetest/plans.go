package sitetest

import (
	"errors"
	"testing"

	"stead.dev/stead/internal/hosting/site"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/page"
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

// IndexedCollection is Indexed for the queries of a collection, about the account's service, and more.
func IndexedCollection[R site.Row, C, P any](t *testing.T, d *db.DB, c site.Collection[R, C, P], accountID, serviceID int64,
	more ...func(q db.Querier) error,
) {
	t.Helper()
	Indexed(t, d, func(q db.Querier, note func(error)) {
		_, _, err := c.List(t.Context(), q, accountID, serviceID, page.Params{Page: 1, PerPage: 20})
		note(err)
		_, err = c.OfService(t.Context(), q, serviceID)
		note(err)
		_, err = c.Get(t.Context(), q, accountID, serviceID, 1)
		note(err)
		note(c.Count(t.Context(), q, serviceID, map[string]int64{}))
		for _, ask := range more {
			note(ask(q))
		}
	})
}
