package billing

import (
	"context"
	"time"

	"github.com/riverqueue/river"

	"stead.dev/stead/internal/platform/jobs"
)

// Register adds the package's workers.
func (s *Service) Register(w *river.Workers) {
	jobs.Work(w, func(ctx context.Context, _ tariffsArgs) error { return s.ApplyTariffs(ctx) })
}

// Schedule adds the package's periodic jobs; every is the queue's.
func (s *Service) Schedule(every func(interval time.Duration, args river.JobArgs)) {
	every(time.Minute, tariffsArgs{})
}

type tariffsArgs struct{}

// Kind is stored with queued jobs, so it keeps the name of the package that had it first.
func (tariffsArgs) Kind() string { return "services.apply_tariffs" }
