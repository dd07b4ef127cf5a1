package notifications

import (
	"context"
	"net/http"
	"time"

	"stead.dev/stead/internal/platform/api"
	"stead.dev/stead/internal/platform/auth"
	"stead.dev/stead/internal/platform/i18n"
	"stead.dev/stead/internal/platform/page"
)

// notificationWire is a notification (resources, section 11).
type notificationWire struct {
	ID        int64       `json:"id"`
	Kind      string      `json:"kind" doc:"More may be added" example:"ssl_failed"`
	Severity  Severity    `json:"severity" enum:"info,warning,critical"`
	Title     string      `json:"title" doc:"In the reader's language"`
	Body      string      `json:"body"`
	Link      *string     `json:"link" doc:"Path of what it is about, on this server"`
	Subject   subjectWire `json:"subject"`
	ReadAt    *time.Time  `json:"read_at"`
	CreatedAt time.Time   `json:"created_at"`
}

type subjectWire struct {
	Type string `json:"type"`
	ID   int64  `json:"id"`
}

func wire(ctx context.Context, n notification) notificationWire {
	lang := i18n.Lang(ctx)
	w := notificationWire{
		ID: n.id, Kind: n.kind, Severity: n.severity, Title: n.title(lang), Body: n.body(lang),
		Subject: subjectWire{Type: n.subject, ID: n.subjectID}, ReadAt: n.readAt, CreatedAt: n.createdAt,
	}
	if link := n.link(); link != "" {
		w.Link = &link
	}
	return w
}

type listIn struct {
	page.Params
	Unread bool `query:"unread" doc:"True lists those that are not read"`
}

// listWire is the envelope with the number of unread ones on all pages.
type listWire struct {
	Data []notificationWire `json:"data"`
	Meta metaWire           `json:"meta"`
}

type metaWire struct {
	page.Meta
	Unread int `json:"unread" doc:"Notifications that are not read, on all pages"`
}

type readIn struct {
	Body struct {
		IDs []int64 `json:"ids,omitempty" doc:"At most 100; those of others are passed over"`
		All bool    `json:"all,omitempty" doc:"True marks all; it takes the place of ids"`
	}
}

type readWire struct {
	Marked int64 `json:"marked" doc:"How many were unread until now"`
}

// Operations are this section's part of the specification's section "Account".
func (s *Service) Operations() []api.Route {
	scopes := []string{auth.ScopeProfile}
	return []api.Route{
		// Specification, "Account"; resources, section 11.
		api.Operation[listIn, listWire]{
			ID: "notifications.list", Method: http.MethodGet, Path: "/api/v1/notifications", Section: api.Account,
			Description: "What happened to your account and services, in your language. `meta.unread` is how many you have not read, on " +
				"all pages.",
			Auth: api.Token, Scopes: scopes, Summary: "List your notifications, the newest first",
			Handle: s.listOperation,
		},
		// Specification, "Account"; resources, section 11.
		api.Operation[readIn, readWire]{
			ID: "notifications.read", Method: http.MethodPost, Path: "/api/v1/notifications/read", Section: api.Account,
			Description: "Marks those with the `ids`, at most 100, or with `all` every one. Those of others are passed over.",
			Example:     `{"ids": [1]}`,
			Auth:        api.Token, Scopes: scopes, Summary: "Mark notifications as read",
			Handle: func(ctx context.Context, p auth.Principal, in *readIn) (*readWire, error) {
				marked, err := s.markRead(ctx, p.AccountID, in.Body.IDs, in.Body.All)
				if err != nil {
					return nil, err
				}
				return &readWire{marked}, nil
			},
		},
	}
}

func (s *Service) listOperation(ctx context.Context, p auth.Principal, in *listIn) (*listWire, error) {
	rows, total, unread, err := s.list(ctx, p.AccountID, in.Unread, in.Params)
	if err != nil {
		return nil, err
	}
	out := &listWire{Data: make([]notificationWire, len(rows)), Meta: metaWire{page.MetaOf(in.Params, total), unread}}
	for i, n := range rows {
		out.Data[i] = wire(ctx, n)
	}
	return out, nil
}
