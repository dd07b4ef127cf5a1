package app

import (
	"context"

	"stead.dev/stead/internal/commerce/services"
	"stead.dev/stead/internal/identity/account"
	"stead.dev/stead/internal/monitoring/monitors"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/probe"
)

// What an address may call of heartbeats: a machine with many jobs is one address.
const (
	heartbeatThrottle   = "heartbeat"
	heartbeatsPerMinute = 600
)

// buildMonitors makes the section of monitors.
func (c *core) buildMonitors() {
	c.monitors = monitors.New(monitors.Config{
		DB: c.db, Clock: c.clock, Events: c.outbox, Box: c.box, Signals: c.hub, Log: c.log, BaseURL: c.cfg.BaseURL,
		Queue: c.queue, Mailer: c.mailer, Limiter: c.limiter, Letters: c.letters, Brand: c.company.Current,
		Prober: probe.New(probe.Config{
			Clock: c.clock, AllowLoopback: c.cfg.AllowLoopbackTargets, Expiry: c.registrations(), Local: localSites(c.cfg),
			Log: c.log,
		}),
		AllowLoopback: c.cfg.AllowLoopbackTargets, Idle: !c.cfg.Monitors,
	})
}

// owners are the accounts as monitors see them.
type owners struct{ accounts *account.Service }

// Locale implements monitors.Owners.
func (o owners) Locale(ctx context.Context, q db.Querier, accountID int64) (string, error) {
	p, err := o.accounts.Profile(ctx, q, accountID)
	return p.Locale, err
}

// watchedServices are the services as their monitors see them.
type watchedServices struct{ *services.Service }

// Hosted implements monitors.Services.
func (w watchedServices) Hosted(ctx context.Context, q db.Querier, accountID, serviceID int64) (monitors.Hosted, error) {
	s, err := w.Site(ctx, q, accountID, serviceID)
	return monitors.Hosted{
		Label: s.Domain, Domain: s.Domain, OriginURL: s.OriginURL, Online: s.Online(), Ended: s.Ended(), Sandbox: s.Sandbox,
	}, err
}
