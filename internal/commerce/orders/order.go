package orders

import (
	"fmt"
	"slices"
	"time"

	"stead.dev/stead/internal/commerce/sale"
	"stead.dev/stead/internal/platform/money"
)

// payableFor is how long an order can be paid.
const payableFor = 7 * 24 * time.Hour

// refusal says why an offer cannot be bought, or nil.
func refusal(o sale.Offer) error {
	switch {
	case o.Available:
		return nil
	case o.SoldOut:
		return ErrOutOfStock.New()
	default:
		return ErrPlanUnavailable.New()
	}
}

// charge is the payment of all of an order.
func (o order) charge() sale.Charge {
	return sale.Charge{AccountID: o.accountID, Amount: o.total, Reference: sale.Order(o.id), Description: o.number(), ClientRef: o.clientRef}
}

// returned is what went back to the wallet: all of it when the order could not be carried out.
func (o order) returned() money.USDCents {
	if o.status == Refunded {
		return o.total
	}
	return o.refunded
}

// order is a row of the table orders with its items.
type order struct {
	id, accountID int64
	kind          string
	status        Status
	sums
	refunded             money.USDCents // given back after it was completed
	invoiceID            *int64
	couponCode           *string        // whose discount the items have
	couponDiscount       money.USDCents // a part of the discount
	clientRef            *string        // what the reseller tagged it with when it was made
	failureKey           *string
	idempotencyKeyUsed   bool
	expiresAt, createdAt time.Time
	paidAt, completedAt  *time.Time
	cancelledAt          *time.Time
	items                []item
}

// item is a row of the table orders_items.
type item struct {
	id, orderID                            int64
	kind                                   string
	status                                 string
	title                                  string
	planID                                 *int64
	domain                                 *string
	quantity                               int
	periodMonths                           *int
	unitPrice, setup, discount, tax, total money.USDCents
	taxIncluded                            money.USDCents // a part of the price, while tax is added to it
	serviceID, domainID                    *int64
}

// number is what customers call the order.
func (o order) number() string { return Number(o.id, o.createdAt) }

// Number is what customers call the order of an id, such as ORD-2026-000123.
func Number(id int64, createdAt time.Time) string {
	return fmt.Sprintf("ORD-%d-%06d", createdAt.Year(), id)
}

// serviceID is the service that the order is about, where it is about one.
func (o order) serviceID() *int64 {
	for _, i := range o.items {
		if i.serviceID != nil {
			return i.serviceID
		}
	}
	return nil
}

// move brings an order that is not stored yet, with its items, to a state.
func (o *order) move(to Status) {
	o.status = to
	for n := range o.items {
		o.items[n].status = string(to)
	}
}

// in is the order with its items in another state.
func (o order) in(state Status) order {
	o.items = slices.Clone(o.items)
	o.move(state)
	return o
}

// payable says why the order cannot be paid, or nil.
func (o order) payable(now time.Time) error {
	switch o.status {
	case Pending:
		if now.Before(o.expiresAt) {
			return nil
		}
		return ErrNotPayable.New()
	case Paid, Processing, Completed:
		return ErrAlreadyPaid.New()
	default:
		return ErrNotPayable.New()
	}
}

// newItem prices one plan for one domain. The price that will be paid again is the
// unit price; what the first period is cheaper is a discount.
func newItem(offer sale.Offer, domain string) (item, error) {
	unit, discount := offer.Price, money.USDCents(0)
	if first := offer.FirstPeriodPrice; first != nil {
		if *first < unit {
			discount = unit - *first // both are prices: not negative, so it fits
		} else {
			unit = *first
		}
	}
	total, err := money.Sum(unit, offer.Setup, -discount)
	if err != nil {
		return item{}, fmt.Errorf("orders: price of plan %d: %w", offer.PlanID, err)
	}
	return item{
		kind: "new", status: "pending", title: offer.PlanName, planID: &offer.PlanID, domain: &domain, quantity: 1,
		periodMonths: &offer.PeriodMonths, unitPrice: unit, setup: offer.Setup, discount: discount, total: total,
	}, nil
}
