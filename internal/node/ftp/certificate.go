package ftp

import (
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"stead.dev/stead/internal/platform/atomicfile"
	"stead.dev/stead/internal/platform/certificate"
)

// ownLife is how long the machine's own certificate lasts; a new one is made when a third of it is left.
const ownLife = 3 * 365 * 24 * time.Hour

// ownCertificate is the machine's own self-signed certificate, for clients that name no site with a better one. It is
// stored, so that people who have accepted it are not asked again. An operator may replace it by a trusted one.
func ownCertificate(dir, host string, now time.Time) (*tls.Certificate, error) {
	file := filepath.Join(dir, "own.pem")
	data, err := os.ReadFile(file)
	if err == nil {
		c, err := tls.X509KeyPair(data, data)
		if err != nil {
			return nil, err // it may be an operator's, which must not be replaced
		}
		good := c.Leaf.NotAfter.Sub(now) > ownLife/3 && (host == "" || c.Leaf.VerifyHostname(host) == nil)
		if good || !bytes.Equal(c.Leaf.RawIssuer, c.Leaf.RawSubject) {
			return &c, nil
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var hosts []string
	if host != "" {
		hosts = []string{host}
	}
	own, err := certificate.SelfSign("FTP", hosts, now, ownLife)
	if err != nil {
		return nil, err
	}
	key, err := own.KeyPEM()
	if err != nil {
		return nil, err
	}
	data = []byte(own.ChainPEM() + key)
	if err := atomicfile.Write(file, data, 0o600); err != nil {
		return nil, err
	}
	c, err := tls.X509KeyPair(data, data)
	return &c, err
}

// certificate returns the certificate for a client.
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
