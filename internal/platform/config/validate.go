package config

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"net/mail"
	"net/netip"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"stead.dev/stead/internal/platform/countries"
	"stead.dev/stead/internal/platform/domainname"
	"stead.dev/stead/internal/platform/i18n"
	"stead.dev/stead/internal/platform/money"
)

// validate returns everything that is wrong with the values, alone and together.
func (c *Config) validate() []error {
	var problems []error
	check := func(name string, err error) {
		if err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", name, err))
		}
	}

	check("listen", address(c.Listen))
	check("node_listen", addressOrOff(c.NodeListen))
	check("node_tls_listen", addressOrOff(c.NodeTLSListen))
	check("ops_listen", addressOrOff(c.OpsListen))
	check("base_url", optional(c.BaseURL, origin))
	check("node_url", optional(c.NodeURL, origin))
	check("node_ipv4", optional(c.NodeIPv4, ip(netip.Addr.Is4, "an IPv4 address")))
	check("node_ipv6", optional(c.NodeIPv6, ip(netip.Addr.Is6, "an IPv6 address")))
	check("company_color", optional(c.CompanyColor, color))
	check("rates_source", oneOf(c.RatesSource, Off, RatesCBU, RatesECB))
	check("panel", oneOf(c.Panel, PanelNode, PanelNodes, PanelHestia, PanelSandbox))
	if c.Registrar != "" {
		check("registrar", oneOf(c.Registrar, RegistrarNone, RegistrarEPP, RegistrarSandbox))
	}
	if c.Registrar == RegistrarEPP {
		check("epp_address", serverAddress(c.EPPAddress))
		check("epp_user", between(c.EPPUser, 3, 16))
		check("epp_password", between(c.EPPPassword.Reveal(), 6, 16))
	}
	check("epp_key_file", together("epp_cert_file", c.EPPCertFile != "", c.EPPKeyFile != ""))
	check("domain_lookup", oneOf(c.DomainLookup, Off, LookupRDAP, LookupWhois, LookupBoth))
	check("node_machine", oneOf(c.NodeMachine, MachineDirectories, MachineLinux))
	_, portsErr := parsePorts(c.NodePorts)
	check("node_ports", portsErr)
	check("node_host", optional(c.NodeHost, ip(netip.Addr.IsValid, "an IP address")))
	check("node_user_prefix", optional(c.NodeUserPrefix, userPrefix))
	check("preview_origin", previewOrigin(c.PreviewOrigin, c.BaseURL))
	check("preview_domain", optional(c.PreviewDomain, domain))
	check("backup_store", optional(c.BackupStore, backupStore))
	check("control_backup_to", optional(c.ControlBackupTo, backupStore))
	check("control_backup_s3_file", together("control_backup_to with s3:", strings.HasPrefix(c.ControlBackupTo, "s3:"), c.ControlBackupS3File != ""))
	if c.ControlBackupInterval < time.Minute {
		check("control_backup_interval", errors.New("expected a minute at least"))
	}
	check("backup_s3_file", together("backup_store with s3:", strings.HasPrefix(c.BackupStore, "s3:"), c.BackupS3File != ""))
	check("mail_postmaster", optional(c.MailPostmaster, mailbox))
	check("mail_key_file", together("mail_cert_file", c.MailCertFile != "", c.MailKeyFile != ""))
	check("nodes_listen", addressOrOff(c.NodesListen))
	check("nodes_url", optional(c.NodesURL, origin))
	check("agent_listen", address(c.AgentListen))
	check("hestia_url", optional(c.HestiaURL, origin))
	check("hestia_access_key", together("hestia_url", c.HestiaURL != "", c.HestiaAccessKey != ""))
	if c.Panel == PanelHestia {
		check("hestia_url", required(c.HestiaURL))
	}
	check("tls_key_file", together("tls_cert_file", c.TLSCertFile != "", c.TLSKeyFile != ""))
	check("tls_acme", ownHTTPS(c))
	check("redirect_listen", redirects(c))
	check("data_dir", required(c.DataDir))
	check("database_url", optional(c.DatabaseURL.Reveal(), func(text string) error {
		return secretURL(text, "postgres", "postgresql")
	}))
	check("shutdown_timeout", notNegative(int64(c.ShutdownTimeout)))
	check("shutdown_delay", notNegative(int64(c.ShutdownDelay)))
	check("upload_timeout", notNegative(int64(c.UploadTimeout)))

	check("company_name", required(c.CompanyName))
	check("company_country", optional(c.CompanyCountry, country))
	_, zoneErr := time.LoadLocation(c.CompanyTimezone)
	check("company_timezone", zoneErr)
	check("invoice_prefix", optional(c.InvoicePrefix, invoicePrefix))
	check("support_email", optional(c.SupportEmail, mailbox))
	check("default_language", language(c.DefaultLanguage))
	check("default_currency", currency(c.DefaultCurrency))

	check("smtp_url", optional(c.SMTPURL.Reveal(), func(text string) error { return secretURL(text, "smtp", "smtps") }))
	check("mail_from", optional(c.MailFrom, mailbox))
	if c.SMTPURL != "" {
		check("mail_from", required(c.MailFrom))
	}
	check("dns_listen", addressOrOff(c.DNSListen))
	check("nameservers", nameservers(c.Nameservers))
	check("dns_catalog", domain(c.DNSCatalog))
	check("dns_tsig_key", optional(c.DNSTSIGKey.Reveal(), func(string) error { return tsigKey(c.TSIGKey()) }))
	if len(c.DNSSecondaries) > 0 {
		check("dns_tsig_key", required(c.DNSTSIGKey.Reveal()))
	}
	check("acme_email", optional(c.ACMEEmail, plainMailbox))
	check("acme_directory", webURL(c.ACMEDirectory))
	check("stripe_webhook_secret",
		together("stripe_secret_key", c.StripeSecretKey != "", c.StripeWebhookSecret != ""))
	check("otlp_endpoint", optional(c.OTLPEndpoint, webURL))
	return problems
}

