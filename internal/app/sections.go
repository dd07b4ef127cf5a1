package app

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"path/filepath"
	"strings"
	"time"

	"stead.dev/stead/internal/agent/assistant"
	"stead.dev/stead/internal/agent/insights"
	"stead.dev/stead/internal/agent/runs"
	"stead.dev/stead/internal/commerce/addons"
	"stead.dev/stead/internal/commerce/catalog"
	"stead.dev/stead/internal/commerce/clocks"
	"stead.dev/stead/internal/commerce/coupons"
	"stead.dev/stead/internal/commerce/invoices"
	"stead.dev/stead/internal/commerce/loyalty"
	"stead.dev/stead/internal/commerce/orders"
	"stead.dev/stead/internal/commerce/services"
	"stead.dev/stead/internal/commerce/services/billing"
	"stead.dev/stead/internal/commerce/services/provisioning"
	"stead.dev/stead/internal/commerce/wallet"
	"stead.dev/stead/internal/content/announcements"
	"stead.dev/stead/internal/content/articles"
	"stead.dev/stead/internal/content/company"
	"stead.dev/stead/internal/content/currencies"
	"stead.dev/stead/internal/content/reviews"
	"stead.dev/stead/internal/content/status"
	"stead.dev/stead/internal/content/templates"
	"stead.dev/stead/internal/front/admin"
	"stead.dev/stead/internal/front/live"
	"stead.dev/stead/internal/front/reseller"
	"stead.dev/stead/internal/front/watch"
	"stead.dev/stead/internal/hosting/access"
	"stead.dev/stead/internal/hosting/backups"
	"stead.dev/stead/internal/hosting/certificates"
	"stead.dev/stead/internal/hosting/credentials"
	"stead.dev/stead/internal/hosting/cron"
	"stead.dev/stead/internal/hosting/databases"
	"stead.dev/stead/internal/hosting/dns"
	"stead.dev/stead/internal/hosting/files"
	"stead.dev/stead/internal/hosting/logs"
	"stead.dev/stead/internal/hosting/mail"
	"stead.dev/stead/internal/hosting/moves"
	"stead.dev/stead/internal/hosting/nodes"
	"stead.dev/stead/internal/hosting/php"
	"stead.dev/stead/internal/hosting/site"
	"stead.dev/stead/internal/hosting/sitedomains"
	"stead.dev/stead/internal/identity/account"
	"stead.dev/stead/internal/identity/audit"
	"stead.dev/stead/internal/identity/devices"
	"stead.dev/stead/internal/identity/exports"
	"stead.dev/stead/internal/identity/notifications"
	"stead.dev/stead/internal/identity/oauth"
	"stead.dev/stead/internal/monitoring/monitors"
	"stead.dev/stead/internal/monitoring/scans"
	"stead.dev/stead/internal/monitoring/sla"
	"stead.dev/stead/internal/names/claims"
	"stead.dev/stead/internal/names/domains"
	"stead.dev/stead/internal/node"
	nodecertificates "stead.dev/stead/internal/node/certificates"
	"stead.dev/stead/internal/node/machine"
	"stead.dev/stead/internal/platform/api"
	"stead.dev/stead/internal/platform/brand"
	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/config"
	"stead.dev/stead/internal/platform/dnsquery"
	"stead.dev/stead/internal/platform/intx"
	"stead.dev/stead/internal/platform/module"
	"stead.dev/stead/internal/platform/nameserver"
	"stead.dev/stead/internal/platform/outbox"
	"stead.dev/stead/internal/platform/outgoing"
	"stead.dev/stead/internal/platform/throttle"
	"stead.dev/stead/internal/port/gateway"
	"stead.dev/stead/internal/port/gateway/bank"
	demogateway "stead.dev/stead/internal/port/gateway/demo"
	"stead.dev/stead/internal/port/gateway/stripe"
	"stead.dev/stead/internal/port/llm"
	"stead.dev/stead/internal/port/mailer"
	"stead.dev/stead/internal/port/mailer/file"
	"stead.dev/stead/internal/port/mailer/smtp"
	"stead.dev/stead/internal/port/panel"
	panelnode "stead.dev/stead/internal/port/panel/node"
	"stead.dev/stead/internal/port/panel/sandbox"
	"stead.dev/stead/internal/port/rates"
	"stead.dev/stead/internal/resale/webhooks"
	"stead.dev/stead/internal/support/tickets"
)

