package webui

import (
	"net/http"
	"time"

	"stead.dev/stead/internal/identity/account"
	"stead.dev/stead/internal/identity/oauth"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/i18n"
)

// deviceData is the data of the page "device": the form for the code, what the device asks for, or what was decided.
type deviceData struct {
	Form    *form
	App     string // empty while no code was entered
	Account string
	Scopes  []string
	Sandbox bool
	Code    string
	AskedAt time.Time
	Decided string // allow or deny
}

// device is GET /oauth/device (RFC 8628, section 3.3). Following verification_uri_complete never suffices: the page shows the code and asks.
func (ui *UI) device(w http.ResponseWriter, r *http.Request) {
	typed := r.URL.Query().Get("user_code")
	f := emptyForm("user_code", typed)
	if typed == "" {
		ui.render(w, r, http.StatusOK, "device", deviceData{Form: f})
		return
	}
	ask, err := ui.OAuth.AskDevice(r.Context(), typed)
	if err != nil {
		ui.deviceRefused(w, r, f, err)
		return
	}
	ui.render(w, r, http.StatusOK, "device", deviceData{
		App: ask.Application.Name, Account: ui.session(r).Account.Email, Scopes: ask.Scopes, Sandbox: ask.Application.Sandbox, Code: ask.UserCode, AskedAt: ask.AskedAt,
	})
}

// decideDevice handles the user's decision.
func (ui *UI) decideDevice(w http.ResponseWriter, r *http.Request) {
	f := readForm(r)
	decision := f.Get("decision")
	if decision != "allow" && decision != "deny" {
		ui.fail(w, r, fault.InvalidRequest.New())
		return
	}
	err := ui.OAuth.DecideDevice(r.Context(), ui.session(r).Account.ID, f.Get("user_code"), decision == "allow", f.Get("sandbox") != "")
	if err != nil {
		ui.deviceRefused(w, r, f, err)
		return
	}
	if decision == "allow" {
		ui.note(r, account.EventApplicationAllowed)
	}
	ui.render(w, r, http.StatusOK, "device", deviceData{Decided: decision})
}

// deviceRefused shows the form again with what is wrong with the code.
func (ui *UI) deviceRefused(w http.ResponseWriter, r *http.Request, f *form, err error) {
	refusal := oauth.AsRefusal(err)
	if refusal == nil {
		ui.fail(w, r, err)
		return
	}
	f.Problem = i18n.T(i18n.Lang(r.Context()), "oauth.reason."+refusal.Reason, nil)
	ui.render(w, r, http.StatusUnprocessableEntity, "device", deviceData{Form: f})
}
