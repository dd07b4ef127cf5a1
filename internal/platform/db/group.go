package db

import (
	"context"
	"errors"
	"iter"
	"slices"
	"sync"
	"time"

	"stead.dev/stead/internal/platform/intx"
)

// Group makes transactions that come at the same time one: they share its commit, what each leaves to the end (see
// AtEnd and Gather) is done once for all, and what they do by way of Many is done at once where they meet. One that
// comes alone does not wait for others; those that come while another is under way are the next one together.
//
// Each stays a transaction of its own to those who call. They take turns, each going on until it comes to a Many. One
// that fails before it has written anything has failed by itself; where one fails later, or the commit does, all is
// undone, and each is run again alone. Their locks are held until all are done.
type Group struct{ lanes [groupLanes]lane }

// groupLanes is how many transactions of a group go on at the same time: while one waits for the disk, others work.
const groupLanes = 3

// togetherMost is how many are one transaction at most: those who come later do not wait for too many.
const togetherMost = 64

// moment is for how long the first one after several waits, because those who have just ended often come again at once:
// else it would go alone, and they would be the next one without it.
const moment = 200 * time.Microsecond

// lane is where those with some of the numbers meet.
type lane struct {
	db *DB

	mu      sync.Mutex
	waiting []*member
	led     bool // somebody is at work
	crowded bool // the last transaction was one of several
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
	self int64
	f    func(ctx context.Context, tx *Tx) error
	told chan told
}

// told is what one who waited hears.
type told struct {
	lead  bool  // nobody is at work: be the next one
	alone bool  // it cannot be told how this one ended together: run by yourself
	err   error // how it ended
}

// InTx is DB.InTx. Those that lock the same rows meet at the same number; self is what no two are about that go on in
// one transaction, because the second one would not see what the first one does. f may run again after it was committed,
// when the answer of the database was lost: it finds out from what it reads whether there is still something to do.
func (g *Group) InTx(ctx context.Context, meet, self int64, f func(ctx context.Context, tx *Tx) error) error {
	return g.lanes[uint64(meet)%groupLanes].inTx(&member{ctx, self, f, make(chan told, 1)}) //nolint:gosec // any number finds a lane
}

func (l *lane) inTx(m *member) error {
	if intx.Marked(m.ctx) {
		return errNested // it would wait for itself
	}
	if !l.join(m) {
		if t := <-m.told; t.alone {
			return l.db.InTx(m.ctx, m.f)
		} else if !t.lead {
			return t.err
		}
	}
	if l.crowded {
		time.Sleep(moment)
	}
	others := l.others(m)
	l.crowded = len(others) > 0
	if len(others) == 0 {
		defer l.pass()
		return l.db.InTx(m.ctx, m.f)
	}
	mine := l.together(append([]*member{m}, others...))
	l.pass()
	if mine.alone {
		return l.db.InTx(m.ctx, m.f)
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

// others are those who have waited for m and go on with it. Of those that are about the same, the first one does.
func (l *lane) others(m *member) (others []*member) {
	l.mu.Lock()
	defer l.mu.Unlock()
	about := map[int64]bool{m.self: true}
	l.waiting = slices.DeleteFunc(l.waiting, func(o *member) bool {
		if about[o.self] || len(about) == togetherMost {
			return false
		}
		about[o.self] = true
		others = append(others, o)
		return true
	})
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
			return abreast(ctx, tx, all, ends)
		})
	})
	for i, m := range all {
		switch {
		case err != nil:
			ends[i] = told{alone: true}
		case ends[i].err != nil && (errors.Is(ends[i].err, errPanic) || l.db.engine.retryable(ends[i].err)):
			ends[i].alone = true
		}
		if i > 0 {
			m.told <- ends[i]
		}
	}
	return ends[0]
}

// abreast runs all in tx, and notes how each ended. An error undoes them all.
func abreast(ctx context.Context, tx *Tx, all []*member, ends []told) error {
	walks := make([]*walk, len(all))
	for i, m := range all {
		walks[i] = m.walk(tx)
		defer walks[i].stop()
	}
	for {
		var behind *walk // who has come least far
		for _, w := range walks {
			w.on()
			if w.asks != nil && (behind == nil || w.answers < behind.answers) {
				behind = w
			}
		}
		if behind == nil {
			break
		}
		if err := answer(ctx, tx, walks, behind.asks.name); err != nil {
			return err
		}
	}
	for i, w := range walks {
		if w.err != nil && w.tx.wrote || w.tx.beside.apart {
			return errApart
		}
		ends[i] = told{err: w.err}
		if w.err == nil {
			tx.left.onCommit, tx.left.atEnd = append(tx.left.onCommit, w.tx.left.onCommit...), append(tx.left.atEnd, w.tx.left.atEnd...)
		}
		w.tx.left, w.tx.beside = tx.left, nil // what it has left to the end goes on in the name of all
	}
	return nil
}

// walk is one of several that take turns in one transaction.
type walk struct {
	tx      *Tx
	err     error // how it ended
	asks    *ask  // what it waits for
	answers int   // that it was given
	next    func() (*ask, bool)
	stop    func()
}

// walk makes ready to run m.
func (m *member) walk(tx *Tx) *walk {
	w := &walk{tx: &Tx{Now: tx.Now, machine: tx.machine, t: tx.t, engine: tx.engine, left: &left{}}}
	w.next, w.stop = iter.Pull(func(yield func(*ask) bool) {
		w.tx.beside = &beside{yield: yield}
		if w.err = m.ctx.Err(); w.err == nil {
			w.err = sheltered(func() error { return m.f(intx.Mark(m.ctx), w.tx) })
		}
	})
	return w
}

// on lets it go on until it waits or has ended.
func (w *walk) on() {
	if w.asks == nil {
		w.asks, _ = w.next()
	}
}

// answer does at once what is asked for under a name.
func answer(ctx context.Context, tx *Tx, walks []*walk, name string) error {
	var (
		ask []*walk
		ins []any
	)
	for _, w := range walks {
		if w.asks != nil && w.asks.name == name {
			ask, ins = append(ask, w), append(ins, w.asks.in)
		}
	}
	tx.wrote = false
	outs, err := ask[0].asks.of(ctx, tx, ins)
	if err != nil {
		return err
	}
	for i, w := range ask {
		w.asks.out = outs[i]
		w.asks = nil
		w.answers++
		w.tx.wrote = w.tx.wrote || tx.wrote
	}
	return nil
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

var (
	errPanic = errors.New("db: panic")
	errApart = errors.New("db: one of several in a transaction is to be undone")
)
