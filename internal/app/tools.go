package app

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"

	"stead.dev/stead/internal/admin"
	"stead.dev/stead/internal/doctor"
	"stead.dev/stead/internal/invoices"
	"stead.dev/stead/internal/observe"
	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/config"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/schema"
	"stead.dev/stead/internal/wallet"
)

// Migrate brings the configured database up to date and answers what it
// applied.
func Migrate(ctx context.Context, cfg config.Config) (applied []string, err error) {
	if cfg.SQLite() {
		if err := os.MkdirAll(cfg.DataDir, 0o700); err != nil {
			return nil, err
		}
		release, lockErr := lockDataDir(cfg.DataDir)
		if lockErr != nil {
			return nil, lockErr
		}
		defer func() { err = errors.Join(err, release()) }()
	}
	d, err := openDB(ctx, cfg, clock.System(cfg.ClockOffset), &observe.Traces{})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	applied, err = schema.Migrate(ctx, d)
	return applied, err
}

// Migrations lists all migrations and whether the configured database has them.
func Migrations(ctx context.Context, cfg config.Config) (all []schema.Migration, err error) {
	if cfg.SQLite() {
		if _, err := os.Stat(DatabaseFile(cfg)); err != nil {
			return nil, errors.New("there is no database yet in " + cfg.DataDir + "; run: stead migrate")
		}
	}
	d, err := openDB(ctx, cfg, clock.System(cfg.ClockOffset), &observe.Traces{})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	all, err = schema.Status(ctx, d)
	return all, err
}

// Examine looks at the configured installation.
func Examine(ctx context.Context, cfg config.Config) doctor.Report {
	return doctor.Examine(ctx, doctor.Installation{
		Config: cfg, Clock: clock.System(cfg.ClockOffset),
		DatabaseFile: DatabaseFile(cfg), KeyFile: KeyFile(cfg), NodeDir: nodeDir(cfg),
		Ledger: func(ctx context.Context, d *db.DB) error {
			return auditLedger(ctx, wallet.New(wallet.Config{DB: d}))
		},
		Invoices: func(ctx context.Context, d *db.DB) error { return invoices.New(invoices.Config{DB: d}).Verify(ctx) },
		Registry: registryReady(cfg),
	})
}

// OpenAPI is the OpenAPI document of a server without configuration. The
// operations need the sections, and these a database: one that is made for it
// and gone afterwards.
func OpenAPI(ctx context.Context) (doc []byte, err error) {
	dir, err := os.MkdirTemp("", "stead-openapi-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	cfg, err := config.Load(config.Input{CommandLine: map[string]string{"data_dir": filepath.Join(dir, "data")}})
	if err != nil {
		return nil, err
	}
	a := &App{}
	if a.core, err = newCore(ctx, *cfg, Options{Log: slog.New(slog.DiscardHandler)}, command); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, a.close(ctx)) }()
	if a.edge, err = a.newEdge(); err != nil {
		return nil, err
	}
	return openAPI(a.edge)
}

// Administer opens the configured installation for the commands of
// administration; close ends it. Servers may be running on it.
func Administer(ctx context.Context, cfg config.Config, version string) (_ *admin.Admin, closeFunc func() error, _ error) {
	if cfg.BaseURL == "" {
		// A server on port 0 alone knows its address; commands send no links.
		cfg.BaseURL = "http://localhost"
	}
	c, err := newCore(ctx, cfg, Options{Version: version}, command)
	if err != nil {
		return nil, nil, err
	}
	return c.admin, func() error { return c.close(context.WithoutCancel(ctx)) }, nil
}
