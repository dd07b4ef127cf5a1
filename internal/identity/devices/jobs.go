package devices

import (
	"context"
	"time"

	"github.com/riverqueue/river"

	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/jobs"
)

// Register adds the section's workers.
func (s *Service) Register(w *river.Workers) {
	river.AddWorker(w, &pushWorker{devices: s})
	jobs.Work(w, func(ctx context.Context, _ cleanArgs) error { return s.Clean(ctx) })
}

// Schedule adds the section's periodic jobs; every is the queue's.
func (s *Service) Schedule(every func(interval time.Duration, args river.JobArgs)) {
	every(24*time.Hour, cleanArgs{})
}

type pushArgs struct {
	DeviceID       int64 `json:"device_id"`
	NotificationID int64 `json:"notification_id"`
}

func (pushArgs) Kind() string { return "devices.push" }

// enqueue puts a push on the queue of jobs that wait for other servers: a hanging push service delays nothing else.
func (s *Service) enqueue(ctx context.Context, tx *db.Tx, args pushArgs) error {
	return s.Queue.Enqueue(ctx, tx, args, &river.InsertOpts{Queue: jobs.WebhookQueue})
}

type pushWorker struct {
	river.WorkerDefaults[pushArgs]
	devices *Service
}

func (w *pushWorker) Work(ctx context.Context, job *river.Job[pushArgs]) error {
	pause, err := w.devices.push(ctx, job.Args.DeviceID, job.Args.NotificationID)
	if err == nil && pause > 0 {
		return river.JobSnooze(pause)
	}
	return err
}

type cleanArgs struct{}

func (cleanArgs) Kind() string { return "devices.clean" }
