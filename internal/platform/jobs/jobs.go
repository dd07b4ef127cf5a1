// Package jobs is the job queue: River, on the platform's own database.
//
// A job is inserted in the transaction of the change that needs it (Enqueue), so it exists exactly when the change
// does. It carries ids, calls a service's method, and may run twice: it reads the present state, then acts. A failed
// job is retried with growing pauses; Cancel gives up, Snooze waits without counting an attempt.
package jobs

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/riverdriver/riversqlite"
	"github.com/riverqueue/river/rivermigrate"
	"github.com/riverqueue/river/rivertype"

	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/observe"
	"stead.dev/stead/internal/platform/plaintext"
)

// Enqueuer inserts jobs; it is the part of a Queue that sections need.
type Enqueuer interface {
	Enqueue(ctx context.Context, tx *db.Tx, args river.JobArgs, opts *river.InsertOpts) error
}

// Discard is the Enqueuer of who does no jobs: what is enqueued is dropped.
type Discard struct{}

// Enqueue implements Enqueuer.
func (Discard) Enqueue(context.Context, *db.Tx, river.JobArgs, *river.InsertOpts) error { return nil }

type runningKey struct{}

// Working reports whether the context is that of a running job.
func Working(ctx context.Context) bool { return ctx.Value(runningKey{}) != nil }

// contextMarker marks the contexts of running jobs for Working, and keeps how they are interrupted.
type contextMarker struct {
	river.MiddlewareDefaults
	running *running
}

// Work implements rivertype.WorkerMiddleware.
func (m *contextMarker) Work(ctx context.Context, job *rivertype.JobRow, next func(context.Context) error) error {
	return storable(m.running.run(context.WithValue(ctx, runningKey{}, true), job.ID, next))
}

// mostText bounds the text of an error that is stored with its job, in bytes.
const mostText = 4096

// stored is an error with the text that is stored.
type stored struct {
	error

	text string
}

func (e stored) Error() string { return e.text }
func (e stored) Unwrap() error { return e.error }

// storable makes the text of an error one that can be stored. A hosting machine may answer anything: PostgreSQL takes no NUL, and River
// writes the results of several jobs at once, so that one which is refused holds up all others.
func storable(err error) error {
	if err == nil {
		return nil
	}
	said := err.Error()
	if text := plaintext.Storable(said, mostText); text != said {
		return stored{err, text}
	}
	return err
}

// Cancel makes the job fail for good with err.
func Cancel(err error) error { return river.JobCancel(err) }

// Once makes a job unique: it is not inserted while one of its kind, with the same arguments, is unfinished.
func Once() river.UniqueOpts {
	return river.UniqueOpts{ByArgs: true, ByState: []rivertype.JobState{
		rivertype.JobStateAvailable, rivertype.JobStatePending, rivertype.JobStateRetryable,
		rivertype.JobStateRunning, rivertype.JobStateScheduled,
	}}
}

// PanelQueue is for jobs that need the hosting panels. The embedded node is in one process only, so other processes do
// not take these jobs.
const PanelQueue = "panel"

// ProvisionQueue is for the making of what customers have paid for and wait for. It needs the panels too, and has workers
// of its own: what follows from orders never stands before it.
const ProvisionQueue = "provision"

// The priorities within a queue. A job without one does what somebody has asked for and waits for.
const (
	// FollowUp is for what completes something that its owner has already.
	FollowUp = 2
	// Routine is for what is due by the clock, and nobody waits for.
	Routine = 3
)

// WebhookQueue is for jobs that wait for addresses of customers. Many may hang at once without delaying other jobs.
const WebhookQueue = "webhooks"

// minWebhookWorkers is the minimum number of such jobs at a time: they wait more than they work.
const minWebhookWorkers = 64

// Config of a Queue.
type Config struct {
	// MaxWorkers is how many jobs run at once in this process; 0 means that the
	// process only inserts.
	MaxWorkers int
	// WithoutPanels processes have no hosting panel: they leave PanelQueue and
	// ProvisionQueue to others.
	WithoutPanels bool
	Logger        *slog.Logger
	// Middleware surrounds every job, for logs, metrics and traces.
	Middleware []rivertype.Middleware
	// ID names this process among the replicas, for TakeOver; empty lets River make one.
	ID string
}

