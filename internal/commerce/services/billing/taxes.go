package billing

import (
	"context"
	"fmt"

	"stead.dev/stead/internal/commerce/sale"
	"stead.dev/stead/internal/commerce/services"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/money"
)

// added is the tax that is added to an account's prices.
func (s *Service) added(ctx context.Context, q db.Querier, accountID int64) (money.Tax, error) {
	by, err := sale.TaxOf(ctx, q, s.Taxes, accountID)
	return money.Tax{BasisPoints: by.AddedBasisPoints()}, err
}

// gross is what an account pays for a price.
func (s *Service) gross(ctx context.Context, q db.Querier, accountID int64, price money.USDCents) (money.USDCents, error) {
	by, err := sale.TaxOf(ctx, q, s.Taxes, accountID)
	if err != nil {
		return 0, err
	}
	return gross(price, by)
}

// gross is a price with the tax that is added to it.
func gross(price money.USDCents, by money.Tax) (money.USDCents, error) {
	added := money.Tax{BasisPoints: by.AddedBasisPoints()}
	on, _, err := added.Of(price)
	if err != nil {
		return 0, err
	}
	return price.Add(on)
}

// Funds reads what an account can spend.
func (s *Service) Funds(ctx context.Context, q db.Querier, accountID int64) (f sale.Funds, err error) {
	if f.Balance, err = s.Balances.Spendable(ctx, q, accountID); err != nil {
		return f, err
	}
	f.Tax, err = s.added(ctx, q, accountID)
	return f, err
}

// RenewalCost is what the renewal of a service costs with the tax on top, in SQL, of which a parameter is the rate.
// It rounds as money.Tax does.
func RenewalCost(parameter int) string {
	return fmt.Sprintf(`(`+services.NextPrice+` + (`+services.NextPrice+` * $%d + 5000) / 10000)`, parameter)
}
