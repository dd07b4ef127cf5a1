package webui

import (
	"net/http"
	"net/url"

	"stead.dev/stead/internal/identity/account"
	"stead.dev/stead/internal/identity/oauth"
	"stead.dev/stead/internal/platform/api"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/i18n"
)

// Sections reports which sections of the platform are switched on.
type Sections interface {
	Enabled(s api.Section) bool
}

// oauthRoutes are the pages of the OAuth section.
func (ui *UI) oauthRoutes(mux *http.ServeMux) {
	if ui.OAuth == nil {
		return
	}
	page := func(pattern string, h http.HandlerFunc) {
		ui.handle(mux, pattern, func(w http.ResponseWriter, r *http.Request) {
			if !ui.Sections.Enabled(api.OAuth) {
				ui.fail(w, r, fault.SectionDisabled.New())
				return
			}
			h(w, r)
		})
	}
	page("GET /oauth/authorize", ui.throttled(ui.Throttle, ui.authorize))
	page("POST /oauth/authorize", ui.throttled(ui.Throttle, ui.requireSession(ui.decide)))
	page("GET "+oauth.DevicePath, ui.throttled(ui.ThrottleDevices, ui.requireSession(ui.device)))
	page("POST "+oauth.DevicePath, ui.throttled(ui.ThrottleDevices, ui.requireSession(ui.decideDevice)))
}

func (ui *UI) throttled(count func(http.ResponseWriter, *http.Request) error, page http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if count != nil {
			if err := count(w, r); err != nil {
				ui.fail(w, r, err)
				return
			}
		}
		page(w, r)
	}
}

// authorize is GET /oauth/authorize (specification, "OAuth"): it redirects to the application with a code, or first to
// the pages that sign in and ask for consent.
func (ui *UI) authorize(w http.ResponseWriter, r *http.Request) {
	ask := ui.askOf(w, r, r.URL.RawQuery)
	if ask == nil {
		return
	}
	session := ui.session(r)
	if session == nil || session.ActingID != 0 { // who acts for the owner gives no application the owner's tokens
		if ask.Prompt == "none" {
			ui.toApplication(w, r, ask.SignInRequired().Redirect)
			return
		}
		// Not reached: without a session of the owner this redirects to the sign-in, or to the panel.
		ui.requireSession(http.NotFound)(w, r)
		return
	}
	account := session.Account.ID
	need, err := ui.OAuth.NeedsConsent(r.Context(), account, ask)
	switch {
	case err != nil:
		ui.fail(w, r, err)
	case need && ask.Prompt == "none":
		ui.toApplication(w, r, ask.ConsentRequired().Redirect)
	case need:
		ui.consent(w, r, ask, r.URL.RawQuery)
	default:
		ui.approve(w, r, ask, false)
	}
}

// askOf validates an authorization request; nil when it has written the answer.
func (ui *UI) askOf(w http.ResponseWriter, r *http.Request, query string) *oauth.Ask {
	v, err := url.ParseQuery(query)
	if err != nil {
		ui.fail(w, r, fault.InvalidRequest.Wrap(err))
		return nil
	}
	ask, err := ui.OAuth.Ask(r.Context(), v)
	if err != nil {
		ui.askRefused(w, r, err)
		return nil
	}
	return ask
}

// consentData is the data of the page "consent".
type consentData struct {
	App     string
	Account string
	Scopes  []string
	Sandbox bool
	// Target is the site to which the browser continues.
	Target string
	// Request is the authorization request, which is submitted with the decision and validated again.
	Request string
}

func (ui *UI) consent(w http.ResponseWriter, r *http.Request, ask *oauth.Ask, request string) {
	ui.allowFormAction(w, ask.RedirectURI)
	ui.render(w, r, http.StatusOK, "consent", consentData{
		App: ask.Application.Name, Account: ui.session(r).Account.Email, Scopes: ask.Scopes, Sandbox: ask.Application.Sandbox,
		Target: target(ask.RedirectURI), Request: request,
	})
}

// target names the site of a redirect address, for people.
func target(redirectURI string) string {
	u, err := url.Parse(redirectURI)
	if err != nil || u.Host == "" {
		return u.Scheme + ":"
	}
	return u.Host
}

// decide handles the user's decision. The form holds the original request, which is validated again.
func (ui *UI) decide(w http.ResponseWriter, r *http.Request) {
	f := readForm(r)
	ask := ui.askOf(w, r, f.Get("request"))
	if ask == nil {
		return
	}
	switch f.Get("decision") {
	case "allow":
		if f.Get("sandbox") != "" && !ask.Application.Sandbox {
			ui.consent(w, r, ask, f.Get("request")) // the user had answered a page that said "read only"
			return
		}
		ui.approve(w, r, ask, true)
	case "deny":
		ui.toApplication(w, r, ask.Denied())
	default:
		ui.fail(w, r, fault.InvalidRequest.New())
	}
}

func (ui *UI) approve(w http.ResponseWriter, r *http.Request, ask *oauth.Ask, asked bool) {
	s := ui.session(r)
	ask.Session = s.ID
	to, err := ui.OAuth.Approve(r.Context(), s.Account.ID, ask, asked)
	if err != nil {
		ui.askRefused(w, r, err)
		return
	}
	if asked {
		ui.note(r, account.EventApplicationAllowed)
	}
	ui.toApplication(w, r, to)
}

// note records in the account's security log what another section has done; without the record it is done all the same.
func (ui *UI) note(r *http.Request, kind account.EventKind) {
	if err := ui.Accounts.Note(r.Context(), ui.session(r).Account.ID, kind, ui.client(r)); err != nil {
		ui.Log.WarnContext(r.Context(), "cannot write the security log", "kind", string(kind), "error", err)
	}
}

// askRefused sends a refusal to the application when its redirect can be trusted, and shows it to the user otherwise.
func (ui *UI) askRefused(w http.ResponseWriter, r *http.Request, err error) {
	refusal := oauth.AsRefusal(err)
	switch {
	case refusal == nil:
		ui.fail(w, r, err)
	case refusal.Redirect != "":
		ui.toApplication(w, r, refusal.Redirect)
	default:
		ui.render(w, r, http.StatusBadRequest, "consent-failed", struct{ Key, Reason string }{
			refusal.Def.Key, i18n.T(i18n.Lang(r.Context()), "oauth.reason."+refusal.Reason, nil),
		})
	}
}

// toApplication sends the browser to a validated redirect address: 302, as the specification says. The code in it must
// not get into a Referer.
func (ui *UI) toApplication(w http.ResponseWriter, r *http.Request, to string) {
	w.Header().Set("Referrer-Policy", "no-referrer")
	http.Redirect(w, r, to, http.StatusFound) //nolint:gosec // G710: oauth.Ask has matched it to a registered address
}
