package jobs_test

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/riverqueue/river"

	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/jobs"
	"stead.dev/stead/internal/platform/testkit"
)

// TestMain runs all tests on a server whose clock is not UTC. The zone is the process's, so it is set before anything reads it.
func TestMain(m *testing.M) {
	time.Local = time.FixedZone("UTC+5", 5*60*60)
	os.Exit(m.Run())
}

type countArgs struct {
	N int64 `json:"n"`
}

func (countArgs) Kind() string { return "test.count" }

type tickArgs struct{}

func (tickArgs) Kind() string { return "test.tick" }

func newQueue(t *testing.T, d *db.DB, work func(ctx context.Context, n int64) error, tick func()) *jobs.Queue {
	t.Helper()
	q, err := jobs.New(d, jobs.Config{MaxWorkers: 4, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	river.AddWorker(q.Workers(), river.WorkFunc(func(ctx context.Context, j *river.Job[countArgs]) error { return work(ctx, j.Args.N) }))
	river.AddWorker(q.Workers(), river.WorkFunc(func(context.Context, *river.Job[tickArgs]) error { tick(); return nil }))
	q.Every(time.Hour, tickArgs{})
	if err := q.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
		defer cancel()
		if err := q.Stop(ctx); err != nil {
			t.Error(err)
		}
	})
	return q
}

func TestAJobExistsExactlyWhenItsTransactionDoes(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, _ *clock.Fake) {
		var sum, ticks atomic.Int64
		q := newQueue(t, d, func(ctx context.Context, n int64) error {
			if !jobs.Working(ctx) || jobs.Working(t.Context()) {
				t.Error("a job is not known by its context")
			}
			sum.Add(n)
			return nil
		}, func() { ticks.Add(1) })
		boom := errors.New("boom")
		err := d.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
			if err := q.Enqueue(ctx, tx, countArgs{N: 100}, nil); err != nil {
				return err
			}
			return boom
		})
		if !errors.Is(err, boom) {
			t.Fatal(err)
		}
		err = d.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error { return q.Enqueue(ctx, tx, countArgs{N: 1}, nil) })
		if err != nil {
			t.Fatal(err)
		}
		testkit.Eventually(t, time.Minute, func() bool { return sum.Load() == 1 && ticks.Load() == 1 }, "the job and the periodic job ran")
	})
}

func TestAnErrorThatCannotBeStoredHoldsUpNoOtherJob(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, _ *clock.Fake) {
		q := newQueue(t, d, func(_ context.Context, n int64) error {
			if n == 1 {
				return jobs.Cancel(errors.New("a\x00b\xff" + strings.Repeat("long", 1<<20)))
			}
			return nil
		}, func() {})
		for n := range int64(3) {
			err := d.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error { return q.Enqueue(ctx, tx, countArgs{N: n}, nil) })
			if err != nil {
				t.Fatal(err)
			}
		}
		testkit.Eventually(t, time.Minute, func() bool {
			var n int
			err := d.QueryRow(t.Context(), `SELECT count(*) FROM river_job WHERE kind = 'test.count' AND state IN ('completed', 'cancelled')`).Scan(&n)
			return err == nil && n == 3
		}, "what the jobs have come to is written")
		var text string
		err := d.QueryRow(t.Context(), `SELECT CAST(errors AS TEXT) FROM river_job WHERE kind = 'test.count' AND state = 'cancelled'`).Scan(&text)
		if err != nil || !strings.Contains(text, "long") || len(text) > 20_000 {
			t.Errorf("%v, %d bytes: %.100s", err, len(text), text)
		}
	})
}

func TestACancelledJobIsNotTriedAgain(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, _ *clock.Fake) {
		var runs atomic.Int64
		q := newQueue(t, d, func(context.Context, int64) error { runs.Add(1); return jobs.Cancel(errors.New("no use")) }, func() {})
		err := d.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error { return q.Enqueue(ctx, tx, countArgs{}, nil) })
		if err != nil {
			t.Fatal(err)
		}
		testkit.Eventually(t, time.Minute, func() bool {
			var n int
			err := d.QueryRow(t.Context(), `SELECT count(*) FROM river_job WHERE kind = 'test.count' AND state = 'cancelled'`).Scan(&n)
			return err == nil && n == 1
		}, "the job is cancelled")
		if runs.Load() != 1 {
			t.Errorf("ran %d times", runs.Load())
		}
	})
}

