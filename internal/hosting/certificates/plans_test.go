package certificates

import (
	"testing"

	"stead.dev/stead/internal/hosting/site/sitetest"
	"stead.dev/stead/internal/platform/db"
)

func TestNoQueryReadsAWholeTable(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		sitetest.IndexedCollection(t, w.DB, w.collection(), owner, 10,
			func(q db.Querier) error {
				_, err := attempts(ctx, q, []string{"a.test", "b.test"}, true, w.Clock.Now())
				return err
			},
			func(q db.Querier) error { _, err := getAuthority(ctx, q, "https://acme.test"); return err },
		)
	})
}
