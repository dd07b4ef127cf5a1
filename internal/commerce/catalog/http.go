package catalog

import (
	"context"
	"net/http"
	"slices"

	"stead.dev/stead/internal/platform/api"
	"stead.dev/stead/internal/platform/auth"
	"stead.dev/stead/internal/platform/i18n"
	"stead.dev/stead/internal/platform/money"
	"stead.dev/stead/internal/platform/page"
)

// Operations of the section (specification, "Catalog").
func (s *Service) Operations() []api.Route {
	return []api.Route{
		// Specification, "Catalog": GET /api/v1/catalog.
		api.Operation[catalogIn, page.List[productWire]]{
			ID: "catalog.list", Method: http.MethodGet, Path: "/api/v1/catalog", Section: api.Catalog, Auth: api.AnyToken,
			Summary: "Products with their plans and prices", Handle: s.list,
			Description: "What is for sale now, in the operator's order. Each product holds its plans, each plan its prices per " +
				"period: `price` every period, `first_period_price` in its place for the first one, `setup` once. " +
				"Prices are those that the token's account pays: a reseller sees its own, which have no `first_period_price`. " +
				"Limits of -1 are unlimited.",
		},
		// Specification, "Catalog": GET /api/v1/categories.
		api.Operation[categoriesIn, page.List[categoryWire]]{
			ID: "catalog.categories", Method: http.MethodGet, Path: "/api/v1/categories", Section: api.Catalog, Auth: api.AnyToken,
			Description: "The groups in which products are shown, in the operator's order, with titles in the language of the request. " +
				"Filter the catalogue by `slug`.",
			Summary: "Categories of products", Handle: s.categories,
		},
	}
}

type catalogIn struct {
	page.Params
	Category string `query:"category" maxLength:"64" doc:"Only products of the category with this slug."`
	Type     string `query:"type" maxLength:"32" doc:"Only products of this type, such as hosting."`
}

type categoriesIn struct{ page.Params }

func (s *Service) list(ctx context.Context, p auth.Principal, in *catalogIn) (*page.List[productWire], error) {
	f := filter{category: in.Category, typ: in.Type}
	total, err := countProducts(ctx, s.DB, f)
	if err != nil {
		return nil, err
	}
	products, err := listProducts(ctx, s.DB, f, in.Limit(), in.Offset())
	if err != nil {
		return nil, err
	}
	discount, wholesale, err := s.Rates.Wholesale(ctx, s.DB, p.AccountID)
	if err != nil {
		return nil, err
	}
	rows := make([]productWire, len(products))
	for i, p := range products {
		rows[i] = wireProduct(ctx, p.at(discount, wholesale))
	}
	return page.Of(in.Params, total, rows), nil
}

func (s *Service) categories(ctx context.Context, _ auth.Principal, in *categoriesIn) (*page.List[categoryWire], error) {
	total, err := countCategories(ctx, s.DB)
	if err != nil {
		return nil, err
	}
	categories, err := listCategories(ctx, s.DB, in.Limit(), in.Offset())
	if err != nil {
		return nil, err
	}
	rows := make([]categoryWire, len(categories))
	for i, c := range categories {
		rows[i] = categoryWire{
			ID: c.ID, Slug: c.Slug, Name: c.Name.Wire(ctx), Description: c.Description.Wire(ctx),
			Position: in.Offset() + i + 1, ProductCount: c.Products,
		}
	}
	return page.Of(in.Params, total, rows), nil
}

type categoryWire struct {
	ID           int64           `json:"id"`
	Slug         string          `json:"slug"`
	Name         i18n.Translated `json:"name"`
	Description  i18n.Translated `json:"description"`
	Position     int             `json:"position" doc:"Place in the list, from 1."`
	ProductCount int             `json:"product_count" doc:"Products for sale."`
}

type productWire struct {
	productHead
	Plans []planWire `json:"plans"`
}

// productHead has the members of a product that customers and resellers both see.
type productHead struct {
	ID          int64             `json:"id"`
	Slug        string            `json:"slug"`
	Name        i18n.Translated   `json:"name"`
	Description i18n.Translated   `json:"description"`
	CategoryID  int64             `json:"category_id"`
	Type        string            `json:"type" doc:"What is sold: hosting, wordpress, vps, reseller, ssl, domain_parking; others may come."`
	Features    []i18n.Translated `json:"features"`
	Terms       termsWire         `json:"terms"`
}

