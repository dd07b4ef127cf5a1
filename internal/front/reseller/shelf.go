package reseller

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"

	"stead.dev/stead/internal/commerce/catalog"
	"stead.dev/stead/internal/commerce/orders"
	"stead.dev/stead/internal/commerce/services"
	"stead.dev/stead/internal/commerce/services/billing"
	"stead.dev/stead/internal/platform/api"
	"stead.dev/stead/internal/platform/auth"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/money"
	"stead.dev/stead/internal/platform/page"
)

type catalogIn struct {
	page.Params
	Category string `query:"category" maxLength:"64" doc:"Only products of the category with this slug."`
	Type     string `query:"type" maxLength:"32" doc:"Only products of this type, such as hosting."`
}

type planIn struct {
	Plan int64 `path:"plan" minimum:"1" doc:"Id of the plan"`
}

type locationsIn struct{ page.Params }

// locationWire is a place where services are.
type locationWire struct {
	Key     string  `json:"key" doc:"As plans and services name it"`
	PlanIDs []int64 `json:"plan_ids" doc:"Plans for sale there: those that name it, and those that are sold anywhere"`
}

type quoteIn struct {
	Body struct {
		Items []quoteItem `json:"items" minItems:"1" maxItems:"50"`
	}
}

// quoteItem is an item of a basket.
type quoteItem struct {
	Kind         string `json:"kind" enum:"new,renewal,tariff_change"`
	PlanID       int64  `json:"plan_id,omitempty" minimum:"1" doc:"Of new: the plan; of tariff_change: the plan to move to"`
	ServiceID    int64  `json:"service_id,omitempty" minimum:"1" doc:"Of renewal and tariff_change"`
	PeriodMonths int    `json:"period_months,omitempty" minimum:"1" maximum:"120" doc:"Of new: the plan's shortest when left out; of renewal: the service's own"`
	Quantity     int    `json:"quantity,omitempty" minimum:"1" maximum:"1000" doc:"Of new: how many services of the kind; one when left out"`
}

// quoteWire is the price of a basket.
type quoteWire struct {
	Items    []quotedWire `json:"items" doc:"In the order in which they were asked for"`
	Subtotal money.Money  `json:"subtotal"`
	Discount money.Money  `json:"discount"`
	Tax      money.Money  `json:"tax"`
	Total    money.Money  `json:"total"`
	Credit   money.Money  `json:"credit" doc:"What comes back to the wallet by moves to cheaper plans"`
	Balance  money.Money  `json:"balance"`
	Covered  bool         `json:"covered" doc:"The balance pays for the total"`
	Missing  money.Money  `json:"missing" doc:"What has to be topped up before"`
}

type quotedWire struct {
	Kind         string      `json:"kind" enum:"new,renewal,tariff_change"`
	Title        string      `json:"title"`
	PlanID       int64       `json:"plan_id"`
	ServiceID    *int64      `json:"service_id"`
	PeriodMonths int         `json:"period_months"`
	Quantity     int         `json:"quantity"`
	UnitPrice    money.Money `json:"unit_price" doc:"Of one, for the period"`
	Setup        money.Money `json:"setup" doc:"Of one, paid once"`
	Discount     money.Money `json:"discount" doc:"Of all; of a tariff_change, what was paid for the time that is left"`
	Tax          money.Money `json:"tax"`
	Total        money.Money `json:"total"`
	Credit       money.Money `json:"credit"`
}

