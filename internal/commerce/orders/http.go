package orders

import (
	"context"
	"net/http"
	"time"

	"stead.dev/stead/internal/platform/api"
	"stead.dev/stead/internal/platform/auth"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/money"
	"stead.dev/stead/internal/platform/page"
)

// orderWire is the order of resources, section 2.
type orderWire struct {
	ID                 int64       `json:"id"`
	Number             string      `json:"number" example:"ORD-2026-000123"`
	Status             Status      `json:"status" enum:"pending,paid,processing,completed,failed,refunded,cancelled,expired"`
	Kind               string      `json:"kind" enum:"new,renewal,tariff_change,addon,domain_register,domain_transfer,domain_renew,domain_restore"`
	Items              []itemWire  `json:"items"`
	Subtotal           money.Money `json:"subtotal"`
	Discount           money.Money `json:"discount"`
	Tax                money.Money `json:"tax" doc:"Added to the prices"`
	TaxIncluded        money.Money `json:"tax_included" doc:"Contained in the prices"`
	Refunded           money.Money `json:"refunded" doc:"Given back to the wallet: all of it when the order failed, or what was refunded after it was completed"`
	Total              money.Money `json:"total"`
	CouponCode         *string     `json:"coupon_code" doc:"The coupon that was redeemed; null when there was none"`
	ServiceID          *int64      `json:"service_id"`
	ClientRef          *string     `json:"client_ref" doc:"The reseller's own tag, as it was when the order was made"`
	InvoiceID          *int64      `json:"invoice_id" doc:"Null while there is no invoice"`
	FailureKey         *string     `json:"failure_key" doc:"Why the order failed: an error key"`
	IdempotencyKeyUsed bool        `json:"idempotency_key_used" doc:"The order was made with an Idempotency-Key"`
	ExpiresAt          time.Time   `json:"expires_at" doc:"Until when it can be paid"`
	CreatedAt          time.Time   `json:"created_at"`
	PaidAt             *time.Time  `json:"paid_at"`
	CompletedAt        *time.Time  `json:"completed_at"`
	CancelledAt        *time.Time  `json:"cancelled_at"`
}

type itemWire struct {
	ID           int64       `json:"id"`
	Kind         string      `json:"kind" enum:"new,renewal,tariff_change,addon,domain_register,domain_transfer,domain_renew,domain_restore"`
	Title        string      `json:"title" doc:"In the buyer's language"`
	PlanID       *int64      `json:"plan_id"`
	Domain       *string     `json:"domain"`
	Quantity     int         `json:"quantity"`
	PeriodMonths *int        `json:"period_months"`
	UnitPrice    money.Money `json:"unit_price" doc:"What each period costs"`
	Setup        money.Money `json:"setup" doc:"What is paid once"`
	Discount     money.Money `json:"discount" doc:"What the first period costs less"`
	Tax          money.Money `json:"tax" doc:"Added to the price"`
	TaxIncluded  money.Money `json:"tax_included" doc:"Contained in the price"`
	Total        money.Money `json:"total"`
	ServiceID    *int64      `json:"service_id"`
	DomainID     *int64      `json:"domain_id"`
	Status       string      `json:"status" enum:"pending,processing,completed,failed,refunded"`
}

