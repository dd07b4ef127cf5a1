package webui

import "net/http"

// connections shows which applications may use the account.
func (ui *UI) connections(w http.ResponseWriter, r *http.Request) {
	list, _, err := ui.OAuth.ListConnections(r.Context(), ui.session(r).Account.ID, shown, 0)
	if err != nil {
		ui.fail(w, r, err)
		return
	}
	ui.render(w, r, http.StatusOK, "connections", list)
}

func (ui *UI) disconnect(w http.ResponseWriter, r *http.Request) {
	if err := ui.OAuth.Disconnect(r.Context(), ui.session(r).Account.ID, applicationID(r)); err != nil {
		ui.fail(w, r, err)
		return
	}
	ui.flash(w, "webui.flash.application_disconnected")
	ui.redirect(w, r, "/account/connections")
}