// shelfOperations list what is sold, with prices (specification, section "Reseller").
func (s *Service) shelfOperations() []api.Route {
	return []api.Route{
		api.Operation[catalogIn, page.List[catalog.ResoldProduct]]{
			ID: "reseller.catalog.list", Method: http.MethodGet, Path: "/api/v1/reseller/catalog", Section: api.Reseller, Auth: api.Key,
			Description: "Each price twice: `wholesale` is what you pay, `retail` what customers of the catalogue pay. First-period " +
				"promotions do not apply to resellers.",
			Summary: "Products with their plans, at your prices and at the catalogue's",
			Handle: func(ctx context.Context, p auth.Principal, in *catalogIn) (*page.List[catalog.ResoldProduct], error) {
				r, err := of(ctx, s.DB, p.AccountID)
				if err != nil {
					return nil, err
				}
				return s.Catalog.Resold(ctx, s.DB, r.Discount, catalog.ResoldFilter{Category: in.Category, Type: in.Type}, in.Params)
			},
		},
		api.Operation[planIn, catalog.ResoldPlan]{
			ID: "reseller.catalog.get", Method: http.MethodGet, Path: "/api/v1/reseller/catalog/{plan}", Section: api.Reseller, Auth: api.Key,
			Description: "One plan with its limits, its periods and both prices. A plan that is not sold to you is `not_found`.",
			Summary:     "Get a plan with its limits and prices", Errors: []*fault.Def{fault.NotFound},
			Handle: func(ctx context.Context, p auth.Principal, in *planIn) (*catalog.ResoldPlan, error) {
				r, err := of(ctx, s.DB, p.AccountID)
				if err != nil {
					return nil, err
				}
				return s.Catalog.ResoldPlan(ctx, s.DB, r.Discount, in.Plan)
			},
		},
		api.Operation[locationsIn, page.List[locationWire]]{
			ID: "reseller.locations", Method: http.MethodGet, Path: "/api/v1/reseller/locations", Section: api.Reseller, Auth: api.Key,
			Description: "Where plans can be hosted, with the ids of the plans that are sold there: those that name the location, and " +
				"those that are sold anywhere.",
			Summary: "List the locations that plans are sold in", Handle: s.locationsOperation,
		},
		api.Operation[quoteIn, quoteWire]{
			ID: "reseller.quotes", Method: http.MethodPost, Path: "/api/v1/reseller/quotes", Section: api.Reseller, Auth: api.Key, Reads: true,
			Example: `{"items": [{"kind": "new", "plan_id": 1, "period_months": 12, "quantity": 5}, {"kind": "renewal", "service_id": 41}]}`,
			Summary: "Price a basket exactly; nothing is ordered or charged",
			Description: "What cannot be bought is refused as buying it would be, with the place of the item as item, counted from 0. Of several renewals, and of several moves, of one service " +
				"each is priced as if it were the only one.",
			Errors: []*fault.Def{
				fault.NotFound, orders.ErrPlanUnavailable, orders.ErrOutOfStock, fault.ServiceSuspended, fault.ServiceNotActive,
				services.ErrRenewalNotAllowed, billing.ErrTariffNotAllowed, billing.ErrDowngradeExceeds,
			},
			Handle: s.quoteOperation,
		},
	}
}

func (s *Service) locationsOperation(ctx context.Context, _ auth.Principal, in *locationsIn) (*page.List[locationWire], error) {
	places, anywhere, err := s.Catalog.Places(ctx, s.DB)
	if err != nil {
		return nil, err
	}
	var rows []locationWire
	first := min(in.Offset(), len(places))
	for _, p := range places[first:min(first+in.Limit(), len(places))] {
		rows = append(rows, locationWire{Key: p.Name, PlanIDs: append(p.Plans, anywhere...)})
	}
	return page.Of(in.Params, len(places), rows), nil
}

// quoted is a priced item of a basket.
type quoted struct {
	item        quoteItem
	title       string
	planID      int64
	months      int
	unit, setup money.USDCents // of one
	discount    money.USDCents // of all, as the rest
	tax         money.USDCents
	total       money.USDCents
	credit      money.USDCents
}

