package certificates

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"time"

	"stead.dev/stead/internal/platform/certificate"
	"stead.dev/stead/internal/port/panel"
)

// Refusals maps the first label of a name to Simulated's refusal to issue.
var Refusals = map[string]panel.Kind{
	"refused":      panel.ErrInvalid,
	"rate-limited": panel.ErrBusy,
	"no-authority": panel.ErrUnreachable,
}

// Simulated is an authority in memory for machines without visitors: its certificates have realistic sizes, and no
// browser trusts them.
type Simulated struct {
	key  *ecdsa.PrivateKey
	root *x509.Certificate
	now  func() time.Time
}

var _ panel.Issuing = (*Simulated)(nil)

const (
	rootLife = 10 * 365 * 24 * time.Hour
	leafLife = 90 * 24 * time.Hour
)

// NewSimulated makes an authority with a key of its own.
func NewSimulated(now func() time.Time) (*Simulated, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("certificates: %w", err)
	}
	s := &Simulated{key: key, now: now}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "Sandbox authority"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: now().Add(-time.Hour), NotAfter: now().Add(rootLife), KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err == nil {
		s.root, err = x509.ParseCertificate(der)
	}
	if err != nil {
		return nil, fmt.Errorf("certificates: %w", err)
	}
	return s, nil
}

// IssueCertificate implements panel.Issuing.
func (s *Simulated) IssueCertificate(_ context.Context, ref string, r panel.CertificateRequest) (string, error) {
	chain, err := s.issue(r)
	return chain, panel.Wrap("certificates.issue", ref, err)
}

func (s *Simulated) issue(r panel.CertificateRequest) (string, error) {
	block, _ := pem.Decode([]byte(r.CSR))
	if block == nil {
		return "", fmt.Errorf("%w: no request in PEM", panel.ErrInvalid)
	}
	request, err := x509.ParseCertificateRequest(block.Bytes)
	if err != nil {
		return "", fmt.Errorf("%w: %w", panel.ErrInvalid, err)
	}
	asked, names := slices.Sorted(slices.Values(request.DNSNames)), slices.Sorted(slices.Values(r.Names))
	if err := request.CheckSignature(); err != nil {
		return "", fmt.Errorf("%w: %w", panel.ErrInvalid, err)
	}
	if len(names) == 0 || !slices.Equal(asked, names) {
		return "", fmt.Errorf("%w: a request for %v, not %v", panel.ErrInvalid, asked, names)
	}
	for _, name := range names {
		if label, _, _ := strings.Cut(strings.TrimPrefix(name, "*."), "."); Refusals[label] != "" {
			return "", fmt.Errorf("%w: as %s asks for", Refusals[label], name)
		}
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return "", err
	}
	now := s.now().UTC().Truncate(time.Second)
	template := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: certificate.CommonName(r.Names[0])}, DNSNames: r.Names,
		NotBefore: now.Add(-time.Hour), NotAfter: now.Add(leafLife), KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, s.root, request.PublicKey, s.key)
	if err != nil {
		return "", err
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		return "", err
	}
	return certificate.Bundle{Chain: []*x509.Certificate{leaf, s.root}}.ChainPEM(), nil
}
