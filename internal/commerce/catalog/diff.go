package catalog

import (
	"encoding/json"
	"fmt"

	"stead.dev/stead/internal/platform/money"
)

// Change is one thing that an import makes different: of a plan, or of one of its prices.
type Change struct {
	Plan         string          `json:"plan" doc:"Slug of the plan, or of a product for what all its plans have; key of an add-on."`
	What         string          `json:"what" enum:"plan_new,plan_withdrawn,price_new,price_withdrawn,price,first_period_price,setup,stock,limit,detail,texts,addon"`
	Name         string          `json:"name,omitempty" doc:"Of a limit or detail, such as disk_mb."`
	PeriodMonths int             `json:"period_months,omitempty" doc:"Of a price."`
	WasCents     *money.USDCents `json:"was_usd_cents" doc:"Of a price."`
	NowCents     *money.USDCents `json:"now_usd_cents" doc:"Of a price."`
	Was          string          `json:"was,omitempty" doc:"Of anything else; a limit of -1 is none."`
	Now          string          `json:"now,omitempty"`
	// Services are set by those who know them.
	Services int64 `json:"services" doc:"Services that live on the plan and, of a price, pay for the period. They keep what they have until they change their plan or period; orders get what is new at once."`
}

// plansOf are the plans of products, in their order.
func plansOf(products []product) (all []plan) {
	for _, p := range products {
		all = append(all, p.Plans...)
	}
	return all
}

// diff compares what is for sale before and after an import.
func diff(productsBefore, productsAfter []product) []Change {
	before, was := plansOf(productsBefore), map[string]plan{}
	for _, p := range before {
		was[p.Slug] = p
	}
	all := append([]Change{}, diffProducts(productsBefore, productsAfter)...)
	for _, now := range plansOf(productsAfter) {
		old, known := was[now.Slug]
		delete(was, now.Slug)
		if !known {
			all = append(all, Change{Plan: now.Slug, What: "plan_new"})
		}
		all = append(all, diffPrices(now.Slug, old.Prices, now.Prices)...)
		if known {
			all = append(all, diffDetails(old, now)...)
		}
	}
	for _, p := range before {
		if _, gone := was[p.Slug]; gone {
			all = append(all, Change{Plan: p.Slug, What: "plan_withdrawn"})
		}
	}
	return all
}

func diffPrices(slug string, was, now []price) (all []Change) {
	old := map[int]price{}
	for _, p := range was {
		old[p.PeriodMonths] = p
	}
	for _, n := range now {
		w, known := old[n.PeriodMonths]
		delete(old, n.PeriodMonths)
		add := func(what string, was, now *money.USDCents) {
			if (was == nil) != (now == nil) || was != nil && *was != *now {
				all = append(all, Change{Plan: slug, What: what, PeriodMonths: n.PeriodMonths, WasCents: was, NowCents: now})
			}
		}
		if !known {
			add("price_new", nil, &n.Price)
			continue
		}
		add("price", &w.Price, &n.Price)
		add("first_period_price", w.FirstPeriodPrice, n.FirstPeriodPrice)
		add("setup", &w.Setup, &n.Setup)
	}
	for _, w := range was {
		if _, gone := old[w.PeriodMonths]; gone {
			all = append(all, Change{Plan: slug, What: "price_withdrawn", PeriodMonths: w.PeriodMonths, WasCents: &w.Price})
		}
	}
	return all
}

// comparer adds to all what differs of a plan or a product.
func comparer(all *[]Change, slug string) func(what, name string, before, after any) {
	return func(what, name string, before, after any) {
		if w, n := written(before), written(after); w != n {
			*all = append(*all, Change{Plan: slug, What: what, Name: name, Was: w, Now: n})
		}
	}
}

func diffDetails(was, now plan) (all []Change) {
	add := comparer(&all, now.Slug)
	limits := map[string]int64{}
	was.Limits.each(func(name string, value int64) { limits[name] = value })
	now.Limits.each(func(name string, value int64) { add("limit", name, limits[name], value) })
	add("stock", "", was.Stock, now.Stock)
	add("detail", "php_versions", was.PHPVersions, now.PHPVersions)
	add("detail", "addons", was.Addons, now.Addons)
	add("detail", "locations", was.Locations, now.Locations)
	add("detail", "node_labels", was.NodeLabels.List(), now.NodeLabels.List())
	add("detail", "upgrade_to", was.UpgradeTo, now.UpgradeTo)
	add("detail", "downgrade_to", was.DowngradeTo, now.DowngradeTo)
	add("detail", "sla", was.SLA, now.SLA)
	add("texts", "name", was.Name, now.Name)
	return all
}

// diffProducts compares what all plans of a product have, for products that stay.
func diffProducts(before, after []product) (all []Change) {
	old := map[string]product{}
	for _, p := range before {
		old[p.Slug] = p
	}
	for _, now := range after {
		was, known := old[now.Slug]
		if !known {
			continue
		}
		add := comparer(&all, now.Slug)
		add("detail", "terms", was.Terms, now.Terms)
		add("texts", "name", was.Name, now.Name)
		add("texts", "description", was.Description, now.Description)
		add("texts", "features", was.Features, now.Features)
	}
	return all
}

// diffAddons compares the add-ons that are for sale, whole.
func diffAddons(before, after []Addon) (all []Change) {
	was := map[string]string{}
	for _, a := range before {
		was[a.Key] = written(exportAddon(a))
	}
	for _, a := range after {
		if now := written(exportAddon(a)); now != was[a.Key] {
			all = append(all, Change{Plan: a.Key, What: "addon", Was: was[a.Key], Now: now})
		}
		delete(was, a.Key)
	}
	for _, a := range before {
		if text, gone := was[a.Key]; gone {
			all = append(all, Change{Plan: a.Key, What: "addon", Was: text})
		}
	}
	return all
}

// written is a value as staff read it: a number as it is, nothing as an empty text, and else JSON.
func written(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	switch string(text) {
	case "null", "[]", "{}":
		return ""
	}
	return string(text)
}