// Queue is this process's part of the job queue.
type Queue struct {
	db      *db.DB
	workers *river.Workers
	pg      *river.Client[pgx.Tx]
	lite    *river.Client[*sql.Tx]
	polling *polling // of lite
	running *running

	mu        sync.Mutex
	toNotify  []string // queues whose workers must be notified
	notifying bool     // a goroutine is notifying them
}

// New makes a queue on d, which has been migrated. Register workers and
// periodic jobs before Start.
func New(d *db.DB, c Config) (*Queue, error) {
	q := &Queue{db: d, workers: river.NewWorkers(), running: &running{interrupts: map[int64]context.CancelCauseFunc{}}}
	rc := &river.Config{
		ID:         c.ID,
		Logger:     c.Logger,
		Workers:    q.workers,
		Middleware: append([]rivertype.Middleware{&contextMarker{running: q.running}}, c.Middleware...),
		// Polling bounds the latency of a job on SQLite, which cannot notify; PostgreSQL notifies, and polls only as a
		// fallback.
		FetchCooldown:     20 * time.Millisecond,
		FetchPollInterval: time.Second,
		// TakeOver is quicker; this is for what it does not know of, such as a process of an older version.
		RescueStuckJobsAfter: 2 * time.Minute,
		JobTimeout:           time.Minute,
	}
	if c.MaxWorkers > 0 {
		rc.Queues = map[string]river.QueueConfig{
			river.QueueDefault: {MaxWorkers: c.MaxWorkers},
			WebhookQueue:       {MaxWorkers: max(c.MaxWorkers, minWebhookWorkers)},
		}
		if !c.WithoutPanels {
			rc.Queues[PanelQueue] = river.QueueConfig{MaxWorkers: c.MaxWorkers}
			rc.Queues[ProvisionQueue] = river.QueueConfig{MaxWorkers: c.MaxWorkers}
		}
	}
	var err error
	if pool := d.Pool(); pool != nil {
		q.pg, err = river.NewClient(riverpgxv5.New(pool), rc)
	} else {
		rc.FetchPollInterval = 50 * time.Millisecond
		q.polling = newPolling(10)
		q.lite, err = river.NewClient(pollingDriver{riversqlite.New(d.Writer()), q.polling}, rc)
	}
	if err != nil {
		return nil, fmt.Errorf("jobs: %w", err)
	}
	return q, nil
}

// Workers is where sections add their workers.
func (q *Queue) Workers() *river.Workers { return q.workers }

// Work registers f for the jobs of one kind, and calls it with their arguments.
func Work[A river.JobArgs](w *river.Workers, f func(ctx context.Context, args A) error) {
	river.AddWorker(w, river.WorkFunc(func(ctx context.Context, job *river.Job[A]) error { return f(ctx, job.Args) }))
}

// Enqueue inserts a job at the end of tx: all jobs of a transaction are one statement. The job carries the trace and the
// request of ctx.
func (q *Queue) Enqueue(ctx context.Context, tx *db.Tx, args river.JobArgs, opts *river.InsertOpts) error {
	if metadata := observe.Metadata(ctx); metadata != nil {
		carrying := river.InsertOpts{}
		if opts != nil {
			carrying = *opts
		}
		carrying.Metadata, opts = metadata, &carrying
	}
	db.Gather(tx, lastOfAll, river.InsertManyParams{Args: args, InsertOpts: opts}, func(ctx context.Context, all []river.InsertManyParams) error {
		if err := q.insert(ctx, tx, all); err != nil {
			return fmt.Errorf("jobs: enqueue %s: %w", kinds(all), err)
		}
		return nil
	})
	return nil
}

