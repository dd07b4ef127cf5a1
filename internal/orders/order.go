package orders

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"stead.dev/stead/internal/platform/money"
)

// payableFor is how long an order can be paid.
const payableFor = 7 * 24 * time.Hour

// Offer is a plan at the price of one period, as the catalogue sells it now.
type Offer struct {
	PlanID       int64
	PlanSlug     string
	ProductSlug  string
	PlanName     string // in the language of the caller's context
	ProductType  string
	PeriodMonths int
	Price        money.USDCents
	// FirstPeriodPrice stands in the place of Price for the first period.
	FirstPeriodPrice *money.USDCents
	Setup            money.USDCents
	// Limits of the plan, as JSON; orders hand them on as they are.
	Limits    json.RawMessage
	Available bool
	SoldOut   bool
}

// refusal says why an offer cannot be bought, or nil.
func (o Offer) refusal() error {
	switch {
	case o.Available:
		return nil
	case o.SoldOut:
		return ErrOutOfStock.New()
	default:
		return ErrPlanUnavailable.New()
	}
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
func (o order) number() string {
	return fmt.Sprintf("ORD-%d-%06d", o.createdAt.Year(), o.id)
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
func newItem(offer Offer, domain string) (item, error) {
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
