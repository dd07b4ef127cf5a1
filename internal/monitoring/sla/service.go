package sla

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/outbox"
	"stead.dev/stead/internal/platform/page"
)

// Subject is a service as this section sees it.
type Subject struct {
	PlanID   int64
	Location string
	Sandbox  bool
	Ended    bool
}

// Services knows what was sold.
type Services interface {
	// Service is one of the account's; fault.NotFound for all others.
	Service(ctx context.Context, q db.Querier, accountID, serviceID int64) (Subject, error)
	// Paid is what of a time was paid.
	Paid(ctx context.Context, q db.Querier, serviceID int64, from, to time.Time) ([]Paid, error)
}

// Plans knows what they promise.
type Plans interface {
	// Promise is nil when the plan promises nothing.
	Promise(ctx context.Context, q db.Querier, planID int64) (*Promise, error)
}

// Watched is what the monitor of a service has seen.
type Watched struct {
	There   bool // false: the service has no monitor
	Outages []Outage
	// SeenS are the seconds in which it was up or down. They are counted where the time is of whole days.
	SeenS int64
}

// Monitors watch services.
type Monitors interface {
	Watched(ctx context.Context, q db.Querier, serviceID int64, from, to time.Time) (Watched, error)
}

// Announcements are those of maintenance.
type Announcements interface {
	// Maintenance of the hosting at a location, within a time.
	Maintenance(ctx context.Context, q db.Querier, location string, from, to time.Time) ([]Span, error)
}

// Wallet gives money.
type Wallet interface {
	// Compensate credits the amount of a month, once for each id, and has the account's next invoice mention it.
	Compensate(ctx context.Context, tx *db.Tx, a Assessment) error
	// Transaction is the credit's id in the wallet; false before there is one.
	Transaction(ctx context.Context, q db.Querier, id int64) (int64, bool, error)
}

// Config is what the section works with; all is needed.
type Config struct {
	DB     *db.DB
	Clock  clock.Clock
	Events outbox.Events
}

// Needs is what the section needs of others; every field is required.
type Needs struct {
	Services      Services
	Plans         Plans
	Monitors      Monitors
	Announcements Announcements
	Wallet        Wallet
}

// Service is the section's use cases.
type Service struct {
	Config
	Needs
}

// New makes the section. Connect comes before its operations.
func New(c Config) *Service { return &Service{Config: c} }

// Connect gives the section what it needs of others, before anything else is asked of it.
func (s *Service) Connect(n Needs) { s.Needs = n }

// Follow has the months of a service closed, and keeps which plan it has. It is told of the events of services.
func (s *Service) Follow(ctx context.Context, tx *db.Tx, e outbox.Stored) error {
	of, err := s.Services.Service(ctx, tx, e.AccountID, e.SubjectID)
	if errors.Is(err, fault.NotFound) {
		return nil // the account was closed
	}
	if err != nil || of.Sandbox {
		return err
	}
	if err := notePlan(ctx, tx, e.AccountID, e.SubjectID, of.PlanID, e.CreatedAt); err != nil {
		return err
	}
	return follow(ctx, tx, e.AccountID, e.SubjectID, monthOf(e.CreatedAt))
}

// Closed ends what concerns an account that is closed.
func (s *Service) Closed(ctx context.Context, tx *db.Tx, accountID int64) error {
	return endAccount(ctx, tx, accountID)
}

// learn gathers what a month of a service is judged by, until a time in it.
func (s *Service) learn(ctx context.Context, q db.Querier, of Subject, serviceID int64, m Month, until time.Time) (known, error) {
	k := known{facts: Facts{Month: m, Until: until}}
	planID, found, err := planAt(ctx, q, serviceID, m.Start)
	if err != nil {
		return k, err
	}
	if !found {
		planID = of.PlanID
	}
	if k.promise, err = s.Plans.Promise(ctx, q, planID); err != nil {
		return k, err
	}
	if k.facts.Paid, err = s.Services.Paid(ctx, q, serviceID, m.Start, until); err != nil {
		return k, err
	}
	if k.facts.Maintenance, err = s.Announcements.Maintenance(ctx, q, of.Location, m.Start, until); err != nil {
		return k, err
	}
	seen, err := s.Monitors.Watched(ctx, q, serviceID, m.Start, until)
	if err != nil {
		return k, err
	}
	k.watched, k.outages = seen.There, seen.Outages
	if until.Equal(m.End) {
		counted, err := assess(k.facts, Promise{})
		if err != nil {
			return k, err
		}
		k.facts.UnknownS = max(0, counted.ServedS-seen.SeenS)
	}
	return k, nil
}

