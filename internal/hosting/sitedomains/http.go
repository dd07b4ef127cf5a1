package sitedomains

import (
	"cmp"
	"context"
	"time"

	"stead.dev/stead/internal/hosting/site"
	"stead.dev/stead/internal/platform/api"
	"stead.dev/stead/internal/platform/auth"
	"stead.dev/stead/internal/platform/domainname"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/page"
	"stead.dev/stead/internal/port/panel"
)

// domainWire is a hosted domain (specification, section "Service management").
type domainWire struct {
	ID           int64       `json:"id"`
	Name         string      `json:"name" doc:"Lower-case ASCII"`
	UnicodeName  string      `json:"unicode_name" doc:"The name as people write it"`
	Kind         Kind        `json:"kind" enum:"primary,addon,alias,subdomain"`
	DocumentRoot *string     `json:"document_root" doc:"Path in the service's home; null for an alias, which shows the primary domain's site"`
	RedirectTo   *string     `json:"redirect_to" doc:"Where visitors are sent (301) instead of being served; without a path of its own it takes path and query along"`
	ForceHTTPS   bool        `json:"force_https"`
	Primary      bool        `json:"primary"`
	Status       site.Status `json:"status" enum:"pending,active,failed,removing" doc:"How far the hosting server has followed"`
	FailureKey   *string     `json:"failure_key" doc:"Why it failed: an error key"`
	DNS          dnsWire     `json:"dns"`
	TLS          tlsWire     `json:"tls"`
	Verification verifyWire  `json:"verification"`
	// DisplacedName is set while Name is a stand-in.
	DisplacedName *string   `json:"displaced_name" doc:"The name that it had before another account turned out to own the domain; null while it has its own. Its site is then shown by the preview address alone"`
	CreatedAt     time.Time `json:"created_at"`
}

// verifyWire tells whether a domain is known to be the account's.
type verifyWire struct {
	State       string              `json:"state" enum:"not_required,verified,dns_leads_here,unverified,contested,displaced" doc:"Before it is verified or the DNS leads here, its zone is not answered, and it has no certificate and no mail"`
	Method      string              `json:"method" enum:"none,txt,nameservers,registration"`
	Record      *VerificationRecord `json:"record" doc:"The DNS record that proves that the domain is yours; null where nothing is to prove"`
	Nameservers []string            `json:"nameservers" doc:"Delegating the domain to these proves it too"`
	CheckedAt   *time.Time          `json:"checked_at"`
	LosesAt     *time.Time          `json:"loses_at" doc:"When another account, which has proven control, takes the domain unless you prove control before; null: nobody does"`
}

// VerificationRecord is the DNS record that proves control.
type VerificationRecord struct {
	Name  string `json:"name"`
	Type  string `json:"type"`
	Value string `json:"value"`
}

type dnsWire struct {
	Status    PointStatus `json:"status" enum:"pointed,not_pointed,unknown"`
	Expected  []string    `json:"expected" doc:"Addresses that A and AAAA records should hold"`
	Found     []string    `json:"found"`
	CheckedAt *time.Time  `json:"checked_at" doc:"The DNS is looked at every few minutes at most"`
}

type tlsWire struct {
	Status panel.TLS `json:"status" doc:"none, self_signed, active, expired; more may be added"`
}

func wire(d domain, on site.Site, v site.Verification) domainWire {
	expected := on.Addresses()
	w := domainWire{
		ID: d.ID, Name: d.name, UnicodeName: domainname.Unicode(d.name), Kind: d.kind, DocumentRoot: d.documentRoot,
		RedirectTo: d.redirectTo, ForceHTTPS: d.forceHTTPS, Primary: d.kind == Primary, Status: d.Status, FailureKey: d.FailureKey,
		DNS: dnsWire{Status: d.dns.status(expected), Expected: expected, Found: d.dns.found, CheckedAt: d.dns.checkedAt},
		TLS: tlsWire{d.tls}, CreatedAt: d.createdAt, DisplacedName: d.displacedName,
		Verification: verifyWire{State: v.State, Method: cmp.Or(v.Method, "none"), Nameservers: v.Nameservers, CheckedAt: v.CheckedAt, LosesAt: v.LosesAt},
	}
	if r := v.Record; r != nil {
		w.Verification.Record = &VerificationRecord{Name: r.Name, Type: r.Type, Value: r.Value}
	}
	if w.Verification.Nameservers == nil {
		w.Verification.Nameservers = []string{}
	}
	if w.DNS.Found == nil {
		w.DNS.Found = []string{}
	}
	return w
}

