package orders

import (
	"context"

	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/money"
)

// Line is what a plan costs an account now.
type Line struct {
	Title                                  string // in the language of the context
	PlanID                                 int64
	PeriodMonths                           int
	UnitPrice, Setup, Discount, Tax, Total money.USDCents
}

// Quote prices a plan as an order of it would be priced, or refuses as that would. 0 months are the
// plan's shortest period.
func (s *Service) Quote(ctx context.Context, q db.Querier, accountID, planID int64, months int) (Line, error) {
	offer, err := s.offer(ctx, q, wish{accountID: accountID, planID: planID, months: months})
	if err == nil {
		err = refusal(offer)
	}
	if err != nil {
		return Line{}, err
	}
	i, err := newItem(offer, "")
	if err != nil {
		return Line{}, err
	}
	by, err := s.tax(ctx, q, accountID)
	if err == nil {
		i, err = i.taxed(by)
	}
	return Line{
		Title: i.title, PlanID: offer.PlanID, PeriodMonths: offer.PeriodMonths, UnitPrice: i.unitPrice, Setup: i.setup,
		Discount: i.discount, Tax: i.tax, Total: i.total,
	}, err
}
