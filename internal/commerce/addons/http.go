package addons

import (
	"context"
	"net/http"
	"time"

	"stead.dev/stead/internal/commerce/sale"
	"stead.dev/stead/internal/platform/api"
	"stead.dev/stead/internal/platform/auth"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/i18n"
	"stead.dev/stead/internal/platform/money"
	"stead.dev/stead/internal/platform/page"
)

// addonWire is the add-on of resources, section 9.
type addonWire struct {
	ID           int64       `json:"id"`
	ServiceID    int64       `json:"service_id"`
	OrderID      int64       `json:"order_id"`
	Key          string      `json:"key" example:"extra_disk"`
	Name         string      `json:"name" doc:"As it was when it was bought, in the buyer's language"`
	Quantity     int         `json:"quantity"`
	UnitPrice    money.Money `json:"unit_price" doc:"Of one, each period"`
	Price        money.Money `json:"price" doc:"Of all of them, each period"`
	PeriodMonths int         `json:"period_months" doc:"The service's"`
	Status       Status      `json:"status" enum:"pending,active,suspended,cancelling,cancelled,failed" doc:"pending: an operator is to make it; cancelling: until ends_at; suspended: its service is"`
	Value        *string     `json:"value" doc:"What was made, such as an address"`
	AutoRenew    bool        `json:"auto_renew" doc:"It is renewed with its service"`
	RenewsAt     *time.Time  `json:"renews_at" doc:"Until when it is paid for; null when it is not renewed"`
	EndsAt       *time.Time  `json:"ends_at" doc:"Until when one is there that was cancelled; null for others"`
	FailureKey   *string     `json:"failure_key" doc:"Why it could not be made: an error key"`
	CreatedAt    time.Time   `json:"created_at"`
	ActivatedAt  *time.Time  `json:"activated_at"`
	CancelledAt  *time.Time  `json:"cancelled_at"`
}

func wire(ctx context.Context, a addon, serviceStatus string) (*addonWire, error) {
	price, err := a.price()
	if err != nil {
		return nil, err
	}
	w := &addonWire{
		ID: a.id, ServiceID: a.serviceID, OrderID: a.orderID, Key: a.key, Name: a.name, Quantity: a.quantity,
		UnitPrice: money.Wire(ctx, a.unitPrice), Price: money.Wire(ctx, price), PeriodMonths: a.periodMonths,
		Status: a.shown(serviceStatus), AutoRenew: a.status == Active || a.status == Pending, FailureKey: a.failureKey,
		CreatedAt: a.createdAt, ActivatedAt: a.activatedAt, CancelledAt: a.cancelledAt,
	}
	if a.value != "" {
		w.Value = &a.value
	}
	switch {
	case w.AutoRenew:
		w.RenewsAt = &a.paidUntil
	case a.status == Cancelling:
		w.EndsAt = &a.paidUntil
	}
	return w, nil
}

// eventOf is the add-on in the data of its events. Amounts are shown in USD, whoever caused the event, so that all receivers
// get the same.
func eventOf(ctx context.Context, a addon) (*addonWire, error) {
	return wire(money.WithCurrency(ctx, money.USD), a, "")
}

// answer encodes an add-on for the caller of ctx, or passes the refusal on.
func answer(ctx context.Context) func(addon, sale.Contract, error) (*addonWire, error) {
	return func(a addon, c sale.Contract, err error) (*addonWire, error) {
		if err != nil {
			return nil, err
		}
		return wire(ctx, a, c.Status)
	}
}

// productWire is an add-on for sale.
type productWire struct {
	Key         string           `json:"key" example:"extra_disk"`
	Name        i18n.Translated  `json:"name"`
	Description i18n.Translated  `json:"description"`
	Prices      []priceWire      `json:"prices" doc:"Of one. A period that is not named costs that of the longest named one that goes into it, as often as it takes"`
	Raises      map[string]int64 `json:"raises" doc:"The limits of the plan that one raises, and by how much"`
	MaxQuantity int              `json:"max_quantity" doc:"How many a service may have"`
	Manual      bool             `json:"manual" doc:"An operator makes it; it is pending until then"`
}

type priceWire struct {
	PeriodMonths int         `json:"period_months"`
	Price        money.Money `json:"price" doc:"What you pay"`
	Retail       money.Money `json:"retail" doc:"What it costs who is no reseller"`
}

