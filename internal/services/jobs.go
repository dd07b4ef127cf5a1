package services

import (
	"context"
	"errors"
	"time"

	"github.com/riverqueue/river"

	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/jobs"
)

// provisionAttempts: with the queue's growing pauses (1 s, 16 s, 81 s, …) the last
// one comes about 40 minutes after the first.
const provisionAttempts = 7

// Register adds the section's workers.
func (s *Service) Register(w *river.Workers) {
	river.AddWorker(w, &provisionWorker{services: s})
	river.AddWorker(w, &cleanUpWorker{services: s})
	river.AddWorker(w, &suspensionWorker{services: s})
	river.AddWorker(w, &endWorker{services: s})
	river.AddWorker(w, &limitsWorker{services: s})
	river.AddWorker(w, &tariffsWorker{services: s})
	river.AddWorker(w, &stepsWorker{services: s})
	river.AddWorker(w, &stepWorker{services: s})
	river.AddWorker(w, &reconcileWorker{services: s})
}

// Schedule adds the section's periodic jobs; every is the queue's.
func (s *Service) Schedule(every func(interval time.Duration, args river.JobArgs)) {
	every(time.Minute, reconcileArgs{})
	every(time.Minute, tariffsArgs{})
	every(time.Minute, stepsArgs{})
}

type provisionArgs struct {
	ServiceID int64 `json:"service_id"`
}

func (provisionArgs) Kind() string { return "services.provision" }

// enqueueProvision adds no second job to one that is still to do something, so
// Reconcile may ask again.
func (s *Service) enqueueProvision(ctx context.Context, tx *db.Tx, id int64) error {
	return s.Queue.Enqueue(ctx, tx, provisionArgs{ServiceID: id}, &river.InsertOpts{
		Queue:       jobs.PanelQueue,
		MaxAttempts: provisionAttempts,
		UniqueOpts:  jobs.Once(),
	})
}

type provisionWorker struct {
	river.WorkerDefaults[provisionArgs]
	services *Service
}

func (w *provisionWorker) Work(ctx context.Context, job *river.Job[provisionArgs]) error {
	return cleaned(w.services.provision(ctx, job.Args.ServiceID, job.Attempt >= job.MaxAttempts))
}

// cleaned has a job come again that waits until an account is removed.
func cleaned(err error) error {
	if errors.Is(err, errCleaning) {
		return river.JobSnooze(time.Second)
	}
	return err
}

type cleanUpArgs struct {
	ServiceID int64 `json:"service_id"`
}

func (cleanUpArgs) Kind() string { return "services.clean_up" }

func (s *Service) enqueueCleanUp(ctx context.Context, tx *db.Tx, id int64) error {
	return s.Queue.Enqueue(ctx, tx, cleanUpArgs{ServiceID: id}, &river.InsertOpts{Queue: jobs.PanelQueue})
}

type cleanUpWorker struct {
	river.WorkerDefaults[cleanUpArgs]
	services *Service
}

func (w *cleanUpWorker) Work(ctx context.Context, job *river.Job[cleanUpArgs]) error {
	return cleaned(w.services.cleanUp(ctx, job.Args.ServiceID))
}

type suspensionArgs struct {
	ServiceID int64 `json:"service_id"`
}

func (suspensionArgs) Kind() string { return "services.suspension" }

type suspensionWorker struct {
	river.WorkerDefaults[suspensionArgs]
	services *Service
}

func (w *suspensionWorker) Work(ctx context.Context, job *river.Job[suspensionArgs]) error {
	return w.services.followOnPanel(ctx, job.Args.ServiceID)
}

type reconcileArgs struct{}

func (reconcileArgs) Kind() string { return "services.reconcile" }

type reconcileWorker struct {
	river.WorkerDefaults[reconcileArgs]
	services *Service
}

func (w *reconcileWorker) Work(ctx context.Context, _ *river.Job[reconcileArgs]) error {
	return w.services.Reconcile(ctx)
}
