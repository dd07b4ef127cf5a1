package sitedomains

import (
	"context"
	"time"

	"github.com/riverqueue/river"

	"stead.dev/stead/internal/hosting/site"
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
	site.Work[applyArgs](w, s.Apply)
	site.Work[applyAllArgs](w, s.ApplyAll)
	jobs.Work(w, func(ctx context.Context, _ reconcileArgs) error { return s.Reconcile(ctx) })
	jobs.Work(w, func(ctx context.Context, _ dnsArgs) error { return s.CheckDNS(ctx) })
}

// Schedule adds the section's periodic jobs; every is the queue's.
func (s *Service) Schedule(every func(interval time.Duration, args river.JobArgs)) {
	every(sweepEvery, reconcileArgs{})
	every(dnsEvery, dnsArgs{})
}

type applyArgs struct{ site.Target }

func (applyArgs) Kind() string { return "hosting.apply" }

type applyAllArgs struct{ site.Target }

func (applyAllArgs) Kind() string { return "hosting.apply_all" }

// enqueueApplyAll has the panel follow what happened to a service.
func (s *Service) enqueueApplyAll(ctx context.Context, tx *db.Tx, t site.Target) error {
	return s.Queue.Enqueue(ctx, tx, applyAllArgs{t}, &river.InsertOpts{Queue: jobs.PanelQueue, Priority: jobs.FollowUp})
}

// enqueueReconcile compares a service of which no change is known, so a job that is
// there already will do.
func (s *Service) enqueueReconcile(ctx context.Context, tx *db.Tx, t site.Target) error {
	return s.Queue.Enqueue(ctx, tx, applyAllArgs{t}, &river.InsertOpts{
		Queue: jobs.PanelQueue, Priority: jobs.Routine, UniqueOpts: jobs.Once(),
	})
}

type reconcileArgs struct{}

func (reconcileArgs) Kind() string { return "hosting.reconcile" }

type dnsArgs struct{}

func (dnsArgs) Kind() string { return "hosting.check_dns" }
