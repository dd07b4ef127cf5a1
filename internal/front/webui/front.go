package webui

import (
	"context"
	"net/http"
	"net/url"
	"strconv"

	"stead.dev/stead/internal/commerce/catalog"
	"stead.dev/stead/internal/content/articles"
	"stead.dev/stead/internal/platform/api"
	"stead.dev/stead/internal/platform/i18n"
	"stead.dev/stead/internal/platform/page"
)

type frontData struct {
	Products []catalog.Shown
	Demo     *Demo
	// Domains reports whether there is a search for domains; Question is what its field begins with.
	Domains   bool
	Question  string
	Questions []articleRow
}

// questionsShown bounds the articles that the shop front links to.
const questionsShown = 6

// front is the shop front.
func (ui *UI) front(w http.ResponseWriter, r *http.Request) {
	d := frontData{Demo: ui.Demo, Domains: ui.Domains != nil && ui.enabled(api.Domains)}
	if ui.Catalog != nil {
		products, err := ui.Catalog.Shelf(r.Context())
		if err != nil {
			ui.fail(w, r, err)
			return
		}
		d.Products = products
	}
	var err error
	if d.Questions, err = ui.frontQuestions(r.Context()); err != nil {
		ui.fail(w, r, err)
		return
	}
	site := ui.organization()
	site["@context"] = "https://schema.org"
	ui.renderPublic(w, r, "front", Meta{
		Title: i18n.T(i18n.Lang(r.Context()), "webui.front.title", nil), Description: i18n.T(i18n.Lang(r.Context()), "webui.front.lead", nil),
		Path: "/", Data: []any{site},
	}, d)
}

// frontQuestions are the first articles of the knowledge base for newcomers.
func (ui *UI) frontQuestions(ctx context.Context) ([]articleRow, error) {
	if ui.Articles == nil || !ui.enabled(api.Content) {
		return nil, nil
	}
	lang := i18n.Lang(ctx)
	all, _, err := ui.Articles.List(ctx, articles.Listing{
		Kind: articles.Help, Category: "getting-started", Lang: lang, Params: page.Params{Page: 1, PerPage: questionsShown},
	})
	if err != nil {
		return nil, err
	}
	rows := make([]articleRow, len(all))
	for i, a := range all {
		rows[i] = rowOf(a, lang)
	}
	return rows, nil
}

// OrderPlan is the way to the order of a plan for a number of months; 0 is its shortest period.
func (v view) OrderPlan(slug string, months int) string {
	query := url.Values{"plan": {slug}}
	if months > 0 {
		query.Set("period", strconv.Itoa(months))
	}
	return v.Order("/panel/order?" + query.Encode())
}

// Order is the way to an address of the panel at which something is ordered: a visitor without a session registers first, and
// comes there then.
func (v view) Order(address string) string {
	if v.Session != nil {
		return address
	}
	return "/register?next=" + url.QueryEscape(address)
}

// Limit shows a limit of a plan.
func (v view) Limit(n int64) string {
	switch {
	case n < 0:
		return i18n.T(v.Lang, "webui.front.unlimited", nil)
	case n == 0:
		return "–"
	default:
		return strconv.FormatInt(n, 10)
	}
}

// Space shows a limit in megabytes.
func (v view) Space(mb int64) string {
	switch {
	case mb <= 0:
		return v.Limit(mb)
	case mb%1024 == 0:
		return i18n.T(v.Lang, "webui.front.gb", map[string]any{"Size": mb / 1024})
	default:
		return i18n.T(v.Lang, "webui.front.mb", map[string]any{"Size": mb})
	}
}

// Traffic shows a limit in gigabytes.
func (v view) Traffic(gb int64) string {
	if gb <= 0 {
		return v.Limit(gb)
	}
	return i18n.T(v.Lang, "webui.front.gb", map[string]any{"Size": gb})
}

// comparedLimit is a row of the table that compares plans.
type comparedLimit struct {
	Label  string
	Values []string
}

// Comparison compares plans, one row for each limit.
func (v view) Comparison(plans []catalog.ShownPlan) []comparedLimit {
	rows := []struct {
		label string
		of    func(p catalog.ShownPlan) string
	}{
		{"disk", func(p catalog.ShownPlan) string { return v.Space(p.Limits.DiskMB) }},
		{"traffic", func(p catalog.ShownPlan) string { return v.Traffic(p.Limits.BandwidthGB) }},
		{"sites", func(p catalog.ShownPlan) string { return v.Limit(p.Limits.Sites) }},
		{"domains", func(p catalog.ShownPlan) string { return v.Limit(p.Limits.Domains) }},
		{"databases", func(p catalog.ShownPlan) string { return v.Limit(p.Limits.Databases) }},
		{"mailboxes", func(p catalog.ShownPlan) string { return v.Limit(p.Limits.Mailboxes) }},
		{"ftp", func(p catalog.ShownPlan) string { return v.Limit(p.Limits.FTPAccounts) }},
		{"cron", func(p catalog.ShownPlan) string { return v.Limit(p.Limits.CronJobs) }},
		{"backups", func(p catalog.ShownPlan) string { return v.Limit(p.Limits.Backups) }},
		{"memory", func(p catalog.ShownPlan) string { return v.Space(p.Limits.MemoryMB) }},
		{"monitors", func(p catalog.ShownPlan) string { return v.Limit(p.Limits.Monitors) }},
		{"uptime", func(p catalog.ShownPlan) string {
			if p.Uptime == "" {
				return "–"
			}
			return p.Uptime + " %"
		}},
	}
	table := make([]comparedLimit, len(rows))
	for i, row := range rows {
		table[i].Label = i18n.T(v.Lang, "webui.front.limit_"+row.label, nil)
		for _, p := range plans {
			table[i].Values = append(table[i].Values, row.of(p))
		}
	}
	return table
}
