package databases

import (
	"context"
	"slices"

	"stead.dev/stead/internal/hosting/site"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/port/panel"
)

// Imported is a database that came from elsewhere.
type Imported struct {
	ID    int64
	Name  string // on the hosting server
	There bool   // the service had it already
}

// ImportOne makes the database of a service that comes from elsewhere, in a transaction of the caller's, unless the service has it.
func (s *Service) ImportOne(ctx context.Context, tx *db.Tx, accountID, serviceID int64, own string, engine panel.DatabaseEngine, charset string) (Imported, error) {
	var out Imported
	c := s.collection()
	err := c.ChangeIn(ctx, tx, accountID, serviceID, func(ctx context.Context, tx *db.Tx, on site.Site) error {
		r, err := wish{name: own, engine: engine, charset: charset}.row(on)
		if err != nil {
			return err
		}
		out.Name = r.name
		all, err := c.OfService(ctx, tx, serviceID)
		if err != nil {
			return err
		}
		if i := slices.IndexFunc(all, func(o row) bool { return o.name == r.name }); i >= 0 {
			out.ID, out.There = all[i].ID, true
			if all[i].Status == site.Removing {
				return fault.JobRunning.New()
			}
			if all[i].engine != engine {
				return fault.AlreadyExists.Wrapf("databases: %s is of %s", r.name, all[i].engine)
			}
			return nil
		}
		if out.ID, err = s.add(ctx, tx, on, r); err != nil {
			return err
		}
		return c.Enqueue(ctx, tx, accountID, serviceID)
	})
	return out, err
}

// Followed reports how far the hosting server has followed the databases of a service: an error key for each that it refuses, and
// whether all others are there.
func (s *Service) Followed(ctx context.Context, q db.Querier, serviceID int64) (site.Progress, error) {
	return s.collection().Progress(ctx, q, serviceID)
}
