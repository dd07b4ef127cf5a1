package webui

import (
	"encoding/base64"
	"fmt"
	"html/template"
	"net/http"

	"rsc.io/qr"

	"stead.dev/stead/internal/identity/account"
	"stead.dev/stead/internal/platform/money"
	"stead.dev/stead/internal/platform/page"
)

func (ui *UI) accountRoutes(mux *http.ServeMux) {
	handle := func(pattern string, page http.HandlerFunc) { ui.handle(mux, pattern, ui.requireSession(page)) }
	recent := func(pattern string, page http.HandlerFunc) { ui.handle(mux, pattern, ui.requireRecent(page)) }
	form := func(pattern string, page http.HandlerFunc) { ui.handle(mux, pattern, ui.requireRecentForm(page)) }
	handle("GET /account", ui.overview)
	handle("GET /account/profile", ui.showProfile)
	handle("POST /account/profile", ui.changeProfile)
	form("POST /account/email", ui.changeEmail)
	handle("GET /account/confirm", ui.showConfirm)
	handle("POST /account/confirm", ui.confirm)
	handle("GET /account/security", ui.showSecurity)
	handle("POST /account/password", ui.changePassword)
	recent("GET /account/totp", ui.showTOTP)
	recent("POST /account/totp", ui.confirmTOTP)
	form("POST /account/totp/disable", ui.disableTOTP)
	form("POST /account/recovery-codes", ui.renewCodes)
	recent("POST /account/passkeys/options", ui.passkeyOptions)
	recent("POST /account/passkeys", ui.addPasskey)
	form("POST /account/passkeys/{passkey}/delete", ui.deletePasskey)
	handle("POST /account/sessions/{session}/end", ui.endSession)
	handle("POST /account/sessions/end-others", ui.endOthers)
	// A form's result is shown at these addresses; a visitor who opens one directly, such as in another language, gets
	// the form.
	ui.handle(mux, "GET /account/email", ui.moved("/account/profile"))
	for _, path := range []string{"password", "totp/disable", "recovery-codes", "passkeys/{passkey}/delete"} {
		ui.handle(mux, "GET /account/"+path, ui.moved("/account/security"))
	}
}

// moved redirects to path.
func (ui *UI) moved(path string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) { ui.redirect(w, r, path) }
}

func (ui *UI) overview(w http.ResponseWriter, r *http.Request) {
	ui.render(w, r, http.StatusOK, "account", nil)
}

type profileData struct {
	Form, EmailForm     *form
	Locales, Currencies []option
}

// profileForms are the two forms of the profile page, filled with the present values.
func (ui *UI) profileForms(r *http.Request) profileData {
	a := ui.session(r).Account
	d := profileData{
		Form:      emptyForm("name", a.Name, "locale", a.Locale, "currency", a.Currency),
		EmailForm: emptyForm("email", a.Email), Locales: localeOptions(),
	}
	for _, c := range money.Currencies() {
		d.Currencies = append(d.Currencies, option{Value: string(c), Label: string(c)})
	}
	return d
}

func (ui *UI) showProfile(w http.ResponseWriter, r *http.Request) {
	ui.render(w, r, http.StatusOK, "profile", ui.profileForms(r))
}

func (ui *UI) changeProfile(w http.ResponseWriter, r *http.Request) {
	d := ui.profileForms(r)
	d.Form = readForm(r)
	name, locale, currency := d.Form.Get("name"), d.Form.Get("locale"), d.Form.Get("currency")
	_, err := ui.Accounts.Update(r.Context(), ui.session(r).Account.ID, account.Update{Name: &name, Locale: &locale, Currency: &currency})
	if err != nil {
		ui.again(w, r, "profile", d.Form, d, err)
		return
	}
	// The newly chosen language wins over one that was stored earlier.
	ui.dropCookie(w, langCookie)
	ui.flash(w, "webui.flash.saved")
	ui.redirect(w, r, "/account/profile")
}

