package scans

import (
	"context"
	"errors"
	"time"

	"github.com/riverqueue/river"

	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/jobs"
	"stead.dev/stead/internal/platform/outbox"
)

const (
	mostDue   = 50 // services of one turn
	keptFor   = 400 * 24 * time.Hour
	mostClean = 1000
	busyPause = time.Minute
)

// weekly are the services that are scanned.
var weekly = jobs.Rota{Table: "scans_services", Period: 7 * 24 * time.Hour}

// Follow has services that are there scanned every week. It is told of their events.
func (s *Service) Follow(ctx context.Context, tx *db.Tx, e outbox.Stored) error {
	if e.Type == "service.terminated" {
		return weekly.Remove(ctx, tx, e.SubjectID)
	}
	return weekly.Add(ctx, tx, e.AccountID, e.SubjectID)
}

// Due inserts the jobs of the services that are to be scanned now; a periodic job calls it.
func (s *Service) Due(ctx context.Context) error {
	return s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		due, err := weekly.Take(ctx, tx, mostDue)
		if err != nil {
			return err
		}
		for _, turn := range due {
			err := s.Queue.Enqueue(ctx, tx, weeklyArgs(turn), &river.InsertOpts{Queue: jobs.WebhookQueue, UniqueOpts: jobs.Once(), MaxAttempts: 3})
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// scanWeekly scans the site of a service. A service that is not online, or whose domain leads elsewhere, is passed over.
func (s *Service) scanWeekly(ctx context.Context, accountID, serviceID int64) error {
	host, online, err := s.Sites.Primary(ctx, s.DB, accountID, serviceID)
	if errors.Is(err, fault.NotFound) {
		return nil // the account was closed
	}
	if err != nil || !online || host == "" {
		return err
	}
	owned, ok, err := s.Sites.Owner(ctx, s.DB, accountID, host)
	if err != nil || !ok || owned.ServiceID != serviceID || !s.leadsTo(ctx, host, owned.Addresses) {
		return err
	}
	t := target{url: "https://" + host + "/", scheme: "https", host: host}
	_, err = s.perform(ctx, scan{accountID: accountID, serviceID: &serviceID, url: t.url, weekly: true}, t)
	switch {
	case errors.Is(err, errInProgress):
		return river.JobSnooze(busyPause)
	case errors.Is(err, errUnreachable), errors.Is(err, fault.TargetNotAllowed), errors.Is(err, errInterrupted):
		return nil // the row tells
	default:
		return err
	}
}

// Clean removes scans that are older than a year; a periodic job calls it.
func (s *Service) Clean(ctx context.Context) error {
	for {
		var n int64
		err := s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) (err error) {
			n, err = removeOld(ctx, tx, tx.Now.Add(-keptFor), mostClean)
			return err
		})
		if err != nil || n < mostClean {
			return err
		}
	}
}
