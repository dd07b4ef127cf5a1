package webui

import (
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"stead.dev/stead/internal/identity/account"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/i18n"
	"stead.dev/stead/internal/platform/money"
)

// pendingCookie holds a sign-in whose password was right and that needs a second factor.
const pendingCookie = "stead_sign_in"

func (ui *UI) signInRoutes(mux *http.ServeMux) {
	ui.handle(mux, "GET /register", ui.showRegister)
	ui.handle(mux, "POST /register", ui.register)
	ui.handle(mux, "GET /login", ui.showLogin)
	ui.handle(mux, "POST /login", ui.login)
	ui.handle(mux, "GET /login/code", ui.showCode)
	ui.handle(mux, "POST /login/code", ui.code)
	ui.handle(mux, "POST /login/passkey/options", ui.passkeySignInOptions)
	ui.handle(mux, "POST /login/passkey", ui.passkeySignIn)
	ui.handle(mux, "POST /logout", ui.logout)
	ui.handle(mux, "GET /recover", ui.showRecover)
	ui.handle(mux, "POST /recover", ui.recover)
	ui.handle(mux, "GET /recover/{token}", ui.showNewPassword)
	ui.handle(mux, "POST /recover/{token}", ui.newPassword)
	ui.handle(mux, "GET /email/{token}", ui.showConfirmEmail)
	ui.handle(mux, "POST /email/{token}", ui.confirmEmail)
}

// signInData is the data of the sign-in pages.
type signInData struct {
	Form *form
	// Next is where the visitor continues; a path of this site.
	Next string
	// Passkey says that a passkey can complete this step.
	Passkey bool
	Locales []option
	// Sent says that a mail was sent.
	Sent bool
	// Email is the address that is being confirmed, and Password says that the visitor must prove to hold the account.
	Email    string
	Password bool
	// Referral is the code of the customer who referred the visitor.
	Referral string
}

// next is where the visitor continues after the form.
func (d *signInData) next(r *http.Request, f *form) {
	d.Form = f
	given := r.URL.Query().Get("next")
	if f.Get("next") != "" {
		given = f.Get("next")
	}
	d.Next = safeNext(given)
}

// allowClient lets the forms of a page end at the OAuth client that sent the visitor: signing in may redirect straight
// to it.
func (ui *UI) allowClient(w http.ResponseWriter, next string) {
	if u, err := url.Parse(next); err == nil && u.Path == "/oauth/authorize" {
		ui.allowFormAction(w, u.Query().Get("redirect_uri"))
	}
}

// again shows a form with its mistakes, or the page of an error that is not about the form.
func (ui *UI) again(w http.ResponseWriter, r *http.Request, name string, f *form, data any, err error) {
	status, ok := f.refused(r, err)
	if !ok {
		ui.fail(w, r, err)
		return
	}
	if seconds, ok := fault.From(err).Fields["retry_after"].(int); ok {
		w.Header().Set("Retry-After", strconv.Itoa(seconds))
	}
	ui.render(w, r, status, name, data)
}

// enter sets the browser's session and redirects.
func (ui *UI) enter(w http.ResponseWriter, r *http.Request, out account.Outcome) {
	if old := ui.cookie(r, sessionCookie); old != "" {
		if err := ui.Accounts.SignOut(r.Context(), old); err != nil {
			ui.Log.WarnContext(r.Context(), "cannot end a replaced session", "error", err)
		}
	}
	ui.setSession(w, out.Token, out.Session.ExpiresAt)
	ui.setCookie(w, deviceCookie, out.Device, deviceLife)
	ui.dropCookie(w, pendingCookie)
}

func (ui *UI) setSession(w http.ResponseWriter, token string, expires time.Time) {
	ui.setCookie(w, sessionCookie, token, int(expires.Sub(ui.Clock.Now())/time.Second))
}

func localeOptions() []option {
	out := make([]option, len(languages))
	for i, l := range languages {
		out[i] = option{Value: l.Code, Label: l.Name}
	}
	return out
}

