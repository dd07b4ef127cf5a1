package app

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"stead.dev/stead/internal/hosting/certificates"
	"stead.dev/stead/internal/platform/autohttps"
	"stead.dev/stead/internal/platform/config"
	"stead.dev/stead/internal/platform/dnsquery"
	"stead.dev/stead/internal/platform/intx"
)

// authorityTimeout bounds one request to a certificate authority.
const authorityTimeout = 30 * time.Second

// buildCertificates makes the section that orders and stores the certificates of hosted domains.
func (c *core) buildCertificates() error {
	network := http.DefaultTransport
	roots, err := authorityRoots(c.cfg)
	if err != nil {
		return err
	}
	if roots != nil {
		network = &http.Transport{
			Proxy: http.ProxyFromEnvironment, TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: roots},
		}
	}
	authority := certificates.Authority{
		Directory: c.cfg.ACMEDirectory, Email: c.cfg.ACMEEmail,
		Client: &http.Client{Timeout: authorityTimeout, Transport: intx.Transport{Next: network}},
	}
	c.certificates = certificates.New(certificates.Config{
		Base: c.siteBase(), Clock: c.clock, Events: c.outbox, Box: c.box,
		Domains: c.hosting, Zones: c.dns, DNS: &certificates.Public{Client: dnsquery.Client{Servers: c.cfg.DNSResolvers}}, Authority: authority,
		Nameservers: c.cfg.Nameservers, Automatic: c.cfg.ACMEAutomatic, Log: c.log,
	})
	return nil
}

// authorityRoots are those that the directory of the authority is trusted by; nil: the system's.
func authorityRoots(cfg config.Config) (*x509.CertPool, error) {
	if cfg.ACMECAFile == "" {
		return nil, nil
	}
	text, err := os.ReadFile(cfg.ACMECAFile)
	if err != nil {
		return nil, fmt.Errorf("acme_ca_file: %w", err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("acme_ca_file: %s holds no certificate", cfg.ACMECAFile)
	}
	return roots, nil
}

// ownCertificates is how Stead gets the certificates of its own addresses.
func ownCertificates(cfg config.Config, log *slog.Logger) (autohttps.Config, error) {
	roots, err := authorityRoots(cfg)
	return autohttps.Config{
		Names: cfg.CertificateNames(), Directory: cfg.ACMEDirectory, Email: cfg.ACMEEmail, Roots: roots,
		Folder: filepath.Join(cfg.DataDir, "tls"), Log: log,
	}, err
}

// secure has the pages served by HTTPS, where Stead ends TLS itself, and visitors who come by HTTP to redirectLn led there.
func (a *App) secure(redirectLn net.Listener) error {
	if !a.cfg.TLS() {
		return nil
	}
	lead := autohttps.Redirect(a.cfg.BaseURL)
	if a.cfg.TLSACME {
		own, err := ownCertificates(a.cfg, a.log)
		if err != nil {
			return err
		}
		own.Secure = a.site.ln.Addr()
		if redirectLn != nil {
			own.Plain = redirectLn.Addr()
		}
		a.own = autohttps.New(own)
		a.site.srv.TLSConfig, lead = a.own.TLS(), a.own.Redirect(a.cfg.BaseURL)
	} else {
		certificate, err := loadCertificate(a.cfg.TLSCertFile, a.cfg.TLSKeyFile, a.clock, a.log)
		if err != nil {
			return err
		}
		a.site.srv.TLSConfig = certificate.config()
	}
	if redirectLn != nil {
		a.redirect = &endpoint{name: "redirect to HTTPS", ln: redirectLn, url: address(redirectLn, false), srv: a.httpServer(lead)}
	}
	return nil
}
