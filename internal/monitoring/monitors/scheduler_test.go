package monitors

import (
	"container/heap"
	"context"
	"testing"
	"time"

	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/probe"
	"stead.dev/stead/internal/platform/testkit"
)

// TestAResultThatIsWrittenLatePlansNothingMore: while the database does not answer, results wait, and the monitors are checked
// on. When they are written at last, no monitor is checked twice at a time.
func TestAResultThatIsWrittenLatePlansNothingMore(t *testing.T) {
	clk := clock.NewFake(testkit.Start)
	d := (&Service{Config: Config{Clock: clk}}).newScheduler()
	e := &entry{id: 7, settings: settings{IntervalS: 60}, target: probe.Target{Type: probe.HTTP}, due: clk.Now()}
	d.entries[e.id] = e
	heap.Push(&d.queue, e)
	check := func() outcome {
		t.Helper()
		if len(d.queue) != 1 {
			t.Fatalf("%d checks are due", len(d.queue))
		}
		heap.Pop(&d.queue)
		return outcome{monitorID: e.id, scheduledAt: e.due, checkedAt: clk.Now(), result: probe.Result{OK: true}}
	}
	first := check()
	d.plan([]outcome{first}, nil) // it is not written
	clk.Set(e.due)
	second := check()
	due := e.due
	d.plan([]outcome{first}, nil) // it is, while the next check goes on
	if len(d.queue) != 0 || !e.due.Equal(due) {
		t.Errorf("%d more checks, the one that goes on was due %v", len(d.queue), e.due)
	}
	d.plan([]outcome{second}, nil)
	if len(d.queue) != 1 || e.due.Sub(due) < 30*time.Second {
		t.Errorf("%d checks are due, the next after %v", len(d.queue), e.due.Sub(due))
	}
}

// TestNews: only what changes nothing waits for the results of other checks.
func TestNews(t *testing.T) {
	clk := clock.NewFake(testkit.Start)
	answers := true
	d := (&Service{Config: Config{Clock: clk, Prober: checks(func(context.Context, probe.Target) probe.Result { return probe.Result{OK: answers} })}}).newScheduler()
	e := &entry{id: 7, settings: settings{IntervalS: 60}, target: probe.Target{Type: probe.HTTP}, due: clk.Now()}
	d.entries[e.id] = e
	heap.Push(&d.queue, e)
	for i, c := range []struct{ answers, news bool }{{true, true}, {true, false}, {false, true}, {false, true}, {true, true}, {true, false}} {
		answers = c.answers
		heap.Pop(&d.queue)
		d.check(t.Context(), e)
		o := <-d.results
		if o.news != c.news {
			t.Errorf("check %d, which succeeds: %v, is news: %v", i, c.answers, o.news)
		}
		d.plan([]outcome{o}, nil)
		clk.Set(e.due)
	}
}
