package databases

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"stead.dev/stead/internal/panel"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/site"
)

// kept is a database in a backup; what is in it the panel keeps.
type kept struct {
	Name    string               `json:"name"`
	Engine  panel.DatabaseEngine `json:"engine"`
	Charset string               `json:"charset"`
}

// Export answers which databases a service has, for its backup; nil when it has none.
func (s *Service) Export(ctx context.Context, q db.Querier, _, serviceID int64) (json.RawMessage, error) {
	rows, err := ofService(ctx, q, serviceID)
	if err != nil {
		return nil, err
	}
	var all []kept
	for _, r := range rows {
		if r.status != site.Removing {
			all = append(all, kept{r.name, r.engine, r.charset})
		}
	}
	if all == nil {
		return nil, nil
	}
	return json.Marshal(all)
}

// Import makes the databases again that a backup has and the service has no more, each with a new
// password. Those that came since stay.
func (s *Service) Import(ctx context.Context, tx *db.Tx, accountID, serviceID int64, document json.RawMessage, items []string) error {
	var wanted []kept
	if err := json.Unmarshal(document, &wanted); err != nil {
		return fmt.Errorf("databases: document of a backup: %w", err)
	}
	on, err := s.Services.LockSite(ctx, tx, accountID, serviceID)
	if err != nil {
		return err
	}
	limits, err := site.ParseLimits(on)
	if err != nil {
		return err
	}
	all, err := ofService(ctx, tx, serviceID)
	if err != nil {
		return err
	}
	n := count(all)
	for _, k := range wanted {
		if len(items) > 0 && !slices.Contains(items, k.Name) {
			continue
		}
		if i := slices.IndexFunc(all, func(r row) bool { return r.name == k.Name }); i >= 0 {
			if all[i].status == site.Removing {
				return fault.JobRunning.New()
			}
			continue
		}
		if err := limits.Refuse("databases", n, n+1); err != nil {
			return err
		}
		n++
		id, err := insert(ctx, tx, row{
			accountID: accountID, serviceID: serviceID, name: k.Name, engine: k.Engine, charset: k.Charset, status: site.Pending,
		})
		if err == nil {
			err = s.Secrets.Put(ctx, tx, accountID, serviceID, SecretKind, id, k.Name)
		}
		if err != nil {
			return err
		}
	}
	return s.enqueueApply(ctx, tx, accountID, serviceID)
}
