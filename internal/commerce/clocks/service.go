package clocks

import (
	"context"
	"time"

	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/jobs"
)

// Worlds tells which accounts are sandboxes.
type Worlds interface {
	Sandbox(ctx context.Context, q db.Querier, accountID int64) (bool, error)
}

// Life does what is due by the clock with what an account owns.
type Life interface {
	// Due does everything that is due by the account's time. busy reports that some of it is not finished yet.
	Due(ctx context.Context, accountID int64) (busy bool, err error)
	// Next returns the first time after t at which something is due; zero when there is none.
	Next(ctx context.Context, q db.Querier, accountID int64, t time.Time) (time.Time, error)
}

// Config is what the section works with; all is needed.
type Config struct {
	DB    *db.DB
	Clock clock.Clock
	Queue jobs.Enqueuer
}

// Needs is what the section needs of others; every field is required.
type Needs struct {
	Worlds Worlds
	// Lives are called in this order at each due moment.
	Lives []Life
}

// Service is the section's use cases.
type Service struct {
	Config
	Needs
}

// New makes the section.
func New(c Config) *Service { return &Service{Config: c} }

// Connect gives the section what it needs of others. It is called before any other method.
func (s *Service) Connect(n Needs) { s.Needs = n }

// ErrNotSandbox refuses to move the time of the live world.
var ErrNotSandbox = fault.Define(fault.KindUnprocessable, "sandbox_only")

// Bounds of moving a clock.
const (
	mostAhead = 3 * 366 * 24 * time.Hour // of the real time
	patience  = 2 * time.Minute          // how long work that is not done holds up the time
	lookAgain = 250 * time.Millisecond   // at such work
	turn      = 3 * time.Second          // of one job, before others have theirs
)

// Status is the state of a clock.
type Status string

// The states of a clock: it shows the real time, it stands still, or it is on its way to its target.
const (
	Real      Status = "real"
	Ready     Status = "ready"
	Advancing Status = "advancing"
)

// State is a sandbox's clock.
type State struct {
	Now    time.Time
	Status Status
	Target *time.Time // where it is on its way to
}

// row is a clock as it is stored.
type row struct {
	at                   time.Time
	target, waitingSince *time.Time
}

func (r row) state(now time.Time) State {
	switch {
	case r.target != nil:
		return State{Now: latest(r.at, now), Status: Advancing, Target: r.target}
	case r.at.After(now):
		return State{Now: r.at, Status: Ready}
	default:
		return State{Now: now, Status: Real}
	}
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// Now returns the time of a sandbox that is ahead of the real time; false for every other account.
func (s *Service) Now(ctx context.Context, q db.Querier, accountID int64) (now time.Time, ahead bool, err error) {
	r, err := get(ctx, q, accountID, "")
	return r.at, err == nil && r.at.After(s.Clock.Now()), err
}

// Enter gives tx the time of an account until leave is called; it differs for a sandbox that is ahead of the real time. It
// costs no query when tx has the time of this account already.
func (s *Service) Enter(ctx context.Context, tx *db.Tx, accountID int64) (leave func(), err error) {
	if tx.InTimeOf(accountID) {
		return func() {}, nil
	}
	now, ahead, err := s.Now(ctx, tx, accountID)
	if err != nil {
		return nil, err
	}
	if !ahead {
		now = time.Time{}
	}
	return tx.Enter(accountID, now), nil
}

// Ahead returns the sandboxes whose clocks stand ahead of the real time, with their times.
func (s *Service) Ahead(ctx context.Context, q db.Querier) (map[int64]time.Time, error) {
	return ahead(ctx, q, s.Clock.Now())
}

// State returns the clock of an account. Accounts of the live world have the real time.
func (s *Service) State(ctx context.Context, q db.Querier, accountID int64) (State, error) {
	r, err := get(ctx, q, accountID, "")
	return r.state(s.Clock.Now()), err
}

func (s *Service) sandbox(ctx context.Context, q db.Querier, accountID int64) error {
	sandbox, err := s.Worlds.Sandbox(ctx, q, accountID)
	if err == nil && !sandbox {
		err = ErrNotSandbox.New()
	}
	return err
}

// Advance sends a sandbox's clock on its way; a job takes it there.
func (s *Service) Advance(ctx context.Context, accountID int64, to time.Time) (st State, err error) {
	to = clock.Precise(to)
	err = s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		if err := s.sandbox(ctx, tx, accountID); err != nil {
			return err
		}
		r, err := get(ctx, tx, accountID, tx.ForUpdate())
		if err != nil {
			return err
		}
		switch now := latest(r.at, tx.Now); {
		case r.target != nil:
			return fault.Conflict.Wrapf("clocks: the clock is on its way")
		case !to.After(now), to.After(tx.Now.Add(mostAhead)):
			return fault.Invalid("to", "clock_time")
		default:
			r = row{at: now, target: &to}
		}
		if err := put(ctx, tx, accountID, r); err != nil {
			return err
		}
		st = r.state(tx.Now)
		return s.enqueue(ctx, tx, accountID)
	})
	return st, err
}

// Reset gives a sandbox the real time again. Its services keep their dates and go on when the real time reaches them. A clock
// that is on its way is stopped.
func (s *Service) Reset(ctx context.Context, accountID int64) (st State, err error) {
	err = s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		if err := s.sandbox(ctx, tx, accountID); err != nil {
			return err
		}
		st = row{}.state(tx.Now)
		return remove(ctx, tx, accountID)
	})
	return st, err
}

// move advances a clock until it has arrived, its turn is over, or it has to wait for unfinished work. again tells the caller
// to come back after a pause. The process may die at any time, and two may run at once: what is due is done in transactions
// of its own, and the time advances only from where it was read.
func (s *Service) move(ctx context.Context, accountID int64) (again bool, pause time.Duration, err error) {
	for began := s.Clock.Now(); s.Clock.Now().Sub(began) < turn; {
		before, err := get(ctx, s.DB, accountID, "")
		if err != nil || before.target == nil {
			return false, 0, err
		}
		busy := false
		for _, l := range s.Lives {
			b, err := l.Due(ctx, accountID)
			if err != nil {
				return false, 0, err
			}
			busy = busy || b
		}
		stands := false
		err = s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
			stands = false
			r, err := get(ctx, tx, accountID, tx.ForUpdate())
			if err != nil || r.target == nil || !r.at.Equal(before.at) {
				return err // reset, or taken on by another run, meanwhile
			}
			switch {
			case !busy:
				r.waitingSince = nil
			case r.waitingSince == nil:
				r.waitingSince = &tx.Now
			}
			if busy && tx.Now.Sub(*r.waitingSince) < patience {
				stands = true
				return put(ctx, tx, accountID, r)
			}
			next, err := s.next(ctx, tx, accountID, r.at)
			if err != nil {
				return err
			}
			if next.IsZero() || next.After(*r.target) {
				r.at, r.target, r.waitingSince = *r.target, nil, nil
			} else {
				r.at = next
			}
			return put(ctx, tx, accountID, r)
		})
		if err != nil {
			return false, 0, err
		}
		if stands {
			return true, lookAgain, nil
		}
	}
	return true, 0, nil
}

// next returns the first time after t at which something of the account is due.
func (s *Service) next(ctx context.Context, q db.Querier, accountID int64, t time.Time) (first time.Time, err error) {
	for _, l := range s.Lives {
		next, err := l.Next(ctx, q, accountID, t)
		if err != nil {
			return first, err
		}
		if first.IsZero() || (!next.IsZero() && next.Before(first)) {
			first = next
		}
	}
	return first, nil
}
