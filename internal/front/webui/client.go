package webui

import (
	"context"
	"errors"
	"net/http"
	"time"

	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/i18n"
)

// ClientVisit is a visit to the pages of one service.
type ClientVisit struct {
	AccountID, ServiceID int64
	Name, Domain, Status string // of the service
	// Company, Color (#rrggbb) and Support are the reseller's brand; each may be empty.
	Company, Color, Support string
	Until                   time.Time
}

// Clients are people to whom a reseller has given a link to one service. They have no account: their rights are those
// of the visit that the link was exchanged for.
type Clients interface {
	// Waits reports whether a link can still be opened.
	Waits(ctx context.Context, link string) (bool, error)
	// Enter uses a link up and returns the token of the visit; fault.NotFound when it was used, or is too old.
	Enter(ctx context.Context, link string) (visit string, err error)
	// Visit finds a visit; fault.NotFound when it is over.
	Visit(ctx context.Context, visit string) (ClientVisit, error)
	// Leave ends a visit.
	Leave(ctx context.Context, visit string) error
}

func (ui *UI) clientRoutes(mux *http.ServeMux) {
	if ui.Clients == nil || ui.API == nil {
		return
	}
	ui.handle(mux, "GET /client/{link}", ui.showClientLink)
	ui.handle(mux, "POST /client/{link}", ui.enterClient)
	ui.handle(mux, "GET /client", ui.moved(clientPath+"/"))
	ui.handle(mux, "POST /client/leave", ui.leaveClient)
}

// clientCookie is the cookie of a visit; the visitor may also have an account and a session.
const clientCookie = "stead_client"

// showClientLink asks for a click, so that a program that only follows links, such as a mail filter, opens none.
func (ui *UI) showClientLink(w http.ResponseWriter, r *http.Request) {
	waits, err := ui.Clients.Waits(r.Context(), r.PathValue("link"))
	switch {
	case err != nil:
		ui.fail(w, r, err)
	case !waits:
		ui.failPage(w, r, http.StatusNotFound, "client_link")
	default:
		ui.render(w, r, http.StatusOK, "client-enter", r.PathValue("link"))
	}
}

func (ui *UI) enterClient(w http.ResponseWriter, r *http.Request) {
	visit, err := ui.Clients.Enter(r.Context(), r.PathValue("link"))
	switch {
	case errors.Is(err, fault.NotFound):
		ui.failPage(w, r, http.StatusNotFound, "client_link")
	case err != nil:
		ui.fail(w, r, err)
	default:
		ui.setCookie(w, clientCookie, visit, 3600)
		ui.redirect(w, r, clientPath+"/")
	}
}

func (ui *UI) leaveClient(w http.ResponseWriter, r *http.Request) {
	if err := ui.Clients.Leave(r.Context(), ui.cookie(r, clientCookie)); err != nil {
		ui.fail(w, r, err)
		return
	}
	ui.dropCookie(w, clientCookie)
	lang := i18n.Lang(r.Context())
	ui.render(w, r, http.StatusOK, "error", errorData{Title: i18n.T(lang, "client.title", nil), Text: i18n.T(lang, "client.left", nil)})
}