// sections holds the sections of the specification and what they are built on.
type sections struct {
	modules []module.Module
	// enabled tells the profile which of them this server has.
	enabled enabled
	limiter throttle.Limiter
	mailer  mailer.Mailer
	letters *mailer.Writer
	// models are the language models that the operator offers, perhaps none.
	models *llm.Offer
	node   *node.Node // nil without the embedded node
	// nodeCertificates are the certificates of the embedded node's HTTPS; nil where it serves none.
	nodeCertificates *nodecertificates.Driver
	nodes            *nodes.Service
	moves            *moves.Service
	panels           *panels
	accounts         *account.Service
	oauth            *oauth.Service
	catalog          *catalog.Service
	wallet           *wallet.Service
	services         *services.Service
	billing          *billing.Service
	provisioning     *provisioning.Service
	orders           *orders.Service
	hosting          *sitedomains.Service
	dns              *dns.Service
	files            *files.Service
	admin            *admin.Admin
	audit            *audit.Service
	tickets          *tickets.Service
	watch            *watch.Watch

	notifications *notifications.Service
	reseller      *reseller.Service
	invoices      *invoices.Service
	webhooks      *webhooks.Service
	devices       *devices.Service
	clocks        *clocks.Service

	credentials *credentials.Service
	access      *access.Service

	backups *backups.Service

	certificates *certificates.Service
	php          *php.Service
	logs         *logs.Service
	live         *live.Service

	databases *databases.Service
	cron      *cron.Service
	mail      *mail.Service

	domains *domains.Service
	claims  *claims.Service
	loyalty *loyalty.Service
	addons  *addons.Service
	coupons *coupons.Service

	articles   *articles.Service
	monitors   *monitors.Service
	currencies *currencies.Service
	status     *status.Service

	scans     *scans.Service
	sla       *sla.Service
	insights  *insights.Service
	assistant *assistant.Service
	runs      *runs.Service
	// agentReads calls operations for runs.
	agentReads    *agentOperations
	exports       *exports.Service
	exported      *exportedOperations
	reviews       *reviews.Service
	company       *company.Service
	announcements *announcements.Service
	templates     *templates.Service
}

