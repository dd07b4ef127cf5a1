package webui

import (
	"context"
	"fmt"
	"net/http"

	"stead.dev/stead/internal/credentials"
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
		recent("GET /account/services/{service}/credentials", ui.showCredentials)
		recent("POST /account/services/{service}/credentials/{credential}/reveal", ui.revealCredential)
		recent("POST /account/services/{service}/credentials/{credential}/reset", ui.resetCredential)
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

// credentialsData is what the page "credentials" shows.
type credentialsData struct {
	Service Hosting
	List    []credentials.Credential
	// Shown is the one whose password is shown this once.
	Shown    credentials.Credential
	Password string
}

func (ui *UI) credentialsPage(w http.ResponseWriter, r *http.Request, d credentialsData) {
	var err error
	if d.List, err = ui.Credentials.List(r.Context(), ui.session(r).Account.ID, d.Service.ID); err != nil {
		ui.fail(w, r, err)
		return
	}
	ui.render(w, r, http.StatusOK, "credentials", d)
}

func (ui *UI) showCredentials(w http.ResponseWriter, r *http.Request) {
	h, err := ui.hosting(r)
	if err != nil {
		ui.fail(w, r, err)
		return
	}
	ui.credentialsPage(w, r, credentialsData{Service: h})
}

// revealCredential answers the page itself: a password is in no redirect, cookie or address.
func (ui *UI) revealCredential(w http.ResponseWriter, r *http.Request) {
	d := credentialsData{}
	id, err := pathID(r, "credential")
	if err == nil {
		d.Service, err = ui.hosting(r)
	}
	if err == nil {
		d.Shown, d.Password, err = ui.Credentials.Reveal(r.Context(), ui.session(r).Account.ID, d.Service.ID, id)
	}
	if err != nil {
		ui.fail(w, r, err)
		return
	}
	ui.credentialsPage(w, r, d)
}

func (ui *UI) resetCredential(w http.ResponseWriter, r *http.Request) {
	var h Hosting
	id, err := pathID(r, "credential")
	if err == nil {
		h, err = ui.hosting(r)
	}
	if err == nil {
		_, err = ui.Credentials.Reset(r.Context(), ui.session(r).Account.ID, h.ID, id)
	}
	ui.done(w, r, err, "webui.flash.credential_replaced", fmt.Sprintf("/account/services/%d/credentials", h.ID))
}
