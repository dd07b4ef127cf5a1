// Package config holds every setting of `stead serve` in one struct, and nothing else of Stead reads the environment.
//
// A setting is a field of Config: its tags carry its name, default and meaning, so the struct is the documentation
// that `stead config` prints. The variable of the setting "listen" is STEAD_LISTEN, its key in the file is listen.
// A later source wins: default, file, environment, command line. Everything that is wrong is reported at once.
package config

import (
	"cmp"
	"log/slog"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Config is the whole configuration. Parts of it are passed down; nobody below cmd and app takes all of it.
//
// The tag setting names the field, default is its value in the form that a user would write, min and max bound a
// number, doc says what it does. Fields of type Secret are never printed and may be given as a file: the variable
// STEAD_DATABASE_URL_FILE (or the key database_url_file) names a file that holds the value.
type Config struct {
	// Addresses.
	Listen         string         `setting:"listen" default:"127.0.0.1:8080" doc:"address that serves the API and the pages"`
	NodeListen     string         `setting:"node_listen" default:"127.0.0.1:8081" doc:"address where the embedded node serves customers' sites; off: no embedded node"`
	Panel          string         `setting:"panel" default:"node" doc:"where new services are provisioned: node (the embedded one), nodes (on those hosting machines that have joined, by the room they have), hestia (see hestia_url) or sandbox (a simulated machine whose sites nobody can reach and that fails when a domain such as disk-full.example.com asks for it; for trying integrations)"`
	OpsListen      string         `setting:"ops_listen" default:"127.0.0.1:8082" doc:"address of metrics and profiles, for operators only; off: none"`
	BaseURL        string         `setting:"base_url" doc:"public address of the API and the pages, such as https://panel.example.com; without it, http(s)://<listen>, with localhost for all addresses"`
	NodeMachine    string         `setting:"node_machine" default:"directories" doc:"what the machine of the embedded node, or of stead node, is: directories (any machine; accounts are folders, sites are served by Stead itself) or linux (given to hosting and set up by stead node setup: accounts are Linux users, sites and the rest are served by daemons; needs root)"`
	NodeHost       string         `setting:"node_host" doc:"address on which the daemons of a linux machine listen for the world; without it, all of the machine's"`
	NodePorts      []string       `setting:"node_ports" doc:"ports of a linux machine's services that are not the usual ones, as name=port, comma separated; names: http, https, ftp, ssh, mariadb, postgresql, smtp, submission, submissions, imap, imaps, pop3, pop3s, submit, signin"`
	NodeUserPrefix string         `setting:"node_user_prefix" doc:"what stands before the names of a linux machine's account users"`
	PreviewDomain  string         `setting:"preview_domain" doc:"domain below which every site of a linux machine has an address of its own before its DNS points there, such as preview.example.com with a wildcard record; without it, there are none"`
	NodeTLSListen  string         `setting:"node_tls_listen" default:"off" doc:"address where the embedded node serves the same sites by HTTPS, such as :443; off: none. Of a machine of Linux users nginx serves them, whatever this says"`
	NodeURL        string         `setting:"node_url" doc:"public address of the embedded node's sites; without it, http://<node_listen>, or where the web server of a linux machine listens"`
	NodeIPv4       string         `setting:"node_ipv4" doc:"IPv4 address of the embedded node for customers' DNS; without it, that of node_url where it is an address"`
	NodeIPv6       string         `setting:"node_ipv6" doc:"the same for IPv6"`
	TLSCertFile    string         `setting:"tls_cert_file" doc:"PEM file with the certificate chain for listen; without it, plain HTTP (behind a proxy)"`
	TLSKeyFile     string         `setting:"tls_key_file" doc:"PEM file with the private key of tls_cert_file"`
	TLSACME        bool           `setting:"tls_acme" doc:"serve HTTPS at listen with certificates that Stead gets itself from acme_directory, for the hosts of base_url and preview_origin; the world must reach listen at port 443, or redirect_listen at port 80"`
	RedirectListen string         `setting:"redirect_listen" default:"off" doc:"address, such as :80, that leads visitors who come by HTTP to base_url, where Stead ends TLS itself; off: none"`
	HSTSSubdomains bool           `setting:"hsts_subdomains" doc:"tell browsers that all names below the host of base_url are HTTPS too (HSTS includeSubDomains); only where they are"`
	PreviewOrigin  string         `setting:"preview_origin" doc:"origin that shows previews of site templates and nothing else, such as https://preview.example.net, which leads to listen too; without it, they are shown below base_url in a sandbox"`
	TrustedProxies []netip.Prefix `setting:"trusted_proxies" doc:"networks of reverse proxies whose X-Forwarded-For is believed, comma separated"`

	// Storage.
	DataDir             string        `setting:"data_dir" default:"data" doc:"folder of the SQLite database, the key file and the embedded node's sites"`
	DatabaseURL         Secret        `setting:"database_url" doc:"postgres://… for several replicas; without it, SQLite in data_dir"`
	DatabaseConnections int           `setting:"database_connections" default:"12" min:"4" max:"1000" doc:"connections of this process to PostgreSQL for transactions; the sum of all replicas must stay below the server's max_connections"`
	DatabaseReaders     int           `setting:"database_readers" default:"12" min:"2" max:"1000" doc:"connections of this process to PostgreSQL for reading, in addition"`
	DatabaseWait        time.Duration `setting:"database_wait" default:"5s" doc:"time that a request waits for a connection when all are in use, before it is answered 503"`

	// Backups of the control plane itself; those of services have backup_store.
	ControlBackupTo         string        `setting:"control_backup_to" doc:"where stead backup keeps its archives: the whole path of a folder, best on another machine, or s3:https://s3.example.com/bucket/prefix"`
	ControlBackupPassphrase Secret        `setting:"control_backup_passphrase" doc:"passphrase that the archives are encrypted with, of 12 characters at least; keep a copy of it elsewhere, because no archive can be opened without it"`
	ControlBackupRecipients []string      `setting:"control_backup_recipients" doc:"public keys of age (age1…) that the archives are encrypted for, instead of a passphrase, comma separated; stead restore then takes the private key by --identity"`
	ControlBackupS3File     string        `setting:"control_backup_s3_file" doc:"AWS credentials file with the keys for control_backup_to, of mode 0600; required with s3:"`
	ControlBackupS3Region   string        `setting:"control_backup_s3_region" doc:"region of control_backup_to in S3, where the service has regions"`
	ControlBackupInterval   time.Duration `setting:"control_backup_interval" default:"1h" doc:"how often backups are made; stead doctor warns after three times as long without one"`

	SecretKey Secret `setting:"secret_key" doc:"content of the key file, where replicas share no data_dir; without it, data_dir/secret.key, made at the first start"`

	// Limits.
	Throttle            bool          `setting:"throttle" default:"true" doc:"limit requests per minute; false only for load tests"`
	ThrottlePublic      int           `setting:"throttle_public" default:"90" min:"1" doc:"requests per minute of a token or address at the public API"`
	ThrottleReseller    int           `setting:"throttle_reseller" default:"60" min:"1" doc:"requests per minute of a key at the reseller API"`
	ThrottlePanel       int           `setting:"throttle_panel" default:"900" min:"1" doc:"requests per minute of an account in the panel"`
	ThrottleDomainCheck int           `setting:"throttle_domain_check" default:"20" min:"1" doc:"domain availability checks per minute"`
	MaxBody             Size          `setting:"max_body" default:"1MiB" min:"1024" doc:"largest request body, uploads aside"`
	MaxUpload           Size          `setting:"max_upload" default:"512MiB" min:"1024" doc:"largest upload, all files of one request together"`
	JobWorkers          int           `setting:"job_workers" default:"10" min:"1" max:"1000" doc:"jobs that this process runs at once"`
	ShutdownDelay       time.Duration `setting:"shutdown_delay" doc:"time that /readyz answers 503 at a stop before requests are refused, so that a load balancer notices; without it, 5s where trusted_proxies is set, else 0s"`
	UploadTimeout       time.Duration `setting:"upload_timeout" default:"2m" doc:"time that running uploads are given to finish at a stop"`
	ShutdownTimeout     time.Duration `setting:"shutdown_timeout" default:"30s" doc:"time that running requests and jobs are given to finish at a stop"`

	// The company.
	CompanyName         string `setting:"company_name" default:"Stead" doc:"name on pages and in mails; what staff set in the panel wins"`
	CompanyColor        string `setting:"company_color" doc:"colour of buttons and links, as #rrggbb; without it, a green one; what staff set in the panel wins"`
	CompanyLegalName    string `setting:"company_legal_name" doc:"name on invoices; without it, company_name"`
	CompanyAddress      string `setting:"company_address" doc:"street and house on invoices"`
	CompanyCity         string `setting:"company_city" doc:"city on invoices"`
	CompanyPostalCode   string `setting:"company_postal_code" doc:"postal code on invoices"`
	CompanyCountry      string `setting:"company_country" doc:"country on invoices: two letters such as UZ"`
	CompanyTaxNumber    string `setting:"company_tax_number" doc:"tax number on invoices"`
	CompanyRegistration string `setting:"company_registration" doc:"entry in the register of companies, on invoices"`
	CompanyTimezone     string `setting:"company_timezone" default:"UTC" doc:"time zone of the books: which day and year an invoice is of"`
	InvoicePrefix       string `setting:"invoice_prefix" doc:"what stands before the numbers of invoices, such as ACME-; another one begins numbers of its own"`
	TaxRulesFile        string `setting:"tax_rules_file" doc:"YAML file with the taxes by the country of the buyer; without it, nobody is taxed"`
	SupportEmail        string `setting:"support_email" doc:"address where customers find help; what staff set in the panel wins"`
	DefaultLanguage     string `setting:"default_language" default:"en" doc:"language of those who state none: uz, ru or en"`
	DefaultCurrency     string `setting:"default_currency" default:"USD" doc:"currency that prices are shown in to those who chose none; billing is in USD"`
	BankTransferDetails string `setting:"bank_transfer_details" doc:"where to transfer money to, shown for top-ups by bank transfer; without it, that way is not offered"`
	RatesSource         string `setting:"rates_source" default:"off" doc:"who gives the rates by which prices are shown in other currencies: cbu (Central Bank of Uzbekistan), ecb (European Central Bank), or off: those of stead admin currencies set"`
	ContentLibrary      bool   `setting:"content_library" default:"true" doc:"bring in the articles of the knowledge base and the terms of the glossary that ship with Stead; what you have changed or removed stays as it is"`

	// Loyalty tiers and referrals.
	LoyaltyTiers    []string `setting:"loyalty_tiers" default:"bronze=0,silver=100,gold=500,platinum=2000" doc:"tiers of customers by the dollars they spent in a year, the lowest first, comma separated; gold=500:2 gives 2 percent of what is bought back as a bonus"`
	ReferralPercent int      `setting:"referral_percent" default:"0" min:"0" max:"50" doc:"part of a referred customer's first order that the one who brought them gets in the wallet; 0: referrals are counted and not rewarded"`
	ReferralMaxUSD  int      `setting:"referral_max_usd" default:"50" min:"0" max:"10000" doc:"most dollars of one such reward; 0: no bound"`

	// Mail and other outside services.
	SMTPURL             Secret `setting:"smtp_url" doc:"smtp://user:password@host:587 or smtps://…; without it, mails are files in data_dir/mail"`
	MailFrom            string `setting:"mail_from" doc:"sender of mails, such as Stead <no-reply@example.com>; required with smtp_url"`
	StripeSecretKey     Secret `setting:"stripe_secret_key" doc:"secret key of the Stripe account; without it, Stripe is not offered"`
	StripeWebhookSecret Secret `setting:"stripe_webhook_secret" doc:"signing secret of the Stripe webhook endpoint; required with stripe_secret_key"`
	FCMAccount          Secret `setting:"fcm_account" doc:"JSON key of the Firebase service account that pushes to phones, best given as a file; without it, phones get no pushes"`
	LLMModelsFile       string `setting:"llm_models_file" doc:"YAML file with the language models that the company offers, their prices and files of keys; without it, there is none but the rehearsed one of demo"`
	OTLPEndpoint        string `setting:"otlp_endpoint" doc:"http(s) address of an OpenTelemetry collector; without it, no traces are sent"`

	// Separate hosting machines.
	NodesListen     string        `setting:"nodes_listen" default:"off" doc:"address that hosting machines of their own join and report at, such as 0.0.0.0:8444; its TLS is Stead's own, so nothing may end it on the way; off: none"`
	NodesURL        string        `setting:"nodes_url" doc:"how those machines reach nodes_listen, such as https://panel.example.com:8444"`
	AgentListen     string        `setting:"agent_listen" default:"0.0.0.0:8443" doc:"of stead node: address where the control plane calls this machine"`
	NodeUpgrades    bool          `setting:"node_upgrades" default:"false" doc:"of stead node: let the control plane exchange the agent's program, which runs as root, for its own newer one (stead admin nodes upgrade)"`
	MoveWait        time.Duration `setting:"move_wait" default:"1h" doc:"most that the move of a service to another machine waits until caches of the DNS have forgotten where it was; 0s: none waits"`
	NodeLocation    string        `setting:"node_location" doc:"where the embedded node is, in the words of plans' locations"`
	BackupStore     string        `setting:"backup_store" doc:"where a hosting machine keeps backups: a folder, or on a linux machine s3:https://s3.example.com/bucket/prefix; without it, a folder of the machine itself, which is lost with it"`
	BackupS3File    string        `setting:"backup_s3_file" doc:"AWS credentials file with the keys for backup_store, of mode 0600; required with s3:"`
	BackupS3Region  string        `setting:"backup_s3_region" doc:"region of backup_store in S3, where the service has regions"`
	MailHost        string        `setting:"mail_host" doc:"name of a linux machine in mail, such as mx1.example.com, which the DNS leads to its address and back; without it, the machine has no mailboxes"`
	MailRelay       string        `setting:"mail_relay" doc:"mail server that takes what leaves the machine, such as [smtp.example.com]:587; without it, mail is sent directly"`
	MailClamAV      string        `setting:"mail_clamav" doc:"socket of a clamd that scans mail, such as /run/clamav/clamd.ctl; empty scans nothing"`
	MailPostmaster  string        `setting:"mail_postmaster" doc:"who gets mail for postmaster@ of mail_host and of customers' domains that have no such mailbox"`
	MailCertFile    string        `setting:"mail_cert_file" doc:"PEM file with the certificate of mail_host; without it, the machine signs one itself"`
	MailKeyFile     string        `setting:"mail_key_file" doc:"PEM file with its key; required with mail_cert_file"`
	Registrar       string        `setting:"registrar" doc:"where domains are registered: none, epp (a registry that speaks it), or sandbox (a simulated registry; names such as taken-shop.example ask for what goes wrong). Without it, sandbox in a demonstration and none otherwise"`
	EPPAddress      string        `setting:"epp_address" doc:"host and port of the registry, such as epp.registry.example:700; required with registrar=epp"`
	EPPUser         string        `setting:"epp_user" doc:"registrar's account there, 3 to 16 characters; required with registrar=epp"`
	EPPPassword     Secret        `setting:"epp_password" doc:"its password, 6 to 16 characters; required with registrar=epp"`
	EPPSponsor      string        `setting:"epp_sponsor" doc:"how the registry names the registrar at its domains (clID), where that is not epp_user"`
	EPPCAFile       string        `setting:"epp_ca_file" doc:"PEM file with the authorities that the registry's certificate is checked against; without it, the system's"`
	EPPCertFile     string        `setting:"epp_cert_file" doc:"PEM file with the registrar's certificate, where the registry demands one"`
	EPPKeyFile      string        `setting:"epp_key_file" doc:"PEM file with its key; required with epp_cert_file"`
	EPPSessions     int           `setting:"epp_sessions" default:"2" min:"1" max:"50" doc:"sessions that this process has open with the registry at once; registries allow few"`
	DomainLookup    string        `setting:"domain_lookup" default:"off" doc:"what is asked whether a domain is free where no registrar says so: off, rdap, whois or both; the servers are those of the price book"`
	RDAPServers     string        `setting:"rdap_servers" default:"https://data.iana.org/rdap/dns.json" doc:"list of the RDAP servers of zones (RFC 9224), which monitors of domains ask where the price book names none; off: none"`
	HestiaURL       string        `setting:"hestia_url" doc:"address of a HestiaCP server, such as https://hestia.example.com:8083; it is the panel hestia then"`
	HestiaAccessKey Secret        `setting:"hestia_access_key" doc:"access key of its API, as ACCESS_KEY:SECRET_KEY; required with hestia_url"`
	HestiaTimezone  string        `setting:"hestia_timezone" default:"UTC" doc:"time zone of that server, in which its cron runs"`
	HestiaCAFile    string        `setting:"hestia_ca_file" doc:"PEM file with the certificate that its own is checked against; without it, the system's authorities"`

	// The name server.
	DNSListen      string           `setting:"dns_listen" default:"127.0.0.1:8053" doc:"address of the name server, UDP and TCP; off: none"`
	Nameservers    []string         `setting:"nameservers" default:"ns1.stead.invalid,ns2.stead.invalid" doc:"names of the public name servers, which every zone names; comma separated"`
	DNSSecondaries []netip.AddrPort `setting:"dns_secondaries" doc:"addresses of the secondaries that take the zones, such as 192.0.2.53:53, comma separated"`
	DNSTSIGKey     Secret           `setting:"dns_tsig_key" doc:"key of transfers, as algorithm:name:secret such as hmac-sha256:transfer:…; required with dns_secondaries"`
	DNSCatalog     string           `setting:"dns_catalog" default:"catalog.stead.invalid" doc:"name of the catalog zone, which tells the secondaries what zones there are"`

	// Certificates of customers' domains.
	ACMEEmail     string           `setting:"acme_email" doc:"address that the certificate authority writes to; setting it agrees to the authority's terms and switches issuing on"`
	ACMEDirectory string           `setting:"acme_directory" default:"https://acme-v02.api.letsencrypt.org/directory" doc:"ACME directory of the certificate authority"`
	ACMECAFile    string           `setting:"acme_ca_file" doc:"PEM file with roots that the directory's own certificate is checked against; without it, the system's"`
	DNSResolvers  []netip.AddrPort `setting:"dns_resolvers" doc:"resolvers that are asked where domains lead before a certificate is ordered, and whether a domain is its customer's, such as 127.0.0.1:53, comma separated; without them, the system's"`
	// ProtectedDomains are added to the list that ships with Stead.
	ProtectedDomains []string `setting:"protected_domains" doc:"domains that no customer may use without proving control, beside the list that ships with Stead, comma separated: example.com, example.* (under every suffix) or .gov.example (all below)"`
	// DomainNotice may be short in tests alone.
	DomainNotice  time.Duration `setting:"domain_notice" default:"24h" doc:"time that the holder of a domain is given, after a notification, to prove control of it, before it goes to another customer who has"`
	ACMEAutomatic bool          `setting:"acme_automatic" default:"true" doc:"order a certificate for every hosted domain by itself"`

	// Operation and trials.
	LogLevel             slog.Level    `setting:"log_level" default:"info" doc:"least level that is logged: debug, info, warn or error"`
	StaffSecondFactor    bool          `setting:"staff_second_factor" default:"true" doc:"refuse staff whose account has no second factor; demo mode never asks for one"`
	Demo                 bool          `setting:"demo" default:"false" doc:"make a demo catalog, customer and application, and offer the demo payment gateway; never in production"`
	Monitors             bool          `setting:"monitors" default:"true" doc:"make the checks of monitors in this process; where replicas share the work, at least one must"`
	AllowLoopbackTargets bool          `setting:"allow_loopback_targets" default:"false" doc:"let addresses that users give (webhooks, monitors) point to this machine; for tests"`
	ClockOffset          time.Duration `setting:"clock_offset" default:"0s" doc:"moves Stead's clock, to test long lifetimes"`

	sources map[string]Source
}

// Source says where the value of a setting is from.
type Source string

// The sources, the weakest first.
const (
	FromDefault     Source = "default"
	FromFile        Source = "file"
	FromEnvironment Source = "environment"
	FromCommandLine Source = "command line"
)

// The panels that new services may be provisioned on.
const (
	PanelNode    = "node"
	PanelNodes   = "nodes"
	PanelHestia  = "hestia"
	PanelSandbox = "sandbox"
)

// The registrars, and the lookups in addition to them.
const (
	RegistrarNone    = "none"
	RegistrarEPP     = "epp"
	RegistrarSandbox = "sandbox"
	LookupRDAP       = "rdap"
	LookupWhois      = "whois"
	LookupBoth       = "both"
)

// The kinds of machines that a node may be on.
const (
	MachineDirectories = "directories"
	MachineLinux       = "linux"
)

// Off is the value of node_listen, nodes_listen, ops_listen and dns_listen that means "do not listen", and of rates_source
// that means "nobody".
const Off = "off"

// The values of rates_source beside Off.
const (
	RatesCBU = "cbu"
	RatesECB = "ecb"
)

// SQLite reports whether the data is in the embedded database.
func (c *Config) SQLite() bool { return c.DatabaseURL == "" }

// TLS reports whether Stead itself speaks HTTPS.
func (c *Config) TLS() bool { return c.TLSCertFile != "" || c.TLSACME }

// CertificateNames are the hosts that Stead gets certificates for itself.
func (c *Config) CertificateNames() []string {
	var names []string
	for _, address := range []string{c.BaseURL, c.PreviewOrigin} {
		if u, err := url.Parse(address); err == nil && u.Hostname() != "" && !slices.Contains(names, u.Hostname()) {
			names = append(names, u.Hostname())
		}
	}
	return names
}

// TSIGKey is the three parts of dns_tsig_key.
func (c *Config) TSIGKey() (algorithm, name, secret string) {
	parts := strings.SplitN(c.DNSTSIGKey.Reveal(), ":", 3)
	if len(parts) != 3 {
		return "", "", ""
	}
	return parts[0], parts[1], parts[2]
}

// NodeAddresses are where customers' domains point: the settings, or the address
// in node_url. Either may be empty.
func (c *Config) NodeAddresses() (v4, v6 string) {
	v4, v6 = c.NodeIPv4, c.NodeIPv6
	u, err := url.Parse(c.NodeURL)
	if err != nil {
		return v4, v6
	}
	ip, err := netip.ParseAddr(u.Hostname())
	switch {
	case err != nil || ip.IsUnspecified():
	case ip.Is4() && v4 == "":
		v4 = ip.String()
	case ip.Is6() && v6 == "":
		v6 = ip.String()
	}
	return v4, v6
}

// balancerNotices is how long a load balancer needs to notice that /readyz answers 503.
const balancerNotices = 5 * time.Second

// derive fills in the settings that follow from others. With port 0 the address is known only after listening, so
// derive leaves it empty and the listener fills it in.
func (c *Config) derive() {
	if c.sources["shutdown_delay"] == FromDefault && len(c.TrustedProxies) > 0 {
		c.ShutdownDelay = balancerNotices
	}
	if c.BaseURL == "" && hasPort(c.Listen) {
		scheme := "http://"
		if c.TLS() {
			scheme = "https://"
		}
		c.BaseURL = scheme + Reachable(c.Listen)
	}
	switch {
	case c.NodeURL != "":
	case c.NodeMachine == MachineLinux:
		c.NodeURL = c.daemonsURL()
	case c.NodeListen != Off && hasPort(c.NodeListen):
		c.NodeURL = "http://" + Reachable(c.NodeListen)
	}
}

// Reachable is the address at which this machine reaches a listener: a wildcard address such as 0.0.0.0 is not a
// destination.
func Reachable(listen string) string {
	host, port, err := net.SplitHostPort(listen)
	if err != nil {
		return listen
	}
	if ip, err := netip.ParseAddr(host); host == "" || err == nil && ip.IsUnspecified() {
		host = "localhost"
	}
	return net.JoinHostPort(host, port)
}

// SitesAddress is where this machine reaches the web server of its own sites.
func (c *Config) SitesAddress() string {
	if c.NodeMachine != MachineLinux {
		return Reachable(c.NodeListen)
	}
	return Reachable(net.JoinHostPort(c.NodeHost, strconv.Itoa(c.httpPort())))
}

func (c *Config) httpPort() int { return cmp.Or(c.Ports()["http"], 80) }

// daemonsURL is the address at which the web server of a Linux machine serves the sites, as far as the settings tell.
func (c *Config) daemonsURL() string {
	host := "127.0.0.1"
	v4, v6 := c.NodeAddresses()
	for _, address := range []string{v6, v4, c.NodeHost} { // the last one that is set
		if ip, err := netip.ParseAddr(address); err == nil && !ip.IsUnspecified() {
			host = address
		}
	}
	if c.httpPort() == 80 {
		if strings.Contains(host, ":") {
			host = "[" + host + "]"
		}
		return "http://" + host
	}
	return "http://" + net.JoinHostPort(host, strconv.Itoa(c.httpPort()))
}
