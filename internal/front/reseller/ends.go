package reseller

import (
	"context"
	"net/http"

	"stead.dev/stead/internal/commerce/services"
	"stead.dev/stead/internal/platform/api"
	"stead.dev/stead/internal/platform/auth"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/page"
)

type endIn struct {
	serviceIn
	When string `query:"when" enum:"now,period_end" default:"period_end" doc:"period_end: with its paid time"`
}

type restoreIn struct {
	serviceIn
	IdempotencyKey string `header:"Idempotency-Key" maxLength:"257" doc:"Makes the request repeatable"`
}

type historyIn struct {
	serviceIn
	page.Params
}

// endOperations end services, restore them, and list their history (specification, section "Reseller").
func (s *Service) endOperations() []api.Route {
	return []api.Route{
		api.Operation[endIn, Resold]{
			ID: "reseller.services.end", Method: http.MethodDelete, Path: "/api/v1/reseller/services/{service}", Section: api.Reseller,
			Auth: api.Key, Status: http.StatusOK, Summary: "End a service, now or with its paid time",
			Description: "A final backup is made before its account is removed, and kept as long as the product says; nothing is given back for " +
				"time that is left. An end with the paid time is taken back by auto_renew: true, or by renewing; a service that is past due " +
				"ends now. What the operator suspended is the operator's to end.",
			Errors: []*fault.Def{fault.NotFound, fault.ServiceNotActive, fault.ServiceSuspended, services.ErrTerminated},
			Handle: func(ctx context.Context, p auth.Principal, in *endIn) (*Resold, error) {
				return s.changed(ctx, p, in.Service, func(ctx context.Context, tx *db.Tx) error {
					return s.Services.EndOwn(ctx, tx, p.AccountID, in.Service, in.When == "period_end")
				})
			},
		},
		api.Operation[restoreIn, Resold]{
			ID: "reseller.services.restore", Method: http.MethodPost, Path: "/api/v1/reseller/services/{service}/restore", Section: api.Reseller,
			Auth: api.Key, Summary: "Bring a service back that has ended",
			Description: "As long as its final backup is kept. Where its paid time is over, a period is paid at the price of its renewal: the " +
				"money is set aside, the period begins when the service stands, and it comes back when it cannot be made.",
			Errors: []*fault.Def{
				fault.NotFound, fault.InsufficientFunds, fault.Conflict, fault.ServiceNotActive, fault.ServiceSuspended, fault.DomainUnavailable, fault.DomainVerificationRequired,
				services.ErrRestoreWindow,
			},
			Commit: func(ctx context.Context, tx *db.Tx, p auth.Principal, in *restoreIn) (*Resold, error) {
				if err := s.Services.RestoreOwn(ctx, tx, p.AccountID, in.Service, in.IdempotencyKey != ""); err != nil {
					return nil, err
				}
				return s.resoldOne(ctx, tx, p.AccountID, in.Service)
			},
		},
		api.Operation[historyIn, page.List[Happening]]{
			ID: "reseller.services.events", Method: http.MethodGet, Path: "/api/v1/reseller/services/{service}/events", Section: api.Reseller,
			Description: "Each change of state with its reason, as far as it is kept. Jobs on the hosting machine are not in it.",
			Auth:        api.Key, Summary: "List what happened to a service, the newest first", Errors: []*fault.Def{fault.NotFound},
			Handle: func(ctx context.Context, p auth.Principal, in *historyIn) (*page.List[Happening], error) {
				return s.history(ctx, p.AccountID, in.Service, in.Params)
			},
		},
	}
}
