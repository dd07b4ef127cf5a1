package sitedomains

import (
	"context"
	"time"

	"stead.dev/stead/internal/hosting/site"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/port/panel"
)

// Hosted is a domain of a service as other sections see it.
type Hosted struct {
	ID         int64
	Name       string // lower-case ASCII
	Kind       Kind
	Served     bool   // the panel has it, and it is not about to go
	Root       string // the document root that it shows
	ForceHTTPS bool
	TLS        panel.TLS
	Pointing   PointStatus // as of the last look into the DNS
	// Usable tells that it may be given certificates and mail now. What it has of them stays the service's when it ceases to be:
	// one failed look into the DNS is enough for that.
	Usable    bool
	CreatedAt time.Time
	Displaced bool // another account owns the name that it had
}

// Hosted lists the domains of an account's service, the primary one first.
func (s *Service) Hosted(ctx context.Context, q db.Querier, accountID, serviceID int64) ([]Hosted, error) {
	on, err := s.Services.Site(ctx, q, accountID, serviceID)
	if err != nil {
		return nil, err
	}
	rows, err := s.collection().OfService(ctx, q, serviceID)
	if err != nil {
		return nil, err
	}
	usable, err := s.usable(ctx, q, on, rows...)
	all := make([]Hosted, len(rows))
	for i, d := range rows {
		all[i] = Hosted{
			ID: d.ID, Name: d.name, Kind: d.kind, Served: d.activatedAt != nil && d.Status != site.Removing, ForceHTTPS: d.forceHTTPS,
			Root: d.root(), TLS: d.tls, Pointing: d.dns.status(on.Addresses()), Usable: usable[d.name], CreatedAt: d.createdAt,
			Displaced: d.displacedName != nil,
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
