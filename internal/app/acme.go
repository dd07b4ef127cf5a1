package app

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
	"os"
	"time"

	"stead.dev/stead/internal/hosting/certificates"
	"stead.dev/stead/internal/platform/dnsquery"
	"stead.dev/stead/internal/platform/intx"
)

// authorityTimeout bounds one request to a certificate authority.
const authorityTimeout = 30 * time.Second

// buildCertificates makes the section that orders and stores the certificates of hosted domains.
func (c *core) buildCertificates() error {
	network := http.DefaultTransport
	if c.cfg.ACMECAFile != "" {
		text, err := os.ReadFile(c.cfg.ACMECAFile)
		if err != nil {
			return fmt.Errorf("acme_ca_file: %w", err)
		}
		roots := x509.NewCertPool()
		if !roots.AppendCertsFromPEM(text) {
			return fmt.Errorf("acme_ca_file: %s holds no certificate", c.cfg.ACMECAFile)
		}
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
		Domains: hostedDomains{c.hosting}, Zones: proofs{c.dns}, DNS: &certificates.Public{Client: dnsquery.Client{Servers: c.cfg.DNSResolvers}}, Authority: authority,
		Nameservers: c.cfg.Nameservers, Automatic: c.cfg.ACMEAutomatic, Log: c.log,
	})
	return nil
}
