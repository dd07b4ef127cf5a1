package orders

import (
	"context"
	"fmt"
	"time"

	"stead.dev/stead/internal/commerce/sale"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/money"
)

// Books keep the invoices of what is paid. Each call is a part of the change that it is about.
type Books interface {
	// NextIDs returns the ids of n invoices that are made later in the same transaction; zeros where nobody keeps books.
	NextIDs(ctx context.Context, tx *db.Tx, n int) ([]int64, error)
	// Invoice makes the invoices of orders that are being paid.
	Invoice(ctx context.Context, tx *db.Tx, bills []sale.Bill) error
	// CancelOrder takes back the invoice of an order that cannot be made.
	CancelOrder(ctx context.Context, tx *db.Tx, orderID int64) error
	// CreditService takes a price back of what was invoiced of a service, and answers what is to be given back: the
	// price and the tax that had been added to it; and how much of it is of which order.
	CreditService(ctx context.Context, tx *db.Tx, accountID, serviceID int64, price money.USDCents) (
		total money.USDCents, byOrder map[int64]money.USDCents, err error)
	// RefundOrder takes back a part of an order's invoice, or with 0 all that is left of it.
	RefundOrder(ctx context.Context, tx *db.Tx, orderID int64, total money.USDCents, reason string) (sale.Refund, error)
}

// NoBooks is the Books of who writes no invoices. What is given back is then the price alone.
type NoBooks struct{}

// NextIDs implements Books.
func (NoBooks) NextIDs(_ context.Context, _ *db.Tx, n int) ([]int64, error) {
	return make([]int64, n), nil
}

// Invoice implements Books.
func (NoBooks) Invoice(context.Context, *db.Tx, []sale.Bill) error { return nil }

// CancelOrder implements Books.
func (NoBooks) CancelOrder(context.Context, *db.Tx, int64) error { return nil }

// CreditService implements Books.
func (NoBooks) CreditService(_ context.Context, _ *db.Tx, _, _ int64, price money.USDCents) (money.USDCents, map[int64]money.USDCents, error) {
	return price, nil, nil
}

// RefundOrder implements Books.
func (NoBooks) RefundOrder(context.Context, *db.Tx, int64, money.USDCents, string) (sale.Refund, error) {
	return sale.Refund{}, ErrNotRefundable.New()
}

// tax is how an account is taxed.
func (s *Service) tax(ctx context.Context, q db.Querier, accountID int64) (money.Tax, error) {
	return sale.TaxOf(ctx, q, s.Taxes, accountID)
}

// taxed are items as they are taxed now, whatever they were before. The tax is that of their sum, of which each has
// its part: what an order costs does not depend on how it is cut into items.
func taxed(items []item, by money.Tax) ([]item, error) {
	out := make([]item, len(items))
	var price, added, contained money.USDCents
	for n, i := range items {
		own := i.total - i.tax
		addedBefore, containedBefore := added, contained
		var err error
		if price, err = price.Add(own); err == nil {
			added, contained, err = by.Of(price)
		}
		if err != nil {
			return nil, fmt.Errorf("orders: tax of %d: %w", price, err)
		}
		i.tax, i.taxIncluded = added-addedBefore, contained-containedBefore
		i.total = own + i.tax
		out[n] = i
	}
	return out, nil
}

// taxed is a single item as it is taxed now.
func (i item) taxed(by money.Tax) (item, error) {
	items, err := taxed([]item{i}, by)
	if err != nil {
		return i, err
	}
	return items[0], nil
}

// sums are those of an order's items.
type sums struct{ subtotal, discount, tax, taxIncluded, total money.USDCents }

func sumsOf(items []item) (all sums, err error) {
	for _, i := range items {
		for _, s := range []struct {
			sum *money.USDCents
			add money.USDCents
		}{
			{&all.subtotal, i.total - i.tax + i.discount},
			{&all.discount, i.discount},
			{&all.tax, i.tax},
			{&all.taxIncluded, i.taxIncluded},
			{&all.total, i.total},
		} {
			if *s.sum, err = s.sum.Add(s.add); err != nil {
				return all, fmt.Errorf("orders: sums of an order: %w", err)
			}
		}
	}
	return all, nil
}

// retaxed is an order as its owner is taxed now; the day on which it is paid is the one that counts.
func (o order) retaxed(by money.Tax) (order, error) {
	items, err := taxed(o.items, by)
	if err != nil {
		return o, err
	}
	o.items = items
	o.sums, err = sumsOf(items)
	return o, err
}

