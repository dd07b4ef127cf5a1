package webui

import (
	"context"
	"errors"
	"net/http"
	"time"

	"stead.dev/stead/internal/platform/brand"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/i18n"
)

// ClientVisit is a visit to the pages of one service.
type ClientVisit struct {
	ID                   int64
	AccountID, ServiceID int64
	Name, Domain, Status string      // of the service
	Brand                brand.Brand // the reseller's, of which all may be empty
	Until                time.Time
}

// Clients are people to whom a reseller has given a link to one service. They have no account: their rights are those
// of the visit that the link was exchanged for.
type Clients interface {
	// Link finds the reseller's brand and reports whether a link can still be opened. One that was used has its brand, too.
	Link(ctx context.Context, link string) (b brand.Brand, waits bool, err error)
	// VisitBrand finds the brand of a visit, also of one that is over.
	VisitBrand(ctx context.Context, visit string) (brand.Brand, error)
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

// brandKey is the key of a context with the brand of the page's reseller.
type brandKey struct{}

// branded has the pages that answer a request be in a reseller's brand.
func branded(r *http.Request, b brand.Brand) *http.Request {
	return r.WithContext(context.WithValue(r.Context(), brandKey{}, b))
}

// ended has them be in the brand of a visit that may be over: its cookie opens nothing then, and still says whose pages they
// are. Without one they name nobody.
func (ui *UI) ended(r *http.Request) *http.Request {
	b, err := ui.Clients.VisitBrand(r.Context(), ui.cookie(r, clientCookie))
	if err != nil {
		ui.Log.WarnContext(r.Context(), "a client's page without its brand", "error", err)
	}
	return branded(r, b)
}

// clientCookie is the cookie of a visit; the visitor may also have an account and a session.
const clientCookie = "stead_client"

// showClientLink asks for a click, so that a program that only follows links, such as a mail filter, opens none.
func (ui *UI) showClientLink(w http.ResponseWriter, r *http.Request) {
	b, waits, err := ui.Clients.Link(r.Context(), r.PathValue("link"))
	r = branded(r, b)
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
		if b, _, err := ui.Clients.Link(r.Context(), r.PathValue("link")); err == nil {
			r = branded(r, b)
		}
		ui.failPage(w, r, http.StatusNotFound, "client_link")
	case err != nil:
		ui.fail(w, r, err)
	default:
		ui.setCookie(w, clientCookie, visit, 3600)
		ui.redirect(w, r, clientPath+"/")
	}
}

func (ui *UI) leaveClient(w http.ResponseWriter, r *http.Request) {
	// A page of the panel ends no visit but its own. Forms of other pages name nobody.
	if r.Header.Get(panelHeader) != "" {
		if v, err := ui.Clients.Visit(r.Context(), ui.cookie(r, clientCookie)); err == nil {
			if err := samePage(r, holderOfVisit(v)); err != nil {
				ui.refuse(w, r, err)
				return
			}
		}
	}
	r = ui.ended(r)
	if err := ui.Clients.Leave(r.Context(), ui.cookie(r, clientCookie)); err != nil {
		ui.fail(w, r, err)
		return
	}
	lang := i18n.Lang(r.Context())
	ui.render(w, r, http.StatusOK, "error", errorData{Title: i18n.T(lang, "client.title", nil), Text: i18n.T(lang, "client.left", nil)})
}
