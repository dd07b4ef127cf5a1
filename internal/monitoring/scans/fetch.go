package scans

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/domainname"
	"stead.dev/stead/internal/platform/intx"
	"stead.dev/stead/internal/platform/outgoing"
)

// Bounds of what a scan does to a site. There are some forty requests, and some thirty questions to the DNS.
const (
	scanTime    = 22 * time.Second
	requestTime = 6 * time.Second
	mostBody    = 512 << 10
	mostProbe   = 8 << 10
	mostHeader  = 64 << 10
	mostHops    = 4
	mostFolders = 8
	mostDials   = 3
	atOnce      = 6 // requests at a time
	userAgent   = "Stead-Security-Scan/1.0"
)

// Fetcher gathers the facts of sites.
type Fetcher struct {
	Resolver Resolver
	Clock    clock.Clock
	// RootCAs replace the system's trusted authorities; nil means the system's.
	RootCAs *x509.CertPool
	// HTTPPort and HTTPSPort are those of the web; tests use others.
	HTTPPort, HTTPSPort string
	// AllowLoopback accepts addresses of this machine; for tests.
	AllowLoopback bool
	// Local are sites that no DNS knows; nil: none.
	Local *outgoing.Local
}

// visit is one scan's connections to one site.
type visit struct {
	*Fetcher
	guard outgoing.Guard
	host  string
	twin  string // with www. or without
	http  *http.Client
	slots chan struct{}

	mu        sync.Mutex
	addresses map[string][]netip.Addr
}

// Fetch gathers the facts of a host. It fails with outgoing.ErrTarget for an address that may not be called, and with
// errUnreachable when neither HTTPS nor HTTP answers. further are paths that are asked for besides.
func (f *Fetcher) Fetch(ctx context.Context, host string, further []string) (Facts, error) {
	v := &visit{
		Fetcher: f, guard: outgoing.Guard{AllowLoopback: f.AllowLoopback}, host: host, twin: domainname.Twin(host),
		addresses: map[string][]netip.Addr{}, slots: make(chan struct{}, atOnce),
	}
	transport := &http.Transport{
		Proxy: nil, DialContext: v.dial, TLSHandshakeTimeout: requestTime, MaxResponseHeaderBytes: mostHeader, DisableCompression: true,
		MaxConnsPerHost: atOnce, ForceAttemptHTTP2: true,
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS10}, //nolint:gosec // bad certificates and old versions are what is looked for
	}
	defer transport.CloseIdleConnections()
	v.http = &http.Client{
		Timeout: requestTime, Transport: intx.Transport{Next: transport},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	if _, err := v.resolve(ctx, host); err != nil {
		if errors.Is(err, outgoing.ErrTarget) {
			return Facts{}, err
		}
		return Facts{}, errUnreachable.Wrap(err)
	}
	facts := Facts{Host: host, Now: f.Clock.Now()}
	var wait sync.WaitGroup
	wait.Go(func() { facts.DNS = records(ctx, f.Resolver, host) })
	wait.Go(func() { v.handshake(ctx, &facts) })
	wait.Go(func() { facts.Secure = v.page(ctx, v.address("https", "/")) })
	wait.Go(func() { facts.Plain, _ = v.get(ctx, v.address("http", "/"), mostBody) })
	wait.Wait()
	if facts.Page = facts.Secure; facts.Page == nil {
		facts.Page = facts.Plain
	}
	if facts.Page == nil {
		return Facts{}, errUnreachable.Wrapf("no answer from %s", host)
	}
	scheme := "https"
	if facts.Secure == nil {
		scheme = "http"
	}
	paths := append([]string{gitPath, envPath}, dumpPaths...)
	paths = append(paths, further...)
	facts.Probes = v.each(ctx, scheme, paths)
	for _, r := range v.each(ctx, scheme, folders(facts.Page.Body)) {
		facts.Listings = append(facts.Listings, r)
	}
	slices.SortFunc(facts.Listings, func(a, b *Response) int { return strings.Compare(a.URL, b.URL) })
	if err := ctx.Err(); err != nil {
		return Facts{}, errUnreachable.Wrap(err)
	}
	return facts, nil
}

