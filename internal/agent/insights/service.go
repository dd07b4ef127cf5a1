package insights

import (
	"context"
	"errors"
	"time"

	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/i18n"
	"stead.dev/stead/internal/platform/jobs"
	"stead.dev/stead/internal/platform/outbox"
	"stead.dev/stead/internal/platform/page"
	"stead.dev/stead/internal/platform/throttle"
)

// Config is what the section works with; all is needed.
type Config struct {
	DB      *db.DB
	Clock   clock.Clock
	Events  outbox.Events
	Limiter throttle.Limiter
	Crawler *Crawler
	Queue   jobs.Enqueuer
}

// Place is what is known of a service without visiting its site.
type Place struct {
	Site

	// Refusal says why the service takes no audit; nil when it does.
	Refusal error
	// Visible tells that there is a site to visit; the simulated panel has none.
	Visible    bool
	PHPVersion string
	PHPEnds    *time.Time // the last day of its support; nil: not known
	// Logs and Ref read the service's logs; nil where that cannot be done.
	Logs Logs
	Ref  string
	// Files reads the files below Roots, the document roots; nil where that cannot be done.
	Files Files
	Roots []string
}

// Services knows what is hosted.
type Services interface {
	// Exists answers fault.NotFound for a service that is not the account's.
	Exists(ctx context.Context, q db.Querier, accountID, serviceID int64) error
	// Place is where the site of a service is, or fault.NotFound. It may ask the panel and is not called in a transaction.
	Place(ctx context.Context, accountID, serviceID int64) (Place, error)
}

// Needs are what the section asks of others.
type Needs struct {
	Services Services
	Model    Model
}

// Service is the section's use cases.
type Service struct {
	Config
	Needs
}

// New makes the section.
func New(c Config) *Service { return &Service{Config: c} }

// Connect gives the section what it needs of others.
func (s *Service) Connect(n Needs) { s.Needs = n }

const (
	auditTime = crawlTime + 2*logTime + ruleTime
	writeTime = 8 * time.Second
	// lease is how long an audit may be running before it counts as killed.
	lease = auditTime + writeTime + 10*time.Second
)

// audits bounds how often the site of a service is visited.
var audits = throttle.Policy{Name: "insights_audit", Limit: 30, Window: time.Hour}

// outcome is a complete audit.
type outcome struct {
	startedAt, finishedAt time.Time
	facts                 facts
	opened, resolved      int
	insights              []insight // open ones, the worst first, one page
	open                  map[Severity]int
}

// auditAsked is an audit that somebody asks for: a model words what it found, where one is there.
func (s *Service) auditAsked(ctx context.Context, accountID, serviceID int64) (outcome, error) {
	o, err := s.audit(ctx, accountID, serviceID)
	if err != nil || len(o.insights) == 0 {
		return o, err
	}
	if err := s.word(ctx, accountID, serviceID); err != nil {
		return o, err
	}
	o.insights, err = list(ctx, s.DB, accountID, serviceID, filter{status: Open}, page.Params{PerPage: page.MaxPerPage})
	return o, err
}

// audit looks at one of the account's services.
func (s *Service) audit(ctx context.Context, accountID, serviceID int64) (outcome, error) {
	place, err := s.Services.Place(ctx, accountID, serviceID)
	if err != nil {
		return outcome{}, err
	}
	if place.Refusal != nil {
		return outcome{}, place.Refusal
	}
	taken, err := s.Limiter.Take(ctx, "audit:"+decimal(serviceID), audits)
	if err != nil {
		return outcome{}, err
	}
	if !taken.Allowed {
		return outcome{}, fault.RateLimited.With(fault.Fields{"retry_after": int(taken.Reset/time.Second) + 1})
	}
	var o outcome
	err = s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		o.startedAt = tx.Now
		ok, err := begin(ctx, tx, accountID, serviceID, tx.Now.Add(lease))
		if err == nil && !ok {
			err = fault.JobRunning.New()
		}
		return err
	})
	if err != nil {
		return outcome{}, err
	}
	o.facts = s.look(ctx, place)
	report := judge(o.facts)
	// The result is written even if who asked has left meanwhile.
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeTime)
	defer cancel()
	err = s.DB.InTx(ending, func(ctx context.Context, tx *db.Tx) error {
		o.finishedAt = tx.Now
		ok, err := end(ctx, tx, serviceID, o.startedAt)
		if err != nil {
			return err
		}
		if !ok {
			return fault.JobRunning.Wrapf("another audit of service %d has begun", serviceID)
		}
		if o.opened, o.resolved, err = s.Report(ctx, tx, accountID, serviceID, report); err != nil {
			return err
		}
		if o.open, err = countOpen(ctx, tx, accountID, serviceID); err != nil {
			return err
		}
		o.insights, err = list(ctx, tx, accountID, serviceID, filter{status: Open}, page.Params{PerPage: page.MaxPerPage})
		return err
	})
	return o, err
}

