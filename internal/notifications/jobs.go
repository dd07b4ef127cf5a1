package notifications

import (
	"context"
	"time"

	"github.com/riverqueue/river"
)

// Register adds the section's workers.
func (s *Service) Register(w *river.Workers) {
	river.AddWorker(w, &mailWorker{notifications: s})
	river.AddWorker(w, &cleanWorker{notifications: s})
}

// Schedule adds the section's periodic jobs; every is the queue's.
func (s *Service) Schedule(every func(interval time.Duration, args river.JobArgs)) {
	every(24*time.Hour, cleanArgs{})
}

type mailArgs struct {
	NotificationID int64 `json:"notification_id"`
}

func (mailArgs) Kind() string { return "notifications.mail" }

type mailWorker struct {
	river.WorkerDefaults[mailArgs]
	notifications *Service
}

func (w *mailWorker) Work(ctx context.Context, job *river.Job[mailArgs]) error {
	return w.notifications.mail(ctx, job.Args.NotificationID)
}

type cleanArgs struct{}

func (cleanArgs) Kind() string { return "notifications.clean" }

type cleanWorker struct {
	river.WorkerDefaults[cleanArgs]
	notifications *Service
}

func (w *cleanWorker) Work(ctx context.Context, _ *river.Job[cleanArgs]) error {
	return w.notifications.Clean(ctx)
}
