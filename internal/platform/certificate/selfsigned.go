package certificate

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"math/big"
	"net"
	"time"
)

// lateClock is how long before now a certificate becomes valid, for clients whose clocks are late.
const lateClock = 24 * time.Hour

// SelfSign makes a key and a server's certificate that is signed with that key, valid for life from now on. Hosts are domain
// names and IP addresses.
func SelfSign(subject string, hosts []string, now time.Time, life time.Duration) (Bundle, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return Bundle{}, fmt.Errorf("certificate: %w", err)
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return Bundle{}, fmt.Errorf("certificate: %w", err)
	}
	now = now.UTC().Truncate(time.Second)
	template := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: CommonName(subject)},
		NotBefore: now.Add(-lateClock), NotAfter: now.Add(life), KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}, BasicConstraintsValid: true,
	}
	for _, host := range hosts {
		if ip := net.ParseIP(host); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, host)
		}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return Bundle{}, fmt.Errorf("certificate: %w", err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		return Bundle{}, fmt.Errorf("certificate: %w", err)
	}
	return Bundle{Chain: []*x509.Certificate{leaf}, Key: key}, nil
}

// CommonName is a name as the common name of a certificate, which holds at most 64 bytes (RFC 5280, appendix A.1): empty for a
// longer one.
func CommonName(name string) string {
	if len(name) > 64 {
		return ""
	}
	return name
}
