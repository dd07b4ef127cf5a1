package monitors

import (
	"testing"
	"time"

	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/probe"
	"stead.dev/stead/internal/platform/testkit"
)

// beating is a process that looks at a heartbeat, which is to be called every 60 seconds and 30 later at most.
type beating struct {
	*Service
	t   *testing.T
	in  database
	clk *clock.Fake
	id  int64
}

// newBeating makes a heartbeat that was called just now.
func newBeating(t *testing.T, in database) *beating {
	t.Helper()
	b := &beating{t: t, in: in, clk: clock.NewFake(testkit.Start)}
	b.Service = in.replica(t, b.clk, nil)
	m, err := b.create(t.Context(), 1, wish{settings: func(set *settings) {
		set.Target.Type, set.IntervalS, set.RetryIntervalS = probe.Heartbeat, 60, 30
	}})
	if err != nil {
		t.Fatal(err)
	}
	b.id = m.id
	token, err := b.Box.Open(m.push, sealedAt(m.id, "push_token"))
	if err == nil {
		_, err = b.Beat(t.Context(), string(token), 0)
	}
	if err == nil {
		err = b.makeShards(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	b.is(Up)
	return b
}

// is looks at the heartbeat once.
func (b *beating) is(want Status) {
	b.t.Helper()
	d := b.newScheduler()
	held, err := b.renew(b.t.Context(), share{})
	if err == nil {
		err = d.lead(b.t.Context(), held)
	}
	if err != nil || d.entries[b.id] == nil {
		b.t.Fatalf("it is not looked at: %v", err)
	}
	d.check(b.t.Context(), d.entries[b.id])
	o := <-d.results
	o.scheduledAt = o.checkedAt
	if _, err := b.record(b.t.Context(), []outcome{o}); err != nil {
		b.t.Fatal(err)
	}
	if m, err := b.get(b.t.Context(), 1, b.id); err != nil || m.status != want {
		b.t.Errorf("%v after the start it is %s, want %s: %v", b.clk.Now().Sub(testkit.Start), m.status, want, err)
	}
}

// passes lets time pass in which the process keeps its leases.
func (b *beating) passes(d time.Duration) {
	b.t.Helper()
	for ; d > 0; d -= 10 * time.Second {
		b.clk.Advance(10 * time.Second)
		if _, err := b.renew(b.t.Context(), share{}); err != nil {
			b.t.Fatal(err)
		}
	}
}

// stops has another process in the place of this one, later.
func (b *beating) stops(later time.Duration) {
	b.t.Helper()
	if err := b.release(b.t.Context()); err != nil {
		b.t.Fatal(err)
	}
	_ = b.DB.Close()
	b.clk.Advance(later)
	b.Service = b.in.replica(b.t, b.clk, nil)
}

func TestAHeartbeatIsExpectedAnIntervalAfterItIsResumed(t *testing.T) {
	databases(t, func(t *testing.T, in database) {
		b := newBeating(t, in)
		for _, paused := range []bool{true, false} {
			if _, err := b.update(t.Context(), 1, b.id, wish{paused: &paused}); err != nil {
				t.Fatal(err)
			}
			if paused {
				b.passes(5 * time.Minute)
			}
		}
		b.is(Pending)
		b.passes(80 * time.Second)
		b.is(Pending)
		b.passes(20 * time.Second)
		b.is(Down)
	})
}

// TestNoCallIsMissedWhileNobodyListens: the only process is stopped for a day, and the next one is replaced soon.
func TestNoCallIsMissedWhileNobodyListens(t *testing.T) {
	databases(t, func(t *testing.T, in database) {
		b := newBeating(t, in)
		b.stops(24 * time.Hour)
		b.is(Up)
		b.passes(40 * time.Second)
		b.stops(time.Second)
		b.is(Up)
		b.passes(30 * time.Second)
		b.is(Up)
		b.passes(30 * time.Second)
		b.is(Down)
	})
}
