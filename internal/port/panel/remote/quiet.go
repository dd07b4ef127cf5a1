package remote

import (
	"context"
	"errors"
	"sync"
	"time"
)

// A node is quiet when it has answered nothing for quietAfter while calls wait for it, until it answers again. At most
// mostQuiet calls of jobs wait for a quiet node, because one answer is enough to end the state; others are refused.
const (
	quietAfter = 10 * time.Second
	mostQuiet  = 2
)

var errQuiet = errors.New("other calls wait for the node, which answers nothing")

// callTracker tracks the calls that wait for a node. A node that accepts calls and never answers would occupy all
// workers of the panel queue, and all other machines would wait for it.
type callTracker struct {
	after   time.Duration
	bounded func(ctx context.Context) bool // nil: all calls are

	mu      sync.Mutex
	waiting int
	quiet   bool
	timer   *time.Timer // runs while calls wait
}

// begin starts a call; end finishes it. It refuses with errQuiet.
func (l *callTracker) begin(ctx context.Context) (end func(), err error) {
	if l.bounded != nil && !l.bounded(ctx) {
		return func() {}, nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.quiet && l.waiting >= mostQuiet {
		return nil, errQuiet
	}
	if l.waiting++; l.waiting == 1 {
		l.timer = time.AfterFunc(l.after, l.missed)
	}
	return l.end, nil
}

func (l *callTracker) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.waiting--; l.waiting == 0 {
		l.timer.Stop()
	}
}

func (l *callTracker) missed() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.quiet = l.quiet || l.waiting > 0
}

// answered is called for every answer.
func (l *callTracker) answered() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.quiet = false
	if l.waiting > 0 {
		l.timer.Reset(l.after)
	}
}
