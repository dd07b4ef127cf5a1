// Package sale defines the values that the sections of commerce pass to each other: offers, purchases, prices, payments and
// what an invoice contains. Each is defined once, so a member that one section adds reaches the others. The package has no
// behaviour of its own, apart from the arithmetic of its values, and imports no section.
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
	// PeriodMonths is paid in advance: Price for each period, FirstPeriodPrice instead for the first one where there is
	// one, and Setup once.
	PeriodMonths     int
	Price            money.USDCents
	FirstPeriodPrice *money.USDCents
	Setup            money.USDCents
	// Limits of the plan, a JSON object of numbers; -1 is no limit.
	Limits json.RawMessage
	// Available offers can be bought. SoldOut tells a plan without stock from one that was taken off sale.
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
	// Limits of the plan, a JSON object of numbers; -1 means no limit. All are stored; those that panel.Limits has are
	// enforced on the hosting account.
	Limits       json.RawMessage
	PeriodMonths int
	RenewPrice   money.USDCents
	// FirstPrice is what the first period costs, without a setup.
	FirstPrice money.USDCents
	// What a reseller noted with the order. AutoRenew is on when it is nil.
	ClientRef *string
	Metadata  map[string]string
	AutoRenew *bool
}

// Takeover is a service that another system has sold, and that goes on here.
type Takeover struct {
	Source, ID string // name of the installation, and the service's id there
	// PaidUntil is the end of the time that is paid there, Paid what a period of it has cost.
	PaidUntil time.Time
	Paid      money.USDCents
	// Suspended is unpaid or manual for a service that is suspended there; empty for one that works.
	Suspended string
}

// Contract holds the terms under which a service was sold.
type Contract struct {
	Status       string
	PlanID       int64
	PeriodMonths int
	ExpiresAt    *time.Time // nil before it was provisioned
	Domain       *string
	ClientRef    *string // the reseller's own tag
}

// Sale is a purchase for a service that takes effect in the same commit, such as its renewal.
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

// Sold is what came of a Sale: its order, or why it was refused.
type Sold struct {
	OrderID int64
	Refusal error // insufficient_funds; nil: it is paid
}

// Renewal asks for what is renewed with a service.
type Renewal struct {
	AccountID, ServiceID int64
	Months               int
	Own                  bool // they are the service's own period, at the prices that it was sold for
}

// Extra is an add-on that is renewed with the service, as a line of the order.
type Extra struct {
	Title     string
	Quantity  int
	UnitPrice money.USDCents // of one, for the period
}

// PaidTime is a time of a service and what was really paid for it, without tax and add-ons.
type PaidTime struct {
	Start, End time.Time
	Amount     money.USDCents
	OrderID    int64 // that paid it; 0: none of ours
}

// Purchase is something that is paid now and delivered by a job.
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

// Discounted is a purchase to which a coupon may apply.
type Discounted struct {
	AccountID             int64
	PlanSlug, ProductSlug string
	PeriodMonths          int
	Price                 money.USDCents // of the first period, without the setup
	Wholesale             bool           // the account pays wholesale
}

// Reference names what a movement of money is for, such as an order. Its type is one of resources, section 4.
type Reference struct {
	Type string
	ID   int64
}

// Order is the reference to an order.
func Order(id int64) Reference { return Reference{Type: "order", ID: id} }

// Invoice is the reference to an invoice or a credit note.
func Invoice(id int64) Reference { return Reference{Type: "invoice", ID: id} }

// AgentRun is the reference to a run of the AI agent.
func AgentRun(id int64) Reference { return Reference{Type: "ai_run", ID: id} }

// Charge is money to be held for a purchase.
type Charge struct {
	AccountID int64
	Amount    money.USDCents
	Reference Reference
	// Description is shown in the history; empty means the text of the type.
	Description string
	// ClientRef is the tag that the reseller gave to the purchase.
	ClientRef *string
}

// Receipt holds what the confirmation of a top-up contains.
type Receipt struct {
	AccountID   int64
	Gateway     string
	Amount, Fee money.USDCents
	// TakenBack is the amount that the gateway took back, of the amount and the fee together.
	TakenBack money.USDCents
}

// Bill holds the data of an order that its invoice contains.
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

// Usage is what an account has used in a time that is over, and has paid already when it used it.
type Usage struct {
	AccountID int64
	Lines     []UsageLine
}

// UsageLine is what was used of one kind, for one service.
type UsageLine struct {
	Kind   string // of the line on the invoice
	Title  string // what the kind's text needs: of KindAIUsage the month, such as 2026-10
	Domain string // name of the service; empty without one
	Amount money.USDCents
}

// KindAIUsage is the kind of the lines for the work of the AI agent.
const KindAIUsage = "ai_usage"

// Refund is the part of an order's price that was given back.
type Refund struct {
	CreditNote   int64
	Total, Price money.USDCents // with the tax that was added, and without
}
