package status

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"stead.dev/stead/internal/platform/brand"
	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/i18n"
	"stead.dev/stead/internal/platform/jobs"
	"stead.dev/stead/internal/platform/outbox"
	"stead.dev/stead/internal/platform/secret"
	"stead.dev/stead/internal/platform/throttle"
	"stead.dev/stead/internal/port/mailer"
)

// Machines knows the hosting machines.
type Machines interface {
	Machines(ctx context.Context) ([]Machine, error)
}

// Audience knows whom events of the whole platform are told to.
type Audience interface {
	// Audience lists the accounts that events are sent to.
	Audience(ctx context.Context, q db.Querier) ([]int64, error)
}

// Config is what the section works with; all is needed.
type Config struct {
	DB       *db.DB
	Clock    clock.Clock
	Events   outbox.Events
	Log      *slog.Logger
	Machines Machines
	Audience Audience
	Queue    jobs.Enqueuer
	Mailer   mailer.Mailer
	Box      *secret.Box
	Limiter  throttle.Limiter
	Limits   Limits
	// BaseURL is the public address of the site, and Brand named in mails.
	BaseURL string
	Brand   brand.Source
	Letters *mailer.Writer
	// Parts are the keys of the components that this installation has beside hosting, in order.
	Parts []string
}

// Service is the section's use cases.
type Service struct {
	Config
	mu   sync.Mutex
	copy Picture
}

// New makes the section.
func New(c Config) *Service { return &Service{Config: c} }

// Picture is how the platform did at a time.
type Picture struct {
	CheckedAt  time.Time // zero: nothing was known yet
	Level      Level
	Components []Component
	Incidents  []Incident // those that go on first
	Planned    []Planned
	days       []day
}

// DayLevel is the worst of a component on a day in UTC.
type DayLevel struct {
	Date  time.Time
	Level Level
	Known bool // false: nothing is known of the day
}

// History is the last 90 days of a component, the oldest first; empty when nothing was known yet.
func (p Picture) History(component string) []DayLevel {
	if p.CheckedAt.IsZero() {
		return nil
	}
	all := make([]DayLevel, historyDays)
	from := startOfDay(p.CheckedAt).AddDate(0, 0, 1-historyDays)
	for i := range all {
		all[i].Date = from.AddDate(0, 0, i)
	}
	for _, d := range p.days {
		if i := int(d.Day.Sub(from) / (24 * time.Hour)); d.Component == component && i >= 0 && i < len(all) {
			all[i].Level, all[i].Known = d.Level, true
		}
	}
	return all
}

const (
	fresh       = 10 * time.Second // how old a copy may be
	patience    = 2 * time.Second  // with the database
	historyDays = 90
)

// Now returns how the platform does. It never fails: see the package's documentation.
func (s *Service) Now(ctx context.Context) Picture {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.Clock.Now()
	if !s.copy.CheckedAt.IsZero() && now.Sub(s.copy.CheckedAt) < fresh {
		return s.copy
	}
	// Who waits for the lock gets this copy, so a caller who goes away does not end its making.
	ctx, done := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer done()
	p, err := s.look(ctx, s.DB, now)
	if err != nil {
		s.Log.WarnContext(ctx, "the status is an older one", "error", err, "checked_at", s.copy.CheckedAt)
		return s.without()
	}
	s.copy = p
	return p
}

// without returns the last copy as it is without a database: nothing that needs it works.
func (s *Service) without() Picture {
	p := s.copy
	p.Components = append([]Component{}, p.Components...)
	if len(p.Components) == 0 {
		p.Components = s.parts()
	}
	for i, c := range p.Components {
		if c.Key == API || c.Key == Panel {
			p.Components[i].Level = MajorOutage
		}
	}
	p.Level = whole(p.Components)
	return p
}

// parts are the components that need not be looked for.
func (s *Service) parts() (all []Component) {
	for _, key := range s.Parts {
		all = append(all, Component{Key: key})
	}
	return all
}

// components are all of them, as they are observed.
func (s *Service) components(ctx context.Context) ([]Component, error) {
	machines, err := s.Machines.Machines(ctx)
	return append(s.parts(), places(machines)...), err
}

