package monitors

import (
	"context"
	"time"

	"github.com/riverqueue/river"

	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/jobs"
)

// Register adds the section's workers.
func (s *Service) Register(w *river.Workers) {
	jobs.Work(w, func(ctx context.Context, _ cleanArgs) error { return s.Clean(ctx) })
	jobs.Work(w, func(ctx context.Context, _ sweepArgs) error { return s.SweepAlerts(ctx) })
	river.AddWorker(w, &alertWorker{monitors: s})
}

// Schedule adds the section's periodic jobs; every is the queue's.
func (s *Service) Schedule(every func(interval time.Duration, args river.JobArgs)) {
	every(15*time.Minute, cleanArgs{})
	every(time.Minute, sweepArgs{})
}

type cleanArgs struct{}

func (cleanArgs) Kind() string { return "monitors.clean" }

type sweepArgs struct{}

func (sweepArgs) Kind() string { return "monitors.sweep_alerts" }

type alertArgs struct {
	ChannelID int64 `json:"channel_id"`
}

func (alertArgs) Kind() string { return "monitors.alert" }

// wakeChannel has the alerts of a channel sent at a time.
func (s *Service) wakeChannel(ctx context.Context, tx *db.Tx, channelID int64, at time.Time) error {
	o := river.InsertOpts{Queue: jobs.WebhookQueue}
	if at.After(tx.Now) {
		o.ScheduledAt = at
	}
	return s.Queue.Enqueue(ctx, tx, alertArgs{channelID}, &o)
}

type alertWorker struct {
	river.WorkerDefaults[alertArgs]
	monitors *Service
}

// Timeout covers a turn.
func (*alertWorker) Timeout(*river.Job[alertArgs]) time.Duration {
	return (turnAlerts + 1) * sendTimeout
}

func (w *alertWorker) Work(ctx context.Context, job *river.Job[alertArgs]) error {
	return w.monitors.Deliver(ctx, job.Args.ChannelID)
}
