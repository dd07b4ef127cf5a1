package webui

import (
	"net/http"

	"stead.dev/stead/internal/platform/i18n"
)

type frontData struct {
	Products []Product
	Demo     *Demo
}

// front is the shop front.
func (ui *UI) front(w http.ResponseWriter, r *http.Request) {
	d := frontData{Demo: ui.Demo}
	if ui.Catalog != nil {
		products, err := ui.Catalog.Shelf(r.Context())
		if err != nil {
			ui.fail(w, r, err)
			return
		}
		d.Products = products
	}
	site := ui.organization()
	site["@context"] = "https://schema.org"
	ui.renderPublic(w, r, "front", Meta{
		Title: i18n.T(i18n.Lang(r.Context()), "webui.front.title", nil), Description: i18n.T(i18n.Lang(r.Context()), "webui.front.lead", nil),
		Path: "/", Data: []any{site},
	}, d)
}
