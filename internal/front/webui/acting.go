package webui

import (
	"net/http"
	"time"

	"stead.dev/stead/internal/platform/fault"
)

// enterAsStaff begins the session of a member of staff in a customer's account. The ticket works once, within a minute. Only a
// page of this site may lead here: another could sign its visitors in to an account that it watches.
func (ui *UI) enterAsStaff(w http.ResponseWriter, r *http.Request) {
	if from := r.Header.Get("Sec-Fetch-Site"); from != "" && from != "same-origin" && from != "none" {
		ui.fail(w, r, fault.Forbidden.New())
		return
	}
	own := ui.session(r)
	if own == nil || own.Account.Role == "" {
		ui.fail(w, r, fault.AdminRequired.New())
		return
	}
	out, err := ui.Accounts.Enter(r.Context(), own.Account.ID, r.URL.Query().Get("ticket"), ui.client(r))
	if err != nil {
		ui.fail(w, r, err)
		return
	}
	ui.setCookie(w, staffCookie, ui.cookie(r, sessionCookie), int(own.ExpiresAt.Sub(ui.Clock.Now())/time.Second))
	ui.setSession(w, out.Token, out.Session.ExpiresAt)
	ui.redirect(w, r, panelPath+"/")
}

// leave ends the session in a customer's account and goes back to the own one.
func (ui *UI) leave(w http.ResponseWriter, r *http.Request) {
	own := ui.cookie(r, staffCookie)
	ui.dropCookie(w, staffCookie)
	if own != "" {
		if s, err := ui.Accounts.Authenticate(r.Context(), own); err == nil && s.Account.Role != "" {
			ui.setSession(w, own, s.ExpiresAt)
			ui.redirect(w, r, panelPath+"/")
			return
		}
	}
	ui.dropCookie(w, sessionCookie)
	ui.redirect(w, r, "/login")
}