// build makes the sections, each after those that it needs, and connects them.
func (c *core) build(ctx context.Context, as role) (err error) {
	c.limiter = throttle.New(c.db, c.clock)
	c.company = company.New(company.Config{
		DB: c.db, Signals: c.hub, Log: c.log,
		Configured: brand.Brand{Name: c.cfg.CompanyName, Color: c.cfg.CompanyColor, Support: c.cfg.SupportEmail},
	})
	if err := c.company.Load(ctx); err != nil {
		return err
	}
	c.letters = &mailer.Writer{Brand: c.company.Current, BaseURL: c.cfg.BaseURL, Changed: c.company.Letter}
	if c.mailer, err = newMailer(c.cfg, c.clock); err != nil {
		return err
	}
	c.nodes = nodes.New(nodes.Config{DB: c.db, Clock: c.clock, Box: c.box, Signals: c.hub, Jobs: c.queue, Log: c.log})
	if err := c.openPanels(ctx, as); err != nil {
		return err
	}
	if c.models, err = newModels(c.cfg, as); err != nil {
		return err
	}

	c.enabled = enabled{switches: c.switches, served: map[api.Section]bool{}}
	c.accounts, err = account.New(account.Config{
		DB: c.db, Clock: c.clock, Box: c.box, Queue: c.queue, Signals: c.hub, Limiter: c.limiter, Mailer: c.mailer,
		Modules: c.enabled, Limits: c.signInLimits(), BaseURL: c.cfg.BaseURL,
		Letters: c.letters, Brand: c.company.Current,
		Language: c.cfg.DefaultLanguage, Currency: c.cfg.DefaultCurrency, Log: c.log,
	})
	if err != nil {
		return err
	}
	c.oauth = oauth.New(oauth.Config{
		DB: c.db, Clock: c.clock, Hub: c.hub, Box: c.box, Accounts: holders{c.accounts}, BaseURL: c.cfg.BaseURL, Log: c.log,
	})
	c.catalog = catalog.New(catalog.Config{DB: c.db, Events: c.outbox})
	c.wallet = wallet.New(wallet.Config{
		DB: c.db, Clock: c.clock, Events: c.outbox, Box: c.box, Log: c.log, Queue: c.queue, Gateways: gateways(c.cfg),
		BaseURL: c.cfg.BaseURL, Brand: c.company.Current,
	})
	c.services = services.New(services.Config{DB: c.db, Clock: c.clock, Queue: c.queue, Events: c.outbox})
	c.billing = billing.New(billing.Config{DB: c.db, Clock: c.clock, Services: c.services})
	c.provisioning = provisioning.New(provisioning.Config{
		DB: c.db, Clock: c.clock, Queue: c.queue, Panels: c.panels, SandboxPanel: config.PanelSandbox,
	})
	c.orders = orders.New(orders.Config{DB: c.db, Events: c.outbox, ReservedDomains: ownNames(c.cfg)})
	base := c.siteBase()
	c.claims = claims.New(claims.Config{
		DB: c.db, Clock: c.clock, Log: c.log, Lookup: &claims.Public{Client: dnsquery.Client{Servers: c.cfg.DNSResolvers}},
		Installation: c.cfg.BaseURL, Nameservers: c.cfg.Nameservers, Protected: c.cfg.ProtectedDomains, Notice: c.cfg.DomainNotice,
	})
	c.hosting = sitedomains.New(sitedomains.Config{
		Base: base, Clock: c.clock, Events: c.outbox, Primaries: c.services, Worlds: c.accounts,
		Resolver: intx.Resolver{Next: net.DefaultResolver}, ReservedDomains: ownNames(c.cfg),
	})
	c.credentials = credentials.New(credentials.Config{DB: c.db, Box: c.box, Log: c.log})
	c.access = access.New(access.Config{Base: base, Credentials: c.credentials, Security: c.accounts, BaseURL: c.cfg.BaseURL})
	c.dns = dns.New(dns.Config{
		DB: c.db, Clock: c.clock, Queue: c.queue, Signals: c.hub, Services: c.services, Domains: c.hosting,
		Resolver: intx.Resolver{Next: net.DefaultResolver}, Nameservers: c.cfg.Nameservers, Catalog: c.cfg.DNSCatalog,
	})
	if err := c.buildCertificates(); err != nil {
		return err
	}
	c.files = files.New(c.db, c.services, c.panels, int64(c.cfg.MaxUpload))
	c.notifications = notifications.New(notifications.Config{
		DB: c.db, Queue: c.queue, Recipients: recipients{c.accounts}, Mailer: c.mailer, Letters: c.letters, Brand: c.company.Current,
		BaseURL: c.cfg.BaseURL, Box: c.box,
	})
	if err := c.buildDevices(); err != nil {
		return err
	}
	c.backups = backups.New(backups.Config{Base: base, Clock: c.clock, Events: c.outbox, Log: c.log, Box: c.box})
	c.moves = moves.New(moves.Config{
		Base: base, Clock: c.clock, Wait: c.cfg.MoveWait, Machines: outgoing.Machine{Local: c.cfg.AllowLoopbackTargets}, Log: c.log,
	})
	c.databases = databases.New(databases.Config{Base: base, Events: c.outbox, Secrets: c.credentials})
	c.cron = cron.New(cron.Config{Base: base, Clock: c.clock})
	c.php = php.New(php.Config{Base: base, Clock: c.clock})
	c.logs = logs.New(logs.Config{DB: c.db, Services: c.services, Panels: c.panels, Ending: c.ending})
	c.live = live.New(live.Config{DB: c.db, Feed: outbox.NewFeed(c.db, c.clock, c.log), Services: c.services, Ending: c.ending})
	c.mail = mail.New(mail.Config{
		Base: base, Clock: c.clock, Events: c.outbox,
		Domains: c.hosting, Zones: c.dns, Resolver: intx.Resolver{Next: net.DefaultResolver},
	})
	if err := c.buildDomains(ctx, as); err != nil {
		return err
	}
	c.addons = addons.New(addons.Config{DB: c.db, Clock: c.clock, Events: c.outbox})
	c.buildMonitors()
	c.buildScans()
	c.sla = sla.New(sla.Config{DB: c.db, Clock: c.clock, Events: c.outbox})
	c.buildInsights()
	c.assistant = assistant.New(assistant.Config{DB: c.db, Limiter: c.limiter, BaseURL: c.cfg.BaseURL, Brand: c.company.Current})
	c.runs = runs.New(runs.Config{
		Base: base, Clock: c.clock, Events: c.outbox, Signals: c.hub, Log: c.log, Wallet: c.wallet, Models: c.models, Ending: c.ending, Idle: withoutPanels(c.cfg),
	})
	c.coupons = coupons.New(coupons.Config{DB: c.db, Orders: c.orders})
	c.reviews = reviews.New(reviews.Config{DB: c.db, Customers: reviewers{c.services}})
	c.templates = templates.New(templates.Config{Base: base, BaseURL: c.cfg.BaseURL, PreviewOrigin: c.cfg.PreviewOrigin})
	c.reseller = reseller.New(reseller.Config{
		DB: c.db, Clock: c.clock, Accounts: c.accounts, Wallet: c.wallet, Services: c.services, Billing: c.billing, Orders: c.orders, Catalog: c.catalog,
		Credentials: c.credentials, FTP: c.access, BaseURL: c.cfg.BaseURL, Events: c.outbox, Limits: c.resellerLimits(), Company: c.company.Current,
	})
	c.clocks = clocks.New(clocks.Config{DB: c.db, Clock: c.clock, Queue: c.queue})
	c.webhooks = webhooks.New(webhooks.Config{
		DB: c.db, Clock: c.clock, Queue: c.queue, Events: c.outbox, Box: c.box, Worlds: c.reseller, Tags: c.services, OrderTags: c.orders,
		AllowLoopback: c.cfg.AllowLoopbackTargets,
	})
	if err := c.buildInvoices(ctx); err != nil {
		return err
	}
	if err := c.buildLoyalty(); err != nil {
		return err
	}
	c.articles = articles.New(articles.Config{DB: c.db, Clock: c.clock, Log: c.log, BaseURL: c.cfg.BaseURL, Bring: c.cfg.ContentLibrary})
	c.currencies = currencies.New(currencies.Config{DB: c.db, Clock: c.clock, Signals: c.hub, Log: c.log, Sources: rateSources(c.cfg)})
	if err := c.currencies.Load(ctx); err != nil {
		return err
	}
	c.status = status.New(status.Config{
		DB: c.db, Clock: c.clock, Events: c.outbox, Log: c.log, Machines: c.machinesShown(), Audience: c.webhooks, Parts: c.statusParts(),
		Queue: c.queue, Mailer: c.mailer, Box: c.box, Limiter: c.limiter, Limits: c.subscriptionLimits(), BaseURL: c.cfg.BaseURL, Letters: c.letters, Brand: c.company.Current,
	})
	c.announcements = announcements.New(announcements.Config{DB: c.db, Clock: c.clock, Queue: c.queue})
	c.audit = audit.New(audit.Config{DB: c.db})
	c.admin = admin.New(admin.Sections{
		DB: c.db, Accounts: c.accounts, Applications: c.oauth, Catalog: c.catalog, Wallet: c.wallet, Services: c.services,
		Switches: c.switches, Nodes: c.nodes, Moves: c.moves, Clock: c.clock, NodesURL: c.cfg.NodesURL, Domains: c.domains, Zones: c.dns, Resellers: resellers{c.reseller}, Clocks: c.clocks, Addons: c.addons, Coupons: c.coupons, Articles: c.articles, Refunds: refunds{c.orders}, Taxes: c.invoices, Takeovers: c.orders,
		Currencies: c.currencies, Status: c.status, Reviews: c.reviews, Templates: c.templates, SLA: c.sla, Audit: c.audit, Provisioning: c.provisioning, Jobs: c.queue, BaseURL: c.cfg.BaseURL, Settings: c.cfg.Describe(),
		Unfulfillable: newAsking(c.cfg, c.nodes, c.catalog).unfulfillable,
	})
	c.tickets = tickets.New(tickets.Config{
		DB: c.db, Clock: c.clock, Queue: c.queue, Mailer: c.mailer, People: people{c.accounts}, Services: serviceOwners{c.services}, Audit: c.admin,
		Letters: c.letters, Brand: c.company.Current, BaseURL: c.cfg.BaseURL, Language: c.cfg.DefaultLanguage,
	})
	c.admin.Inbox = c.tickets
	c.company.Connect(company.Needs{
		Audit: c.admin, Kinds: mailKinds(), Letters: c.letters, Mailer: c.mailer, Staff: staffAddresses{c.accounts},
	})
	c.buildExports()
	c.watch = watch.New(watch.Config{
		DB: c.db, Clock: c.clock, Ledger: func(ctx context.Context) error { return auditLedger(ctx, c.wallet) },
		Unattempted: func(ctx context.Context, by time.Duration) (int, error) {
			h, err := c.services.Health(ctx, by)
			return h.NoAttempt, err
		},
		OldestJobs: c.oldestJobs, BackupInterval: c.cfg.ControlBackupInterval,
	})
	c.metrics.Add(c.watch.Collector())
	c.admin.Hosting = admin.Hosting{
		Sites: c.hosting, DNS: c.dns, Databases: c.databases, Mail: c.mail, Cron: c.cron, Secrets: c.credentials, Panels: c.contentPanels(as),
	}
	c.admin.Agents = agents{panels: c.contentPanels(as), version: c.version}
	c.introduce()
	c.modules = c.listModules()
	return c.connect()
}

