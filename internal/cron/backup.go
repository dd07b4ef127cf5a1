package cron

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"stead.dev/stead/internal/panel"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/site"
)

// kept is a job in a backup.
type kept struct {
	Expression     string            `json:"expression"`
	Timezone       string            `json:"timezone"`
	Command        string            `json:"command"`
	Enabled        bool              `json:"enabled"`
	Overlap        panel.CronOverlap `json:"overlap"`
	TimeoutSeconds int               `json:"timeout_seconds"`
}

// Export answers the jobs of a service for its backup; nil when it has none.
func (s *Service) Export(ctx context.Context, q db.Querier, _, serviceID int64) (json.RawMessage, error) {
	rows, err := ofService(ctx, q, serviceID)
	if err != nil {
		return nil, err
	}
	var all []kept
	for _, r := range rows {
		if r.status != site.Removing {
			all = append(all, kept{r.expression, r.timezone, r.command, r.enabled, r.overlap, r.timeoutSeconds})
		}
	}
	if all == nil {
		return nil, nil
	}
	return json.Marshal(all)
}

// Import makes the jobs of a service as a backup has them. A job that is there as it was stays, with
// its id; others go.
func (s *Service) Import(ctx context.Context, tx *db.Tx, accountID, serviceID int64, document json.RawMessage, _ []string) error {
	var wanted []kept
	if err := json.Unmarshal(document, &wanted); err != nil {
		return fmt.Errorf("cron: document of a backup: %w", err)
	}
	missing := make([]wish, len(wanted))
	for i, k := range wanted {
		w, err := wish{k.Expression, k.Timezone, k.Command, k.Enabled, k.Overlap, k.TimeoutSeconds}.checked()
		if err != nil {
			return err
		}
		missing[i] = w
	}
	on, err := s.Services.LockSite(ctx, tx, accountID, serviceID)
	if err != nil {
		return err
	}
	limits, err := site.ParseLimits(on)
	if err != nil {
		return err
	}
	rows, err := ofService(ctx, tx, serviceID)
	if err != nil {
		return err
	}
	n, err := countOf(ctx, tx, serviceID)
	if err != nil {
		return err
	}
	if err := limits.Refuse("cron_jobs", n, int64(len(missing))); err != nil {
		return err
	}
	for _, r := range rows {
		if r.status == site.Removing {
			continue
		}
		if i := slices.Index(missing, r.wish); i >= 0 {
			missing = slices.Delete(missing, i, i+1)
			continue
		}
		if err := setRemoving(ctx, tx, r.id); err != nil {
			return err
		}
	}
	for _, w := range missing {
		if _, err := insert(ctx, tx, accountID, serviceID, w); err != nil {
			return err
		}
	}
	return s.enqueueApply(ctx, tx, accountID, serviceID)
}
