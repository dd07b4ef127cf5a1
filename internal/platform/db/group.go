package db

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

// Group makes transactions that come at the same time in one: they share its commit, and what each leaves to the end
// (see AtEnd and Gather) is done once for all. One that comes alone waits for nobody; those that come while another is
// under way are the next one together.
//
// Each stays a transaction of its own to those who call: what one writes is undone when it fails, and the others go on.
// Only their locks are held until all are done; so those that lock the same rows name the same key, and meet.
type Group struct{ lanes [groupLanes]lane }

// groupLanes is how many transactions of a group go on at the same time.
const groupLanes = 4

// togetherMost is how many are one transaction at most: those who come later do not wait for too many.
const togetherMost = 32

// lane is where those with some of the keys meet.
type lane struct {
	db *DB

	mu      sync.Mutex
	waiting []*member
	led     bool // somebody is at work
}

// NewGroup makes a group.
func (d *DB) NewGroup() *Group {
	g := &Group{}
	for i := range g.lanes {
		g.lanes[i].db = d
	}
	return g
}

// member is a transaction that waits for others.
type member struct {
	ctx  context.Context
	f    func(ctx context.Context, tx *Tx) error
	told chan told
}

// told is what one who waited hears.
type told struct {
	lead  bool  // nobody is at work: be the next one
	alone bool  // it cannot be told how this one ended together: run by yourself
	err   error // how it ended
}

// InTx is DB.InTx, for what key stands for. f may run again after it was committed, when the answer of the database was
// lost: it finds out from what it reads whether there is still something to do.
func (g *Group) InTx(ctx context.Context, key int64, f func(ctx context.Context, tx *Tx) error) error {
	return g.lanes[uint64(key)%groupLanes].inTx(ctx, f) //nolint:gosec // any number finds a lane
}

func (l *lane) inTx(ctx context.Context, f func(ctx context.Context, tx *Tx) error) error {
	if ctx.Value(inTxKey{}) != nil {
		return errNested // it would wait for itself
	}
	m := &member{ctx, f, make(chan told, 1)}
	if !l.join(m) {
		if t := <-m.told; t.alone {
			return l.db.InTx(ctx, f)
		} else if !t.lead {
			return t.err
		}
	}
	others := l.others()
	if len(others) == 0 {
		defer l.pass()
		return l.db.InTx(ctx, f)
	}
	mine := l.together(append([]*member{m}, others...))
	l.pass()
	if mine.alone {
		return l.db.InTx(ctx, f)
	}
	return mine.err
}

// join answers true when m is to lead, and lets it wait otherwise.
func (l *lane) join(m *member) (leads bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.led {
		l.waiting = append(l.waiting, m)
		return false
	}
	l.led = true
	return true
}

// others are those who have waited for this one.
func (l *lane) others() []*member {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := min(len(l.waiting), togetherMost-1)
	others := l.waiting[:n:n]
	l.waiting = l.waiting[n:]
	return others
}

// pass has the first of those who wait lead.
func (l *lane) pass() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.led = len(l.waiting) > 0; l.led {
		l.waiting[0].told <- told{lead: true}
		l.waiting = l.waiting[1:]
	}
}

// together runs all in one transaction, tells them how they ended, and answers it for the first, who leads.
func (l *lane) together(all []*member) told {
	ends := make([]told, len(all))
	// The first one's end is not that of the others. What panics at the end of all does so again where it was called.
	err := sheltered(func() error {
		return l.db.InTx(context.WithoutCancel(all[0].ctx), func(ctx context.Context, tx *Tx) error {
			for i, m := range all {
				if ends[i] = m.run(ctx, tx); errors.Is(ends[i].err, errSavepoint) {
					return ends[i].err
				}
			}
			return nil
		})
	})
	for i, m := range all {
		if err != nil {
			ends[i] = told{alone: true}
		}
		if i > 0 {
			m.told <- ends[i]
		}
	}
	return ends[0]
}

// run runs one of several in their transaction.
func (m *member) run(ctx context.Context, tx *Tx) told {
	if err := m.ctx.Err(); err != nil {
		return told{err: err}
	}
	err := tx.Savepoint(ctx, func(context.Context) error {
		return sheltered(func() error { return m.f(context.WithValue(m.ctx, inTxKey{}, true), tx) })
	})
	if errors.Is(err, errSavepoint) {
		return told{err: err}
	}
	return told{alone: errors.Is(err, errPanic) || err != nil && tx.retryable(err), err: err}
}

// sheltered runs f, whose panic is errPanic: it hurts nobody but the one who is told to run alone.
func sheltered(f func() error) (err error) {
	defer func() {
		if recover() != nil {
			err = errPanic
		}
	}()
	return f()
}

var errPanic = errors.New("db: panic")

// errSavepoint says that it is not known what a savepoint has undone.
var errSavepoint = errors.New("db: savepoint")

func savepointError(doing string, err error) error {
	return fmt.Errorf("%w: %s: %w", errSavepoint, doing, err)
}
