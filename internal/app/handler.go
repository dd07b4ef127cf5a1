package app

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"stead.dev/stead/internal/content/company"
	"stead.dev/stead/internal/front/admin/staffapi"
	"stead.dev/stead/internal/front/mcp"
	"stead.dev/stead/internal/front/reference"
	"stead.dev/stead/internal/front/reseller"
	"stead.dev/stead/internal/front/webui"
	"stead.dev/stead/internal/identity/audit"
	"stead.dev/stead/internal/identity/oauth"
	"stead.dev/stead/internal/monitoring/monitors"
	"stead.dev/stead/internal/platform/api"
	"stead.dev/stead/internal/platform/auth"
	"stead.dev/stead/internal/platform/money"
	"stead.dev/stead/internal/platform/throttle"
	"stead.dev/stead/internal/resale/webhooks"
)

// operationTimeout bounds operations that do not stream.
const operationTimeout = 30 * time.Second

// interfaceVersion is the version of the interface, not of the program. It changes when clients can notice (specification,
// "Versioning").
const interfaceVersion = "1.0.0"

// newEdge mounts the operations of all sections.
func (a *App) newEdge() (*api.Edge, error) {
	perMinute := func(name string, limit int) throttle.Policy {
		if !a.cfg.Throttle {
			limit = 0
		}
		return throttle.Policy{Name: name, Limit: limit, Window: time.Minute}
	}
	config := api.Config{
		DB:       a.db,
		Verifier: a.oauth,
		Keys:     a.reseller,
		Trail:    a.reseller,
		Switches: a.switches,
		Limiter:  a.limiter,
		Answers:  a.answers,
		Default:  perMinute("public", a.cfg.ThrottlePublic),
		Policies: map[string]throttle.Policy{
			api.DomainCheck:           perMinute(api.DomainCheck, a.cfg.ThrottleDomainCheck),
			api.PanelThrottle:         perMinute(api.PanelThrottle, a.cfg.ThrottlePanel),
			api.ResellerThrottle:      perMinute(api.ResellerThrottle, a.cfg.ThrottleReseller),
			heartbeatThrottle:         perMinute(heartbeatThrottle, heartbeatsPerMinute),
			oauth.Throttle.Name:       perMinute(oauth.Throttle.Name, oauth.Throttle.Limit),
			oauth.DeviceThrottle.Name: perMinute(oauth.DeviceThrottle.Name, oauth.DeviceThrottle.Limit),
		},
		MaxBody:    int64(a.cfg.MaxBody),
		Timeout:    operationTimeout,
		Language:   a.cfg.DefaultLanguage,
		Currency:   money.Currency(a.cfg.DefaultCurrency),
		Rates:      a.currencies.Current,
		BaseURL:    a.cfg.BaseURL,
		Version:    interfaceVersion,
		ClientAddr: a.clientAddr(),
		Acting:     a.acting,
		// The password of a demonstration is published, so a second factor would protect nothing.
		StaffSecondFactor: a.cfg.StaffSecondFactor && !a.cfg.Demo,
	}
	e := api.NewEdge(config)
	e.Document(oauth.AuthorizePage())
	e.Send(webhooks.Webhooks())
	var routes []api.Route
	for _, m := range a.modules {
		routes = append(routes, m.Routes...)
	}
	routes, staff := api.Split(routes)
	if err := a.mountStaff(config, staff); err != nil {
		return nil, err
	}
	resold, err := reseller.Resell(routes)
	if err != nil {
		return nil, err
	}
	err = e.Mount(append(routes, resold...)...)
	if err == nil {
		err = a.mountAgents(e)
	}
	if err == nil {
		err = a.agentReads.open(e)
	}
	if err == nil {
		err = a.exported.open(e, a.modules)
	}
	for _, op := range e.Operations() {
		a.enabled.served[op.Section] = true
	}
	return e, err
}

// operations serves the public operations and those of staff.
func (a *App) operations() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, staffPrefix) {
			a.staff.ServeHTTP(w, r)
			return
		}
		a.edge.ServeHTTP(w, r)
	})
}

// acting records what a member of staff changes who is signed in as a customer.
func (a *App) acting(ctx context.Context, operation string, p auth.Principal) context.Context {
	return a.audit.Change(ctx, audit.Change{
		Action: "as_customer." + operation, Kind: "account", Subject: strconv.FormatInt(p.AccountID, 10), AccountID: p.AccountID,
	})
}

