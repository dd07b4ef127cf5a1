// Package webui is the pages of the site: shop front, registration, sign-in,
// the account, and the consent that an OAuth client asks for. They are
// html/template with embedded style; they work without JavaScript, which only
// passkeys need.
//
// What holds on every page: a strict Content-Security-Policy, no third party;
// POSTs from other sites are refused before a handler sees them; a session is a
// cookie that scripts cannot read; redirects after a form go to paths of this
// site only; texts are from the catalogues, in the visitor's language.
package webui

import (
	"bytes"
	"cmp"
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"stead.dev/stead/internal/commerce/catalog"
	"stead.dev/stead/internal/content/articles"
	"stead.dev/stead/internal/content/reviews"
	"stead.dev/stead/internal/content/status"
	"stead.dev/stead/internal/content/templates"
	"stead.dev/stead/internal/identity/account"
	"stead.dev/stead/internal/identity/notifications"
	"stead.dev/stead/internal/identity/oauth"
	"stead.dev/stead/internal/platform/brand"
	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/money"
	"stead.dev/stead/internal/platform/semaphore"
)

// Deps are the dependencies of the pages. All are required unless said otherwise.
type Deps struct {
	Accounts *account.Service
	// Catalog may be nil: the shop front then shows no plans.
	Catalog Catalog
	Clock   clock.Clock
	Log     *slog.Logger
	// ClientAddr finds the visitor's address behind trusted proxies.
	ClientAddr func(r *http.Request) netip.Addr
	// BaseURL is the public address of the site; with https, cookies are bound to it.
	BaseURL string
	// Brand is how the company shows itself on pages.
	Brand brand.Source
	// Language of visitors without a preference, and Currency of prices for those without one.
	Language string
	Currency money.Currency
	// Rates is the table by which prices are shown in display currencies; without it, they are shown in dollars.
	Rates func() *money.Rates
	// OAuth may be nil: there are no applications and no consent then.
	OAuth *oauth.Service
	// Sections is required with OAuth and with Resellers.
	Sections Sections
	// Throttle, when set, counts a request for the authorization endpoint and refuses one above the limit.
	Throttle func(w http.ResponseWriter, r *http.Request) error
	// ThrottleDevices counts the codes of devices that are entered; nil counts none.
	ThrottleDevices func(w http.ResponseWriter, r *http.Request) error
	// Services may be nil: there are then no pages of services.
	Services Services
	// Terminals may be nil with Services: there is no terminal then.
	Terminals Terminals
	// Recheck is how often an open terminal asks whether who typed it open is still admitted; 0 means 5 seconds.
	Recheck time.Duration
	// Clients may be nil, or API: resellers' links do not work then.
	Clients Clients
	// Resellers may be nil: nobody resells then.
	Resellers Resellers
	// Articles may be nil: there are then no knowledge base, no blog and no glossary.
	Articles *articles.Service
	// Status may be nil: there is then no page of the platform's status.
	Status *status.Service
	// Notifications may be nil: links in mails then end nothing.
	Notifications *notifications.Service
	// Templates may be nil: there is then no gallery of site templates.
	Templates *templates.Service
	// Reviews may be nil: there is then no page of reviews.
	Reviews *reviews.Service
	// Domains may be nil: there is then no search for domains.
	Domains DomainShop
	// ThrottleDomains, when set, counts a search for domains and refuses one above the limit.
	ThrottleDomains func(w http.ResponseWriter, r *http.Request) error
	// API serves the operations of the interface; it may be nil: there is no panel then. Sections is required with it.
	API http.Handler
	// Demo, when set, is shown as the login of the demonstration.
	Demo *Demo
}

// Demo is the account that the demonstration offers to every visitor.
type Demo struct{ Email, Password string }

// Catalog lists the products on sale.
type Catalog interface {
	// Shelf lists the products on sale in the context's language and currency.
	Shelf(ctx context.Context) ([]catalog.Shown, error)
}

// UI serves the pages.
type UI struct {
	Deps
	pages  *pages
	guard  *http.CrossOriginProtection
	secure bool // the site is https
	// terminals bounds the open terminals of this process, by account.
	terminals semaphore.Keyed[int64]
	// clientTerminals bounds those that resellers' clients have opened, by service.
	clientTerminals semaphore.Keyed[int64]
	// public are the kinds of pages for everybody.
	public []publicKind
}

// New makes the pages.
func New(d Deps) *UI {
	if d.Rates == nil {
		d.Rates = money.DollarsOnly
	}
	ui := &UI{
		Deps: d, pages: parsePages(), guard: http.NewCrossOriginProtection(),
		terminals:       semaphore.Keyed[int64]{Each: mostTerminals / 10, All: mostTerminals},
		clientTerminals: semaphore.Keyed[int64]{Each: clientTerminals},
	}
	ui.Recheck = cmp.Or(ui.Recheck, recheck)
	ui.secure = strings.HasPrefix(d.BaseURL, "https://")
	if u, err := url.Parse(d.BaseURL); err == nil && u.Host != "" {
		// Behind a proxy that rewrites Host, the browser still sends this origin.
		_ = ui.guard.AddTrustedOrigin(u.Scheme + "://" + u.Host)
	}
	return ui
}

