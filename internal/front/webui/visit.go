package webui

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"stead.dev/stead/internal/identity/account"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/i18n"
	"stead.dev/stead/internal/platform/money"
)

const (
	langCookie    = "stead_lang"
	flashCookie   = "stead_flash"
	sessionCookie = "stead_session"
	// currencyCookie is the choice of a visitor without an account.
	currencyCookie = "stead_currency"
	// deviceCookie recognizes a browser that has signed in before; it gives no access.
	deviceCookie = "stead_device"
	// staffCookie keeps the own session of a member of staff who is signed in as a customer.
	staffCookie = "stead_staff"
	deviceLife  = 365 * 24 * 3600
)

// sessionPatience bounds the search for a session: some pages, such as that of the status, are also shown without a database.
const sessionPatience = 5 * time.Second

type visitKey struct{}

// visit describes the visitor of a request.
type visit struct {
	session *account.Session
	// err is why the session could not be looked up.
	err error
}

// visit finds the visitor's session and language and puts them into the request's context.
func (ui *UI) visit(w http.ResponseWriter, r *http.Request) *http.Request {
	v := &visit{}
	if token := ui.cookie(r, sessionCookie); token != "" {
		ctx, done := context.WithTimeout(r.Context(), sessionPatience)
		s, err := ui.Accounts.Authenticate(ctx, token)
		done()
		switch {
		case err == nil:
			v.session = &s
		case errors.Is(err, fault.Unauthenticated):
			ui.dropCookie(w, sessionCookie)
		default:
			v.err = err
		}
	}
	ctx := context.WithValue(r.Context(), visitKey{}, v)
	ctx = i18n.WithLang(ctx, ui.language(w, r, v.session))
	return r.WithContext(money.WithRates(money.WithCurrency(ctx, ui.currency(w, r, v.session)), ui.Rates()))
}

// currency is the account's. A visitor without one chooses by ?currency=, which is stored; else it is the stored one, else
// the site's.
func (ui *UI) currency(w http.ResponseWriter, r *http.Request, s *account.Session) money.Currency {
	if s != nil {
		if c, ok := money.ParseCurrency(s.Account.Currency); ok {
			return c
		}
		return ui.Currency
	}
	if c, ok := ui.shown(r.URL.Query().Get("currency")); ok {
		ui.setCookie(w, currencyCookie, string(c), 365*24*3600)
		return c
	}
	if c, ok := ui.shown(ui.cookie(r, currencyCookie)); ok {
		return c
	}
	return ui.Currency
}

// shown parses a currency in which prices are shown: one with a rate.
func (ui *UI) shown(code string) (money.Currency, bool) {
	c, known := money.ParseCurrency(code)
	if !known {
		return "", false
	}
	_, rated := ui.Rates().Of(c)
	return c, rated
}

// language is chosen by ?lang=, which is stored; else the stored one, else the account's, else the browser's, else the
// site's.
func (ui *UI) language(w http.ResponseWriter, r *http.Request, s *account.Session) string {
	if lang, ok := i18n.Lookup(r.URL.Query().Get("lang")); ok {
		ui.setCookie(w, langCookie, lang, 365*24*3600)
		return lang
	}
	if _, ok := i18n.Lookup(ui.cookie(r, langCookie)); !ok && s != nil {
		return s.Account.Locale
	}
	return ui.storedLanguage(r)
}

// session is the visitor's session, nil when nobody is signed in.
func (ui *UI) session(r *http.Request) *account.Session {
	if v, ok := r.Context().Value(visitKey{}).(*visit); ok {
		return v.session
	}
	return nil
}