// RetryNow has the failed jobs of queues that wait for another attempt come at once, of those whose arguments, as JSON,
// which picks.
func (q *Queue) RetryNow(ctx context.Context, tx *db.Tx, queues []string, which func(args []byte) bool) error {
	// River keeps arguments and times in each engine's own form.
	text, now, notify := `json(args)`, `datetime('now', 'subsec')`, func() { q.polling.change(queues...) }
	if q.pg != nil {
		text, now, notify = `CAST(args AS TEXT)`, `now()`, func() { q.wake(queues) }
	}
	var ids []int64
	in, args := db.In(tx, 1, queues)
	_, err := db.Collect(ctx, tx, func(row db.Row) (struct{}, error) {
		var (
			id   int64
			args string
		)
		err := row.Scan(&id, &args)
		if err == nil && which([]byte(args)) {
			ids = append(ids, id)
		}
		return struct{}{}, err
	}, `SELECT id, `+text+` FROM river_job WHERE state = 'retryable' AND queue `+in, args...)
	if err != nil || len(ids) == 0 {
		return err
	}
	in, args = db.In(tx, 1, ids)
	if _, err := tx.Exec(ctx, `UPDATE river_job SET state = 'available', scheduled_at = `+now+` WHERE state = 'retryable' AND id `+in, args...); err != nil {
		return fmt.Errorf("jobs: retry %d of queues %v: %w", len(ids), queues, err)
	}
	tx.OnCommit(notify)
	return nil
}

// TakeOver makes the running jobs of dead clients available at once; one that has had all its attempts is discarded. They
// are named by Config.ID. Only PostgreSQL has several.
func (q *Queue) TakeOver(ctx context.Context, tx *db.Tx, dead []string) error {
	if q.pg == nil {
		return nil
	}
	queues, err := db.Collect(ctx, tx, func(r db.Row) (name string, err error) { return name, r.Scan(&name) }, `UPDATE river_job
		SET state = CAST(CASE WHEN attempt < max_attempts THEN 'available' ELSE 'discarded' END AS river_job_state),
			finalized_at = CASE WHEN attempt < max_attempts THEN NULL ELSE now() END, scheduled_at = now()
		WHERE state = 'running' AND attempted_by[array_length(attempted_by, 1)] = ANY($1) RETURNING queue`, dead)
	if err != nil {
		return fmt.Errorf("jobs: take over from %v: %w", dead, err)
	}
	tx.OnCommit(func() { q.wake(queues) })
	return nil
}

// lastOfAll sorts after the names of all other work that transactions defer to their end.
const lastOfAll = "~jobs"

func (q *Queue) insert(ctx context.Context, tx *db.Tx, all []river.InsertManyParams) error {
	liteTx, pgTx := tx.Handles()
	var (
		inserted []*rivertype.JobInsertResult
		err      error
		notify   = q.wake
	)
	if q.pg != nil {
		inserted, err = q.pg.InsertManyTx(ctx, pgTx, all)
	} else {
		inserted, err = q.lite.InsertManyTx(ctx, liteTx, all)
		notify = func(queues []string) { q.polling.change(queues...) }
	}
	if err != nil || len(inserted) == 0 {
		return err
	}
	var queues []string
	for _, j := range inserted {
		queues = append(queues, j.Job.Queue)
	}
	tx.OnCommit(func() { notify(queues) })
	return nil
}

// kinds names jobs, each kind once.
func kinds(all []river.InsertManyParams) string {
	var names []string
	for _, p := range all {
		if kind := p.Args.Kind(); !slices.Contains(names, kind) {
			names = append(names, kind)
		}
	}
	return strings.Join(names, ", ")
}

// wake notifies the workers of all replicas, soon, of new jobs in the queues. River's own notification runs in the
// inserting transaction, at most once per FetchCooldown, even when that transaction is rolled back: the next job would
// then wait for the poll. PostgreSQL also commits notifying transactions one after the other, and ours must not wait
// for each other. So wake notifies after the commit, once for all commits meanwhile. If the process dies before, the
// poll finds the jobs.
func (q *Queue) wake(queues []string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, name := range queues {
		if !slices.Contains(q.toNotify, name) {
			q.toNotify = append(q.toNotify, name)
		}
	}
	if !q.notifying && len(q.toNotify) > 0 {
		q.notifying = true
		go q.wakeAll()
	}
}

