package catalog

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/i18n"
	"stead.dev/stead/internal/platform/labels"
	"stead.dev/stead/internal/platform/money"
	"stead.dev/stead/internal/platform/page"
)

// ResoldProduct is a product as a reseller sees it.
type ResoldProduct struct {
	productHead
	Plans []ResoldPlan `json:"plans"`
}

// ResoldPlan is a plan with what a reseller pays for it.
type ResoldPlan struct {
	ID        int64           `json:"id" doc:"The plan_id of services."`
	Slug      string          `json:"slug"`
	Name      i18n.Translated `json:"name"`
	ProductID int64           `json:"product_id"`
	Prices    []ResoldPrice   `json:"prices"`
	planTail
}

// ResoldPrice is the price of a period for the reseller, and for everybody else.
type ResoldPrice struct {
	PeriodMonths           int          `json:"period_months"`
	Wholesale              money.Money  `json:"wholesale" doc:"What you pay for every period."`
	WholesaleSetup         money.Money  `json:"wholesale_setup" doc:"What you pay once, with the first period."`
	Retail                 money.Money  `json:"retail" doc:"What the catalogue asks of customers."`
	RetailFirstPeriodPrice *money.Money `json:"retail_first_period_price" doc:"Of customers' first period in place of retail; resellers have no such promotion."`
	RetailSetup            money.Money  `json:"retail_setup"`
}

func resoldProduct(ctx context.Context, p product, discount int) ResoldProduct {
	w := ResoldProduct{productHead: headOf(ctx, p), Plans: []ResoldPlan{}}
	for _, pl := range p.Plans {
		w.Plans = append(w.Plans, resoldPlan(ctx, pl, discount))
	}
	return w
}

func resoldPlan(ctx context.Context, p plan, discount int) ResoldPlan {
	w := ResoldPlan{
		ID: p.ID, Slug: p.Slug, Name: p.Name.Wire(ctx), ProductID: p.ProductID, Prices: []ResoldPrice{}, planTail: tailOf(p),
	}
	for _, x := range p.Prices {
		w.Prices = append(w.Prices, ResoldPrice{
			PeriodMonths: x.PeriodMonths, Wholesale: money.Wire(ctx, x.Price.Less(discount)),
			WholesaleSetup: money.Wire(ctx, x.Setup.Less(discount)), Retail: money.Wire(ctx, x.Price),
			RetailFirstPeriodPrice: money.WireOptional(ctx, x.FirstPeriodPrice), RetailSetup: money.Wire(ctx, x.Setup),
		})
	}
	return w
}

// ResoldFilter says which products a reseller's list shows; empty members show all.
type ResoldFilter struct{ Category, Type string }

// Resold lists one page of the products for sale, at prices that are lower by a discount in hundredths of a percent.
func (s *Service) Resold(ctx context.Context, q db.Querier, discount int, f ResoldFilter, p page.Params) (*page.List[ResoldProduct], error) {
	total, err := countProducts(ctx, q, filter{category: f.Category, typ: f.Type})
	if err != nil {
		return nil, err
	}
	products, err := listProducts(ctx, q, filter{category: f.Category, typ: f.Type}, p.Limit(), p.Offset())
	if err != nil {
		return nil, err
	}
	rows := make([]ResoldProduct, len(products))
	for i, pr := range products {
		rows[i] = resoldProduct(ctx, pr, discount)
	}
	return page.Of(p, total, rows), nil
}

// ResoldPlan finds one plan, whether it is on sale or not: services may still have it. The error is fault.NotFound when it
// does not exist.
func (s *Service) ResoldPlan(ctx context.Context, q db.Querier, discount int, id int64) (*ResoldPlan, error) {
	pl, _, err := findPlan(ctx, q, id)
	if errors.Is(err, db.ErrNoRows) {
		return nil, fault.NotFound.New()
	}
	if err != nil {
		return nil, fmt.Errorf("catalog: read plan %d: %w", id, err)
	}
	w := resoldPlan(ctx, pl, discount)
	return &w, nil
}

// Place is a location with the plans that are for sale there.
type Place struct {
	Name  string
	Plans []int64
}

// Sold is a plan on sale, as what it asks of hosting machines.
type Sold struct {
	ID        int64
	Slug      string
	Limits    map[string]int64
	Locations []string // none: anywhere
	// NodeLabels are asked of nodes.
	NodeLabels labels.Set
	// PHPVersions that customers may choose, by the catalogue; none: those that there are.
	PHPVersions []string
}

func (p *plan) asks() Sold {
	limits := map[string]int64{}
	p.Limits.each(func(name string, value int64) { limits[name] = value })
	return Sold{ID: p.ID, Slug: p.Slug, Limits: limits, Locations: p.Locations, NodeLabels: p.NodeLabels, PHPVersions: p.PHPVersions}
}

// OnSale lists the plans that are on sale.
func (s *Service) OnSale(ctx context.Context, q db.Querier) (all []Sold, err error) {
	products, err := listProducts(ctx, q, filter{}, noLimit, 0)
	for _, p := range products {
		for _, pl := range p.Plans {
			all = append(all, pl.asks())
		}
	}
	return all, err
}

// Places lists the locations that plans on sale name, by name, and the plans that name none and are sold everywhere.
func (s *Service) Places(ctx context.Context, q db.Querier) (places []Place, anywhere []int64, err error) {
	products, err := listProducts(ctx, q, filter{}, noLimit, 0)
	if err != nil {
		return nil, nil, err
	}
	at := map[string][]int64{}
	for _, p := range products {
		for _, pl := range p.Plans {
			for _, l := range pl.Locations {
				at[l] = append(at[l], pl.ID)
			}
			if len(pl.Locations) == 0 {
				anywhere = append(anywhere, pl.ID)
			}
		}
	}
	for name, plans := range at {
		places = append(places, Place{name, plans})
	}
	slices.SortFunc(places, func(a, b Place) int { return strings.Compare(a.Name, b.Name) })
	return places, anywhere, nil
}
