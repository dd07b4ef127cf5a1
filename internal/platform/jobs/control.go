package jobs

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/riverqueue/river/rivertype"

	"stead.dev/stead/internal/platform/db"
)

// Lane is one of the queues, as operators see it.
type Lane struct {
	Name     string     `json:"name"`
	PausedAt *time.Time `json:"paused_at" doc:"Since when no job of it is begun; null while it works."`
	Waiting  int64      `json:"waiting" doc:"Jobs that are due and that nobody has begun."`
	Running  int64      `json:"running"`
}

const laneColumns = `q.name, %s,
	(SELECT COUNT(*) FROM river_job j WHERE j.queue = q.name AND j.state = 'available'),
	(SELECT COUNT(*) FROM river_job j WHERE j.queue = q.name AND j.state = 'running')`

func scanLane(row db.Row) (l Lane, err error) {
	err = row.Scan(&l.Name, &l.PausedAt, &l.Waiting, &l.Running)
	return l, err
}

// Lanes lists the queues that processes work at.
func (q *Queue) Lanes(ctx context.Context, r db.Querier) ([]Lane, error) {
	return db.Collect(ctx, r, scanLane, `SELECT `+fmt.Sprintf(laneColumns, q.micros("q.paused_at"))+` FROM river_queue q ORDER BY q.name`)
}

// Lane reads a queue; db.ErrNoRows for one that is unknown.
func (q *Queue) Lane(ctx context.Context, r db.Querier, name string) (Lane, error) {
	return scanLane(r.QueryRow(ctx, `SELECT `+fmt.Sprintf(laneColumns, q.micros("q.paused_at"))+` FROM river_queue q WHERE q.name = $1`, name))
}

// Pause has no job of a queue begun, in all processes, until Resume. What runs goes on, and what is enqueued waits. On SQLite
// it takes up to two seconds. It returns db.ErrNoRows for an unknown queue.
func (q *Queue) Pause(ctx context.Context, tx *db.Tx, name string) error {
	liteTx, pgTx := tx.Handles()
	var err error
	if q.pg != nil {
		err = q.pg.QueuePauseTx(ctx, pgTx, name, nil)
	} else {
		err = q.lite.QueuePauseTx(ctx, liteTx, name, nil)
	}
	return controlled(err, "pause", name)
}

// Resume has the jobs of a queue begun again. It returns db.ErrNoRows for an unknown queue.
func (q *Queue) Resume(ctx context.Context, tx *db.Tx, name string) error {
	liteTx, pgTx := tx.Handles()
	var err error
	if q.pg != nil {
		err = q.pg.QueueResumeTx(ctx, pgTx, name, nil)
	} else {
		err = q.lite.QueueResumeTx(ctx, liteTx, name, nil)
		tx.OnCommit(func() { q.polling.change(name) })
	}
	return controlled(err, "resume", name)
}

func controlled(err error, what, name string) error {
	switch {
	case errors.Is(err, rivertype.ErrNotFound):
		return db.ErrNoRows
	case err != nil:
		return fmt.Errorf("jobs: %s queue %s: %w", what, name, err)
	}
	return nil
}

// errInterrupted is the cause of the end of a cancelled job's context.
var errInterrupted = errors.New("jobs: the job was cancelled")

// running are the jobs that run in this process.
type running struct {
	mu         sync.Mutex
	interrupts map[int64]context.CancelCauseFunc
}

func (r *running) run(ctx context.Context, id int64, work func(context.Context) error) error {
	ctx, interrupt := context.WithCancelCause(ctx)
	r.mu.Lock()
	r.interrupts[id] = interrupt
	r.mu.Unlock()
	defer func() {
		r.mu.Lock()
		delete(r.interrupts, id)
		r.mu.Unlock()
		interrupt(nil)
	}()
	err := work(ctx)
	if err != nil && errors.Is(context.Cause(ctx), errInterrupted) {
		err = Cancel(err)
	}
	return err
}

// interrupt cancels the context of a job that runs in this process. River tells the process that runs a cancelled job by a
// notification, which SQLite does not have; there this process runs all.
func (r *running) interrupt(id int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if interrupt := r.interrupts[id]; interrupt != nil {
		interrupt(errInterrupted)
	}
}
