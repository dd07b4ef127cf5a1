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

// preferencesWire are those of an account for all topics.
type preferencesWire struct {
	Data []preferenceWire `json:"data"`
}

type preferenceWire struct {
	Topic Topic    `json:"topic" doc:"More may be added" example:"renewals"`
	Title string   `json:"title" doc:"In the reader's language"`
	Text  string   `json:"text" doc:"What belongs to it, in the reader's language"`
	Kinds []string `json:"kinds" doc:"The kinds of notifications that belong to it"`
	Mail  bool     `json:"mail" doc:"Whether warnings and worse are mailed"`
	Push  bool     `json:"push" doc:"Whether they are put on the account's devices"`
	Fixed bool     `json:"fixed" doc:"It cannot be switched off"`
}

func wirePreferences(ctx context.Context, all []preference) *preferencesWire {
	lang := i18n.Lang(ctx)
	out := &preferencesWire{Data: make([]preferenceWire, len(all))}
	for i, p := range all {
		id := "notification.topic." + string(p.topic)
		out.Data[i] = preferenceWire{
			Topic: p.topic, Title: i18n.T(lang, id+".title", nil), Text: i18n.T(lang, id+".text", nil), Kinds: p.topic.kinds(),
			Mail: p.mail, Push: p.push, Fixed: p.topic == Essential,
		}
	}
	return out
}

type chooseIn struct {
	Body struct {
		Preferences []choice `json:"preferences" minItems:"1" maxItems:"20" doc:"Topics that are left out stay as they are"`
	}
}

type choice struct {
	Topic Topic `json:"topic" enum:"renewals,payments,domains,sites,monitors,advice,resale,news" doc:"essential cannot be changed"`
	Mail  bool  `json:"mail"`
	Push  bool  `json:"push"`
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
		api.Operation[api.Empty, preferencesWire]{
			ID: "notifications.preferences", Method: http.MethodGet, Path: "/api/v1/notifications/preferences", Section: api.Account,
			Description: "By topic: whether its notifications are mailed, and put on devices. The list in the panel has all of them. Mails on " +
				"the account's security, and what the topic `essential` has, always come.",
			Auth: api.Token, Scopes: scopes, FirstParty: true, Summary: "How you are told of what happens",
			Handle: func(ctx context.Context, p auth.Principal, _ *api.Empty) (*preferencesWire, error) {
				all, err := s.preferences(ctx, s.DB, p.AccountID)
				if err != nil {
					return nil, err
				}
				return wirePreferences(ctx, all), nil
			},
		},
		api.Operation[chooseIn, preferencesWire]{
			ID: "notifications.choose", OwnerOnly: true, Method: http.MethodPut, Path: "/api/v1/notifications/preferences", Section: api.Account,
			Description: "Changes the topics that are named. What is on its way already still comes, except by mail.",
			Example:     `{"preferences": [{"topic": "payments", "mail": false, "push": true}]}`,
			Auth:        api.Token, Scopes: scopes, FirstParty: true, Summary: "Choose how you are told of what happens",
			Handle: func(ctx context.Context, p auth.Principal, in *chooseIn) (*preferencesWire, error) {
				wanted := make([]preference, len(in.Body.Preferences))
				for i, c := range in.Body.Preferences {
					wanted[i] = preference{topic: c.Topic, mail: c.Mail, push: c.Push}
				}
				all, err := s.choose(ctx, p.AccountID, wanted)
				if err != nil {
					return nil, err
				}
				return wirePreferences(ctx, all), nil
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
