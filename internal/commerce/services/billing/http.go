package billing

import (
	"context"
	"net/http"
	"time"

	"stead.dev/stead/internal/commerce/services"
	"stead.dev/stead/internal/platform/api"
	"stead.dev/stead/internal/platform/auth"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/money"
	"stead.dev/stead/internal/platform/page"
)

type serviceIn struct {
	Service int64 `path:"service" minimum:"1" doc:"Id of the service"`
}

type renewIn struct {
	serviceIn
	IdempotencyKey string `header:"Idempotency-Key" maxLength:"257" doc:"Makes the request repeatable"`
	Body           struct {
		PeriodMonths     *int            `json:"period_months,omitempty" minimum:"1" maximum:"120" doc:"The service's own period when it is left out"`
		ExpectedUSDCents *money.USDCents `json:"expected_usd_cents,omitempty" minimum:"0" doc:"The price that was shown; another price is price_changed"`
		DryRun           bool            `json:"dry_run,omitempty" doc:"Answers the price, and changes nothing"`
	}
}

// renewalWire is a renewal: what it costs, and until when the service is paid by it.
type renewalWire struct {
	DryRun       bool          `json:"dry_run"`
	OrderID      *int64        `json:"order_id" doc:"Null in a dry run"`
	PlanID       int64         `json:"plan_id" doc:"Of the time that is bought; another than the service's when a change waits for the renewal"`
	PeriodMonths int           `json:"period_months"`
	Total        money.Money   `json:"total"`
	StartsAt     time.Time     `json:"starts_at"`
	ExpiresAt    time.Time     `json:"expires_at" doc:"Of the service, when it is renewed"`
	Service      services.View `json:"service"`
}

type tariffsIn struct {
	serviceIn
	page.Params
}

// tariffWire is a plan that a service may move to.
type tariffWire struct {
	Plan         services.Plan `json:"plan"`
	PeriodMonths int           `json:"period_months"`
	RenewPrice   money.Money   `json:"renew_price"`
	Available    bool          `json:"available"`
	Charge       money.Money   `json:"charge" doc:"What the move costs now: the new plan for the time that is left, less what was paid for it"`
	Credit       money.Money   `json:"credit" doc:"What comes back to the wallet by the move"`
	Exceeded     []exceeded    `json:"exceeded" doc:"Limits of the plan that the service is beyond; it cannot move there until none is"`
}

type tariffIn struct {
	serviceIn
	IdempotencyKey string `header:"Idempotency-Key" maxLength:"257" doc:"Makes the request repeatable"`
	Body           struct {
		PlanID           int64           `json:"plan_id" minimum:"1" doc:"The service's own plan takes back a change that waits for the renewal"`
		When             string          `json:"when,omitempty" enum:"now,renewal" default:"now"`
		ExpectedUSDCents *money.USDCents `json:"expected_usd_cents,omitempty" minimum:"0" doc:"The charge that was shown; another one is price_changed"`
		DryRun           bool            `json:"dry_run,omitempty" doc:"Answers the charge, and changes nothing"`
	}
}

type tariffChangeWire struct {
	DryRun  bool          `json:"dry_run"`
	OrderID *int64        `json:"order_id" doc:"Null where nothing was sold"`
	When    string        `json:"when" enum:"now,renewal"`
	Tariff  tariffWire    `json:"tariff"`
	Service services.View `json:"service"`
}

func tariffOf(ctx context.Context, t tariffQuote) tariffWire {
	w := tariffWire{
		Plan:         services.Plan{ID: t.offer.PlanID, Name: t.offer.PlanName, Slug: t.offer.PlanSlug},
		PeriodMonths: t.offer.PeriodMonths, RenewPrice: money.Wire(ctx, t.offer.Price), Available: t.offer.Available,
		Charge: money.Wire(ctx, t.toPay), Credit: money.Wire(ctx, t.toGive), Exceeded: t.exceeded,
	}
	if w.Exceeded == nil {
		w.Exceeded = []exceeded{}
	}
	return w
}

