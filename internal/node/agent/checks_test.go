package agent

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"stead.dev/stead/internal/platform/nodelink"
	"stead.dev/stead/internal/platform/probe"
)

// control is a control plane in a test.
type control struct {
	mu       sync.Mutex
	tasks    []nodelink.Task
	version  int
	idle     bool
	broken   error
	asked    []int64
	ahead    time.Duration
	got      []nodelink.CheckResult
	messages []nodelink.Checks
}

func (c *control) exchange(_ context.Context, in nodelink.Checks) (nodelink.Work, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.broken != nil {
		return nodelink.Work{}, c.broken
	}
	c.messages = append(c.messages, in)
	c.got = append(c.got, in.Results...)
	out := nodelink.Work{Now: time.Now().Add(c.ahead), Idle: c.idle, Asked: c.asked}
	c.asked = nil
	version := strconv.Itoa(c.version)
	if !c.idle && (len(in.Versions) == 0 || in.Versions[3] != version) {
		raw, err := json.Marshal(c.tasks)
		if err != nil {
			return out, err
		}
		out.Parts = []nodelink.WorkPart{{Part: 3, Version: version, Tasks: raw}}
	}
	return out, nil
}

func (c *control) set(f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f()
}

func (c *control) count(id int64) (n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, r := range c.got {
		if r.ID == id {
			n++
		}
	}
	return n
}

// found is a Prober that is a function.
type found func(t probe.Target) probe.Result

func (f found) Check(_ context.Context, t probe.Target) probe.Result {
	time.Sleep(10 * time.Millisecond) // sleeps: a check takes time, and that of a bubble costs none
	return f(t)
}

// watching runs f beside a watch, in a bubble whose time costs nothing.
func watching(t *testing.T, p Prober, c *control, f func(passes func(time.Duration))) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		w := newWatch(p, time.Now, nodelink.CheckEvery, c.exchange)
		var running sync.WaitGroup
		running.Go(func() { w.run(ctx, func(error) {}) })
		f(func(d time.Duration) { time.Sleep(d) }) // sleeps: no real time passes in a bubble
		stop()
		running.Wait()
	})
}

func site(id int64, path string) nodelink.Task {
	return nodelink.Task{
		ID: id, Revision: "1", Target: probe.Target{Type: probe.HTTP, URL: "https://example.com/" + path, TimeoutMS: 1000}, IntervalS: 60, Retries: 2,
		RetryIntervalS: 10,
	}
}

func TestANodeChecksWhatItIsTold(t *testing.T) {
	var mu sync.Mutex
	fails := map[string]bool{}
	p := found(func(t probe.Target) probe.Result {
		mu.Lock()
		defer mu.Unlock()
		if fails[t.URL] {
			return probe.Result{ErrorKey: probe.KeyTimeout}
		}
		return probe.Result{OK: true}
	})
	ours := site(4, "ours")
	ours.Target.Origin = "10.0.0.1:80" // nobody would judge it
	beats := site(5, "")
	beats.Target.Type = probe.Heartbeat
	c := &control{tasks: []nodelink.Task{site(1, "a"), site(2, "b"), ours, beats}, ahead: time.Hour}
	watching(t, p, c, func(passes func(time.Duration)) {
		passes(5*time.Minute + 10*time.Second)
		for id, want := range map[int64]int{1: 6, 2: 6, 4: 0, 5: 0} {
			if n := c.count(id); n != want && n != want-1 {
				t.Errorf("%d was checked %d times, want %d", id, n, want)
			}
		}
		c.set(func() {
			r := c.got[len(c.got)-1]
			if ahead := time.Until(r.CheckedAt); ahead < 59*time.Minute || ahead > time.Hour+time.Second || r.CheckedAt.Sub(r.ScheduledAt) > time.Second {
				t.Errorf("its times are not those of the control plane: %v", ahead)
			}
			if m := c.messages[len(c.messages)-1]; m.Checked != 2 || m.Failing != 0 {
				t.Errorf("it says that %d of %d fail", m.Failing, m.Checked)
			}
		})
		// What fails is tried again soon, told at once, and by the interval when it is certain.
		mu.Lock()
		fails["https://example.com/a"] = true
		mu.Unlock()
		before := c.count(1)
		passes(2 * time.Minute)
		if n := c.count(1) - before; n != 4 && n != 3 {
			t.Errorf("%d checks of what fails", n)
		}
		c.set(func() {
			if m := c.messages[len(c.messages)-1]; m.Checked != 2 || m.Failing != 1 {
				t.Errorf("it says that %d of %d fail", m.Failing, m.Checked)
			}
			c.asked = []int64{2, 99}
		})
		before = c.count(2)
		passes(20 * time.Second)
		if n := c.count(2) - before; n < 1 {
			t.Error("what is asked for is not checked at once")
		}
		// A task that has gone is checked no more.
		c.set(func() { c.tasks, c.version = c.tasks[1:], 1 })
		passes(15 * time.Second)
		before = c.count(1)
		passes(3 * time.Minute)
		if n := c.count(1); n != before {
			t.Error("what it was told to forget is checked")
		}
		c.set(func() { c.idle = true })
		passes(time.Minute)
		before = c.count(2)
		passes(5 * time.Minute)
		if n := c.count(2); n != before {
			t.Error("an idle node checks")
		}
		c.set(func() { c.idle = false })
		passes(3 * time.Minute)
		if n := c.count(2); n == before {
			t.Error("it does not begin again")
		}
	})
}

func TestANodeThatIsCutOffKeepsResultsForAWhile(t *testing.T) {
	p := found(func(probe.Target) probe.Result { return probe.Result{OK: true} })
	c := &control{tasks: []nodelink.Task{site(1, "a")}}
	watching(t, p, c, func(passes func(time.Duration)) {
		passes(2 * time.Minute)
		c.set(func() { c.broken = errors.New("no network") })
		passes(3 * time.Minute)
		c.set(func() { c.broken = nil })
		passes(time.Minute)
		if n := c.count(1); n < 5 || n > 7 {
			t.Errorf("%d results, want those of six minutes", n)
		}
		c.set(func() { c.broken, c.got = errors.New("no network"), nil })
		passes(time.Hour)
		c.set(func() { c.broken = nil })
		passes(40 * time.Second)
		c.set(func() {
			seen := map[time.Time]bool{}
			for _, r := range c.got {
				if time.Since(r.CheckedAt) > nodelink.ResultsFor+time.Minute || seen[r.ScheduledAt] {
					t.Errorf("a result of %v", time.Since(r.CheckedAt))
				}
				seen[r.ScheduledAt] = true
			}
			if len(c.got) < 4 || len(c.got) > 7 {
				t.Errorf("%d results", len(c.got))
			}
		})
	})
}

func TestWhatTheMachineCannotSeeIsNoResult(t *testing.T) {
	p := found(func(probe.Target) probe.Result { return probe.Result{Unknown: true, ErrorKey: probe.KeyInternal} })
	c := &control{tasks: []nodelink.Task{site(1, "a")}}
	watching(t, p, c, func(passes func(time.Duration)) {
		passes(5 * time.Minute)
		if n := c.count(1); n != 0 {
			t.Errorf("%d results", n)
		}
		c.set(func() {
			if m := c.messages[len(c.messages)-1]; m.Checked != 0 {
				t.Errorf("%+v", m)
			}
		})
	})
}
