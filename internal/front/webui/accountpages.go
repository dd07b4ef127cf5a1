package webui

import (
	"net/http"
	"net/url"
)

func (ui *UI) accountRoutes(mux *http.ServeMux) {
	for path, now := range map[string]string{
		"": "/", "/profile": "/account/profile", "/email": "/account/profile", "/security": "/account/security", "/totp": "/account/security",
		"/applications": "/account/applications", "/applications/new": "/account/applications", "/connections": "/account/connections",
		"/services": "/services", "/keys": "/reseller/keys", "/confirm": "/",
	} {
		ui.handle(mux, "GET /account"+path, ui.moved(panelPath+now))
	}
	ui.handle(mux, "GET /account/applications/{application}", func(w http.ResponseWriter, r *http.Request) {
		ui.redirect(w, r, panelPath+"/account/applications/"+url.PathEscape(r.PathValue("application")))
	})
	for old, now := range map[string]string{"terminal": "terminal", "credentials": "passwords"} {
		ui.handle(mux, "GET /account/services/{service}/"+old, func(w http.ResponseWriter, r *http.Request) {
			ui.redirect(w, r, panelPath+"/services/"+url.PathEscape(r.PathValue("service"))+"/"+now)
		})
	}
}

// moved redirects to path, at which a page now is.
func (ui *UI) moved(path string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) { ui.redirect(w, r, path) }
}
