package databases

import (
	"context"
	"net/http"
	"time"

	"stead.dev/stead/internal/hosting/site"
	"stead.dev/stead/internal/platform/api"
	"stead.dev/stead/internal/platform/auth"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/page"
	"stead.dev/stead/internal/port/panel"
)

// databaseWire is a database (resources, section 17).
type databaseWire struct {
	ID          int64                `json:"id"`
	Name        string               `json:"name" doc:"On the hosting server; the name of its user, too"`
	Engine      panel.DatabaseEngine `json:"engine" enum:"mysql,mariadb,postgresql"`
	Version     *string              `json:"version" doc:"Of the server; null while it does not answer"`
	Charset     string               `json:"charset"`
	Users       []userWire           `json:"users" doc:"Empty while the hosting server does not answer"`
	RemoteHosts []string             `json:"remote_hosts" doc:"From where else it can be reached: so far from nowhere"`
	SizeMB      *float64             `json:"size_mb" doc:"Taken every few minutes; null while it is not known"`
	MaxSizeMB   *int64               `json:"max_size_mb" doc:"A larger one takes nothing more until it is smaller; null is no bound"`
	Host        *string              `json:"host" doc:"Where the service's own programs reach it"`
	Port        *int                 `json:"port"`
	CanOpen     bool                 `json:"can_open" doc:"Whether it can be opened in a browser now"`
	Status      Status               `json:"status" enum:"creating,active,suspended,failed,removing"`
	FailureKey  *string              `json:"failure_key" doc:"Why it failed: an error key"`
	CreatedAt   time.Time            `json:"created_at"`
}

type userWire struct {
	Name       string   `json:"name"`
	Host       string   `json:"host"`
	Privileges []string `json:"privileges"`
}

func wire(d described) databaseWire {
	w := databaseWire{
		ID: d.ID, Name: d.name, Engine: d.engine, Charset: d.charset, Users: []userWire{}, RemoteHosts: []string{},
		Status: d.visibleStatus(d.on), FailureKey: d.FailureKey, CreatedAt: d.createdAt,
	}
	w.CanOpen = d.opens && w.Status == Active
	if d.mostMB > 0 {
		w.MaxSizeMB = &d.mostMB
	}
	if d.now == nil {
		return w
	}
	w.Version, w.Host, w.Port = &d.now.Version, &d.now.Host, &d.now.Port
	if !d.now.SizedAt.IsZero() {
		size := float64(d.now.SizeBytes*10>>20) / 10 // to a tenth
		w.SizeMB = &size
	}
	for _, u := range d.now.Users {
		w.Users = append(w.Users, userWire{Name: u.Name, Host: u.Host, Privileges: u.Privileges})
	}
	return w
}

// eventWire is a database in the data of its events.
type eventWire struct {
	ID        int64                `json:"id"`
	ServiceID int64                `json:"service_id"`
	Name      string               `json:"name"`
	Engine    panel.DatabaseEngine `json:"engine"`
}

// openedWire is where a database can be seen.
type openedWire struct {
	URL       string    `json:"url" format:"uri" doc:"On the hosting server, for a browser. It works once; until then it is a secret"`
	ExpiresAt time.Time `json:"expires_at" doc:"Until then the address works"`
	EndsAt    time.Time `json:"ends_at" doc:"Until then what it opens can be used"`
}

type createIn struct {
	site.ServiceIn
	Body struct {
		Name    string               `json:"name" minLength:"1" maxLength:"64" doc:"1 to 24 of a-z, 0-9 and the underscore; the user name of the service's account is put before it" example:"shop"`
		Engine  panel.DatabaseEngine `json:"engine" enum:"mysql,mariadb,postgresql"`
		Charset string               `json:"charset,omitempty" maxLength:"32" doc:"utf8mb4, UTF8 with PostgreSQL, when it is left out"`
	}
}

type databaseIn struct {
	site.ServiceIn
	Database int64 `path:"database" minimum:"1" doc:"Id of the database"`
}

// Operations are the section's part of the interface.
func (s *Service) Operations() []api.Route {
	const (
		base  = "/api/v1/services/{service}/databases"
		named = base + "/{database}"
	)
	return []api.Route{
		site.Read(api.Operation[site.ListIn, page.List[databaseWire]]{
			ID: "databases.list", Path: base, Summary: "List the databases of a service with their sizes and users",
			Description: "Passwords have no representation here: their owner sees one once in the panel.",
			Handle:      site.HandleList(s.list, wire),
		}),
		site.Create(api.Operation[createIn, databaseWire]{
			ID: "databases.create", OwnerOnly: true, Path: base, Summary: "Create a database and its user",
			Example: `{"name": "shop", "engine": "mysql"}`,
			Description: "The answer is `creating`; the hosting server follows within seconds, and the database becomes `active` or `failed`. " +
				"The password of its user is made by the server and shown once in the panel, never here.",
			Errors: []*fault.Def{fault.LimitReached, fault.AlreadyExists, fault.JobRunning},
			Handle: func(ctx context.Context, p auth.Principal, in *createIn) (*databaseWire, error) {
				d, err := s.create(ctx, p.AccountID, in.Service, wish{name: in.Body.Name, engine: in.Body.Engine, charset: in.Body.Charset})
				return site.Reply(wire, d, err)
			},
		}),
		site.Write(http.MethodPost, api.Operation[databaseIn, openedWire]{
			ID: "databases.open", OwnerOnly: true, Path: named + "/open", Summary: "Open a database in a browser",
			Description: "The answer is an address on the hosting server at which a browser is signed in to Adminer with this one database, " +
				"as its user and without a password. It works once, within a minute; what it opens ends after an hour, with the database, and " +
				"when the service is suspended. Where the server does not have Adminer, `can_open` of the database is false.",
			Errors: []*fault.Def{fault.JobRunning, fault.PanelUnreachable, fault.PanelBusy},
			Handle: func(ctx context.Context, p auth.Principal, in *databaseIn) (*openedWire, error) {
				o, err := s.open(ctx, p.AccountID, in.Service, in.Database)
				if err != nil {
					return nil, err
				}
				return &openedWire{URL: o.URL, ExpiresAt: o.ExpiresAt, EndsAt: o.EndsAt}, nil
			},
		}),
		site.Delete(api.Operation[databaseIn, api.Empty]{
			ID: "databases.delete", Path: named, Summary: "Delete a database, what is in it and its user",
			Description: "It cannot be undone but from a backup. The database is `removing` until the hosting server has followed.",
		}, func(in *databaseIn) int64 { return in.Database }, s.collection().Remove),
	}
}
