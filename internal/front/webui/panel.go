package webui

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"html/template"
	"net/http"
	"strconv"
	"strings"
	"time"

	"stead.dev/stead/internal/identity/account"
	"stead.dev/stead/internal/platform/api"
	"stead.dev/stead/internal/platform/auth"
	"stead.dev/stead/internal/platform/brand"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/i18n"
	"stead.dev/stead/internal/platform/sse"
)

// The panel is a single-page application (web/panel) and a client of the interface. It holds no token: its requests
// bear the session's cookie, and this server calls the operation for the session's account (backend for frontend).
//
//	/panel/            the application, at every address below
//	/panel/assets/     what Vite has built
//	/panel/api/v1/...  the operations at /api/v1/..., for the session's account
//	/client/panel/...  the same for a reseller's client, who is admitted to one service
const (
	panelPath  = "/panel"
	clientPath = "/client/panel"
)

// panelHeader is sent by the panel's scripts with every request. A form of another site cannot send it, and a script of
// another site only after a preflight, which is never answered. Its value is panelBoot.Holder: the tabs of a browser share the
// session's cookie, and a tab that stays open must not act for whoever signs in in another one.
const panelHeader = "X-Stead-Panel"

// formerPage is panelHeader's value of the pages of v0.1.0, which may be open, or served by another replica, during an upgrade. It
// names nobody.
const formerPage = "1"

// ErrSessionChanged refuses a page of the panel that was made for another account than the browser's session is of.
var ErrSessionChanged = fault.Define(fault.KindConflict, "session_changed")

// holderOf is whom a page is made for: the account, and the member of staff who acts as it.
func holderOf(s account.Session) string {
	holder := "account/" + strconv.FormatInt(s.Account.ID, 10)
	if s.ActingID != 0 {
		holder += "/staff/" + strconv.FormatInt(s.ActingID, 10)
	}
	return holder
}

// holderOfVisit is holderOf for a reseller's client, who is admitted to one service.
func holderOfVisit(v ClientVisit) string { return "service/" + strconv.FormatInt(v.ServiceID, 10) }

// samePage refuses the request of a page that was made for somebody else than holder. A download by a link names nobody.
func samePage(r *http.Request, holder string) error {
	named := r.Header.Get(panelHeader)
	if named == holder || named == formerPage || named == "" && (r.Method == http.MethodGet || r.Method == http.MethodHead) {
		return nil
	}
	return ErrSessionChanged.New()
}

// worldHeader chooses the world of a reseller's operation: "sandbox", or the live one.
const worldHeader = "X-Stead-World"

func (ui *UI) panelRoutes(mux *http.ServeMux) {
	if ui.API == nil {
		return
	}
	mux.Handle("GET "+panelPath+"/assets/", ui.panelAssets())
	mux.Handle(panelPath+"/api/", ui.panelAPI(panelPath, ui.bySession))
	ui.handle(mux, panelPath+"/", ui.onlyGet(ui.requireSession(ui.showPanel)))
	ui.handle(mux, "GET "+panelPath, ui.moved(panelPath+"/"))
	ui.handle(mux, "POST "+panelPath+"/confirm", ui.confirmInPanel)
	ui.handle(mux, "POST "+panelPath+"/confirm/passkey/options", ui.passkeyProofOptions)
	ui.handle(mux, "POST "+panelPath+"/confirm/passkey", ui.passkeyProof)
	if ui.Clients != nil {
		mux.Handle(clientPath+"/api/", ui.panelAPI(clientPath, ui.byVisit))
		ui.handle(mux, clientPath+"/", ui.onlyGet(ui.showClientPanel))
		ui.handle(mux, "GET "+clientPath, ui.moved(clientPath+"/"))
	}
}

// onlyGet refuses other methods than GET and HEAD. The pattern of the page cannot name them: those of the operations below
// it name none.
func (ui *UI) onlyGet(page http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			ui.fail(w, r, fault.MethodNotAllowed.New())
			return
		}
		page(w, r)
	}
}

// panelBoot is what the application needs before its first request. It is in the page, readable by whoever opened it.
type panelBoot struct {
	Base     string      `json:"base"` // path of the application
	Lang     string      `json:"lang"`
	Company  string      `json:"company"`
	Color    string      `json:"color"` // of the brand, #rrggbb; empty: the application's own
	Logo     string      `json:"logo"`  // path of the picture that stands for the name; empty without one
	Support  string      `json:"support"`
	Legal    bootLegal   `json:"legal"`
	Sections []string    `json:"sections"` // those that are switched on
	Holder   string      `json:"holder"`   // whom the page is made for: the value of panelHeader
	Account  *bootUser   `json:"account"`  // nil for a reseller's client
	Client   *bootClient `json:"client"`   // nil for everybody else
}

