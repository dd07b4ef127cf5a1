package doctor

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"stead.dev/stead/internal/platform/replicas"
)

// replicas says which versions run on the database. Two neighbouring ones may, while a new one is rolled out.
func (e *examination) replicas(ctx context.Context) Check {
	if e.db == nil {
		return skip("no database to look at")
	}
	living, err := replicas.Living(ctx, e.db)
	switch {
	case err != nil:
		return skip("they cannot be listed: see migrations")
	case len(living) == 0:
		return skip("no server runs")
	}
	counts := map[string]int{}
	var versions []string
	for _, r := range living {
		if counts[r.Version]++; counts[r.Version] == 1 {
			versions = append(versions, r.Version)
		}
	}
	slices.Sort(versions)
	if len(versions) == 1 && versions[0] == e.Version {
		return ok("%d of version %s", len(living), e.Version)
	}
	said := make([]string, len(versions))
	for i, v := range versions {
		said[i] = fmt.Sprintf("%d of version %s", counts[v], v)
	}
	return warn("restart the older ones with the new version, one after the other", "%s run; this is %s", strings.Join(said, " and "), e.Version)
}
