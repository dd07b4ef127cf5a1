package cron

import (
	"context"
	"encoding/json"
	"slices"

	"stead.dev/stead/internal/hosting/site"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/port/panel"
)

// savedJob is a cron job in a backup.
type savedJob struct {
	Expression     string            `json:"expression"`
	Timezone       string            `json:"timezone"`
	Command        string            `json:"command"`
	Enabled        bool              `json:"enabled"`
	Overlap        panel.CronOverlap `json:"overlap"`
	TimeoutSeconds int               `json:"timeout_seconds"`
}

// Export answers the jobs of a service for its backup; nil when it has none.
func (s *Service) Export(ctx context.Context, q db.Querier, _, serviceID int64) (json.RawMessage, error) {
	return s.collection().Export(ctx, q, serviceID, func(r row) any {
		return savedJob{r.expression, r.timezone, r.command, r.enabled, r.overlap, r.timeoutSeconds}
	})
}

// Import makes the jobs of a service as a backup has them. A job that is there as it was stays, with
// its id; others go.
func (s *Service) Import(ctx context.Context, tx *db.Tx, accountID, serviceID int64, document json.RawMessage, _ []string) error {
	var wanted []savedJob
	c := s.collection()
	return c.Import(ctx, tx, accountID, serviceID, document, &wanted, func(on site.Site, rows []row) error {
		missing := make([]wish, len(wanted))
		for i, k := range wanted {
			w, err := wish{k.Expression, k.Timezone, k.Command, k.Enabled, k.Overlap, k.TimeoutSeconds}.checked()
			if err != nil {
				return err
			}
			missing[i] = w
		}
		rows = slices.DeleteFunc(rows, func(r row) bool { return r.Status == site.Removing })
		if err := c.Room(ctx, tx, on, int64(len(missing)-len(rows))); err != nil {
			return err
		}
		for _, r := range rows {
			if i := slices.Index(missing, r.wish); i >= 0 {
				missing = slices.Delete(missing, i, i+1)
				continue
			}
			if err := c.SetRemoving(ctx, tx, r.ID); err != nil {
				return err
			}
		}
		for _, w := range missing {
			if _, err := c.Insert(ctx, tx, accountID, serviceID, w.values()); err != nil {
				return err
			}
		}
		return nil
	})
}
