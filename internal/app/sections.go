package app

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/riverqueue/river"

	"stead.dev/stead/internal/access"
	"stead.dev/stead/internal/account"
	"stead.dev/stead/internal/addons"
	"stead.dev/stead/internal/admin"
	"stead.dev/stead/internal/backups"
	"stead.dev/stead/internal/catalog"
	"stead.dev/stead/internal/certificates"
	"stead.dev/stead/internal/clocks"
	"stead.dev/stead/internal/coupons"
	"stead.dev/stead/internal/credentials"
	"stead.dev/stead/internal/cron"
	"stead.dev/stead/internal/databases"
	"stead.dev/stead/internal/devices"
	"stead.dev/stead/internal/dns"
	"stead.dev/stead/internal/domains"
	"stead.dev/stead/internal/files"
	"stead.dev/stead/internal/gateway"
	"stead.dev/stead/internal/gateway/bank"
	demogateway "stead.dev/stead/internal/gateway/demo"
	"stead.dev/stead/internal/gateway/stripe"
	"stead.dev/stead/internal/hosting"
	"stead.dev/stead/internal/invoices"
	"stead.dev/stead/internal/logs"
	"stead.dev/stead/internal/loyalty"
	"stead.dev/stead/internal/mail"
	"stead.dev/stead/internal/mailer"
	"stead.dev/stead/internal/mailer/file"
	"stead.dev/stead/internal/mailer/smtp"
	"stead.dev/stead/internal/nameserver"
	"stead.dev/stead/internal/node"
	nodecertificates "stead.dev/stead/internal/node/certificates"
	"stead.dev/stead/internal/node/machine"
	"stead.dev/stead/internal/nodes"
	"stead.dev/stead/internal/notifications"
	"stead.dev/stead/internal/oauth"
	"stead.dev/stead/internal/orders"
	"stead.dev/stead/internal/panel"
	panelnode "stead.dev/stead/internal/panel/node"
	"stead.dev/stead/internal/panel/sandbox"
	"stead.dev/stead/internal/php"
	"stead.dev/stead/internal/platform/api"
	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/config"
	"stead.dev/stead/internal/platform/throttle"
	"stead.dev/stead/internal/reseller"
	"stead.dev/stead/internal/services"
	"stead.dev/stead/internal/site"
	"stead.dev/stead/internal/wallet"
	"stead.dev/stead/internal/webhooks"
)

// sections are what the specification calls so, and what they stand on.
type sections struct {
	modules modules
	limiter throttle.Limiter
	mailer  mailer.Mailer
	node    *node.Node // nil without the embedded node
	// nodeCertificates are what it answers HTTPS with; nil where it does not.
	nodeCertificates *nodecertificates.Driver
	nodes            *nodes.Service
	panels           panels
	accounts         *account.Service
	oauth            *oauth.Service
	catalog          *catalog.Service
	wallet           *wallet.Service
	services         *services.Service
	orders           *orders.Service
	hosting          *hosting.Service
	dns              *dns.Service
	files            *files.Service
	admin            *admin.Admin

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

	databases *databases.Service
	cron      *cron.Service
	mail      *mail.Service

	domains *domains.Service
	loyalty *loyalty.Service
	addons  *addons.Service
	coupons *coupons.Service
}