// termsWire is what becomes of a service that is not renewed.
type termsWire struct {
	GraceDays     int `json:"grace_days" doc:"How long a service stays online after its paid time" example:"3"`
	SuspendedDays int `json:"suspended_days" doc:"How long it is suspended afterwards, until it ends" example:"14"`
	KeptDays      int `json:"kept_days" doc:"How long its final backup is kept after it ended, so that it can be restored" example:"30"`
}

type planWire struct {
	ID     int64           `json:"id" doc:"The plan_id of orders."`
	Slug   string          `json:"slug"`
	Name   i18n.Translated `json:"name"`
	Prices []priceWire     `json:"prices"`
	planTail
}

// planTail has the members of a plan, after its prices, that customers and resellers both see.
type planTail struct {
	Limits      Limits   `json:"limits" doc:"-1 is unlimited."`
	PHPVersions []string `json:"php_versions"`
	Addons      []string `json:"addons" doc:"Keys of extras that can be attached."`
	Stock       *int64   `json:"stock" doc:"How many are left; null is no bound."`
	Available   bool     `json:"available" doc:"Whether it can be ordered now."`
	Locations   []string `json:"locations" doc:"Where it is sold; empty is anywhere."`
	UpgradeTo   []string `json:"upgrade_to" doc:"Slugs of plans."`
	DowngradeTo []string `json:"downgrade_to" doc:"Slugs of plans."`
	// SLA is null when the plan promises nothing.
	SLA *promiseWire `json:"sla" doc:"The uptime that the plan promises; null when it promises none."`
}

type priceWire struct {
	PeriodMonths     int          `json:"period_months"`
	Price            money.Money  `json:"price" doc:"Of every period."`
	FirstPeriodPrice *money.Money `json:"first_period_price" doc:"Of the first period in place of price; null when it costs the same."`
	Setup            money.Money  `json:"setup" doc:"Paid once, with the first period."`
}

// at is the product at the prices of a reseller, which are lower by a discount in hundredths of a percent and the same for
// every period.
func (p product) at(discount int, wholesale bool) product {
	if !wholesale {
		return p
	}
	p.Plans = slices.Clone(p.Plans)
	for i := range p.Plans {
		prices := slices.Clone(p.Plans[i].Prices)
		for n, x := range prices {
			prices[n].Price, prices[n].Setup, prices[n].FirstPeriodPrice = x.Price.Less(discount), x.Setup.Less(discount), nil
		}
		p.Plans[i].Prices = prices
	}
	return p
}

func wireProduct(ctx context.Context, p product) productWire {
	w := productWire{productHead: headOf(ctx, p), Plans: []planWire{}}
	for _, pl := range p.Plans {
		w.Plans = append(w.Plans, wirePlan(ctx, pl))
	}
	return w
}

func headOf(ctx context.Context, p product) productHead {
	terms := p.Terms.orDefault()
	h := productHead{
		ID: p.ID, Slug: p.Slug, Name: p.Name.Wire(ctx), Description: p.Description.Wire(ctx), CategoryID: p.CategoryID,
		Type: p.Type, Features: []i18n.Translated{},
		Terms: termsWire{GraceDays: terms.Grace, SuspendedDays: terms.Suspended, KeptDays: terms.Kept},
	}
	for _, f := range p.Features {
		h.Features = append(h.Features, f.Wire(ctx))
	}
	return h
}

func wirePlan(ctx context.Context, p plan) planWire {
	w := planWire{ID: p.ID, Slug: p.Slug, Name: p.Name.Wire(ctx), Prices: []priceWire{}, planTail: tailOf(p)}
	for _, x := range p.Prices {
		w.Prices = append(w.Prices, priceWire{
			PeriodMonths: x.PeriodMonths, Price: money.Wire(ctx, x.Price),
			FirstPeriodPrice: money.WireOptional(ctx, x.FirstPeriodPrice), Setup: money.Wire(ctx, x.Setup),
		})
	}
	return w
}

func tailOf(p plan) planTail {
	return planTail{
		Limits: p.Limits, PHPVersions: list(p.PHPVersions), Addons: list(p.Addons), Stock: p.left(), Available: p.OnSale && !p.soldOut(),
		Locations: list(p.Locations), UpgradeTo: list(p.UpgradeTo), DowngradeTo: list(p.DowngradeTo),
		SLA: p.SLA.wire(),
	}
}

// list makes sure that a list is never null in JSON.
func list(items []string) []string {
	if items == nil {
		return []string{}
	}
	return items
}
