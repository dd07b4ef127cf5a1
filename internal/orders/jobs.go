package orders

import (
	"context"
	"time"

	"github.com/riverqueue/river"
)

// Register adds the section's workers.
func (s *Service) Register(w *river.Workers) { river.AddWorker(w, &expireWorker{orders: s}) }

// Schedule adds the section's periodic jobs; every is the queue's.
func (s *Service) Schedule(every func(interval time.Duration, args river.JobArgs)) {
	every(10*time.Minute, expireArgs{})
}

type expireArgs struct{}

func (expireArgs) Kind() string { return "orders.expire" }

type expireWorker struct {
	river.WorkerDefaults[expireArgs]
	orders *Service
}

func (w *expireWorker) Work(ctx context.Context, _ *river.Job[expireArgs]) error {
	return w.orders.Expire(ctx)
}
