// Package clock is the only place of Stead that asks the machine for the time.
//
// Everything else takes a Clock (or tx.Now inside a transaction), so a test can move time forward, and a whole
// installation can run with an offset clock, to see a fifteen-day token expire today.
package clock

import (
	"context"
	"sync"
	"time"
)

// Clock returns the time: UTC, in whole microseconds, the precision of the database. So a time that was written and
// read back is equal to the one in memory.
type Clock interface {
	Now() time.Time
}

// System returns the machine's clock plus offset. It is safe for concurrent use.
func System(offset time.Duration) Clock {
	return system{offset: offset}
}

type system struct {
	offset time.Duration
}

func (s system) Now() time.Time {
	return Precise(time.Now().Add(s.offset))
}

// Stopwatch starts a measurement and returns a function that reports the elapsed time, whatever happens to the
// machine's clock meanwhile.
func Stopwatch() func() time.Duration {
	begun := time.Now()
	return func() time.Duration { return time.Since(begun) }
}

// Sleep waits for d, or until ctx ends, and answers why it ended.
func Sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Precise converts a time to the form that every Clock returns: UTC, whole microseconds, no monotonic reading.
func Precise(t time.Time) time.Time {
	return t.UTC().Truncate(time.Microsecond)
}

// Fake is a Clock that stands still until a test moves it. It is safe for concurrent use.
type Fake struct {
	mu  sync.Mutex
	now time.Time
}

// NewFake returns a Fake that shows t.
func NewFake(t time.Time) *Fake {
	return &Fake{now: Precise(t)}
}

// Now implements Clock.
func (f *Fake) Now() time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.now
}

// Advance moves the clock by d and returns the new time. A negative d moves it back, as a machine's clock may.
func (f *Fake) Advance(d time.Duration) time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.now = Precise(f.now.Add(d))
	return f.now
}

// Set makes the clock show t.
func (f *Fake) Set(t time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.now = Precise(t)
}
