package runs

import (
	"context"
	"time"

	"github.com/riverqueue/river"

	"stead.dev/stead/internal/platform/jobs"
)

// Register adds the section's workers.
func (s *Service) Register(w *river.Workers) {
	jobs.Work(w, func(ctx context.Context, _ expireArgs) error { return s.expire(ctx) })
	jobs.Work(w, func(ctx context.Context, _ billArgs) error { return s.bill(ctx) })
	jobs.Work(w, func(ctx context.Context, _ cleanArgs) error { return s.clean(ctx) })
}

// Schedule adds the section's periodic jobs; every is the queue's.
func (s *Service) Schedule(every func(interval time.Duration, args river.JobArgs)) {
	every(time.Minute, expireArgs{})
	every(time.Hour, billArgs{})
	every(24*time.Hour, cleanArgs{})
}

type expireArgs struct{}

func (expireArgs) Kind() string { return "ai.expire" }

type billArgs struct{}

func (billArgs) Kind() string { return "ai.bill" }

type cleanArgs struct{}

func (cleanArgs) Kind() string { return "ai.clean" }

// InsertOpts says that the job needs the hosting servers: it empties the trash.
func (cleanArgs) InsertOpts() river.InsertOpts { return river.InsertOpts{Queue: jobs.PanelQueue} }
