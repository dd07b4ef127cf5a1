package addons

import (
	"context"
	"time"

	"github.com/riverqueue/river"

	"stead.dev/stead/internal/platform/jobs"
)

// Register adds the section's workers.
func (s *Service) Register(w *river.Workers) {
	jobs.Work(w, func(ctx context.Context, _ settleArgs) error { return s.Settle(ctx) })
}

// Schedule adds the section's periodic jobs; every is the queue's.
func (s *Service) Schedule(every func(interval time.Duration, args river.JobArgs)) {
	every(5*time.Minute, settleArgs{})
}

type settleArgs struct{}

func (settleArgs) Kind() string { return "addons.settle" }