// eventWire is a domain in the data of its events.
type eventWire struct {
	ID        int64  `json:"id"`
	ServiceID int64  `json:"service_id"`
	Name      string `json:"name"`
	Kind      Kind   `json:"kind"`
}

func eventOf(d domain) eventWire {
	return eventWire{ID: d.ID, ServiceID: d.ServiceID, Name: d.name, Kind: d.kind}
}

// usageWire has a member for each limit of a plan that is counted.
type usageWire struct {
	DiskMB      meterWire `json:"disk_mb"`
	Inodes      meterWire `json:"inodes"`
	BandwidthGB meterWire `json:"bandwidth_gb"`
	Sites       meterWire `json:"sites"`
	Domains     meterWire `json:"domains"`
	Subdomains  meterWire `json:"subdomains"`
	Databases   meterWire `json:"databases"`
	Mailboxes   meterWire `json:"mailboxes"`
	FTPAccounts meterWire `json:"ftp_accounts"`
	CronJobs    meterWire `json:"cron_jobs"`
	Backups     meterWire `json:"backups"`
}

type meterWire struct {
	Used    *int64 `json:"used" doc:"Null: the hosting server does not count it"`
	Limit   int64  `json:"limit" doc:"Of the plan; -1 is unlimited"`
	Percent *int64 `json:"percent" doc:"Null without a limit or a count"`
}

func usageOf(meters map[string]meter) *usageWire {
	m := func(name string) meterWire {
		return meterWire{Used: meters[name].used, Limit: meters[name].limit, Percent: meters[name].percent()}
	}
	return &usageWire{
		DiskMB: m("disk_mb"), Inodes: m("inodes"), BandwidthGB: m("bandwidth_gb"), Sites: m("sites"), Domains: m("domains"),
		Subdomains: m("subdomains"), Databases: m("databases"), Mailboxes: m("mailboxes"), FTPAccounts: m("ftp_accounts"),
		CronJobs: m("cron_jobs"), Backups: m("backups"),
	}
}

type createIn struct {
	site.ServiceIn
	Body struct {
		Name         string `json:"name" minLength:"1" maxLength:"255" doc:"In Unicode or ASCII" example:"shop.example.com"`
		Kind         Kind   `json:"kind" enum:"addon,alias,subdomain" doc:"An addon and a subdomain have a site of their own, an alias shows the primary domain's"`
		DocumentRoot string `json:"document_root,omitempty" maxLength:"512" doc:"Path in the service's home; /sites/ and the name when it is left out" example:"/sites/shop"`
		RedirectTo   string `json:"redirect_to,omitempty" maxLength:"2048" doc:"An http or https URL that visitors are sent to from the beginning"`
	}
}

type domainIn struct {
	site.ServiceIn
	HostedDomain int64 `path:"hosted_domain" minimum:"1" doc:"Id of the domain of the service"`
}

type updateIn struct {
	domainIn
	Body struct {
		DocumentRoot *string `json:"document_root,omitempty" minLength:"1" maxLength:"512"`
		Primary      *bool   `json:"primary,omitempty" doc:"True makes it the primary domain in the place of the present one, which becomes an addon"`
		RedirectTo   *string `json:"redirect_to,omitempty" maxLength:"2048" doc:"An http or https URL; empty ends the redirect"`
		ForceHTTPS   *bool   `json:"force_https,omitempty" doc:"Only where the domain has a valid certificate; one that expires later does not end it"`
	}
}

const (
	base  = "/api/v1/services/{service}"
	named = base + "/domains/{hosted_domain}"
)

