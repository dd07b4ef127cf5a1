package admin

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"stead.dev/stead/internal/commerce/invoices"
	"stead.dev/stead/internal/commerce/orders"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/jobs"
	"stead.dev/stead/internal/platform/money"
	"stead.dev/stead/internal/platform/page"
)

// Order is an order as staff see it.
type Order struct {
	ID          int64          `json:"id"`
	Number      string         `json:"number"`
	AccountID   int64          `json:"account_id"`
	Email       string         `json:"email"`
	Kind        string         `json:"kind"`
	Status      string         `json:"status"`
	Total       money.USDCents `json:"total_usd_cents"`
	Tax         money.USDCents `json:"tax_usd_cents"`
	Refunded    money.USDCents `json:"refunded_usd_cents"`
	CouponCode  *string        `json:"coupon_code"`
	FailureKey  *string        `json:"failure_key"`
	InvoiceID   *int64         `json:"invoice_id"`
	CreatedAt   time.Time      `json:"created_at"`
	PaidAt      *time.Time     `json:"paid_at"`
	CompletedAt *time.Time     `json:"completed_at"`
}

var orderRows = db.Map(func(o *Order) db.Fields {
	return db.Fields{
		"o.id": &o.ID, "o.account_id": &o.AccountID, "u.email": &o.Email, "o.kind": &o.Kind, "o.status": &o.Status, "o.total": &o.Total, "o.tax": &o.Tax,
		"o.refunded": &o.Refunded, "o.coupon_code": &o.CouponCode, "o.failure_key": &o.FailureKey, "o.invoice_id": &o.InvoiceID,
		"o.created_at": &o.CreatedAt, "o.paid_at": &o.PaidAt, "o.completed_at": &o.CompletedAt,
	}
})

const fromOrders = ` FROM orders o JOIN account_users u ON u.id = o.account_id`

// OrderItem is a line of an order.
type OrderItem struct {
	Kind         string         `json:"kind"`
	Status       string         `json:"status"`
	Title        string         `json:"title"`
	Domain       *string        `json:"domain"`
	Quantity     int            `json:"quantity"`
	PeriodMonths *int           `json:"period_months"`
	Total        money.USDCents `json:"total_usd_cents"`
	ServiceID    *int64         `json:"service_id"`
	DomainID     *int64         `json:"domain_id"`
}

var itemRows = db.Map(func(i *OrderItem) db.Fields {
	return db.Fields{
		"kind": &i.Kind, "status": &i.Status, "title": &i.Title, "domain": &i.Domain, "quantity": &i.Quantity, "period_months": &i.PeriodMonths,
		"total": &i.Total, "service_id": &i.ServiceID, "domain_id": &i.DomainID,
	}
})

// OrderView is an order with its lines.
type OrderView struct {
	Order
	Items []OrderItem `json:"items"`
}

// OrderFilter selects orders; empty members select all.
type OrderFilter struct {
	AccountID    int64
	Status, Kind string
	// Attention is a kind of the dashboard: those that need attention.
	Attention string
}

// numbered adds what people call the order.
func (o Order) numbered() Order {
	o.Number = orders.Number(o.ID, o.CreatedAt)
	return o
}

func scanOrder(row db.Row) (Order, error) {
	o, err := orderRows.Scan(row)
	return o.numbered(), err
}

// Orders reads a page of the orders that match, the newest first.
func (a *Admin) Orders(ctx context.Context, f OrderFilter, p page.Params) (*page.List[Order], error) {
	stuck, args := a.among("o.id", f.Attention, []any{f.AccountID, f.Status, f.Kind})
	all, err := paged(ctx, a.DB, p, orderRows, fromOrders+` WHERE (CAST($1 AS BIGINT) = 0 OR o.account_id = $1)
		AND (CAST($2 AS TEXT) = '' OR o.status = $2) AND (CAST($3 AS TEXT) = '' OR o.kind = $3)`+stuck, ` ORDER BY o.id DESC`, args...)
	if err != nil {
		return nil, err
	}
	for i, o := range all.Data {
		all.Data[i] = o.numbered()
	}
	return all, nil
}

// ListOrders reads a page of all customers' orders, the newest first. status and who, an account's id or address, select some when
// they are given.
func (a *Admin) ListOrders(ctx context.Context, status, who string, p page.Params) (*page.List[Order], error) {
	f := OrderFilter{Status: status}
	if who != "" {
		u, err := a.User(ctx, who)
		if errors.Is(err, fault.NotFound) {
			err = fault.NotFound.Wrapf("there is no account %q", who)
		}
		if err != nil {
			return nil, err
		}
		f.AccountID = u.ID
	}
	return a.Orders(ctx, f, p)
}