// mountStaff mounts the operations of staff on an edge of their own, so that they are in no public document, and no agent's
// tool.
func (a *App) mountStaff(config api.Config, routes []api.Route) error {
	config.Title = "Stead for staff"
	config.Description = "The interface of the company's own people: customers, orders, services, machines. It needs the scope `admin`, which is granted " +
		"to Stead's own applications alone, and a role of staff: `x-staff-roles` says which. Every change is recorded in the audit log. " +
		"Everything else is as in the public interface."
	a.staff = api.NewEdge(config)
	front := staffapi.New(staffapi.Config{Admin: a.admin})
	return a.staff.Mount(append(front.Operations(a.allowed), routes...)...)
}

// allowed lists the ids of the operations of staff that a role may call.
func (a *App) allowed(role auth.Role) []string {
	ids := []string{}
	for _, op := range a.staff.Operations() {
		if slices.Contains(op.Staff, role) {
			ids = append(ids, op.ID)
		}
	}
	return ids
}

// mountAgents mounts the endpoint of AI agents. Their tools are operations, which must be mounted before.
func (a *App) mountAgents(e *api.Edge) error {
	resellers, err := mcp.New(mcp.Config{
		Edge: e, Version: interfaceVersion, Brand: a.company.Current, Instructions: mcp.ResellerInstructions, Tools: mcp.ResellerTools,
	})
	if err != nil {
		return err
	}
	customers, err := mcp.New(mcp.Config{
		Edge: e, Version: interfaceVersion, Brand: a.company.Current, Instructions: mcp.CustomerInstructions, Tools: mcp.CustomerTools,
		Overview: mcp.CustomerOverview, Articles: mcp.CustomerArticles, Prompts: mcp.CustomerPrompts,
	})
	if err != nil {
		return err
	}
	return e.Mount(resellers.Reseller(), customers.Customer(), customers.Manifest(a.cfg.BaseURL))
}

// handler serves the public address.
func (a *App) handler() http.Handler {
	document := described(a.edge)
	openAPIDoc, staffDoc := documentation(a.edge, document), documentation(a.staff, described(a.staff))
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", healthy)
	mux.HandleFunc("GET /readyz", a.ready())
	mux.Handle("GET /docs", http.RedirectHandler("/docs/", http.StatusMovedPermanently))
	mux.Handle("GET "+reference.Path, reference.Handler(reference.Config{
		Brand: a.company.Current, Client: oauth.ReferenceClientID, Missing: http.NotFoundHandler(),
		Document: func() ([]byte, error) {
			doc, err := document()
			return doc.text, err
		},
	}))
	guides := reference.Guides(reference.GuidesConfig{Brand: a.company.Current, Version: a.version, Missing: http.NotFoundHandler()})
	mux.Handle("GET "+reference.GuidesPath, guides)
	mux.Handle("GET "+reference.GuidesPath+"/", guides)
	for _, op := range a.edge.Operations() {
		if !strings.HasPrefix(op.Path, "/api/") {
			mux.Handle(op.Path, a.edge) // of OAuth: the endpoints and the discovery documents
		}
	}
	// Programs call here: an unknown path is refused in the form of the interface.
	mux.Handle("/oauth/", a.edge)
	mux.Handle("/.well-known/", a.edge)
	mux.HandleFunc("GET /.well-known/security.txt", a.securityContact)
	mux.Handle("GET "+company.Path, a.company.Handler())
	mux.Handle("GET "+company.IconPath, a.company.Handler())
	mux.Handle("GET "+reseller.BrandPath, a.reseller.BrandHandler())
	mux.Handle("/pay/", a.wallet.Pages())
	mux.Handle(monitors.HeartbeatPath, a.monitors.Heartbeats(func(w http.ResponseWriter, r *http.Request) error {
		return a.edge.Throttle(w, r, heartbeatThrottle)
	}))
	a.pages().Routes(mux)

	served := a.previewsApart(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == OpenAPIPath && (r.Method == http.MethodGet || r.Method == http.MethodHead):
			openAPIDoc.ServeHTTP(w, r)
		case r.URL.Path == OpenAPIPath && r.Method != http.MethodOptions:
			a.edge.RefuseMethod(w, r, http.MethodGet)
		case r.URL.Path == StaffOpenAPIPath && (r.Method == http.MethodGet || r.Method == http.MethodHead):
			staffDoc.ServeHTTP(w, r)
		case r.URL.Path == StaffOpenAPIPath && r.Method != http.MethodOptions:
			a.staff.RefuseMethod(w, r, http.MethodGet)
		case strings.HasPrefix(r.URL.Path, staffPrefix):
			a.staff.ServeHTTP(w, r)
		case r.URL.Path == "/api", strings.HasPrefix(r.URL.Path, "/api/"):
			// Not through the mux, which would redirect an unclean path instead of
			// refusing it in the interface's own form.
			a.edge.ServeHTTP(w, r)
		default:
			mux.ServeHTTP(w, r)
		}
	})
	return a.metrics.InFlight(a.running.around(a.dismissing(a.traces.Handler(api.Outer(a.log, a.clock, a.metrics.Request, defaultPace.around(a.edge.BoundBodies(a.guarded(a.withHold(served)))))))))
}

