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
	jobs.Work(w, func(ctx context.Context, a applyArgs) error { return s.Apply(ctx, a.AccountID, a.ServiceID) })
	jobs.Work(w, func(ctx context.Context, a applyAllArgs) error { return s.ApplyAll(ctx, a.AccountID, a.ServiceID) })
	jobs.Work(w, func(ctx context.Context, _ reconcileArgs) error { return s.Reconcile(ctx) })
	jobs.Work(w, func(ctx context.Context, _ dnsArgs) error { return s.CheckDNS(ctx) })
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

// enqueueReconcile compares a service of which no change is known, so a job that is
// there already will do.
func (s *Service) enqueueReconcile(ctx context.Context, tx *db.Tx, d owned) error {
	return s.Queue.Enqueue(ctx, tx, applyAllArgs{d.accountID, d.serviceID}, &river.InsertOpts{
		Queue:      jobs.PanelQueue,
		UniqueOpts: jobs.Once(),
	})
}

type reconcileArgs struct{}

func (reconcileArgs) Kind() string { return "hosting.reconcile" }

type dnsArgs struct{}

func (dnsArgs) Kind() string { return "hosting.check_dns" }
