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
	river.AddWorker(w, &cleanWorker{runs: s})
}

// Schedule adds the section's periodic jobs; every is the queue's.
func (s *Service) Schedule(every func(interval time.Duration, args river.JobArgs)) {
	every(time.Minute, expireArgs{})
	every(time.Hour, billArgs{})
	every(time.Hour, cleanArgs{})
}

type expireArgs struct{}

func (expireArgs) Kind() string { return "ai.expire" }

type billArgs struct{}

func (billArgs) Kind() string { return "ai.bill" }

type cleanArgs struct{}

func (cleanArgs) Kind() string { return "ai.clean" }

// InsertOpts says that the job needs the hosting servers: it empties the trash.
func (cleanArgs) InsertOpts() river.InsertOpts { return river.InsertOpts{Queue: jobs.PanelQueue} }

type cleanWorker struct {
	river.WorkerDefaults[cleanArgs]
	runs *Service
}

// Timeout lets many machines be asked; the next job goes on.
func (*cleanWorker) Timeout(*river.Job[cleanArgs]) time.Duration { return 10 * time.Minute }

func (w *cleanWorker) Work(ctx context.Context, _ *river.Job[cleanArgs]) error {
	return w.runs.clean(ctx)
}