// listModules is the list of everything that has operations, jobs or subscriptions. Events are delivered in its order:
// provisioning gets an event of a service before the notifications do, and the invoices get events of money last, after the
// services that wait for it.
func (c *core) listModules() []module.Module {
	return []module.Module{
		c.oauth.Module(),
		c.audit.Module(),
		c.catalog.Module(),
		c.accounts.Module(),
		{Name: "nodes", NoExport: "machines are nobody's", Subscriptions: []module.Subscription{{Types: []string{"service.*"}, Follow: roomOf{c.nodes}.follow(c.services)}}, Needs: []any{c.nodes.Needs}},
		c.services.Module(),
		c.billing.Module(),
		c.provisioning.Module(),
		c.moves.Module(),
		c.claims.Module(),
		c.hosting.Module(),
		c.dns.Module(),
		c.files.Module(),
		c.orders.Module(),
		c.coupons.Module(),
		c.wallet.Module(),
		c.certificates.Module(),
		c.notifications.Module(),
		c.devices.Module(),
		c.php.Module(),
		c.logs.Module(),
		c.backups.Module(),
		c.databases.Module(),
		c.cron.Module(),
		c.mail.Module(),
		c.access.Module(),
		c.credentials.Module(),
		c.domains.Module(),
		c.webhooks.Module(),
		c.clocks.Module(),
		c.addons.Module(),
		c.runs.Module(), // it bills an account that is closed, before the invoices forget whom they are for
		c.invoices.Module(),
		c.loyalty.Module(),
		c.monitors.Module(),
		c.scans.Module(),
		c.sla.Module(),
		c.insights.Module(),
		c.assistant.Module(),
		c.reviews.Module(),
		c.templates.Module(),
		c.reseller.Module(),
		c.articles.Module(),
		c.currencies.Module(),
		c.status.Module(),
		c.company.Module(),
		c.announcements.Module(),
		c.tickets.Module(),
		c.watch.Module(),
		c.exports.Module(),
		c.live.Module(),
	}
}