// bootLegal are the addresses of legal pages; each may be empty.
type bootLegal struct {
	Terms   string `json:"terms"`
	Privacy string `json:"privacy"`
	Imprint string `json:"imprint"`
}

type bootUser struct {
	ID       int64  `json:"id"`
	Name     string `json:"name"`
	Email    string `json:"email"`
	Verified bool   `json:"verified"`
	Currency string `json:"currency"`
	Reseller bool   `json:"reseller"`
	Role     string `json:"role"` // of staff; empty for customers
	// Acting says that a member of staff is signed in as the account, until Until.
	Acting bool   `json:"acting"`
	Until  string `json:"until"` // RFC 3339; empty for owners
}

type bootClient struct {
	Service int64  `json:"service"`
	Name    string `json:"name"`
	Domain  string `json:"domain"`
	Until   string `json:"until"` // RFC 3339
}

// shell is the page of the application. It draws the frame and, of the overview, the heading and what it is about, which are
// seen while the scripts load; the application replaces them.
var shell = template.Must(template.New("shell").Parse(`<!doctype html>
<html lang="{{.Lang}}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta property="csp-nonce" nonce="{{.Nonce}}">
<meta name="stead" content="{{.Boot}}">
<meta name="description" content="{{.Description}}">
<title>{{.Company}}</title>
<link rel="icon" href="{{.Icon}}">
{{range .Styles}}<link rel="stylesheet" href="{{.}}">
{{end}}<meta name="files" content="{{.Files}}">
<script type="module" src="{{.Script}}"></script>
<noscript><style nonce="{{.Nonce}}">.frame { display: none }</style></noscript>
</head>
<body>
<div id="root"><div class="frame">
<header>{{if .Logo}}<img src="{{.Logo}}" alt="{{.Company}}" class="logo">{{else}}{{.Company}}{{end}}</header>
<main>{{if .Heading}}<h1>{{.Heading}}</h1><p>{{.Description}}</p>{{else}}<div class="frame-line"></div>{{end}}<div class="frame-block"></div><div class="frame-block"></div></main>
</div></div>
<noscript><main><h1>{{.Company}}</h1><p>{{.NoScript}}</p></main></noscript>
</body>
</html>
`))

func (ui *UI) showPanel(w http.ResponseWriter, r *http.Request) {
	in := ui.session(r)
	a, until := in.Account, ""
	if in.ActingID != 0 {
		until = in.ExpiresAt.UTC().Format(time.RFC3339)
	}
	b := ui.Brand()
	ui.drawPanel(w, r, iconOf(b), panelBoot{
		Base: panelPath, Company: b.Name, Color: b.Color, Logo: b.Logo, Support: b.Support,
		Legal: bootLegal{Terms: b.Terms, Privacy: b.Privacy, Imprint: b.Imprint}, Holder: holderOf(*in),
		Account: &bootUser{
			ID: a.ID, Name: a.Name, Email: a.Email, Verified: a.EmailVerified, Currency: a.Currency, Reseller: ui.resells(r), Role: string(a.Role),
			Acting: in.ActingID != 0, Until: until,
		},
	})
}

// showClientPanel shows the application to a reseller's client. It names nothing of our shop.
func (ui *UI) showClientPanel(w http.ResponseWriter, r *http.Request) {
	v, err := ui.Clients.Visit(r.Context(), ui.cookie(r, clientCookie))
	switch {
	case errors.Is(err, fault.NotFound):
		ui.failPage(w, ui.ended(r), http.StatusNotFound, "client_visit")
	case err != nil:
		ui.fail(w, r, err)
	default:
		b := v.Brand
		ui.drawPanel(w, r, iconOf(b), panelBoot{
			Base: clientPath, Company: cmp.Or(b.Name, v.Name), Color: b.Color, Logo: b.Logo, Support: b.Support,
			Legal:  bootLegal{Terms: b.Terms, Privacy: b.Privacy, Imprint: b.Imprint},
			Holder: holderOfVisit(v),
			Client: &bootClient{Service: v.ServiceID, Name: v.Name, Domain: v.Domain, Until: v.Until.UTC().Format(time.RFC3339)},
		})
	}
}

// iconOf is the address of a brand's icon, which may be the icon itself. An empty one keeps browsers from asking for
// /favicon.ico, which is ours.
func iconOf(b brand.Brand) template.URL { return template.URL(cmp.Or(b.Icon, "data:,")) } //nolint:gosec // made by our own code

