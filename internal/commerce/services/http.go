package services

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"time"

	"stead.dev/stead/internal/commerce/sale"
	"stead.dev/stead/internal/platform/api"
	"stead.dev/stead/internal/platform/auth"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/money"
	"stead.dev/stead/internal/platform/page"
)

// View is a service as the interface shows it.
type View = serviceWire

// serviceWire is the Service of the specification with the fields of resources,
// section 1.
type serviceWire struct {
	ID                   int64           `json:"id"`
	Label                string          `json:"label"`
	Type                 string          `json:"type" doc:"The product's type; more may be added" example:"hosting"`
	Status               Status          `json:"status" enum:"pending,provisioning,active,past_due,suspended,terminating,terminated,failed,cancelled"`
	Domain               *string         `json:"domain" doc:"Lower-case ASCII"`
	ClientRef            *string         `json:"client_ref" doc:"The reseller's own tag"`
	ExpiresAt            *time.Time      `json:"expires_at"`
	UnicodeDomain        *string         `json:"unicode_domain" doc:"The domain as people write it"`
	OrderID              int64           `json:"order_id"`
	Plan                 Plan            `json:"plan"`
	PeriodMonths         int             `json:"period_months"`
	AutoRenew            bool            `json:"auto_renew"`
	RenewPrice           money.Money     `json:"renew_price" doc:"What the next renewal costs: that of the plan in pending_change, where there is one. Before the tax that is added to prices"`
	RenewalCovered       bool            `json:"renewal_covered" doc:"The service renews by itself, and the wallet's balance covers that renewal, and its tax"`
	NextRenewalAttemptAt *time.Time      `json:"next_renewal_attempt_at"`
	FailureKey           *string         `json:"failure_key" doc:"Why the service could not be provisioned: an error key"`
	SuspendReason        *SuspendReason  `json:"suspend_reason" enum:"unpaid,abuse,manual,resource_limit"`
	SuspendedAt          *time.Time      `json:"suspended_at"`
	GraceUntil           *time.Time      `json:"grace_until"`
	TerminatesAt         *time.Time      `json:"terminates_at"`
	PendingChange        *planChangeWire `json:"pending_change"`
	Location             *string         `json:"location"`
	IPv4                 *string         `json:"ipv4"`
	IPv6                 *string         `json:"ipv6"`
	Nameservers          []string        `json:"nameservers"`
	OriginURL            *string         `json:"origin_url" doc:"Shows the site before DNS points there: by itself where the operator has a preview domain, and when the domain is sent as the Host"`
	PanelURL             *string         `json:"panel_url" doc:"Null: accounts have no panel of their own to sign in to"`
	AvailableActions     []string        `json:"available_actions" doc:"What can be done with the service in its present state"`
	MonitorID            *int64          `json:"monitor_id" doc:"The uptime monitor of the service; null when it has none"`
	Tags                 []string        `json:"tags"`
	CreatedAt            time.Time       `json:"created_at"`
	ProvisionedAt        *time.Time      `json:"provisioned_at"`
}

// Plan is the plan of a service as the interface shows it.
type Plan struct {
	ID   int64  `json:"id"`
	Name string `json:"name" doc:"As it was when the service was ordered, in the buyer's language"`
	Slug string `json:"slug"`
}

type planChangeWire struct {
	PlanID  int64      `json:"plan_id"`
	ApplyAt *time.Time `json:"apply_at"`
}

func wire(ctx context.Context, r Row, has sale.Funds) serviceWire {
	w := serviceWire{
		ID: r.ID, Label: r.label, Type: r.typ, Status: r.Status, Domain: r.Domain, ClientRef: r.ClientRef,
		ExpiresAt: r.ExpiresAt, UnicodeDomain: r.unicodeDomain(), OrderID: r.orderID,
		Plan:         Plan{ID: r.PlanID, Name: r.PlanName, Slug: r.PlanSlug},
		PeriodMonths: r.PeriodMonths, AutoRenew: r.autoRenew,
		RenewPrice: money.Wire(ctx, r.nextPrice()), RenewalCovered: (r.renewing() || r.starting()) && has.Covers(r.nextPrice()),
		NextRenewalAttemptAt: r.nextRenewalAttemptAt, FailureKey: r.failureKey, SuspendReason: r.suspendReason, SuspendedAt: r.suspendedAt,
		GraceUntil: r.graceUntil, TerminatesAt: r.terminatesAt,
		Location: db.OrNull(r.place.location), IPv4: db.OrNull(r.place.ipv4), IPv6: db.OrNull(r.place.ipv6),
		Nameservers: r.place.nameservers, OriginURL: db.OrNull(r.place.originURL),
		AvailableActions: r.actions(), Tags: []string{}, CreatedAt: r.createdAt, ProvisionedAt: r.ProvisionedAt,
	}
	if r.PendingPlanID != nil {
		w.PendingChange = &planChangeWire{PlanID: *r.PendingPlanID, ApplyAt: r.PendingPlanAt}
	}
	return w
}

