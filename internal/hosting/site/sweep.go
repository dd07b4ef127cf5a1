package site

import (
	"context"

	"github.com/riverqueue/river"

	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/jobs"
)

// sweepBatch is how many due rows a sweep takes in one transaction.
const sweepBatch = 200

// Sweep has take work off what is due, up to limit in each transaction, until it finds fewer. What take takes it must put off, so
// that it is not due at once again.
func Sweep(ctx context.Context, d *db.DB, take func(ctx context.Context, tx *db.Tx, limit int) (n int, err error)) error {
	for n := sweepBatch; n == sweepBatch; {
		err := d.InTx(ctx, func(ctx context.Context, tx *db.Tx) (err error) {
			n, err = take(ctx, tx, sweepBatch)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// Each takes what is due, and calls f with each. It is what a function for Sweep returns.
func Each[T any](ctx context.Context, tx *db.Tx, limit int, take func(ctx context.Context, tx *db.Tx, limit int) ([]T, error),
	f func(ctx context.Context, tx *db.Tx, t T) error,
) (int, error) {
	due, err := take(ctx, tx, limit)
	if err != nil {
		return 0, err
	}
	for _, t := range due {
		if err := f(ctx, tx, t); err != nil {
			return 0, err
		}
	}
	return len(due), nil
}

// SweepEach is Sweep with a call of f for each that is due.
func SweepEach[T any](ctx context.Context, d *db.DB, take func(ctx context.Context, tx *db.Tx, limit int) ([]T, error),
	f func(ctx context.Context, tx *db.Tx, t T) error,
) error {
	return Sweep(ctx, d, func(ctx context.Context, tx *db.Tx, limit int) (int, error) { return Each(ctx, tx, limit, take, f) })
}

// ScanTarget reads a row of an account's and a service's id.
func ScanTarget(row db.Row) (t Target, err error) {
	err = row.Scan(&t.AccountID, &t.ServiceID)
	return t, err
}

// Work adds the worker of a job that has apply called for the service which its arguments name.
func Work[A Targeted](w *river.Workers, apply func(ctx context.Context, accountID, serviceID int64) error) {
	jobs.Work(w, func(ctx context.Context, args A) error {
		t := args.Of()
		return apply(ctx, t.AccountID, t.ServiceID)
	})
}

// Targeted are the arguments of a job about a service: they embed a Target.
type Targeted interface {
	river.JobArgs
	Of() Target
}

// Of implements Targeted.
func (t Target) Of() Target { return t }
