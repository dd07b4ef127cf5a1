package webui

import (
	"context"
	"net/http"

	"stead.dev/stead/internal/platform/fault"
)

// Services shows what a visitor has.
type Services interface {
	// Hosting lists the hosting services of an account that are not over.
	Hosting(ctx context.Context, accountID int64) ([]Hosting, error)
}

// Hosting is one hosting service of a visitor's.
type Hosting struct {
	ID     int64
	Name   string // its label, or its domain
	Domain string
	Status string // of resources, section 11
}

func (ui *UI) serviceRoutes(mux *http.ServeMux) {
	if ui.Services == nil {
		return
	}
	ui.handle(mux, "GET /account/services", ui.requireSession(ui.showServices))
	// A password is shown, and a terminal opened, to whoever proved lately who it is.
	recent := func(pattern string, page http.HandlerFunc) { ui.handle(mux, pattern, ui.requireRecent(page)) }
	if ui.Credentials != nil {
		recent("GET /account/services/{service}/credentials", ui.ofService(ui.showCredentials))
		recent("POST /account/services/{service}/credentials/{credential}/reveal", ui.ofService(ui.revealCredential))
		recent("POST /account/services/{service}/credentials/{credential}/reset", ui.ofService(ui.resetCredential))
	}
	if ui.Terminals != nil {
		recent("GET /account/services/{service}/terminal", ui.showTerminal)
		recent("POST /account/services/{service}/terminal/ticket", ui.terminalTicket)
		ui.handle(mux, "GET /account/services/{service}/terminal/socket", ui.requireSession(ui.terminalSocket))
	}
}

// servicesData is what the page "services" shows.
type servicesData struct {
	Services []Hosting
	// Credentials and Terminal tell which pages each service has.
	Credentials, Terminal bool
}

func (ui *UI) showServices(w http.ResponseWriter, r *http.Request) {
	all, err := ui.Services.Hosting(r.Context(), ui.session(r).Account.ID)
	if err != nil {
		ui.fail(w, r, err)
		return
	}
	ui.render(w, r, http.StatusOK, "services", servicesData{Services: all, Credentials: ui.Credentials != nil, Terminal: ui.Terminals != nil})
}

// hosting finds the visitor's service that the address names.
func (ui *UI) hosting(r *http.Request) (Hosting, error) {
	id, err := pathID(r, "service")
	if err != nil {
		return Hosting{}, err
	}
	all, err := ui.Services.Hosting(r.Context(), ui.session(r).Account.ID)
	if err != nil {
		return Hosting{}, err
	}
	for _, h := range all {
		if h.ID == id {
			return h, nil
		}
	}
	return Hosting{}, fault.NotFound.New()
}
