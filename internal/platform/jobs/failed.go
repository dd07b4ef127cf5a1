package jobs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/riverqueue/river/rivertype"

	"stead.dev/stead/internal/platform/db"
)

// Listed is a job as operators see it.
type Listed struct {
	ID    int64  `json:"id"`
	Kind  string `json:"kind" doc:"What it does, such as services.provision."`
	Queue string `json:"queue"`
	// State is retryable while it is tried again by itself, discarded after its last attempt.
	State       string    `json:"state" enum:"available,pending,scheduled,running,retryable,discarded,cancelled,completed"`
	Attempt     int       `json:"attempt"`
	MaxAttempts int       `json:"max_attempts"`
	Arguments   string    `json:"arguments" doc:"Its arguments as JSON: ids."`
	Error       string    `json:"error" doc:"Of the last attempt."`
	CreatedAt   time.Time `json:"created_at"`
	NextAt      time.Time `json:"next_at" doc:"When it is tried; in the past where it is not."`
}

// Attempt is an attempt that has failed.
type Attempt struct {
	At      time.Time `json:"at"`
	Attempt int       `json:"attempt"`
	Error   string    `json:"error"`
}

// Filter picks jobs. An empty State picks those that have failed at least once and are not done; those of a request are picked in all states.
// Other empty fields pick all.
type Filter struct {
	State, Kind, Queue string
	// MinAttempts is how often a job must have been tried.
	MinAttempts int
	// RequestID is the request that enqueued a job, itself or by another job.
	RequestID string
}

const (
	failedStates = `('retryable', 'discarded', 'cancelled')`
	// unfinishedStates are those of a job that runs or would be done.
	unfinishedStates = `('available', 'pending', 'scheduled', 'retryable', 'running')`
)

// states are all that River has.
var states = []string{"available", "pending", "scheduled", "running", "retryable", "discarded", "cancelled", "completed"}

// where is the condition of a filter, with its arguments. The state is a word of the statement: PostgreSQL has a type of its own for it.
func (q *Queue) where(f Filter) (string, []any) {
	condition, args := ` WHERE state IN `+failedStates, []any{}
	switch {
	case slices.Contains(states, f.State):
		condition = ` WHERE state = '` + f.State + `'`
	case f.RequestID != "":
		condition = ` WHERE TRUE` // whatever came of it
	}
	if f.MinAttempts > 0 {
		args = append(args, f.MinAttempts)
		condition += fmt.Sprintf(` AND attempt >= $%d`, len(args))
	}
	if f.RequestID != "" {
		args = append(args, f.RequestID)
		of := ` AND json_extract(metadata, '$.request_id') = $%d`
		if q.pg != nil {
			of = ` AND metadata @> jsonb_build_object('request_id', CAST($%d AS TEXT))` // by River's index
		}
		condition += fmt.Sprintf(of, len(args))
	}
	for column, value := range map[string]string{"kind": f.Kind, "queue": f.Queue} {
		if value != "" {
			args = append(args, value)
			condition += fmt.Sprintf(` AND %s = $%d`, column, len(args))
		}
	}
	return condition, args
}

// List reads a page of the jobs that a filter picks, the newest first, and counts all of them.
func (q *Queue) List(ctx context.Context, r db.Querier, f Filter, limit, offset int) (all []Listed, total int, err error) {
	where, args := q.where(f)
	if total, _, err = q.Count(ctx, r, f); err != nil {
		return nil, 0, err
	}
	page := fmt.Sprintf(` ORDER BY id DESC LIMIT $%d OFFSET $%d`, len(args)+1, len(args)+2)
	all, err = db.Collect(ctx, r, scanListed, `SELECT `+q.listedColumns()+` FROM river_job`+where+page, append(args, limit, offset)...)
	return all, total, err
}

// Count counts the jobs that a filter picks; first is the smallest id among them.
func (q *Queue) Count(ctx context.Context, r db.Querier, f Filter) (count int, first int64, err error) {
	where, args := q.where(f)
	if err := r.QueryRow(ctx, `SELECT COUNT(*), COALESCE(MIN(id), 0) FROM river_job`+where, args...).Scan(&count, &first); err != nil {
		return 0, 0, fmt.Errorf("jobs: count: %w", err)
	}
	return count, first, nil
}

// listedColumns are those of a Listed. River keeps arguments, errors and times in each engine's own form.
func (q *Queue) listedColumns() string {
	text, last := `json(args)`, `COALESCE(json_extract(errors, '$[#-1].error'), '')`
	if q.pg != nil {
		text, last = `CAST(args AS TEXT)`, `COALESCE(errors[array_length(errors, 1)] ->> 'error', '')`
	}
	return `id, kind, queue, CAST(state AS TEXT), attempt, max_attempts, ` + text + `, ` + last + `, ` + q.micros("created_at") + `, ` + q.micros("scheduled_at")
}

func scanListed(row db.Row) (l Listed, err error) {
	err = row.Scan(&l.ID, &l.Kind, &l.Queue, &l.State, &l.Attempt, &l.MaxAttempts, &l.Arguments, &l.Error, &l.CreatedAt, &l.NextAt)
	return l, err
}

// Get reads a job with the attempts that have failed, the first one first; db.ErrNoRows for one that is unknown.
func (q *Queue) Get(ctx context.Context, r db.Querier, id int64) (l Listed, failed []Attempt, err error) {
	if l, err = scanListed(r.QueryRow(ctx, `SELECT `+q.listedColumns()+` FROM river_job WHERE id = $1`, id)); err != nil {
		return l, nil, err
	}
	all := `COALESCE(json(errors), '[]')`
	if q.pg != nil {
		all = `COALESCE(CAST(array_to_json(errors) AS TEXT), '[]')`
	}
	var text string
	if err := r.QueryRow(ctx, `SELECT `+all+` FROM river_job WHERE id = $1`, id).Scan(&text); err != nil {
		return l, nil, err
	}
	failed = []Attempt{}
	if err := json.Unmarshal([]byte(text), &failed); err != nil {
		return l, nil, fmt.Errorf("jobs: errors of %d: %w", id, err)
	}
	return l, failed, nil
}

// Cancel ends a job that waits or runs, so that it is not tried again. The context of one that runs is cancelled; a job that
// completes all the same is done. It returns db.ErrNoRows for a job that is unknown or done.
func (q *Queue) Cancel(ctx context.Context, tx *db.Tx, id int64) error {
	var running bool
	if err := tx.QueryRow(ctx, `SELECT state = 'running' FROM river_job WHERE id = $1 AND state IN `+unfinishedStates, id).Scan(&running); err != nil {
		return err
	}
	liteTx, pgTx := tx.Handles()
	var err error
	if q.pg != nil {
		_, err = q.pg.JobCancelTx(ctx, pgTx, id)
	} else {
		_, err = q.lite.JobCancelTx(ctx, liteTx, id)
	}
	if errors.Is(err, rivertype.ErrNotFound) {
		return db.ErrNoRows
	}
	if err != nil {
		return fmt.Errorf("jobs: cancel %d: %w", id, err)
	}
	if running && q.lite != nil {
		tx.OnCommit(func() { q.running.interrupt(id) })
	}
	return nil
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
