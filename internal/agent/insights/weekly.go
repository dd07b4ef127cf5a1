package insights

import (
	"context"
	"encoding/json"
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
	busyPause = time.Minute
	// freshAfter is when the server's programs have noticed what a run of the agent has changed.
	freshAfter = 5 * time.Second
)

// weekly are the services that are audited.
var weekly = jobs.Rota{Table: "insights_services", Period: 7 * 24 * time.Hour}

// Provisioned has services that are there audited every week.
func (s *Service) Provisioned(ctx context.Context, tx *db.Tx, e outbox.Stored) error {
	return weekly.Add(ctx, tx, e.AccountID, e.SubjectID)
}

// Worked audits a service on which the agent has worked, if something was to improve about it: what the agent has mended is
// resolved without anybody asking.
func (s *Service) Worked(ctx context.Context, tx *db.Tx, e outbox.Stored) error {
	var run struct {
		ServiceID int64 `json:"service_id"`
	}
	if err := json.Unmarshal(e.Data, &run); err != nil {
		return err
	}
	open, err := countOpen(ctx, tx, e.AccountID, run.ServiceID)
	if err != nil || len(open) == 0 {
		return err
	}
	return s.enqueue(ctx, tx, auditArgs{e.AccountID, run.ServiceID}, tx.Now.Add(freshAfter))
}

// Due inserts the jobs of the services that are to be audited now; a periodic job calls it.
func (s *Service) Due(ctx context.Context) error {
	return s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		due, err := weekly.Take(ctx, tx, mostDue)
		if err != nil {
			return err
		}
		for _, turn := range due {
			if err := s.enqueue(ctx, tx, auditArgs(turn), tx.Now); err != nil {
				return err
			}
		}
		return nil
	})
}

func (s *Service) enqueue(ctx context.Context, tx *db.Tx, args auditArgs, at time.Time) error {
	return s.Queue.Enqueue(ctx, tx, args, &river.InsertOpts{
		Queue: jobs.WebhookQueue, UniqueOpts: jobs.Once(), MaxAttempts: 3, ScheduledAt: at,
	})
}

// auditUnasked audits a service because it is time, or the agent has worked on it. One that takes no audit is passed over.
func (s *Service) auditUnasked(ctx context.Context, accountID, serviceID int64) error {
	_, err := s.audit(ctx, accountID, serviceID)
	switch {
	case errors.Is(err, fault.JobRunning):
		return river.JobSnooze(busyPause)
	case errors.Is(err, fault.NotFound), errors.Is(err, fault.ServiceNotActive), errors.Is(err, fault.ServiceSuspended), errors.Is(err, fault.RateLimited):
		return nil
	default:
		return err
	}
}
