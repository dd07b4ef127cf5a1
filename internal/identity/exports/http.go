package exports

import (
	"context"
	"fmt"
	"mime"
	"net/http"
	"strconv"
	"time"

	"stead.dev/stead/internal/platform/api"
	"stead.dev/stead/internal/platform/auth"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/i18n"
)

type exportWire struct {
	Status      Status     `json:"status" enum:"none,pending,ready,failed" doc:"none: you have not asked for one, or it has expired"`
	Progress    int        `json:"progress" doc:"Percent" example:"40"`
	SizeBytes   *int64     `json:"size_bytes" doc:"Null until it is ready"`
	RequestedAt *time.Time `json:"requested_at"`
	ReadyAt     *time.Time `json:"ready_at"`
	ExpiresAt   *time.Time `json:"expires_at" doc:"When it is removed; null until it is ready"`
}

func wire(a Archive) *exportWire {
	w := &exportWire{Status: a.Status, Progress: a.Percent()}
	if a.Status != None {
		w.RequestedAt = &a.RequestedAt
	}
	if a.Status == Ready {
		w.SizeBytes, w.ReadyAt, w.ExpiresAt = &a.Size, a.ReadyAt, &a.ExpiresAt
	}
	return w
}

// Operations are for the panel: the specification does not have them.
func (s *Service) Operations() []api.Route {
	const path = "/api/v1/me/export"
	scopes := []string{auth.ScopeProfile}
	return []api.Route{
		api.Operation[struct{}, exportWire]{
			ID: "account.export", Method: http.MethodGet, Path: path, Section: api.Account, Auth: api.Token, Scopes: scopes, FirstParty: true,
			Summary:     "The archive of your data",
			Description: "Whether an archive of everything that is kept about the account is being made, or can be downloaded and until when.",
			Handle: func(ctx context.Context, p auth.Principal, _ *struct{}) (*exportWire, error) {
				a, err := s.Of(ctx, p.AccountID)
				return wire(a), err
			},
		},
		api.Operation[struct{}, exportWire]{
			ID: "account.export.request", Method: http.MethodPost, Path: path, Section: api.Account, Auth: api.Token, Scopes: scopes, Recent: true,
			Status: http.StatusCreated, Summary: "Ask for an archive of your data",
			Description: "A ZIP with a JSON file for each kind of thing: profile, security log, orders, invoices, wallet, services and what they " +
				"consist of, domains, tickets with attachments, monitors and the rest, without passwords and other secrets. It takes up to some " +
				"minutes; a mail says when it is ready. An archive that is there is replaced. One at a time.",
			Errors: []*fault.Def{fault.JobRunning, fault.RateLimited},
			Handle: func(ctx context.Context, p auth.Principal, _ *struct{}) (*exportWire, error) {
				a, err := s.Request(ctx, p.AccountID)
				return wire(a), err
			},
		},
		api.Operation[struct{}, api.Empty]{
			ID: "account.export.delete", Method: http.MethodDelete, Path: path, Section: api.Account, Auth: api.Token, Scopes: scopes, Session: true,
			Summary: "Delete the archive of your data", Description: "Before it expires by itself. One that is being made is given up.",
			Handle: func(ctx context.Context, p auth.Principal, _ *struct{}) (*api.Empty, error) {
				return nil, s.Remove(ctx, p.AccountID)
			},
		},
		api.Operation[struct{}, api.Empty]{
			ID: "account.export.download", Method: http.MethodGet, Path: path + "/archive", Section: api.Account, Auth: api.Token, Scopes: scopes, Recent: true,
			Summary: "Download the archive of your data", Description: "For seven days after it was made, as often as you like.",
			ContentTypes: []string{"application/zip"},
			Stream: func(ctx context.Context, p auth.Principal, _ *struct{}, w http.ResponseWriter, _ *http.Request) error {
				a, err := s.Open(ctx, p.AccountID)
				if err != nil {
					return err
				}
				h := w.Header()
				h.Set("Content-Type", "application/zip")
				h.Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{
					"filename": fmt.Sprintf("account-%d-%s.zip", a.AccountID, a.RequestedAt.UTC().Format(time.DateOnly)),
				}))
				h.Set("Content-Length", strconv.FormatInt(a.Size, 10))
				h.Set("Content-Language", i18n.Lang(ctx))
				return s.WriteTo(ctx, w, a)
			},
		},
	}
}
