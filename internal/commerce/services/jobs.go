package services

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/riverqueue/river"

	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/jobs"
)

// Register adds the section's workers.
func (s *Service) Register(w *river.Workers) {
	jobs.Work(w, func(ctx context.Context, _ stepsArgs) error { return s.Steps(ctx) })
	jobs.Work(w, func(ctx context.Context, a shareArgs) error {
		more, err := s.StepShare(ctx, a.Share)
		if err == nil && more {
			err = river.JobSnooze(0)
		}
		return err
	})
}

// Schedule adds the section's periodic jobs; every is the queue's.
func (s *Service) Schedule(every func(interval time.Duration, args river.JobArgs)) {
	every(time.Minute, stepsArgs{})
}

type stepsArgs struct{}

func (stepsArgs) Kind() string { return "services.steps" }

type shareArgs struct {
	Share int `json:"share"`
}

func (shareArgs) Kind() string { return "services.share" }

// Steps gives a job to every share in which a step is due; one that has a job keeps that, so that two never work at the
// same services. A job that fails is not run again: the next one does what it did not. A periodic job calls Steps.
func (s *Service) Steps(ctx context.Context) error {
	err := s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		due, err := sharesDue(ctx, tx, tx.Now)
		if err != nil {
			return err
		}
		shares := map[int]bool{}
		for _, share := range due {
			shares[share] = true
		}
		ahead, err := s.Clocks.Ahead(ctx, tx)
		if err != nil {
			return err
		}
		for accountID, now := range ahead {
			if ids, err := dueOf(ctx, tx, accountID, now); err != nil {
				return err
			} else if len(ids) > 0 {
				shares[shareOf(accountID)] = true
			}
		}
		for _, share := range slices.Sorted(maps.Keys(shares)) {
			err := s.Queue.Enqueue(ctx, tx, shareArgs{share}, &river.InsertOpts{MaxAttempts: 1, UniqueOpts: jobs.Once()})
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("services: steps: %w", err)
	}
	return nil
}
