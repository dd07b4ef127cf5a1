package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/nodelink"
	"stead.dev/stead/internal/platform/probe"
)

// Prober makes checks. It judges every address that it calls, as the control plane's does.
type Prober interface {
	Check(ctx context.Context, t probe.Target) probe.Result
}

// Bounds of a node's checks.
const (
	// mostChecks are made at a time.
	mostChecks = 500
	// mostTasks are taken of a list.
	mostTasks = 100_000
	// mostKept are the results that wait to be delivered; the oldest are dropped.
	mostKept = 20_000
	// checkTick is how often it is looked for what is due.
	checkTick = 200 * time.Millisecond
	// soonAfter is how long the news of a change waits for others.
	soonAfter = 250 * time.Millisecond
	// Checks that are due at once, as after a start, are spread over so long.
	spreadOver = 4 * time.Second
	// longestPause is that of a node which nobody answers, or which has nothing to check.
	longestPause = 30 * time.Second
	// countFor is how long a check counts in what the node tells about itself.
	countFor = 2 * time.Minute
)

// task is something that is checked, and how it was found.
type task struct {
	nodelink.Task
	part     int
	due      time.Time
	began    time.Time
	running  bool
	gone     bool
	checked  time.Time // the last result; zero before the first
	failures int       // in a row
}

func (t *task) interval() time.Duration { return time.Duration(max(t.IntervalS, 10)) * time.Second }
func (t *task) retryAfter() time.Duration {
	return min(time.Duration(max(t.RetryIntervalS, 10))*time.Second, t.interval())
}

// watch makes the checks of monitors for the control plane. It learns what to check from it, and keeps nothing on disk:
// what it has not delivered when it ends is lost, and the control plane counts it as silent.
type watch struct {
	prober Prober
	now    func() time.Time
	every  time.Duration
	// exchange delivers results and hears what to check.
	exchange func(ctx context.Context, in nodelink.Checks) (nodelink.Work, error)

	mu       sync.Mutex
	tasks    map[int64]*task
	versions []string
	since    time.Time
	ahead    time.Duration // of the control plane's clock
	results  []nodelink.CheckResult
	soon     chan struct{}
	slots    chan struct{}
	checks   sync.WaitGroup
}

func newWatch(p Prober, now func() time.Time, every time.Duration, exchange func(context.Context, nodelink.Checks) (nodelink.Work, error)) *watch {
	return &watch{
		prober: p, now: now, every: every, exchange: exchange, tasks: map[int64]*task{}, soon: make(chan struct{}, 1),
		slots: make(chan struct{}, mostChecks),
	}
}

// run checks until ctx ends.
func (w *watch) run(ctx context.Context, log func(err error)) {
	var running sync.WaitGroup
	running.Go(func() { w.schedule(ctx) })
	defer func() {
		running.Wait()
		w.checks.Wait()
	}()
	pause := w.every
	for {
		more, idle, err := w.talk(ctx)
		if ctx.Err() != nil {
			return
		}
		log(err)
		switch {
		case err != nil, idle:
			pause = min(2*pause, longestPause)
		case more:
			continue
		default:
			pause = w.every
		}
		soon := w.soon
		if err != nil {
			soon = nil // nobody is there to hear it
		}
		timer := time.NewTimer(jitter(pause))
		select {
		case <-ctx.Done():
		case <-timer.C:
		case <-soon:
			_ = clock.Sleep(ctx, soonAfter) // the loop asks ctx
		}
		timer.Stop()
	}
}