// invoiced returns an order that is being paid with its invoice, which is written when the transaction ends.
func (s *Service) invoiced(ctx context.Context, tx *db.Tx, o order, by money.Tax) (order, error) {
	if o.total == 0 {
		return o, nil
	}
	ids, err := s.Books.NextIDs(ctx, tx, 1)
	if err != nil {
		return o, err
	}
	if o.invoiceID = db.OrNull(ids[0]); o.invoiceID == nil { // nobody keeps books
		return o, nil
	}
	return o, s.Books.Invoice(ctx, tx, []sale.Bill{o.bill(by)})
}

// bill is an order as its invoice tells of it.
func (o order) bill(by money.Tax) sale.Bill {
	b := sale.Bill{
		AccountID: o.accountID, OrderID: o.id, Number: o.number(), ServiceID: o.serviceID(), Tax: by,
		Subtotal: o.subtotal, Discount: o.discount, TaxAdded: o.tax, TaxContained: o.taxIncluded, Total: o.total,
	}
	if o.invoiceID != nil {
		b.InvoiceID = *o.invoiceID
	}
	for _, i := range o.items {
		line := sale.Line{
			Kind: i.kind, Title: i.title, Quantity: i.quantity, UnitPrice: i.unitPrice, Setup: i.setup, Discount: i.discount,
			TaxAdded: i.tax, Total: i.total,
		}
		if i.domain != nil {
			line.Domain = *i.domain
		}
		if i.periodMonths != nil {
			line.PeriodMonths = *i.periodMonths
		}
		b.Lines = append(b.Lines, line)
	}
	return b
}

// Awaiting is a pending order of the account as its invoice would be now, and until when it can be paid. Any other
// order is not_found.
func (s *Service) Awaiting(ctx context.Context, q db.Querier, accountID, id int64) (sale.Bill, time.Time, error) {
	o, err := getOwn(ctx, q, accountID, id)
	if err == nil && o.status != Pending {
		err = fault.NotFound.New()
	}
	if err != nil {
		return sale.Bill{}, time.Time{}, err
	}
	by, err := s.tax(ctx, q, accountID)
	if err == nil {
		o, err = o.retaxed(by)
	}
	return o.bill(by), o.expiresAt, err
}

// ofPlans is what of the order's price, without the tax that is added to it, is for plans. What was paid for add-ons
// never counted as paid for a service's time. A service that comes back is a renewal that no sale of a plan stands for.
func (o order) ofPlans() (sum money.USDCents) {
	for _, i := range o.items {
		if i.planID != nil || i.kind == "renewal" {
			sum += i.total - i.tax
		}
	}
	return sum
}

// Refund gives back a part of what a completed order cost, or with 0 all that is left of it, to the wallet. What was
// bought stays; its time counts as paid by so much less when it is exchanged for another plan. The reason stands on
// the credit note.
func (s *Service) Refund(ctx context.Context, tx *db.Tx, id int64, total money.USDCents, reason string) (sale.Refund, error) {
	o, err := get(ctx, tx, id)
	if err != nil {
		return sale.Refund{}, err
	}
	if o.status != Completed || o.invoiceID == nil {
		return sale.Refund{}, ErrNotRefundable.New()
	}
	leave, err := s.Clocks.Enter(ctx, tx, o.accountID)
	if err != nil {
		return sale.Refund{}, err
	}
	defer leave()
	r, err := s.Books.RefundOrder(ctx, tx, id, total, reason)
	if err != nil {
		return r, err
	}
	err = s.Payer.Refund(ctx, tx, sale.Charge{
		AccountID: o.accountID, Amount: r.Total, Reference: sale.Invoice(r.CreditNote), Description: o.number(), ClientRef: o.clientRef,
	})
	if err == nil {
		o, err = s.givenBack(ctx, tx, id, r.Total)
	}
	if err == nil && o.refunded == o.total {
		err = s.giveBackCoupon(ctx, tx, o)
	}
	if serviceID := o.serviceID(); err == nil && serviceID != nil && o.ofPlans() > 0 {
		err = s.Billing.TakeBack(ctx, tx, *serviceID, id, min(r.Price, o.ofPlans()))
	}
	return r, err
}

// givenBack notes what was given back of a completed order, tells of it and answers the order.
func (s *Service) givenBack(ctx context.Context, tx *db.Tx, id int64, total money.USDCents) (order, error) {
	if err := addRefunded(ctx, tx, id, total); err != nil {
		return order{}, err
	}
	o, err := get(ctx, tx, id)
	if err != nil {
		return order{}, err
	}
	before := map[string]any{"refunded": money.Wire(money.WithCurrency(ctx, money.USD), o.refunded-total)}
	return o, s.tell(ctx, tx, "order.refunded", o, before)
}
