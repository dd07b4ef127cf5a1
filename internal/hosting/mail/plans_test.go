package mail

import (
	"errors"
	"testing"

	"stead.dev/stead/internal/hosting/site/sitetest"
	"stead.dev/stead/internal/platform/db"
)

func TestNoQueryReadsAWholeTable(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		sitetest.IndexedCollection(t, w.DB, w.collection(), owner, 10, func(q db.Querier) error {
			_, _, serverErr := serverOf(t.Context(), q, 10)
			_, domainsErr := domainsOf(t.Context(), q, 10)
			_, healthErr := healthDue(t.Context(), q, w.Clock.Now(), 10)
			return errors.Join(serverErr, domainsErr, healthErr)
		})
	})
}
