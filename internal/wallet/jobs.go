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
	river.AddWorker(w, &expireWorker{service: s})
	river.AddWorker(w, &reconcileWorker{service: s})
	river.AddWorker(w, &automaticWorker{service: s})
	river.AddWorker(w, &chargeWorker{service: s})
	river.AddWorker(w, &dueWorker{service: s})
}

// Schedule adds the section's periodic jobs; every is the queue's.
func (s *Service) Schedule(every func(interval time.Duration, args river.JobArgs)) {
	every(5*time.Minute, expireArgs{})
	every(5*time.Minute, dueArgs{})
	every(24*time.Hour, reconcileArgs{})
}

type expireArgs struct{}

func (expireArgs) Kind() string { return "wallet.expire_topups" }

type expireWorker struct {
	river.WorkerDefaults[expireArgs]
	service *Service
}

func (w *expireWorker) Work(ctx context.Context, _ *river.Job[expireArgs]) error {
	_, err := w.service.ExpireDue(ctx)
	return err
}

type reconcileArgs struct{}

func (reconcileArgs) Kind() string { return "wallet.reconcile" }

type reconcileWorker struct {
	river.WorkerDefaults[reconcileArgs]
	service *Service
}

// Work fails for good when the books do not add up, so that the failed job
// stands where operators look; the log says what.
func (w *reconcileWorker) Work(ctx context.Context, _ *river.Job[reconcileArgs]) error {
	found, err := w.service.Recompute(ctx)
	if err != nil || len(found) == 0 {
		return err
	}
	for _, d := range found {
		w.service.Log.ErrorContext(ctx, "wallet: the books do not add up", "kind", d.Kind, "id", d.ID,
			"recorded", d.Recorded, "computed", d.Computed)
	}
	return jobs.Cancel(errors.New("the books do not add up: see the log and `stead doctor`"))
}
