package ftp

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"

	"stead.dev/stead/internal/node/record"
)

// ownLife is how long the machine's own certificate lasts; a new one is made when a third of it is left.
const ownLife = 3 * 365 * 24 * time.Hour

// ownCertificate is the certificate of the machine itself, signed by nobody: what clients are shown that ask for no name
// of a site which has a better one. It is kept, so that people who accepted it once are not asked again. An
// operator may put another in its place, signed by somebody.
func ownCertificate(dir, host string, now time.Time) (*tls.Certificate, error) {
	file := filepath.Join(dir, "own.pem")
	data, err := os.ReadFile(file)
	if err == nil {
		c, err := tls.X509KeyPair(data, data)
		if err != nil {
			return nil, err // it may be an operator's, which is not ours to replace
		}
		good := c.Leaf.NotAfter.Sub(now) > ownLife/3 && (host == "" || c.Leaf.VerifyHostname(host) == nil)
		if good || !bytes.Equal(c.Leaf.RawIssuer, c.Leaf.RawSubject) {
			return &c, nil
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: "FTP"}, NotBefore: now.Add(-time.Hour), NotAfter: now.Add(ownLife),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	if ip := net.ParseIP(host); ip != nil {
		template.IPAddresses = []net.IP{ip}
	} else if host != "" {
		template.DNSNames = []string{host}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return nil, err
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	data = append(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})...)
	if err := record.WriteFile(file, data, 0o600); err != nil {
		return nil, err
	}
	c, err := tls.X509KeyPair(data, data)
	return &c, err
}

// certificate answers what a client is shown.
func (c Config) certificate(own *tls.Certificate) func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	return func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
		if c.Certificate == nil || hello.ServerName == "" {
			return own, nil
		}
		found, err := c.Certificate(hello)
		if err != nil || found == nil {
			return own, nil //nolint:nilerr // nobody has the name: the machine's own does for it
		}
		return found, nil
	}
}

func (c Config) openCertificate() (func(*tls.ClientHelloInfo) (*tls.Certificate, error), error) {
	own, err := ownCertificate(filepath.Join(c.Dir, "ftp"), c.Host, c.Now())
	if err != nil {
		return nil, fmt.Errorf("ftp: own certificate: %w", err)
	}
	return c.certificate(own), nil
}
