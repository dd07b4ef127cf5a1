package clock

import (
	"context"
	"sync/atomic"
	"time"
)

// Shared is the clock of a database, which all machines that work on it share. Between looks at the database it goes by
// the machine's own clock. It is safe for concurrent use.
type Shared struct {
	machine Clock
	offset  time.Duration
	ahead   atomic.Int64 // how far the database is ahead of machine
}

// NewShared returns a clock that shows the machine's time plus offset, until Look has found the difference.
func NewShared(machine Clock, offset time.Duration) *Shared {
	return &Shared{machine: machine, offset: offset}
}

// Now implements Clock.
func (s *Shared) Now() time.Time {
	return Precise(s.machine.Now().Add(s.offset + time.Duration(s.ahead.Load())))
}

// Look asks the database for its time. Only a difference that the duration of the question does not explain moves the
// clock, so it does not waver.
func (s *Shared) Look(ctx context.Context, ask func(context.Context) (time.Time, error)) error {
	before := s.machine.Now()
	now, err := ask(ctx)
	if err != nil {
		return err
	}
	after := s.machine.Now()
	ahead := time.Duration(s.ahead.Load())
	if now.Before(before.Add(ahead)) || now.After(after.Add(ahead)) {
		s.ahead.Store(int64(now.Sub(before.Add(after.Sub(before) / 2))))
	}
	return nil
}