// quote prices an item as buying it would.
func (s *Service) quote(ctx context.Context, accountID int64, i quoteItem) (quoted, error) {
	i.Quantity = max(1, i.Quantity)
	w := quoted{item: i}
	switch {
	case i.Kind != "new" && i.ServiceID == 0:
		return w, fault.Invalid("service_id", "required")
	case i.Kind != "renewal" && i.PlanID == 0:
		return w, fault.Invalid("plan_id", "required")
	case i.Kind != "new" && i.Quantity > 1:
		return w, fault.Invalid("quantity", "value")
	}
	var err error
	switch i.Kind {
	case "new":
		l, err := s.Orders.Quote(ctx, s.DB, accountID, i.PlanID, i.PeriodMonths)
		if err != nil {
			return w, err
		}
		w.title, w.planID, w.months, w.unit, w.setup = l.Title, l.PlanID, l.PeriodMonths, l.UnitPrice, l.Setup
		n := int64(i.Quantity)
		discount, errDiscount := l.Discount.Mul(n)
		tax, errTax := l.Tax.Mul(n)
		total, errTotal := l.Total.Mul(n)
		if errors.Join(errDiscount, errTax, errTotal) != nil {
			return w, fault.Invalid("quantity", "value")
		}
		w.discount, w.tax, w.total = discount, tax, total
		return w, nil
	case "renewal":
		var q billing.Quote
		if q, err = s.Billing.QuoteRenewal(ctx, s.DB, accountID, i.ServiceID, i.PeriodMonths); err == nil {
			w.take(q)
		}
	default:
		var q billing.Quote
		if q, err = s.Billing.QuoteTariff(ctx, s.DB, accountID, i.ServiceID, i.PlanID); err == nil {
			w.take(q)
		}
	}
	return w, err
}

// inItem names the item of a basket that is refused.
func inItem(n int, err error) error {
	var e *fault.Error
	if !errors.As(err, &e) {
		return err
	}
	at := *e
	at.Fields, at.Invalid = maps.Clone(e.Fields), nil
	if at.Fields == nil {
		at.Fields = fault.Fields{}
	}
	at.Fields["item"] = n
	for name, texts := range e.Invalid {
		if at.Invalid == nil {
			at.Invalid = map[string][]fault.Text{}
		}
		at.Invalid[fmt.Sprintf("items[%d].%s", n, name)] = texts
	}
	return &at
}

// take copies the price of a service's renewal or change.
func (w *quoted) take(q billing.Quote) {
	w.title, w.planID, w.months, w.unit, w.discount, w.credit = q.Title, q.PlanID, q.PeriodMonths, q.Price, q.Discount, q.Credit
	w.tax, w.total = q.Tax, q.Price-q.Discount+q.Tax
}

func (w quoted) wire(ctx context.Context) quotedWire {
	out := quotedWire{
		Kind: w.item.Kind, Title: w.title, PlanID: w.planID, PeriodMonths: w.months, Quantity: w.item.Quantity,
		UnitPrice: money.Wire(ctx, w.unit), Setup: money.Wire(ctx, w.setup), Discount: money.Wire(ctx, w.discount),
		Tax: money.Wire(ctx, w.tax), Total: money.Wire(ctx, w.total), Credit: money.Wire(ctx, w.credit),
	}
	if w.item.ServiceID != 0 {
		out.ServiceID = &w.item.ServiceID
	}
	return out
}

func (s *Service) quoteOperation(ctx context.Context, p auth.Principal, in *quoteIn) (*quoteWire, error) {
	balance, err := s.Wallet.Balance(ctx, s.DB, p.AccountID)
	if err != nil {
		return nil, err
	}
	var discount, tax, total, credit money.USDCents
	w := &quoteWire{Items: make([]quotedWire, len(in.Body.Items))}
	for n, i := range in.Body.Items {
		q, err := s.quote(ctx, p.AccountID, i)
		if err != nil {
			return nil, inItem(n, err)
		}
		w.Items[n] = q.wire(ctx)
		for _, x := range []struct {
			to *money.USDCents
			by money.USDCents
		}{{&discount, q.discount}, {&tax, q.tax}, {&total, q.total}, {&credit, q.credit}} {
			if *x.to, err = x.to.Add(x.by); err != nil {
				return nil, fault.Invalid("items", "value")
			}
		}
	}
	subtotal, err := money.Sum(total, discount, -tax)
	if err != nil {
		return nil, fault.Invalid("items", "value")
	}
	w.Subtotal, w.Discount, w.Tax = money.Wire(ctx, subtotal), money.Wire(ctx, discount), money.Wire(ctx, tax)
	w.Total, w.Credit, w.Balance = money.Wire(ctx, total), money.Wire(ctx, credit), money.Wire(ctx, balance.Spendable)
	w.Covered, w.Missing = balance.Spendable >= total, money.Wire(ctx, max(0, total-balance.Spendable))
	return w, nil
}
