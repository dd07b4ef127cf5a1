package sitedomains

import (
	"context"

	"stead.dev/stead/internal/hosting/site"
	"stead.dev/stead/internal/platform/db"
)

// Hosted lists the domains of an account's service, the primary one first.
func (s *Service) Hosted(ctx context.Context, q db.Querier, accountID, serviceID int64) ([]site.Domain, error) {
	on, err := s.Services.Site(ctx, q, accountID, serviceID)
	if err != nil {
		return nil, err
	}
	rows, err := s.collection().OfService(ctx, q, serviceID)
	if err != nil {
		return nil, err
	}
	usable, err := s.usable(ctx, q, on, rows...)
	all := make([]site.Domain, len(rows))
	for i, d := range rows {
		all[i] = site.Domain{
			ID: d.ID, Name: d.name, Primary: d.kind == Primary, Served: d.activatedAt != nil && d.Status != site.Removing,
			Usable: usable[d.name], Displaced: d.displacedName != nil, Elsewhere: d.dns.status(on.Addresses()) == NotPointed,
			Root: d.root(), ForceHTTPS: d.forceHTTPS, TLS: d.tls, CreatedAt: d.createdAt,
		}
	}
	return all, err
}

// MaySend tells whether programs of a service may send mail as its primary domain.
func (s *Service) MaySend(ctx context.Context, q db.Querier, of site.Site) (bool, error) {
	rows, err := s.collection().OfService(ctx, q, of.ServiceID)
	if err != nil {
		return false, err
	}
	primary, _ := primaryOf(rows)
	usable, err := s.usable(ctx, q, of, primary)
	return usable[primary.name], err
}

// usable tells by name which domains of a service may have certificates and mail: those that are known to be the account's, and
// those whose DNS leads to the service.
func (s *Service) usable(ctx context.Context, q db.Querier, on site.Site, all ...domain) (map[string]bool, error) {
	known, err := s.verifications(ctx, q, on, all)
	if err != nil {
		return nil, err
	}
	here, err := s.here(ctx, q, on)
	usable := make(map[string]bool, len(all))
	for _, d := range all {
		usable[d.name] = known[d.name].Cleared || d.displacedName == nil && d.dns.leads(here)
	}
	return usable, err
}

// here lists the addresses by which a service is reached: its own, and for a while those of the machines that it has left.
func (s *Service) here(ctx context.Context, q db.Querier, on site.Site) ([]string, error) {
	former, err := s.Moves.Former(ctx, q, on.ServiceID)
	return append(on.Addresses(), former...), err
}

// root is the document root that a domain shows: its own, or for an alias that of the primary domain.
func (d domain) root() string {
	if d.documentRoot != nil {
		return *d.documentRoot
	}
	return d.primaryRoot
}

// Refresh compares the domains with the panel once more, because what it reports of them has changed. When that fails, a
// job does it later.
func (s *Service) Refresh(ctx context.Context, accountID, serviceID int64) error {
	if s.Apply(ctx, accountID, serviceID) == nil {
		return nil
	}
	return s.DB.InTx(context.WithoutCancel(ctx), func(ctx context.Context, tx *db.Tx) error {
		return s.collection().Enqueue(ctx, tx, accountID, serviceID)
	})
}