// eventWire is the service in the data of its events.
type eventWire struct {
	ID            int64           `json:"id"`
	Label         string          `json:"label"`
	Type          string          `json:"type"`
	Status        Status          `json:"status"`
	Domain        *string         `json:"domain"`
	ClientRef     *string         `json:"client_ref"`
	ExpiresAt     *time.Time      `json:"expires_at"`
	OrderID       int64           `json:"order_id"`
	PlanID        int64           `json:"plan_id"`
	AutoRenew     bool            `json:"auto_renew"`
	FailureKey    *string         `json:"failure_key"`
	SuspendReason *SuspendReason  `json:"suspend_reason"`
	ProvisionedAt *time.Time      `json:"provisioned_at"`
	SuspendedAt   *time.Time      `json:"suspended_at"`
	GraceUntil    *time.Time      `json:"grace_until"`
	TerminatesAt  *time.Time      `json:"terminates_at"`
	PendingPlanID *int64          `json:"pending_plan_id"`
	Metadata      json.RawMessage `json:"metadata,omitempty"`
}

// maxEventMetadata bounds what is told of a reseller's metadata, in bytes: an event is small (resources, section 23), and a
// larger one would tell nothing but the id.
const maxEventMetadata = 8 << 10

// eventWith is a service with more to say.
type eventWith struct {
	eventWire
	more map[string]any
}

// MarshalJSON puts all into one object.
func (e eventWith) MarshalJSON() ([]byte, error) {
	data, err := json.Marshal(e.eventWire)
	if err != nil {
		return nil, err
	}
	all := map[string]any{}
	if err := json.Unmarshal(data, &all); err != nil {
		return nil, err
	}
	maps.Copy(all, e.more)
	return json.Marshal(all)
}

func eventOf(r Row) eventWire {
	w := eventWire{
		ID: r.ID, Label: r.label, Type: r.typ, Status: r.Status, Domain: r.Domain, ClientRef: r.ClientRef,
		ExpiresAt: r.ExpiresAt, OrderID: r.orderID, PlanID: r.PlanID, AutoRenew: r.autoRenew,
		FailureKey: r.failureKey, SuspendReason: r.suspendReason, ProvisionedAt: r.ProvisionedAt,
		SuspendedAt: r.suspendedAt, GraceUntil: r.graceUntil, TerminatesAt: r.terminatesAt, PendingPlanID: r.PendingPlanID,
	}
	if len(r.metadata) > 0 && len(r.metadata) <= maxEventMetadata {
		w.Metadata = json.RawMessage(r.metadata)
	}
	return w
}

type listIn struct {
	page.Params
	Status        string `query:"status" enum:"pending,provisioning,active,past_due,suspended,terminating,terminated,failed,cancelled" doc:"Only those in this state"`
	Type          string `query:"type" maxLength:"40" doc:"Only those of this type, such as hosting"`
	Query         string `query:"q" maxLength:"100" doc:"Part of the label or the domain"`
	ExpiresBefore string `query:"expires_before" format:"date-time" doc:"Only those whose paid time ends before"`
}

type serviceIn struct {
	Service int64 `path:"service" minimum:"1" doc:"Id of the service"`
}

type updateIn struct {
	serviceIn
	Body struct {
		Label     *string `json:"label,omitempty" minLength:"1" maxLength:"100"`
		AutoRenew *bool   `json:"auto_renew,omitempty"`
	}
}

// Operations are this section's part of the specification's sections "Services"
// and "Service management".
func (s *Service) Operations() []api.Route {
	return append(s.ownOperations(), s.serversOperation())
}

