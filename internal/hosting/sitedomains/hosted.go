package sitedomains

import (
	"cmp"
	"context"
	"slices"
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
	CreatedAt  time.Time
	Displaced  bool // another account owns the name that it had
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
	all := make([]Hosted, len(rows))
	for i, d := range rows {
		all[i] = Hosted{
			ID: d.ID, Name: d.name, Kind: d.kind, Served: d.activatedAt != nil && d.Status != site.Removing, ForceHTTPS: d.forceHTTPS,
			Root: d.root(), TLS: d.tls, Pointing: d.dns.status(on.Addresses()), CreatedAt: d.createdAt,
			Displaced: d.displacedName != nil,
		}
	}
	return all, nil
}

// Usable is Hosted without the domains that are not known to be the account's yet, and those that are not any more: they
// may have no certificate and no mail.
func (s *Service) Usable(ctx context.Context, q db.Querier, accountID, serviceID int64) ([]Hosted, error) {
	on, err := s.Services.Site(ctx, q, accountID, serviceID)
	if err != nil || on.Sandbox {
		all, hostedErr := s.Hosted(ctx, q, accountID, serviceID)
		return all, cmp.Or(err, hostedErr)
	}
	all, err := s.Hosted(ctx, q, accountID, serviceID)
	if err != nil {
		return nil, err
	}
	names := make([]string, len(all))
	for i, d := range all {
		names[i] = d.Name
	}
	known, err := s.Claims.Verifications(ctx, q, accountID, names)
	return slices.DeleteFunc(all, func(d Hosted) bool {
		v, ok := known[d.Name]
		return d.Displaced || ok && !v.Cleared && d.Pointing != Pointed
	}), err
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
