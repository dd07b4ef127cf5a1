package catalog

import (
	"context"

	"stead.dev/stead/internal/platform/i18n"
	"stead.dev/stead/internal/platform/money"
)

// Shown is a product as the shop front shows it, in the language and the display currency of the context.
type Shown struct {
	Name, Description string
	Features          []string
	Plans             []ShownPlan
}

// ShownPlan is a plan for its shortest period.
type ShownPlan struct {
	ID           int64
	Name         string
	PeriodMonths int
	Price        money.Money
	// FirstPeriod is the price of the first period where it differs.
	FirstPeriod *money.Money
	Limits      Limits
}

// Shelf lists the products that can be bought now, in the catalog's order. Products that are sold out are left out.
func (s *Service) Shelf(ctx context.Context) ([]Shown, error) {
	products, err := listProducts(ctx, s.DB, filter{}, noLimit, 0)
	if err != nil {
		return nil, err
	}
	lang := i18n.Lang(ctx)
	var shelf []Shown
	for _, p := range products {
		shown := Shown{Name: p.Name.In(lang), Description: p.Description.In(lang)}
		for _, f := range p.Features {
			shown.Features = append(shown.Features, f.In(lang))
		}
		for _, pl := range p.Plans {
			if pl.soldOut() || len(pl.Prices) == 0 {
				continue
			}
			shortest := pl.Prices[0]
			shown.Plans = append(shown.Plans, ShownPlan{
				ID: pl.ID, Name: pl.Name.In(lang), PeriodMonths: shortest.PeriodMonths, Limits: pl.Limits,
				Price: money.Wire(ctx, shortest.Price), FirstPeriod: money.WireOptional(ctx, shortest.FirstPeriodPrice),
			})
		}
		if len(shown.Plans) > 0 {
			shelf = append(shelf, shown)
		}
	}
	return shelf, nil
}