func wire(ctx context.Context, o order) orderWire {
	w := orderWire{
		ID: o.id, Number: o.number(), Status: o.status, Kind: o.kind, Items: make([]itemWire, len(o.items)),
		Subtotal: money.Wire(ctx, o.subtotal), Discount: money.Wire(ctx, o.discount), Tax: money.Wire(ctx, o.tax),
		Total: money.Wire(ctx, o.total), CouponCode: o.couponCode, ServiceID: o.serviceID(), ClientRef: o.clientRef, FailureKey: o.failureKey,
		InvoiceID:   o.invoiceID,
		TaxIncluded: money.Wire(ctx, o.taxIncluded), Refunded: money.Wire(ctx, o.returned()),
		IdempotencyKeyUsed: o.idempotencyKeyUsed, ExpiresAt: o.expiresAt, CreatedAt: o.createdAt, PaidAt: o.paidAt,
		CompletedAt: o.completedAt, CancelledAt: o.cancelledAt,
	}
	for n, i := range o.items {
		w.Items[n] = itemWire{
			ID: i.id, Kind: i.kind, Title: i.title, PlanID: i.planID, Domain: i.domain, Quantity: i.quantity,
			PeriodMonths: i.periodMonths, UnitPrice: money.Wire(ctx, i.unitPrice), Setup: money.Wire(ctx, i.setup),
			Discount: money.Wire(ctx, i.discount), Tax: money.Wire(ctx, i.tax), TaxIncluded: money.Wire(ctx, i.taxIncluded), Total: money.Wire(ctx, i.total),
			ServiceID: i.serviceID, DomainID: i.domainID, Status: i.status,
		}
	}
	return w
}

// eventOf is the order in the data of its events. Its amounts are shown in USD
// whoever the caller is, so that receivers see the same.
func eventOf(ctx context.Context, o order) orderWire {
	return wire(money.WithCurrency(ctx, money.USD), o)
}

type listIn struct {
	page.Params
	Status    string `query:"status" enum:"pending,paid,processing,completed,failed,refunded,cancelled,expired" doc:"Only those in this state"`
	ClientRef string `query:"client_ref" maxLength:"256" doc:"Only those with exactly this tag"`
}

type orderIn struct {
	Order int64 `path:"order" minimum:"1" doc:"Id of the order"`
}

type createIn struct {
	IdempotencyKey string `header:"Idempotency-Key"`
	Body           struct {
		PlanID       int64  `json:"plan_id" minimum:"1"`
		Domain       string `json:"domain" minLength:"1" doc:"The domain to host, or a subdomain; international names in either form" example:"example.com"`
		PeriodMonths *int   `json:"period_months,omitempty" minimum:"1" maximum:"120" doc:"One of the plan's periods; the shortest when left out"`
		Label        string `json:"label,omitempty" maxLength:"100" doc:"Your name for the service; the domain when left out"`
		CouponCode   string `json:"coupon_code,omitempty" maxLength:"64" doc:"Takes something off the first period. It is redeemed when the order is paid" example:"WELCOME"`
	}
}