// oldestJobs tells for each kind of job how long the oldest one that nobody has begun has been due.
func (c *core) oldestJobs(ctx context.Context) (map[string]time.Duration, error) {
	due, err := c.queue.Oldest(ctx, c.db)
	ages := make(map[string]time.Duration, len(due))
	for kind, at := range due {
		ages[kind] = max(0, c.clock.Now().Sub(at))
	}
	return ages, err
}

// introduce gives each section what it needs of the others. All of them must exist.
func (c *core) introduce() {
	c.accounts.Connect(account.Needs{Grants: c.oauth, Pushes: c.devices, Referrals: c.loyalty})
	c.catalog.Connect(catalog.Needs{Audience: c.webhooks, Rates: c.reseller, Worlds: c.accounts})
	c.oauth.Connect(oauth.Needs{Endings: []oauth.Ending{c.devices.Ended, c.accounts.ApplicationEnded}})
	c.notifications.Connect(notifications.Needs{Pushes: c.devices})
	c.announcements.Connect(announcements.Needs{
		Accounts: audiences{c.accounts, c.services, c.reseller, c.nodes}, Notifier: news{c.notifications}, Audit: c.admin,
	})
	c.wallet.Connect(wallet.Needs{Renewals: c.billing})
	c.services.Connect(services.Needs{
		Billing: c.billing, Plans: c.catalog, Payments: c.wallet, Orders: c.orders, Addons: c.addons, Names: c.hosting, Keeper: c.backups,
		Provisioner: c.provisioning, Worlds: c.accounts, Clocks: c.clocks, Monitors: c.monitors,
	})
	c.billing.Connect(billing.Needs{
		Orders: c.orders, Plans: c.catalog, Addons: c.addons, Balances: c.wallet, Rates: c.reseller, Taxes: c.invoices,
		Usages: c.hosting, Provisioner: c.provisioning,
	})
	c.provisioning.Connect(provisioning.Needs{Services: c.services, Domains: c.hosting, Keeper: c.backups, Placer: placer(newAsking(c.cfg, c.nodes, c.catalog))})
	c.orders.Connect(orders.Needs{
		Catalog: c.catalog, Payer: c.wallet, Services: c.services, Billing: c.billing, Rates: c.reseller, Taxes: c.invoices, Books: c.invoices, Coupons: c.coupons,
		Clocks: c.clocks,
	})
	c.addons.Connect(addons.Needs{Catalog: extras{c.catalog}, Services: c.services, Billing: c.billing, Orders: c.orders, Rates: c.reseller})
	c.nodes.Connect(nodes.Needs{Checks: c.monitors, Moves: c.moves})
	c.moves.Connect(moves.Needs{
		Services: c.services, Places: movedPlaces{places{asking{nodes: c.nodes, catalog: c.catalog, panel: config.PanelNodes, anyhow: true}}, c.services}, Nodes: movedNodes{c.nodes, c.clock}, Backups: movedBackups{c.backups}, DNS: c.dns,
		Spec: provisioning.SpecOf, First: []moves.Follower{c.hosting, c.databases, c.mail}, All: c.hosting.ApplyAll,
	})
	c.monitors.Connect(monitors.Needs{Services: watchedServices{c.services}, Owners: owners{c.accounts}, Devices: c.devices})
	c.scans.Connect(scans.Needs{Sites: scannedSites{c}, Insights: scanInsights{c.insights}})
	c.sla.Connect(sla.Needs{
		Services: soldServices{c.services, c.billing}, Plans: promises{c.catalog}, Monitors: watchers{c.monitors}, Announcements: plannedWork{c.status},
		Wallet: compensations{c.wallet, c.invoices, c.services},
	})
	c.assistant.Connect(assistant.Needs{Knowledge: knowledge{c.articles}, Accounts: askedAccounts{c}, Model: wording{c.models}})
	c.agentReads = &agentOperations{}
	c.runs.Connect(runs.Needs{Operations: c.agentReads, PHP: c.php, Backups: c.backups, Places: servedPlaces{c}, Secrets: issuedSecrets{c.credentials}, Books: c.invoices, Names: boughtNames{c.services}})
	c.insights.Connect(insights.Needs{Services: auditedServices{c}, Model: wording{c.models}})
	c.clocks.Connect(clocks.Needs{Worlds: c.accounts, Lives: []clocks.Life{c.orders, c.services, c.addons}})
	c.invoices.Connect(invoices.Needs{Accounts: buyers{c.accounts}, Topups: c.wallet, Orders: c.orders, Audit: c.admin})
	c.hosting.Connect(sitedomains.Needs{
		Parts:  []site.Part{c.provisioning, c.dns, c.certificates, c.php, c.backups, c.databases, c.cron, c.mail, c.access},
		Claims: c.claims, Zones: c.dns, Moves: c.moves,
	})
	c.claims.Connect(claims.Needs{Names: c.hosting, Services: c.services, Worlds: c.accounts})
	c.credentials.Connect(credentials.Needs{
		Services: c.services,
		Replaced: map[credentials.Kind]credentials.Replaced{access.CredentialKind: c.access.PasswordReplaced, databases.SecretKind: c.databases.PasswordReplaced},
		Places:   map[credentials.Kind]credentials.Places{access.CredentialKind: c.access.FTPAddresses},
	})
	c.backups.Connect(backups.Needs{
		Sources: map[panel.BackupPart]backups.Source{
			panel.PartDNS: c.dns, panel.PartCron: c.cron, panel.PartDatabases: c.databases, panel.PartMail: c.mail,
		},
		Names: c.hosting, Settings: map[string]backups.Source{"access": c.access, "php": c.php}, Terms: c.services,
	})
	c.domains.Connect(domains.Needs{Orders: c.orders, Worlds: c.accounts, Rates: c.reseller, Hosts: c.hosting, Claims: c.claims, Sources: c.lookups()})
}