// Operations are this section's part of the specification's section "Service
// management"; resources, sections 1 and 12.
func (s *Service) Operations() []api.Route {
	return []api.Route{
		// Specification, section "Service management": usage.
		site.Read(api.Operation[site.ServiceIn, usageWire]{
			ID: "hosting.usage", Path: base + "/usage", Summary: "See what a service uses of its plan",
			Description: "What the service uses, such as disk, databases and mailboxes, beside what its plan allows. The hosting machine " +
				"measures it, and the answer says when.",
			Errors: []*fault.Def{fault.NotFound, fault.PanelUnreachable, fault.PanelBusy},
			Handle: func(ctx context.Context, p auth.Principal, in *site.ServiceIn) (*usageWire, error) {
				meters, err := s.usage(ctx, p.AccountID, in.Service)
				if err != nil {
					return nil, err
				}
				return usageOf(meters), nil
			},
		}),
		// Specification, section "Service management": domains.
		site.Read(api.Operation[site.ListIn, page.List[domainWire]]{
			ID: "hosting.domains.list", Path: base + "/domains", Summary: "List the domains of a service, the primary one first",
			Description: "Each domain with its directory, certificate, redirect and whether its DNS leads here. `verification` says " +
				"whether it is proven to be yours and which record proves it.",
			Handle: s.listOperation,
		}),
		site.Create(api.Operation[createIn, domainWire]{
			ID: "hosting.domains.create", Path: base + "/domains", Summary: "Add a domain to a service",
			Example:     `{"name": "blog.shop.example.com", "kind": "subdomain"}`,
			Description: "The answer is `pending`; the hosting server follows within seconds, and the domain becomes `active` or `failed`.",
			Errors:      []*fault.Def{fault.LimitReached, fault.PathNotAllowed, fault.DomainInvalid, fault.DomainUnavailable, fault.DomainVerificationRequired, fault.AlreadyExists},
			Handle: func(ctx context.Context, p auth.Principal, in *createIn) (*domainWire, error) {
				b := in.Body
				return s.answer(ctx)(s.create(ctx, p, in.Service, wish{
					name: b.Name, kind: b.Kind, documentRoot: b.DocumentRoot, redirectTo: b.RedirectTo,
				}))
			},
		}),
		site.Update(api.Operation[updateIn, domainWire]{
			ID: "hosting.domains.update", Path: named, Summary: "Change a domain of a service, or make it the primary one",
			Example:     `{"force_https": true}`,
			Description: "Changes are `pending` until the hosting server has followed. A change of a `failed` domain tries it again.",
			Errors:      []*fault.Def{fault.LimitReached, fault.PathNotAllowed, fault.Conflict, fault.JobRunning},
			Handle:      s.updateOperation,
		}),
		site.Delete(api.Operation[domainIn, api.Empty]{
			ID: "hosting.domains.delete", Path: named, Summary: "Remove a domain from a service",
			Description: "Files stay. The domain is `removing` until the hosting server has followed. The primary domain cannot be removed.",
			Errors:      []*fault.Def{fault.InUse},
		}, func(in *domainIn) int64 { return in.HostedDomain }, s.remove),
	}
}

func (s *Service) listOperation(ctx context.Context, p auth.Principal, in *site.ListIn) (*page.List[domainWire], error) {
	on, rows, total, err := s.collection().Page(ctx, p.AccountID, in.Service, in.Params)
	if err != nil {
		return nil, err
	}
	told, err := s.verifications(ctx, s.DB, on, rows)
	if err != nil {
		return nil, err
	}
	wires := make([]domainWire, len(rows))
	for i, d := range rows {
		wires[i] = wire(d, on, told[d.name])
	}
	return page.Of(in.Params, total, wires), nil
}

func (s *Service) updateOperation(ctx context.Context, p auth.Principal, in *updateIn) (*domainWire, error) {
	b := in.Body
	c := change{documentRoot: b.DocumentRoot, redirectTo: b.RedirectTo, forceHTTPS: b.ForceHTTPS}
	if b.Primary != nil {
		if !*b.Primary {
			return nil, fault.Invalid("primary", "hosting_primary")
		}
		c.primary = true
	}
	return s.answer(ctx)(s.update(ctx, p, in.Service, in.HostedDomain, c))
}

func (s *Service) answer(ctx context.Context) func(domain, site.Site, error) (*domainWire, error) {
	return func(d domain, on site.Site, err error) (*domainWire, error) {
		if err != nil {
			return nil, err
		}
		told, err := s.verifications(ctx, s.DB, on, []domain{d})
		if err != nil {
			return nil, err
		}
		w := wire(d, on, told[d.name])
		return &w, nil
	}
}
