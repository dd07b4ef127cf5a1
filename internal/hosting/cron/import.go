package cron

import (
	"context"
	"slices"

	"stead.dev/stead/internal/hosting/site"
	"stead.dev/stead/internal/platform/db"
)

// ImportOne makes a job that comes from elsewhere, in a transaction of the caller's, unless the service has the same: command and
// schedule.
func (s *Service) ImportOne(ctx context.Context, tx *db.Tx, accountID, serviceID int64, expression, command string, enabled bool) (there bool, err error) {
	w, err := wish{expression: expression, command: command, enabled: enabled}.checked()
	if err != nil {
		return false, err
	}
	c := s.collection()
	err = c.ChangeIn(ctx, tx, accountID, serviceID, func(ctx context.Context, tx *db.Tx, on site.Site) error {
		all, err := c.OfService(ctx, tx, serviceID)
		if err != nil {
			return err
		}
		there = slices.ContainsFunc(all, func(r row) bool {
			return r.Status != site.Removing && r.expression == w.expression && r.command == w.command
		})
		if there {
			return nil
		}
		if err := c.Room(ctx, tx, on, 1); err != nil {
			return err
		}
		if _, err := c.Insert(ctx, tx, accountID, serviceID, w.values()); err != nil {
			return err
		}
		return c.Enqueue(ctx, tx, accountID, serviceID)
	})
	return there, err
}
