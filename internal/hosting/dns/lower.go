package dns

import (
	"context"
	"time"

	"stead.dev/stead/internal/hosting/site"
	"stead.dev/stead/internal/platform/db"
)

// moves tells that a record follows the machine that serves the service: it is one of the system's, other than the name servers.
func (r record) moves() bool { return r.system && r.kind != NS }

// LowerTTL has the system's records in all zones of a service served with the shortest TTL, because the service is about to move
// to another machine. It answers how long caches may keep what they have of them; zero where nobody can have any. The service
// is locked.
func (s *Service) LowerTTL(ctx context.Context, tx *db.Tx, serviceID int64) (kept time.Duration, err error) {
	zones, err := zonesOf(ctx, tx, serviceID)
	if err != nil {
		return 0, err
	}
	for _, z := range zones {
		if z, err = lockZone(ctx, tx, z.id); err != nil {
			return 0, err
		}
		all, err := ofZone(ctx, tx, z.id)
		if err != nil {
			return 0, err
		}
		for _, r := range all {
			if z.published && r.moves() && !r.disabled {
				kept = max(kept, time.Duration(r.ttl)*time.Second)
			}
		}
		if z.lowered {
			continue
		}
		z.lowered = true
		if err := setLowered(ctx, tx, z); err != nil {
			return 0, err
		}
		if _, err := s.bumpSerial(ctx, tx, z); err != nil {
			return 0, err
		}
	}
	return kept, nil
}

// RestoreTTL undoes LowerTTL. The zones lead to where the service is by then, so no cache keeps for long what was before. The
// service is locked.
func (s *Service) RestoreTTL(ctx context.Context, tx *db.Tx, on site.Site) error {
	zones, err := zonesOf(ctx, tx, on.ServiceID)
	if err != nil {
		return err
	}
	for _, z := range zones {
		if z, err = lockZone(ctx, tx, z.id); err != nil {
			return err
		}
		if !z.lowered {
			continue
		}
		z.lowered = false
		if err := setLowered(ctx, tx, z); err != nil {
			return err
		}
		wanted, err := s.wanted(ctx, tx, z, on)
		if err != nil {
			return err
		}
		if live(on) && wanted != z {
			_, err = s.settleZone(ctx, tx, z, wanted)
		} else {
			_, err = s.bumpSerial(ctx, tx, z)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
