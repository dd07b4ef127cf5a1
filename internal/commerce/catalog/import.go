package catalog

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"go.yaml.in/yaml/v3"

	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/i18n"
	"stead.dev/stead/internal/platform/money"
)

// Report counts what an import changed.
type Report struct {
	Categories int `json:"categories"`
	Products   int `json:"products"`
	Plans      int `json:"plans"`
	Addons     int `json:"addons"`
	// Withdrawn are the slugs of plans that the import took off sale.
	Withdrawn []string `json:"withdrawn"`
	// Unfulfillable are plans that nobody can be sold, because no server has what they promise.
	Unfulfillable []Unfulfillable `json:"unfulfillable"`
	// Changes are what becomes different for customers, plan by plan.
	Changes []Change `json:"changes" doc:"What becomes different, plan by plan."`
}

// Unfulfillable is a plan on sale that promises what no server has.
type Unfulfillable struct {
	Plan    string   `json:"plan"`
	Missing []string `json:"missing" doc:"What no server has, such as mail, or php 8.4" example:"mail"`
}

// Import makes the catalog equal to the YAML file. Entries are matched by their slugs, so a repeated import changes nothing.
// What the file does not name is taken off sale. A file with problems is refused as a whole, with a list of all of them
// (Problems).
func (s *Service) Import(ctx context.Context, tx *db.Tx, text []byte) (Report, error) {
	f, err := parse(text)
	if err != nil {
		return Report{}, err
	}
	// The rows are locked first, so that neither another import nor a sale runs at the same time.
	before, err := lockPlansOnSale(ctx, tx)
	if err != nil {
		return Report{}, fmt.Errorf("catalog: lock: %w", err)
	}
	was, err := listProducts(ctx, tx, filter{}, noLimit, 0)
	if err != nil {
		return Report{}, fmt.Errorf("catalog: read what is for sale: %w", err)
	}
	addonsBefore, err := s.Addons(ctx, tx)
	if err != nil {
		return Report{}, fmt.Errorf("catalog: read add-ons: %w", err)
	}
	if err := withdrawAll(ctx, tx); err != nil {
		return Report{}, fmt.Errorf("catalog: withdraw: %w", err)
	}
	report := Report{Withdrawn: []string{}}
	var changes []priceChange
	categories := map[string]int64{}
	for i, c := range f.Categories {
		if categories[c.Slug], err = putCategory(ctx, tx, c.category(), i); err != nil {
			return Report{}, fmt.Errorf("catalog: category %s: %w", c.Slug, err)
		}
		report.Categories++
	}
	for i, a := range f.Addons {
		if err := putAddon(ctx, tx, a.addon(), i); err != nil {
			return Report{}, fmt.Errorf("catalog: add-on %s: %w", a.Key, err)
		}
		report.Addons++
	}
	for i, fp := range f.Products {
		p := fp.product()
		p.CategoryID = categories[fp.Category]
		if p.ID, err = putProduct(ctx, tx, p, i); err != nil {
			return Report{}, fmt.Errorf("catalog: product %s: %w", p.Slug, err)
		}
		report.Products++
		for j, pl := range p.Plans {
			pl.ProductID = p.ID
			changed, err := putPlan(ctx, tx, pl, j)
			if err != nil {
				return Report{}, fmt.Errorf("catalog: plan %s: %w", pl.Slug, err)
			}
			changes = append(changes, changed...)
			report.Plans++
			before = slices.DeleteFunc(before, func(slug string) bool { return slug == pl.Slug })
		}
	}
	report.Withdrawn = append(report.Withdrawn, before...)
	now, err := listProducts(ctx, tx, filter{}, noLimit, 0)
	if err != nil {
		return Report{}, fmt.Errorf("catalog: read what is for sale: %w", err)
	}
	addonsAfter, err := s.Addons(ctx, tx)
	if err != nil {
		return Report{}, fmt.Errorf("catalog: read add-ons: %w", err)
	}
	report.Changes = append(diff(was, now), diffAddons(addonsBefore, addonsAfter)...)
	if err := s.tell(ctx, tx, changes); err != nil {
		return Report{}, fmt.Errorf("catalog: tell of prices: %w", err)
	}
	return report, nil
}

