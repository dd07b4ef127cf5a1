package app

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"time"

	"stead.dev/stead/internal/platform/config"
	"stead.dev/stead/internal/port/panel/hestia"
)

// newHestia is the configured HestiaCP server.
func newHestia(cfg config.Config, now func() time.Time) (*hestia.Panel, error) {
	roots := (*x509.CertPool)(nil) // the system's
	if cfg.HestiaCAFile != "" {
		text, err := os.ReadFile(cfg.HestiaCAFile)
		if err != nil {
			return nil, fmt.Errorf("hestia_ca_file: %w", err)
		}
		roots = x509.NewCertPool()
		if !roots.AppendCertsFromPEM(text) {
			return nil, errors.New("hestia_ca_file: there is no certificate in it")
		}
	}
	return hestia.New(hestia.Config{
		URL: cfg.HestiaURL, AccessKey: cfg.HestiaAccessKey.Reveal(), Now: now, Timezone: cfg.HestiaTimezone,
		TLS: &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: roots},
	})
}
