package announcements

import (
	"context"
	"net/http"
	"time"

	"stead.dev/stead/internal/platform/api"
	"stead.dev/stead/internal/platform/auth"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/i18n"
)

// shownWire is an announcement as a customer sees it.
type shownWire struct {
	ID       int64           `json:"id"`
	Title    i18n.Translated `json:"title"`
	Body     i18n.Translated `json:"body" doc:"Plain text"`
	Link     *string         `json:"link" doc:"Path of the page that it leads to, on this server"`
	Level    Level           `json:"level" enum:"info,warning"`
	StartsAt time.Time       `json:"starts_at"`
	EndsAt   *time.Time      `json:"ends_at" doc:"Null until it is withdrawn"`
}

type shownList struct {
	Data []shownWire `json:"data"`
}

type shownIn struct {
	Lang string `query:"lang" maxLength:"35" doc:"uz, ru or en: translated texts are then one string in this language, or in another where there is none, instead of an object keyed by language."`
}

type dismissIn struct {
	Announcement int64 `path:"announcement" minimum:"1" doc:"Its id"`
}

// operations are those of customers.
func (s *Service) operations() []api.Route {
	scopes := []string{auth.ScopeProfile}
	return []api.Route{
		api.Operation[shownIn, shownList]{
			ID: "announcements.list", Method: http.MethodGet, Path: "/api/v1/announcements", Section: api.Account, Auth: api.Token, Scopes: scopes,
			Summary: "What the company announces to you",
			Description: "What is shown now, is for you and was not dismissed, the newest first; at most 5. An announcement may be for " +
				"customers with a service on a certain machine or of a certain plan, or for resellers.",
			Handle: func(ctx context.Context, p auth.Principal, _ *shownIn) (*shownList, error) {
				all, err := s.Shown(ctx, p.AccountID)
				if err != nil {
					return nil, err
				}
				out := &shownList{Data: make([]shownWire, len(all))}
				for i, a := range all {
					out.Data[i] = shownWire{
						ID: a.ID, Title: a.Title.Wire(ctx), Body: a.Body.Wire(ctx), Link: db.OrNull(a.Link), Level: a.Level, StartsAt: *a.StartsAt,
						EndsAt: a.EndsAt,
					}
				}
				return out, nil
			},
		},
		api.Operation[dismissIn, api.Empty]{
			ID: "announcements.dismiss", OwnerOnly: true, Method: http.MethodPost, Path: "/api/v1/announcements/{announcement}/dismiss",
			Section: api.Account, Auth: api.Token, Scopes: scopes, Summary: "Dismiss an announcement",
			Description: "It is not listed again, on none of your devices. Dismissing it twice is no error.",
			Handle: func(ctx context.Context, p auth.Principal, in *dismissIn) (*api.Empty, error) {
				return nil, s.Dismiss(ctx, p.AccountID, in.Announcement)
			},
		},
	}
}
