package clocks

import (
	"context"
	"time"

	"github.com/riverqueue/river"

	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/jobs"
)

// Register adds the section's workers.
func (s *Service) Register(w *river.Workers) {
	river.AddWorker(w, &moveWorker{clocks: s})
	jobs.Work(w, func(ctx context.Context, _ resumeArgs) error { return s.Resume(ctx) })
}

// Schedule adds the section's periodic jobs; every is the queue's.
func (s *Service) Schedule(every func(interval time.Duration, args river.JobArgs)) {
	every(time.Minute, resumeArgs{})
}

// last in the queue: nobody's real work waits for a clock.
const last = 4

type moveArgs struct {
	AccountID int64 `json:"account_id"`
}

func (moveArgs) Kind() string { return "clocks.move" }

func (s *Service) enqueue(ctx context.Context, tx *db.Tx, accountID int64) error {
	return s.Queue.Enqueue(ctx, tx, moveArgs{accountID}, &river.InsertOpts{Priority: last})
}

type moveWorker struct {
	river.WorkerDefaults[moveArgs]
	clocks *Service
}

// Timeout leaves a turn enough time to finish the step that it has begun.
func (*moveWorker) Timeout(*river.Job[moveArgs]) time.Duration { return turn + time.Minute }

func (w *moveWorker) Work(ctx context.Context, job *river.Job[moveArgs]) error {
	again, pause, err := w.clocks.move(ctx, job.Args.AccountID)
	if err != nil || !again {
		return err
	}
	return river.JobSnooze(pause)
}

type resumeArgs struct{}

func (resumeArgs) Kind() string { return "clocks.resume" }

// Resume gives a job to every clock that is on its way; one that has a job keeps that. A periodic job calls it.
func (s *Service) Resume(ctx context.Context) error {
	return s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		ids, err := moving(ctx, tx)
		if err != nil {
			return err
		}
		for _, id := range ids {
			err := s.Queue.Enqueue(ctx, tx, moveArgs{id}, &river.InsertOpts{
				Priority: last, UniqueOpts: jobs.Once(),
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
}