// wakeAll notifies until no queue is left.
func (q *Queue) wakeAll() {
	for {
		q.mu.Lock()
		queues := q.toNotify
		q.toNotify = nil
		if len(queues) == 0 {
			q.notifying = false
			q.mu.Unlock()
			return
		}
		q.mu.Unlock()
		for _, name := range queues {
			ctx, cancel := context.WithTimeout(context.Background(), wakeTimeout)
			// After an error the poll finds the jobs.
			_, _ = q.db.Pool().Exec(ctx, `SELECT pg_notify(current_schema() || '.river_insert', $1)`, fmt.Sprintf(`{"queue": %q}`, name))
			cancel()
		}
	}
}

const wakeTimeout = 5 * time.Second

// Every adds a periodic job. One process of all replicas, the leader, inserts it.
func (q *Queue) Every(interval time.Duration, args river.JobArgs) {
	job := river.NewPeriodicJob(river.PeriodicInterval(interval),
		func() (river.JobArgs, *river.InsertOpts) {
			return args, &river.InsertOpts{UniqueOpts: river.UniqueOpts{ByPeriod: interval}, MaxAttempts: 3}
		}, &river.PeriodicJobOpts{RunOnStart: true})
	if q.pg != nil {
		q.pg.PeriodicJobs().Add(job)
	} else {
		q.lite.PeriodicJobs().Add(job)
	}
}

// Start begins to work jobs; they go on until Stop.
func (q *Queue) Start(ctx context.Context) error {
	ctx = context.WithoutCancel(ctx)
	if q.pg != nil {
		return q.pg.Start(ctx)
	}
	if err := q.release(ctx); err != nil {
		return err
	}
	return q.lite.Start(ctx)
}

// release makes the jobs of a killed process available without waiting for the rescuer: on SQLite this is the only
// process, so a job in the state running when it starts is not running.
func (q *Queue) release(ctx context.Context) error {
	err := q.db.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		_, err := tx.Exec(ctx, `UPDATE river_job SET state = 'available' WHERE state = 'running'`)
		return err
	})
	if err != nil {
		return fmt.Errorf("jobs: release those of a killed process: %w", err)
	}
	return nil
}

// Stop lets running jobs finish until ctx ends, then cancels their contexts and
// waits for them.
func (q *Queue) Stop(ctx context.Context) error {
	stop, cancelJobs := q.stops()
	err := stop(ctx)
	if ctx.Err() == nil {
		return err
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	return errors.Join(err, cancelJobs(last))
}

func (q *Queue) stops() (stop, cancelJobs func(context.Context) error) {
	if q.pg != nil {
		return q.pg.Stop, q.pg.StopAndCancel
	}
	return q.lite.Stop, q.lite.StopAndCancel
}

// Migrate brings River's own tables up to date. Package schema calls it, again when a statement could not get a lock within
// lockTimeout, which counts on PostgreSQL.
func Migrate(ctx context.Context, d *db.DB, lockTimeout string) error {
	var err error
	if pool := d.Pool(); pool != nil {
		// Connections of its own, whose settings nobody else gets.
		c := pool.Config()
		c.ConnConfig.RuntimeParams["lock_timeout"] = lockTimeout
		c.MinConns, c.MinIdleConns = 0, 0
		var own *pgxpool.Pool
		if own, err = pgxpool.NewWithConfig(ctx, c); err == nil {
			err = migrate(ctx, func() (*rivermigrate.Migrator[pgx.Tx], error) {
				return rivermigrate.New(riverpgxv5.New(own), nil)
			})
			own.Close()
		}
	} else {
		err = migrate(ctx, func() (*rivermigrate.Migrator[*sql.Tx], error) {
			return rivermigrate.New(riversqlite.New(d.Writer()), nil)
		})
	}
	if err != nil {
		return fmt.Errorf("jobs: migrate: %w", err)
	}
	return nil
}

func migrate[T any](ctx context.Context, open func() (*rivermigrate.Migrator[T], error)) error {
	m, err := open()
	if err != nil {
		return err
	}
	_, err = m.Migrate(ctx, rivermigrate.DirectionUp, nil)
	return err
}
