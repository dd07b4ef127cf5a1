package php

import (
	"context"

	"github.com/riverqueue/river"

	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/jobs"
)

// Register adds the section's worker.
func (s *Service) Register(w *river.Workers) { river.AddWorker(w, &applyWorker{php: s}) }

type applyArgs struct {
	AccountID int64 `json:"account_id"`
	ServiceID int64 `json:"service_id"`
}

func (applyArgs) Kind() string { return "php.apply" }

// enqueueApply has the panel follow a change.
func (s *Service) enqueueApply(ctx context.Context, tx *db.Tx, accountID, serviceID int64) error {
	return s.Queue.Enqueue(ctx, tx, applyArgs{accountID, serviceID}, &river.InsertOpts{Queue: jobs.PanelQueue})
}

type applyWorker struct {
	river.WorkerDefaults[applyArgs]
	php *Service
}

func (w *applyWorker) Work(ctx context.Context, job *river.Job[applyArgs]) error {
	return w.php.Apply(ctx, job.Args.AccountID, job.Args.ServiceID)
}