// talk exchanges one message with the control plane.
func (w *watch) talk(ctx context.Context) (more, idle bool, err error) {
	in := w.message()
	began := w.now()
	out, err := w.exchange(ctx, in)
	if err != nil {
		return false, false, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	took := w.now().Sub(began)
	w.ahead = out.Now.Sub(began.Add(took / 2))
	w.since = out.Now
	w.results = w.results[len(in.Results):]
	if out.Idle {
		w.clear()
		return false, true, nil
	}
	for _, p := range out.Parts {
		if err := w.replace(p); err != nil {
			return false, false, err
		}
	}
	now := w.now()
	for _, id := range out.Asked {
		if t := w.tasks[id]; t != nil && !t.running && now.Sub(t.began) > 2*nodelink.LeastApart {
			t.due = now
		}
	}
	return out.More || len(w.results) >= nodelink.MostResults, false, nil
}

// message is what there is to tell.
func (w *watch) message() nodelink.Checks {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := w.now()
	old := now.Add(w.ahead - nodelink.ResultsFor)
	w.results = slices.DeleteFunc(w.results, func(r nodelink.CheckResult) bool { return !r.CheckedAt.After(old) })
	w.results = w.results[max(0, len(w.results)-mostKept):]
	in := nodelink.Checks{Versions: slices.Clone(w.versions), Since: w.since}
	in.Results = slices.Clone(w.results[:min(len(w.results), nodelink.MostResults)])
	for _, t := range w.tasks {
		if t.checked.IsZero() || now.Sub(t.checked) > countFor {
			continue
		}
		if in.Checked++; t.failures > 0 {
			in.Failing++
		}
	}
	return in
}

// clear forgets what is checked. w.mu is held.
func (w *watch) clear() {
	for _, t := range w.tasks {
		t.gone = true
	}
	w.tasks, w.versions, w.results = map[int64]*task{}, nil, nil
}

// replace takes a part of the list over. w.mu is held.
func (w *watch) replace(p nodelink.WorkPart) error {
	if p.Part < 0 || p.Part >= nodelink.CheckParts {
		return errors.New("a part of the list that there is not")
	}
	var list []nodelink.Task
	if err := json.Unmarshal(p.Tasks, &list); err != nil {
		return fmt.Errorf("the list of checks: %w", err)
	}
	if len(w.versions) != nodelink.CheckParts {
		w.versions = make([]string, nodelink.CheckParts)
	}
	w.versions[p.Part] = p.Version
	there := map[int64]bool{}
	now := w.now()
	for i, one := range list {
		if !checkable(one.Target) {
			continue
		}
		there[one.ID] = true
		old := w.tasks[one.ID]
		if old != nil && old.Revision == one.Revision {
			continue
		}
		if old != nil {
			old.gone = true
		} else if len(w.tasks) >= mostTasks {
			continue
		}
		one.Target.Header = one.Header
		w.tasks[one.ID] = &task{Task: one, part: p.Part, due: now.Add(spreadOver * time.Duration(i) / time.Duration(len(list)))}
	}
	for id, t := range w.tasks {
		if t.part == p.Part && !there[id] {
			t.gone = true
			delete(w.tasks, id)
		}
	}
	return nil
}

// checkable reports whether a node checks something. It never dials an origin: that would be an address which nobody judges.
func checkable(t probe.Target) bool {
	return t.Origin == "" && t.Type != probe.Heartbeat && t.Type != probe.Domain
}

// schedule begins what is due until ctx ends.
func (w *watch) schedule(ctx context.Context) {
	tick := time.NewTicker(checkTick)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		for _, t := range w.due() {
			select {
			case <-ctx.Done():
				return
			case w.slots <- struct{}{}:
			}
			w.checks.Go(func() {
				defer func() { <-w.slots }()
				w.check(ctx, t)
			})
		}
	}
}

// due takes what is due, the longest first.
func (w *watch) due() []*task {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := w.now()
	var due []*task
	for _, t := range w.tasks {
		if !t.running && !t.due.After(now) {
			t.running, t.began = true, now
			due = append(due, t)
		}
	}
	slices.SortFunc(due, func(a, b *task) int { return a.due.Compare(b.due) })
	return due
}

func (w *watch) check(ctx context.Context, t *task) {
	r := w.prober.Check(ctx, t.Target)
	if ctx.Err() != nil {
		return // the process stops
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	now := w.now()
	t.running = false
	changed := false
	switch {
	case r.Unknown: // the machine could not look: it has no vote until it can
		t.checked, t.failures = time.Time{}, 0
	case r.OK:
		changed, t.checked, t.failures = t.failures > 0, now, 0
	default:
		t.checked, t.failures = now, t.failures+1
		changed = t.failures <= t.Retries+1
	}
	t.due = inPhase(t.ID, t.interval(), now)
	if t.failures > 0 && t.failures <= t.Retries {
		t.due = now.Add(t.retryAfter())
	}
	if r.Unknown || t.gone {
		return
	}
	w.results = append(w.results, nodelink.CheckResult{
		ID: t.ID, Revision: t.Revision, ScheduledAt: t.began.Add(w.ahead).UTC().Truncate(time.Microsecond),
		CheckedAt: now.Add(w.ahead).UTC().Truncate(time.Microsecond), Result: r,
	})
	if changed {
		select {
		case w.soon <- struct{}{}:
		default:
		}
	}
}

// inPhase is the first time after a moment that is in the phase of a monitor.
func inPhase(id int64, step time.Duration, after time.Time) time.Time {
	phase := time.Duration(uint64(id)*0xD6E8FEB86659FD93>>1) % step //nolint:gosec // a hash: ids are positive
	at := after.Truncate(step).Add(phase)
	if !at.After(after) {
		at = at.Add(step)
	}
	return at
}

// check makes the checks of monitors until ctx ends.
func (a *Agent) check(ctx context.Context) {
	if a.cfg.Prober == nil {
		return
	}
	w := newWatch(a.cfg.Prober, a.cfg.Now, a.cfg.CheckEvery, func(ctx context.Context, in nodelink.Checks) (nodelink.Work, error) {
		return sendUpTo[nodelink.Work](ctx, a.control, a.url+nodelink.ChecksPath, in, maxWork)
	})
	failing := false
	w.run(ctx, func(err error) {
		if err != nil && !failing {
			a.cfg.Log.WarnContext(ctx, "results of checks of monitors are not delivered", "error", err)
		}
		failing = err != nil
	})
}

// maxWork is far more than any list has.
const maxWork = 8 * nodelink.MostWorkSize
