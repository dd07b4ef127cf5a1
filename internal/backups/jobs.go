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
	river.AddWorker(w, &makeWorker{backups: s})
	river.AddWorker(w, &restoreWorker{backups: s})
	river.AddWorker(w, &removeWorker{backups: s})
	river.AddWorker(w, &dailyWorker{backups: s})
	river.AddWorker(w, &checkWorker{backups: s})
	river.AddWorker(w, &sweepWorker{backups: s})
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

type makeWorker struct {
	river.WorkerDefaults[makeArgs]
	backups *Service
}

func (w *makeWorker) Work(ctx context.Context, job *river.Job[makeArgs]) error {
	return snooze(w.backups.advance(ctx, job.Args.BackupID))
}

type restoreArgs struct {
	RestoreID int64 `json:"restore_id"`
}

func (restoreArgs) Kind() string { return "backups.restore" }

type restoreWorker struct {
	river.WorkerDefaults[restoreArgs]
	backups *Service
}

func (w *restoreWorker) Work(ctx context.Context, job *river.Job[restoreArgs]) error {
	return snooze(w.backups.advanceRestore(ctx, job.Args.RestoreID))
}

type removeArgs struct {
	BackupID int64 `json:"backup_id"`
}

func (removeArgs) Kind() string { return "backups.remove" }

type removeWorker struct {
	river.WorkerDefaults[removeArgs]
	backups *Service
}

func (w *removeWorker) Work(ctx context.Context, job *river.Job[removeArgs]) error {
	return snooze(w.backups.forget(ctx, job.Args.BackupID))
}

type dailyArgs struct {
	AccountID int64 `json:"account_id"`
	ServiceID int64 `json:"service_id"`
}

func (dailyArgs) Kind() string { return "backups.daily" }

type dailyWorker struct {
	river.WorkerDefaults[dailyArgs]
	backups *Service
}

func (w *dailyWorker) Work(ctx context.Context, job *river.Job[dailyArgs]) error {
	return w.backups.daily(ctx, job.Args.AccountID, job.Args.ServiceID)
}

type checkArgs struct {
	AccountID int64 `json:"account_id"`
	ServiceID int64 `json:"service_id"`
	Began     int64 `json:"began"` // seconds of Unix time; names the check on the panel
}

func (checkArgs) Kind() string { return "backups.check" }

type checkWorker struct {
	river.WorkerDefaults[checkArgs]
	backups *Service
}

func (w *checkWorker) Work(ctx context.Context, job *river.Job[checkArgs]) error {
	a := job.Args
	return snooze(w.backups.check(ctx, a.AccountID, a.ServiceID, time.Unix(a.Began, 0)))
}

type sweepArgs struct{}

func (sweepArgs) Kind() string { return "backups.sweep" }

type sweepWorker struct {
	river.WorkerDefaults[sweepArgs]
	backups *Service
}

func (w *sweepWorker) Work(ctx context.Context, _ *river.Job[sweepArgs]) error {
	return w.backups.Sweep(ctx)
}
