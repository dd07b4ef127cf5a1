package jobs_test

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/jobs"
	"stead.dev/stead/internal/platform/testkit"
)

// line is a connection to a server that can be cut.
type line struct {
	t  *testing.T
	to string
	ln net.Listener

	mu   sync.Mutex
	down bool
	open []net.Conn
}

// through returns the URL of a database with a line in between.
func through(t *testing.T, databaseURL string) (*line, string) {
	t.Helper()
	u, err := url.Parse(databaseURL)
	if err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := &line{t: t, to: u.Host, ln: ln}
	var running sync.WaitGroup
	running.Go(l.serve)
	t.Cleanup(func() {
		_ = ln.Close()
		l.set(true)
		running.Wait()
	})
	u.Host = ln.Addr().String()
	return l, u.String()
}

func (l *line) serve() {
	for {
		in, err := l.ln.Accept()
		if err != nil {
			return
		}
		out, err := net.Dial("tcp", l.to)
		if err != nil {
			_ = in.Close()
			continue
		}
		l.mu.Lock()
		l.open = append(l.open, in, out)
		down := l.down
		l.mu.Unlock()
		if down {
			l.set(true)
			continue
		}
		go func() { _, _ = io.Copy(out, in) }()
		go func() { _, _ = io.Copy(in, out) }()
	}
}

// set cuts the line, or mends it.
func (l *line) set(down bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.down = down
	if down {
		for _, c := range l.open {
			_ = c.Close()
		}
		l.open = nil
	}
}

// River tries for about seven seconds to note that a job is done. What it could not note must not wait until the job counts
// as stuck, for two minutes, and run again.
func TestAJobThatEndsWhileTheDatabaseIsAwayIsDoneWhenItIsBack(t *testing.T) {
	t.Parallel()
	const outage, patience = 13 * time.Second, time.Minute
	direct := testkit.PostgresURL(t)
	l, cut := through(t, direct)
	d := testkit.Open(t, cut, clock.System(0))
	var ran atomic.Int64
	begun, end := make(chan struct{}), make(chan struct{})
	q, err := jobs.New(d, jobs.Config{MaxWorkers: 2, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	jobs.Work(q.Workers(), func(context.Context, countArgs) error {
		if ran.Add(1) == 1 {
			close(begun)
			<-end
		}
		return nil
	})
	if err := q.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := q.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	enqueue := func() {
		err := d.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error { return q.Enqueue(ctx, tx, countArgs{N: 1}, nil) })
		if err != nil {
			t.Fatal(err)
		}
	}
	enqueue()
	<-begun
	l.set(true)
	close(end)
	time.Sleep(outage) // sleeps: until River has given up
	l.set(false)
	since := clock.Stopwatch()
	done := func(n int) func() bool {
		return func() bool {
			var k int
			err := d.QueryRow(t.Context(), `SELECT COUNT(*) FROM river_job WHERE kind = 'test.count' AND state = 'completed'`).Scan(&k)
			return err == nil && k == n
		}
	}
	testkit.Eventually(t, time.Minute, done(1), "the job is done")
	if took := since(); took > patience || ran.Load() != 1 {
		t.Errorf("noted after %v, ran %d times", took, ran.Load())
	}
	enqueue()
	testkit.Eventually(t, time.Minute, done(2), "the next job is done")
}
