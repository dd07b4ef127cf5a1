package jobs

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/riverqueue/river/rivertype"

	"stead.dev/stead/internal/platform/db"
)

// Failed is a job that has failed at least once and is not done.
type Failed struct {
	ID    int64  `json:"id"`
	Kind  string `json:"kind" doc:"What it does, such as services.provision."`
	Queue string `json:"queue"`
	// State is retryable while it is tried again by itself, discarded after its last attempt.
	State       string    `json:"state" enum:"retryable,discarded,cancelled"`
	Attempt     int       `json:"attempt"`
	MaxAttempts int       `json:"max_attempts"`
	Arguments   string    `json:"arguments" doc:"Its arguments as JSON: ids."`
	Error       string    `json:"error" doc:"Of the last attempt."`
	CreatedAt   time.Time `json:"created_at"`
	NextAt      time.Time `json:"next_at" doc:"When it is tried again; in the past where it is not."`
}

const failedStates = `('retryable', 'discarded', 'cancelled')`

// FailedJobs reads a page of the jobs that have failed and are not done, the newest first, and counts all of them.
func (q *Queue) FailedJobs(ctx context.Context, r db.Querier, limit, offset int) (all []Failed, total int, err error) {
	// River keeps arguments and errors in each engine's own form.
	micros := q.micros
	text, last := `json(args)`, `COALESCE(json_extract(errors, '$[#-1].error'), '')`
	if q.pg != nil {
		text, last = `CAST(args AS TEXT)`, `COALESCE(errors[array_length(errors, 1)] ->> 'error', '')`
	}
	if err := r.QueryRow(ctx, `SELECT COUNT(*) FROM river_job WHERE state IN `+failedStates).Scan(&total); err != nil {
		return nil, 0, fmt.Errorf("jobs: count the failed ones: %w", err)
	}
	all, err = db.Collect(ctx, r, func(row db.Row) (f Failed, err error) {
		err = row.Scan(&f.ID, &f.Kind, &f.Queue, &f.State, &f.Attempt, &f.MaxAttempts, &f.Arguments, &f.Error, &f.CreatedAt, &f.NextAt)
		return f, err
	}, `SELECT id, kind, queue, CAST(state AS TEXT), attempt, max_attempts, `+text+`, `+last+`, `+micros("created_at")+`, `+micros("scheduled_at")+`
		FROM river_job WHERE state IN `+failedStates+` ORDER BY id DESC LIMIT $1 OFFSET $2`, limit, offset)
	return all, total, err
}

// micros is a statement's expression for a time of River, which keeps times in each engine's own form, in microseconds of Unix time.
func (q *Queue) micros(column string) string {
	if q.pg != nil {
		return `CAST(EXTRACT(EPOCH FROM ` + column + `) * 1000000 AS BIGINT)`
	}
	return `CAST((julianday(` + column + `) - 2440587.5) * 86400000000 AS INTEGER)`
}

// Oldest tells for each kind of job since when the oldest one that is due and that nobody has begun has been due.
func (q *Queue) Oldest(ctx context.Context, r db.Querier) (map[string]time.Time, error) {
	type oldest struct {
		kind string
		due  time.Time
	}
	all, err := db.Collect(ctx, r, func(row db.Row) (o oldest, err error) { return o, row.Scan(&o.kind, &o.due) },
		`SELECT kind, MIN(`+q.micros("scheduled_at")+`) AS due_at FROM river_job WHERE state = 'available' GROUP BY kind`)
	if err != nil {
		return nil, fmt.Errorf("jobs: the oldest ones: %w", err)
	}
	at := make(map[string]time.Time, len(all))
	for _, o := range all {
		at[o.kind] = o.due
	}
	return at, nil
}

// Retry has a failed job tried again at once, also after its last attempt. It returns db.ErrNoRows for a job that is unknown
// or has not failed.
func (q *Queue) Retry(ctx context.Context, tx *db.Tx, id int64) error {
	var queue string
	if err := tx.QueryRow(ctx, `SELECT queue FROM river_job WHERE id = $1 AND state IN `+failedStates, id).Scan(&queue); err != nil {
		return err
	}
	liteTx, pgTx := tx.Handles()
	var err error
	if q.pg != nil {
		_, err = q.pg.JobRetryTx(ctx, pgTx, id)
	} else {
		_, err = q.lite.JobRetryTx(ctx, liteTx, id)
	}
	if errors.Is(err, rivertype.ErrNotFound) {
		return db.ErrNoRows
	}
	if err != nil {
		return fmt.Errorf("jobs: retry %d: %w", id, err)
	}
	tx.OnCommit(func() {
		if q.pg != nil {
			q.wake([]string{queue})
		} else {
			q.polling.change(queue)
		}
	})
	return nil
}
