// Package sale has the values that the sections of commerce hand each other: what is offered, what is bought, what it
// costs, how it is paid and what its invoice says. Each stands here once, so that a member which one section adds is
// there for the next one too. It has no behaviour of its own and knows no section.
package sale

import (
	"encoding/json"
	"time"

	"stead.dev/stead/internal/platform/money"
)

// Offer is a plan at the price of one period, as the catalogue sells it now.
type Offer struct {
	PlanID   int64
	PlanSlug string
	// PlanName and ProductName are in the language of the caller's context.
	PlanName    string
	ProductID   int64
	ProductSlug string
	ProductName string
	ProductType string
	// PeriodMonths is paid at once: Price each period, FirstPeriodPrice in its
	// place for the first one when there is one, and Setup once.
	PeriodMonths     int
	Price            money.USDCents
	FirstPeriodPrice *money.USDCents
	Setup            money.USDCents
	// Limits of the plan, a JSON object of numbers; -1 is no limit.
	Limits json.RawMessage
	// Available offers can be bought. SoldOut says why one cannot, where it is
	// not because the plan was taken off sale.
	Available bool
	SoldOut   bool
}

// Terms say how long each stage in the life of a product's services takes, in days.
type Terms struct {
	RenewBefore int // before a service expires, its renewal is tried for the first time
	Grace       int // after it expired, it stays online
	Suspended   int // after it was suspended for not being paid, it ends
	Kept        int // after it ended, its final backup is kept and it can be restored
}

// DefaultTerms are those of a product that names none (resources, section 1).
var DefaultTerms = Terms{RenewBefore: 3, Grace: 3, Suspended: 14, Kept: 30}

// Reservation is the service that an order is for.
type Reservation struct {
	AccountID int64
	OrderID   int64
	Type      string // the product's: "hosting"
	Label     string // empty: the domain
	Domain    string // lower-case ASCII
	PlanID    int64
	PlanSlug  string
	PlanName  string
	// Limits of the plan, a JSON object of numbers; -1 is no limit. The members that
	// panel.Limits has bound the account; all are kept.
	Limits       json.RawMessage
	PeriodMonths int
	RenewPrice   money.USDCents
	// FirstPrice is what the first period costs, without a setup.
	FirstPrice money.USDCents
	// What a reseller notes of it; AutoRenew nil is yes.
	ClientRef *string
	Metadata  map[string]string
	AutoRenew *bool
}

// Contract is what a service was sold as.
type Contract struct {
	Status       string
	PlanID       int64
	PeriodMonths int
	ExpiresAt    *time.Time // nil before it was provisioned
	Domain       *string
	ClientRef    *string // the reseller's own tag
}

// Sale is something that is bought for a service and done in the same commit, such
// as its renewal.
type Sale struct {
	AccountID, ServiceID int64
	Kind                 string // renewal or tariff_change (resources, section 2)
	Title                string
	Domain               *string
	PlanID               int64
	PeriodMonths         int
	Price                money.USDCents
	Discount             money.USDCents // at most the price
	Credit               money.USDCents // given back to the wallet, above the discount
	Keyed                bool           // the request bore an Idempotency-Key
	ClientRef            *string        // of the service
	Extras               []Extra        // further lines of the order, above the price
}

// Extra is a line beside the plan: an add-on that is renewed with the service.
type Extra struct {
	Title     string
	Quantity  int
	UnitPrice money.USDCents // of one, for the period
}

// Purchase is something that is paid now and made by a job.
type Purchase struct {
	AccountID    int64
	Kind         string // resources, section 2
	Title        string
	Domain       *string
	DomainID     int64 // 0: it is about no registered domain, and so is ServiceID
	ServiceID    int64
	PeriodMonths int
	Quantity     int            // 0: one
	Price        money.USDCents // of all of them
	Keyed        bool           // the request bore an Idempotency-Key
	ClientRef    *string
}

// Discounted is what a coupon is to take something off.
type Discounted struct {
	AccountID             int64
	PlanSlug, ProductSlug string
	PeriodMonths          int
	Price                 money.USDCents // of the first period, without the setup
	Wholesale             bool           // the account pays wholesale
}

// Reference is what a movement of money is about, such as an order. Its type is one
// of resources, section 4.
type Reference struct {
	Type string
	ID   int64
}

// Order is the reference to an order.
func Order(id int64) Reference { return Reference{Type: "order", ID: id} }

// Invoice is the reference to an invoice or a credit note.
func Invoice(id int64) Reference { return Reference{Type: "invoice", ID: id} }

// Charge is money set aside for something bought.
type Charge struct {
	AccountID int64
	Amount    money.USDCents
	Reference Reference
	// Description is shown in the history; empty means the type's own words.
	Description string
	// ClientRef is the tag that a reseller gave to what it buys.
	ClientRef *string
}

// Receipt is what there is to confirm of a top-up.
type Receipt struct {
	AccountID   int64
	Gateway     string
	Amount, Fee money.USDCents
	// TakenBack is what the gateway took back of both.
	TakenBack money.USDCents
}

// Bill is an order as its invoice tells of it.
type Bill struct {
	InvoiceID                                         int64 // 0: it is not paid
	AccountID, OrderID                                int64
	Number                                            string // of the order
	ServiceID                                         *int64
	Tax                                               money.Tax
	Lines                                             []Line
	Subtotal, Discount, TaxAdded, TaxContained, Total money.USDCents
}

// Line is an item of a bill.
type Line struct {
	Kind, Title, Domain                         string
	PeriodMonths, Quantity                      int
	UnitPrice, Setup, Discount, TaxAdded, Total money.USDCents
}

// Refund is what was given back of an order.
type Refund struct {
	CreditNote   int64
	Total, Price money.USDCents // with the tax that was added, and without
}
