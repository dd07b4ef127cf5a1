package webui

import (
	"net/http"
	"net/url"
)

func (ui *UI) accountRoutes(mux *http.ServeMux) {
	ui.handle(mux, "GET /account/confirm", ui.requireSession(ui.showConfirm))
	ui.handle(mux, "POST /account/confirm", ui.requireSession(ui.confirm))
	for path, now := range map[string]string{
		"": "/", "/profile": "/account/profile", "/email": "/account/profile", "/security": "/account/security", "/totp": "/account/security",
		"/applications": "/account/applications", "/applications/new": "/account/applications", "/connections": "/account/connections",
		"/services": "/services",
	} {
		ui.handle(mux, "GET /account"+path, ui.moved(panelPath+now))
	}
	ui.handle(mux, "GET /account/applications/{application}", func(w http.ResponseWriter, r *http.Request) {
		ui.redirect(w, r, panelPath+"/account/applications/"+url.PathEscape(r.PathValue("application")))
	})
	ui.handle(mux, "GET /account/services/{service}/terminal", func(w http.ResponseWriter, r *http.Request) {
		ui.redirect(w, r, panelPath+"/services/"+url.PathEscape(r.PathValue("service"))+"/terminal")
	})
}

// moved redirects to path, at which a page now is.
func (ui *UI) moved(path string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) { ui.redirect(w, r, path) }
}

// confirmData is the data of the page "confirm".
type confirmData struct {
	Form *form
	// Kept is submitted again together with the password; a name is an option's Label.
	Kept []option
}

// confirming stores where the visitor continues, a path of this site.
func confirming(r *http.Request, f *form) (confirmData, string) {
	var d signInData
	d.next(r, f)
	return confirmData{Form: f, Kept: []option{{Value: d.Next, Label: "next"}}}, d.Next
}

func (ui *UI) showConfirm(w http.ResponseWriter, r *http.Request) {
	d, _ := confirming(r, emptyForm())
	ui.render(w, r, http.StatusOK, "confirm", d)
}

func (ui *UI) confirm(w http.ResponseWriter, r *http.Request) {
	f := readForm(r)
	d, next := confirming(r, f)
	token, err := ui.Accounts.Confirm(r.Context(), *ui.session(r), f.secret("password"), f.Get("code"), ui.client(r))
	if err != nil {
		ui.again(w, r, "confirm", f, d, err)
		return
	}
	ui.setSession(w, token, ui.session(r).ExpiresAt)
	ui.redirect(w, r, next)
}
