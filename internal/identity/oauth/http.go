package oauth

import (
	"context"
	"net/http"
	"slices"
	"time"

	"stead.dev/stead/internal/platform/api"
	"stead.dev/stead/internal/platform/auth"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/page"
)

// Operations are the endpoints of the protocol, the discovery documents, and for Stead's own applications the
// registration of applications (which the specification leaves open) and the connected applications.
func (s *Service) Operations() []api.Route {
	return slices.Concat(s.endpoints(), s.metadata(), s.applicationOperations(), s.connectionOperations())
}

type applicationWire struct {
	ID           int64     `json:"id"`
	ClientID     string    `json:"client_id"`
	Name         string    `json:"name"`
	Type         Type      `json:"type" enum:"public,confidential"`
	RedirectURIs []string  `json:"redirect_uris"`
	Scopes       []string  `json:"scopes" doc:"Those it may ask for."`
	Sandbox      bool      `json:"sandbox" doc:"Its tokens read everything and write nothing."`
	Disabled     bool      `json:"disabled" doc:"By the operator."`
	CreatedAt    time.Time `json:"created_at"`
	UpdatedAt    time.Time `json:"updated_at"`
}

func wire(a Application) applicationWire {
	return applicationWire{
		ID: a.ID, ClientID: a.ClientID, Name: a.Name, Type: a.Type, RedirectURIs: a.RedirectURIs, Scopes: a.Scopes,
		Sandbox: a.Sandbox, Disabled: a.Disabled, CreatedAt: a.CreatedAt, UpdatedAt: a.UpdatedAt,
	}
}

// secretWire is an application with its secret, which is shown only once.
type secretWire struct {
	applicationWire
	ClientSecret *string `json:"client_secret" doc:"Shown only in this answer; null for public applications."`
}

type listIn struct{ page.Params }

type applicationIn struct {
	Application int64 `path:"application" minimum:"1" doc:"Id of the application"`
}

type createIn struct {
	Body struct {
		Name         string   `json:"name" maxLength:"100"`
		Type         Type     `json:"type,omitempty" enum:"public,confidential" doc:"public when left out."`
		RedirectURIs []string `json:"redirect_uris" maxItems:"10"`
		Scopes       []string `json:"scopes,omitempty" maxItems:"20" doc:"All but admin when left out."`
		Sandbox      bool     `json:"sandbox,omitempty"`
	}
}

type updateIn struct {
	applicationIn
	Body struct {
		Name         *string   `json:"name,omitempty" maxLength:"100"`
		RedirectURIs *[]string `json:"redirect_uris,omitempty" maxItems:"10"`
		Scopes       *[]string `json:"scopes,omitempty" maxItems:"20"`
		Sandbox      *bool     `json:"sandbox,omitempty"`
	}
}

var profileScope = []string{auth.ScopeProfile}