// Operations are renewing and changing the plan (specification, section "Service
// management"; resources, section 1).
func (s *Service) Operations() []api.Route {
	write := []string{auth.ScopeServicesWrite}
	return []api.Route{
		api.Operation[renewIn, renewalWire]{
			ID: "services.renew", Method: http.MethodPost, Path: "/api/v1/services/{service}/renew", Section: api.ServiceManagement,
			Example: `{"period_months": 12, "dry_run": true}`,
			Auth:    api.Token, Scopes: write, Summary: "Renew a service from the wallet",
			Description: "The bought time begins where the paid time ends. A service that is suspended because it was not paid " +
				"comes back.",
			Errors: []*fault.Def{
				fault.NotFound, fault.InsufficientFunds, fault.Conflict, fault.ServiceSuspended, services.ErrRenewalNotAllowed, ErrPriceChanged,
			},
			Commit: s.renewOperation,
		},
		api.Operation[tariffsIn, page.List[tariffWire]]{
			ID: "services.tariffs", Method: http.MethodGet, Path: "/api/v1/services/{service}/tariffs", Section: api.ServiceManagement,
			Auth: api.Token, Scopes: []string{auth.ScopeServicesRead}, Summary: "List the plans that a service may move to",
			Description: "Each with what the move costs or gives back now, and the limits that the service is beyond.",
			Errors:      []*fault.Def{fault.NotFound, fault.PanelUnreachable, fault.PanelBusy},
			Handle:      s.tariffsOperation,
		},
		api.Operation[tariffIn, tariffChangeWire]{
			ID: "services.tariff", Method: http.MethodPost, Path: "/api/v1/services/{service}/tariff", Section: api.ServiceManagement,
			Example: `{"plan_id": 2, "when": "renewal"}`,
			Auth:    api.Token, Scopes: write, Summary: "Move a service to another plan",
			Description: "Now: the time that is left is charged at the new plan's price less what was paid for it, to the " +
				"microsecond of the period's real length; what was paid too much comes back to the wallet. With the renewal: nothing " +
				"is charged until then.",
			Errors: []*fault.Def{
				fault.NotFound, fault.InsufficientFunds, fault.Conflict, fault.ServiceSuspended, fault.ServiceNotActive,
				ErrTariffNotAllowed, ErrDowngradeExceeds, ErrPriceChanged, fault.OutOfStock,
			},
			Commit: s.tariffOperation,
		},
	}
}

func (s *Service) renewOperation(ctx context.Context, tx *db.Tx, p auth.Principal, in *renewIn) (*renewalWire, error) {
	w := renewalWish{seen: in.Body.ExpectedUSDCents, keyed: in.IdempotencyKey != ""}
	if in.Body.PeriodMonths != nil {
		w.months = *in.Body.PeriodMonths
	}
	var (
		quote   renewal
		orderID int64
		err     error
	)
	if in.Body.DryRun {
		quote, err = s.tryRenewal(ctx, tx, p.AccountID, in.Service, w)
	} else {
		quote, orderID, err = s.renew(ctx, tx, p.AccountID, in.Service, w)
	}
	if err != nil {
		return nil, err
	}
	now, err := s.Services.ViewIn(ctx, tx, p.AccountID, in.Service)
	return &renewalWire{
		DryRun: in.Body.DryRun, OrderID: idOrNull(orderID), PlanID: quote.planID, PeriodMonths: quote.months,
		Total: money.Wire(ctx, quote.total), StartsAt: quote.from, ExpiresAt: quote.until, Service: now,
	}, err
}

// tryRenewal answers what renew would, and changes nothing.
func (s *Service) tryRenewal(ctx context.Context, q db.Querier, accountID, id int64, w renewalWish) (renewal, error) {
	r, err := s.Services.Find(ctx, q, accountID, id)
	if err != nil {
		return renewal{}, err
	}
	now, err := s.Services.TimeOf(ctx, q, r)
	if err != nil {
		return renewal{}, err
	}
	quote, err := s.quoteRenewal(ctx, q, r, w.months, now)
	if err == nil {
		err = expected(ctx, w.seen, quote.total)
	}
	return quote, err
}

func (s *Service) tariffsOperation(ctx context.Context, p auth.Principal, in *tariffsIn) (*page.List[tariffWire], error) {
	_, quotes, err := s.tariffs(ctx, p.AccountID, in.Service)
	if err != nil {
		return nil, err
	}
	wires := make([]tariffWire, len(quotes))
	for i, t := range quotes {
		wires[i] = tariffOf(ctx, t)
	}
	first := min(in.Offset(), len(wires))
	return page.Of(in.Params, len(wires), wires[first:min(first+in.Limit(), len(wires))]), nil
}

func (s *Service) tariffOperation(ctx context.Context, tx *db.Tx, p auth.Principal, in *tariffIn) (*tariffChangeWire, error) {
	w := tariffWish{
		planID: in.Body.PlanID, atRenewal: in.Body.When == "renewal", seen: in.Body.ExpectedUSDCents, keyed: in.IdempotencyKey != "",
	}
	when := "now"
	if w.atRenewal {
		when = "renewal"
	}
	var (
		t       tariffQuote
		orderID int64
		err     error
	)
	if in.Body.DryRun {
		t, err = s.tryTariff(ctx, tx, p.AccountID, in.Service, w)
	} else {
		t, orderID, err = s.changeTariff(ctx, tx, p.AccountID, in.Service, w)
	}
	if err != nil {
		return nil, err
	}
	now, err := s.Services.ViewIn(ctx, tx, p.AccountID, in.Service)
	return &tariffChangeWire{DryRun: in.Body.DryRun, OrderID: idOrNull(orderID), When: when, Tariff: tariffOf(ctx, t), Service: now}, err
}

// tryTariff answers what changeTariff would, and changes nothing.
func (s *Service) tryTariff(ctx context.Context, q db.Querier, accountID, id int64, w tariffWish) (tariffQuote, error) {
	r, err := s.Services.Find(ctx, q, accountID, id)
	if err != nil {
		return tariffQuote{}, err
	}
	now, err := s.Services.TimeOf(ctx, q, r)
	if err != nil {
		return tariffQuote{}, err
	}
	return s.quoteChange(ctx, q, r, w, now)
}

func idOrNull(id int64) *int64 {
	if id == 0 {
		return nil
	}
	return &id
}
