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
	jobs.Work(w, func(ctx context.Context, a cleanUpArgs) error { return cleaned(s.cleanUp(ctx, a.ServiceID)) })
	jobs.Work(w, func(ctx context.Context, a suspensionArgs) error { return s.followOnPanel(ctx, a.ServiceID) })
	river.AddWorker(w, &endWorker{services: s})
	jobs.Work(w, func(ctx context.Context, a limitsArgs) error { return s.limitsOnPanel(ctx, a.ServiceID) })
	jobs.Work(w, func(ctx context.Context, _ tariffsArgs) error { return s.ApplyTariffs(ctx) })
	jobs.Work(w, func(ctx context.Context, _ stepsArgs) error { return s.Steps(ctx) })
	river.AddWorker(w, &stepWorker{services: s})
	jobs.Work(w, func(ctx context.Context, _ reconcileArgs) error { return s.Reconcile(ctx) })
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

type suspensionArgs struct {
	ServiceID int64 `json:"service_id"`
}

func (suspensionArgs) Kind() string { return "services.suspension" }

type reconcileArgs struct{}

func (reconcileArgs) Kind() string { return "services.reconcile" }