// connect checks that no section lacks anything that it needs, and subscribes the sections to events and to the closing of
// accounts.
func (c *core) connect() error {
	for _, m := range c.modules {
		if err := module.Complete(m.Needs...); err != nil {
			return fmt.Errorf("section %s: %w", m.Name, err)
		}
		for _, s := range m.Subscriptions {
			for _, typ := range s.Types {
				c.outbox.Subscribe(typ, s.Follow)
			}
		}
		if m.OnClose != nil {
			c.accounts.OnClose(m.OnClose)
		}
		if m.Obstacles != nil {
			c.accounts.Obstacles(m.Obstacles)
		}
	}
	return nil
}

// openPanels opens the hosting panels of this process, and notes what the one can do on which services are provisioned. A command
// opens none: jobs of the server change panels.
func (c *core) openPanels(ctx context.Context, as role) error {
	c.panels = &panels{fixed: map[string]panel.Panel{}}
	if as != server {
		return nil
	}
	if err := c.openFixed(ctx); err != nil {
		return err
	}
	if p, ok := c.panels.fixed[c.cfg.Panel]; ok {
		return c.nodes.Know(ctx, c.cfg.Panel, panel.Capabilities(p))
	}
	return nil
}

// openFixed opens the panels that the configuration names.
func (c *core) openFixed(ctx context.Context) error {
	c.panels.nodes = newFarPanels(c.nodes, c.hub, c.log)
	if c.cfg.NodeListen != config.Off {
		if err := c.openNode(ctx); err != nil {
			return err
		}
	}
	if c.cfg.HestiaURL != "" {
		server, err := newHestia(c.cfg, c.clock.Now)
		if err != nil {
			return err
		}
		c.panels.fixed[config.PanelHestia] = server
	}
	if !simulates(c.cfg) {
		return nil
	}
	simulated, err := sandbox.Open(ctx, filepath.Join(c.cfg.DataDir, "sandbox"), c.clock.Now, c.log)
	if err != nil {
		return err
	}
	c.onClose(func(context.Context) error { return simulated.Close() })
	c.panels.fixed[config.PanelSandbox] = simulated
	return nil
}

