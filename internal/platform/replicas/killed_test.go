package replicas_test

import (
	"bufio"
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"testing"
	"time"

	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/jobs"
	"stead.dev/stead/internal/platform/replicas"
	"stead.dev/stead/internal/platform/testkit"
)

// takenOverWithin is what is promised.
const takenOverWithin = 20 * time.Second

// asReplica names the database to a copy of this program that works as a replica until it is killed.
const asReplica = "STEAD_TEST_AS_REPLICA"

func TestMain(m *testing.M) {
	if url := os.Getenv(asReplica); url != "" {
		if err := serve(url); err != nil {
			fmt.Println(err)
		}
		os.Exit(1)
	}
	os.Exit(m.Run())
}

type holdArgs struct{}

func (holdArgs) Kind() string { return "test.hold" }

// replica is a queue with its heartbeat, as a server has them.
func replica(ctx context.Context, d *db.DB, id string, work func(context.Context) error) (*jobs.Queue, *replicas.Member, error) {
	log := slog.New(slog.DiscardHandler)
	q, err := jobs.New(d, jobs.Config{MaxWorkers: 2, Logger: log, ID: id})
	if err != nil {
		return nil, nil, err
	}
	jobs.Work(q.Workers(), func(ctx context.Context, _ holdArgs) error { return work(ctx) })
	m := replicas.New(d, id, "v1", log, q.TakeOver)
	if err := m.Join(ctx); err != nil {
		return nil, nil, err
	}
	return q, m, q.Start(ctx)
}

// serve takes a job and never ends it.
func serve(url string) error {
	ctx := context.Background()
	d, err := db.Open(ctx, db.Config{URL: url, Clock: clock.System(0)})
	if err != nil {
		return err
	}
	_, m, err := replica(ctx, d, "the killed", func(ctx context.Context) error {
		fmt.Println("working")
		<-ctx.Done()
		return ctx.Err()
	})
	if err != nil {
		return err
	}
	m.Run(ctx)
	return nil
}

func TestTheJobsOfAKilledProcessAreTakenOver(t *testing.T) {
	t.Parallel()
	url := testkit.PostgresURL(t)
	d := testkit.Open(t, url, clock.System(0))
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), asReplica+"="+url)
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	child.Stderr = child.Stdout
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = child.Process.Kill() })
	inserting, err := jobs.New(d, jobs.Config{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	jobs.Work(inserting.Workers(), func(context.Context, holdArgs) error { return nil })
	err = d.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error { return inserting.Enqueue(ctx, tx, holdArgs{}, nil) })
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	if !lines.Scan() || lines.Text() != "working" {
		t.Fatalf("the child says %q, %v", lines.Text(), lines.Err())
	}
	done := make(chan struct{})
	q, m, err := replica(t.Context(), d, "the living", func(context.Context) error { close(done); return nil })
	if err != nil {
		t.Fatal(err)
	}
	beating, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan struct{})
	go func() { defer close(ended); m.Run(beating) }()
	t.Cleanup(func() {
		stop()
		<-ended
		if err := q.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = child.Wait()
	since := clock.Stopwatch()
	select {
	case <-done:
	case <-time.After(3 * time.Minute):
		t.Fatal("nobody took the job over")
	}
	t.Logf("taken over after %v", since())
	if took := since(); took > takenOverWithin {
		t.Errorf("taken over after %v, want at most %v", took, takenOverWithin)
	}
}
