package sitedomains

import (
	"context"
	"errors"

	"stead.dev/stead/internal/hosting/site"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/outbox"
	"stead.dev/stead/internal/port/panel"
)

// Apply makes the panel as the domains of a service are.
func (s *Service) Apply(ctx context.Context, accountID, serviceID int64) error {
	on, err := s.Services.Site(ctx, s.DB, accountID, serviceID)
	if err != nil {
		return err
	}
	if on.Status == "suspended" && !on.Moving {
		// Nothing else follows now, but a name that belongs to another account must go.
		leaving, err := leaving(ctx, s.DB, `service_id = $1`, serviceID)
		if err != nil || !leaving {
			return err
		}
		return s.collection().Follow(ctx, on)
	}
	return s.collection().Apply(ctx, accountID, serviceID)
}

// atOnce bounds how many domains are set at a time.
const atOnce = 32

// kind is how the domains of a service follow. Another primary domain must be there before the former can go; and what the
// others are may depend on it.
func (s *Service) kind(_ context.Context, on site.Site, sites panel.Sites) (site.Kind[domain, panel.Domain], error) {
	return site.Kind[domain, panel.Domain]{
		Wish: func(ctx context.Context, d domain) (panel.Domain, error) {
			usable, err := s.usable(ctx, s.DB, on, d)
			wish := d.wanted(d.primaryRoot)
			wish.NoMail = !usable[d.name]
			return wish, err
		},
		Same: same,
		List: sites.Domains, Set: sites.SetDomain, Remove: sites.RemoveDomain,
		Name:   func(d panel.Domain) string { return d.Name },
		Main:   func(d domain) bool { return d.kind == Primary },
		Last:   func(d panel.Domain) bool { return d.Primary },
		AtOnce: atOnce,
	}, nil
}

// same tells whether the panel has a domain as it is wanted. One that the panel has as the primary domain is no longer that once
// another one is, which is set first.
func same(have, want panel.Domain) bool {
	have.TLS = want.TLS
	have.Primary = have.Primary && want.Primary
	return have == want
}

// ApplyAll has the panel follow in everything that the service consists of: first its domains, then
// the other sections' parts. What it uses is looked at too. One that fails does not hold up the others.
func (s *Service) ApplyAll(ctx context.Context, accountID, serviceID int64) error {
	err := s.Apply(ctx, accountID, serviceID)
	for _, part := range s.Parts {
		err = errors.Join(err, part.Apply(ctx, accountID, serviceID))
	}
	return errors.Join(err, s.Watch(ctx, accountID, serviceID))
}

// emit tells of a domain that the panel has, or no longer has. The primary one comes and goes with its service.
func (s *Service) emit(ctx context.Context, tx *db.Tx, eventType string, d domain) error {
	if d.kind == Primary {
		return nil
	}
	return s.Events.Emit(ctx, tx, outbox.Event{
		Type: eventType, AccountID: d.AccountID, Subject: "service", SubjectID: d.ServiceID, Data: eventOf(d),
	})
}

// Reconcile has the panel compared with the rows of every service that is due. A
// periodic job calls it.
func (s *Service) Reconcile(ctx context.Context) error {
	return site.SweepEach(ctx, s.DB, takeDue, s.enqueueReconcile)
}

// Follow hears what happens to services and of whose their domains are, and lets their domains follow.
func (s *Service) Follow(ctx context.Context, tx *db.Tx, e outbox.Stored) error {
	switch e.Type {
	case "service.migrated":
		// Its owner changes the DNS about now, and the certificates of the new machine wait for that.
		if err := setDNSDue(ctx, tx, e.SubjectID); err != nil {
			return err
		}
		return s.enqueueApplyAll(ctx, tx, site.Target{AccountID: e.AccountID, ServiceID: e.SubjectID})
	case "service.provisioned", "service.restored", "service.suspended", "service.unsuspended", "service.provision_failed", "service.terminated",
		"service.tariff_changed":
		return s.enqueueApplyAll(ctx, tx, site.Target{AccountID: e.AccountID, ServiceID: e.SubjectID})
	case "site_domain.verification_changed":
		return s.collection().Enqueue(ctx, tx, e.AccountID, e.SubjectID)
	default:
		return nil
	}
}
