package webui

import (
	"fmt"
	"net/http"
	"slices"
	"time"

	"stead.dev/stead/internal/hosting/credentials"
)

// credentialsData is the data of the pages "credentials", of a visitor's own service, and "client".
type credentialsData struct {
	name, address string // of the page
	accountID     int64  // the owner of the service

	Service Hosting
	Until   time.Time // when the visit of a client ends
	// Base is the prefix of the addresses of the forms that show a password and replace it.
	Base string
	List []credentials.Credential
	// Shown is the credential whose password is shown this once.
	Shown    credentials.Credential
	Password string
}

// credentialsPage handles a request for the credentials of one service, after authorization.
type credentialsPage func(w http.ResponseWriter, r *http.Request, d credentialsData)

// ofService calls page with the visitor's service that the address names.
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

// revealCredential writes the page itself: a password is in no redirect, cookie or address.
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
