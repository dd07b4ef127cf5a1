package daemon

import (
	"context"
	"sync"
	"time"
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
	done chan struct{}
	err  error
}

// NewReloader is one that calls run. Between the beginnings of two runs it leaves at least pause:
// the longer, the more callers share a run.
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
		r.next = nil
		if now == nil {
			r.running = false
			r.mu.Unlock()
			return
		}
		r.mu.Unlock()
		spaced := time.After(r.pause)
		now.err = r.run(ctx)
		close(now.done)
		<-spaced
	}
}
