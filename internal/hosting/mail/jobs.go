package mail

import (
	"context"
	"time"

	"github.com/riverqueue/river"

	"stead.dev/stead/internal/hosting/site"
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
	site.Work[applyArgs](w, s.Apply)
	site.Work[measureArgs](w, s.Measure)
	jobs.Work(w, func(ctx context.Context, _ sweepArgs) error { return s.MeasureDue(ctx) })
	jobs.Work(w, func(ctx context.Context, _ healthArgs) error { return s.CheckDNS(ctx) })
}

// Schedule adds the section's periodic jobs; every is the queue's.
func (s *Service) Schedule(every func(interval time.Duration, args river.JobArgs)) {
	every(sweepEvery, sweepArgs{})
	every(healthEvery, healthArgs{})
}

type applyArgs struct{ site.Target }

func (applyArgs) Kind() string { return "mail.apply" }

type measureArgs struct{ site.Target }

func (measureArgs) Kind() string { return "mail.measure" }

func (s *Service) enqueueMeasure(ctx context.Context, tx *db.Tx, t site.Target) error {
	return s.Queue.Enqueue(ctx, tx, measureArgs{t}, &river.InsertOpts{
		Queue: jobs.PanelQueue, Priority: jobs.Routine, MaxAttempts: 1, // the next one comes soon
		UniqueOpts: jobs.Once(),
	})
}

type sweepArgs struct{}

func (sweepArgs) Kind() string { return "mail.sweep" }

type healthArgs struct{}

func (healthArgs) Kind() string { return "mail.check_dns" }
