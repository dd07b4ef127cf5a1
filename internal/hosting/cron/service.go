package cron

import (
	"context"
	"time"

	"stead.dev/stead/internal/hosting/site"
	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/page"
	"stead.dev/stead/internal/port/panel"
)

// Config is what the section works with; all is needed.
type Config struct {
	site.Base
	Clock clock.Clock
}

// Service is the section's use cases.
type Service struct {
	Config
	site.Part
}

// New makes the section.
func New(c Config) *Service {
	s := &Service{Config: c}
	s.Part = s.collection()
	return s
}

// create adds a job to one of the account's services.
func (s *Service) create(ctx context.Context, accountID, serviceID int64, w wish) (d described, err error) {
	if w, err = w.checked(); err != nil {
		return d, err
	}
	c := s.collection()
	err = c.Change(ctx, accountID, serviceID, func(ctx context.Context, tx *db.Tx, on site.Site) error {
		if err := c.Room(ctx, tx, on, 1); err != nil {
			return err
		}
		id, err := c.Insert(ctx, tx, accountID, serviceID, w.values())
		if err != nil {
			return err
		}
		if d, err = s.written(ctx, tx, on, id); err != nil {
			return err
		}
		return c.Enqueue(ctx, tx, accountID, serviceID)
	})
	return d, err
}

// written is a job as it has just been written.
func (s *Service) written(ctx context.Context, tx *db.Tx, on site.Site, id int64) (described, error) {
	r, err := s.collection().Get(ctx, tx, on.AccountID, on.ServiceID, id)
	if err != nil {
		return described{}, err
	}
	next, err := r.next(on, s.Clock.Now())
	return described{row: r, next: next}, err
}

// change is what a customer wants of a job; nil leaves a member as it is.
type change struct {
	expression, timezone, command *string
	enabled                       *bool
	overlap                       *panel.CronOverlap
	timeoutSeconds                *int
}

func (w wish) with(c change) wish {
	set(&w.expression, c.expression)
	set(&w.timezone, c.timezone)
	set(&w.command, c.command)
	set(&w.enabled, c.enabled)
	set(&w.overlap, c.overlap)
	set(&w.timeoutSeconds, c.timeoutSeconds)
	return w
}

func set[T any](member, to *T) {
	if to != nil {
		*member = *to
	}
}

// update changes a job of one of the account's services. A change of one that failed tries it again.
func (s *Service) update(ctx context.Context, accountID, serviceID, id int64, to change) (d described, err error) {
	c := s.collection()
	err = c.Change(ctx, accountID, serviceID, func(ctx context.Context, tx *db.Tx, on site.Site) error {
		old, err := c.Get(ctx, tx, accountID, serviceID, id)
		if err != nil {
			return err
		}
		w, err := old.wish.with(to).checked()
		if err != nil {
			return err
		}
		if w != old.wish || old.Status == site.Failed {
			if err := c.Update(ctx, tx, id, w.values()); err != nil {
				return err
			}
			if err := c.Enqueue(ctx, tx, accountID, serviceID); err != nil {
				return err
			}
		}
		d, err = s.written(ctx, tx, on, id)
		return err
	})
	return d, err
}

// described is a job, and what the panel tells of it.
type described struct {
	row
	next  time.Time
	state *panel.CronState // nil: the panel does not have the job, or does not answer
}

// list answers one page of a service's jobs.
func (s *Service) list(ctx context.Context, accountID, serviceID int64, p page.Params) ([]described, int, error) {
	on, rows, total, err := s.collection().Page(ctx, accountID, serviceID, p)
	if err != nil {
		return nil, 0, err
	}
	var states map[string]panel.CronState
	if len(rows) > 0 {
		states = site.Ask(ctx, s.Panels, on, panel.CapCron, panel.Cron.CronStates, func(c panel.CronState) string { return c.ID })
	}
	now := s.Clock.Now()
	all := make([]described, len(rows))
	for i, r := range rows {
		d := described{row: r}
		if d.next, err = r.next(on, now); err != nil {
			return nil, 0, err
		}
		if state, ok := states[r.PanelName()]; ok {
			d.state = &state
		}
		all[i] = d
	}
	return all, total, nil
}