// Routes adds the pages to mux.
func (ui *UI) Routes(mux *http.ServeMux) {
	mux.Handle("GET /static/", ui.static())
	ui.handle(mux, "GET /{$}", ui.front)
	ui.handle(mux, "/", func(w http.ResponseWriter, r *http.Request) { ui.unrouted(mux, w, r) })
	ui.oauthRoutes(mux)
	ui.signInRoutes(mux)
	ui.accountRoutes(mux)
	ui.serviceRoutes(mux)
	ui.clientRoutes(mux)
	ui.panelRoutes(mux)
	if ui.API != nil {
		ui.handle(mux, "GET /staff/enter", ui.enterAsStaff)
	}
	ui.domainRoutes(mux)
	ui.articleRoutes(mux)
	ui.templateRoutes(mux)
	ui.reviewRoutes(mux)
	ui.statusRoutes(mux)
	ui.mailingRoutes(mux)
	ui.discoverRoutes(mux)
}

// unrouted distinguishes a page that other methods serve from one that does not exist.
func (ui *UI) unrouted(mux *http.ServeMux, w http.ResponseWriter, r *http.Request) {
	var allow []string
	for _, m := range []string{http.MethodGet, http.MethodHead, http.MethodPost} {
		probe := r.Clone(r.Context())
		probe.Method = m
		if _, pattern := mux.Handler(probe); pattern != "" && pattern != "/" {
			allow = append(allow, m)
		}
	}
	if allow == nil {
		ui.fail(w, r, fault.NotFound.New())
		return
	}
	w.Header().Set("Allow", strings.Join(allow, ", "))
	ui.fail(w, r, fault.MethodNotAllowed.New())
}

// maxForm bounds the body of a form, in bytes.
const maxForm = 64 << 10

// handle adds a page, with the phases that every page needs.
func (ui *UI) handle(mux *http.ServeMux, pattern string, page http.HandlerFunc) {
	mux.Handle(pattern, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ui.headers(w)
		err := ui.guard.Check(r)
		if err == nil && r.Method == http.MethodPost {
			// The body may arrive slowly, so the session is looked up afterwards: one that has ended by then has no
			// effect.
			r.Body = arrived(w, r.Body)
		}
		r = ui.visit(w, r)
		if err != nil {
			ui.failPage(w, r, http.StatusForbidden, "cross_site")
			return
		}
		page(w, r)
	}))
}

// arrived reads the body of a form up to its bound. It returns an invalid one unchanged, so that the reader gets the
// same error.
func arrived(w http.ResponseWriter, body io.ReadCloser) io.ReadCloser {
	bounded := http.MaxBytesReader(w, body, maxForm)
	read, err := io.ReadAll(bounded)
	if err != nil {
		return bounded
	}
	return io.NopCloser(bytes.NewReader(read))
}

// headers sets the headers of every page. Pages are made for one visitor and must not be cached.
func (ui *UI) headers(w http.ResponseWriter) {
	h := w.Header()
	h.Set("Content-Security-Policy", policy(""))
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	// A link in a mail is a secret: no other site may learn the page's address. same-origin keeps Origin on our own
	// forms.
	h.Set("Referrer-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Permissions-Policy", "publickey-credentials-get=(self), publickey-credentials-create=(self)")
}

// policy is the Content-Security-Policy. Browsers also check where a form's answer redirects to, so pages whose form
// may end at an OAuth client add its origin as formAction.
func policy(formAction string) string {
	return "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; connect-src 'self'; " +
		strings.TrimSpace("form-action 'self' "+formAction) + "; base-uri 'none'; frame-ancestors 'none'"
}

// allowFormAction lets the forms of the present page end at redirectURI, which the caller must have validated.
func (ui *UI) allowFormAction(w http.ResponseWriter, redirectURI string) {
	w.Header().Set("Content-Security-Policy", policy(formTarget(redirectURI)))
}

// formTarget is the source expression of a redirect URI; empty when a policy cannot express it. It consists of parsed
// parts only, so no stranger's text becomes a directive.
func formTarget(redirectURI string) string {
	u, err := url.Parse(redirectURI)
	if err != nil || u.Scheme == "" {
		return ""
	}
	for _, c := range u.Scheme + u.Host {
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && !strings.ContainsRune(".-+:[]", c) {
			return ""
		}
	}
	switch {
	case u.Scheme == "javascript" || u.Scheme == "data":
		return ""
	case u.Scheme != "http" && u.Scheme != "https":
		return u.Scheme + ":" // an application's own scheme
	case u.Host == "":
		return ""
	case strings.HasPrefix(u.Host, "["):
		return u.Scheme + ":" // policies cannot name IPv6 hosts
	}
	return u.Scheme + "://" + u.Host
}
