package webui

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"

	"stead.dev/stead/internal/commerce/services"
	"stead.dev/stead/internal/platform/fault"
)

// Services lists a visitor's services.
type Services interface {
	// Hosting lists the live hosting services of an account, the newest first: a page of those whose id is below the
	// given one, or of all when it is 0. It reports whether there are more.
	Hosting(ctx context.Context, accountID, below int64) (list []Hosting, more bool, err error)
	// OneHosting finds one of them, or returns fault.NotFound.
	OneHosting(ctx context.Context, accountID, id int64) (Hosting, error)
}

// Hosting is one hosting service of a visitor's.
type Hosting = services.Own

func (ui *UI) serviceRoutes(mux *http.ServeMux) {
	if ui.Services == nil {
		return
	}
	ui.handle(mux, "GET /account/services", ui.requireSession(ui.showServices))
	// Showing a password and opening a terminal need a recent sign-in.
	recent := func(pattern string, page http.HandlerFunc) { ui.handle(mux, pattern, ui.requireRecent(page)) }
	if ui.Credentials != nil {
		recent("GET /account/services/{service}/credentials", ui.ofService(ui.showCredentials))
		for what, page := range map[string]credentialsPage{"reveal": ui.revealCredential, "reset": ui.resetCredential} {
			path := "/account/services/{service}/credentials/{credential}/" + what
			ui.handle(mux, "POST "+path, ui.requireRecentForm(ui.ofService(page)))
			ui.handle(mux, "GET "+path, func(w http.ResponseWriter, r *http.Request) {
				ui.redirect(w, r, fmt.Sprintf("/account/services/%s/credentials", url.PathEscape(r.PathValue("service"))))
			})
		}
	}
	if ui.Terminals != nil {
		recent("GET /account/services/{service}/terminal", ui.showTerminal)
		recent("POST /account/services/{service}/terminal/ticket", ui.terminalTicket)
		ui.handle(mux, "GET /account/services/{service}/terminal/socket", ui.requireSession(ui.terminalSocket))
	}
}

// servicesData is what the page "services" shows.
type servicesData struct {
	Services []serviceRow
	// Credentials says that each service has a page of passwords.
	Credentials bool
	// Older, when not 0, is the id below which the next page begins.
	Older int64
}

type serviceRow struct {
	Hosting
	// Terminal says that one can be opened now.
	Terminal bool
}

func (ui *UI) showServices(w http.ResponseWriter, r *http.Request) {
	account := ui.session(r).Account.ID
	below, err := strconv.ParseInt(cmp.Or(r.URL.Query().Get("below"), "0"), 10, 64)
	if err != nil {
		ui.fail(w, r, fault.NotFound.Wrap(err))
		return
	}
	all, more, err := ui.Services.Hosting(r.Context(), account, below)
	if err != nil {
		ui.fail(w, r, err)
		return
	}
	d := servicesData{Credentials: ui.Credentials != nil}
	for _, h := range all {
		row := serviceRow{Hosting: h}
		if ui.Terminals != nil {
			err := ui.Terminals.CheckTerminal(r.Context(), account, h.ID)
			if err != nil && fault.From(err).Def == fault.Internal {
				ui.fail(w, r, err)
				return
			}
			row.Terminal = err == nil
		}
		d.Services = append(d.Services, row)
		if more {
			d.Older = h.ID
		}
	}
	ui.render(w, r, http.StatusOK, "services", d)
}

// hosting finds the visitor's service that the address names.
func (ui *UI) hosting(r *http.Request) (Hosting, error) {
	id, err := pathID(r, "service")
	if err != nil {
		return Hosting{}, err
	}
	return ui.Services.OneHosting(r.Context(), ui.session(r).Account.ID, id)
}
