package nginx

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"stead.dev/stead/internal/node/web"
	"stead.dev/stead/internal/platform/atomicfile"
	"stead.dev/stead/internal/platform/certificate"
	"stead.dev/stead/internal/port/panel"
)

// noName is the name of the server block for names that nobody has, and of its certificate. No domain has that name.
const noName = "_"

// The life of the self-signed certificate; it is replaced a month before its end.
const (
	selfSignedFor   = 10 * 365 * 24 * time.Hour
	selfSignedAhead = 30 * 24 * time.Hour
)

// certificateOf is the file with the certificate chain and the key of a server block.
func (s *Server) certificateOf(server string) string { return s.file("certificates", server) }

// serverNames are the first names of a site's server blocks: nginx's variable $server_name.
func serverNames(site web.Site) []string {
	if site.Preview == "" {
		return []string{site.Domain}
	}
	return []string{site.Domain, site.Preview}
}

// prepareCertificates makes the directory of certificates, which only the workers can enter, and the self-signed
// certificate for names without one of their own. Its name says that it is not a real one.
func (s *Server) prepareCertificates() error {
	dir := s.file("certificates")
	err := os.MkdirAll(dir, 0o710)
	if err == nil {
		err = errors.Join(os.Chown(dir, os.Getuid(), s.gid), os.Chmod(dir, 0o710)) //nolint:gosec // G302: the workers pass it
	}
	if err != nil {
		return err
	}
	if err := s.removeCertificates(func(name string) bool { return strings.HasPrefix(name, ".") }); err != nil { // left by a crash
		return err
	}
	if err := s.prepareSelfSigned(); err != nil || s.cfg.OwnName == "" {
		return err
	}
	_, err = s.CertifyOwn()
	return err
}

// prepareSelfSigned makes the certificate for names without one of their own.
func (s *Server) prepareSelfSigned() error {
	file, now := s.certificateOf(noName), s.cfg.Now()
	if pair, err := tls.LoadX509KeyPair(file, file); err == nil && pair.Leaf.NotAfter.After(now.Add(selfSignedAhead)) {
		return nil
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		s.cfg.Log.Warn("the self-signed certificate cannot be read and is made anew", "error", err)
	}
	b, err := certificate.SelfSign("no certificate yet", []string{web.ProofName}, now, selfSignedFor)
	if err != nil {
		return err
	}
	key, err := b.KeyPEM()
	if err != nil {
		return err
	}
	return s.putCertificate(noName, []byte(b.ChainPEM()+key))
}

// Proof implements web.Prover.
func (s *Server) Proof() (string, error) {
	if len(s.cfg.HTTPS) == 0 {
		return "", nil
	}
	file := s.certificateOf(noName)
	pair, err := tls.LoadX509KeyPair(file, file) // the file has the key, too
	if err != nil {
		return "", fmt.Errorf("nginx: %w", err)
	}
	return certificate.Bundle{Chain: []*x509.Certificate{pair.Leaf}}.ChainPEM(), nil
}

// OwnName is the machine's own name with a certificate; empty is none.
func (s *Server) OwnName() string { return s.cfg.OwnName }

// CertifyOwn has nginx use the present certificate of the machine's own name. It reports whether that is one which browsers can
// accept; the self-signed one stands in for it otherwise.
func (s *Server) CertifyOwn() (good bool, err error) {
	if s.cfg.OwnName == "" {
		return false, nil
	}
	var want []byte
	if chain, key, ok := s.cfg.OwnCertificate(); ok {
		pair, err := tls.X509KeyPair(chain, key)
		if err == nil {
			err = pair.Leaf.VerifyHostname(s.cfg.OwnName)
		}
		if good = err == nil && s.cfg.Now().Before(pair.Leaf.NotAfter); good {
			want = slices.Concat(bytes.TrimSpace(chain), []byte("\n"), bytes.TrimSpace(key), []byte("\n"))
		} else {
			s.cfg.Log.Warn("the certificate of the machine's own name cannot be used", "name", s.cfg.OwnName, "error", err)
		}
	}
	if want == nil {
		if want, err = os.ReadFile(s.certificateOf(noName)); err != nil {
			return false, err
		}
	}
	if present, err := os.ReadFile(s.certificateOf(s.cfg.OwnName)); err == nil && bytes.Equal(present, want) {
		return good, nil
	}
	return good, s.putCertificate(s.cfg.OwnName, want)
}

// putCertificate replaces a certificate, which the next handshake uses.
func (s *Server) putCertificate(server string, content []byte) error {
	return atomicfile.WriteOwned(s.certificateOf(server), content, 0o400, s.uid, s.gid)
}

// certify writes the certificates for the server blocks of an account. nginx may choose a server block only when its
// certificate is there, so this comes before the configuration.
func (s *Server) certify(account string, sites []web.Site) error {
	if len(s.cfg.HTTPS) == 0 {
		return nil
	}
	for _, site := range sites {
		for _, server := range serverNames(site) {
			if server == noName || strings.HasPrefix(server, ".") || strings.Contains(server, "/") {
				return fmt.Errorf("%w: %q is no name of a site", panel.ErrInvalid, server)
			}
			s.mu.Lock()
			owned := s.servers[server] == account
			s.mu.Unlock()
			if !owned { // another account has taken the name meanwhile
				continue
			}
			if err := s.certifyServer(server, site); err != nil {
				return err
			}
		}
	}
	return nil
}

// certifyServer writes the certificate of a server block: the site's, or the machine's own when the site has none that
// can be used.
func (s *Server) certifyServer(server string, site web.Site) error {
	present, err := os.ReadFile(s.certificateOf(server))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	var want []byte
	if site.Certificate != "" && server == site.Domain {
		if want, err = siteCertificate(site, present); err != nil {
			s.cfg.Log.Error("certificate cannot be used", "site", site.Domain, "error", err)
			want = nil
		}
	}
	if want == nil {
		if want, err = os.ReadFile(s.certificateOf(noName)); err != nil {
			return err
		}
	}
	if bytes.Equal(present, want) {
		return nil
	}
	return s.putCertificate(server, want)
}

// siteCertificate returns a site's chain and key, which must match, as one file. What equals the present one has been
// checked before.
func siteCertificate(site web.Site, present []byte) ([]byte, error) {
	chain, err := os.ReadFile(site.Certificate)
	if err != nil {
		return nil, err
	}
	key, err := os.ReadFile(site.CertificateKey)
	if err != nil {
		return nil, err
	}
	content := slices.Concat(bytes.TrimSpace(chain), []byte("\n"), bytes.TrimSpace(key), []byte("\n"))
	if !bytes.Equal(content, present) {
		_, err = tls.X509KeyPair(chain, key)
	}
	return content, err
}

// sweepCertificates removes the certificates of names that no site has any more.
func (s *Server) sweepCertificates() error {
	return s.removeCertificates(func(name string) bool {
		return !strings.HasPrefix(name, ".") && name != noName && s.servers[name] == ""
	})
}

// removeCertificates removes the files that which selects.
func (s *Server) removeCertificates(which func(name string) bool) error {
	entries, err := os.ReadDir(s.file("certificates"))
	if err != nil {
		return fmt.Errorf("nginx: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range entries {
		if !which(e.Name()) {
			continue
		}
		if failed := os.Remove(s.certificateOf(e.Name())); !errors.Is(failed, fs.ErrNotExist) { // others remove some meanwhile
			err = errors.Join(err, failed)
		}
	}
	if err != nil {
		return fmt.Errorf("nginx: %w", err)
	}
	return nil
}
