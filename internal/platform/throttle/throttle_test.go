package throttle_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/testkit"
	"stead.dev/stead/internal/platform/throttle"
)

var policy = throttle.Policy{Name: "p", Limit: 5, Window: time.Minute}

func TestAWindowHoldsItsNumberAndNoMore(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		l := throttle.New(d, clk)
		var allowed atomic.Int32
		var wg sync.WaitGroup
		for range 20 {
			wg.Go(func() {
				r, err := l.Take(context.Background(), "k", policy)
				if err != nil {
					t.Error(err)
				}
				if r.Allowed {
					allowed.Add(1)
				}
			})
		}
		wg.Wait()
		if allowed.Load() != 5 {
			t.Fatalf("%d passed", allowed.Load())
		}
		for _, other := range []throttle.Policy{{Name: "q", Limit: 5, Window: time.Minute}} {
			if r, err := l.Take(t.Context(), "k", other); err != nil || !r.Allowed || r.Remaining != 4 {
				t.Errorf("another policy: %+v %v", r, err)
			}
		}
		clk.Advance(59 * time.Second)
		if r, err := l.Take(t.Context(), "k", policy); err != nil || r.Allowed || r.Reset != time.Second {
			t.Errorf("in the last second: %+v %v", r, err)
		}
		clk.Advance(time.Second)
		if r, err := l.Take(t.Context(), "k", policy); err != nil || !r.Allowed || r.Remaining != 4 || r.Reset != time.Minute {
			t.Errorf("the next window: %+v %v", r, err)
		}
		if err := throttle.Clean(t.Context(), d); err != nil {
			t.Error(err)
		}
	})
}

func TestReplicasShareTheCount(t *testing.T) {
	t.Parallel()
	clk := clock.NewFake(testkit.Start)
	url := testkit.PostgresURL(t)
	a, b := throttle.New(testkit.Open(t, url, clk), clk), throttle.New(testkit.Open(t, url, clk), clk)
	for i := range 6 {
		l := a
		if i%2 == 1 {
			l = b
		}
		r, err := l.Take(t.Context(), "k", policy)
		if err != nil || r.Allowed != (i < 5) {
			t.Fatalf("request %d: %+v %v", i, r, err)
		}
	}
}

func BenchmarkMemory(b *testing.B) {
	l := throttle.New(testkit.SQLite(b, clock.System(0)), clock.System(0))
	b.ReportAllocs()
	for b.Loop() {
		_, _ = l.Take(b.Context(), "a1/c1", policy)
	}
}
