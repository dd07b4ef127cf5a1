package probe

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/netip"
	"strconv"
	"syscall"
	"time"

	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/outgoing"
	"stead.dev/stead/internal/platform/plaintext"
)

// resolverOf asks the given servers in turn, or the system's.
func resolverOf(servers []netip.AddrPort) *net.Resolver {
	if len(servers) == 0 {
		return &net.Resolver{}
	}
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
		var d net.Dialer
		var err error
		for _, s := range servers {
			var c net.Conn
			if c, err = d.DialContext(ctx, network, s.String()); err == nil {
				return c, nil
			}
		}
		return nil, err
	}}
}

// exhausted are the errors of a machine that has no room for another connection.
var exhausted = []error{syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM, syscall.EADDRNOTAVAIL}

// reason explains an error of the network.
func reason(err error, connecting bool) Result {
	var (
		timeout  net.Error
		lookup   *net.DNSError
		invalid  x509.CertificateInvalidError
		verified *tls.CertificateVerificationError
		unknown  x509.UnknownAuthorityError
		name     x509.HostnameError
		record   tls.RecordHeaderError
		alert    tls.AlertError
	)
	for _, own := range exhausted {
		if errors.Is(err, own) {
			return Result{Unknown: true, ErrorKey: KeyInternal, Detail: "this machine has no room for another connection"}
		}
	}
	switch {
	case errors.Is(err, outgoing.ErrTarget):
		return failed(KeyBlocked, "the address is not on the public Internet")
	case errors.As(err, &lookup) && lookup.IsTimeout:
		return failed(KeyDNS, "the name servers did not answer in time")
	case errors.As(err, &lookup):
		return failed(KeyDNS, "the name has no address")
	case errors.As(err, &timeout) && timeout.Timeout(), errors.Is(err, context.DeadlineExceeded):
		if connecting {
			return failed(KeyConnectTimeout, "no connection within the time")
		}
		return failed(KeyTimeout, "no answer within the time")
	case errors.Is(err, syscall.ECONNREFUSED):
		return failed(KeyRefused, "the connection was refused")
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return failed(KeyExpired, "the certificate has expired, or is not valid yet")
	case errors.As(err, &name):
		return failed(KeyTLS, "the certificate is not for this name")
	case errors.As(err, &unknown):
		return failed(KeyTLS, "the certificate's issuer is not trusted")
	case errors.As(err, &invalid), errors.As(err, &verified), errors.As(err, &record), errors.As(err, &alert):
		return failed(KeyTLS, "no secure connection")
	default:
		return failed(KeyConnection, "the connection broke off")
	}
}

// open resolves the host of a target and connects to its port.
func (p *Prober) open(ctx context.Context, t Target) (net.Conn, Result) {
	elapsed := clock.Stopwatch()
	addresses, r := p.addresses(ctx, t.Host)
	if r.ErrorKey != "" {
		return nil, r
	}
	r.Lookup = elapsed()
	elapsed = clock.Stopwatch()
	var (
		conn net.Conn
		err  error
	)
	for _, a := range addresses {
		if conn, err = p.dialer.DialContext(ctx, "tcp", net.JoinHostPort(a.String(), strconv.Itoa(t.Port))); err == nil {
			r.Connect = elapsed()
			return conn, r
		}
	}
	failure := reason(err, true)
	failure.Lookup = r.Lookup
	return nil, failure
}

// most bounds the addresses of a host that are tried.
const most = 3

// addresses resolves a host to addresses that may be called. A host one of whose addresses may not is refused.
func (p *Prober) addresses(ctx context.Context, host string) ([]netip.Addr, Result) {
	found := []netip.Addr{}
	if a, err := netip.ParseAddr(host); err == nil {
		found = append(found, a)
	} else {
		if found, err = p.resolver.LookupNetIP(ctx, "ip", host); err != nil {
			return nil, reason(err, true)
		}
	}
	for i, a := range found {
		if found[i] = a.Unmap(); !p.guard.Allows(a) {
			return nil, reason(outgoing.ErrTarget, true)
		}
	}
	return found[:min(len(found), most)], Result{}
}

func (p *Prober) tcp(ctx context.Context, t Target) Result {
	conn, r := p.open(ctx, t)
	if conn == nil {
		return r
	}
	_ = conn.Close() // nothing was sent
	r.OK = true
	return r
}

// ssl makes a handshake and looks at the certificate.
func (p *Prober) ssl(ctx context.Context, t Target) Result {
	conn, r := p.open(ctx, t)
	if conn == nil {
		return r
	}
	defer func() { _ = conn.Close() }() // nothing was sent
	elapsed := clock.Stopwatch()
	secure := tls.Client(conn, &tls.Config{ServerName: t.Host, InsecureSkipVerify: true}) //nolint:gosec // verified below, so that a bad certificate can be described
	if err := secure.HandshakeContext(ctx); err != nil {
		failure := reason(err, false)
		failure.Lookup, failure.Connect = r.Lookup, r.Connect
		return failure
	}
	r.TLS = elapsed()
	state := secure.ConnectionState()
	err := p.verify(state, t.Host)
	r.Certificate = certificateOf(state, err == nil)
	if r.OK = err == nil; !r.OK {
		failure := reason(err, false)
		r.ErrorKey, r.Detail = failure.ErrorKey, failure.Detail
	}
	return r
}

// verify checks the chain that a server presented and its name.
func (p *Prober) verify(state tls.ConnectionState, host string) error {
	others := x509.NewCertPool()
	for _, c := range state.PeerCertificates[1:] {
		others.AddCert(c)
	}
	_, err := state.PeerCertificates[0].Verify(x509.VerifyOptions{
		DNSName: host, Roots: p.RootCAs, Intermediates: others, CurrentTime: p.Clock.Now(),
	})
	return err
}

func certificateOf(state tls.ConnectionState, valid bool) *Certificate {
	if len(state.PeerCertificates) == 0 {
		return nil
	}
	leaf := state.PeerCertificates[0]
	issuer := leaf.Issuer.CommonName
	if len(leaf.Issuer.Organization) > 0 {
		issuer = leaf.Issuer.Organization[0] + ", " + issuer
	}
	return &Certificate{Valid: valid, Issuer: plaintext.Line(issuer, 200), ExpiresAt: leaf.NotAfter.UTC().Truncate(time.Second)}
}