// Export writes what is for sale as the YAML that Import reads.
func (s *Service) Export(ctx context.Context, q db.Querier) ([]byte, error) {
	var f file
	categories, err := listCategories(ctx, q, noLimit, 0)
	if err != nil {
		return nil, fmt.Errorf("catalog: export: %w", err)
	}
	for _, c := range categories {
		f.Categories = append(f.Categories, fileCategory{Slug: c.Slug, Name: text(c.Name), Description: text(c.Description)})
	}
	addons, err := s.Addons(ctx, q)
	if err != nil {
		return nil, fmt.Errorf("catalog: export: %w", err)
	}
	for _, a := range addons {
		f.Addons = append(f.Addons, exportAddon(a))
	}
	products, err := listProducts(ctx, q, filter{}, noLimit, 0)
	if err != nil {
		return nil, fmt.Errorf("catalog: export: %w", err)
	}
	for _, p := range products {
		f.Products = append(f.Products, exportProduct(p))
	}
	var buf bytes.Buffer
	enc := yaml.NewEncoder(&buf)
	enc.SetIndent(2)
	if err := enc.Encode(f); err != nil {
		return nil, fmt.Errorf("catalog: export: %w", err)
	}
	return buf.Bytes(), enc.Close()
}

func (c fileCategory) category() category {
	return category{Slug: c.Slug, Name: i18n.Text(c.Name), Description: i18n.Text(c.Description)}
}

func (fp fileProduct) product() product {
	p := product{
		Slug: fp.Slug, Type: fp.Type, Name: i18n.Text(fp.Name), Description: i18n.Text(fp.Description),
		Features: []i18n.Text{}, Terms: fp.Terms,
	}
	for _, t := range fp.Features {
		p.Features = append(p.Features, i18n.Text(t))
	}
	for _, fpl := range fp.Plans {
		pl := plan{Slug: fpl.Slug, Name: i18n.Text(fpl.Name), Stock: fpl.Stock, OnSale: true, details: details{
			Limits: Limits(fpl.Limits), PHPVersions: fpl.PHPVersions, Addons: fpl.Addons, Locations: fpl.Locations,
			NodeLabels: fpl.NodeLabels,
			UpgradeTo:  fpl.UpgradeTo, DowngradeTo: fpl.DowngradeTo, SLA: fpl.SLA,
		}}
		for _, x := range fpl.Prices {
			pl.Prices = append(pl.Prices, price{
				PeriodMonths: x.Months, Price: money.USDCents(x.Cents), Setup: money.USDCents(x.SetupCents),
				FirstPeriodPrice: (*money.USDCents)(x.FirstPeriodCents),
			})
		}
		p.Plans = append(p.Plans, pl)
	}
	return p
}

func exportProduct(p product) fileProduct {
	fp := fileProduct{
		Slug: p.Slug, Category: p.CategorySlug, Type: p.Type, Name: text(p.Name), Description: text(p.Description),
		Terms: p.Terms,
	}
	for _, t := range p.Features {
		fp.Features = append(fp.Features, text(t))
	}
	for _, pl := range p.Plans {
		fpl := filePlan{
			Slug: pl.Slug, Name: text(pl.Name), Stock: pl.Stock, Limits: fileLimits(pl.Limits), PHPVersions: pl.PHPVersions,
			Addons: pl.Addons, Locations: pl.Locations, NodeLabels: pl.NodeLabels, UpgradeTo: pl.UpgradeTo, DowngradeTo: pl.DowngradeTo, SLA: pl.SLA,
		}
		for _, x := range pl.Prices {
			fpl.Prices = append(fpl.Prices, filePrice{
				Months: x.PeriodMonths, Cents: int64(x.Price), FirstPeriodCents: (*int64)(x.FirstPeriodPrice), SetupCents: int64(x.Setup),
			})
		}
		fp.Plans = append(fp.Plans, fpl)
	}
	return fp
}
