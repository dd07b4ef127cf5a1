package databases

import (
	"context"
	"errors"
	"time"

	"github.com/riverqueue/river"

	"stead.dev/stead/internal/panel"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/jobs"
	"stead.dev/stead/internal/platform/outbox"
	"stead.dev/stead/internal/site"
)

// Register adds the section's workers.
func (s *Service) Register(w *river.Workers) {
	jobs.Work(w, func(ctx context.Context, a applyArgs) error { return s.Apply(ctx, a.AccountID, a.ServiceID) })
}

// Schedule adds the section's periodic jobs: none. What a service consists of is compared with its
// panel by the section that has its domains.
func (s *Service) Schedule(func(interval time.Duration, args river.JobArgs)) {}

type applyArgs struct {
	AccountID int64 `json:"account_id"`
	ServiceID int64 `json:"service_id"`
}

func (applyArgs) Kind() string { return "databases.apply" }

// enqueueApply has the panel follow a change. Each change has a job of its own: one that is running may
// have read the rows before this change.
func (s *Service) enqueueApply(ctx context.Context, tx *db.Tx, accountID, serviceID int64) error {
	return s.Queue.Enqueue(ctx, tx, applyArgs{accountID, serviceID}, &river.InsertOpts{Queue: jobs.PanelQueue})
}

// Apply implements site.Part.
func (s *Service) Apply(ctx context.Context, accountID, serviceID int64) error {
	return site.Apply(ctx, s.DB, s.Services, accountID, serviceID, s.free, s.follow)
}

func (s *Service) follow(ctx context.Context, on site.Site) error {
	databases, err := site.On[panel.Databases](s.Panels, on, panel.CapDatabases)
	if errors.Is(err, panel.ErrUnsupported) {
		return s.kind(nil, on, 0).Refuse(ctx, s.DB, err)
	}
	if err != nil {
		return err
	}
	most, err := mostMB(on)
	if err != nil {
		return err
	}
	return site.Follow(ctx, s.DB, s.kind(databases, on, most))
}

// kind is databases of at most so many MB each as site.Follow has panels follow them.
func (s *Service) kind(databases panel.Databases, on site.Site, most int64) site.Kind[row, panel.Database] {
	return site.Kind[row, panel.Database]{
		Rows: func(ctx context.Context, q db.Querier) ([]row, error) { return ofService(ctx, q, on.ServiceID) },
		Head: row.head,
		Wish: func(ctx context.Context, r row) (panel.Database, error) {
			d := panel.Database{Name: r.name, Engine: r.engine, Charset: r.charset, MaxSizeMB: most}
			var err error
			d.Password, d.PasswordVersion, err = s.Secrets.Secret(ctx, s.DB, SecretKind, r.id)
			return d, err
		},
		Same: func(have, wish panel.Database) bool {
			return have.Engine == wish.Engine && have.Charset == wish.Charset && have.MaxSizeMB == wish.MaxSizeMB &&
				have.PasswordVersion == wish.PasswordVersion
		},
		List: func(ctx context.Context) ([]panel.Database, error) { return databases.ListDatabases(ctx, on.Ref) },
		Name: func(d panel.Database) string { return d.Name },
		Set: func(ctx context.Context, d panel.Database) (panel.Database, error) {
			return databases.SetDatabase(ctx, on.Ref, d)
		},
		Remove: func(ctx context.Context, name string) error { return databases.RemoveDatabase(ctx, on.Ref, name) },
		Note:   s.note,
	}
}

// note writes what became of a row on the panel.
func (s *Service) note(ctx context.Context, tx *db.Tx, r row, o site.Outcome[panel.Database]) error {
	switch {
	case o.Gone:
		gone, err := remove(ctx, tx, r)
		if err != nil || !gone {
			return err
		}
		return s.Secrets.Delete(ctx, tx, SecretKind, r.id)
	case o.Err != nil:
		if key := failureKey(o.Err); r.failureKey == nil || *r.failureKey != key {
			return setFailed(ctx, tx, r, key)
		}
		return nil
	case r.status == site.Active:
		return nil
	}
	changed, err := setActive(ctx, tx, r)
	if err != nil || !changed || r.activatedAt != nil {
		return err
	}
	return s.Events.Emit(ctx, tx, outbox.Event{
		Type: "database.created", AccountID: r.accountID, Subject: "service", SubjectID: r.serviceID,
		Data: eventWire{ID: r.id, ServiceID: r.serviceID, Name: r.name, Engine: r.engine},
	})
}

// free forgets the databases of a service that has ended.
func (s *Service) free(ctx context.Context, tx *db.Tx, serviceID int64) error {
	rows, err := ofService(ctx, tx, serviceID)
	if err != nil {
		return err
	}
	for _, r := range rows {
		if err := s.Secrets.Delete(ctx, tx, SecretKind, r.id); err != nil && !errors.Is(err, fault.NotFound) {
			return err
		}
	}
	return removeAll(ctx, tx, serviceID)
}