func (s *Service) applicationOperations() []api.Route {
	return []api.Route{
		api.Operation[listIn, page.List[applicationWire]]{
			ID: "apps.list", Method: http.MethodGet, Path: "/api/v1/apps", Section: api.OAuth,
			Description: "The OAuth applications that you have registered, with their client ids, redirect addresses and scopes. Secrets " +
				"are never shown again.",
			Auth: api.Token, Scopes: profileScope, FirstParty: true, Summary: "List your applications",
			Handle: func(ctx context.Context, p auth.Principal, in *listIn) (*page.List[applicationWire], error) {
				apps, total, err := s.ListApplications(ctx, p.AccountID, in.Limit(), in.Offset())
				return page.Map(in.Params, total, apps, wire), err
			},
		},
		api.Operation[createIn, secretWire]{
			ID: "apps.create", Method: http.MethodPost, Path: "/api/v1/apps", Section: api.OAuth, Status: http.StatusCreated,
			Description: "`client_secret` of a confidential application is in this answer only. A public application has none and must use" +
				" PKCE. Redirect addresses are compared character by character; on a loopback address any port matches. The scope" +
				" `admin` is never granted.",
			Example: `{"name": "Backup tool", "type": "public", "redirect_uris": ["http://127.0.0.1/callback"], "scopes": ["profile", "services:read"]}`,
			Auth:    api.Token, Scopes: profileScope, Recent: true, Summary: "Register an application",
			Errors: []*fault.Def{fault.LimitReached},
			Handle: func(ctx context.Context, p auth.Principal, in *createIn) (*secretWire, error) {
				b := in.Body
				if b.Type == "" {
					b.Type = Public
				}
				a, secret, err := s.CreateApplication(ctx, p.AccountID, Registration{
					Name: b.Name, Type: b.Type, RedirectURIs: b.RedirectURIs, Scopes: b.Scopes, Sandbox: b.Sandbox,
				})
				return withSecret(a, secret), err
			},
		},
		api.Operation[applicationIn, applicationWire]{
			ID: "apps.get", Method: http.MethodGet, Path: "/api/v1/apps/{application}", Section: api.OAuth,
			Description: "One application that you have registered, without its secret.",
			Auth:        api.Token, Scopes: profileScope, FirstParty: true, Summary: "Get one of your applications",
			Handle: func(ctx context.Context, p auth.Principal, in *applicationIn) (*applicationWire, error) {
				a, err := s.GetApplication(ctx, p.AccountID, in.Application)
				w := wire(a)
				return &w, err
			},
		},
		api.Operation[updateIn, applicationWire]{
			ID: "apps.update", OwnerOnly: true, Method: http.MethodPatch, Path: "/api/v1/apps/{application}", Section: api.OAuth,
			Description: "Members that are left out keep their values. An application that leaves the sandbox loses its tokens, and its " +
				"users are asked for their consent again.",
			Example: `{"name": "Backup tool 2"}`,
			Auth:    api.Token, Scopes: profileScope, FirstParty: true, Summary: "Change one of your applications",
			Handle: func(ctx context.Context, p auth.Principal, in *updateIn) (*applicationWire, error) {
				a, err := s.UpdateApplication(ctx, p.AccountID, in.Application, Changes(in.Body))
				w := wire(a)
				return &w, err
			},
		},
		api.Operation[applicationIn, secretWire]{
			ID: "apps.rotate_secret", Method: http.MethodPost, Path: "/api/v1/apps/{application}/rotate-secret", Section: api.OAuth,
			Description: "The former secret is refused from now on, and the new one is in this answer only. Tokens that were issued stay " +
				"valid. Public applications have no secret: `validation_failed`.",
			Auth: api.Token, Scopes: profileScope, Recent: true, Summary: "Give an application a new secret",
			Errors: []*fault.Def{fault.UnsupportedOperation},
			Handle: func(ctx context.Context, p auth.Principal, in *applicationIn) (*secretWire, error) {
				a, secret, err := s.RotateSecret(ctx, p.AccountID, in.Application)
				return withSecret(a, secret), err
			},
		},
		api.Operation[applicationIn, api.Empty]{
			ID: "apps.delete", Method: http.MethodDelete, Path: "/api/v1/apps/{application}", Section: api.OAuth,
			Description: "All tokens and consents of the application end at once. It cannot be undone.",
			Auth:        api.Token, Scopes: profileScope, FirstParty: true, Summary: "Delete an application and end its tokens",
			Handle: func(ctx context.Context, p auth.Principal, in *applicationIn) (*api.Empty, error) {
				return nil, s.DeleteApplication(ctx, p.AccountID, in.Application)
			},
		},
	}
}

func withSecret(a Application, secret string) *secretWire {
	w := &secretWire{applicationWire: wire(a)}
	if secret != "" {
		w.ClientSecret = &secret
	}
	return w
}

// connectionWire is a connected application.
type connectionWire struct {
	Application connectedWire `json:"application"`
	Scopes      []string      `json:"scopes" doc:"What you have allowed it."`
	ConnectedAt time.Time     `json:"connected_at"`
	LastUsedAt  *time.Time    `json:"last_used_at" doc:"Exact to about a minute."`
}

// connectedWire is the part of somebody else's application that users see.
type connectedWire struct {
	ID       int64  `json:"id"`
	ClientID string `json:"client_id"`
	Name     string `json:"name"`
	Sandbox  bool   `json:"sandbox"`
}

func (s *Service) connectionOperations() []api.Route {
	return []api.Route{
		api.Operation[listIn, page.List[connectionWire]]{
			ID: "connections.list", Method: http.MethodGet, Path: "/api/v1/me/connections", Section: api.OAuth,
			Description: "Applications to which you have given access, with the scopes and when they were last used.",
			Auth:        api.Token, Scopes: profileScope, FirstParty: true, Summary: "List the applications that you have connected",
			Handle: func(ctx context.Context, p auth.Principal, in *listIn) (*page.List[connectionWire], error) {
				list, total, err := s.ListConnections(ctx, p.AccountID, in.Limit(), in.Offset())
				rows := make([]connectionWire, len(list))
				for i, c := range list {
					rows[i] = connectionWire{
						Application: connectedWire{c.Application.ID, c.Application.ClientID, c.Application.Name, c.Application.Sandbox},
						Scopes:      c.Scopes, ConnectedAt: c.ConnectedAt, LastUsedAt: c.LastUsedAt,
					}
				}
				return page.Of(in.Params, total, rows), err
			},
		},
		api.Operation[applicationIn, api.Empty]{
			ID: "connections.delete", OwnerOnly: true, Method: http.MethodDelete, Path: "/api/v1/me/connections/{application}", Section: api.OAuth,
			Description: "All tokens of the application for your account end within a second, and devices that it has registered are " +
				"removed. It can ask for your consent again.",
			Auth: api.Token, Scopes: profileScope, FirstParty: true, Summary: "Disconnect an application and end its tokens",
			Handle: func(ctx context.Context, p auth.Principal, in *applicationIn) (*api.Empty, error) {
				return nil, s.Disconnect(ctx, p.AccountID, in.Application)
			},
		},
	}
}