// each asks for several paths, some at once. Paths without an answer are left out.
func (v *visit) each(ctx context.Context, scheme string, paths []string) map[string]*Response {
	found := map[string]*Response{}
	var (
		wait sync.WaitGroup
		mu   sync.Mutex
	)
	for _, path := range paths {
		wait.Go(func() {
			r, err := v.get(ctx, v.address(scheme, path), mostProbe)
			if err != nil {
				return
			}
			mu.Lock()
			defer mu.Unlock()
			found[path] = r
		})
	}
	wait.Wait()
	return found
}

func (v *visit) address(scheme, path string) string {
	host := v.host
	if scheme == "https" && v.HTTPSPort != "443" {
		host = net.JoinHostPort(host, v.HTTPSPort)
	} else if scheme == "http" && v.HTTPPort != "80" {
		host = net.JoinHostPort(host, v.HTTPPort)
	}
	return (&url.URL{Scheme: scheme, Host: host, Path: path}).String()
}

// page reads a page, and follows redirects that stay on the site and on HTTPS. It is nil when there is no answer.
func (v *visit) page(ctx context.Context, address string) *Response {
	var last *Response
	for range mostHops {
		r, err := v.get(ctx, address, mostBody)
		if err != nil {
			return last
		}
		last = r
		if r.Status < 300 || r.Status > 399 || r.Header.Get("Location") == "" {
			return r
		}
		base, err := url.Parse(address)
		if err != nil {
			return r
		}
		next, err := base.Parse(r.Header.Get("Location"))
		if err != nil || next.Scheme != "https" || next.User != nil || next.Host != base.Host && next.Host != strings.Replace(base.Host, v.host, v.twin, 1) {
			return r
		}
		address = next.String()
	}
	return last
}

// get asks for an address of the site.
func (v *visit) get(ctx context.Context, address string, most int64) (*Response, error) {
	select {
	case v.slots <- struct{}{}:
		defer func() { <-v.slots }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, fmt.Errorf("scans: %w", err)
	}
	req.Header.Set("User-Agent", userAgent)
	req.Header.Set("Accept", "text/html,*/*;q=0.8")
	resp, err := v.http.Do(req)
	if err != nil {
		return nil, fmt.Errorf("scans: %w", err)
	}
	defer func() { _ = resp.Body.Close() }() // it was read
	body, err := io.ReadAll(io.LimitReader(resp.Body, most))
	if err != nil && len(body) == 0 {
		return nil, fmt.Errorf("scans: %w", err)
	}
	return &Response{URL: address, Status: resp.StatusCode, Header: resp.Header, Body: string(body)}, nil
}

// resolve finds the addresses of the site's host or its twin, once in a scan. A host one of whose addresses may not be called
// is refused.
func (v *visit) resolve(ctx context.Context, host string) ([]netip.Addr, error) {
	if host != v.host && host != v.twin {
		return nil, outgoing.ErrTarget
	}
	if v.Local.Serves(host) {
		return nil, nil // it is dialled by its name
	}
	v.mu.Lock()
	known, ok := v.addresses[host]
	v.mu.Unlock()
	if ok {
		return known, nil
	}
	found, err := v.Resolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return nil, fmt.Errorf("scans: %w", err)
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("scans: %s has no address", host)
	}
	for i := range found {
		if found[i] = found[i].Unmap(); !v.guard.Allows(found[i]) {
			return nil, outgoing.ErrTarget
		}
	}
	found = found[:min(len(found), mostDials)]
	v.mu.Lock()
	defer v.mu.Unlock()
	v.addresses[host] = found
	return found, nil
}