func (c *core) openNode(ctx context.Context) (err error) {
	host := machineConfig(c.cfg, c.clock.Now, c.log)
	host.HTTPS = c.cfg.NodeTLSListen != config.Off
	m, err := machine.Open(ctx, host)
	if err != nil {
		return err
	}
	c.onClose(func(context.Context) error { return m.Close() })
	c.node, c.nodeCertificates = m.Node, m.Certificates
	c.panels.fixed[config.PanelNode] = panelnode.New(c.node)
	c.serveNode(ctx, c.panels.fixed[config.PanelNode])
	return nil
}

func nodeDir(cfg config.Config) string { return filepath.Join(cfg.DataDir, "node") }

// answersPerSecond bounds the answers of the name server to one network over UDP.
const answersPerSecond = 500

// newNameserver serves the zones on the configured address; nil when that is off.
func (a *App) newNameserver(ctx context.Context) error {
	if a.cfg.DNSListen == config.Off {
		return nil
	}
	key := nameserver.Key{}
	key.Algorithm, key.Name, key.Secret = a.cfg.TSIGKey()
	a.nameserver = nameserver.New(nameserver.Config{
		Secondaries: a.cfg.DNSSecondaries, Key: key, AnswersPerSecond: answersPerSecond, Answered: a.metrics.DNSAnswer, Now: a.clock.Now, Log: a.log,
	})
	if err := a.nameserver.Listen(ctx, a.cfg.DNSListen); err != nil {
		return taken(ctx, err, "STEAD_DNS_LISTEN", a.cfg.DNSListen)
	}
	a.onClose(func(context.Context) error {
		_ = a.nameserver.Close() // closed already when it was served
		return nil
	})
	a.zones = dns.NewFeed(a.dns, a.nameserver, a.hub, a.log)
	a.metrics.Zones(a.nameserver.Zones, a.zones.Lag)
	a.metrics.Secondaries(a.nameserver.Lags)
	return a.zones.Load(ctx)
}

