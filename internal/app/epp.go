package app

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"os"

	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/config"
	"stead.dev/stead/internal/port/registrar/epp"
)

// newEPP is the configured registry.
func newEPP(cfg config.Config, clk clock.Clock, log *slog.Logger) (*epp.Client, error) {
	trust := &tls.Config{MinVersion: tls.VersionTLS12}
	if cfg.EPPCAFile != "" {
		text, err := os.ReadFile(cfg.EPPCAFile)
		if err != nil {
			return nil, fmt.Errorf("epp_ca_file: %w", err)
		}
		trust.RootCAs = x509.NewCertPool()
		if !trust.RootCAs.AppendCertsFromPEM(text) {
			return nil, errors.New("epp_ca_file: there is no certificate in it")
		}
	}
	if cfg.EPPCertFile != "" {
		own, err := tls.LoadX509KeyPair(cfg.EPPCertFile, cfg.EPPKeyFile)
		if err != nil {
			return nil, fmt.Errorf("epp_cert_file: %w", err)
		}
		trust.Certificates = []tls.Certificate{own}
	}
	return epp.New(epp.Config{
		Address: cfg.EPPAddress, User: cfg.EPPUser, Password: cfg.EPPPassword.Reveal(), Sponsor: cfg.EPPSponsor, TLS: trust, Clock: clk, Log: log,
		Sessions: cfg.EPPSessions,
	}), nil
}

// registryReady tells the doctor whether the configured registry lets us in; nil where none is configured.
func registryReady(cfg config.Config) func(context.Context) error {
	if cfg.Registrar != config.RegistrarEPP {
		return nil
	}
	return func(ctx context.Context) error {
		registry, err := newEPP(cfg, clock.System(cfg.ClockOffset), slog.New(slog.DiscardHandler))
		if err != nil {
			return err
		}
		return errors.Join(registry.Ready(ctx), registry.Close())
	}
}
