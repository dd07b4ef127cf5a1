package throttle_test

import (
	"context"
	"strconv"
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

// No stretch of the window's time has more than its number, wherever it begins; and the number always passes.
func TestTheWindowSlides(t *testing.T) {
	t.Parallel()
	for _, p := range []throttle.Policy{
		{Name: "few", Limit: 6, Window: time.Minute}, {Name: "many", Limit: 300, Window: time.Minute},
	} {
		testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
			l := throttle.New(d, clk)
			var passed []time.Time
			take := func() throttle.Result {
				r, err := l.Take(t.Context(), "k", p)
				if err != nil {
					t.Fatal(err)
				}
				if now := clk.Now(); r.Allowed {
					passed = append(passed, now)
				}
				return r
			}
			if r := take(); r.Remaining != p.Limit-1 || r.Reset != p.Window {
				t.Errorf("the first: %+v", r)
			}
			clk.Advance(55 * time.Second)
			for range p.Limit + 5 { // at the end of what was a window
				take()
			}
			clk.Advance(5 * time.Second)
			for range p.Limit { // and at the beginning of the next
				take()
			}
			if len(passed) != p.Limit+1 { // the first has left, and no other
				t.Errorf("%s: %d passed across the border", p.Name, len(passed))
			}
			if r := take(); r.Allowed || r.Remaining != 0 || r.Reset != 55*time.Second {
				t.Errorf("%s: refused: %+v", p.Name, r)
			}
			clk.Advance(55 * time.Second)
			for range p.Limit {
				take()
			}
			if len(passed) != 2*p.Limit {
				t.Errorf("%s: %d passed after the window", p.Name, len(passed))
			}
			for i := range len(passed) - p.Limit {
				if within := passed[i+p.Limit].Sub(passed[i]); within < p.Window {
					t.Errorf("%s: %d passed within %v", p.Name, p.Limit+1, within)
				}
			}
		})
	}
}

// A window with the number of the public interface in it costs about as much as one with few.
func BenchmarkShared(b *testing.B) {
	l := throttle.New(testkit.Open(b, testkit.PostgresURL(b), clock.System(0)), clock.System(0))
	for _, limit := range []int{3, 90} {
		p := throttle.Policy{Name: strconv.Itoa(limit), Limit: limit, Window: time.Hour}
		for range limit {
			if _, err := l.Take(b.Context(), "k", p); err != nil {
				b.Fatal(err)
			}
		}
		b.Run(p.Name, func(b *testing.B) {
			for b.Loop() {
				_, _ = l.Take(b.Context(), "k", p)
			}
		})
	}
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