// build makes the sections, each after those it needs, and plugs them together.
func (c *core) build(ctx context.Context, as role) (err error) {
	c.limiter = throttle.New(c.db, c.clock)
	if c.mailer, err = newMailer(c.cfg, c.clock); err != nil {
		return err
	}
	c.nodes = nodes.New(nodes.Config{DB: c.db, Clock: c.clock, Box: c.box, Signals: c.hub, Log: c.log})
	if err := c.openPanels(ctx, as); err != nil {
		return err
	}

	c.modules = modules{switches: c.switches, served: map[api.Section]bool{}}
	ending := &grants{}
	c.accounts, err = account.New(account.Config{
		DB: c.db, Clock: c.clock, Box: c.box, Queue: c.queue, Signals: c.hub, Limiter: c.limiter, Mailer: c.mailer,
		Modules: c.modules, Grants: ending, Limits: c.signInLimits(), BaseURL: c.cfg.BaseURL,
		Company: c.cfg.CompanyName, Support: c.cfg.SupportEmail,
		Language: c.cfg.DefaultLanguage, Currency: c.cfg.DefaultCurrency,
	})
	if err != nil {
		return err
	}
	c.oauth = oauth.New(oauth.Config{
		DB: c.db, Clock: c.clock, Hub: c.hub, Box: c.box, Accounts: holders{c.accounts}, BaseURL: c.cfg.BaseURL, Log: c.log,
	})
	ending.oauth = c.oauth
	c.catalog = catalog.New(c.db)
	c.wallet = wallet.New(wallet.Config{
		DB: c.db, Clock: c.clock, Events: c.outbox, Box: c.box, Log: c.log, Queue: c.queue, Gateways: gateways(c.cfg),
		BaseURL: c.cfg.BaseURL, Company: c.cfg.CompanyName,
	})
	c.services = services.New(services.Config{
		DB: c.db, Clock: c.clock, Queue: c.queue, Events: c.outbox, Panels: c.panels, Balances: balances{c.wallet},
		Plans: tariffs{c.catalog}, Payments: c.wallet, Worlds: c.accounts, DefaultPanel: c.cfg.Panel,
		SandboxPanel: config.PanelSandbox,
	})
	onNodes := places{c.nodes, c.catalog}
	if c.cfg.Panel == config.PanelNodes {
		c.services.Placer = onNodes
	}
	c.outbox.Subscribe("service.*", onNodes.follow(c.services))
	c.wallet.SetRenewals(c.services)
	c.orders = orders.New(orders.Config{
		DB: c.db, Catalog: shelf{c.catalog}, Payer: payer{c.wallet}, Services: reservations{c.services}, Events: c.outbox,
		ReservedDomains: ownNames(c.cfg),
	})
	c.services.SetOrderBook(c.orders)
	c.services.SetBilling(billing{c.orders})
	c.hosting = hosting.New(hosting.Config{
		DB: c.db, Clock: c.clock, Queue: c.queue, Events: c.outbox, Services: hosted{c.services}, Worlds: c.accounts, Panels: c.panels,
		Resolver: net.DefaultResolver, ReservedDomains: ownNames(c.cfg),
	})
	for _, typ := range []string{"wallet.topup_succeeded", "wallet.adjusted", "order.refunded"} {
		c.outbox.Subscribe(typ, c.services.Paid)
	}
	c.accounts.OnClose(c.services.Closed)
	c.accounts.OnClose(c.wallet.Closed)
	c.services.SetNames(c.hosting)
	c.services.SetUsages(c.hosting)
	c.credentials = credentials.New(credentials.Config{DB: c.db, Box: c.box, Log: c.log})
	c.access = access.New(access.Config{
		DB: c.db, Queue: c.queue, Services: hosted{c.services}, Panels: c.panels, Credentials: c.credentials, BaseURL: c.cfg.BaseURL,
	})
	c.credentials.OnReplace(access.CredentialKind, c.access.PasswordReplaced)
	c.credentials.OnPlaces(access.CredentialKind, c.access.FTPPlaces)
	c.outbox.Subscribe("service.*", c.hosting.Follow)
	c.dns = dns.New(dns.Config{
		DB: c.db, Clock: c.clock, Queue: c.queue, Signals: c.hub, Services: hosted{c.services}, Domains: zoneDomains{c.hosting},
		Resolver: net.DefaultResolver, Nameservers: c.cfg.Nameservers, Catalog: c.cfg.DNSCatalog,
	})
	c.outbox.Subscribe("service.*", c.dns.Follow)
	c.outbox.Subscribe("site_domain.*", c.dns.Follow)
	if err := c.buildCertificates(); err != nil {
		return err
	}
	c.files = files.New(c.db, hosted{c.services}, c.panels, int64(c.cfg.MaxUpload))
	c.notifications = notifications.New(notifications.Config{
		DB: c.db, Queue: c.queue, Recipients: recipients{c.accounts}, Mailer: c.mailer, Company: c.cfg.CompanyName, Support: c.cfg.SupportEmail,
	})
	if err := c.buildDevices(); err != nil {
		return err
	}
	for _, typ := range notifications.EventTypes() {
		c.outbox.Subscribe(typ, c.notifications.Follow)
	}
	c.backups = backups.New(backups.Config{
		DB: c.db, Clock: c.clock, Queue: c.queue, Events: c.outbox, Services: hosted{c.services}, Panels: c.panels,
	})
	c.backups.SetSource(panel.PartDNS, c.dns)
	c.databases = databases.New(databases.Config{
		DB: c.db, Queue: c.queue, Events: c.outbox, Services: hosted{c.services}, Panels: c.panels, Secrets: c.credentials,
	})
	c.credentials.OnReplace(databases.SecretKind, c.databases.Replaced)
	c.cron = cron.New(cron.Config{DB: c.db, Clock: c.clock, Queue: c.queue, Services: hosted{c.services}, Panels: c.panels})
	c.backups.SetSource(panel.PartCron, c.cron)
	c.backups.SetSource(panel.PartDatabases, c.databases)
	c.backups.SetNames(c.hosting)
	c.services.SetKeeper(c.backups)
	c.backups.SetTerms(c.services)
	c.backups.AddSettings("access", c.access)
	c.php = php.New(php.Config{DB: c.db, Clock: c.clock, Queue: c.queue, Services: hosted{c.services}, Panels: c.panels})
	c.backups.AddSettings("php", c.php)
	c.logs = logs.New(logs.Config{DB: c.db, Services: hosted{c.services}, Panels: c.panels, Ending: c.ending})
	c.mail = mail.New(mail.Config{
		DB: c.db, Clock: c.clock, Queue: c.queue, Events: c.outbox, Services: hosted{c.services}, Panels: c.panels,
		Domains: mailDomains{c.hosting}, Zones: mailZones{c.dns}, Resolver: net.DefaultResolver,
	})
	c.outbox.Subscribe("site_domain.*", c.mail.Follow)
	c.backups.SetSource(panel.PartMail, c.mail)
	c.hosting.SetParts(c.parts()...)
	if err := c.buildDomains(ctx, as); err != nil {
		return err
	}
	c.buildAddons()
	c.coupons = coupons.New(coupons.Config{DB: c.db, Orders: c.orders})
	c.orders.Coupons = redeemed{c.coupons}
	c.reseller = reseller.New(reseller.Config{
		DB: c.db, Clock: c.clock, Accounts: c.accounts, Wallet: c.wallet, Services: c.services, Orders: c.orders, Catalog: c.catalog,
		Credentials: c.credentials, FTP: c.access, BaseURL: c.cfg.BaseURL, Events: c.outbox, Limits: c.resellerLimits(),
	})
	c.orders.Rates, c.services.Rates, c.domains.Rates = c.reseller, c.reseller, c.reseller
	c.addons.Rates = c.reseller
	c.clocks = clocks.New(clocks.Config{DB: c.db, Clock: c.clock, Queue: c.queue, Worlds: c.accounts})
	c.orders.Clocks, c.services.Clocks = c.clocks, c.clocks
	c.clocks.SetLives(c.orders, c.services, c.addons)
	c.webhooks = webhooks.New(webhooks.Config{
		DB: c.db, Clock: c.clock, Queue: c.queue, Events: c.outbox, Box: c.box, Worlds: c.reseller, Tags: c.services, AllowLoopback: c.cfg.AllowLoopbackTargets,
	})
	c.outbox.Subscribe("*", c.webhooks.Follow)
	if err := c.buildInvoices(); err != nil {
		return err
	}
	if err := c.buildLoyalty(); err != nil {
		return err
	}
	c.admin = admin.New(admin.Sections{
		DB: c.db, Accounts: c.accounts, Applications: c.oauth, Catalog: c.catalog, Wallet: c.wallet, Services: c.services,
		Switches: c.switches, Nodes: c.nodes, Clock: c.clock, NodesURL: c.cfg.NodesURL, Domains: c.domains, Resellers: resellers{c.reseller}, Clocks: c.clocks, Addons: c.addons, Coupons: c.coupons, Refunds: refunds{c.db, c.orders},
	})
	return nil
}

