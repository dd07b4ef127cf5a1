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

// selling is a sale on its way to its order.
type selling struct {
	sale.Sale
	order
	by      money.Tax
	back    money.USDCents           // given back to the wallet
	byOrder map[int64]money.USDCents // of which orders it is
}

// Sell makes orders, pays them from their wallets and completes them. It returns for each its order, or why it was
// refused: with insufficient_funds, of which nothing is written. Sales of one wallet are paid in their order. All
// accounts have the same time; where there are several, the caller has entered it.
func (s *Service) Sell(ctx context.Context, tx *db.Tx, sales []sale.Sale) ([]sale.Sold, error) {
	leave, err := s.Clocks.Enter(ctx, tx, sales[0].AccountID)
	if err != nil {
		return nil, err
	}
	defer leave()
	all, err := s.drafts(ctx, tx, sales)
	if err != nil {
		return nil, err
	}
	for _, x := range all {
		// Before the wallet: so everybody locks invoices.
		if x.back = x.Credit; x.back > 0 {
			if x.back, x.byOrder, err = s.Books.CreditService(ctx, tx, x.AccountID, x.ServiceID, x.Credit); err != nil {
				return nil, err
			}
		}
	}
	refused, err := s.payNow(ctx, tx, all)
	if err != nil {
		return nil, err
	}
	sold := make([]sale.Sold, len(all))
	var paid []*selling
	for i, x := range all {
		if sold[i].Refusal = refused[i]; refused[i] == nil {
			sold[i].OrderID, paid = x.id, append(paid, x)
		}
	}
	if len(paid) == 0 {
		return sold, nil
	}
	if err := s.record(ctx, tx, paid); err != nil {
		return nil, fmt.Errorf("orders: sell: %w", err)
	}
	for _, x := range paid {
		if err := s.refundCredit(ctx, tx, x); err != nil {
			return nil, err
		}
	}
	return sold, nil
}

// drafts are sales as the orders that they become, which are completed when this transaction commits. Nobody ever reads
// such an order in another state, so it is written as it will be; the events tell of the states on the way.
func (s *Service) drafts(ctx context.Context, tx *db.Tx, sales []sale.Sale) ([]*selling, error) {
	accounts := make([]int64, len(sales))
	for i, sold := range sales {
		accounts[i] = sold.AccountID
	}
	taxes, err := s.Taxes.Taxes(ctx, tx, accounts)
	if err != nil {
		return nil, err
	}
	ids, err := nextIDs(ctx, tx, len(sales))
	if err != nil {
		return nil, err
	}
	now := tx.Now
	all := make([]*selling, len(sales))
	for i, sold := range sales {
		x := &selling{Sale: sold, by: taxes[sold.AccountID]}
		lines, err := itemsOf(sold)
		if err == nil {
			lines, err = taxed(lines, x.by)
		}
		var total sums
		if err == nil {
			total, err = sumsOf(lines)
		}
		if err != nil {
			return nil, err
		}
		x.order = order{
			id: ids[i], accountID: sold.AccountID, kind: sold.Kind, sums: total, idempotencyKeyUsed: sold.Keyed, clientRef: sold.ClientRef, items: lines,
			createdAt: now, expiresAt: now.Add(payableFor), paidAt: &now, completedAt: &now,
		}
		x.move(Completed)
		all[i] = x
	}
	return all, nil
}

// payNow pays orders from their wallets, and returns for each why it was refused.
func (s *Service) payNow(ctx context.Context, tx *db.Tx, all []*selling) ([]error, error) {
	refused := make([]error, len(all))
	var (
		charges []sale.Charge
		of      []int
	)
	for i, x := range all {
		if x.total > 0 {
			charges, of = append(charges, x.charge()), append(of, i)
		}
	}
	if len(charges) == 0 {
		return refused, nil
	}
	refusals, err := s.Payer.Pay(ctx, tx, charges)
	for n, refusal := range refusals {
		refused[of[n]] = refusal
	}
	return refused, err
}

// record writes paid orders with their items and their invoices, and tells that each was made, paid and completed.
func (s *Service) record(ctx context.Context, tx *db.Tx, all []*selling) error {
	invoices, err := s.Books.NextIDs(ctx, tx, len(all))
	if err != nil {
		return err
	}
	orders := make([]order, len(all))
	for i, x := range all {
		if x.total > 0 {
			x.invoiceID = db.OrNull(invoices[i])
		}
		orders[i] = x.order
	}
	if err := insertAll(ctx, tx, orders); err != nil {
		return err
	}
	if err := insertItems(ctx, tx, orders); err != nil {
		return err
	}
	var bills []sale.Bill
	for i, o := range orders {
		if o.invoiceID != nil {
			bills = append(bills, o.bill(all[i].by))
		}
		if err := s.tellSold(ctx, tx, o); err != nil {
			return err
		}
	}
	if len(bills) == 0 {
		return nil
	}
	return s.Books.Invoice(ctx, tx, bills)
}

// tellSold tells of the states through which an order went at once.
func (s *Service) tellSold(ctx context.Context, tx *db.Tx, o order) error {
	pending := o.in(Pending)
	pending.paidAt, pending.completedAt, pending.invoiceID = nil, nil, nil
	if err := s.tell(ctx, tx, "order.created", pending, nil); err != nil {
		return err
	}
	paid := o.in(Processing)
	paid.completedAt = nil
	if err := s.tellChange(ctx, tx, "order.paid", pending, paid); err != nil {
		return err
	}
	return s.tellChange(ctx, tx, "order.completed", paid, o)
}

// refundCredit gives back what a sale credits. It is no longer spent: who rewards spending hears of it.
func (s *Service) refundCredit(ctx context.Context, tx *db.Tx, x *selling) error {
	if x.back == 0 {
		return nil
	}
	charge := x.charge()
	charge.Amount = x.back
	if err := s.Payer.Refund(ctx, tx, charge); err != nil {
		return err
	}
	for _, id := range slices.Sorted(maps.Keys(x.byOrder)) {
		if _, err := s.givenBack(ctx, tx, id, x.byOrder[id]); err != nil {
			return err
		}
	}
	return nil
}
