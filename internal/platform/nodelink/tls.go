package nodelink

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"sync/atomic"
	"time"
)

// Identity is a party's certificate and key, and the authority that it trusts. The certificate may be replaced while
// connections are made with it.
type Identity struct {
	now     func() time.Time
	roots   *x509.CertPool
	current atomic.Pointer[tls.Certificate]
}

// NewIdentity makes one of a certificate, its key (both PEM) and the authority's certificate.
func NewIdentity(certificate, key, authority []byte, now func() time.Time) (*Identity, error) {
	root, err := ParseCertificate(authority)
	if err != nil {
		return nil, err
	}
	i := &Identity{now: now, roots: x509.NewCertPool()}
	i.roots.AddCert(root)
	return i, i.Replace(certificate, key, authority)
}

// Replace changes the certificate for new connections.
func (i *Identity) Replace(certificate, key, authority []byte) error {
	// A peer that does not have the authority's certificate yet finds it in the chain.
	pair, err := tls.X509KeyPair(append(append([]byte{}, certificate...), authority...), key)
	if err != nil {
		return fmt.Errorf("nodelink: certificate and key: %w", err)
	}
	i.current.Store(&pair)
	return nil
}

// Name is the party's name.
func (i *Identity) Name() string { return nameOf(i.current.Load().Leaf) }

// RenewAt is when to renew the certificate: half of its life before it ends.
func (i *Identity) RenewAt() time.Time {
	leaf := i.current.Load().Leaf
	return leaf.NotBefore.Add(leaf.NotAfter.Sub(leaf.NotBefore) / 2)
}

// NotAfter is when the certificate ends.
func (i *Identity) NotAfter() time.Time { return i.current.Load().Leaf.NotAfter }

func nameOf(cert *x509.Certificate) string {
	if cert == nil || len(cert.URIs) != 1 {
		return ""
	}
	return cert.URIs[0].String()
}

// Server is TLS for a listener that accepts the parties whose name accept approves. With guests, it also accepts
// callers without a certificate, and the handler asks Peer.
func (i *Identity) Server(accept func(name string) bool, guests bool) *tls.Config {
	mode := tls.RequireAnyClientCert
	if guests {
		mode = tls.RequestClientCert
	}
	return &tls.Config{
		MinVersion: tls.VersionTLS13, NextProtos: []string{"h2"}, Time: i.now, ClientAuth: mode,
		// A ticket must not outlive a revoked certificate.
		SessionTicketsDisabled: true,
		GetCertificate:         func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return i.current.Load(), nil },
		VerifyConnection: func(s tls.ConnectionState) error {
			if guests && len(s.PeerCertificates) == 0 {
				return nil
			}
			return i.verify(s, x509.ExtKeyUsageClientAuth, accept)
		},
	}
}

// Client is TLS for calling the party of that name, wherever it is.
func (i *Identity) Client(peer string) *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS13, NextProtos: []string{"h2"}, Time: i.now, ServerName: "stead",
		GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return i.current.Load(), nil },
		// The default verification checks a host name; VerifyConnection does all of it, by the name of the party.
		InsecureSkipVerify: true, //nolint:gosec // see above
		VerifyConnection: func(s tls.ConnectionState) error {
			return i.verify(s, x509.ExtKeyUsageServerAuth, func(name string) bool { return name == peer })
		},
	}
}

func (i *Identity) verify(s tls.ConnectionState, usage x509.ExtKeyUsage, accept func(string) bool) error {
	return verify(s.PeerCertificates, i.roots, i.now(), usage, accept)
}

func verify(chain []*x509.Certificate, roots *x509.CertPool, now time.Time, usage x509.ExtKeyUsage, accept func(string) bool) error {
	if len(chain) == 0 {
		return errors.New("nodelink: the other side shows no certificate")
	}
	_, err := chain[0].Verify(x509.VerifyOptions{Roots: roots, CurrentTime: now, KeyUsages: []x509.ExtKeyUsage{usage}})
	if err != nil {
		return fmt.Errorf("nodelink: the other side's certificate: %w", err)
	}
	if name := nameOf(chain[0]); name == "" || !accept(name) {
		return fmt.Errorf("nodelink: the other side is %q, which is not expected here", name)
	}
	return nil
}

// Pinned is TLS for the first call of a machine that has only a token: the peer is the control plane of the authority
// with that pin.
func Pinned(pin string, now func() time.Time) *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS13, NextProtos: []string{"h2"}, Time: now, ServerName: "stead",
		InsecureSkipVerify: true, //nolint:gosec // VerifyConnection holds the chain to the pinned authority
		VerifyConnection: func(s tls.ConnectionState) error {
			roots := x509.NewCertPool()
			found := false
			for _, cert := range s.PeerCertificates {
				if Pin(cert) == pin {
					roots.AddCert(cert)
					found = true
				}
			}
			if !found {
				return errors.New("nodelink: this is not the control plane that the token is from")
			}
			return verify(s.PeerCertificates, roots, now(), x509.ExtKeyUsageServerAuth, func(name string) bool { return name == Control })
		},
	}
}

// Party is the proved identity of the other side of a connection.
type Party struct {
	Name     string    // empty for a guest
	IssuedAt time.Time // when its certificate was issued, to the second
}

// Peer is the other side of a connection.
func Peer(s *tls.ConnectionState) Party {
	if s == nil || len(s.PeerCertificates) == 0 {
		return Party{}
	}
	leaf := s.PeerCertificates[0]
	return Party{Name: nameOf(leaf), IssuedAt: leaf.NotBefore.Add(skew)}
}