func TestAJobRightAfterAnotherIsPickedUpAtOnce(t *testing.T) {
	testkit.Engines(t, func(t *testing.T, d *db.DB, _ *clock.Fake) {
		began := make(chan struct{})
		q := newQueue(t, d, func(context.Context, int64) error { began <- struct{}{}; return nil }, func() {})
		enqueue := func(fail error) {
			err := d.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
				return errors.Join(q.Enqueue(ctx, tx, countArgs{}, nil), fail)
			})
			if !errors.Is(err, fail) {
				t.Fatal(err)
			}
		}
		start := time.Now()
		for range 10 {
			enqueue(errors.New("rolled back: nothing to tell of"))
			enqueue(nil)
			<-began
		}
		// PostgreSQL is polled once a second: polls alone would take nine seconds.
		if took := time.Since(start); took > 8*time.Second {
			t.Errorf("ten jobs, one after the other, took %v", took)
		}
	})
}

func TestTheJobsOfAKilledProcessAreTakenUpAtStart(t *testing.T) {
	t.Parallel()
	d := testkit.SQLite(t, clock.System(0))
	q, err := jobs.New(d, jobs.Config{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	river.AddWorker(q.Workers(), river.WorkFunc(func(context.Context, *river.Job[countArgs]) error { return nil }))
	err = d.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
		if err := q.Enqueue(ctx, tx, countArgs{N: 1}, nil); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, `UPDATE river_job SET state = 'running', attempt = 1, attempted_at = CURRENT_TIMESTAMP`)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	var sum atomic.Int64
	newQueue(t, d, func(_ context.Context, n int64) error { sum.Add(n); return nil }, func() {})
	testkit.Eventually(t, time.Minute, func() bool { return sum.Load() == 1 }, "the job ran again")
}

// BenchmarkPickUp is the time from committing a job to its worker's start.
func BenchmarkPickUp(b *testing.B) {
	for name, open := range map[string]func() *db.DB{
		"sqlite":   func() *db.DB { return testkit.SQLite(b, clock.System(0)) },
		"postgres": func() *db.DB { return testkit.Open(b, testkit.PostgresURL(b), clock.System(0)) },
	} {
		b.Run(name, func(b *testing.B) {
			d := open()
			began := make(chan struct{})
			q, err := jobs.New(d, jobs.Config{MaxWorkers: 4, Logger: slog.New(slog.DiscardHandler)})
			if err != nil {
				b.Fatal(err)
			}
			river.AddWorker(q.Workers(), river.WorkFunc(func(context.Context, *river.Job[countArgs]) error { began <- struct{}{}; return nil }))
			if err := q.Start(b.Context()); err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				err := d.InTx(b.Context(), func(ctx context.Context, tx *db.Tx) error { return q.Enqueue(ctx, tx, countArgs{}, nil) })
				if err != nil {
					b.Fatal(err)
				}
				<-began
			}
			if err := q.Stop(context.Background()); err != nil {
				b.Fatal(err)
			}
		})
	}
}