// look makes a picture.
func (s *Service) look(ctx context.Context, q db.Querier, now time.Time) (p Picture, err error) {
	p.CheckedAt = now
	if p.Components, err = s.components(ctx); err != nil {
		return p, err
	}
	if p.Incidents, err = standing(ctx, q); err != nil {
		return p, err
	}
	from := startOfDay(now).AddDate(0, 0, 1-historyDays)
	over, err := ended(ctx, q, from)
	if err != nil {
		return p, err
	}
	p.Incidents = append(p.Incidents, over...)
	if err = addUpdates(ctx, q, p.Incidents); err != nil {
		return p, err
	}
	if p.Planned, err = ahead(ctx, q, now); err != nil {
		return p, err
	}
	judge(p.Components, p.Incidents, p.Planned, now)
	p.Level = whole(p.Components)
	p.days, err = days(ctx, q, from)
	return p, err
}

// forget has the next answer read anew what was changed here. Other processes learn of it when their copies get old.
func (s *Service) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.copy.CheckedAt = s.copy.CheckedAt.Add(-fresh)
}

// Record notes the day of every component, and deletes what is older than the history.
func (s *Service) Record(ctx context.Context) error {
	now := s.Clock.Now()
	p, err := s.look(ctx, s.DB, now)
	if err != nil {
		return fmt.Errorf("status: look: %w", err)
	}
	today := startOfDay(now)
	return s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		for _, c := range p.Components {
			if err := noteDay(ctx, tx, day{today, c.Key, c.Level}); err != nil {
				return err
			}
		}
		if err := deleteStale(ctx, tx); err != nil {
			return err
		}
		return deleteDays(ctx, tx, today.AddDate(0, 0, 1-historyDays))
	})
}

// Incidents lists those that go on and those of the last 90 days, for operators.
func (s *Service) Incidents(ctx context.Context) ([]Incident, error) {
	p, err := s.look(ctx, s.DB, s.Clock.Now())
	return p.Incidents, err
}

// Planned lists the maintenance that is ahead, for operators.
func (s *Service) Planned(ctx context.Context) ([]Planned, error) {
	return ahead(ctx, s.DB, s.Clock.Now())
}

// Schedule announces maintenance.
func (s *Service) Schedule(ctx context.Context, p Planned) (Planned, error) {
	p.Components = append([]string{}, p.Components...)
	components, err := s.components(ctx)
	if err == nil {
		err = checkKeys(p.Components, components)
	}
	if err == nil {
		err = checkText("title", p.Title, maxTitle)
	}
	if err != nil {
		return p, err
	}
	err = s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		if !p.EndsAt.After(p.StartsAt) || !p.EndsAt.After(tx.Now) {
			return errPast
		}
		p.AnnouncedAt = tx.Now
		if p.ID, err = insertPlanned(ctx, tx, p); err != nil {
			return err
		}
		return s.announce(ctx, tx, notice{maintenanceID: &p.ID})
	})
	s.forget()
	return p, err
}

// Stretch is a time from Start until before End.
type Stretch struct{ Start, End time.Time }

// Announced is the maintenance of the hosting at a location that touches a time. It counts from when it was announced, and
// until it was called off.
func (s *Service) Announced(ctx context.Context, q db.Querier, location string, from, to time.Time) (all []Stretch, err error) {
	planned, err := plannedWithin(ctx, q, from, to)
	for _, p := range planned {
		if !concerns(p.Components, Hosting) && !concerns(p.Components, Hosting+"-"+location) {
			continue
		}
		x := Stretch{p.StartsAt, p.EndsAt}
		if p.AnnouncedAt.After(x.Start) {
			x.Start = p.AnnouncedAt
		}
		if p.CancelledAt != nil && p.CancelledAt.Before(x.End) {
			x.End = *p.CancelledAt
		}
		if x.Start.Before(x.End) {
			all = append(all, x)
		}
	}
	return all, err
}

// Cancel calls maintenance off.
func (s *Service) Cancel(ctx context.Context, id int64) (p Planned, err error) {
	err = s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		if p, err = cancel(ctx, tx, id); err != nil {
			return err
		}
		return s.announce(ctx, tx, notice{maintenanceID: &p.ID, cancelled: true})
	})
	s.forget()
	return p, err
}

// written is a text that staff write of an incident.
type written struct {
	title, body i18n.Text
}

func (w written) check() error {
	if err := checkText("title", w.title, maxTitle); err != nil {
		return err
	}
	return checkText("message", w.body, maxBody)
}