func (ui *UI) drawPanel(w http.ResponseWriter, r *http.Request, icon template.URL, b panelBoot) {
	b.Lang = i18n.Lang(r.Context())
	b.Sections = []string{}
	for _, s := range api.Sections() {
		if ui.Sections.Enabled(s) {
			b.Sections = append(b.Sections, string(s))
		}
	}
	boot, err := json.Marshal(b)
	var built *bundle
	if err == nil {
		built, err = panelBundle()
	}
	if err != nil {
		ui.internal(w, r, err)
		return
	}
	path := strings.TrimPrefix(r.URL.Path, b.Base)
	first := built.firstLoad(path, b.Lang)
	heading := ""
	if b.Account != nil && path == "/" {
		heading = i18n.T(b.Lang, "webui.panel.welcome", map[string]any{"Name": cmp.Or(b.Account.Name, b.Account.Email)})
	}
	nonce := rand.Text()
	var page bytes.Buffer
	err = shell.Execute(&page, map[string]any{
		"Lang": b.Lang, "Company": b.Company, "Icon": icon, "Logo": b.Logo, "Boot": string(boot), "Nonce": nonce,
		"Styles": first.styles, "Files": strings.Join(first.scripts, " "), "Script": built.script, "Heading": heading,
		"NoScript": i18n.T(b.Lang, "webui.panel.noscript", nil), "Description": i18n.T(b.Lang, "webui.panel.about", nil),
	})
	if err != nil {
		ui.internal(w, r, err)
		return
	}
	h := w.Header()
	h.Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self' 'nonce-"+nonce+"'; style-src-attr 'none'; "+
		"img-src 'self' data: blob:; font-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'")
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Language", b.Lang)
	_, _ = w.Write(page.Bytes())
}

// confirmInPanel proves over a page of the panel that its owner is there, for what needs a recent sign-in. It is no
// operation: it changes the browser's cookie.
func (ui *UI) confirmInPanel(w http.ResponseWriter, r *http.Request) {
	var body struct {
		Password string `json:"password"`
		Code     string `json:"code"`
	}
	err := readJSON(r, &body)
	var s *account.Session
	if err == nil {
		s, err = ui.owner(r)
	}
	var token string
	if err == nil {
		token, err = ui.Accounts.Confirm(r.Context(), *s, body.Password, body.Code, ui.client(r))
	}
	if err != nil {
		ui.refuse(w, r, err)
		return
	}
	ui.setSession(w, token, s.ExpiresAt)
	ui.say(w, r, http.StatusOK, struct{}{})
}

// owner is the session of the account's owner, and not of staff who act for them. A script that names another account as that of its
// page is refused; pages of v0.1.0 name none here, and the proof says who is there.
func (ui *UI) owner(r *http.Request) (*account.Session, error) {
	v, _ := r.Context().Value(visitKey{}).(*visit)
	switch {
	case v != nil && v.err != nil:
		return nil, v.err
	case v == nil || v.session == nil:
		return nil, fault.Unauthenticated.New()
	}
	if r.Header.Get(panelHeader) != "" {
		if err := samePage(r, holderOf(*v.session)); err != nil {
			return nil, err
		}
	}
	if v.session.ActingID != 0 {
		return nil, fault.OwnerRequired.New()
	}
	return v.session, nil
}

// passkeyProofOptions and passkeyProof are confirmInPanel by a passkey.
func (ui *UI) passkeyProofOptions(w http.ResponseWriter, r *http.Request) {
	s, err := ui.owner(r)
	var c account.Challenge
	if err == nil {
		c, err = ui.Accounts.BeginProof(r.Context(), *s)
	}
	if err != nil {
		ui.refuse(w, r, err)
		return
	}
	ui.ask(w, r, c)
}

func (ui *UI) passkeyProof(w http.ResponseWriter, r *http.Request) {
	b, err := readPasskey(r)
	var s *account.Session
	if err == nil {
		s, err = ui.owner(r)
	}
	var token string
	if err == nil {
		token, err = ui.Accounts.FinishProof(r.Context(), *s, ui.cookie(r, challengeCookie), b.Credential, ui.client(r))
		ui.dropCookie(w, challengeCookie)
	}
	if err != nil {
		ui.refuse(w, r, err)
		return
	}
	ui.setSession(w, token, s.ExpiresAt)
	ui.say(w, r, http.StatusOK, struct{}{})
}

