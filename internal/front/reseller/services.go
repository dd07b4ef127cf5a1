package reseller

import (
	"context"
	"net/http"
	"time"

	"stead.dev/stead/internal/commerce/orders"
	"stead.dev/stead/internal/commerce/services"
	"stead.dev/stead/internal/platform/api"
	"stead.dev/stead/internal/platform/auth"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/money"
	"stead.dev/stead/internal/platform/page"
)

type listIn struct {
	page.Params
	ClientRef    string `query:"client_ref" maxLength:"256" doc:"Only those with exactly this tag"`
	Status       string `query:"status" enum:"pending,provisioning,active,past_due,suspended,terminating,terminated,failed,cancelled" doc:"Only those in this state"`
	PlanID       int64  `query:"plan_id" minimum:"1" doc:"Only those with this plan"`
	RenewsBefore string `query:"renews_before" format:"date-time" doc:"Only those that have not ended and whose paid time ends before, also those that do not renew by themselves"`
	Query        string `query:"q" maxLength:"100" doc:"Part of the label or the domain"`
}

type serviceIn struct {
	Service int64 `path:"service" minimum:"1" doc:"Id of the service"`
}

type createIn struct {
	IdempotencyKey string `header:"Idempotency-Key" maxLength:"257" doc:"Makes the request repeatable"`
	Body           struct {
		PlanID       int64             `json:"plan_id" minimum:"1"`
		Domain       string            `json:"domain" minLength:"1" doc:"The domain to host, or a subdomain; international names in either form" example:"example.com"`
		PeriodMonths *int              `json:"period_months,omitempty" minimum:"1" maximum:"120" doc:"One of the plan's periods; the shortest when left out"`
		ClientRef    *string           `json:"client_ref,omitempty" doc:"Your own tag, at most 64 characters; no data of the client"`
		Label        string            `json:"label,omitempty" maxLength:"100" doc:"Your name for the service; the domain when left out"`
		AutoRenew    *bool             `json:"auto_renew,omitempty" doc:"What your settings say when left out"`
		Metadata     map[string]string `json:"metadata,omitempty" doc:"At most 20 members; names of 1 to 40 characters, values of at most 500"`
	}
}

type noteIn struct {
	serviceIn
	Body struct {
		Label     *string           `json:"label,omitempty" minLength:"1" maxLength:"100"`
		ClientRef *string           `json:"client_ref,omitempty" doc:"At most 64 characters; empty takes it away"`
		AutoRenew *bool             `json:"auto_renew,omitempty"`
		Metadata  map[string]string `json:"metadata,omitempty" doc:"All of it: at most 20 members; names of 1 to 40 characters, values of at most 500"`
	}
}

type suspendIn struct {
	serviceIn
	Body struct {
		Reason string `json:"reason,omitempty" maxLength:"300" doc:"For your own records"`
	}
}

type renewalsIn struct {
	page.Params
	Days int `query:"days" minimum:"1" maximum:"366" default:"30" doc:"How far ahead"`
}

// renewalWire is an upcoming renewal.
type renewalWire struct {
	ServiceID    int64       `json:"service_id"`
	Label        string      `json:"label"`
	Domain       *string     `json:"domain"`
	ClientRef    *string     `json:"client_ref"`
	ExpiresAt    time.Time   `json:"expires_at"`
	AttemptAt    *time.Time  `json:"next_renewal_attempt_at"`
	Cost         money.Money `json:"cost"`
	Covered      bool        `json:"covered" doc:"The wallet pays for it and for all that are due before"`
	RunningTotal money.Money `json:"running_total" doc:"Its cost and those of all that are due before"`
}