// Report is how a month of a service was, and the outages that its monitor has seen, the oldest first.
type Report struct {
	Assessment
	Until   time.Time
	Watched bool
	Outages []Outage
	// More is how many older ones there are.
	More          int
	TransactionID *int64
}

// mostOutages bounds a report.
const mostOutages = 200

// Uptime tells how a month of one of the account's services was, or is so far. An empty month is the one that goes on.
func (s *Service) Uptime(ctx context.Context, accountID, serviceID int64, month string) (r Report, err error) {
	now := s.Clock.Now().UTC()
	m := monthOf(now)
	if month != "" {
		start, err := time.Parse("2006-01", month)
		if err != nil {
			return r, fault.Invalid("month", "month")
		}
		if start.After(m.Start) {
			return r, fault.Invalid("month", "month_ahead")
		}
		m = monthOf(start)
	}
	of, err := s.Services.Service(ctx, s.DB, accountID, serviceID)
	if err != nil {
		return r, err
	}
	r.Until = m.End
	if now.Before(m.End) {
		r.Until = now
	}
	k, err := s.learn(ctx, s.DB, of, serviceID, m, r.Until)
	if err != nil {
		return r, err
	}
	r.Watched, r.Outages = k.watched, k.outages[max(0, len(k.outages)-mostOutages):]
	r.More = len(k.outages) - len(r.Outages)
	closed, err := ofMonth(ctx, s.DB, accountID, serviceID, m)
	if errors.Is(err, db.ErrNoRows) {
		if r.Assessment, err = k.judge(); err == nil {
			r.Status = None // it is not closed yet
		}
		return r, err
	}
	if err != nil {
		return r, err
	}
	r.Assessment = closed
	if closed.Status == Credited {
		id, found, err := s.Wallet.Transaction(ctx, s.DB, closed.ID)
		if err != nil {
			return r, err
		}
		if found {
			r.TransactionID = &id
		}
	}
	return r, nil
}

// List lists the months in a state, the newest first, and counts them; for operators.
func (s *Service) List(ctx context.Context, status Status, p page.Params) ([]Assessment, int, error) {
	if !slices.Contains(statuses, status) {
		return nil, 0, errStatus
	}
	return list(ctx, s.DB, status, p)
}

// Hold keeps a proposed credit until an operator approves or rejects it.
func (s *Service) Hold(ctx context.Context, id int64, note string) (Assessment, error) {
	return s.decide(ctx, id, note, true, func(_ context.Context, _ *db.Tx, a *Assessment) error {
		a.Held = true
		return nil
	})
}

// Approve pays a proposed credit now, held or not.
func (s *Service) Approve(ctx context.Context, id int64) (Assessment, error) {
	return s.decide(ctx, id, "", false, s.pay)
}

// Reject decides that a proposed credit is not paid. The customer reads the note.
func (s *Service) Reject(ctx context.Context, id int64, note string) (Assessment, error) {
	return s.decide(ctx, id, note, true, func(_ context.Context, tx *db.Tx, a *Assessment) error {
		a.Status, a.Held, a.DecidedAt = Rejected, false, &tx.Now
		return nil
	})
}

// decide changes a proposed month.
func (s *Service) decide(
	ctx context.Context, id int64, note string, needed bool, f func(ctx context.Context, tx *db.Tx, a *Assessment) error,
) (a Assessment, err error) {
	if note = strings.Join(strings.Fields(note), " "); needed && note == "" || len(note) > maxNote {
		return a, errReason
	}
	err = s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		if a, err = lockMonth(ctx, tx, id); err != nil {
			return err
		}
		if a.Status != Proposed {
			return errDecided
		}
		a.Note = note
		if err := f(ctx, tx, &a); err != nil {
			return err
		}
		return put(ctx, tx, a)
	})
	return a, err
}
