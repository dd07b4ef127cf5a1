package access

import (
	"context"

	"github.com/riverqueue/river"

	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/jobs"
)

// Register adds the section's workers.
func (s *Service) Register(w *river.Workers) {
	jobs.Work(w, func(ctx context.Context, a applyArgs) error { return s.Apply(ctx, a.AccountID, a.ServiceID) })
}

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