// parts are the sections that keep something of services on their panels.
func (c *core) parts() []site.Part {
	return []site.Part{c.certificates, c.php, c.backups, c.databases, c.cron, c.mail, c.access}
}

// routes are the operations of all sections.
func (c *core) routes() []api.Route {
	return slices.Concat(c.oauth.Operations(), c.catalog.Operations(), c.accounts.Operations(), c.services.Operations(),
		c.hosting.Operations(), c.dns.Operations(), c.files.Operations(), c.orders.Operations(), c.invoices.Operations(), c.wallet.Operations(),
		c.notifications.Operations(), c.devices.Operations(), c.php.Operations(), c.logs.Operations(), c.certificates.Operations(), c.backups.Operations(), c.databases.Operations(), c.cron.Operations(), c.mail.Operations(), c.access.Operations(), c.domains.Operations(),
		c.loyalty.Operations(), c.webhooks.Operations(), c.clocks.Operations(), c.addons.Operations())
}

func (c *core) registerSections(w *river.Workers) {
	c.accounts.Register(w)
	c.oauth.Register(w)
	c.wallet.Register(w)
	c.services.Register(w)
	c.hosting.Register(w)
	c.dns.Register(w)
	c.orders.Register(w)
	c.notifications.Register(w)
	c.devices.Register(w)
	c.certificates.Register(w)
	c.php.Register(w)
	c.backups.Register(w)
	c.databases.Register(w)
	c.cron.Register(w)
	c.mail.Register(w)
	c.access.Register(w)
	c.domains.Register(w)
	c.webhooks.Register(w)
	c.reseller.Register(w)
	c.clocks.Register(w)
	c.addons.Register(w)
}

