// Package gateway is the port to payment gateways, which take a customer's money for a top-up of the wallet.
//
// An adapter knows its provider and nothing of the wallet: it starts a payment and reports its result as Events. The
// wallet checks every event against its own record before it credits money, and treats a repeated event as the same
// one. Adapters are in demo, bank and stripe; all of them pass the tests of package gatewaytest.
package gateway

import (
	"context"
	"errors"
	"net/http"
	"time"

	"stead.dev/stead/internal/platform/money"
)

// Kind is how a gateway takes money (resources, section 5).
type Kind string

// The kinds.
const (
	KindRedirect     Kind = "redirect"
	KindCard         Kind = "card"
	KindBankTransfer Kind = "bank_transfer"
	KindCrypto       Kind = "crypto"
)

// Info describes a gateway. Its name is the text `gateway.<key>.name`.
type Info struct {
	Key        string
	Kind       Kind
	Currencies []string
	IconURL    string
	// Min and Max bound the amount of one top-up.
	Min, Max money.USDCents
	// The fee is paid on top of the amount.
	FeeBasisPoints int64
	FeeFixed       money.USDCents
	// Lifetime is how long an unpaid top-up waits.
	Lifetime time.Duration
	// Simulated gateways move no money.
	Simulated bool
}

// Fee is what a top-up of amount costs on top.
func (i Info) Fee(amount money.USDCents) (money.USDCents, error) {
	part, err := amount.MulDiv(i.FeeBasisPoints, 10_000)
	if err != nil {
		return 0, err
	}
	return part.Add(i.FeeFixed)
}

// Topup is the payment that the customer is to make.
type Topup struct {
	// ID is ours; an adapter gives it to the provider as the idempotency key, so that starting twice makes one payment.
	ID          int64
	Amount, Fee money.USDCents
	Total       money.USDCents // Amount + Fee
	// PageURL is the payment page to which the customer returns. It is a secret between us, the customer and the
	// provider.
	PageURL string
	// Language is the customer's, the same at every start of one top-up.
	Language string
	// Save asks to keep the means of payment for later; only for Saving gateways.
	Save bool
}

// Started is a payment that the customer can make: at URL, or on a page of ours
// with the content of Page.
type Started struct {
	// Reference is the provider's name of the payment; events have it.
	Reference string
	URL       string
	Page      *Page
	// ExpiresAt, when not zero, is until when the provider accepts the money.
	ExpiresAt time.Time
}

// Page is shown to the customer; texts are ids of the catalogue.
type Page struct {
	Text    string
	Lines   []Line
	Actions []Action
}

// Line is a value that the customer needs, such as an account number.
type Line struct{ Label, Value string }

// Action is a button. Its name comes back to Acting.Act.
type Action struct{ Name, Label string }

// Gateway is the minimum of every adapter. Optional interfaces are found by type assertion.
type Gateway interface {
	Info() Info
	// Start begins the payment, or returns the one begun before for the same top-up. ErrUnavailable: the provider
	// cannot do it now.
	Start(ctx context.Context, t Topup) (Started, error)
}

// Acting gateways have buttons on their page.
type Acting interface {
	Gateway
	// Act returns the result of the customer's button; ErrInvalid for an action that the page does not have.
	Act(ctx context.Context, t Topup, action string) (Event, error)
}

// Notifying gateways get webhooks about payments from their provider.
type Notifying interface {
	Gateway
	// Webhook parses a notification. It returns ErrSignature when the notification is not proved to come from the
	// provider, and no events when it does not concern us.
	Webhook(h http.Header, body []byte) ([]Event, error)
}

// Method is a means of payment that a gateway keeps for a customer.
type Method struct {
	// Reference is the gateway's name of it.
	Reference string
	// Label is what the customer knows it by, such as "Visa 4242"; it may be empty.
	Label string
}

// Saving gateways keep means of payment, and charge them without the customer.
type Saving interface {
	Gateway
	// FindSaved returns the result of an earlier attempt to charge a method for the top-up; false when there was none.
	FindSaved(ctx context.Context, t Topup, method string) (Event, bool, error)
	// ChargeSaved charges a method with the top-up's total. Repeated for the same top-up it returns the same payment.
	// After an error the outcome is unknown: FindSaved finds it.
	ChargeSaved(ctx context.Context, t Topup, method string) (Event, error)
}

// EventKind is what happened to a payment.
type EventKind string

// The kinds of events.
const (
	Waiting     EventKind = "waiting" // promised and on its way, as bank debits are for days
	Succeeded   EventKind = "succeeded"
	Failed      EventKind = "failed"
	Cancelled   EventKind = "cancelled"
	Expired     EventKind = "expired"
	Refunded    EventKind = "refunded"
	ChargedBack EventKind = "charged_back"
)

// Event is what happened to a payment. It is found by TopupID and Reference, or
// by Payment.
type Event struct {
	Kind      EventKind
	TopupID   int64
	Reference string
	// Payment is the provider's name of the money itself, where later refunds
	// and disputes name that and not the Reference.
	Payment string
	// Dispute of ChargedBack is the provider's name of the dispute: a payment may have several, each of a part.
	Dispute string
	// Total is the amount paid; of Refunded, the amount refunded so far; of ChargedBack, the amount taken.
	Total    money.USDCents
	Currency string // ISO 4217, upper case
	// FailureKey of Failed is the reason, such as declined.
	FailureKey string
	// Method of Succeeded is the saved means of payment, when the top-up asked to save it.
	Method *Method
}

// The failures of adapters.
var (
	ErrUnavailable = errors.New("gateway: not available now")
	ErrSignature   = errors.New("gateway: the notification is not signed by the provider")
	ErrInvalid     = errors.New("gateway: the request makes no sense")
)
