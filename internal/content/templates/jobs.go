package templates

import (
	"context"

	"github.com/riverqueue/river"

	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/jobs"
)

// Register adds the section's worker.
func (s *Service) Register(w *river.Workers) {
	jobs.Work(w, func(ctx context.Context, a installArgs) error { return s.run(ctx, a.InstallationID) })
}

func (s *Service) enqueue(ctx context.Context, tx *db.Tx, id int64) error {
	return s.Queue.Enqueue(ctx, tx, installArgs{id}, &river.InsertOpts{Queue: jobs.PanelQueue, UniqueOpts: jobs.Once()})
}

type installArgs struct {
	InstallationID int64 `json:"installation_id"`
}

func (installArgs) Kind() string { return "templates.install" }
