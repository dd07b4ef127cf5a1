package webui

import (
	"context"
	"net/http"
	"net/url"
	"strings"

	"stead.dev/stead/internal/names/domains"
	"stead.dev/stead/internal/platform/api"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/i18n"
)

// DomainShop searches for domains.
type DomainShop interface {
	// Offers checks a name that a visitor typed, or a word in the zones that are sold. Prices are in the context's currency.
	Offers(ctx context.Context, written string) ([]domains.Offer, error)
	// Zones lists the zones that are sold.
	Zones(ctx context.Context) ([]domains.Zone, error)
}

// OrderDomain is the way to the order of a service with a name.
func (v view) OrderDomain(name string) string {
	return v.Order("/panel/order?register=1&domain=" + url.QueryEscape(name))
}

// KnowsReason reports whether there is a text about why a name is not free.
func (view) KnowsReason(reason string) bool {
	return i18n.Has(i18n.Fallback, "webui.domains.reason_"+reason)
}

type domainData struct {
	Question string
	Offers   []domains.Offer
	Zones    []domains.Zone
}

func (ui *UI) domainRoutes(mux *http.ServeMux) {
	if ui.Domains == nil {
		return
	}
	addresses := func(context.Context) ([]address, error) { return []address{{path: "/domains"}}, nil }
	ui.publish(mux, publicKind{api.Domains, "/domains", "webui.domains.link", inHeader, addresses}, map[string]http.HandlerFunc{
		"GET /domains": ui.searchDomains,
	})
}

// searchDomains is the search for domains: a form without scripts, and what it found.
func (ui *UI) searchDomains(w http.ResponseWriter, r *http.Request) {
	lang := i18n.Lang(r.Context())
	d := domainData{Question: strings.TrimSpace(r.URL.Query().Get("name"))}
	if len(d.Question) > 253 {
		ui.fail(w, r, fault.NotFound.New())
		return
	}
	var err error
	if d.Zones, err = ui.Domains.Zones(r.Context()); err != nil {
		ui.fail(w, r, err)
		return
	}
	if d.Question != "" {
		if ui.ThrottleDomains != nil {
			if err := ui.ThrottleDomains(w, r); err != nil {
				ui.fail(w, r, err)
				return
			}
		}
		if d.Offers, err = ui.Domains.Offers(r.Context(), d.Question); err != nil {
			ui.fail(w, r, err)
			return
		}
	}
	ui.renderPublic(w, r, "domains", Meta{
		Title: i18n.T(lang, "webui.domains.title", nil), Description: i18n.T(lang, "webui.domains.lead", nil), Path: "/domains",
		Hidden: d.Question != "",
	}, d)
}