// panelAPI serves the operations to the application at base, whose callers by authenticates.
func (ui *UI) panelAPI(base string, by func(r *http.Request) api.Authenticator) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cross-Origin-Resource-Policy", "same-origin")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		ctx := i18n.WithLang(r.Context(), ui.storedLanguage(r))
		if !ui.fromPanel(r) {
			ui.refuse(w, r.WithContext(ctx), fault.Forbidden.New())
			return
		}
		inner := r.Clone(api.WithAuthenticator(ctx, by(r)))
		for _, name := range []string{"Authorization", "X-Api-Key", "Cookie"} {
			inner.Header.Del(name)
		}
		inner.URL.Path = strings.TrimPrefix(r.URL.Path, base)
		inner.URL.RawPath = strings.TrimPrefix(r.URL.RawPath, base)
		inner.RequestURI = inner.URL.RequestURI()
		ui.API.ServeHTTP(w, inner)
	})
}

// fromPanel reports whether a page of this site sent the request: one that changes something bears the panel's header,
// and the browser says of one that reads, such as a download, that it is of the same origin.
func (ui *UI) fromPanel(r *http.Request) bool {
	if ui.guard.Check(r) != nil {
		return false
	}
	if r.Header.Get(panelHeader) != "" {
		return true
	}
	return (r.Method == http.MethodGet || r.Method == http.MethodHead) && r.Header.Get("Sec-Fetch-Site") == "same-origin"
}

// bySession authenticates by the session of the browser.
func (ui *UI) bySession(r *http.Request) api.Authenticator {
	token, language := ui.cookie(r, sessionCookie), ui.cookie(r, langCookie)
	sandbox := r.Header.Get(worldHeader) == "sandbox"
	// A page that is told of changes is open, which does not mean that somebody is there.
	unattended := r.Method == http.MethodGet && r.Header.Get("Accept") == sse.ContentType
	// The token is replaced when its owner confirms who they are, so while a stream lasts the session is found by its id.
	var known *account.Session
	session := func(ctx context.Context) (s account.Session, err error) {
		if unattended {
			ctx = auth.Unattended(ctx)
		}
		switch {
		case token == "":
			err = fault.Unauthenticated.New()
		case known != nil:
			s, err = ui.Accounts.AuthenticateAgain(ctx, *known)
		default:
			s, err = ui.Accounts.Authenticate(ctx, token)
		}
		if err == nil {
			err = samePage(r, holderOf(s))
		}
		if err == nil {
			known = &s
		}
		return s, err
	}
	return api.Authenticator{
		Verify: func(ctx context.Context) (auth.Principal, error) {
			s, err := session(ctx)
			if err != nil {
				return auth.Principal{}, err
			}
			p := auth.Principal{
				AccountID: s.Account.ID, FirstParty: true, Role: s.Account.Role, ActingID: s.ActingID, TwoFactor: s.Account.TwoFactor,
				Locale: s.Account.Locale, Currency: s.Account.Currency, SessionID: s.ID, Recent: s.Recent(ui.Clock.Now()),
			}
			if lang, ok := i18n.Lookup(language); ok {
				p.Locale = lang
			}
			for _, scope := range auth.Scopes {
				if scope != auth.ScopeAdmin || s.Account.Role != "" {
					p.Scopes = append(p.Scopes, scope)
				}
			}
			return p, nil
		},
		VerifyReseller: func(ctx context.Context) (auth.Principal, error) {
			s, err := session(ctx)
			if err != nil {
				return auth.Principal{}, err
			}
			if ui.Resellers == nil || s.ActingID != 0 {
				return auth.Principal{}, fault.Forbidden.New()
			}
			return ui.Resellers.Principal(ctx, s.Account.ID, sandbox)
		},
	}
}

// storedLanguage is the language that the visitor has chosen, else the browser's, else the site's.
func (ui *UI) storedLanguage(r *http.Request) string {
	if lang, ok := i18n.Lookup(ui.cookie(r, langCookie)); ok {
		return lang
	}
	if lang, ok := i18n.Accepted(r.Header.Get("Accept-Language")); ok {
		return lang
	}
	return ui.Language
}

// byVisit authenticates a reseller's client by the visit.
func (ui *UI) byVisit(r *http.Request) api.Authenticator {
	visit, lang := ui.cookie(r, clientCookie), ui.storedLanguage(r)
	return api.Authenticator{Verify: func(ctx context.Context) (auth.Principal, error) {
		v, err := ui.Clients.Visit(ctx, visit)
		if errors.Is(err, fault.NotFound) {
			return auth.Principal{}, fault.Unauthenticated.Wrap(err)
		}
		if err == nil {
			err = samePage(r, holderOfVisit(v))
		}
		if err != nil {
			return auth.Principal{}, err
		}
		return auth.Principal{
			AccountID: v.AccountID, OnlyService: v.ServiceID, FirstParty: true, Locale: lang,
			Scopes: []string{auth.ScopeServicesRead, auth.ScopeServicesWrite},
		}, nil
	}}
}
