package certificates

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"slices"
	"time"

	"stead.dev/stead/internal/node/accounts"
	"stead.dev/stead/internal/platform/certificate"
)

// selfSigned is a certificate that the machine made for a domain.
type selfSigned struct {
	Domain    string    `json:"domain"`
	ExpiresAt time.Time `json:"expires_at"`
	File      string    `json:"file"`
}

// ownPrefix begins the files of the machine's own certificates.
const ownPrefix = "own-"

// How long one is valid, and how long before its end another is made.
const (
	ownLife  = 397 * 24 * time.Hour
	ownEarly = 30 * 24 * time.Hour
)

// signOwn makes the machine's own certificates for the domains of an account what they should be.
func (d *Driver) signOwn(a accounts.Account) error {
	good := func(c selfSigned) bool {
		return a.Find(c.Domain) >= 0 && d.now().Add(ownEarly).Before(c.ExpiresAt) && d.there(a.Name, c.File)
	}
	d.making.Lock()
	defer d.making.Unlock()
	own := d.records.Get(a.Name).Own
	var fresh []selfSigned
	for _, domain := range a.Domains {
		if slices.ContainsFunc(own, func(c selfSigned) bool { return c.Domain == domain.Name && good(c) }) {
			continue
		}
		c, err := d.sign(a.Name, domain.Name)
		if err != nil {
			return err
		}
		fresh = append(fresh, c)
	}
	if len(fresh) == 0 && !slices.ContainsFunc(own, func(c selfSigned) bool { return !good(c) }) {
		return nil
	}
	_, err := d.records.Update(a.Name, func(k *kept) error {
		k.Own = slices.DeleteFunc(k.Own, func(c selfSigned) bool { return !good(c) })
		for _, c := range fresh {
			k.Own = slices.DeleteFunc(k.Own, func(o selfSigned) bool { return o.Domain == c.Domain })
		}
		k.Own = append(k.Own, fresh...)
		return nil
	})
	return err
}

// sign makes a certificate for a domain and its "www." name, valid from a day ago for clocks that are late.
func (d *Driver) sign(account, domain string) (selfSigned, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return selfSigned{}, fmt.Errorf("certificates: %w", err)
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return selfSigned{}, fmt.Errorf("certificates: %w", err)
	}
	now := d.now().UTC().Truncate(time.Second)
	template := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: common(domain)}, DNSNames: []string{domain, "www." + domain},
		NotBefore: now.Add(-24 * time.Hour), NotAfter: now.Add(ownLife), KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return selfSigned{}, fmt.Errorf("certificates: %w", err)
	}
	text, err := certificate.EncodeKey(key)
	if err != nil {
		return selfSigned{}, err
	}
	c := selfSigned{Domain: domain, ExpiresAt: template.NotAfter, File: ownPrefix + serial.Text(36)}
	chain := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	return c, d.write(account, c.File, string(chain), text)
}

// common is a domain as the common name, which holds at most 64 bytes (RFC 5280, appendix A.1).
func common(domain string) string {
	if len(domain) > 64 {
		return ""
	}
	return domain
}
