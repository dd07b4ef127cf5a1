package backups

import (
	"context"
	"time"

	"github.com/riverqueue/river"

	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/jobs"
)

// sweepEvery is how often the periodic job looks for what is due.
const sweepEvery = time.Minute

// Register adds the section's workers.
func (s *Service) Register(w *river.Workers) {
	jobs.Work(w, func(ctx context.Context, a makeArgs) error { return snooze(s.advance(ctx, a.BackupID)) })
	jobs.Work(w, func(ctx context.Context, a restoreArgs) error { return snooze(s.advanceRestore(ctx, a.RestoreID)) })
	jobs.Work(w, func(ctx context.Context, a removeArgs) error { return snooze(s.forget(ctx, a.BackupID)) })
	jobs.Work(w, func(ctx context.Context, a dailyArgs) error { return s.daily(ctx, a.AccountID, a.ServiceID) })
	jobs.Work(w, func(ctx context.Context, a checkArgs) error {
		return snooze(s.check(ctx, a.AccountID, a.ServiceID, time.Unix(a.Began, 0)))
	})
	jobs.Work(w, func(ctx context.Context, a reviewArgs) error { return snooze(s.review(ctx, a.AccountID, a.ServiceID)) })
	jobs.Work(w, func(ctx context.Context, _ sweepArgs) error { return s.Sweep(ctx) })
}

// Schedule adds the section's periodic jobs; every is the queue's.
func (s *Service) Schedule(every func(interval time.Duration, args river.JobArgs)) {
	every(sweepEvery, sweepArgs{})
}

// enqueue adds no second job to one that is still to do the same.
func (s *Service) enqueue(ctx context.Context, tx *db.Tx, args river.JobArgs) error {
	return s.Queue.Enqueue(ctx, tx, args, &river.InsertOpts{
		Queue: jobs.PanelQueue, UniqueOpts: jobs.Once(),
	})
}

// snooze has the job come again after the wait; zero is its end.
func snooze(wait time.Duration, err error) error {
	if err != nil || wait == 0 {
		return err
	}
	return river.JobSnooze(wait)
}

type makeArgs struct {
	BackupID int64 `json:"backup_id"`
}

func (makeArgs) Kind() string { return "backups.make" }

type restoreArgs struct {
	RestoreID int64 `json:"restore_id"`
}

func (restoreArgs) Kind() string { return "backups.restore" }

type removeArgs struct {
	BackupID int64 `json:"backup_id"`
}

func (removeArgs) Kind() string { return "backups.remove" }

type dailyArgs struct {
	AccountID int64 `json:"account_id"`
	ServiceID int64 `json:"service_id"`
}

func (dailyArgs) Kind() string { return "backups.daily" }

type checkArgs struct {
	AccountID int64 `json:"account_id"`
	ServiceID int64 `json:"service_id"`
	Began     int64 `json:"began"` // seconds of Unix time; names the check on the panel
}

func (checkArgs) Kind() string { return "backups.check" }

type reviewArgs struct {
	AccountID int64 `json:"account_id"`
	ServiceID int64 `json:"service_id"`
}

func (reviewArgs) Kind() string { return "backups.review" }

type sweepArgs struct{}

func (sweepArgs) Kind() string { return "backups.sweep" }
