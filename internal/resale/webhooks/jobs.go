package webhooks

import (
	"context"
	"time"

	"github.com/riverqueue/river"

	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/jobs"
)

// Register adds the section's workers.
func (s *Service) Register(w *river.Workers) {
	river.AddWorker(w, &deliverWorker{webhooks: s})
	jobs.Work(w, func(ctx context.Context, _ sweepArgs) error { return s.Sweep(ctx) })
	jobs.Work(w, func(ctx context.Context, _ cleanArgs) error { return s.Clean(ctx) })
}

// Schedule adds the section's periodic jobs; every is the queue's.
func (s *Service) Schedule(every func(interval time.Duration, args river.JobArgs)) {
	every(time.Minute, sweepArgs{})
	every(24*time.Hour, cleanArgs{})
}

type deliverArgs struct {
	EndpointID int64 `json:"endpoint_id"`
}

func (deliverArgs) Kind() string { return "webhooks.deliver" }

// wake schedules deliveries to the endpoint for a time.
func (s *Service) wake(ctx context.Context, tx *db.Tx, endpointID int64, at time.Time) error {
	o := river.InsertOpts{Queue: jobs.WebhookQueue}
	if at.After(tx.Now) {
		o.ScheduledAt = at
	}
	return s.Queue.Enqueue(ctx, tx, deliverArgs{endpointID}, &o)
}

type deliverWorker struct {
	river.WorkerDefaults[deliverArgs]
	webhooks *Service
}

// Timeout covers a turn and the attempt at its end.
func (*deliverWorker) Timeout(*river.Job[deliverArgs]) time.Duration {
	return turnTime + 2*timeout
}

func (w *deliverWorker) Work(ctx context.Context, job *river.Job[deliverArgs]) error {
	return w.webhooks.Deliver(ctx, job.Args.EndpointID)
}

type sweepArgs struct{}

func (sweepArgs) Kind() string { return "webhooks.sweep" }

type cleanArgs struct{}

func (cleanArgs) Kind() string { return "webhooks.clean" }
