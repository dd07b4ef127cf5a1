package orders

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"stead.dev/stead/internal/commerce/sale"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/money"
)

// extraItem is what is sold beside the plan, as an item of the order.
func extraItem(e sale.Extra, sold sale.Sale) (item, error) {
	total, err := e.UnitPrice.Mul(int64(e.Quantity))
	return item{
		kind: "addon", status: "pending", title: e.Title, domain: sold.Domain, quantity: e.Quantity, periodMonths: &sold.PeriodMonths,
		unitPrice: e.UnitPrice, total: total, serviceID: &sold.ServiceID,
	}, err
}

// itemsOf are the items of a sale, the plan first.
func itemsOf(sold sale.Sale) ([]item, error) {
	total := sold.Price - sold.Discount
	if sold.Discount < 0 || total < 0 || sold.Credit < 0 {
		return nil, fmt.Errorf("orders: a sale of %d less %d, with %d back", sold.Price, sold.Discount, sold.Credit)
	}
	all := []item{{
		kind: sold.Kind, status: "pending", title: sold.Title, planID: &sold.PlanID, domain: sold.Domain, quantity: 1,
		periodMonths: &sold.PeriodMonths, unitPrice: sold.Price, discount: sold.Discount, total: total, serviceID: &sold.ServiceID,
	}}
	for _, e := range sold.Extras {
		line, err := extraItem(e, sold)
		if err != nil {
			return nil, fmt.Errorf("orders: price of %q: %w", e.Title, err)
		}
		all = append(all, line)
	}
	return all, nil
}

// Sell makes an order, pays it from the wallet and completes it, or refuses with
// insufficient_funds. It answers the order's id.
func (s *Service) Sell(ctx context.Context, tx *db.Tx, sold sale.Sale) (int64, error) {
	leave, err := s.Clocks.Enter(ctx, tx, sold.AccountID)
	if err != nil {
		return 0, err
	}
	defer leave()
	lines, err := itemsOf(sold)
	if err != nil {
		return 0, err
	}
	by, err := s.tax(ctx, tx, sold.AccountID)
	if err == nil {
		lines, err = taxed(lines, by)
	}
	if err != nil {
		return 0, err
	}
	all, err := sumsOf(lines)
	if err != nil {
		return 0, err
	}
	back, byOrder := sold.Credit, map[int64]money.USDCents(nil)
	if back > 0 {
		// Before the wallet: so everybody locks invoices.
		if back, byOrder, err = s.Books.CreditService(ctx, tx, sold.AccountID, sold.ServiceID, sold.Credit); err != nil {
			return 0, err
		}
	}
	if all.total > 0 { // before anything is written: one that is not paid costs those nothing who are sold at once with it
		if err := s.Payer.Covers(ctx, tx, sold.AccountID, all.total); err != nil {
			return 0, err
		}
	}
	o, err := s.begun(ctx, tx, order{
		accountID: sold.AccountID, kind: sold.Kind, sums: all, idempotencyKeyUsed: sold.Keyed, clientRef: sold.ClientRef, items: lines,
	})
	if err != nil {
		return 0, err
	}
	charge := o.charge()
	if o.total > 0 {
		if err := s.Payer.Pay(ctx, tx, charge); err != nil {
			return 0, err
		}
	}
	if err := s.ended(ctx, tx, o, by); err != nil {
		return 0, err
	}
	if charge.Amount = back; back > 0 {
		err = s.Payer.Refund(ctx, tx, charge)
	}
	// It is no longer spent: who rewards spending hears of it.
	for _, id := range slices.Sorted(maps.Keys(byOrder)) {
		if err == nil {
			_, err = s.givenBack(ctx, tx, id, byOrder[id])
		}
	}
	return o.id, err
}

// begun writes an order that is completed when this transaction commits, and tells that it was made. Nobody ever reads
// it in another state, so it is written as it will be; the events tell of the states on the way.
func (s *Service) begun(ctx context.Context, tx *db.Tx, o order) (order, error) {
	now := tx.Now
	o.createdAt, o.expiresAt, o.paidAt, o.completedAt = now, now.Add(payableFor), &now, &now
	o.move(Completed)
	var err error
	if o.invoiceID, err = s.nextInvoice(ctx, tx, o); err == nil {
		o.id, err = insert(ctx, tx, o)
	}
	if err == nil {
		err = insertItems(ctx, tx, o.id, o.items)
	}
	if err != nil {
		return o, fmt.Errorf("orders: sell: %w", err)
	}
	pending := o.in(Pending)
	pending.paidAt, pending.completedAt, pending.invoiceID = nil, nil, nil
	return o, s.tell(ctx, tx, "order.created", pending, nil)
}

// ended tells that an order of begun was paid and completed, and has its invoice made.
func (s *Service) ended(ctx context.Context, tx *db.Tx, o order, by money.Tax) error {
	if o.invoiceID != nil {
		if err := s.Books.Invoice(ctx, tx, o.bill(by)); err != nil {
			return err
		}
	}
	paid := o.in(Processing)
	paid.completedAt = nil
	if err := s.tell(ctx, tx, "order.paid", paid, map[string]any{"status": Pending}); err != nil {
		return err
	}
	return s.tell(ctx, tx, "order.completed", o, map[string]any{"status": Processing})
}
