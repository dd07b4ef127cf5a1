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
	jobs.Work(w, func(ctx context.Context, a applyArgs) error { return s.Apply(ctx, a.AccountID, a.ServiceID) })
	jobs.Work(w, func(ctx context.Context, a measureArgs) error { return s.Measure(ctx, a.AccountID, a.ServiceID) })
	jobs.Work(w, func(ctx context.Context, _ sweepArgs) error { return s.MeasureDue(ctx) })
	jobs.Work(w, func(ctx context.Context, _ healthArgs) error { return s.CheckDNS(ctx) })
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

type sweepArgs struct{}

func (sweepArgs) Kind() string { return "mail.sweep" }

type healthArgs struct{}

func (healthArgs) Kind() string { return "mail.check_dns" }