func TestJobsAreListedAndCancelled(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, _ *clock.Fake) {
		q := newQueue(t, d, func(context.Context, int64) error { return nil }, func() {})
		ctx := t.Context()
		failures := `'[{"at":"2026-11-01T10:00:00Z","attempt":1,"error":"down"},{"at":"2026-11-01T10:01:00Z","attempt":2,"error":"still down"}]'`
		later := `datetime('now', '+1 day')`
		if d.Engine() == "postgres" {
			later = `CURRENT_TIMESTAMP + INTERVAL '1 day'`
			failures = `ARRAY['{"at":"2026-11-01T10:00:00Z","attempt":1,"error":"down"}', '{"at":"2026-11-01T10:01:00Z","attempt":2,"error":"still down"}']::jsonb[]`
		}
		in := func(f func(ctx context.Context, tx *db.Tx) error) error { return d.InTx(ctx, f) }
		write := func(kind, state, queue, failures string) (id int64) {
			t.Helper()
			err := in(func(ctx context.Context, tx *db.Tx) error {
				return tx.QueryRow(ctx, `INSERT INTO river_job (kind, args, max_attempts, attempt, state, queue, scheduled_at, finalized_at, errors)
					VALUES ('`+kind+`', '{"service_id": 7}', 25, 2, '`+state+`', '`+queue+`', `+later+`, `+map[bool]string{true: "CURRENT_TIMESTAMP", false: "NULL"}[state == "discarded"]+`, `+failures+`)
					RETURNING id`).Scan(&id)
			})
			if err != nil {
				t.Fatal(err)
			}
			return id
		}
		retried, given := write("a.work", "retryable", "one", failures), write("b.work", "discarded", "two", failures)
		waits, runs := write("a.work", "available", "two", "NULL"), write("a.work", "running", "one", "NULL")
		for f, want := range map[jobs.Filter][]int64{
			{}:                                    {given, retried},
			{State: "available", Queue: "two"}:    {waits},
			{State: "running", Kind: "a.work"}:    {runs},
			{State: "running", Kind: "b.work"}:    nil,
			{Queue: "two"}:                        {given},
			{Kind: "a.work", Queue: "one"}:        {retried},
			{State: "' OR '1' = '1"}:              {given, retried},
			{State: "available", Queue: "nobody"}: nil,
		} {
			list, total, err := q.List(ctx, d, f, 10, 0)
			var ids []int64
			for _, l := range list {
				ids = append(ids, l.ID)
			}
			if err != nil || total != len(want) || !slices.Equal(ids, want) {
				t.Errorf("%+v: %v of %d, %v", f, ids, total, err)
			}
		}
		l, failed, err := q.Get(ctx, d, retried)
		if err != nil || l.Error != "still down" || len(failed) != 2 || failed[0].Error != "down" || failed[1].Attempt != 2 || failed[1].At.IsZero() {
			t.Errorf("%+v, %+v, %v", l, failed, err)
		}
		if _, failed, err := q.Get(ctx, d, waits); err != nil || len(failed) != 0 {
			t.Errorf("%+v, %v", failed, err)
		}
		if _, _, err := q.Get(ctx, d, 999_999); !errors.Is(err, db.ErrNoRows) {
			t.Error(err)
		}
		cancel := func(id int64) error {
			return in(func(ctx context.Context, tx *db.Tx) error { return q.Cancel(ctx, tx, id) })
		}
		for id, ends := range map[int64]bool{retried: true, waits: true, runs: true, given: false, 999_999: false} {
			if err := cancel(id); ends != (err == nil) || !ends && !errors.Is(err, db.ErrNoRows) {
				t.Errorf("cancelled %d: %v", id, err)
			}
		}
		if list, _, err := q.List(ctx, d, jobs.Filter{State: "cancelled"}, 10, 0); err != nil || len(list) != 2 {
			t.Errorf("%+v, %v", list, err)
		}
	})
}

