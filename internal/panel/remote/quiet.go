package remote

import (
	"context"
	"errors"
	"sync"
	"time"
)

// A node is quiet when it has answered nothing for quietAfter while calls wait for it, and until it answers again. As
// many calls of jobs as mostQuiet wait for a quiet node, for one that answers says that it is back; others are refused.
const (
	quietAfter = 10 * time.Second
	mostQuiet  = 2
)

var errQuiet = errors.New("other calls wait for the node, which answers nothing")

// line is what is known of a node by the calls that wait for it. A node that takes calls and never answers would hold
// all workers of the queue of panels, and all other machines would wait for it.
type line struct {
	after   time.Duration
	bounded func(ctx context.Context) bool // nil: all calls are

	mu      sync.Mutex
	waiting int
	quiet   bool
	timer   *time.Timer // runs while calls wait
}

// begin is called before a call, and the answer after it; it refuses with errQuiet.
func (l *line) begin(ctx context.Context) (end func(), err error) {
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

func (l *line) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.waiting--; l.waiting == 0 {
		l.timer.Stop()
	}
}

func (l *line) missed() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.quiet = l.quiet || l.waiting > 0
}

// answered is told of every answer.
func (l *line) answered() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.quiet = false
	if l.waiting > 0 {
		l.timer.Reset(l.after)
	}
}
