package signal_test

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/signal"
	"stead.dev/stead/internal/platform/testkit"
)

func TestEveryReplicaHearsWhatWasCommitted(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		log := slog.New(slog.DiscardHandler)
		here, there := signal.NewHub(d, clk, log), signal.NewHub(d, clk, log)
		var heardHere, heardThere, other atomic.Int32
		here.Subscribe("a", func(string) { heardHere.Add(1) })
		there.Subscribe("a", func(p string) {
			if p == "x" {
				heardThere.Add(1)
			}
		})
		there.Subscribe("b", func(string) { other.Add(1) })
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { there.Run(ctx); close(ended) }()
		err := d.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error { return here.Send(ctx, tx, "a", "early") })
		if err != nil {
			t.Fatal(err)
		}
		send := func(fail error) {
			err := d.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
				if err := here.Send(ctx, tx, "a", "x"); err != nil {
					return err
				}
				return fail
			})
			if !errors.Is(err, fail) {
				t.Fatal(err)
			}
		}
		send(errors.New("rolled back"))
		send(nil)
		if heardHere.Load() != 2 {
			t.Errorf("the sender's own process heard %d", heardHere.Load())
		}
		testkit.Eventually(t, time.Minute, func() bool { return heardThere.Load() == 1 }, "the other replica heard it")
		if other.Load() != 0 {
			t.Error("another topic was told")
		}
		testkit.Eventually(t, time.Minute, there.Fresh, "the reader is fresh")
		cancel()
		<-ended
		clk.Advance(2 * time.Second)
		if there.Fresh() {
			t.Error("a hub that does not read calls itself fresh")
		}
		clk.Advance(time.Hour)
		if err := here.Clean(t.Context()); err != nil {
			t.Fatal(err)
		}
		var n int
		if err := d.QueryRow(t.Context(), `SELECT count(*) FROM signal_messages`).Scan(&n); err != nil || n != 0 {
			t.Errorf("%d messages stay, error %v", n, err)
		}
	})
}

func TestReplicasNeedNotAgreeOnTheTime(t *testing.T) {
	t.Parallel()
	url := testkit.PostgresURL(t)
	slow, fast := clock.NewFake(testkit.Start), clock.NewFake(testkit.Start.Add(5*time.Minute))
	log := slog.New(slog.DiscardHandler)
	sender := testkit.Open(t, url, slow)
	here, there := signal.NewHub(sender, slow, log), signal.NewHub(testkit.Open(t, url, fast), fast, log)
	var heard atomic.Int32
	there.Subscribe("a", func(string) { heard.Add(1) })
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { there.Run(ctx); close(ended) }()
	for i := range 3 {
		err := sender.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error { return here.Send(ctx, tx, "a", "x") })
		if err != nil {
			t.Fatal(err)
		}
		testkit.Eventually(t, time.Minute, func() bool { return heard.Load() == int32(i+1) }, "the message of a replica whose clock is behind")
		fast.Advance(time.Minute) // earlier messages are done
	}
	cancel()
	<-ended
}

// The number of a message is assigned when it is sent, not when it is committed.
func TestAMessageThatIsCommittedLateIsHeard(t *testing.T) {
	t.Parallel()
	clk := clock.NewFake(testkit.Start)
	url := testkit.PostgresURL(t)
	d := testkit.Open(t, url, clk)
	log := slog.New(slog.DiscardHandler)
	here, there := signal.NewHub(d, clk, log), signal.NewHub(testkit.Open(t, url, clk), clk, log)
	var early, late atomic.Int32
	there.Subscribe("early", func(string) { early.Add(1) })
	there.Subscribe("late", func(string) { late.Add(1) })
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { there.Run(ctx); close(ended) }()
	sent, commit, committed := make(chan struct{}), make(chan struct{}), make(chan error)
	go func() {
		committed <- d.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
			err := here.Send(ctx, tx, "late", "x")
			close(sent)
			<-commit
			return err
		})
	}()
	<-sent
	err := d.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error { return here.Send(ctx, tx, "early", "x") })
	if err != nil {
		t.Fatal(err)
	}
	testkit.Eventually(t, time.Minute, func() bool { return early.Load() == 1 }, "the later message was heard")
	clk.Advance(20 * time.Second)
	close(commit)
	if err := <-committed; err != nil {
		t.Fatal(err)
	}
	testkit.Eventually(t, time.Minute, func() bool { return late.Load() == 1 }, "the earlier message was heard after it")
	cancel()
	<-ended
}