// referralCode parses a code of a link; empty for an invalid one.
func referralCode(text string) string {
	if len(text) > 32 || strings.ContainsFunc(text, func(r rune) bool { return (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') }) {
		return ""
	}
	return text
}

func (ui *UI) showRegister(w http.ResponseWriter, r *http.Request) {
	d := signInData{Locales: localeOptions(), Referral: referralCode(r.URL.Query().Get("ref"))}
	d.next(r, emptyForm("locale", i18n.Lang(r.Context())))
	if ui.session(r) != nil {
		ui.redirect(w, r, d.Next)
		return
	}
	ui.allowClient(w, d.Next)
	ui.render(w, r, http.StatusOK, "register", d)
}

func (ui *UI) register(w http.ResponseWriter, r *http.Request) {
	f := readForm(r)
	d := signInData{Locales: localeOptions(), Referral: referralCode(f.Get("ref"))}
	d.next(r, f)
	ui.allowClient(w, d.Next)
	locale := f.Get("locale")
	if locale == "" {
		locale = i18n.Lang(r.Context())
	}
	out, err := ui.Accounts.SignUp(r.Context(), account.Registration{
		Name: f.Get("name"), Email: f.Get("email"), Password: f.secret("password"), Locale: locale, Referral: d.Referral,
		Currency: string(money.CurrencyOf(r.Context())),
	}, ui.client(r))
	if err != nil {
		ui.again(w, r, "register", f, d, err)
		return
	}
	ui.enter(w, r, out)
	ui.dropCookie(w, langCookie) // the newly chosen language wins over one that was stored earlier
	ui.dropCookie(w, currencyCookie)
	ui.flash(w, "webui.flash.registered")
	ui.redirect(w, r, d.Next)
}

func (ui *UI) showLogin(w http.ResponseWriter, r *http.Request) {
	var d signInData
	d.next(r, emptyForm())
	if ui.session(r) != nil {
		ui.redirect(w, r, d.Next)
		return
	}
	ui.allowClient(w, d.Next)
	ui.render(w, r, http.StatusOK, "login", d)
}

func (ui *UI) login(w http.ResponseWriter, r *http.Request) {
	f := readForm(r)
	var d signInData
	d.next(r, f)
	ui.allowClient(w, d.Next)
	out, err := ui.Accounts.SignIn(r.Context(), f.Get("email"), f.secret("password"), ui.client(r))
	switch {
	case err != nil:
		ui.again(w, r, "login", f, d, err)
	case out.Pending != "":
		ui.setCookie(w, pendingCookie, out.Pending, 600)
		ui.redirect(w, r, "/login/code?next="+url.QueryEscape(d.Next))
	default:
		ui.enter(w, r, out)
		ui.redirect(w, r, d.Next)
	}
}

// startOver redirects the visitor to the first step.
func (ui *UI) startOver(w http.ResponseWriter, r *http.Request, next string) {
	ui.dropCookie(w, pendingCookie)
	ui.flash(w, "webui.flash.start_over")
	ui.redirect(w, r, "/login?next="+url.QueryEscape(next))
}

func (ui *UI) showCode(w http.ResponseWriter, r *http.Request) {
	var d signInData
	d.next(r, emptyForm())
	factors, err := ui.Accounts.PendingFactors(r.Context(), ui.cookie(r, pendingCookie))
	switch {
	case errors.Is(err, account.ErrCeremony):
		ui.startOver(w, r, d.Next)
	case err != nil:
		ui.fail(w, r, err)
	default:
		d.Passkey = factors.Passkey
		ui.allowClient(w, d.Next)
		ui.render(w, r, http.StatusOK, "code", d)
	}
}

func (ui *UI) code(w http.ResponseWriter, r *http.Request) {
	f := readForm(r)
	var d signInData
	d.next(r, f)
	ui.allowClient(w, d.Next)
	out, err := ui.Accounts.SecondFactor(r.Context(), ui.cookie(r, pendingCookie), f.Get("code"), ui.client(r))
	switch {
	case errors.Is(err, account.ErrCeremony):
		ui.startOver(w, r, d.Next)
	case err != nil:
		ui.again(w, r, "code", f, d, err)
	default:
		ui.enter(w, r, out)
		ui.redirect(w, r, d.Next)
	}
}

func (ui *UI) logout(w http.ResponseWriter, r *http.Request) {
	// A page of the panel ends no session but its own. Forms of other pages name nobody.
	if s := ui.session(r); s != nil && r.Header.Get(panelHeader) != "" {
		if err := samePage(r, holderOf(*s)); err != nil {
			ui.refuse(w, r, err)
			return
		}
	}
	if token := ui.cookie(r, sessionCookie); token != "" {
		if err := ui.Accounts.SignOut(r.Context(), token); err != nil {
			ui.fail(w, r, err)
			return
		}
	}
	if s := ui.session(r); s != nil && s.ActingID != 0 {
		ui.leave(w, r)
		return
	}
	ui.dropCookie(w, sessionCookie)
	ui.flash(w, "webui.flash.signed_out")
	ui.redirect(w, r, "/")
}

func (ui *UI) showRecover(w http.ResponseWriter, r *http.Request) {
	ui.render(w, r, http.StatusOK, "recover", signInData{Form: emptyForm()})
}

// recover answers the same whether the account exists or not.
func (ui *UI) recover(w http.ResponseWriter, r *http.Request) {
	f := readForm(r)
	d := signInData{Form: f}
	if err := ui.Accounts.RequestRecovery(r.Context(), f.Get("email"), ui.client(r)); err != nil {
		ui.again(w, r, "recover", f, d, err)
		return
	}
	d.Sent = true
	ui.render(w, r, http.StatusOK, "recover", d)
}

func (ui *UI) showNewPassword(w http.ResponseWriter, r *http.Request) {
	if err := ui.Accounts.CheckRecovery(r.Context(), r.PathValue("token")); err != nil {
		ui.fail(w, r, err)
		return
	}
	ui.render(w, r, http.StatusOK, "newpassword", signInData{Form: emptyForm()})
}

func (ui *UI) newPassword(w http.ResponseWriter, r *http.Request) {
	f := readForm(r)
	err := ui.Accounts.CompleteRecovery(r.Context(), r.PathValue("token"), f.secret("password"), ui.client(r))
	if err != nil {
		ui.again(w, r, "newpassword", f, signInData{Form: f}, err)
		return
	}
	ui.flash(w, "webui.flash.password_changed")
	ui.redirect(w, r, "/login")
}

// confirmingEmail describes the page of a link. A visitor who is not signed in to the link's account proves to hold it by
// its password.
func (ui *UI) confirmingEmail(r *http.Request, f *form) (d signInData, err error) {
	d.Form = f
	var id int64
	d.Email, id, err = ui.Accounts.CheckEmail(r.Context(), r.PathValue("token"))
	s := ui.session(r)
	d.Password = s == nil || s.Account.ID != id
	return d, err
}

func (ui *UI) showConfirmEmail(w http.ResponseWriter, r *http.Request) {
	d, err := ui.confirmingEmail(r, emptyForm())
	if err != nil {
		ui.fail(w, r, err)
		return
	}
	ui.render(w, r, http.StatusOK, "email", d)
}

func (ui *UI) confirmEmail(w http.ResponseWriter, r *http.Request) {
	f := readForm(r)
	d, err := ui.confirmingEmail(r, f)
	if err == nil {
		err = ui.Accounts.ConfirmEmail(r.Context(), r.PathValue("token"), account.Holder{Session: ui.session(r), Password: f.secret("password")}, ui.client(r))
	}
	switch {
	case err == nil:
		ui.flash(w, "webui.flash.email_confirmed")
		ui.redirect(w, r, home)
	case errors.Is(err, account.ErrLink):
		ui.fail(w, r, err)
	default:
		ui.again(w, r, "email", f, d, err)
	}
}
