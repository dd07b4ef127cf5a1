package hosting

import (
	"context"
	"time"

	"github.com/riverqueue/river"

	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/jobs"
)

// How often the periodic jobs look, and how often each service is compared.
const (
	dnsEvery       = time.Minute
	sweepEvery     = time.Minute
	reconcileEvery = time.Hour
)

// Register adds the section's workers.
func (s *Service) Register(w *river.Workers) {
	river.AddWorker(w, &applyWorker{hosting: s})
	river.AddWorker(w, &applyAllWorker{hosting: s})
	river.AddWorker(w, &reconcileWorker{hosting: s})
	river.AddWorker(w, &dnsWorker{hosting: s})
}

// Schedule adds the section's periodic jobs; every is the queue's.
func (s *Service) Schedule(every func(interval time.Duration, args river.JobArgs)) {
	every(sweepEvery, reconcileArgs{})
	every(dnsEvery, dnsArgs{})
}

type applyArgs struct {
	AccountID int64 `json:"account_id"`
	ServiceID int64 `json:"service_id"`
}

func (applyArgs) Kind() string { return "hosting.apply" }

// enqueueApply has the panel follow a change. Each change has a job of its own: one
// that is running may have read the rows before this change.
func (s *Service) enqueueApply(ctx context.Context, tx *db.Tx, accountID, serviceID int64) error {
	return s.Queue.Enqueue(ctx, tx, applyArgs{accountID, serviceID}, &river.InsertOpts{Queue: jobs.PanelQueue})
}

type applyAllArgs struct {
	AccountID int64 `json:"account_id"`
	ServiceID int64 `json:"service_id"`
}

func (applyAllArgs) Kind() string { return "hosting.apply_all" }

// enqueueApplyAll has the panel follow what happened to a service.
func (s *Service) enqueueApplyAll(ctx context.Context, tx *db.Tx, accountID, serviceID int64) error {
	return s.Queue.Enqueue(ctx, tx, applyAllArgs{accountID, serviceID}, &river.InsertOpts{Queue: jobs.PanelQueue})
}

type applyAllWorker struct {
	river.WorkerDefaults[applyAllArgs]
	hosting *Service
}

func (w *applyAllWorker) Work(ctx context.Context, job *river.Job[applyAllArgs]) error {
	return w.hosting.ApplyAll(ctx, job.Args.AccountID, job.Args.ServiceID)
}

// enqueueReconcile compares a service of which no change is known, so a job that is
// there already will do.
func (s *Service) enqueueReconcile(ctx context.Context, tx *db.Tx, d owned) error {
	return s.Queue.Enqueue(ctx, tx, applyAllArgs{d.accountID, d.serviceID}, &river.InsertOpts{
		Queue:      jobs.PanelQueue,
		UniqueOpts: jobs.Once(),
	})
}

type applyWorker struct {
	river.WorkerDefaults[applyArgs]
	hosting *Service
}

func (w *applyWorker) Work(ctx context.Context, job *river.Job[applyArgs]) error {
	return w.hosting.Apply(ctx, job.Args.AccountID, job.Args.ServiceID)
}

type reconcileArgs struct{}

func (reconcileArgs) Kind() string { return "hosting.reconcile" }

type reconcileWorker struct {
	river.WorkerDefaults[reconcileArgs]
	hosting *Service
}

func (w *reconcileWorker) Work(ctx context.Context, _ *river.Job[reconcileArgs]) error {
	return w.hosting.Reconcile(ctx)
}

type dnsArgs struct{}

func (dnsArgs) Kind() string { return "hosting.check_dns" }

type dnsWorker struct {
	river.WorkerDefaults[dnsArgs]
	hosting *Service
}

func (w *dnsWorker) Work(ctx context.Context, _ *river.Job[dnsArgs]) error {
	return w.hosting.CheckDNS(ctx)
}
