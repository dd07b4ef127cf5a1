package credentials

import (
	"context"
	"net/http"
	"time"

	"stead.dev/stead/internal/hosting/site"
	"stead.dev/stead/internal/platform/api"
	"stead.dev/stead/internal/platform/auth"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/page"
)

// passwordWire is a password that exists, without the password.
type passwordWire struct {
	ID       int64      `json:"id"`
	Kind     Kind       `json:"kind" enum:"database,ftp,server" doc:"What it opens"`
	Username string     `json:"username"`
	Place    *string    `json:"place" doc:"Where it signs in, as host:port; null while that is not known"`
	MadeAt   time.Time  `json:"made_at"`
	ShownAt  *time.Time `json:"shown_at" doc:"When it was shown; null while it waits to be shown, once"`
}

// shownWire has a password. It is the answer of one operation, once, and part of nothing else.
type shownWire struct {
	passwordWire
	Password string `json:"password" doc:"In no other answer" example:"Kq7mWz4VtP9xRb2NcY6hJd3e"`
}

func wire(c Credential) passwordWire {
	w := passwordWire{ID: c.ID, Kind: c.Kind, Username: c.Label, MadeAt: c.MadeAt, ShownAt: c.RevealedAt}
	if c.Place != "" {
		w.Place = &c.Place
	}
	return w
}

type passwordIn struct {
	site.ServiceIn
	Password int64 `path:"password" minimum:"1" doc:"Id of the password"`
}

// Operations are for a browser in which the owner is signed in, and for a reseller's client: no token opens a password
// (specification, "Server, FTP and database passwords have no API representation").
func (s *Service) Operations() []api.Route {
	const (
		base  = "/api/v1/services/{service}/passwords"
		named = base + "/{password}"
	)
	return []api.Route{
		site.Read(api.Operation[site.ListIn, page.List[passwordWire]]{
			ID: "passwords.list", Path: base, FirstParty: true, Summary: "List the passwords that a service has, without them",
			Description: "Of database users and FTP accounts. The passwords are made by the server; the panel shows each to its owner, once.",
			Handle: func(ctx context.Context, p auth.Principal, in *site.ListIn) (*page.List[passwordWire], error) {
				if _, err := s.Services.Site(ctx, s.DB, p.AccountID, in.Service); err != nil {
					return nil, err
				}
				all, err := s.List(ctx, p.AccountID, in.Service)
				if err != nil {
					return nil, err
				}
				return page.Slice(in.Params, all, wire), nil
			},
		}),
		site.Write(http.MethodPost, api.Operation[passwordIn, shownWire]{
			ID: "passwords.reveal", Path: named + "/reveal", Recent: true, Visitors: true, Summary: "Show a password, once",
			Description: "Of two who ask at once one is shown it. `not_found` when it was shown before: make a new one then.",
			Handle: func(ctx context.Context, p auth.Principal, in *passwordIn) (*shownWire, error) {
				c, password, err := s.Reveal(ctx, p.AccountID, in.Service, in.Password)
				if err != nil {
					return nil, err
				}
				return &shownWire{passwordWire: wire(c), Password: password}, nil
			},
		}),
		site.Write(http.MethodPost, api.Operation[passwordIn, passwordWire]{
			ID: "passwords.reset", Path: named + "/reset", Recent: true, Visitors: true, Summary: "Make a new password in the place of one",
			Description: "The present one stops to work as soon as the server has followed, within seconds. The new one waits to be shown.",
			Errors:      []*fault.Def{fault.JobRunning},
			Handle: func(ctx context.Context, p auth.Principal, in *passwordIn) (*passwordWire, error) {
				c, err := s.Reset(ctx, p.AccountID, in.Service, in.Password)
				return site.Reply(wire, c, err)
			},
		}),
	}
}