// previewsApart serves nothing but previews of site templates under the origin that is theirs, so that the site's cookies
// are of no use there.
func (a *App) previewsApart(next http.HandlerFunc) http.HandlerFunc {
	host := a.templates.PreviewHost()
	if host == "" {
		return next
	}
	previews := http.NewServeMux()
	previews.Handle("GET /templates/{id}/preview", a.edge)
	return func(w http.ResponseWriter, r *http.Request) {
		if strings.EqualFold(r.Host, host) {
			previews.ServeHTTP(w, r)
			return
		}
		next(w, r)
	}
}

// pages are the site for people.
func (a *App) pages() *webui.UI {
	d := webui.Deps{
		Accounts: a.accounts, Catalog: a.catalog, Clock: a.clock, Log: a.log, ClientAddr: a.clientAddr(), BaseURL: a.cfg.BaseURL,
		Brand: a.company.Current, Language: a.cfg.DefaultLanguage,
		Currency: money.Currency(a.cfg.DefaultCurrency), Rates: a.currencies.Current,
		Services: a.services, Terminals: a.access, Clients: clients{a.reseller}, Resellers: sellers{a.reseller},
		API: a.operations(), OAuth: a.oauth, Sections: a.switches, Articles: a.articles,
		Status: a.status, Notifications: a.notifications, Templates: a.templates, Reviews: a.reviews,
		Throttle: func(w http.ResponseWriter, r *http.Request) error { return a.edge.Throttle(w, r, oauth.Throttle.Name) },
		ThrottleDevices: func(w http.ResponseWriter, r *http.Request) error {
			return a.edge.Throttle(w, r, oauth.DeviceThrottle.Name)
		},
		Domains: a.domains,
		ThrottleDomains: func(w http.ResponseWriter, r *http.Request) error {
			return a.edge.Throttle(w, r, api.DomainCheck)
		},
	}
	if a.cfg.Demo {
		d.Demo = &webui.Demo{Email: DemoEmail, Password: DemoPassword}
	}
	return webui.New(d)
}

// securityContact tells finders of weaknesses whom to write to (RFC 9116). It is made anew by every request, so it never
// expires.
func (a *App) securityContact(w http.ResponseWriter, r *http.Request) {
	support := a.company.Current().Support
	if support == "" {
		a.edge.ServeHTTP(w, r) // says that there is nothing
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = fmt.Fprintf(w, "Contact: mailto:%s\nExpires: %s\nPreferred-Languages: uz, ru, en\nCanonical: %s/.well-known/security.txt\n",
		support, a.clock.Now().AddDate(0, 6, 0).UTC().Truncate(time.Second).Format(time.RFC3339), a.cfg.BaseURL)
}

// guarded sets the security headers that hold unless a page sets its own.
func (a *App) guarded(next http.Handler) http.Handler {
	secure := strings.HasPrefix(a.cfg.BaseURL, "https://")
	hsts := "max-age=31536000"
	if a.cfg.HSTSSubdomains {
		hsts += "; includeSubDomains"
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
		h.Set("X-Frame-Options", "DENY")
		h.Set("Permissions-Policy", "camera=(), geolocation=(), microphone=()")
		if secure {
			h.Set("Strict-Transport-Security", hsts)
		}
		next.ServeHTTP(w, r)
	})
}
