package databases

import (
	"context"
	"slices"
	"time"

	"stead.dev/stead/internal/panel"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/jobs"
	"stead.dev/stead/internal/platform/outbox"
	"stead.dev/stead/internal/platform/page"
	"stead.dev/stead/internal/site"
)

// Events keeps what happened.
type Events interface {
	Emit(ctx context.Context, tx *db.Tx, e outbox.Event) error
}

// SecretKind is what Secrets calls the passwords of this section.
const SecretKind = "database"

// Secrets makes and keeps passwords.
type Secrets interface {
	// Put makes the password of a database, whose user people know by label, unless it has one.
	Put(ctx context.Context, tx *db.Tx, accountID, serviceID int64, kind string, databaseID int64, label string) error
	// Secret answers the password and its version; fault.NotFound when it has none.
	Secret(ctx context.Context, q db.Querier, kind string, databaseID int64) (password, version string, err error)
	// Delete forgets it.
	Delete(ctx context.Context, tx *db.Tx, kind string, databaseID int64) error
}

// Config is what the section works with; all is needed.
type Config struct {
	DB       *db.DB
	Queue    jobs.Enqueuer
	Events   Events
	Services site.Services
	Panels   site.Panels
	Secrets  Secrets
}

// Service is the section's use cases.
type Service struct{ Config }

var _ site.Part = (*Service)(nil)

// New makes the section.
func New(c Config) *Service { return &Service{Config: c} }

// change runs f on the databases of a service that takes changes.
func (s *Service) change(ctx context.Context, accountID, serviceID int64,
	f func(ctx context.Context, tx *db.Tx, on site.Site) error,
) error {
	return site.Change[panel.Databases](ctx, s.DB, s.Services, s.Panels, panel.CapDatabases, accountID, serviceID, f)
}

// create adds a database to one of the account's services.
func (s *Service) create(ctx context.Context, accountID, serviceID int64, w wish) (d described, err error) {
	err = s.change(ctx, accountID, serviceID, func(ctx context.Context, tx *db.Tx, on site.Site) error {
		r, err := w.row(on)
		if err != nil {
			return err
		}
		all, err := ofService(ctx, tx, serviceID)
		if err != nil {
			return err
		}
		if i := slices.IndexFunc(all, func(o row) bool { return o.name == r.name }); i >= 0 {
			if all[i].status == site.Removing {
				return fault.JobRunning.New()
			}
			return fault.AlreadyExists.New()
		}
		limits, err := site.ParseLimits(on)
		if err != nil {
			return err
		}
		if err := limits.Refuse("databases", count(all), count(all)+1); err != nil {
			return err
		}
		id, err := insert(ctx, tx, r)
		if err != nil {
			return err
		}
		if err := s.Secrets.Put(ctx, tx, accountID, serviceID, SecretKind, id, r.name); err != nil {
			return err
		}
		if d.row, err = getOwn(ctx, tx, accountID, serviceID, id); err != nil {
			return err
		}
		d.on = on
		if d.mostMB, err = mostMB(on); err != nil {
			return err
		}
		return s.enqueueApply(ctx, tx, accountID, serviceID)
	})
	return d, err
}

// remove lets a database of one of the account's services go.
func (s *Service) remove(ctx context.Context, accountID, serviceID, id int64) error {
	return s.change(ctx, accountID, serviceID, func(ctx context.Context, tx *db.Tx, _ site.Site) error {
		r, err := getOwn(ctx, tx, accountID, serviceID, id)
		if err != nil || r.status == site.Removing {
			return err
		}
		if err := setStatus(ctx, tx, id, site.Removing); err != nil {
			return err
		}
		return s.enqueueApply(ctx, tx, accountID, serviceID)
	})
}

// Replaced has the panel take the new password of a database. It is called in the transaction in which
// the password changes, and refuses when the service takes no changes.
func (s *Service) Replaced(ctx context.Context, tx *db.Tx, accountID, serviceID, id int64) error {
	on, err := s.Services.LockSite(ctx, tx, accountID, serviceID)
	if err != nil {
		return err
	}
	if err := on.Changeable(); err != nil {
		return err
	}
	r, err := getOwn(ctx, tx, accountID, serviceID, id)
	if err != nil {
		return err
	}
	if r.status == site.Removing {
		return fault.JobRunning.New()
	}
	if err := setStatus(ctx, tx, id, site.Pending); err != nil {
		return err
	}
	return s.enqueueApply(ctx, tx, accountID, serviceID)
}

// described is a database, and what the panel tells of it.
type described struct {
	row
	on     site.Site
	mostMB int64
	now    *panel.Database // nil: not there, or the panel does not answer
}

// list answers one page of a service's databases.
func (s *Service) list(ctx context.Context, accountID, serviceID int64, p page.Params) ([]described, int, error) {
	on, err := s.Services.Site(ctx, s.DB, accountID, serviceID)
	if err != nil {
		return nil, 0, err
	}
	most, err := mostMB(on)
	if err != nil {
		return nil, 0, err
	}
	rows, total, err := list(ctx, s.DB, accountID, serviceID, p)
	if err != nil {
		return nil, 0, err
	}
	all := make([]described, len(rows))
	told := map[string]panel.Database{}
	if len(rows) > 0 {
		told = s.ask(ctx, on)
	}
	for i, r := range rows {
		all[i] = described{row: r, on: on, mostMB: most}
		if now, ok := told[r.name]; ok {
			all[i].now = &now
		}
	}
	return all, total, nil
}

// patience is how long a list waits for the panel.
const patience = 3 * time.Second

// ask answers what the panel has; nothing when it does not answer soon.
func (s *Service) ask(ctx context.Context, on site.Site) map[string]panel.Database {
	if on.Ref == "" {
		return nil
	}
	databases, err := site.On[panel.Databases](s.Panels, on, panel.CapDatabases)
	if err != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	have, err := databases.ListDatabases(ctx, on.Ref)
	if err != nil {
		return nil
	}
	told := make(map[string]panel.Database, len(have))
	for _, d := range have {
		told[d.Name] = d
	}
	return told
}

// Count implements site.Part.
func (s *Service) Count(ctx context.Context, q db.Querier, serviceID int64, into map[string]int64) error {
	n, err := countOf(ctx, q, serviceID)
	into["databases"] = n
	return err
}
