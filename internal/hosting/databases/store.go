package databases

import (
	"context"
	"errors"

	"github.com/riverqueue/river"

	"stead.dev/stead/internal/hosting/site"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/outbox"
	"stead.dev/stead/internal/port/panel"
)

var rows = db.Map(func(r *row) db.Fields {
	return r.Fields(db.Fields{
		"name": &r.name, "engine": &r.engine, "charset": &r.charset, "created_at": &r.createdAt, "activated_at": &r.activatedAt,
	})
})

// collection describes the databases of services.
func (s *Service) collection() site.Collection[row, panel.Databases, panel.Database] {
	return site.Collection[row, panel.Databases, panel.Database]{
		Base:       s.Base,
		Capability: panel.CapDatabases, Limit: "databases", Event: "database",
		Job:   func(t site.Target) river.JobArgs { return applyArgs{t} },
		Table: site.Table[row]{Name: "databases", Rows: rows},
		On:    s.kind,
		Activated: func(ctx context.Context, tx *db.Tx, r row) error {
			return s.Events.Emit(ctx, tx, outbox.Event{
				Type: "database.created", AccountID: r.AccountID, Subject: "service", SubjectID: r.ServiceID,
				Data: eventWire{ID: r.ID, ServiceID: r.ServiceID, Name: r.name, Engine: r.engine},
			})
		},
		Forget: func(ctx context.Context, tx *db.Tx, r row) error {
			if err := s.Secrets.Delete(ctx, tx, SecretKind, r.ID); !errors.Is(err, fault.NotFound) {
				return err
			}
			return nil
		},
	}
}

// kind is how the databases of a service follow, each as large as its plan allows.
func (s *Service) kind(_ context.Context, on site.Site, databases panel.Databases) (k site.Kind[row, panel.Database], err error) {
	most, err := mostMB(on)
	return site.Kind[row, panel.Database]{
		Wish: func(ctx context.Context, r row) (d panel.Database, err error) {
			d = panel.Database{Name: r.name, Engine: r.engine, Charset: r.charset, MaxSizeMB: most}
			d.Password, d.PasswordVersion, err = s.Secrets.Secret(ctx, s.DB, SecretKind, r.ID)
			return d, err
		},
		Same: func(have, wish panel.Database) bool {
			return have.Engine == wish.Engine && have.Charset == wish.Charset && have.MaxSizeMB == wish.MaxSizeMB &&
				have.PasswordVersion == wish.PasswordVersion
		},
		List: databases.ListDatabases, Set: databases.SetDatabase, Remove: databases.RemoveDatabase, Name: databaseName,
	}, err
}

func databaseName(d panel.Database) string { return d.Name }

func (r row) values() site.Values {
	return site.Values{"name": r.name, "engine": r.engine, "charset": r.charset}
}
