package app

import (
	"context"
	"errors"
	"net"
	"net/url"
	"time"

	"stead.dev/stead/internal/commerce/sale"
	"stead.dev/stead/internal/commerce/wallet"
	"stead.dev/stead/internal/identity/account"
	"stead.dev/stead/internal/identity/oauth"
	"stead.dev/stead/internal/platform/auth"
	"stead.dev/stead/internal/platform/config"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/money"
	"stead.dev/stead/internal/platform/outgoing"
)

// The demonstration's customer and application. They are the same everywhere
// and printed on the first page, which is why demo mode is never for
// production; `stead doctor` says so.
const (
	DemoEmail    = "demo@stead.example"
	DemoPassword = "stead-demo-password"
	DemoClientID = "stead-demo"

	DemoStaffEmail    = "staff@stead.example"
	DemoStaffPassword = "stead-staff-password"

	demoCredit money.USDCents = 10_000
)

// demoRedirects are where `stead demo` and tools on the integrator's own
// machine take the code; the port is free.
var demoRedirects = []string{"http://127.0.0.1/stead-demo", "http://127.0.0.1/callback", "http://[::1]/callback"}

// demoRates are samples, near the market of late 2026: a demonstration shows prices in other currencies without asking
// a publisher.
var demoRates = map[string]string{"UZS": "12650.5", "RUB": "81.2", "EUR": "0.9199", "KZT": "519.5"}

// localSites lets a demonstration watch and scan its own sites, whose names below .test no DNS knows; nil elsewhere.
func localSites(cfg config.Config) *outgoing.Local {
	u, err := url.Parse(cfg.NodeURL)
	if !cfg.Demo || err != nil || u.Scheme != "http" || u.Port() == "" {
		return nil
	}
	local := &outgoing.Local{HTTP: u.Host}
	if _, port, err := net.SplitHostPort(cfg.NodeTLSListen); err == nil && port != "0" {
		local.HTTPS = config.Reachable(cfg.NodeTLSListen)
	}
	return local
}

// seedRates sets the sample rates where there is none, as of today.
func (c *core) seedRates(ctx context.Context) error {
	stored, err := c.currencies.List(ctx)
	if err != nil || len(stored) > 0 {
		return err
	}
	for code, rate := range demoRates {
		if _, err := c.currencies.Set(ctx, code, rate, time.Time{}); err != nil {
			return err
		}
	}
	return nil
}

// seedStaff makes the owner of the demonstration's company.
func (c *core) seedStaff(ctx context.Context) error {
	_, err := c.accounts.Find(ctx, DemoStaffEmail)
	if errors.Is(err, fault.NotFound) {
		_, err = c.accounts.Create(ctx, account.NewAccount{
			Email: DemoStaffEmail, Name: "Demo owner", Password: DemoStaffPassword, Published: true, Verified: true, Role: auth.Owner,
		})
	}
	return err
}

// seedDemo makes the data of a demonstration. It leaves what already exists as it is.
func (c *core) seedDemo(ctx context.Context) error {
	return c.db.Exclusive(ctx, "demo", func(ctx context.Context) error {
		customer, err := c.accounts.Find(ctx, DemoEmail)
		if errors.Is(err, fault.NotFound) {
			if err = c.db.InTx(ctx, c.catalog.SeedDemo); err != nil {
				return err
			}
			if err = c.db.InTx(ctx, c.domains.SeedDemo); err != nil {
				return err
			}
			customer, err = c.accounts.Create(ctx, account.NewAccount{
				Email: DemoEmail, Name: "Demo customer", Password: DemoPassword, Published: true, Verified: true,
			})
		}
		if err != nil {
			return err
		}
		if err := c.seedStaff(ctx); err != nil {
			return err
		}
		if err := c.seedRates(ctx); err != nil {
			return err
		}
		return c.db.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
			_, err := c.oauth.Ensure(ctx, tx, oauth.Seed{
				ClientID: DemoClientID, OwnerID: customer.ID, Name: "Demo integrator", RedirectURIs: demoRedirects,
			})
			if err != nil {
				return err
			}
			if err := c.reviews.SeedDemo(ctx, tx); err != nil {
				return err
			}
			// The reference makes it one credit however often the server starts.
			return c.wallet.Credit(ctx, tx, wallet.Credit{
				AccountID: customer.ID, Amount: demoCredit, Type: wallet.TypeBonus,
				Reference: sale.Reference{Type: "account", ID: customer.ID}, Reason: "Credit to try the demonstration", Actor: "stead",
			})
		})
	})
}