// ownHTTPS accepts what an authority can give a certificate for.
func ownHTTPS(c *Config) error {
	if !c.TLSACME {
		return nil
	}
	u, err := url.Parse(c.BaseURL)
	switch {
	case c.TLSCertFile != "":
		return errors.New("is used instead of tls_cert_file, not beside it")
	case c.ACMEEmail == "":
		return errors.New("needs acme_email")
	case err != nil || u.Scheme != "https":
		return errors.New("needs a base_url that begins with https://")
	}
	for _, name := range c.CertificateNames() {
		if err := domain(name); err != nil {
			return fmt.Errorf("no authority gives a certificate for %s: %w", name, err)
		}
	}
	return nil
}

// redirects accepts an address that leads somewhere else than to itself.
func redirects(c *Config) error {
	if c.RedirectListen != Off && !c.TLS() {
		return errors.New("needs tls_acme or tls_cert_file: who ends TLS also leads there")
	}
	return addressOrOff(c.RedirectListen)
}

// country accepts the code of a country in capitals.
func country(text string) error {
	if !countries.Known(text) {
		return fmt.Errorf("%q is not the code of a country, such as UZ", text)
	}
	return nil
}

// invoicePrefix accepts what is allowed in a number and in the name of a file.
func invoicePrefix(text string) error {
	if len(text) > 20 || strings.Trim(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-") != "" || strings.HasPrefix(text, "SANDBOX-") {
		return fmt.Errorf("%q is not at most 20 capitals, digits and hyphens, or begins with SANDBOX-", text)
	}
	return nil
}

// plainMailbox is mailbox without a name before it.
func plainMailbox(text string) error {
	if strings.ContainsAny(text, "<> ,") {
		return fmt.Errorf("%q is not a mail address alone", text)
	}
	return mailbox(text)
}

func ip(family func(netip.Addr) bool, what string) func(string) error {
	return func(text string) error {
		if a, err := netip.ParseAddr(text); err != nil || !family(a) {
			return fmt.Errorf("%q is not %s", text, what)
		}
		return nil
	}
}

// backupStore accepts a folder by its whole path, or an address in S3.
func backupStore(text string) error {
	if address, ok := strings.CutPrefix(text, "s3:"); ok {
		u, err := url.Parse(address)
		if err != nil || u.Host == "" || u.User != nil || u.Scheme != "http" && u.Scheme != "https" || strings.Trim(u.Path, "/") == "" {
			return errors.New("expected s3:https://host/bucket or s3:https://host/bucket/prefix")
		}
		return nil
	}
	if !filepath.IsAbs(text) {
		return errors.New("expected the whole path of a folder, or s3:https://…")
	}
	return nil
}

func oneOf(text string, values ...string) error {
	if !slices.Contains(values, text) {
		return fmt.Errorf("%q is not one of %s", text, strings.Join(values, ", "))
	}
	return nil
}

func required(text string) error {
	if text == "" {
		return errors.New("is required")
	}
	return nil
}

func optional(text string, check func(string) error) error {
	if text == "" {
		return nil
	}
	return check(text)
}

