package doctor

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"stead.dev/stead/internal/platform/config"
)

// loopbackURL reports whether an address leads to this machine only.
func loopbackURL(text string) bool {
	u, err := url.Parse(text)
	if err != nil {
		return false
	}
	host := u.Hostname()
	if host == "localhost" || host == "" {
		return true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.IsLoopback()
}

// unspecifiedURL reports whether an address can only be listened on.
func unspecifiedURL(text string) bool {
	u, err := url.Parse(text)
	if err != nil {
		return false
	}
	addr, err := netip.ParseAddr(u.Hostname())
	return err == nil && addr.IsUnspecified()
}

func (e *examination) baseURL(context.Context) Check {
	base := e.Config.BaseURL
	host, _, _ := net.SplitHostPort(e.Config.Listen) // the configuration was validated
	listens, err := netip.ParseAddr(host)
	everywhere := host == "" || (err == nil && !listens.IsLoopback())
	switch {
	case base == "":
		return warn("set STEAD_BASE_URL: redirects and mails need it", "not set and not known with port 0")
	case (loopbackURL(base) || unspecifiedURL(base)) && everywhere:
		return warn("set STEAD_BASE_URL to the address that customers use", "%s is no address for others, yet Stead listens on %s", base, e.Config.Listen)
	case loopbackURL(base):
		return ok("%s, for this machine only", base)
	case !strings.HasPrefix(base, "https://"):
		return fail("put Stead behind a proxy with TLS, or set STEAD_TLS_ACME or STEAD_TLS_CERT_FILE, and use https:// in STEAD_BASE_URL",
			"%s is not encrypted: passwords and tokens can be read on the way", base)
	case !e.Config.TLS() && len(e.Config.TrustedProxies) == 0:
		return warn("set STEAD_TRUSTED_PROXIES to your proxy's address: without it all visitors count as one for the throttle",
			"%s; TLS must be ended by a proxy, and none is trusted", base)
	default:
		return ok("%s", base)
	}
}

// client requests the installation's own addresses. An invalid certificate is a finding of its own check.
func client() *http.Client {
	return &http.Client{
		Timeout: patience,
		Transport: &http.Transport{
			TLSClientConfig:   &tls.Config{MinVersion: tls.VersionTLS12},
			DisableKeepAlives: true,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

func (e *examination) server(ctx context.Context) Check {
	if e.Config.BaseURL == "" {
		return skip("its address is not known")
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, e.Config.BaseURL+"/readyz", nil)
	if err != nil {
		return fail("correct STEAD_BASE_URL", "%v", err)
	}
	res, err := client().Do(req)
	if err != nil {
		return warn("start it (stead serve), or look at the proxy and the DNS in front of it", "%s does not answer", e.Config.BaseURL)
	}
	defer func() { _ = res.Body.Close() }()
	switch {
	case res.Header.Get("X-Request-Id") == "":
		return warn("another program may use the address", "what answers at %s is not Stead", e.Config.BaseURL)
	case res.StatusCode != http.StatusOK:
		return fail("ask "+e.Config.BaseURL+"/readyz which of its conditions fails", "it runs and is not ready")
	default:
		return ok("it runs and is ready")
	}
}

// expiryWarning is when an expiring certificate becomes a warning.
const expiryWarning = 14 * 24 * time.Hour

func (e *examination) certificate(ctx context.Context) Check {
	switch {
	case !e.Config.TLS():
		return skip("Stead does not end TLS itself")
	case e.OwnCertificate != nil:
		return e.ownCertificate(ctx)
	}
	pair, err := tls.LoadX509KeyPair(e.Config.TLSCertFile, e.Config.TLSKeyFile)
	if err != nil {
		return fail("correct STEAD_TLS_CERT_FILE and STEAD_TLS_KEY_FILE", "%v", err)
	}
	leaf, err := x509.ParseCertificate(pair.Certificate[0])
	if err != nil {
		return fail("replace the certificate", "%v", err)
	}
	left := leaf.NotAfter.Sub(e.Clock.Now())
	u, _ := url.Parse(e.Config.BaseURL) // the configuration was validated
	switch {
	case left <= 0:
		return fail("renew it; Stead takes the new file without a restart", "it expired on %s", leaf.NotAfter.Format(time.DateOnly))
	case leaf.VerifyHostname(u.Hostname()) != nil:
		return fail("get one for that name", "it is not for %s", u.Hostname())
	case left < expiryWarning:
		return warn("renew it; Stead takes the new file without a restart", "it expires on %s", leaf.NotAfter.Format(time.DateOnly))
	default:
		return ok("valid until %s", leaf.NotAfter.Format(time.DateOnly))
	}
}

// ownCertificate looks at the certificates that Stead gets itself.
func (e *examination) ownCertificate(ctx context.Context) Check {
	const cure = "look into the log of stead serve; the names must lead here, and port 443, or port 80 with STEAD_REDIRECT_LISTEN, be reached by the world"
	for _, name := range e.Config.CertificateNames() {
		ends, err := e.OwnCertificate(ctx, name)
		switch left := ends.Sub(e.Clock.Now()); {
		case err != nil:
			return warn("start the server, which gets it; else "+cure, "none for %s yet", name)
		case left <= 0:
			return fail(cure, "that of %s expired on %s", name, ends.Format(time.DateOnly))
		case left < expiryWarning:
			return warn(cure, "that of %s expires on %s and was not renewed", name, ends.Format(time.DateOnly))
		}
	}
	return ok("got and renewed by Stead itself")
}

func (e *examination) mail(ctx context.Context) Check {
	if e.Config.SMTPURL == "" {
		return warn("set STEAD_SMTP_URL and STEAD_MAIL_FROM", "none: mails are files in %s, so nobody can recover a password", filepath.Join(e.Config.DataDir, "mail"))
	}
	u, err := url.Parse(e.Config.SMTPURL.Reveal())
	if err != nil {
		return fail("correct STEAD_SMTP_URL", "the address cannot be read") // the error would quote the password
	}
	port := u.Port()
	if port == "" {
		port = map[string]string{"smtp": "587", "smtps": "465"}[u.Scheme]
	}
	address := net.JoinHostPort(u.Hostname(), port)
	var (
		conn   net.Conn
		dialer net.Dialer
	)
	if u.Scheme == "smtps" {
		conn, err = (&tls.Dialer{NetDialer: &dialer, Config: &tls.Config{MinVersion: tls.VersionTLS12}}).DialContext(ctx, "tcp", address)
	} else {
		conn, err = dialer.DialContext(ctx, "tcp", address)
	}
	if err != nil {
		return fail("check the name, the port and the firewall", "%s cannot be reached: %v", address, err)
	}
	defer func() { _ = conn.Close() }()
	if until, bounded := ctx.Deadline(); bounded {
		_ = conn.SetReadDeadline(until)
	}
	greeting := make([]byte, 3)
	if _, err := conn.Read(greeting); err != nil || string(greeting) != "220" {
		return fail("check that it is a mail server", "%s does not greet as a mail server does", address)
	}
	return ok("%s greets", address)
}

func (e *examination) node(ctx context.Context) Check {
	if e.Config.NodeListen == config.Off {
		return skip("no embedded node")
	}
	if info, err := os.Stat(e.NodeDir); err == nil {
		if !info.IsDir() {
			return fail("move it away", "%s is not a folder", e.NodeDir)
		}
		probe, err := os.CreateTemp(e.NodeDir, ".doctor-*")
		if err != nil {
			return fail("let the user that runs Stead write there", "%v", err)
		}
		_ = probe.Close()
		_ = os.Remove(probe.Name())
	}
	at := e.Config.SitesAddress()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+at+"/", nil)
	if err != nil {
		return fail("correct STEAD_NODE_LISTEN", "%v", err)
	}
	req.Host = "doctor.invalid"
	res, err := client().Do(req)
	if err != nil {
		return warn("start the server (stead serve)", "nothing answers at %s", at)
	}
	_ = res.Body.Close()
	if loopbackURL(e.Config.NodeURL) && !loopbackURL(e.Config.BaseURL) {
		return warn("set STEAD_NODE_URL to the address where visitors reach the sites", "it answers; its public address is %s", e.Config.NodeURL)
	}
	return ok("it answers at %s", at)
}

// mailGuard checks as users of accounts whether they reach mail servers.
func (e *examination) mailGuard(ctx context.Context) Check {
	if os.Geteuid() != 0 {
		return skip("run stead doctor as root to check it")
	}
	if err := e.MailGuard(ctx); err != nil {
		return fail("run: stead node setup. Until then sites send mail as whom they like, and the machine offers no mail", "%v", err)
	}
	return ok("accounts reach no mail servers but this machine's submission")
}

// adminer checks that customers can open their databases in a browser.
func (e *examination) adminer(context.Context) Check {
	if !e.Adminer() {
		return warn("run: stead node setup, and start the server again", "the package adminer or a PHP to run it is missing: no database opens in a browser")
	}
	if u, err := url.Parse(e.Config.NodeURL); err != nil || u.Host == "" {
		return warn("set STEAD_NODE_URL to the address where visitors reach this machine", "it has no address of its own: no database opens in a browser")
	}
	return ok("databases open in browsers")
}

func (e *examination) clockOffset(context.Context) Check {
	if e.Config.ClockOffset != 0 {
		return warn("set STEAD_CLOCK_OFFSET=0s outside tests", "Stead's clock is set off by %v", e.Config.ClockOffset)
	}
	switch synchronized, known := kernelClock(); {
	case !known:
		return skip("the system does not say whether its clock is synchronized")
	case !synchronized:
		return warn("run chrony or systemd-timesyncd: one-time codes and signatures need the right time",
			"the system's clock is not synchronized")
	default:
		return ok("synchronized")
	}
}

// registry logs in at the registry of domain names.
func (e *examination) registry(ctx context.Context) Check {
	if err := e.Registry(ctx); err != nil {
		return fail("look at STEAD_EPP_ADDRESS, the account, and the addresses that the registry allows; docs/registrars.md tells more", "%v", err)
	}
	return ok("%s lets us in", e.Config.EPPAddress)
}
