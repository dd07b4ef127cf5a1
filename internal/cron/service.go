package cron

import (
	"context"
	"time"

	"stead.dev/stead/internal/panel"
	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/jobs"
	"stead.dev/stead/internal/platform/page"
	"stead.dev/stead/internal/site"
)

// Config is what the section works with; all is needed.
type Config struct {
	DB       *db.DB
	Clock    clock.Clock
	Queue    jobs.Enqueuer
	Services site.Services
	Panels   site.Panels
}

// Service is the section's use cases.
type Service struct{ Config }

var _ site.Part = (*Service)(nil)

// New makes the section.
func New(c Config) *Service { return &Service{Config: c} }

// change runs f on the jobs of a service that takes changes.
func (s *Service) change(ctx context.Context, accountID, serviceID int64,
	f func(ctx context.Context, tx *db.Tx, on site.Site) error,
) error {
	return site.Change[panel.Cron](ctx, s.DB, s.Services, s.Panels, panel.CapCron, accountID, serviceID, f)
}

// create adds a job to one of the account's services.
func (s *Service) create(ctx context.Context, accountID, serviceID int64, w wish) (d described, err error) {
	if w, err = w.checked(); err != nil {
		return d, err
	}
	err = s.change(ctx, accountID, serviceID, func(ctx context.Context, tx *db.Tx, on site.Site) error {
		limits, err := site.ParseLimits(on)
		if err != nil {
			return err
		}
		n, err := countOf(ctx, tx, serviceID)
		if err != nil {
			return err
		}
		if err := limits.Refuse("cron_jobs", n, n+1); err != nil {
			return err
		}
		id, err := insert(ctx, tx, accountID, serviceID, w)
		if err != nil {
			return err
		}
		if d, err = s.written(ctx, tx, on, id); err != nil {
			return err
		}
		return s.enqueueApply(ctx, tx, accountID, serviceID)
	})
	return d, err
}

// written is a job as it has just been written.
func (s *Service) written(ctx context.Context, tx *db.Tx, on site.Site, id int64) (described, error) {
	r, err := getOwn(ctx, tx, on.AccountID, on.ServiceID, id)
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
func (s *Service) update(ctx context.Context, accountID, serviceID, id int64, c change) (d described, err error) {
	err = s.change(ctx, accountID, serviceID, func(ctx context.Context, tx *db.Tx, on site.Site) error {
		old, err := getOwn(ctx, tx, accountID, serviceID, id)
		if err != nil {
			return err
		}
		w, err := old.wish.with(c).checked()
		if err != nil {
			return err
		}
		if w != old.wish || old.status == site.Failed {
			if err := setWish(ctx, tx, id, w); err != nil {
				return err
			}
			if err := s.enqueueApply(ctx, tx, accountID, serviceID); err != nil {
				return err
			}
		}
		d, err = s.written(ctx, tx, on, id)
		return err
	})
	return d, err
}

// remove lets a job of one of the account's services go.
func (s *Service) remove(ctx context.Context, accountID, serviceID, id int64) error {
	return s.change(ctx, accountID, serviceID, func(ctx context.Context, tx *db.Tx, _ site.Site) error {
		if _, err := getOwn(ctx, tx, accountID, serviceID, id); err != nil {
			return err
		}
		if err := setRemoving(ctx, tx, id); err != nil {
			return err
		}
		return s.enqueueApply(ctx, tx, accountID, serviceID)
	})
}

// described is a job, and what the panel tells of it.
type described struct {
	row
	next  time.Time
	state *panel.CronState // nil: the panel does not have the job, or does not answer
}

// list answers one page of a service's jobs.
func (s *Service) list(ctx context.Context, accountID, serviceID int64, p page.Params) ([]described, int, error) {
	on, err := s.Services.Site(ctx, s.DB, accountID, serviceID)
	if err != nil {
		return nil, 0, err
	}
	rows, total, err := list(ctx, s.DB, accountID, serviceID, p)
	if err != nil {
		return nil, 0, err
	}
	var told map[string]panel.CronState
	if len(rows) > 0 {
		told = s.ask(ctx, on)
	}
	now := s.Clock.Now()
	all := make([]described, len(rows))
	for i, r := range rows {
		d := described{row: r}
		if d.next, err = r.next(on, now); err != nil {
			return nil, 0, err
		}
		if state, ok := told[r.name()]; ok {
			d.state = &state
		}
		all[i] = d
	}
	return all, total, nil
}

// patience is how long a list waits for the panel.
const patience = 3 * time.Second

// ask answers how the jobs on the panel do; nothing when it does not answer soon.
func (s *Service) ask(ctx context.Context, on site.Site) map[string]panel.CronState {
	if on.Ref == "" {
		return nil
	}
	cron, err := site.On[panel.Cron](s.Panels, on, panel.CapCron)
	if err != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	states, err := cron.CronStates(ctx, on.Ref)
	if err != nil {
		return nil
	}
	told := make(map[string]panel.CronState, len(states))
	for _, state := range states {
		told[state.ID] = state
	}
	return told
}

// Count implements site.Part.
func (s *Service) Count(ctx context.Context, q db.Querier, serviceID int64, into map[string]int64) error {
	n, err := countOf(ctx, q, serviceID)
	into["cron_jobs"] = n
	return err
}
