package catalog

import (
	"context"
	"fmt"

	"stead.dev/stead/internal/platform/i18n"
	"stead.dev/stead/internal/platform/money"
)

// Shown is a product as the shop front shows it, in the language and the display currency of the context.
type Shown struct {
	Name, Description string
	Features          []string
	Plans             []ShownPlan
}

// ShownPlan is a plan with its periods, one at least, the shortest first.
type ShownPlan struct {
	ID      int64
	Slug    string
	Name    string
	Periods []ShownPeriod
	Limits  Limits
	// Uptime is what the plan promises, in percent of a month; empty when it promises nothing.
	Uptime string
}

// ShownPeriod is what a plan costs for a number of months.
type ShownPeriod struct {
	Months int
	Price  money.Money
	// FirstPeriod is the price of the first period where it differs.
	FirstPeriod *money.Money
	// Month is the price of one month of the period, rounded half up.
	Month money.Money
	// SavedPercent is how much less a month costs than in the shortest period, in whole percent, rounded down.
	SavedPercent int
}

// First is the price of the first period.
func (p ShownPeriod) First() money.Money {
	if p.FirstPeriod != nil {
		return *p.FirstPeriod
	}
	return p.Price
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
			one := ShownPlan{ID: pl.ID, Slug: pl.Slug, Name: pl.Name.In(lang), Limits: pl.Limits}
			if pl.SLA != nil {
				one.Uptime = pl.SLA.Uptime.String()
			}
			for _, x := range pl.Prices {
				period, err := showPeriod(ctx, x, pl.Prices[0])
				if err != nil {
					return nil, err
				}
				one.Periods = append(one.Periods, period)
			}
			shown.Plans = append(shown.Plans, one)
		}
		if len(shown.Plans) > 0 {
			shelf = append(shelf, shown)
		}
	}
	return shelf, nil
}

// showPeriod shows a price beside that of the shortest period.
func showPeriod(ctx context.Context, p, shortest price) (ShownPeriod, error) {
	month, err := p.Price.MulDiv(1, int64(p.PeriodMonths))
	if err != nil {
		return ShownPeriod{}, fmt.Errorf("catalog: price of a month: %w", err)
	}
	shown := ShownPeriod{
		Months: p.PeriodMonths, Price: money.Wire(ctx, p.Price), FirstPeriod: money.WireOptional(ctx, p.FirstPeriodPrice),
		Month: money.Wire(ctx, month),
	}
	// Both are prices of PeriodMonths months of both periods, so nothing is rounded before the percentage.
	long, short := int64(p.Price)*int64(shortest.PeriodMonths), int64(shortest.Price)*int64(p.PeriodMonths)
	if short > long {
		shown.SavedPercent = int((short - long) * 100 / short)
	}
	return shown, nil
}
