package databases

import (
	"context"
	"slices"

	"stead.dev/stead/internal/hosting/site"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/outbox"
	"stead.dev/stead/internal/platform/page"
	"stead.dev/stead/internal/port/panel"
)

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
	site.Base
	Events  outbox.Events
	Secrets Secrets
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

// create adds a database to one of the account's services.
func (s *Service) create(ctx context.Context, accountID, serviceID int64, w wish) (d described, err error) {
	c := s.collection()
	err = c.Change(ctx, accountID, serviceID, func(ctx context.Context, tx *db.Tx, on site.Site) error {
		r, err := w.row(on)
		if err != nil {
			return err
		}
		all, err := c.OfService(ctx, tx, serviceID)
		if err != nil {
			return err
		}
		if i := slices.IndexFunc(all, func(o row) bool { return o.name == r.name }); i >= 0 {
			if all[i].Status == site.Removing {
				return fault.JobRunning.New()
			}
			return fault.AlreadyExists.New()
		}
		id, err := s.add(ctx, tx, on, r)
		if err != nil {
			return err
		}
		d.on = on
		d.opens = s.canOpen(on)
		if d.row, err = c.Get(ctx, tx, accountID, serviceID, id); err != nil {
			return err
		}
		if d.mostMB, err = mostMB(on); err != nil {
			return err
		}
		return c.Enqueue(ctx, tx, accountID, serviceID)
	})
	return d, err
}

// add writes a database of a locked service, with a new password, where the plan has room for one.
func (s *Service) add(ctx context.Context, tx *db.Tx, on site.Site, r row) (id int64, err error) {
	c := s.collection()
	if err := c.Room(ctx, tx, on, 1); err != nil {
		return 0, err
	}
	if id, err = c.Insert(ctx, tx, on.AccountID, on.ServiceID, r.values()); err != nil {
		return 0, err
	}
	return id, s.Secrets.Put(ctx, tx, on.AccountID, on.ServiceID, SecretKind, id, r.name)
}

// PasswordReplaced has the panel take the new password of a database. It is called in the transaction in which
// the password changes, and refuses when the service takes no changes.
func (s *Service) PasswordReplaced(ctx context.Context, tx *db.Tx, accountID, serviceID, id int64) error {
	return s.collection().Renew(ctx, tx, accountID, serviceID, id, fault.JobRunning)
}

// described is a database, and what the panel tells of it.
type described struct {
	row
	on     site.Site
	mostMB int64
	opens  bool            // the panel can open databases in browsers
	now    *panel.Database // nil: not there, or the panel does not answer
}

// list answers one page of a service's databases.
func (s *Service) list(ctx context.Context, accountID, serviceID int64, p page.Params) ([]described, int, error) {
	on, rows, total, err := s.collection().Page(ctx, accountID, serviceID, p)
	if err != nil {
		return nil, 0, err
	}
	most, err := mostMB(on)
	if err != nil {
		return nil, 0, err
	}
	var have map[string]panel.Database
	if len(rows) > 0 {
		have = site.Ask(ctx, s.Panels, on, panel.CapDatabases, panel.Databases.ListDatabases, databaseName)
	}
	opens := s.canOpen(on)
	all := make([]described, len(rows))
	for i, r := range rows {
		all[i] = described{row: r, on: on, mostMB: most, opens: opens}
		if now, ok := have[r.name]; ok {
			all[i].now = &now
		}
	}
	return all, total, nil
}

// canOpen reports whether the panel of a service opens databases in browsers.
func (s *Service) canOpen(on site.Site) bool {
	_, err := site.On[panel.Adminer](s.Panels, on, panel.CapAdminer)
	return err == nil
}

// open has the panel open a database in a browser.
func (s *Service) open(ctx context.Context, accountID, serviceID, id int64) (panel.OpenedDatabase, error) {
	on, err := s.Services.Site(ctx, s.DB, accountID, serviceID)
	if err != nil {
		return panel.OpenedDatabase{}, err
	}
	r, err := s.collection().Get(ctx, s.DB, accountID, serviceID, id)
	if err == nil {
		err = on.Changeable()
	}
	if err != nil {
		return panel.OpenedDatabase{}, err
	}
	if r.Status == site.Removing { // another of that name may follow
		return panel.OpenedDatabase{}, fault.NotFound.New()
	}
	browsers, err := site.On[panel.Adminer](s.Panels, on, panel.CapAdminer)
	if err != nil {
		return panel.OpenedDatabase{}, site.Refusal(err)
	}
	o, err := browsers.OpenDatabase(ctx, on.Ref, r.name)
	return o, site.Refusal(err)
}