// look gathers the facts.
func (s *Service) look(ctx context.Context, p Place) facts {
	ctx, cancel := context.WithTimeout(ctx, auditTime)
	defer cancel()
	f := facts{skipped: true}
	if p.Visible {
		f = s.Crawler.crawl(ctx, p.Site)
	}
	if ctx.Err() != nil && !f.reached { // who asked has left: nothing was seen, and nothing is said of the site
		f.skipped = true
	}
	f.now = s.Clock.Now()
	f.phpVersion, f.phpEnds = p.PHPVersion, p.PHPEnds
	f.logs = readLogs(ctx, p.Logs, p.Ref, f.now)
	f.rules = readRules(ctx, p.Files, p.Ref, p.Roots)
	return f
}

// Report compares what a source knows of a service with its insights, and tells how many were opened and resolved.
func (s *Service) Report(ctx context.Context, tx *db.Tx, accountID, serviceID int64, r Report) (created, resolved int, err error) {
	rows, err := lockOfService(ctx, tx, accountID, serviceID)
	if err != nil {
		return 0, 0, err
	}
	for _, u := range compare(rows, r) {
		was := u.status
		switch u.change {
		case same:
			continue
		case opened:
			u.accountID, u.serviceID, u.lastSeenAt = accountID, serviceID, tx.Now
			created++
			if u.id == 0 {
				u.id, err = insert(ctx, tx, u.insight)
			} else {
				err = put(ctx, tx, u.insight)
			}
			if err == nil {
				err = s.emit(ctx, tx, "insight.created", u.insight)
			}
		case seen:
			u.lastSeenAt = tx.Now
			err = put(ctx, tx, u.insight)
		case gone:
			u.status = Resolved
			resolved++
			if err = put(ctx, tx, u.insight); err == nil && was == Open {
				err = s.emit(ctx, tx, "insight.resolved", u.insight)
			}
		}
		if err != nil {
			return 0, 0, err
		}
	}
	return created, resolved, nil
}

func (s *Service) emit(ctx context.Context, tx *db.Tx, typ string, i insight) error {
	return s.Events.Emit(ctx, tx, outbox.Event{
		Type: typ, AccountID: i.accountID, Subject: "insight", SubjectID: i.id,
		Data: eventWire{ID: i.id, ServiceID: i.serviceID, Kind: i.Kind, Severity: i.Severity, Title: i18n.T("en", i.Texts.Title, nil), Status: i.status},
	})
}

// dismiss takes an insight off the customer's list. One that is dismissed stays as it is.
func (s *Service) dismiss(ctx context.Context, accountID, serviceID, id int64, reason string) (i insight, err error) {
	err = s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) (err error) {
		i, err = lock(ctx, tx, accountID, serviceID, id)
		switch {
		case errors.Is(err, db.ErrNoRows):
			return errUnknown.New()
		case err != nil:
			return err
		case i.status == Dismissed:
			return nil
		case i.status != Open:
			return errResolved.New()
		}
		i.status, i.dismissedAt, i.dismissReason = Dismissed, &tx.Now, nil
		if reason != "" {
			i.dismissReason = &reason
		}
		return put(ctx, tx, i)
	})
	return i, err
}

// list answers a page of a service's insights, and the number of all.
func (s *Service) list(ctx context.Context, accountID, serviceID int64, f filter, p page.Params) ([]insight, int, error) {
	if err := s.Services.Exists(ctx, s.DB, accountID, serviceID); err != nil {
		return nil, 0, err
	}
	rows, err := list(ctx, s.DB, accountID, serviceID, f, p)
	if err != nil {
		return nil, 0, err
	}
	total, err := count(ctx, s.DB, accountID, serviceID, f)
	return rows, total, err
}

// Terminated ends the insights of services that have ended.
func (s *Service) Terminated(ctx context.Context, tx *db.Tx, e outbox.Stored) error {
	if err := weekly.Remove(ctx, tx, e.SubjectID); err != nil {
		return err
	}
	return expireOf(ctx, tx, e.SubjectID)
}

// closed removes what is kept of an account.
func (s *Service) closed(ctx context.Context, tx *db.Tx, accountID int64) error {
	return removeOf(ctx, tx, accountID)
}

const (
	unseenFor = 90 * 24 * time.Hour  // after which an insight that nobody looked for expires
	keptFor   = 180 * 24 * time.Hour // what is over
	mostClean = 1000
)

// Clean ends what was not seen for long, and removes what is over; a periodic job calls it.
func (s *Service) Clean(ctx context.Context) error {
	for _, step := range []func(ctx context.Context, tx *db.Tx) (int64, error){
		func(ctx context.Context, tx *db.Tx) (int64, error) {
			return expireUnseen(ctx, tx, tx.Now.Add(-unseenFor), mostClean)
		},
		func(ctx context.Context, tx *db.Tx) (int64, error) {
			return removeOld(ctx, tx, tx.Now.Add(-keptFor), mostClean)
		},
	} {
		for n := int64(mostClean); n == mostClean; {
			err := s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) (err error) {
				n, err = step(ctx, tx)
				return err
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}
