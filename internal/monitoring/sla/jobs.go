package sla

import (
	"context"
	"time"

	"github.com/riverqueue/river"

	"stead.dev/stead/internal/platform/jobs"
)

// Register adds the section's workers.
func (s *Service) Register(w *river.Workers) {
	jobs.Work(w, func(ctx context.Context, _ closeArgs) error { return s.Close(ctx) })
	jobs.Work(w, func(ctx context.Context, _ payArgs) error { return s.Pay(ctx) })
}

// Schedule adds the section's periodic jobs; every is the queue's.
func (s *Service) Schedule(every func(interval time.Duration, args river.JobArgs)) {
	every(5*time.Minute, closeArgs{})
	every(5*time.Minute, payArgs{})
}

type closeArgs struct{}

func (closeArgs) Kind() string { return "sla.close" }

type payArgs struct{}

func (payArgs) Kind() string { return "sla.pay" }
