package databases

import (
	"testing"

	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/page"
	"stead.dev/stead/internal/site/sitetest"
)

func TestNoQueryReadsAWholeTable(t *testing.T) {
	engines(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		sitetest.Indexed(t, w.db, func(q db.Querier, note func(error)) {
			_, _, err := list(ctx, q, owner, 10, page.Params{Page: 1, PerPage: 20})
			note(err)
			_, err = ofService(ctx, q, 10)
			note(err)
			_, err = getOwn(ctx, q, owner, 10, 1)
			note(err)
			_, err = countOf(ctx, q, 10)
			note(err)
		})
	})
}
