package runs

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/redact"
	"stead.dev/stead/internal/port/panel"
)

// How runs are leased. A process that dies is replaced within leaseFor and lookEvery.
const (
	leaseFor   = 30 * time.Second
	renewEvery = 3 * time.Second // and how long a cancelled run may go on asking a model
	lookEvery  = time.Second
	retryAfter = 5 * time.Second // a hosting server that does not answer
	atOnce     = 16              // runs of one process
	stopTime   = 5 * time.Second
)

// errLost says that another process has the run, or that it is over.
var errLost = errors.New("runs: the run is another process's, or over")

// Run works on runs until ctx ends.
func (s *Service) Run(ctx context.Context) {
	if s.Idle {
		return
	}
	wake := make(chan struct{}, 1)
	s.Signals.Subscribe(topic, func(string) {
		select {
		case wake <- struct{}{}:
		default:
		}
	})
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	var working sync.WaitGroup
	defer working.Wait()
	room := make(chan struct{}, atOnce)
	for {
		select {
		case room <- struct{}{}:
		case <-ctx.Done():
			return
		}
		r, err := s.take(ctx)
		if err == nil {
			working.Go(func() {
				defer func() { <-room }()
				if err := s.perform(ctx, r); err != nil && !errors.Is(err, errLost) && ctx.Err() == nil {
					s.Log.Error("runs: a run was interrupted", "run", r.id, "error", err)
				}
			})
			continue
		}
		<-room
		if !errors.Is(err, db.ErrNoRows) && ctx.Err() == nil {
			s.Log.Error("runs: look for work", "error", err)
		}
		select {
		case <-wake:
		case <-look.C:
		case <-ctx.Done():
			return
		}
	}
}

// take leases a run; db.ErrNoRows when there is none to work on.
func (s *Service) take(ctx context.Context) (r run, err error) {
	waiting := false
	if err := s.DB.QueryRow(ctx, `SELECT EXISTS (SELECT 1 FROM ai_runs WHERE status IN ('queued', 'running') AND lease_until <= $1)`,
		s.Clock.Now()).Scan(&waiting); err != nil || !waiting {
		return r, errors.Join(err, db.ErrNoRows)
	}
	err = s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		if r, err = lease(ctx, tx, tx.Now.Add(leaseFor)); err != nil {
			return err
		}
		r.goOn(tx.Now)
		return putRun(ctx, tx, r)
	})
	return r, err
}

// worker works on a run that it leases.
type worker struct {
	*Service

	id, epoch int64
	mask      redact.Masker
	learned   bool          // the secrets of files that were read before are known again
	stop      chan struct{} // closed when the run was cancelled
}

// perform works on a leased run until it ends or waits for a person, or the lease is lost.
func (s *Service) perform(ctx context.Context, r run) error {
	ctx, stop := context.WithCancel(ctx)
	w := &worker{Service: s, id: r.id, epoch: r.epoch, stop: make(chan struct{})}
	var keeping sync.WaitGroup
	keeping.Go(func() { w.keep(ctx, stop) })
	err := w.guarded(ctx)
	ended := ctx.Err() != nil
	stop()
	keeping.Wait()
	switch {
	case err == nil || errors.Is(err, errLost):
		return nil
	case ended:
		return errors.Join(err, w.giveBack(context.WithoutCancel(ctx), 0))
	default:
		return errors.Join(err, w.giveBack(context.WithoutCancel(ctx), retryAfter))
	}
}

// guarded is goOn whose panic is an error: one run ends, not the process.
func (w *worker) guarded(ctx context.Context) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("runs: panic: %v\n%s", v, debug.Stack())
		}
	}()
	return w.goOn(ctx)
}

// keep renews the lease until ctx ends, and ends it when the lease was lost.
func (w *worker) keep(ctx context.Context, stop context.CancelFunc) {
	renewal := time.NewTicker(renewEvery)
	defer renewal.Stop()
	cancelled := false
	for {
		select {
		case <-ctx.Done():
			return
		case <-renewal.C:
		}
		var cancelling, held bool
		err := w.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) (err error) {
			cancelling, held, err = renew(ctx, tx, w.id, w.epoch, tx.Now.Add(leaseFor))
			return err
		})
		switch {
		case err != nil: // the next one may succeed; if none does, the epoch guards what is written
		case !held:
			stop()
			return
		case cancelling && !cancelled:
			cancelled = true
			close(w.stop)
		}
	}
}

