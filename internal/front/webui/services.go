package webui

import (
	"context"
	"fmt"
	"net/http"
	"net/url"

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
	if ui.Services == nil {
		return
	}
	if ui.Credentials != nil {
		ui.handle(mux, "GET /account/services/{service}/credentials", ui.requireRecent(ui.ofService(ui.showCredentials)))
		for what, page := range map[string]credentialsPage{"reveal": ui.revealCredential, "reset": ui.resetCredential} {
			path := "/account/services/{service}/credentials/{credential}/" + what
			ui.handle(mux, "POST "+path, ui.requireRecentForm(ui.ofService(page)))
			ui.handle(mux, "GET "+path, func(w http.ResponseWriter, r *http.Request) {
				ui.redirect(w, r, fmt.Sprintf("/account/services/%s/credentials", url.PathEscape(r.PathValue("service"))))
			})
		}
	}
	if ui.Terminals != nil {
		ui.handle(mux, "POST "+panelPath+"/services/{service}/terminal/ticket", ui.requireOwner(ui.terminalTicket))
		ui.handle(mux, "GET "+panelPath+"/services/{service}/terminal/socket", ui.requireOwner(ui.terminalSocket))
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