// newMailer sends through the configured mail server, or writes into a folder.
func newMailer(cfg config.Config, c clock.Clock) (mailer.Mailer, error) {
	if cfg.SMTPURL != "" {
		return smtp.New(smtp.Config{URL: cfg.SMTPURL.Reveal(), From: cfg.MailFrom, Clock: c})
	}
	from := cfg.MailFrom
	if from == "" {
		from = "Stead <no-reply@stead.invalid>"
	}
	return file.New(mailDir(cfg), from, c)
}

// mailDir is the folder for mails where no mail server is configured.
func mailDir(cfg config.Config) string { return filepath.Join(cfg.DataDir, "mail") }

// signInLimits bound attempts at signing in, unless throttles are off.
func (c *core) signInLimits() account.Limits {
	if !c.cfg.Throttle {
		return account.Limits{}
	}
	return account.DefaultLimits()
}

// resellerLimits are the limits that hold for resellers, as the interface states them.
func (c *core) resellerLimits() reseller.Limits {
	l := reseller.Limits{Webhooks: webhooks.MaxEndpoints}
	if c.cfg.Throttle {
		l.RequestsPerMinute, l.DomainChecksPerMinute = c.cfg.ThrottleReseller, c.cfg.ThrottleDomainCheck
	}
	return l
}

// gateways are the payment gateways that the configuration opens.
func gateways(cfg config.Config) []gateway.Gateway {
	all := []gateway.Gateway{}
	if cfg.StripeSecretKey != "" {
		all = append(all, stripe.New(stripe.Config{
			SecretKey: cfg.StripeSecretKey.Reveal(), WebhookSecret: cfg.StripeWebhookSecret.Reveal(),
		}))
	}
	if cfg.BankTransferDetails != "" {
		all = append(all, bank.New(cfg.BankTransferDetails))
	}
	if cfg.Demo {
		all = append(all, demogateway.New())
	}
	return all
}

// ownNames are the names of this installation, which no customer may order.
func ownNames(cfg config.Config) []string {
	var names []string
	for _, address := range []string{cfg.BaseURL, cfg.NodeURL} {
		u, err := url.Parse(address)
		if err == nil && strings.Contains(u.Hostname(), ".") {
			names = append(names, strings.ToLower(u.Hostname()))
		}
	}
	for _, name := range append([]string{cfg.PreviewDomain, cfg.MailHost}, cfg.Nameservers...) {
		if name != "" {
			names = append(names, strings.ToLower(strings.TrimSuffix(name, ".")))
		}
	}
	return names
}

// auditLedger recomputes the balances of the wallet's ledger.
func auditLedger(ctx context.Context, w *wallet.Service) error {
	found, err := w.Recompute(ctx)
	if err == nil && len(found) > 0 {
		err = fmt.Errorf("the books do not add up in %d places, the first: %v", len(found), found[0])
	}
	return err
}

// rateSources are the publishers of exchange rates that the operator has chosen.
func rateSources(cfg config.Config) []rates.Source {
	switch cfg.RatesSource {
	case config.RatesCBU:
		return []rates.Source{rates.CBU(rates.CBUAddress)}
	case config.RatesECB:
		return []rates.Source{rates.ECB(rates.ECBAddress)}
	default:
		return []rates.Source{}
	}
}
