package moves

import (
	"context"
	"time"

	"github.com/riverqueue/river"

	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/jobs"
	"stead.dev/stead/internal/platform/module"
)

// Module is what the section adds to the program.
func (s *Service) Module() module.Module {
	return module.Module{
		Name: "moves", Workers: s.Register, Schedule: s.Schedule, Needs: []any{s.Config, s.Needs},
		NoExport: "on which machine something is concerns the company; what became of a service is told to its owner",
	}
}

// sweepEvery is how often the periodic job looks for moves that have no job.
const sweepEvery = time.Minute

// Register adds the section's workers.
func (s *Service) Register(w *river.Workers) {
	jobs.Work(w, func(ctx context.Context, a stepArgs) error {
		wait, err := s.steps(ctx, a.MoveID)
		if err != nil || wait == 0 {
			return err
		}
		return river.JobSnooze(wait)
	})
	jobs.Work(w, func(ctx context.Context, _ sweepArgs) error { return s.Sweep(ctx) })
}

// inOneJob bounds for how long one job takes a move on. A job that goes back to the queue waits there for up to a second, which
// customers feel while the service is held.
const inOneJob = 20 * time.Second

// steps takes a move one step on; while the service is held, as long as the waits are short. Other moves share the workers with what
// customers do.
func (s *Service) steps(ctx context.Context, id int64) (time.Duration, error) {
	ends := s.Clock.Now().Add(inOneJob)
	for {
		wait, err := s.Step(ctx, id)
		if err != nil || wait == 0 || wait > settling || s.Clock.Now().Add(wait).After(ends) {
			return wait, err
		}
		held, err := isHeld(ctx, s.DB, id)
		if err != nil || !held {
			return wait, err
		}
		select {
		case <-ctx.Done():
			return 0, ctx.Err()
		case <-time.After(wait):
		}
	}
}

// Schedule adds the section's periodic jobs; every is the queue's.
func (s *Service) Schedule(every func(interval time.Duration, args river.JobArgs)) {
	every(sweepEvery, sweepArgs{})
}

// sweepBatch is how many moves are read at once.
const sweepBatch = 200

// Sweep gives a job to every move of which something is left to do; one that has a job keeps that.
func (s *Service) Sweep(ctx context.Context) error {
	for after, more := int64(0), true; more; {
		ids, err := open(ctx, s.DB, after, sweepBatch)
		if err != nil {
			return err
		}
		err = s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
			for _, id := range ids {
				if err := s.enqueue(ctx, tx, id); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		if more = len(ids) == sweepBatch; more {
			after = ids[len(ids)-1]
		}
	}
	return nil
}

type stepArgs struct {
	MoveID int64 `json:"move_id"`
}

func (stepArgs) Kind() string { return "moves.step" }

// enqueue has a move taken on. It adds no second job to one that is still to do the same.
func (s *Service) enqueue(ctx context.Context, tx *db.Tx, id int64) error {
	return s.Queue.Enqueue(ctx, tx, stepArgs{id}, &river.InsertOpts{Queue: jobs.PanelQueue, UniqueOpts: jobs.Once()})
}

type sweepArgs struct{}

func (sweepArgs) Kind() string { return "moves.sweep" }
