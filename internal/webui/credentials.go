package webui

import (
	"fmt"
	"net/http"
	"slices"
	"time"

	"stead.dev/stead/internal/credentials"
)

// credentialsData is what the pages "credentials", of a visitor's own service, and "client" show.
type credentialsData struct {
	name, address string // of the page
	accountID     int64  // whose the service is

	Service Hosting
	Until   time.Time // when the visit of a client ends
	// Base begins the addresses of the forms that show a password and replace it.
	Base string
	List []credentials.Credential
	// Shown is the one whose password is shown this once.
	Shown    credentials.Credential
	Password string
}

// credentialsPage answers about the credentials of one service, to who may see them.
type credentialsPage func(w http.ResponseWriter, r *http.Request, d credentialsData)

// ofService has page answer for the visitor's service that the address names.
func (ui *UI) ofService(page credentialsPage) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		h, err := ui.hosting(r)
		if err != nil {
			ui.fail(w, r, err)
			return
		}
		address := fmt.Sprintf("/account/services/%d/credentials", h.ID)
		page(w, r, credentialsData{
			name: "credentials", address: address, accountID: ui.session(r).Account.ID, Service: h, Base: address,
		})
	}
}

func (ui *UI) showCredentials(w http.ResponseWriter, r *http.Request, d credentialsData) {
	var err error
	if d.List, err = ui.Credentials.List(r.Context(), d.accountID, d.Service.ID); err != nil {
		ui.fail(w, r, err)
		return
	}
	if i := slices.IndexFunc(d.List, func(c credentials.Credential) bool { return c.ID == d.Shown.ID }); i >= 0 {
		d.Shown = d.List[i]
	}
	ui.render(w, r, http.StatusOK, d.name, d)
}

// revealCredential answers the page itself: a password is in no redirect, cookie or address.
func (ui *UI) revealCredential(w http.ResponseWriter, r *http.Request, d credentialsData) {
	id, err := pathID(r, "credential")
	if err == nil {
		d.Shown, d.Password, err = ui.Credentials.Reveal(r.Context(), d.accountID, d.Service.ID, id)
	}
	if err != nil {
		ui.fail(w, r, err)
		return
	}
	ui.showCredentials(w, r, d)
}

func (ui *UI) resetCredential(w http.ResponseWriter, r *http.Request, d credentialsData) {
	id, err := pathID(r, "credential")
	if err == nil {
		_, err = ui.Credentials.Reset(r.Context(), d.accountID, d.Service.ID, id)
	}
	ui.done(w, r, err, "webui.flash.credential_replaced", d.address)
}
