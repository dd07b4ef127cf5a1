package daemon

import (
	"context"
	"sync"
	"time"

	"stead.dev/stead/internal/platform/clock"
)

// Reloader does one thing for many callers: each waits for a run that began after its call, and
// callers that come during a run share the next one. So a hundred domains that are added at once
// cost a few reloads of the web server.
type Reloader struct {
	run   func(ctx context.Context) error
	pause time.Duration

	mu      sync.Mutex
	next    *round // whom the next run is for; nil when nobody waits for one
	running bool
}

// round is a run and who waits for it.
type round struct {
	done    chan struct{}
	callers int
	err     error
}

// NewReloader is one that calls run. Between the beginnings of two runs it leaves at least pause:
// the longer, the more callers share a run. After a run that nobody shared, it leaves only as long
// again as the run took, and no more than pause: who does one thing after the other is not held up.
func NewReloader(pause time.Duration, run func(ctx context.Context) error) *Reloader {
	return &Reloader{run: run, pause: pause}
}

// Do waits for a run that begins after now and answers its error. When ctx ends first the run
// happens nevertheless.
func (r *Reloader) Do(ctx context.Context) error {
	r.mu.Lock()
	if r.next == nil {
		r.next = &round{done: make(chan struct{})}
	}
	mine := r.next
	mine.callers++
	if !r.running {
		r.running = true
		go r.work(context.WithoutCancel(ctx))
	}
	r.mu.Unlock()
	select {
	case <-mine.done:
		return mine.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// work runs rounds until nobody waits for one.
func (r *Reloader) work(ctx context.Context) {
	for {
		r.mu.Lock()
		now := r.next
		r.next = nil // nobody joins it any more
		if now == nil {
			r.running = false
			r.mu.Unlock()
			return
		}
		r.mu.Unlock()
		watch := clock.Stopwatch()
		now.err = r.run(ctx)
		took := watch()
		close(now.done)
		rest := r.pause - took
		if now.callers == 1 {
			rest = min(rest, took)
		}
		time.Sleep(rest)
	}
}
