package daemon

import (
	"context"
	"sync"
	"time"

	"stead.dev/stead/internal/platform/clock"
)

// Reloader runs one function for many callers: each waits for a run that starts after its call, and callers during a
// run share the next one. So adding a hundred domains at once costs a few reloads of the web server.
type Reloader struct {
	run   func(ctx context.Context) error
	pause time.Duration

	mu      sync.Mutex
	next    *round // the callers of the next run; nil when there are none
	running bool
}

// round is a run with its waiting callers.
type round struct {
	done    chan struct{}
	callers int
	err     error
}

// NewReloader makes a Reloader for run. The longer the pause after a run, the more callers share the next one: see rest.
func NewReloader(pause time.Duration, run func(ctx context.Context) error) *Reloader {
	return &Reloader{run: run, pause: pause}
}

// Do waits for a run that starts after now and returns its error. When ctx ends first, the run happens nevertheless.
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
		r.next = nil // nobody can join it any more
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
		time.Sleep(rest(r.pause, took, now.callers))
	}
}

// rest is the time between a run and the next one. A run for several callers leaves at least pause between their starts,
// and takes at most a quarter of the time: where a run costs more because the machine is larger, more callers share it. A
// run for one caller takes at most half of the time, so that a caller of one reload after another is not delayed. No caller
// waits for longer than five pauses.
func rest(pause, took time.Duration, callers int) time.Duration {
	left := took
	if callers > 1 {
		left = max(pause-took, 3*took)
	}
	return min(left, 5*pause)
}
