package databases

import (
	"context"
	"encoding/json"
	"slices"

	"stead.dev/stead/internal/hosting/site"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/port/panel"
)

// savedDatabase is a database in a backup. The panel saves its content.
type savedDatabase struct {
	Name    string               `json:"name"`
	Engine  panel.DatabaseEngine `json:"engine"`
	Charset string               `json:"charset"`
}

// Export answers which databases a service has, for its backup; nil when it has none.
func (s *Service) Export(ctx context.Context, q db.Querier, _, serviceID int64) (json.RawMessage, error) {
	return s.collection().Export(ctx, q, serviceID, func(r row) any { return savedDatabase{r.name, r.engine, r.charset} })
}

// Import makes the databases again that a backup has and the service has no more, each with a new
// password. Those that came since stay.
func (s *Service) Import(ctx context.Context, tx *db.Tx, accountID, serviceID int64, document json.RawMessage, items []string) error {
	var wanted []savedDatabase
	return s.collection().Import(ctx, tx, accountID, serviceID, document, &wanted, func(on site.Site, rows []row) error {
		for _, k := range wanted {
			if len(items) > 0 && !slices.Contains(items, k.Name) {
				continue
			}
			if i := slices.IndexFunc(rows, func(r row) bool { return r.name == k.Name }); i >= 0 {
				if rows[i].Status == site.Removing {
					return fault.JobRunning.New()
				}
				continue
			}
			if _, err := s.add(ctx, tx, on, row{name: k.Name, engine: k.Engine, charset: k.Charset}); err != nil {
				return err
			}
		}
		return nil
	})
}
