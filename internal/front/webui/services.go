package webui

import (
	"context"
	"net/http"

	"stead.dev/stead/internal/commerce/services"
)

// Services finds a visitor's services.
type Services interface {
	// OneHosting finds one of the live hosting services of an account, or returns fault.NotFound.
	OneHosting(ctx context.Context, accountID, id int64) (Hosting, error)
}

// Hosting is one hosting service of a visitor's.
type Hosting = services.Own

func (ui *UI) serviceRoutes(mux *http.ServeMux) {
	if ui.Services == nil || ui.Terminals == nil {
		return
	}
	const terminal = "/services/{service}/terminal"
	ui.handle(mux, "POST "+panelPath+terminal+"/ticket", ui.terminalTicket(ui.ownerTyping))
	ui.handle(mux, "GET "+panelPath+terminal+"/socket", ui.terminalSocket(ui.ownerTyping))
	if ui.Clients != nil {
		ui.handle(mux, "POST "+clientPath+terminal+"/ticket", ui.terminalTicket(ui.clientTyping))
		ui.handle(mux, "GET "+clientPath+terminal+"/socket", ui.terminalSocket(ui.clientTyping))
	}
}

// hosting finds the visitor's service that the address names.
func (ui *UI) hosting(r *http.Request) (Hosting, error) {
	id, err := pathID(r, "service")
	if err != nil {
		return Hosting{}, err
	}
	return ui.Services.OneHosting(r.Context(), ui.session(r).Account.ID, id)
}