// dial connects to the addresses that were found and judged, and judges the one that is really connected to again.
func (v *visit) dial(ctx context.Context, network, address string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil || port != v.HTTPPort && port != v.HTTPSPort {
		return nil, outgoing.ErrTarget
	}
	found, err := v.resolve(ctx, strings.ToLower(host))
	if err != nil {
		return nil, err
	}
	if v.Local.Serves(host) {
		standard := map[string]string{v.HTTPPort: "80", v.HTTPSPort: "443"}[port]
		return v.Local.Dial(ctx, network, standard, requestTime/2)
	}
	conn, err := v.guard.Dial(ctx, network, found, port, requestTime/2)
	if err != nil {
		return nil, fmt.Errorf("scans: %w", err)
	}
	return conn, nil
}

// handshake finds what the server offers of TLS and whether its certificate is trusted.
func (v *visit) handshake(ctx context.Context, facts *Facts) {
	state, err := v.agree(ctx, tls.VersionTLS10, tls.VersionTLS13)
	var refused *net.OpError
	switch {
	case errors.As(err, &refused) && refused.Op == "dial":
		facts.TLSProblem = "none"
		return
	case err != nil:
		facts.TLSProblem = "handshake"
		return
	}
	facts.TLSVersion = state.Version
	_, err = v.agree(ctx, tls.VersionTLS10, tls.VersionTLS11)
	facts.OldTLS = err == nil
	if len(state.PeerCertificates) == 0 {
		facts.TLSProblem = "untrusted"
		return
	}
	leaf, others := state.PeerCertificates[0], x509.NewCertPool()
	for _, c := range state.PeerCertificates[1:] {
		others.AddCert(c)
	}
	issuer := leaf.Issuer.CommonName
	if len(leaf.Issuer.Organization) > 0 {
		issuer = leaf.Issuer.Organization[0] + ", " + issuer
	}
	facts.Certificate = fmt.Sprintf("%s (%s)", issuer, leaf.NotAfter.UTC().Format(time.DateOnly))
	_, err = leaf.Verify(x509.VerifyOptions{DNSName: v.host, Roots: v.RootCAs, Intermediates: others, CurrentTime: facts.Now})
	var (
		invalid x509.CertificateInvalidError
		name    x509.HostnameError
	)
	switch {
	case err == nil:
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		facts.TLSProblem = "expired"
	case errors.As(err, &name):
		facts.TLSProblem = "name"
	default:
		facts.TLSProblem = "untrusted"
	}
}

// agree makes a handshake within the versions.
func (v *visit) agree(ctx context.Context, least, most uint16) (tls.ConnectionState, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTime)
	defer cancel()
	conn, err := v.dial(ctx, "tcp", net.JoinHostPort(v.host, v.HTTPSPort))
	if err != nil {
		return tls.ConnectionState{}, err
	}
	defer func() { _ = conn.Close() }() // nothing was sent
	secure := tls.Client(conn, &tls.Config{
		ServerName: v.host, InsecureSkipVerify: true, MinVersion: least, MaxVersion: most, //nolint:gosec // the certificate is judged afterwards; old versions are what is looked for
	})
	if err := secure.HandshakeContext(ctx); err != nil {
		return tls.ConnectionState{}, fmt.Errorf("scans: %w", err)
	}
	return secure.ConnectionState(), nil
}

var localPath = regexp.MustCompile(`(?i)\b(?:src|href)\s*=\s*["']?(/[a-z0-9][a-z0-9._~/-]*/)[^/"'\s>]*["'\s>]`)

// folders are directories of a site whose contents might be listed: some that many have, and those that its page names.
func folders(page string) []string {
	found := []string{"/uploads/", "/images/", "/backup/", "/wp-content/uploads/"}
	for _, m := range localPath.FindAllStringSubmatch(page, 200) {
		if len(found) < mostFolders && !slices.Contains(found, m[1]) && len(m[1]) < 200 && !strings.Contains(m[1], "..") {
			found = append(found, m[1])
		}
	}
	return found
}
