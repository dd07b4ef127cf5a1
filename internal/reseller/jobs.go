package reseller

import (
	"context"
	"time"

	"github.com/riverqueue/river"
)

// Register adds the front's workers.
func (s *Service) Register(w *river.Workers) { river.AddWorker(w, &cleanWorker{reseller: s}) }

// Schedule adds the front's periodic jobs; every is the queue's.
func (s *Service) Schedule(every func(interval time.Duration, args river.JobArgs)) {
	every(time.Hour, cleanArgs{})
}

type cleanArgs struct{}

func (cleanArgs) Kind() string { return "reseller.clean" }

type cleanWorker struct {
	river.WorkerDefaults[cleanArgs]
	reseller *Service
}

func (w *cleanWorker) Work(ctx context.Context, _ *river.Job[cleanArgs]) error {
	return w.reseller.Clean(ctx)
}