// Operations are the specification's section "Orders".
func (s *Service) Operations() []api.Route {
	return []api.Route{
		// Specification, "Orders and wallet".
		api.Operation[listIn, page.List[orderWire]]{
			ID: "orders.list", Method: http.MethodGet, Path: "/api/v1/orders", Section: api.Orders,
			Description: "Orders of every kind: new services, renewals, changes of plan, add-ons and domains, with their items and totals." +
				" Filters can be combined.",
			Auth: api.Token, Scopes: []string{auth.ScopeOrdersRead}, Summary: "List your orders, the newest first",
			Handle: s.listOperation,
		},
		// Specification, "Orders and wallet".
		api.Operation[createIn, orderWire]{
			ID: "orders.create", Method: http.MethodPost, Path: "/api/v1/orders", Section: api.Orders,
			Example: `{"plan_id": 1, "domain": "shop.example.com", "period_months": 12}`,
			Auth:    api.Token, Scopes: []string{auth.ScopeOrdersWrite}, Status: http.StatusCreated,
			Summary: "Order a plan for a domain",
			Description: "The order keeps the prices of now and can be paid for seven days. An order that is not paid does " +
				"not hold its domain. An account has at most 100 that are not paid; those cancelled within a day count (`limit_reached`).",
			Errors: []*fault.Def{
				ErrPlanUnavailable, ErrOutOfStock, fault.DomainInvalid, fault.DomainUnavailable, fault.DomainVerificationRequired, fault.CouponInvalid, fault.CouponExpired,
				fault.CouponExhausted, fault.LimitReached,
			},
			Commit: s.createOperation,
		},
		// Specification, "Orders and wallet".
		api.Operation[orderIn, orderWire]{
			ID: "orders.get", Method: http.MethodGet, Path: "/api/v1/orders/{order}", Section: api.Orders,
			Description: "The order with its items, amounts and state. After payment it is `processing` until the service stands, then " +
				"`completed`; when that fails it is `refunded` with the money back in the wallet.",
			Auth: api.Token, Scopes: []string{auth.ScopeOrdersRead}, Summary: "Get an order",
			Errors: []*fault.Def{fault.NotFound},
			Handle: func(ctx context.Context, p auth.Principal, in *orderIn) (*orderWire, error) {
				return answer(ctx)(getOwn(ctx, s.DB, p.AccountID, in.Order))
			},
		},
		// Specification, "Orders and wallet": pays from the wallet.
		api.Operation[orderIn, orderWire]{
			ID: "orders.pay", Method: http.MethodPost, Path: "/api/v1/orders/{order}/pay", Section: api.Orders,
			Auth: api.Token, Scopes: []string{auth.ScopeOrdersWrite}, Summary: "Pay an order from the wallet",
			Description: "The money is set aside at once and taken when the service stands. If it cannot be made, the order " +
				"becomes refunded and the money is back in the balance.",
			Errors: []*fault.Def{
				fault.NotFound, fault.InsufficientFunds, ErrNotPayable, ErrAlreadyPaid, ErrPlanUnavailable, ErrOutOfStock,
				fault.DomainUnavailable, fault.DomainVerificationRequired, fault.CouponInvalid, fault.CouponExpired, fault.CouponExhausted,
			},
			Commit: func(ctx context.Context, tx *db.Tx, p auth.Principal, in *orderIn) (*orderWire, error) {
				return answer(ctx)(s.pay(ctx, tx, p.AccountID, in.Order))
			},
		},
		// Specification, "Orders and wallet".
		api.Operation[orderIn, orderWire]{
			ID: "orders.cancel", Method: http.MethodPost, Path: "/api/v1/orders/{order}/cancel", Section: api.Orders,
			Description: "Only while it is `pending`; anything else is `order_not_cancellable`. Nothing was charged, so nothing is refunded.",
			Auth:        api.Token, Scopes: []string{auth.ScopeOrdersWrite}, Summary: "Cancel an order that is not paid",
			Errors: []*fault.Def{fault.NotFound, ErrNotCancellable},
			Handle: s.cancelOperation,
		},
	}
}

func (s *Service) listOperation(ctx context.Context, p auth.Principal, in *listIn) (*page.List[orderWire], error) {
	rows, total, err := list(ctx, s.DB, p.AccountID, in.Status, in.ClientRef, in.Params)
	if err != nil {
		return nil, err
	}
	wires := make([]orderWire, len(rows))
	for i, o := range rows {
		wires[i] = wire(ctx, o)
	}
	return page.Of(in.Params, total, wires), nil
}

func (s *Service) createOperation(ctx context.Context, tx *db.Tx, p auth.Principal, in *createIn) (*orderWire, error) {
	w := wish{
		accountID: p.AccountID, planID: in.Body.PlanID, domain: in.Body.Domain, label: in.Body.Label,
		keyed: in.IdempotencyKey != "", coupon: in.Body.CouponCode,
	}
	if in.Body.PeriodMonths != nil {
		w.months = *in.Body.PeriodMonths
	}
	return answer(ctx)(s.create(ctx, tx, w))
}

func (s *Service) cancelOperation(ctx context.Context, p auth.Principal, in *orderIn) (*orderWire, error) {
	var cancelled order
	err := s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) (err error) {
		cancelled, err = s.cancel(ctx, tx, p.AccountID, in.Order)
		return err
	})
	return answer(ctx)(cancelled, err)
}

// answer encodes an order for the caller of ctx, or passes the refusal on.
func answer(ctx context.Context) func(order, error) (*orderWire, error) {
	return func(o order, err error) (*orderWire, error) {
		if err != nil {
			return nil, err
		}
		w := wire(ctx, o)
		return &w, nil
	}
}
