package mail

import (
	"context"
	"time"

	"github.com/riverqueue/river"

	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/jobs"
)

// How often the periodic jobs look.
const (
	healthEvery = time.Minute
	sweepEvery  = time.Minute
)

// Register adds the section's workers.
func (s *Service) Register(w *river.Workers) {
	river.AddWorker(w, &applyWorker{mail: s})
	river.AddWorker(w, &measureWorker{mail: s})
	river.AddWorker(w, &sweepWorker{mail: s})
	river.AddWorker(w, &healthWorker{mail: s})
}

// Schedule adds the section's periodic jobs; every is the queue's.
func (s *Service) Schedule(every func(interval time.Duration, args river.JobArgs)) {
	every(sweepEvery, sweepArgs{})
	every(healthEvery, healthArgs{})
}

type applyArgs struct {
	AccountID int64 `json:"account_id"`
	ServiceID int64 `json:"service_id"`
}

func (applyArgs) Kind() string { return "mail.apply" }

// enqueueApply has the panel follow a change. Each change has a job of its own: one that is running may
// have read the rows before this change.
func (s *Service) enqueueApply(ctx context.Context, tx *db.Tx, accountID, serviceID int64) error {
	return s.Queue.Enqueue(ctx, tx, applyArgs{accountID, serviceID}, &river.InsertOpts{Queue: jobs.PanelQueue})
}

type applyWorker struct {
	river.WorkerDefaults[applyArgs]
	mail *Service
}

func (w *applyWorker) Work(ctx context.Context, job *river.Job[applyArgs]) error {
	return w.mail.Apply(ctx, job.Args.AccountID, job.Args.ServiceID)
}

type measureArgs struct {
	AccountID int64 `json:"account_id"`
	ServiceID int64 `json:"service_id"`
}

func (measureArgs) Kind() string { return "mail.measure" }

func (s *Service) enqueueMeasure(ctx context.Context, tx *db.Tx, w whose) error {
	return s.Queue.Enqueue(ctx, tx, measureArgs{w.accountID, w.serviceID}, &river.InsertOpts{
		Queue: jobs.PanelQueue, MaxAttempts: 1, // the next one comes soon
		UniqueOpts: jobs.Once(),
	})
}

type measureWorker struct {
	river.WorkerDefaults[measureArgs]
	mail *Service
}

func (w *measureWorker) Work(ctx context.Context, job *river.Job[measureArgs]) error {
	return w.mail.Measure(ctx, job.Args.AccountID, job.Args.ServiceID)
}

type sweepArgs struct{}

func (sweepArgs) Kind() string { return "mail.sweep" }

type sweepWorker struct {
	river.WorkerDefaults[sweepArgs]
	mail *Service
}

func (w *sweepWorker) Work(ctx context.Context, _ *river.Job[sweepArgs]) error {
	return w.mail.MeasureDue(ctx)
}

type healthArgs struct{}

func (healthArgs) Kind() string { return "mail.check_dns" }

type healthWorker struct {
	river.WorkerDefaults[healthArgs]
	mail *Service
}

func (w *healthWorker) Work(ctx context.Context, _ *river.Job[healthArgs]) error {
	return w.mail.CheckDNS(ctx)
}
