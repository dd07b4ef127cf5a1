package insights

import (
	"context"
	"time"

	"github.com/riverqueue/river"

	"stead.dev/stead/internal/platform/jobs"
)

// Register adds the section's workers.
func (s *Service) Register(w *river.Workers) {
	jobs.Work(w, func(ctx context.Context, a auditArgs) error { return s.auditUnasked(ctx, a.AccountID, a.ServiceID) })
	jobs.Work(w, func(ctx context.Context, _ dueArgs) error { return s.Due(ctx) })
	jobs.Work(w, func(ctx context.Context, _ cleanArgs) error { return s.Clean(ctx) })
}

// Schedule adds the section's periodic jobs; every is the queue's.
func (s *Service) Schedule(every func(interval time.Duration, args river.JobArgs)) {
	every(5*time.Minute, dueArgs{})
	every(24*time.Hour, cleanArgs{})
}

type auditArgs struct {
	AccountID int64 `json:"account_id"`
	ServiceID int64 `json:"service_id"`
}

func (auditArgs) Kind() string { return "insights.audit" }

type dueArgs struct{}

func (dueArgs) Kind() string { return "insights.due" }

type cleanArgs struct{}

func (cleanArgs) Kind() string { return "insights.clean" }
