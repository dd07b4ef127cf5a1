package servicestest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"stead.dev/stead/internal/commerce/sale"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/money"
)

// Balances are what accounts can spend.
type Balances map[int64]money.USDCents

// Spendable implements billing.Balances.
func (b Balances) Spendable(_ context.Context, _ db.Querier, accountID int64) (money.USDCents, error) {
	return b[accountID], nil
}

// Book is an order book in a table of the test's; Broken makes its calls fail.
type Book struct{ Broken error }

// Complete implements services.OrderBook.
func (b *Book) Complete(ctx context.Context, tx *db.Tx, orderID int64) error {
	return b.write(ctx, tx, orderID, "completed")
}

// Fail implements services.OrderBook.
func (b *Book) Fail(ctx context.Context, tx *db.Tx, orderID int64, key string) error {
	return b.write(ctx, tx, orderID, "failed: "+key)
}

func (b *Book) write(ctx context.Context, tx *db.Tx, orderID int64, outcome string) error {
	if b.Broken != nil {
		return b.Broken
	}
	_, err := tx.Exec(ctx, `INSERT INTO test_book (order_id, outcome) VALUES ($1, $2)`, orderID, outcome)
	return err
}

// Till sells until it is told not to; its sales are kept in memory, so a test that
// rolls back looks at the rows instead.
type Till struct {
	Sales []sale.Sale
	Short bool
	Again func() // called once, while money is taken
}

// Sell implements Seller.
func (s *Till) Sell(ctx context.Context, tx *db.Tx, all []sale.Sale) ([]sale.Sold, error) {
	return SellEach(all, func(sold sale.Sale) (int64, error) { return s.sell(ctx, tx, sold) })
}

// SellEach sells one thing after the other. A refusal is told of the sale, any other error of all.
func SellEach(all []sale.Sale, sell func(sale.Sale) (int64, error)) ([]sale.Sold, error) {
	sold := make([]sale.Sold, len(all))
	for i, one := range all {
		id, err := sell(one)
		if err != nil && !errors.Is(err, fault.InsufficientFunds) {
			return nil, err
		}
		sold[i] = sale.Sold{OrderID: id, Refusal: err}
	}
	return sold, nil
}

func (s *Till) sell(_ context.Context, _ *db.Tx, sold sale.Sale) (int64, error) {
	if s.Short {
		return 0, fault.InsufficientFunds.New()
	}
	if f := s.Again; f != nil {
		s.Again = nil
		f()
	}
	s.Sales = append(s.Sales, sold)
	return int64(1000 + len(s.Sales)), nil
}

// Begin implements Seller.
func (s *Till) Begin(ctx context.Context, tx *db.Tx, p sale.Purchase) (int64, error) {
	return s.sell(ctx, tx, sale.Sale{
		AccountID: p.AccountID, ServiceID: p.ServiceID, Kind: p.Kind, Title: p.Title, Domain: p.Domain, PeriodMonths: p.PeriodMonths,
		Price: p.Price, Keyed: p.Keyed, ClientRef: p.ClientRef,
	})
}

// Plans has the plans 3 (499 for a month), 4 (1000), 5 (100, small), 6 (sold out).
type Plans struct{}

// PlanPrices are those for a month.
var PlanPrices = map[int64]money.USDCents{3: 499, 4: 1000, 5: 100, 6: 700}

// Offer implements billing.Plans.
func (Plans) Offer(_ context.Context, _ db.Querier, id int64, months int) (sale.Offer, error) {
	price, ok := PlanPrices[id]
	if !ok || (months != 1 && months != 12) {
		return sale.Offer{}, fault.Invalid("period_months", "value")
	}
	if months == 12 {
		price *= 10
	}
	return sale.Offer{
		PlanID: id, PlanSlug: fmt.Sprint("plan", id), PlanName: fmt.Sprint("Plan ", id), PeriodMonths: months, Price: price,
		Limits: json.RawMessage(fmt.Sprintf(`{"disk_mb":%d,"domains":1}`, price)), Available: id != 6,
	}, nil
}

// Changes implements billing.Plans.
func (p Plans) Changes(ctx context.Context, q db.Querier, id int64, months int) (offers []sale.Offer, err error) {
	for _, other := range []int64{3, 4, 5, 6} {
		if other == id {
			continue
		}
		o, err := p.Offer(ctx, q, other, months)
		if err != nil {
			return nil, err
		}
		offers = append(offers, o)
	}
	return offers, nil
}

// Terms implements services.Plans.
func (Plans) Terms(_ context.Context, _ db.Querier, planIDs []int64) (map[int64]sale.Terms, error) {
	all := map[int64]sale.Terms{}
	for _, id := range planIDs {
		all[id] = sale.DefaultTerms
	}
	return all, nil
}

// Take implements billing.Plans.
func (Plans) Take(_ context.Context, _ *db.Tx, _, id, _ int64) (bool, error) { return id != 6, nil }

// Return implements services.Plans and billing.Plans.
func (Plans) Return(context.Context, *db.Tx, int64, int64) error { return nil }
