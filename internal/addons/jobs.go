package addons

import (
	"context"
	"time"

	"github.com/riverqueue/river"
)

// Register adds the section's workers.
func (s *Service) Register(w *river.Workers) { river.AddWorker(w, &settleWorker{addons: s}) }

// Schedule adds the section's periodic jobs; every is the queue's.
func (s *Service) Schedule(every func(interval time.Duration, args river.JobArgs)) {
	every(5*time.Minute, settleArgs{})
}

type settleArgs struct{}

func (settleArgs) Kind() string { return "addons.settle" }

type settleWorker struct {
	river.WorkerDefaults[settleArgs]
	addons *Service
}

func (w *settleWorker) Work(ctx context.Context, _ *river.Job[settleArgs]) error {
	return w.addons.Settle(ctx)
}
