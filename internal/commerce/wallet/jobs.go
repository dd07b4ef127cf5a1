package wallet

import (
	"context"
	"errors"
	"time"

	"github.com/riverqueue/river"

	"stead.dev/stead/internal/platform/jobs"
)

// Register adds the section's workers.
func (s *Service) Register(w *river.Workers) {
	jobs.Work(w, func(ctx context.Context, _ expireArgs) error {
		_, err := s.ExpireDue(ctx)
		return err
	})
	jobs.Work(w, func(ctx context.Context, _ reconcileArgs) error { return s.reconcile(ctx) })
	jobs.Work(w, func(ctx context.Context, a automaticArgs) error {
		_, err := s.beginAutomatic(ctx, a.AccountID)
		return err
	})
	river.AddWorker(w, &chargeWorker{service: s})
	jobs.Work(w, func(ctx context.Context, _ dueArgs) error {
		_, err := s.AutomaticDue(ctx)
		return err
	})
}

// Schedule adds the section's periodic jobs; every is the queue's.
func (s *Service) Schedule(every func(interval time.Duration, args river.JobArgs)) {
	every(5*time.Minute, expireArgs{})
	every(5*time.Minute, dueArgs{})
	every(24*time.Hour, reconcileArgs{})
}

type expireArgs struct{}

func (expireArgs) Kind() string { return "wallet.expire_topups" }

type reconcileArgs struct{}

func (reconcileArgs) Kind() string { return "wallet.reconcile" }

// reconcile fails for good when the books do not add up, so that the failed job
// stands where operators look; the log says what.
func (s *Service) reconcile(ctx context.Context) error {
	found, err := s.Recompute(ctx)
	if err != nil || len(found) == 0 {
		return err
	}
	for _, d := range found {
		s.Log.ErrorContext(ctx, "wallet: the books do not add up", "kind", d.Kind, "id", d.ID,
			"recorded", d.Recorded, "computed", d.Computed)
	}
	return jobs.Cancel(errors.New("the books do not add up: see the log and `stead doctor`"))
}