// Order reads an order by its id or its number.
func (a *Admin) Order(ctx context.Context, named string) (Order, error) {
	missing := fault.NotFound.Wrapf("there is no order %q; stead admin orders list shows them", named)
	digits := named
	if parts := strings.Split(strings.ToUpper(named), "-"); len(parts) == 3 && parts[0] == "ORD" {
		digits = parts[2]
	}
	id, err := strconv.ParseInt(digits, 10, 64)
	if err != nil {
		return Order{}, missing
	}
	o, err := scanOrder(a.DB.QueryRow(ctx, `SELECT `+orderRows.Columns()+fromOrders+` WHERE o.id = $1`, id))
	if errors.Is(err, db.ErrNoRows) || err == nil && digits != named && o.Number != strings.ToUpper(named) {
		return Order{}, missing
	}
	return o, err
}

// OrderView reads an order with its lines.
func (a *Admin) OrderView(ctx context.Context, id int64) (v OrderView, err error) {
	if v.Order, err = a.Order(ctx, strconv.FormatInt(id, 10)); err != nil {
		return v, err
	}
	v.Items, err = db.Collect(ctx, a.DB, itemRows.Scan, `SELECT `+itemRows.Columns()+` FROM orders_items WHERE order_id = $1 ORDER BY id`, id)
	return v, err
}

// RetryOrder has the services of an order that is being delivered tried again at once.
func (a *Admin) RetryOrder(ctx context.Context, id int64) (OrderView, error) {
	o, err := a.OrderView(ctx, id)
	if err != nil {
		return o, err
	}
	tried := false
	for _, item := range o.Items {
		if item.ServiceID == nil {
			continue
		}
		_, err := a.RetryService(ctx, *item.ServiceID)
		switch {
		case err == nil:
			tried = true
		case !errors.Is(err, errNothingToRetry):
			return o, err
		}
	}
	if !tried {
		return o, errNothingToRetry.New()
	}
	return a.OrderView(ctx, id)
}

// RetryService has the account of a service that is being provisioned made at once, instead of at the next attempt.
func (a *Admin) RetryService(ctx context.Context, id int64) (Service, error) {
	s, err := a.Service(ctx, id)
	if err != nil {
		return s, err
	}
	if s.Status != "provisioning" {
		return s, errNothingToRetry.New()
	}
	return a.move(ctx, "service.retry", "", id, func(ctx context.Context, tx *db.Tx) error {
		if err := a.Provisioning.EnqueueProvision(ctx, tx, id); err != nil {
			return err
		}
		return a.Jobs.RetryNow(ctx, tx, []string{jobs.ProvisionQueue}, ofService(id))
	})
}

// Document is an invoice, a credit note or a receipt as staff see it.
type Document struct {
	ID        int64          `json:"id"`
	Kind      string         `json:"kind" enum:"invoice,credit_note,receipt"`
	Number    *string        `json:"number" doc:"Null until the sequencer has numbered it, about a second after the payment." example:"INV-2026-000123"`
	AccountID int64          `json:"account_id"`
	Email     string         `json:"email"`
	OrderID   *int64         `json:"order_id"`
	TopupID   *int64         `json:"topup_id"`
	Corrects  *int64         `json:"corrects" doc:"Of credit notes: the invoice."`
	Total     money.USDCents `json:"total_usd_cents"`
	Tax       money.USDCents `json:"tax_usd_cents"`
	IssuedAt  time.Time      `json:"issued_at"`

	seller   string
	year     int
	sequence *int64
}

var documentRows = db.Map(func(d *Document) db.Fields {
	return db.Fields{
		"i.id": &d.ID, "i.kind": &d.Kind, "i.seller": &d.seller, "i.year": &d.year, "i.sequence": &d.sequence, "i.account_id": &d.AccountID,
		"u.email": &d.Email, "i.order_id": &d.OrderID, "i.topup_id": &d.TopupID, "i.corrects": &d.Corrects, "i.total": &d.Total,
		"i.tax + i.tax_included": &d.Tax, "i.issued_at": &d.IssuedAt,
	}
})

// DocumentFilter selects invoices, credit notes and receipts; empty members select all.
type DocumentFilter struct {
	AccountID int64
	Kind      string
}

// Documents reads a page of the documents that match, the newest first.
func (a *Admin) Documents(ctx context.Context, f DocumentFilter, p page.Params) (*page.List[Document], error) {
	all, err := paged(ctx, a.DB, p, documentRows, ` FROM invoices i JOIN account_users u ON u.id = i.account_id
		WHERE u.sandbox_of IS NULL AND (CAST($1 AS BIGINT) = 0 OR i.account_id = $1) AND (CAST($2 AS TEXT) = '' OR i.kind = $2)`, ` ORDER BY i.id DESC`, f.AccountID, f.Kind)
	if err != nil {
		return nil, err
	}
	for i, d := range all.Data {
		if d.sequence != nil {
			number := invoices.Number(d.seller, invoices.Kind(d.Kind), d.year, *d.sequence)
			all.Data[i].Number = &number
		}
	}
	return all, nil
}