// serviceOperations are the operations of a reseller's services that customers do not have (specification, section
// "Reseller"; resources, section 23).
func (s *Service) serviceOperations() []api.Route {
	return []api.Route{
		api.Operation[listIn, page.List[Resold]]{
			ID: "reseller.services.list", Method: http.MethodGet, Path: "/api/v1/reseller/services", Section: api.Reseller, Auth: api.Key,
			Description: "Your services with their client tags and metadata. Filters can be combined; `renews_before` finds what is paid " +
				"until an earlier time.",
			Summary: "List your services, the newest first", Handle: s.listOperation,
		},
		api.Operation[createIn, Resold]{
			ID: "reseller.services.create", Method: http.MethodPost, Path: "/api/v1/reseller/services", Section: api.Reseller, Auth: api.Key,
			Example: `{"plan_id": 1, "domain": "shop.example.com", "client_ref": "client-42"}`,
			Status:  http.StatusCreated, Summary: "Order a service and pay it from the wallet",
			Description: "All of it or nothing: the order, its payment and the beginning of the work are one. If the service cannot " +
				"be made, the money comes back.",
			Errors: []*fault.Def{
				fault.InsufficientFunds, orders.ErrPlanUnavailable, orders.ErrOutOfStock, fault.DomainInvalid, fault.DomainUnavailable, fault.DomainVerificationRequired,
				services.ErrClientRefTooLong,
			},
			Commit: s.createOperation,
		},
		api.Operation[serviceIn, Resold]{
			ID: "reseller.services.get", Method: http.MethodGet, Path: "/api/v1/reseller/services/{service}", Section: api.Reseller,
			Description: "The service with its client tag, metadata, paid time, next renewal and what can be done with it now " +
				"(`available_actions`).",
			Auth: api.Key, Summary: "Get a service", Errors: []*fault.Def{fault.NotFound},
			Handle: func(ctx context.Context, p auth.Principal, in *serviceIn) (*Resold, error) {
				return s.resoldOne(ctx, s.DB, p.AccountID, in.Service)
			},
		},
		api.Operation[noteIn, Resold]{
			ID: "reseller.services.update", Method: http.MethodPatch, Path: "/api/v1/reseller/services/{service}", Section: api.Reseller,
			Description: "Members that are left out keep their values; `metadata` is replaced as a whole. `auto_renew: true` also cancels " +
				"an end that you have ordered with the paid time.",
			Example: `{"label": "Shop of Anna", "metadata": {"contract": "2026-17"}}`,
			Auth:    api.Key, Summary: "Change a service's label, tag, metadata or automatic renewal",
			Errors: []*fault.Def{fault.NotFound, fault.ServiceNotActive, services.ErrClientRefTooLong},
			Handle: func(ctx context.Context, p auth.Principal, in *noteIn) (*Resold, error) {
				b := in.Body
				n := services.Notes{Label: b.Label, AutoRenew: b.AutoRenew, ClientRef: b.ClientRef, Metadata: b.Metadata}
				if err := s.Services.Note(ctx, p.AccountID, in.Service, n); err != nil {
					return nil, err
				}
				return s.resoldOne(ctx, s.DB, p.AccountID, in.Service)
			},
		},
		api.Operation[suspendIn, Resold]{
			ID: "reseller.services.suspend", Method: http.MethodPost, Path: "/api/v1/reseller/services/{service}/suspend",
			Description: "The site, mail and FTP stop within seconds; data stays, and paid time runs on. A suspended service is not " +
				"renewed: when its paid time is over it gets `terminates_at`. Lift it with `unsuspend`.",
			Example: `{"reason": "the client asked for it"}`,
			Section: api.Reseller, Auth: api.Key, Summary: "Take an active service offline",
			Errors: []*fault.Def{fault.NotFound, fault.ServiceNotActive, services.ErrAlreadySuspended},
			Handle: func(ctx context.Context, p auth.Principal, in *suspendIn) (*Resold, error) {
				return s.changed(ctx, p, in.Service, func(ctx context.Context, tx *db.Tx) error {
					return s.Services.SuspendOwn(ctx, tx, p.AccountID, in.Service, in.Body.Reason)
				})
			},
		},
		api.Operation[serviceIn, Resold]{
			ID: "reseller.services.unsuspend", Method: http.MethodPost, Path: "/api/v1/reseller/services/{service}/unsuspend",
			Section: api.Reseller, Auth: api.Key, Summary: "Bring back a service that you suspended",
			Description: "What the operator suspended, or what is not paid, answers service_suspended.",
			Errors:      []*fault.Def{fault.NotFound, fault.ServiceSuspended, services.ErrNotSuspended},
			Handle: func(ctx context.Context, p auth.Principal, in *serviceIn) (*Resold, error) {
				return s.changed(ctx, p, in.Service, func(ctx context.Context, tx *db.Tx) error {
					return s.Services.UnsuspendOwn(ctx, tx, p.AccountID, in.Service)
				})
			},
		},
		api.Operation[renewalsIn, page.List[renewalWire]]{
			ID: "reseller.renewals", Method: http.MethodGet, Path: "/api/v1/reseller/renewals", Section: api.Reseller, Auth: api.Key,
			Description: "The automatic renewals in the next `days`, by due date, each with its cost and the running total. `covered` says" +
				" whether the wallet pays for it after all that are due before.",
			Summary: "List the automatic renewals that are due soon, the first one first", Handle: s.renewalsOperation,
		},
	}
}

func (s *Service) listOperation(ctx context.Context, p auth.Principal, in *listIn) (*page.List[Resold], error) {
	f := services.Filter{Status: in.Status, Query: in.Query, PlanID: in.PlanID}
	if in.ClientRef != "" {
		f.ClientRef = &in.ClientRef
	}
	if in.RenewsBefore != "" {
		t, err := time.Parse(time.RFC3339, in.RenewsBefore)
		if err != nil {
			return nil, fault.Invalid("renews_before", "expected_date_time")
		}
		f.RenewsBefore = &t
	}
	return s.resoldList(ctx, p.AccountID, f, in.Params)
}

func (s *Service) createOperation(ctx context.Context, tx *db.Tx, p auth.Principal, in *createIn) (*Resold, error) {
	buy := orders.Provision{
		AccountID: p.AccountID, PlanID: in.Body.PlanID, Domain: in.Body.Domain, Label: in.Body.Label, Keyed: in.IdempotencyKey != "",
		Metadata: in.Body.Metadata, AutoRenew: in.Body.AutoRenew,
	}
	if in.Body.PeriodMonths != nil {
		buy.PeriodMonths = *in.Body.PeriodMonths
	}
	if c := in.Body.ClientRef; c != nil && *c != "" {
		buy.ClientRef = c
	}
	if buy.AutoRenew == nil {
		chosen, err := s.settingsOf(ctx, tx, p.AccountID)
		if err != nil {
			return nil, err
		}
		buy.AutoRenew = &chosen.autoRenew
	}
	id, err := s.Orders.Buy(ctx, tx, buy)
	if err != nil {
		return nil, err
	}
	return s.resoldOne(ctx, tx, p.AccountID, id)
}

// changed calls f and returns the service afterwards.
func (s *Service) changed(ctx context.Context, p auth.Principal, id int64, f func(ctx context.Context, tx *db.Tx) error) (*Resold, error) {
	if err := s.DB.InTx(ctx, f); err != nil {
		return nil, err
	}
	return s.resoldOne(ctx, s.DB, p.AccountID, id)
}

func (s *Service) renewalsOperation(ctx context.Context, p auth.Principal, in *renewalsIn) (*page.List[renewalWire], error) {
	now, err := s.Services.Now(ctx, s.DB, p.AccountID)
	if err != nil {
		return nil, err
	}
	return s.renewals(ctx, p.AccountID, now.AddDate(0, 0, in.Days), in.Params)
}
