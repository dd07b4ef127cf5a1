package webui

import (
	"net/http"
	"strconv"
	"strings"

	"stead.dev/stead/internal/identity/oauth"
	"stead.dev/stead/internal/platform/fault"
)

// shown bounds the lists of these pages; an account has fewer.
const shown = 200

func (ui *UI) applications(w http.ResponseWriter, r *http.Request) {
	apps, _, err := ui.OAuth.ListApplications(r.Context(), ui.session(r).Account.ID, shown, 0)
	if err != nil {
		ui.fail(w, r, err)
		return
	}
	ui.render(w, r, http.StatusOK, "applications", apps)
}

// appData is the data of the pages "application" and "application-new".
type appData struct {
	App oauth.Application
	// Secret is in the answer that created it, and in no other.
	Secret string
	Form   *form
	// Scopes are the choices, and which of them are selected.
	Scopes  []scopeChoice
	Sandbox bool
}

// Wrong returns the mistakes of an input.
func (d appData) Wrong(name string) []string { return d.Form.errors[name] }

type scopeChoice struct {
	Name    string
	Checked bool
}

// appPage fills in the common part of both pages.
func appPage(f *form, a oauth.Application) appData {
	d := appData{App: a, Form: f, Sandbox: a.Sandbox}
	for _, name := range oauth.ThirdPartyScopes() {
		d.Scopes = append(d.Scopes, scopeChoice{name, a.Scopes.Has(oauth.Scopes{name})})
	}
	return d
}

func (ui *UI) newApplication(w http.ResponseWriter, r *http.Request) {
	ui.render(w, r, http.StatusOK, "application-new", appPage(emptyForm("type", string(oauth.Public)), oauth.Application{Scopes: oauth.ThirdPartyScopes()}))
}

// registration reads the form of an application. It refuses a form without a scope, which the section would take for
// all scopes.
func registration(f *form) (oauth.Registration, error) {
	reg := oauth.Registration{
		Name: f.Get("name"), Type: oauth.Type(f.Get("type")), RedirectURIs: strings.Fields(f.Get("redirect_uris")),
		Scopes: f.values["scope"], Sandbox: f.Get("sandbox") != "",
	}
	if len(reg.Scopes) == 0 {
		return reg, fault.Invalid("scopes", "required")
	}
	return reg, nil
}

func (ui *UI) createApplication(w http.ResponseWriter, r *http.Request) {
	f := readForm(r)
	reg, err := registration(f)
	var (
		app    oauth.Application
		secret string
	)
	if err == nil {
		app, secret, err = ui.OAuth.CreateApplication(r.Context(), ui.session(r).Account.ID, reg)
	}
	if err != nil {
		ui.again(w, r, "application-new", f, appPage(f, oauth.Application{Scopes: reg.Scopes, Sandbox: reg.Sandbox}), err)
		return
	}
	ui.showApplication(w, r, http.StatusCreated, app, secret)
}

func (ui *UI) showApplication(w http.ResponseWriter, r *http.Request, status int, a oauth.Application, secret string) {
	d := appPage(emptyForm("name", a.Name, "redirect_uris", strings.Join(a.RedirectURIs, "\n")), a)
	d.Secret = secret
	ui.render(w, r, status, "application", d)
}

// applicationID is the application of the address; 0, which no application has, when it is not a number.
func applicationID(r *http.Request) int64 {
	id, err := strconv.ParseInt(r.PathValue("application"), 10, 64)
	if err != nil {
		return 0
	}
	return id
}

func (ui *UI) application(w http.ResponseWriter, r *http.Request) {
	a, err := ui.OAuth.GetApplication(r.Context(), ui.session(r).Account.ID, applicationID(r))
	if err != nil {
		ui.fail(w, r, err)
		return
	}
	ui.showApplication(w, r, http.StatusOK, a, "")
}

func (ui *UI) updateApplication(w http.ResponseWriter, r *http.Request) {
	f := readForm(r)
	account, id := ui.session(r).Account.ID, applicationID(r)
	reg, err := registration(f)
	if err == nil {
		_, err = ui.OAuth.UpdateApplication(r.Context(), account, id, oauth.Changes{
			Name: &reg.Name, RedirectURIs: &reg.RedirectURIs, Scopes: &reg.Scopes, Sandbox: &reg.Sandbox,
		})
	}
	if err != nil {
		a, getErr := ui.OAuth.GetApplication(r.Context(), account, id)
		if getErr != nil {
			ui.fail(w, r, getErr)
			return
		}
		a.Scopes, a.Sandbox = reg.Scopes, reg.Sandbox
		ui.again(w, r, "application", f, appPage(f, a), err)
		return
	}
	ui.flash(w, "webui.flash.application_saved")
	ui.redirect(w, r, r.URL.Path)
}

func (ui *UI) rotateSecret(w http.ResponseWriter, r *http.Request) {
	a, secret, err := ui.OAuth.RotateSecret(r.Context(), ui.session(r).Account.ID, applicationID(r))
	if err != nil {
		ui.fail(w, r, err)
		return
	}
	ui.showApplication(w, r, http.StatusOK, a, secret)
}

func (ui *UI) deleteApplication(w http.ResponseWriter, r *http.Request) {
	if err := ui.OAuth.DeleteApplication(r.Context(), ui.session(r).Account.ID, applicationID(r)); err != nil {
		ui.fail(w, r, err)
		return
	}
	ui.flash(w, "webui.flash.application_deleted")
	ui.redirect(w, r, "/account/applications")
}
