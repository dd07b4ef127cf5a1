package admin

import (
	"context"
	"errors"
	"strings"
	"unicode/utf8"

	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/money"
)

// Refunds refunds orders.
type Refunds interface {
	// Refund refunds a part of a completed order to the wallet, or with 0 all that is left.
	Refund(ctx context.Context, tx *db.Tx, orderID int64, total money.USDCents, reason string) (Refund, error)
}

// Refund is the result of a refund.
type Refund struct {
	OrderID      int64          `json:"order_id"`
	CreditNoteID int64          `json:"credit_note_id"`
	Amount       money.USDCents `json:"amount_usd_cents"`
}

// maxReason bounds the reason on a credit note, in characters.
const maxReason = 200

// RefundOrder refunds a part of an order to its buyer's wallet; nil means all that is left. The reason is printed on
// the credit note.
func (a *Admin) RefundOrder(ctx context.Context, orderID int64, amount *money.USDCents, reason string) (r Refund, err error) {
	err = a.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		r, err = a.RefundOrderIn(ctx, tx, orderID, amount, reason)
		return err
	})
	return r, err
}

// RefundOrderIn is RefundOrder in a transaction that is open.
func (a *Admin) RefundOrderIn(ctx context.Context, tx *db.Tx, orderID int64, amount *money.USDCents, reason string) (r Refund, err error) {
	if reason = strings.Join(strings.Fields(reason), " "); reason == "" {
		return r, fault.Invalid("reason", "required")
	} else if utf8.RuneCountInString(reason) > maxReason {
		return r, fault.InvalidData("reason", "max_length", map[string]any{"Value": maxReason})
	}
	var part money.USDCents
	if amount != nil {
		if part = *amount; part <= 0 {
			return r, fault.InvalidData("amount_usd_cents", "minimum", map[string]any{"Value": 1})
		}
	}
	buyer, err := a.buyer(ctx, tx, orderID)
	if err != nil {
		return r, err
	}
	s := rowOf("order", "orders", "account_id, kind, status, total, refunded, failure_key", "id", orderID).of(buyer)
	err = a.record(ctx, tx, "order.refund", reason, s, func() error {
		r, err = a.Refunds.Refund(ctx, tx, orderID, part, reason)
		return err
	})
	return r, err
}

func (a *Admin) buyer(ctx context.Context, q db.Querier, orderID int64) (account int64, err error) {
	err = q.QueryRow(ctx, `SELECT account_id FROM orders WHERE id = $1`, orderID).Scan(&account)
	if errors.Is(err, db.ErrNoRows) {
		err = fault.NotFound.New()
	}
	return account, err
}