func together(other string, otherSet, set bool) error {
	if otherSet != set {
		return fmt.Errorf("goes together with %s: set both or none", other)
	}
	return nil
}

func notNegative(n int64) error {
	if n < 0 {
		return errors.New("must not be negative")
	}
	return nil
}

func address(text string) error {
	_, port, err := net.SplitHostPort(text)
	if err != nil {
		return fmt.Errorf("%q is not an address such as 127.0.0.1:8080", text)
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return fmt.Errorf("%q has no port number between 0 and 65535", text)
	}
	return nil
}

// serverAddress accepts the address of another server.
func serverAddress(text string) error {
	host, port, err := net.SplitHostPort(text)
	if n, portErr := strconv.ParseUint(port, 10, 16); err != nil || portErr != nil || host == "" || n == 0 {
		return fmt.Errorf("%q is not an address such as server.example:700", text)
	}
	return nil
}

// between accepts a text of that length without spaces around it; its error does not quote the text.
func between(text string, least, most int) error {
	if n := len([]rune(text)); n < least || n > most || strings.TrimSpace(text) != text {
		return fmt.Errorf("must have %d to %d characters", least, most)
	}
	return nil
}

func addressOrOff(text string) error {
	if text == Off {
		return nil
	}
	return address(text)
}

// hasPort reports whether a valid address names its port; port 0 is one that the system chooses.
func hasPort(address string) bool {
	_, port, err := net.SplitHostPort(address)
	return err == nil && port != "0"
}

// webURL accepts an http or https URL with a host.
func webURL(text string) error {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
		return fmt.Errorf("%q is not an address such as https://example.com", text)
	}
	return nil
}

// origin accepts what a browser calls an origin: scheme, host and port, nothing after them.
func origin(text string) error {
	if err := webURL(text); err != nil {
		return err
	}
	u, err := url.Parse(text)
	if err != nil {
		return err
	}
	if u.Path != "" || u.RawQuery != "" || u.Fragment != "" || u.User != nil {
		return fmt.Errorf("%q must end after the host: no path, no slash", text)
	}
	return nil
}

// secretURL differs from webURL in that its error never quotes the text, which holds a password.
func secretURL(text string, schemes ...string) error {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || !slices.Contains(schemes, u.Scheme) {
		return fmt.Errorf("is not a %s:// address", schemes[0])
	}
	return nil
}

func mailbox(text string) error {
	if _, err := mail.ParseAddress(text); err != nil {
		return fmt.Errorf("%q is not a mail address", text)
	}
	return nil
}

func nameservers(names []string) error {
	if len(names) == 0 {
		return errors.New("at least one is required")
	}
	for _, name := range names {
		if err := domain(name); err != nil {
			return err
		}
	}
	return nil
}

func domain(text string) error {
	if canonical, err := domainname.Domain(text); err != nil || canonical != text {
		return fmt.Errorf("%q is not a name such as ns1.example.com", text)
	}
	return nil
}

// tsigKey quotes nothing of a key in its errors, not even the algorithm: the text may be a secret in the wrong place.
func tsigKey(algorithm, name, secret string) error {
	key, err := base64.StdEncoding.DecodeString(secret)
	switch {
	case !slices.Contains([]string{"hmac-sha256", "hmac-sha384", "hmac-sha512"}, algorithm), name == "":
		return errors.New("is not of the form hmac-sha256:name:secret")
	case err != nil || len(key) < 16:
		return errors.New("has a secret that is not base64 of 16 bytes or more")
	}
	return nil
}

func language(text string) error {
	if !slices.Contains(i18n.Supported(), text) {
		return fmt.Errorf("%q is not one of %v", text, i18n.Supported())
	}
	return nil
}

func currency(text string) error {
	if !slices.Contains(money.Currencies(), money.Currency(text)) {
		return fmt.Errorf("%q is not one of %v", text, money.Currencies())
	}
	return nil
}

// previewOrigin accepts another origin than that of the pages: a page of the same origin could read theirs.
func previewOrigin(text, base string) error {
	if text == "" {
		return nil
	}
	if err := origin(text); err != nil {
		return err
	}
	if text == base {
		return fmt.Errorf("%q is base_url; previews need an origin of their own", text)
	}
	return nil
}

var colorForm = regexp.MustCompile(`^#[0-9a-f]{6}$`)

func color(value string) error {
	if !colorForm.MatchString(value) {
		return errors.New("it must be #rrggbb with small letters, such as #0f5fa8")
	}
	return nil
}
