package orders

import (
	"context"
	"fmt"

	"stead.dev/stead/internal/commerce/sale"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/money"
)

// Begin makes an order and sets its money aside, or refuses with insufficient_funds. It answers the
// order's id; the order is in processing.
func (s *Service) Begin(ctx context.Context, tx *db.Tx, p sale.Purchase) (int64, error) {
	p.Quantity = max(1, p.Quantity)
	unit := p.Price / money.USDCents(p.Quantity)
	if p.Price < 0 || unit*money.USDCents(p.Quantity) != p.Price {
		return 0, fmt.Errorf("orders: a purchase of %d for %d", p.Quantity, p.Price)
	}
	leave, err := s.Clocks.Enter(ctx, tx, p.AccountID)
	if err != nil {
		return 0, err
	}
	defer leave()
	by, err := s.tax(ctx, tx, p.AccountID)
	if err != nil {
		return 0, err
	}
	line, err := item{
		kind: p.Kind, status: "pending", title: p.Title, domain: p.Domain, quantity: p.Quantity,
		periodMonths: &p.PeriodMonths, unitPrice: unit, total: p.Price, domainID: db.OrNull(p.DomainID), serviceID: db.OrNull(p.ServiceID),
	}.taxed(by)
	if err != nil {
		return 0, err
	}
	all, err := sumsOf([]item{line})
	if err != nil {
		return 0, err
	}
	id, err := insert(ctx, tx, order{
		accountID: p.AccountID, kind: p.Kind, status: Pending, sums: all, idempotencyKeyUsed: p.Keyed, clientRef: p.ClientRef,
		createdAt: tx.Now, expiresAt: tx.Now.Add(payableFor),
	})
	if err == nil {
		err = insertItems(ctx, tx, []order{{id: id, items: []item{line}}})
	}
	if err != nil {
		return 0, fmt.Errorf("orders: begin: %w", err)
	}
	o, err := s.emitNow(ctx, tx, "order.created", id, nil)
	if err != nil {
		return 0, err
	}
	before := o
	if o, err = s.invoiced(ctx, tx, o, by); err != nil {
		return 0, err
	}
	if o.total > 0 {
		if err := s.Payer.Charge(ctx, tx, o.charge()); err != nil {
			return 0, err
		}
	}
	if o, err = markPaid(ctx, tx, o); err != nil {
		return 0, err
	}
	return id, s.tellChange(ctx, tx, "order.paid", before, o)
}
