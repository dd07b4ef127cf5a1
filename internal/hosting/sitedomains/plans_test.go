package sitedomains

import (
	"context"
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
				_, err := available(ctx, q, owner, false, "a.b.test", []string{"b.test"})
				return err
			},
			func(q db.Querier) error { _, err := dnsDue(ctx, q, w.Clock.Now(), 10); return err },
			func(q db.Querier) error { return usageErr(ctx, q) },
		)
	})
}

// usageErr reads what was measured of a service.
func usageErr(ctx context.Context, q db.Querier) error {
	if _, err := lastUsage(ctx, q, 10); err != nil {
		return err
	}
	_, err := notifiedMarks(ctx, q, 10)
	return err
}
