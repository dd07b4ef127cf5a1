package services

import (
	"context"
	"time"

	"github.com/riverqueue/river"

	"stead.dev/stead/internal/platform/jobs"
)

// Register adds the section's workers.
func (s *Service) Register(w *river.Workers) {
	jobs.Work(w, func(ctx context.Context, _ tariffsArgs) error { return s.ApplyTariffs(ctx) })
	jobs.Work(w, func(ctx context.Context, _ stepsArgs) error { return s.Steps(ctx) })
	river.AddWorker(w, &stepWorker{services: s})
}

// Schedule adds the section's periodic jobs; every is the queue's.
func (s *Service) Schedule(every func(interval time.Duration, args river.JobArgs)) {
	every(time.Minute, tariffsArgs{})
	every(time.Minute, stepsArgs{})
}
