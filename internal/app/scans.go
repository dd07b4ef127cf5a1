package app

import (
	"context"
	"errors"
	"time"

	"stead.dev/stead/internal/monitoring/scans"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/dnsquery"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/port/panel"
)

func (c *core) buildScans() {
	c.scans = scans.New(scans.Config{
		DB: c.db, Clock: c.clock, Queue: c.queue, Events: c.outbox, BaseURL: c.cfg.BaseURL,
		Fetcher: &scans.Fetcher{
			Resolver: &dnsquery.Client{}, Clock: c.clock, HTTPPort: "80", HTTPSPort: "443", AllowLoopback: c.cfg.AllowLoopbackTargets,
			Local: localSites(c.cfg),
		},
	})
}

// scannedSites are the hosting services as security scans see them.
type scannedSites struct{ *core }

// Owner implements scans.Sites.
func (s scannedSites) Owner(ctx context.Context, q db.Querier, accountID int64, host string) (scans.Owned, bool, error) {
	found, err := s.hosting.HostedBy(ctx, q, accountID, []string{host})
	if err != nil || found[host] == 0 {
		return scans.Owned{}, false, err
	}
	on, err := s.services.Site(ctx, q, accountID, found[host])
	if errors.Is(err, fault.NotFound) {
		return scans.Owned{}, false, nil
	}
	return scans.Owned{ServiceID: on.ServiceID, Addresses: on.Addresses()}, err == nil && on.Online() && !on.Sandbox, err
}

// Primary implements scans.Sites.
func (s scannedSites) Primary(ctx context.Context, q db.Querier, accountID, serviceID int64) (string, bool, error) {
	on, err := s.services.Site(ctx, q, accountID, serviceID)
	return on.Domain, on.Online() && !on.Sandbox, err
}

// Place implements scans.Sites.
func (s scannedSites) Place(ctx context.Context, accountID, serviceID int64, host string) (scans.Place, error) {
	on, err := s.services.Site(ctx, s.db, accountID, serviceID)
	if err != nil {
		return scans.Place{}, err
	}
	p := scans.Place{ServiceID: serviceID, Ref: on.Ref}
	if p.PHPVersion, err = s.php.Version(ctx, s.db, accountID, serviceID); err != nil {
		return p, err
	}
	hosted, err := s.hosting.Hosted(ctx, s.db, accountID, serviceID)
	if err != nil {
		return p, err
	}
	for _, d := range hosted {
		if d.Name == host {
			p.Root = d.Root
		}
	}
	if there, ok := s.panels.Panel(on.Panel); ok && p.Ref != "" {
		if files, err := panel.Of[panel.Files](there, panel.CapFiles); err == nil {
			p.Files = files
		}
	}
	return p, nil
}

// recent is how old the newest backup of a service may be: they are made every day.
const recent = 48 * time.Hour

// Conditions implements scans.Sites.
func (s scannedSites) Conditions(ctx context.Context, q db.Querier, accountID, serviceID int64) (scans.Conditions, error) {
	c := scans.Conditions{Certificate: string(panel.TLSNone)}
	hosted, err := s.hosting.Hosted(ctx, q, accountID, serviceID)
	if err != nil {
		return c, err
	}
	for _, d := range hosted {
		if d.Primary {
			c.Certificate = string(d.TLS)
		}
	}
	if c.PHPVersion, err = s.php.Version(ctx, q, accountID, serviceID); err != nil {
		return c, err
	}
	if ends, ok := panel.PHPEndOfLife(c.PHPVersion); ok {
		c.PHPEnds = &ends
	}
	newest, err := s.backups.Newest(ctx, q, serviceID)
	if err != nil {
		return c, err
	}
	c.BackupsOK = newest != nil && s.clock.Now().Sub(*newest) < recent
	owner, err := s.accounts.Profile(ctx, q, accountID)
	c.TwoFactor = owner.TwoFactor
	return c, err
}