func TestAQueueIsPausedAndWhatRunsIsCancelled(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, _ *clock.Fake) {
		ctx := t.Context()
		began, ended := make(chan int64, 2), make(chan error, 1)
		q := newQueue(t, d, func(ctx context.Context, n int64) error {
			began <- n
			if n == 1 {
				<-ctx.Done()
				ended <- context.Cause(ctx)
				return ctx.Err()
			}
			return nil
		}, func() {})
		in := func(f func(ctx context.Context, tx *db.Tx) error) {
			t.Helper()
			if err := d.InTx(ctx, f); err != nil {
				t.Fatal(err)
			}
		}
		enqueue := func(n int64) {
			t.Helper()
			in(func(ctx context.Context, tx *db.Tx) error { return q.Enqueue(ctx, tx, countArgs{N: n}, nil) })
		}
		enqueue(1)
		<-began
		in(func(ctx context.Context, tx *db.Tx) error { return q.Pause(ctx, tx, river.QueueDefault) })
		lane := func() jobs.Lane {
			t.Helper()
			l, err := q.Lane(ctx, d, river.QueueDefault)
			if err != nil {
				t.Fatal(err)
			}
			return l
		}
		if l := lane(); l.PausedAt == nil || l.PausedAt.Year() < 2000 || l.Running == 0 { // a periodic job may run beside it
			t.Errorf("paused, it is %+v", l)
		}
		var id int64
		if err := d.QueryRow(ctx, `SELECT MAX(id) FROM river_job WHERE kind = 'test.count'`).Scan(&id); err != nil {
			t.Fatal(err)
		}
		in(func(ctx context.Context, tx *db.Tx) error { return q.Cancel(ctx, tx, id) })
		if cause := <-ended; cause == nil {
			t.Error("its context goes on")
		}
		testkit.Eventually(t, time.Minute, func() bool {
			l, _, err := q.Get(ctx, d, id)
			return err == nil && l.State == "cancelled"
		}, "the running job is cancelled")
		time.Sleep(2500 * time.Millisecond) // sleeps: on SQLite, River notices a pause within two seconds, and tells nobody
		enqueue(2)
		select {
		case n := <-began:
			t.Errorf("job %d of a paused queue was begun", n)
		case <-time.After(time.Second):
		}
		in(func(ctx context.Context, tx *db.Tx) error { return q.Resume(ctx, tx, river.QueueDefault) })
		if n := <-began; n != 2 {
			t.Errorf("job %d was begun", n)
		}
		if all, err := q.Lanes(ctx, d); err != nil || len(all) != 4 || all[0].Name != river.QueueDefault || all[0].PausedAt != nil {
			t.Errorf("%+v, %v", all, err)
		}
		err := d.InTx(ctx, func(ctx context.Context, tx *db.Tx) error { return q.Pause(ctx, tx, "nobody's") })
		if !errors.Is(err, db.ErrNoRows) {
			t.Errorf("an unknown queue: %v", err)
		}
	})
}

func TestFailedJobsComeAtOnceWhenTheyAreToldTo(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, _ *clock.Fake) {
		var down atomic.Bool
		down.Store(true)
		var done, other atomic.Int64
		q := newQueue(t, d, func(_ context.Context, n int64) error {
			switch {
			case down.Load():
				return errors.New("the machine is down")
			case n == 7:
				done.Add(1)
			default:
				other.Add(1)
			}
			return nil
		}, func() {})
		must := func(f func(ctx context.Context, tx *db.Tx) error) {
			t.Helper()
			if err := d.InTx(t.Context(), f); err != nil {
				t.Fatal(err)
			}
		}
		must(func(ctx context.Context, tx *db.Tx) error {
			return errors.Join(q.Enqueue(ctx, tx, countArgs{N: 7}, nil), q.Enqueue(ctx, tx, countArgs{N: 8}, nil))
		})
		waiting := func() (n int) {
			if err := d.QueryRow(t.Context(), `SELECT COUNT(*) FROM river_job WHERE state = 'retryable' AND attempt >= 1`).Scan(&n); err != nil {
				t.Error(err)
			}
			return n
		}
		testkit.Eventually(t, time.Minute, func() bool { return waiting() == 2 }, "both wait")
		// Their pauses have grown to a day.
		later := `datetime('now', '+1 day')`
		if d.Pool() != nil {
			later = `now() + interval '1 day'`
		}
		must(func(ctx context.Context, tx *db.Tx) error {
			_, err := tx.Exec(ctx, `UPDATE river_job SET scheduled_at = `+later+` WHERE state = 'retryable'`)
			return err
		})
		down.Store(false)
		must(func(ctx context.Context, tx *db.Tx) error {
			return q.RetryNow(ctx, tx, []string{"default"}, func(args []byte) bool { return string(args) == `{"n": 7}` || string(args) == `{"n":7}` })
		})
		testkit.Eventually(t, time.Minute, func() bool { return done.Load() == 1 }, "the job that was told to came")
		if other.Load() != 0 || waiting() != 1 {
			t.Errorf("another one came: %d, %d wait", other.Load(), waiting())
		}
	})
}

