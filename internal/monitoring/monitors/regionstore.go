package monitors

import (
	"context"
	"sync"
	"time"

	"stead.dev/stead/internal/platform/db"
)

// claimRegion notes the word of a node that checks for a region, and answers the region's id. db.ErrNoRows: another node
// does, and has spoken of late.
func claimRegion(ctx context.Context, tx *db.Tx, name string, nodeID int64, found share) (id int64, err error) {
	err = tx.QueryRow(ctx, `INSERT INTO monitors_regions AS r (name, node_id, seen_at, failing, checked) VALUES ($1, $2, $3, $4, $5)
		ON CONFLICT (name) DO UPDATE SET node_id = excluded.node_id, seen_at = excluded.seen_at, failing = excluded.failing,
			checked = excluded.checked
		WHERE r.node_id = excluded.node_id OR r.seen_at < $6 RETURNING id`,
		name, nodeID, tx.Now, found.failing, found.checked, tx.Now.Add(-silentAfter)).Scan(&id)
	return id, err
}

func scanRegion(row db.Row) (r region, err error) {
	err = row.Scan(&r.id, &r.name, &r.nodeID, &r.seenAt, &r.failing, &r.checked)
	return r, err
}

func allRegions(ctx context.Context, q db.Querier) ([]region, error) {
	return db.Collect(ctx, q, scanRegion, `SELECT id, name, node_id, seen_at, failing, checked FROM monitors_regions ORDER BY id`)
}

// ownShare is that of the control plane: of all replicas that are alive.
func ownShare(ctx context.Context, q db.Querier, now time.Time) (own share, err error) {
	err = q.QueryRow(ctx, `SELECT CAST(COALESCE(SUM(failing), 0) AS BIGINT), CAST(COALESCE(SUM(checked), 0) AS BIGINT)
		FROM monitors_replicas WHERE until > $1`, now).Scan(&own.failing, &own.checked)
	return own, err
}

// regionsFor is how long this process goes by what it has read of regions.
const regionsFor = 2 * time.Second

// regionCache is what this process knows of the regions.
type regionCache struct {
	mu    sync.Mutex
	known *regions
}

func (c *regionCache) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.known = nil
}

// regions are those that there are.
func (s *Service) regions(ctx context.Context, q db.Querier) (*regions, error) {
	now := s.Clock.Now()
	s.region.mu.Lock()
	known := s.region.known
	s.region.mu.Unlock()
	if known != nil && now.Sub(known.readAt) < regionsFor {
		return known, nil
	}
	rows, err := allRegions(ctx, q)
	if err != nil {
		return nil, err
	}
	var own share
	if len(rows) > 0 {
		if own, err = ownShare(ctx, q, now); err != nil {
			return nil, err
		}
	}
	known = newRegions(rows, own, now)
	s.region.mu.Lock()
	defer s.region.mu.Unlock()
	s.region.known = known
	return known, nil
}
