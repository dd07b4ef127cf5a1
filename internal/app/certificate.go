package app

import (
	"crypto/tls"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"stead.dev/stead/internal/platform/clock"
)

// recheck is how often the files of the certificate are checked for a change.
const recheck = time.Minute

// certificate is a certificate in two files. It is read again when they change, so that a renewal needs no restart.
type certificate struct {
	certFile, keyFile string
	clock             clock.Clock
	log               *slog.Logger

	mu      sync.Mutex
	current *tls.Certificate
	written time.Time // when the file in use was written
	checked time.Time
}

func loadCertificate(certFile, keyFile string, c clock.Clock, log *slog.Logger) (*certificate, error) {
	k := &certificate{certFile: certFile, keyFile: keyFile, clock: c, log: log}
	if err := k.read(); err != nil {
		return nil, err
	}
	return k, nil
}

func (k *certificate) read() error {
	info, err := os.Stat(k.certFile)
	if err != nil {
		return fmt.Errorf("TLS certificate: %w", err)
	}
	pair, err := tls.LoadX509KeyPair(k.certFile, k.keyFile)
	if err != nil {
		return fmt.Errorf("TLS certificate: %w", err)
	}
	k.current, k.written, k.checked = &pair, info.ModTime(), k.clock.Now()
	return nil
}

// get implements tls.Config.GetCertificate. A file that cannot be read keeps
// the old certificate in use.
func (k *certificate) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	now := k.clock.Now()
	if now.Sub(k.checked) < recheck {
		return k.current, nil
	}
	k.checked = now
	info, err := os.Stat(k.certFile)
	if err == nil && !info.ModTime().Equal(k.written) {
		err = k.read()
	}
	if err != nil {
		k.log.Error("the renewed TLS certificate cannot be used; the old one stays", "error", err)
	}
	return k.current, nil
}

func (k *certificate) config() *tls.Config {
	return &tls.Config{
		MinVersion:     tls.VersionTLS12,
		NextProtos:     []string{"h2", "http/1.1"},
		GetCertificate: k.get,
	}
}