func wireProduct(ctx context.Context, p Product, discount int) productWire {
	w := productWire{
		Key: p.Key, Name: p.Name.Wire(ctx), Description: p.Description.Wire(ctx), Prices: make([]priceWire, len(p.Prices)),
		Raises: p.Raises, MaxQuantity: p.MaxQuantity, Manual: p.Manual,
	}
	if w.Raises == nil {
		w.Raises = map[string]int64{}
	}
	for i, x := range p.Prices {
		w.Prices[i] = priceWire{PeriodMonths: x.PeriodMonths, Price: money.Wire(ctx, x.Price.Less(discount)), Retail: money.Wire(ctx, x.Price)}
	}
	return w
}

// offerWire is an add-on at the price that a service would pay now.
type offerWire struct {
	Key          string           `json:"key"`
	Name         i18n.Translated  `json:"name"`
	Description  i18n.Translated  `json:"description"`
	UnitPrice    money.Money      `json:"unit_price" doc:"Of one, at each renewal of the service"`
	PeriodMonths int              `json:"period_months" doc:"The service's"`
	Charge       money.Money      `json:"charge" doc:"What one costs now, until the end of the service's paid time; the same for a day"`
	PaidUntil    *time.Time       `json:"paid_until"`
	Raises       map[string]int64 `json:"raises"`
	MaxQuantity  int              `json:"max_quantity"`
	Left         int              `json:"left" doc:"How many more the service may have"`
	Manual       bool             `json:"manual"`
}

type listIn struct {
	page.Params
	Service int64 `path:"service" minimum:"1" doc:"Id of the service"`
}

type catalogIn struct{ page.Params }

type addonIn struct {
	Service int64 `path:"service" minimum:"1" doc:"Id of the service"`
	Addon   int64 `path:"addon" minimum:"1" doc:"Id of the add-on"`
}

type createIn struct {
	Service        int64  `path:"service" minimum:"1" doc:"Id of the service"`
	IdempotencyKey string `header:"Idempotency-Key"`
	Body           struct {
		Key      string          `json:"key" minLength:"1" maxLength:"64" doc:"Of the catalogue" example:"extra_disk"`
		Quantity *int            `json:"quantity,omitempty" minimum:"1" maximum:"1000" doc:"One when left out"`
		Expected *money.USDCents `json:"expected_usd_cents,omitempty" minimum:"0" doc:"What you expect to be charged now: the charge of the offer times the quantity. If it is another, price_changed is answered, and nothing happens"`
	}
}

const base = "/api/v1/services/{service}/addons"

// Operations are the specification's section "Add-ons", and the price lists that it needs.
func (s *Service) Operations() []api.Route {
	read, write := []string{auth.ScopeServicesRead}, []string{auth.ScopeServicesWrite}
	return []api.Route{
		// Specification, "Services, add-ons, security".
		api.Operation[listIn, page.List[addonWire]]{
			ID: "addons.list", Method: http.MethodGet, Path: base, Section: api.Addons, Auth: api.Token, Scopes: read,
			Description: "What the service has beyond its plan, with quantity, price of the next period and the end. Add-ons are renewed " +
				"with the service.",
			Summary: "List the add-ons of a service, the newest first", Errors: []*fault.Def{fault.NotFound}, Handle: s.listOperation,
		},
		// Beyond the specification: what a client shows before it buys.
		api.Operation[listIn, page.List[offerWire]]{
			ID: "addons.offers", Method: http.MethodGet, Path: base + "/offers", Section: api.Addons, Auth: api.Token, Scopes: read,
			Summary:     "List what a service can have, and what it would cost now",
			Description: "Empty while the service can have nothing: it is not active.",
			Errors:      []*fault.Def{fault.NotFound}, Handle: s.offersOperation,
		},
		// Specification, "Services, add-ons, security": the price is quoted anew.
		api.Operation[createIn, addonWire]{
			ID: "addons.create", Method: http.MethodPost, Path: base, Section: api.Addons, Auth: api.Token, Scopes: write,
			Example: `{"key": "extra_disk", "quantity": 1}`,
			Status:  http.StatusCreated, Summary: "Buy an add-on for a service, from the wallet",
			Description: "It is paid for until the end of the service's paid time, a begun day whole, and renewed with the service.",
			Errors: []*fault.Def{
				fault.NotFound, fault.InsufficientFunds, fault.PriceChanged, ErrUnavailable, fault.FeatureNotInPlan, fault.LimitReached,
				fault.ServiceNotActive, fault.ServiceSuspended, fault.Conflict,
			},
			Commit: s.createOperation,
		},
		// Specification, "Services, add-ons, security": 422 on refusal.
		api.Operation[addonIn, addonWire]{
			ID: "addons.delete", Method: http.MethodDelete, Path: base + "/{addon}", Section: api.Addons, Auth: api.Token, Scopes: write,
			Summary: "Cancel an add-on",
			Description: "It stays until the end of its paid time, and is not renewed. An add-on whose limits the service needs answers " +
				"downgrade_exceeds_usage.",
			Errors: []*fault.Def{fault.NotFound, ErrNotCancellable, fault.DowngradeExceeds, fault.Conflict},
			Handle: s.deleteOperation,
		},
		// Specification, "Reseller": the price list, which customers have, too.
		api.Operation[catalogIn, page.List[productWire]]{
			ID: "addons.catalog", Method: http.MethodGet, Path: "/api/v1/catalog/addons", Section: api.Addons, Auth: api.AnyToken,
			Summary: "List the add-ons that are for sale", Description: "A plan's `addons` says which of them its services may have.",
			Handle: s.catalogOperation,
		},
	}
}