func (s *Service) ownOperations() []api.Route {
	return []api.Route{
		// Specification, "Services, add-ons, security".
		api.Operation[listIn, page.List[serviceWire]]{
			ID: "services.list", Method: http.MethodGet, Path: "/api/v1/services", Section: api.Services,
			Description: "Each service with its state, plan, paid time and main domain. Filter by `status`, `type` and others; services of" +
				" somebody else are never in the list.",
			Auth: api.Token, Scopes: []string{auth.ScopeServicesRead}, Summary: "List your services, the newest first",
			Handle: s.listOperation,
		},
		// Specification, "Services, add-ons, security".
		api.Operation[serviceIn, serviceWire]{
			ID: "services.get", Method: http.MethodGet, Path: "/api/v1/services/{service}", Section: api.ServiceManagement,
			Description: "The service with its plan, limits, paid time, next renewal, addresses of its servers and what can be done with " +
				"it now (`available_actions`).",
			Auth: api.Token, Scopes: []string{auth.ScopeServicesRead}, Summary: "Get a service",
			Errors: []*fault.Def{fault.NotFound},
			Handle: func(ctx context.Context, p auth.Principal, in *serviceIn) (*serviceWire, error) {
				return s.answer(ctx, p, in.Service)
			},
		},
		// Specification, section "Service management"; resources, section 1.
		api.Operation[updateIn, serviceWire]{
			ID: "services.update", Method: http.MethodPatch, Path: "/api/v1/services/{service}", Section: api.ServiceManagement,
			Description: "Members that are left out keep their values. `auto_renew: false` lets the service end with its paid time, after " +
				"grace; the label is for you alone.",
			Example: `{"label": "My site", "auto_renew": true}`,
			Auth:    api.Token, Scopes: []string{auth.ScopeServicesWrite}, Summary: "Rename a service, or switch its automatic renewal",
			Errors: []*fault.Def{fault.NotFound, fault.ServiceNotActive},
			Handle: func(ctx context.Context, p auth.Principal, in *updateIn) (*serviceWire, error) {
				if in.Body.AutoRenew != nil && p.ActingID != 0 {
					return nil, fault.OwnerRequired.Wrapf("services: staff choose whether service %d renews from the wallet", in.Service)
				}
				if err := s.Note(ctx, p.AccountID, in.Service, Notes{Label: in.Body.Label, AutoRenew: in.Body.AutoRenew}); err != nil {
					return nil, err
				}
				return s.answer(ctx, p, in.Service)
			},
		},
		api.Operation[restoreIn, serviceWire]{
			ID: "services.restore", Method: http.MethodPost, Path: "/api/v1/services/{service}/restore", Section: api.ServiceManagement,
			Auth: api.Token, Scopes: []string{auth.ScopeServicesWrite}, Summary: "Bring a service back that has ended",
			Description: "As long as its final backup is kept; `available_actions` then has `restore`. Where its paid time is over, a period is paid at " +
				"the price of its renewal: the money is set aside, the period begins when the service stands, and it comes back when it cannot be made. " +
				"A service that we ended for another reason than money is brought back by support.",
			Errors: []*fault.Def{
				fault.NotFound, fault.InsufficientFunds, fault.Conflict, fault.ServiceNotActive, fault.ServiceSuspended, fault.DomainUnavailable,
				fault.DomainVerificationRequired, ErrRestoreWindow,
			},
			Commit: s.restoreOperation,
		},
	}
}

func (s *Service) listOperation(ctx context.Context, p auth.Principal, in *listIn) (*page.List[serviceWire], error) {
	f := Filter{Status: in.Status, typ: in.Type, Query: in.Query}
	if in.ExpiresBefore != "" {
		t, err := time.Parse(time.RFC3339, in.ExpiresBefore)
		if err != nil {
			return nil, fault.Invalid("expires_before", "expected_date_time")
		}
		f.expiresBefore = &t
	}
	rows, total, has, err := s.list(ctx, p.AccountID, f, in.Params)
	if err != nil {
		return nil, err
	}
	wires, err := s.shown(ctx, rows, has)
	if err != nil {
		return nil, err
	}
	return page.Of(in.Params, total, wires), nil
}

// shown are services as their owner sees them.
func (s *Service) shown(ctx context.Context, rows []Row, has sale.Funds) ([]serviceWire, error) {
	kept, err := s.kept(ctx, s.DB, rows)
	if err != nil {
		return nil, err
	}
	wires, all := make([]serviceWire, len(rows)), make([]*serviceWire, len(rows))
	for i, r := range rows {
		wires[i] = wire(ctx, r, has)
		if r.canComeBack(slices.Contains(kept, r.ID)) {
			wires[i].AvailableActions = append(wires[i].AvailableActions, "restore")
		}
		all[i] = &wires[i]
	}
	return wires, s.watched(ctx, s.DB, all...)
}

func (s *Service) answer(ctx context.Context, p auth.Principal, id int64) (*serviceWire, error) {
	r, has, err := s.get(ctx, p.AccountID, id)
	if err != nil {
		return nil, err
	}
	w, err := s.shown(ctx, []Row{r}, has)
	if err != nil {
		return nil, err
	}
	return &w[0], nil
}

type restoreIn struct {
	serviceIn
	IdempotencyKey string `header:"Idempotency-Key" maxLength:"257" doc:"Makes the request repeatable"`
}

func (s *Service) restoreOperation(ctx context.Context, tx *db.Tx, p auth.Principal, in *restoreIn) (*serviceWire, error) {
	if err := s.RestoreOwn(ctx, tx, p.AccountID, in.Service, in.IdempotencyKey != ""); err != nil {
		return nil, err
	}
	w, err := s.ViewIn(ctx, tx, p.AccountID, in.Service)
	return &w, err
}
