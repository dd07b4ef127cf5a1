package access

import (
	"context"

	"github.com/riverqueue/river"

	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/jobs"
)

// Register adds the section's workers.
func (s *Service) Register(w *river.Workers) { river.AddWorker(w, &applyWorker{access: s}) }

type applyArgs struct {
	AccountID int64 `json:"account_id"`
	ServiceID int64 `json:"service_id"`
}

func (applyArgs) Kind() string { return "access.apply" }

// enqueue has the panel follow a change. Each change has a job of its own: one that is running may have read
// the rows before this change.
func (s *Service) enqueue(ctx context.Context, tx *db.Tx, accountID, serviceID int64) error {
	return s.Queue.Enqueue(ctx, tx, applyArgs{accountID, serviceID}, &river.InsertOpts{Queue: jobs.PanelQueue})
}

type applyWorker struct {
	river.WorkerDefaults[applyArgs]
	access *Service
}

func (w *applyWorker) Work(ctx context.Context, job *river.Job[applyArgs]) error {
	return w.access.Apply(ctx, job.Args.AccountID, job.Args.ServiceID)
}