func (s *Service) listOperation(ctx context.Context, p auth.Principal, in *listIn) (*page.List[addonWire], error) {
	c, err := s.Billing.Contract(ctx, s.DB, p.AccountID, in.Service)
	if err != nil {
		return nil, err
	}
	rows, total, err := list(ctx, s.DB, p.AccountID, in.Service, in.Params)
	if err != nil {
		return nil, err
	}
	wires := make([]addonWire, len(rows))
	for i, a := range rows {
		w, err := wire(ctx, a, c.Status)
		if err != nil {
			return nil, err
		}
		wires[i] = *w
	}
	return page.Of(in.Params, total, wires), nil
}

// part returns a page of a list that was read as a whole.
func part[T any](p page.Params, all []T) []T {
	from := min(p.Offset(), len(all))
	return all[from:min(from+p.Limit(), len(all))]
}

func (s *Service) offersOperation(ctx context.Context, p auth.Principal, in *listIn) (*page.List[offerWire], error) {
	c, quotes, err := s.offers(ctx, p.AccountID, in.Service)
	if err != nil {
		return nil, err
	}
	wires := []offerWire{}
	for _, qt := range part(in.Params, quotes) {
		w := wireProduct(ctx, qt.product, 0)
		wires = append(wires, offerWire{
			Key: w.Key, Name: w.Name, Description: w.Description, UnitPrice: money.Wire(ctx, qt.unitPrice), PeriodMonths: c.PeriodMonths,
			Charge: money.Wire(ctx, qt.now), PaidUntil: c.ExpiresAt, Raises: w.Raises, MaxQuantity: w.MaxQuantity, Left: qt.left, Manual: w.Manual,
		})
	}
	return page.Of(in.Params, len(quotes), wires), nil
}

func (s *Service) createOperation(ctx context.Context, tx *db.Tx, p auth.Principal, in *createIn) (*addonWire, error) {
	w := wish{key: in.Body.Key, quantity: 1, seen: in.Body.Expected, keyed: in.IdempotencyKey != ""}
	if in.Body.Quantity != nil {
		w.quantity = *in.Body.Quantity
	}
	return answer(ctx)(s.buy(ctx, tx, p.AccountID, in.Service, w))
}

func (s *Service) deleteOperation(ctx context.Context, p auth.Principal, in *addonIn) (w *addonWire, err error) {
	err = s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		w, err = answer(ctx)(s.cancel(ctx, tx, p.AccountID, in.Service, in.Addon))
		return err
	})
	return w, err
}

func (s *Service) catalogOperation(ctx context.Context, p auth.Principal, in *catalogIn) (*page.List[productWire], error) {
	all, err := s.Catalog.Addons(ctx, s.DB)
	if err != nil {
		return nil, err
	}
	discount, err := s.discount(ctx, s.DB, p.AccountID)
	if err != nil {
		return nil, err
	}
	wires := []productWire{}
	for _, product := range part(in.Params, all) {
		wires = append(wires, wireProduct(ctx, product, discount))
	}
	return page.Of(in.Params, len(all), wires), nil
}
