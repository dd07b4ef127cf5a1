// Package autohttps gets the certificates of Stead's own addresses from an ACME authority and renews them, so that a small
// company needs no proxy that ends TLS. Certificates of customers' domains are the section certificates.
//
// The authority proves a name by TLS-ALPN-01 (RFC 8737) at the address that serves the pages, or by HTTP-01 (RFC 8555, section
// 8.3) at the one that leads to it. Keys and certificates lie in a folder that several processes may share: one of them orders, the
// others wait for it and take what it got.
package autohttps

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/caddyserver/certmagic"
)

// Config is what a Manager needs.
type Config struct {
	Names     []string       // hosts, without ports
	Directory string         // of the authority
	Email     string         // where the authority writes to; who sets it agrees to its terms
	Roots     *x509.CertPool // trusted for Directory; nil: the system's
	Folder    string         // of keys and certificates
	Log       *slog.Logger
	// Secure is the address where TLS is served, and Plain the one where Redirect is; empty: nowhere.
	Secure, Plain net.Addr
}

// Manager has the certificates.
type Manager struct {
	cfg    Config
	cache  *certmagic.Cache
	magic  *certmagic.Config
	issuer *certmagic.ACMEIssuer
}

// New makes a Manager that has nothing yet. Close ends it.
func New(cfg Config) *Manager {
	m := &Manager{cfg: cfg}
	log := zapLogger(cfg.Log)
	m.cache = certmagic.NewCache(certmagic.CacheOptions{
		GetConfigForCert: func(certmagic.Certificate) (*certmagic.Config, error) { return m.magic, nil }, Logger: log,
	})
	m.magic = certmagic.New(m.cache, certmagic.Config{Storage: &certmagic.FileStorage{Path: cfg.Folder}, Logger: log})
	template := certmagic.ACMEIssuer{
		CA: cfg.Directory, Email: cfg.Email, Agreed: true, TrustedRoots: cfg.Roots, Logger: log, DisableHTTPChallenge: cfg.Plain == nil,
	}
	// certmagic looks at these addresses before it answers challenges, and finds that they are served already.
	if host, port, ok := split(cfg.Secure); ok {
		template.ListenHost, template.AltTLSALPNPort = host, port
	}
	if _, port, ok := split(cfg.Plain); ok {
		template.AltHTTPPort = port
	}
	m.issuer = certmagic.NewACMEIssuer(m.magic, template)
	m.magic.Issuers = []certmagic.Issuer{m.issuer}
	return m
}

func split(address net.Addr) (host string, port int, ok bool) {
	if address == nil {
		return "", 0, false
	}
	host, text, err := net.SplitHostPort(address.String())
	if err != nil {
		return "", 0, false
	}
	port, err = strconv.Atoi(text)
	return host, port, err == nil
}

// TLS is how the pages are served. A handshake for a name that is not one of the Names fails, and so does each one until the first
// certificate is there.
func (m *Manager) TLS() *tls.Config {
	config := m.magic.TLSConfig()
	config.MinVersion = tls.VersionTLS12
	config.NextProtos = append([]string{"h2", "http/1.1"}, config.NextProtos...)
	return config
}

// Manage orders what is missing or about to expire, and renews it from then on, until ctx ends. It returns at once: a failure is
// logged and tried again, with growing pauses.
func (m *Manager) Manage(ctx context.Context) error {
	if err := m.magic.ManageAsync(ctx, m.cfg.Names); err != nil {
		return fmt.Errorf("autohttps: %w", err)
	}
	return nil
}

// Close ends the renewal.
func (m *Manager) Close() { m.cache.Stop() }

// Redirect leads readers to the same page of base by HTTPS, and answers the authority. A request that brought a token or
// a body is refused: everybody on its way could read it, which its sender has to notice. (Sessions' cookies are not sent by HTTP.)
func (m *Manager) Redirect(base string) http.Handler {
	return m.issuer.HTTPChallengeHandler(Redirect(base))
}

// Redirect is that of a Manager, where no authority asks.
func Redirect(base string) http.Handler {
	to, err := url.Parse(base)
	if err != nil {
		to = &url.URL{} // the configuration was validated
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		reads := r.Method == http.MethodGet || r.Method == http.MethodHead
		if !reads || r.Header.Get("Authorization") != "" {
			http.Error(w, "Use "+base+": this request was not encrypted.", http.StatusForbidden)
			return
		}
		page := url.URL{Scheme: to.Scheme, Host: to.Host, Path: r.URL.Path, RawPath: r.URL.RawPath, RawQuery: r.URL.RawQuery}
		http.Redirect(w, r, page.String(), http.StatusPermanentRedirect)
	})
}

// Expiry tells when the certificate for a name ends that lies in a folder of a Manager.
func Expiry(ctx context.Context, cfg Config, name string) (time.Time, error) {
	m := New(cfg)
	defer m.Close()
	certificate, err := m.magic.CacheManagedCertificate(ctx, name)
	if err != nil {
		return time.Time{}, fmt.Errorf("autohttps: %w", err)
	}
	return certificate.Leaf.NotAfter, nil
}