func (ui *UI) changeEmail(w http.ResponseWriter, r *http.Request) {
	d := ui.profileForms(r)
	d.EmailForm = readForm(r)
	if err := ui.Accounts.RequestEmail(r.Context(), *ui.session(r), d.EmailForm.Get("email")); err != nil {
		ui.again(w, r, "profile", d.EmailForm, d, err)
		return
	}
	ui.flash(w, "webui.flash.email_sent")
	ui.redirect(w, r, "/account/profile")
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

type securityData struct {
	Form      *form
	CodesLeft int
	Passkeys  []account.Passkey
	Sessions  []account.Session
	Current   int64
	Events    []account.Event
}

// eventsShown is how much of the security log the page shows.
const eventsShown = 15

// note records in the account's security log what another section has done; without the record it is done all the same.
func (ui *UI) note(r *http.Request, kind account.EventKind) {
	if err := ui.Accounts.Note(r.Context(), ui.session(r).Account.ID, kind, ui.client(r)); err != nil {
		ui.Log.WarnContext(r.Context(), "cannot write the security log", "kind", string(kind), "error", err)
	}
}

func (ui *UI) security(r *http.Request, f *form) (d securityData, err error) {
	s := ui.session(r)
	d = securityData{Form: f, Current: s.ID}
	if d.CodesLeft, err = ui.Accounts.RecoveryCodesLeft(r.Context(), s.Account.ID); err != nil {
		return d, err
	}
	if d.Passkeys, err = ui.Accounts.Passkeys(r.Context(), s.Account.ID); err != nil {
		return d, err
	}
	list, err := ui.Accounts.Sessions(r.Context(), s.Account.ID, page.Params{Page: 1, PerPage: page.MaxPerPage})
	if err != nil {
		return d, err
	}
	d.Sessions = list.Data
	events, err := ui.Accounts.Events(r.Context(), s.Account.ID, page.Params{Page: 1, PerPage: eventsShown})
	if err != nil {
		return d, err
	}
	d.Events = events.Data
	return d, nil
}

func (ui *UI) showSecurity(w http.ResponseWriter, r *http.Request) {
	d, err := ui.security(r, emptyForm())
	if err != nil {
		ui.fail(w, r, err)
		return
	}
	ui.render(w, r, http.StatusOK, "security", d)
}

func (ui *UI) changePassword(w http.ResponseWriter, r *http.Request) {
	f := readForm(r)
	change := ui.Accounts.ChangePassword
	if f.Get("applications") != "" {
		change = ui.Accounts.ChangePasswordEverywhere
	}
	changed := change(r.Context(), *ui.session(r), f.secret("current"), f.secret("password"), ui.client(r))
	if changed == nil {
		ui.done(w, r, nil, "webui.flash.password_changed", "/account/security")
		return
	}
	d, err := ui.security(r, f)
	if err != nil {
		ui.fail(w, r, err)
		return
	}
	ui.again(w, r, "security", f, d, changed)
}

type totpData struct {
	Form *form
	Key  string
	QR   template.URL
}

func (ui *UI) enrolment(r *http.Request, f *form) (d totpData, err error) {
	e, err := ui.Accounts.EnrolTOTP(r.Context(), *ui.session(r))
	if err != nil {
		return d, err
	}
	code, err := qr.Encode(e.URL, qr.M)
	if err != nil {
		return d, fmt.Errorf("draw a QR code: %w", err)
	}
	// We generate the picture; no visitor's text is in it.
	picture := template.URL("data:image/png;base64," + base64.StdEncoding.EncodeToString(code.PNG())) //nolint:gosec // see above
	return totpData{Form: f, Key: e.Key, QR: picture}, nil
}

func (ui *UI) showTOTP(w http.ResponseWriter, r *http.Request) {
	d, err := ui.enrolment(r, emptyForm())
	if err != nil {
		ui.fail(w, r, err)
		return
	}
	ui.render(w, r, http.StatusOK, "totp", d)
}

func (ui *UI) confirmTOTP(w http.ResponseWriter, r *http.Request) {
	f := readForm(r)
	codes, refused := ui.Accounts.ConfirmTOTP(r.Context(), *ui.session(r), f.Get("code"), ui.client(r))
	if refused == nil {
		ui.render(w, r, http.StatusOK, "codes", codes)
		return
	}
	d, err := ui.enrolment(r, f)
	if err != nil {
		ui.fail(w, r, err)
		return
	}
	ui.again(w, r, "totp", f, d, refused)
}

func (ui *UI) disableTOTP(w http.ResponseWriter, r *http.Request) {
	err := ui.Accounts.DisableTOTP(r.Context(), *ui.session(r), ui.client(r))
	ui.done(w, r, err, "webui.flash.two_factor_off", "/account/security")
}

func (ui *UI) renewCodes(w http.ResponseWriter, r *http.Request) {
	codes, err := ui.Accounts.RenewRecoveryCodes(r.Context(), *ui.session(r), ui.client(r))
	if err != nil {
		ui.fail(w, r, err)
		return
	}
	ui.render(w, r, http.StatusOK, "codes", codes)
}

func (ui *UI) endSession(w http.ResponseWriter, r *http.Request) {
	id, err := pathID(r, "session")
	if err == nil {
		err = ui.Accounts.EndSession(r.Context(), ui.session(r).Account.ID, id)
	}
	ui.done(w, r, err, "webui.flash.session_ended", "/account/security")
}

func (ui *UI) endOthers(w http.ResponseWriter, r *http.Request) {
	err := ui.Accounts.EndOtherSessions(r.Context(), *ui.session(r))
	ui.done(w, r, err, "webui.flash.session_ended", "/account/security")
}
