package admin

import (
	"context"
	"strings"

	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/money"
)

// Refunds give money back.
type Refunds interface {
	// Refund gives back a part of what a completed order cost, or with 0 all that is left of it, to the wallet.
	Refund(ctx context.Context, orderID int64, total money.USDCents, reason string) (Refund, error)
}

// Refund is what was given back of an order.
type Refund struct {
	OrderID      int64          `json:"order_id"`
	CreditNoteID int64          `json:"credit_note_id"`
	Amount       money.USDCents `json:"amount_usd_cents"`
}

// maxReason bounds what stands on a credit note.
const maxReason = 200

// RefundOrder gives money of an order back to its buyer's wallet; nil is all that is left of it. The reason stands on
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