// giveBack ends the lease of a run that is not over, for another process or a later time.
func (w *worker) giveBack(ctx context.Context, after time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, stopTime)
	defer cancel()
	err := w.change(ctx, func(_ context.Context, tx *db.Tx, r *run) error {
		r.leaseUntil = tx.Now.Add(after)
		if after == 0 {
			r.resumes-- // the process stops in good order: nothing went wrong with the run
		}
		return nil
	})
	if errors.Is(err, errLost) {
		return nil
	}
	return err
}

// change changes the run in one commit, unless the lease was lost.
func (w *worker) change(ctx context.Context, f func(ctx context.Context, tx *db.Tx, r *run) error) error {
	return w.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		r, err := lockRun(ctx, tx, w.id)
		if errors.Is(err, db.ErrNoRows) || err == nil && (r.epoch != w.epoch || r.status != Running) {
			return errLost
		}
		if err != nil {
			return err
		}
		if err := f(ctx, tx, &r); err != nil || !r.status.open() { // finish has written it
			return err
		}
		return putRun(ctx, tx, r)
	})
}

// goOn does one thing after the other.
func (w *worker) goOn(ctx context.Context) error {
	for {
		s, err := w.situation(ctx)
		if err != nil {
			return err
		}
		switch a := s.next(w.Clock.Now()); a.doing {
		case settle:
			err = w.settle(ctx, s)
		case look:
			err = w.inspect(ctx, s)
		case ask:
			err = w.ask(ctx, s)
		case act:
			var waits bool
			if waits, err = w.act(ctx, s, a.call); waits {
				return err
			}
		case conclude:
			return w.change(ctx, func(ctx context.Context, tx *db.Tx, r *run) error { return w.finish(ctx, tx, r, a.reason) })
		}
		if err != nil {
			return err
		}
	}
}

// situation reads what decides what is done next.
func (w *worker) situation(ctx context.Context) (s situation, err error) {
	err = w.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		r, err := lockRun(ctx, tx, w.id)
		if errors.Is(err, db.ErrNoRows) || err == nil && (r.epoch != w.epoch || r.status != Running) {
			return errLost
		}
		if err != nil {
			return err
		}
		s = situation{run: r}
		if s.calls, err = callsOf(ctx, tx, r.id); err != nil {
			return err
		}
		if s.changes, err = changesOf(ctx, tx, r.id); err != nil {
			return err
		}
		if r.conversationID == nil {
			return nil
		}
		last, err := lastAnswer(ctx, tx, *r.conversationID, r.id)
		if errors.Is(err, db.ErrNoRows) {
			return nil
		}
		s.answered, s.last = err == nil, last.id
		return err
	})
	return s, err
}

// settle makes the changes of a run that are in the journal and were not made yet, in their order. When one cannot be made,
// those behind it are not made either.
func (w *worker) settle(ctx context.Context, s situation) error {
	project, err := w.project(ctx, s.accountID, s.serviceID)
	if err != nil {
		return w.impossible(ctx, err)
	}
	if err := w.beforeChanges(ctx, project, s); err != nil {
		return err
	}
	ended := false
	for _, c := range s.changes {
		if !c.unsettled() {
			continue
		}
		status := failed
		if !ended {
			var content []byte
			if c.kind.writes() {
				if content, err = blobOf(ctx, w.DB, c.serviceID, c.after); err != nil {
					return err
				}
			}
			if status, err = project.apply(ctx, c, content); err != nil {
				return w.impossible(ctx, err)
			}
		}
		// What was made is noted whoever leases the run now: it is the truth.
		err := w.DB.InTx(context.WithoutCancel(ctx), func(ctx context.Context, tx *db.Tx) error { return settleChange(ctx, tx, c, status) })
		if err != nil {
			return err
		}
		ended = ended || status != applied && c.kind != rmdir // a folder into which somebody has put something stays
	}
	return nil
}

// impossible ends the run when its service takes no changes any more. Another failure of the hosting server may pass.
func (w *worker) impossible(ctx context.Context, err error) error {
	if refusedForGood(err) || errors.Is(err, panel.ErrSuspended) {
		return w.change(ctx, func(ctx context.Context, tx *db.Tx, r *run) error { return w.finish(ctx, tx, r, ServiceChanged) })
	}
	return err
}