func (c *core) scheduleSections(every func(interval time.Duration, args river.JobArgs)) {
	c.accounts.Schedule(every)
	c.oauth.Schedule(every)
	c.wallet.Schedule(every)
	c.services.Schedule(every)
	c.hosting.Schedule(every)
	c.dns.Schedule(every)
	c.orders.Schedule(every)
	c.notifications.Schedule(every)
	c.devices.Schedule(every)
	c.certificates.Schedule(every)
	c.backups.Schedule(every)
	c.databases.Schedule(every)
	c.cron.Schedule(every)
	c.mail.Schedule(every)
	c.domains.Schedule(every)
	c.webhooks.Schedule(every)
	c.reseller.Schedule(every)
	c.clocks.Schedule(every)
	c.addons.Schedule(every)
}

// openPanels opens the hosting panels of this process. A command leaves them to
// the server: what changes on a panel is done by jobs.
func (c *core) openPanels(ctx context.Context, as role) error {
	c.panels = panels{fixed: map[string]panel.Panel{}}
	if as != server {
		return nil
	}
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
	if c.cfg.NodeListen == config.Off && c.cfg.Panel != config.PanelSandbox {
		return nil // the process with the embedded node has it, for the sandboxes of resellers
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
	return nil
}

func nodeDir(cfg config.Config) string { return filepath.Join(cfg.DataDir, "node") }

// answersPerSecond bounds what the name server answers one network over UDP.
const answersPerSecond = 500

// newNameserver serves the zones on the configured address; nil when that is off.
func (a *App) newNameserver(ctx context.Context) error {
	if a.cfg.DNSListen == config.Off {
		return nil
	}
	key := nameserver.Key{}
	key.Algorithm, key.Name, key.Secret = a.cfg.TSIGKey()
	a.nameserver = nameserver.New(nameserver.Config{
		Secondaries: a.cfg.DNSSecondaries, Key: key, AnswersPerSecond: answersPerSecond, Now: a.clock.Now, Log: a.log,
	})
	if err := a.nameserver.Listen(ctx, a.cfg.DNSListen); err != nil {
		return fmt.Errorf("%w; another program may have the address: choose one with STEAD_DNS_LISTEN", err)
	}
	a.onClose(func(context.Context) error {
		_ = a.nameserver.Close() // closed already when it was served
		return nil
	})
	a.zones = dns.NewFeed(a.dns, a.nameserver, a.hub, a.log)
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

// mailDir is where mails go without a mail server.
func mailDir(cfg config.Config) string { return filepath.Join(cfg.DataDir, "mail") }

// signInLimits bound attempts at signing in, unless throttles are off.
func (c *core) signInLimits() account.Limits {
	if !c.cfg.Throttle {
		return account.Limits{}
	}
	return account.DefaultLimits()
}

// resellerLimits are what bounds resellers, as they are told.
func (c *core) resellerLimits() reseller.Limits {
	l := reseller.Limits{Webhooks: webhooks.MaxEndpoints}
	if c.cfg.Throttle {
		l.RequestsPerMinute, l.DomainChecksPerMinute = c.cfg.ThrottleReseller, c.cfg.ThrottleDomainCheck
	}
	return l
}

// gateways are the ways to pay that the configuration opens.
func gateways(cfg config.Config) []gateway.Gateway {
	var all []gateway.Gateway
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

// auditLedger recomputes the wallet's money.
func auditLedger(ctx context.Context, w *wallet.Service) error {
	found, err := w.Recompute(ctx)
	if err == nil && len(found) > 0 {
		err = fmt.Errorf("the books do not add up in %d places, the first: %v", len(found), found[0])
	}
	return err
}
