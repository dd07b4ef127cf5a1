package admin

import (
	"context"
	"strings"

	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/money"
)

// Refunds refunds orders.
type Refunds interface {
	// Refund refunds a part of a completed order to the wallet, or with 0 all that is left.
	Refund(ctx context.Context, orderID int64, total money.USDCents, reason string) (Refund, error)
}

// Refund is the result of a refund.
type Refund struct {
	OrderID      int64          `json:"order_id"`
	CreditNoteID int64          `json:"credit_note_id"`
	Amount       money.USDCents `json:"amount_usd_cents"`
}

// maxReason bounds the reason on a credit note.
const maxReason = 200

// RefundOrder refunds a part of an order to its buyer's wallet; nil means all that is left. The reason is printed on
// the credit note.
func (a *Admin) RefundOrder(ctx context.Context, orderID int64, amount *money.USDCents, reason string) (Refund, error) {
	if reason = strings.Join(strings.Fields(reason), " "); reason == "" || len(reason) > maxReason {
		return Refund{}, fault.Validation.Wrapf("a refund has a reason of at most %d bytes, which stands on the credit note", maxReason)
	}
	if amount == nil {
		return a.Refunds.Refund(ctx, orderID, 0, reason)
	}
	if *amount <= 0 {
		return Refund{}, fault.Validation.Wrapf("an amount is more than nothing")
	}
	return a.Refunds.Refund(ctx, orderID, *amount, reason)
}
