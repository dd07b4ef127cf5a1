package certificates

import (
	"testing"

	"stead.dev/stead/internal/hosting/site/sitetest"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/page"
)

func TestNoQueryReadsAWholeTable(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		sitetest.Indexed(t, w.DB, func(q db.Querier, note func(error)) {
			_, _, err := listOwn(ctx, q, owner, 10, page.Params{Page: 1, PerPage: 20})
			note(err)
			_, err = ofService(ctx, q, 10)
			note(err)
			_, err = getOwn(ctx, q, owner, 10, 1)
			note(err)
			_, err = attempts(ctx, q, []string{"a.test", "b.test"}, true, w.Clock.Now())
			note(err)
			_, err = getAuthority(ctx, q, "https://acme.test")
			note(err)
		})
	})
}