// requireSession redirects visitors without a session to the sign-in and back.
func (ui *UI) requireSession(page http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		v, _ := r.Context().Value(visitKey{}).(*visit)
		switch {
		case v != nil && v.err != nil:
			ui.fail(w, r, v.err)
		case v == nil || v.session == nil:
			ui.redirect(w, r, "/login?next="+url.QueryEscape(backTo(r)))
		case v.session.ActingID != 0 && !strings.HasPrefix(r.URL.Path, panelPath+"/"):
			ui.redirect(w, r, panelPath+"/") // the other pages are for credentials, which are the owner's alone
		default:
			page(w, r)
		}
	}
}

// backTo is where a visitor continues after signing in, or in another language: the requested page, or, as a form
// cannot be submitted again, the page that contains it.
func backTo(r *http.Request) string {
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		return r.URL.RequestURI()
	}
	if u, err := url.Parse(r.Referer()); err == nil && u.Host == r.Host && u.Path != "" {
		// A form that is refused a second time has an address without the visitor's destination.
		if q := u.Query(); r.PostForm.Has("next") && !q.Has("next") {
			q.Set("next", r.PostForm.Get("next"))
			u.RawQuery = q.Encode()
		}
		return safeNext(u.RequestURI())
	}
	return home
}

// home is where a visitor goes on who has signed in and came for nothing else.
const home = panelPath + "/"

// safeNext returns next when it is a path of this site, else home. Browsers read "//host", "/\host" and
// paths with control characters as other sites, so these are refused.
func safeNext(next string) string {
	if len(next) > 4096 || !strings.HasPrefix(next, "/") || strings.HasPrefix(next, "//") || strings.ContainsRune(next, '\\') {
		return home
	}
	for _, c := range next {
		if c <= ' ' || c == 0x7f {
			return home
		}
	}
	u, err := url.Parse(next)
	if err != nil || u.Scheme != "" || u.Host != "" || u.User != nil || strings.HasPrefix(u.Path, "//") {
		return home
	}
	return next
}

// redirect answers a form: it sends the browser to path.
func (ui *UI) redirect(w http.ResponseWriter, r *http.Request, path string) {
	http.Redirect(w, r, path, http.StatusSeeOther)
}

// client is the sender of the request, as the account section needs it.
func (ui *UI) client(r *http.Request) account.Client {
	return account.Client{Address: ui.ClientAddr(r), UserAgent: r.UserAgent(), Device: ui.cookie(r, deviceCookie)}
}

// named is a cookie's name in the browser: on https the prefix makes browsers accept the cookie from this very host only, so
// no other site below the same domain can plant one.
func (ui *UI) named(name string) string {
	if ui.secure {
		return "__Host-" + name
	}
	return name
}

func (ui *UI) cookie(r *http.Request, name string) string {
	c, err := r.Cookie(ui.named(name))
	if err != nil || len(c.Value) > 256 {
		return ""
	}
	return c.Value
}

// setCookie sets a cookie with this site's attributes; maxAge is in seconds, and a negative one deletes it.
func (ui *UI) setCookie(w http.ResponseWriter, name, value string, maxAge int) {
	http.SetCookie(w, &http.Cookie{ //nolint:gosec // Secure where the site is https; on a fresh machine it is not
		Name: ui.named(name), Value: value, MaxAge: maxAge, Path: "/", HttpOnly: true, Secure: ui.secure, SameSite: http.SameSiteLaxMode,
	})
}

func (ui *UI) dropCookie(w http.ResponseWriter, name string) {
	ui.setCookie(w, name, "", -1)
}

// flash shows the text with the given id on the next page. The cookie holds only the id, so nobody can insert a text.
func (ui *UI) flash(w http.ResponseWriter, id string) {
	ui.setCookie(w, flashCookie, id, 60)
}

func (ui *UI) takeFlash(w http.ResponseWriter, r *http.Request) string {
	id := ui.cookie(r, flashCookie)
	if id == "" {
		return ""
	}
	ui.dropCookie(w, flashCookie)
	if !strings.HasPrefix(id, "webui.flash.") || !i18n.Has(i18n.Fallback, id) {
		return ""
	}
	return id
}
