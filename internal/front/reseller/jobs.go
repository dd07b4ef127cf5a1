package reseller

import (
	"context"
	"time"

	"github.com/riverqueue/river"

	"stead.dev/stead/internal/platform/jobs"
)

// Register adds the front's workers.
func (s *Service) Register(w *river.Workers) {
	jobs.Work(w, func(ctx context.Context, _ cleanArgs) error { return s.Clean(ctx) })
}

// Schedule adds the front's periodic jobs; every is the queue's.
func (s *Service) Schedule(every func(interval time.Duration, args river.JobArgs)) {
	every(time.Hour, cleanArgs{})
}

type cleanArgs struct{}

func (cleanArgs) Kind() string { return "reseller.clean" }