// TestAJobThatIsTriedAgain comes when it should on a server whose clock is not UTC, and is listed while it waits and when it is done.
func TestAJobThatIsTriedAgain(t *testing.T) {
	t.Parallel()
	for name, again := range map[string]error{"failed": errors.New("the machine is down"), "paused": river.JobSnooze(2 * time.Second)} {
		t.Run(name, func(t *testing.T) {
			testkit.Engines(t, func(t *testing.T, d *db.DB, _ *clock.Fake) {
				var up atomic.Bool
				q := newQueue(t, d, func(context.Context, int64) error {
					if up.Load() {
						return nil
					}
					return again
				}, func() {})
				began := time.Now()
				err := d.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error { return q.Enqueue(ctx, tx, countArgs{N: 7}, nil) })
				if err != nil {
					t.Fatal(err)
				}
				listed := func(states ...string) (l jobs.Listed) {
					t.Helper()
					testkit.Eventually(t, time.Minute, func() bool {
						for _, state := range states {
							all, _, err := q.List(t.Context(), d, jobs.Filter{State: state, Kind: "test.count"}, 10, 0)
							if err != nil {
								t.Fatal(err)
							}
							if len(all) == 1 && all[0].NextAt.After(all[0].CreatedAt) {
								l = all[0]
								return true
							}
						}
						return false
					}, "the job is "+states[0])
					return l
				}
				l := listed("retryable", "scheduled", "available")
				if l.CreatedAt.Before(began.Add(-2*time.Second)) || l.NextAt.After(time.Now().Add(30*time.Second)) || name == "failed" && l.Error != again.Error() {
					t.Errorf("while it waits: %+v", l)
				}
				up.Store(true)
				if l := listed("completed"); name == "failed" && l.Error != again.Error() {
					t.Errorf("when it is done: %+v", l)
				}
			})
		})
	}
}

// What customers wait for does not stand behind what follows from other orders, and that not behind what the clock brings.
func TestWhatIsWaitedForComesFirst(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, _ *clock.Fake) {
		var (
			mu    sync.Mutex
			order []int64
		)
		end := make(chan struct{})
		q, err := jobs.New(d, jobs.Config{MaxWorkers: 1, Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		jobs.Work(q.Workers(), func(_ context.Context, a countArgs) error {
			mu.Lock()
			order = append(order, a.N)
			mu.Unlock()
			if a.N == 0 {
				<-end // the panel does not answer
			}
			return nil
		})
		ran := func() []int64 {
			mu.Lock()
			defer mu.Unlock()
			return slices.Clone(order)
		}
		enqueue := func(n int64, queue string, priority int) {
			err := d.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
				return q.Enqueue(ctx, tx, countArgs{N: n}, &river.InsertOpts{Queue: queue, Priority: priority})
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		enqueue(0, jobs.PanelQueue, 0)
		if err := q.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := q.Stop(context.Background()); err != nil {
				t.Error(err)
			}
		})
		testkit.Eventually(t, time.Minute, func() bool { return len(ran()) == 1 }, "the worker of the panels is busy")
		enqueue(4, jobs.PanelQueue, jobs.Routine)
		enqueue(3, jobs.PanelQueue, jobs.FollowUp)
		enqueue(2, jobs.PanelQueue, 0)
		enqueue(1, jobs.ProvisionQueue, 0)
		testkit.Eventually(t, time.Minute, func() bool { return len(ran()) == 2 }, "what is waited for was done")
		close(end)
		testkit.Eventually(t, time.Minute, func() bool { return len(ran()) == 5 }, "all was done")
		if want := []int64{0, 1, 2, 3, 4}; !slices.Equal(ran(), want) {
			t.Errorf("order %v, want %v", ran(), want)
		}
	})
}
