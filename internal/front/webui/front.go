package webui

import "net/http"

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
	ui.render(w, r, http.StatusOK, "front", d)
}
