package sitedomains

import (
	"cmp"
	"context"
	"errors"
	"strings"

	"stead.dev/stead/internal/hosting/site"
	"stead.dev/stead/internal/platform/auth"
	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/domainname"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/outbox"
)

// Primaries keeps the primary domains, by which services are known.
type Primaries interface {
	// SetDomain makes the service known by another domain.
	SetDomain(ctx context.Context, tx *db.Tx, serviceID int64, domain string) error
}

// Claims decides which account may use which name of the live world.
type Claims interface {
	// Check refuses a name that the account may not use, with fault.DomainVerificationRequired or
	// fault.DomainUnavailable.
	Check(ctx context.Context, q db.Querier, accountID int64, name string) error
	// Take is Check, and keeps others from the name.
	Take(ctx context.Context, tx *db.Tx, accountID int64, name string) error
	// Verifications tell of names that the account uses, by name. One that is missing is not known to be the account's.
	Verifications(ctx context.Context, q db.Querier, accountID int64, names []string) (map[string]site.Verification, error)
}

// Unclaimed is the Claims of who has every name for everybody.
type Unclaimed struct{}

// Check implements Claims.
func (Unclaimed) Check(context.Context, db.Querier, int64, string) error { return nil }

// Take implements Claims.
func (Unclaimed) Take(context.Context, *db.Tx, int64, string) error { return nil }

// Verifications implements Claims.
func (Unclaimed) Verifications(_ context.Context, _ db.Querier, _ int64, names []string) (map[string]site.Verification, error) {
	all := make(map[string]site.Verification, len(names))
	for _, name := range names {
		all[name] = site.Verification{State: "not_required", Cleared: true}
	}
	return all, nil
}

// Zones are the zones of domains.
type Zones interface {
	// Rename moves what a service has of a zone to another name; nothing when it has none.
	Rename(ctx context.Context, tx *db.Tx, serviceID int64, from, to string) error
}

// Moves are those of services from one machine to another.
type Moves interface {
	// Former lists the addresses at which a service was before it moved, while the machines there pass on what comes for it.
	Former(ctx context.Context, q db.Querier, serviceID int64) ([]string, error)
}

// Unmoved is the Moves of who moves no service.
type Unmoved struct{}

// Former implements Moves.
func (Unmoved) Former(context.Context, db.Querier, int64) ([]string, error) { return nil, nil }

// NoZones is the Zones of who serves none.
type NoZones struct{}

// Rename implements Zones.
func (NoZones) Rename(context.Context, *db.Tx, int64, string, string) error { return nil }

// Config is what the section works with; all but ReservedDomains is needed.
type Config struct {
	site.Base
	Clock     clock.Clock
	Events    outbox.Events
	Primaries Primaries
	Worlds    site.Worlds
	Resolver  Resolver
	// ReservedDomains are the operator's own names, lower-case ASCII. Nobody can
	// add them or what is below them.
	ReservedDomains []string
}

// Needs is what the section needs of others; every field is required.
type Needs struct {
	// Parts are the other sections that keep something of services on their panels. They follow
	// what happens to services, and are compared with the panels, together with the domains.
	Parts  []site.Part
	Claims Claims
	Zones  Zones
	Moves  Moves
}

// Service is the section's use cases.
type Service struct {
	Config
	Needs
}

// New makes the section.
func New(c Config) *Service { return &Service{Config: c} }

// Connect gives the section what it needs of others, before anything else is asked of it.
func (s *Service) Connect(n Needs) { s.Needs = n }

// Check refuses a name that the account may not have a site under: because of whose it is (Claims), or with
// fault.DomainUnavailable when a service of its world has it, or somebody else a name above it.
func (s *Service) Check(ctx context.Context, q db.Querier, accountID int64, name string) error {
	sandbox, err := s.Worlds.Sandbox(ctx, q, accountID)
	if err != nil {
		return err
	}
	if !sandbox {
		if err := s.Claims.Check(ctx, q, accountID, name); err != nil {
			return err
		}
	}
	ok, err := available(ctx, q, accountID, sandbox, name, domainname.Parents(name))
	if err == nil && !ok {
		err = fault.DomainUnavailable.New()
	}
	return err
}

// HostedBy are the account's services that have names among the given, by name.
func (s *Service) HostedBy(ctx context.Context, q db.Querier, accountID int64, names []string) (map[string]int64, error) {
	if len(names) == 0 {
		return nil, nil //nolint:nilnil // no names, no services
	}
	return hostedBy(ctx, q, accountID, names)
}

// Claim makes the name the primary domain of a service that begins to be
// provisioned in tx, or answers fault.DomainUnavailable. A claim that is repeated
// changes nothing. sandbox tells in which world the service is.
func (s *Service) Claim(ctx context.Context, tx *db.Tx, accountID, serviceID int64, sandbox bool, name string) error {
	root := firstRoot
	_, err := s.insert(ctx, tx, sandbox, domain{
		Item: site.Item{Owned: site.Owned{AccountID: accountID, ServiceID: serviceID}}, name: name, kind: Primary, documentRoot: &root,
	})
	if !errors.Is(err, fault.DomainUnavailable) {
		return err
	}
	all, readErr := s.collection().OfService(ctx, tx, serviceID)
	if p, ok := primaryOf(all); ok && p.name == name {
		return nil
	}
	return cmp.Or(readErr, err)
}

// Serve notes that the panel has made the account of a service, and with it the primary domain: from that commit on a
// mailbox or a certificate may be asked for. Whether the panel has the domain as its row says is for Apply to see.
func (s *Service) Serve(ctx context.Context, tx *db.Tx, serviceID int64) error {
	return setServed(ctx, tx, serviceID)
}

// insert adds a row whose name is free, and the account's to use.
func (s *Service) insert(ctx context.Context, tx *db.Tx, sandbox bool, d domain) (int64, error) {
	if !sandbox && !strings.HasSuffix(d.name, standInSuffix) {
		if err := s.Claims.Take(ctx, tx, d.AccountID, d.name); err != nil {
			return 0, err
		}
	}
	ok, err := available(ctx, tx, d.AccountID, sandbox, d.name, domainname.Parents(d.name))
	if err != nil {
		return 0, err
	}
	if !ok {
		return 0, fault.DomainUnavailable.New()
	}
	id, err := s.collection().Insert(ctx, tx, d.AccountID, d.ServiceID, site.Values{
		"name": d.name, "kind": d.kind, "document_root": d.documentRoot, "redirect_to": d.redirectTo,
		"reconcile_at": tx.Now.Add(reconcileEvery), "dns_due_at": tx.Now, "sandbox": sandbox, "reversed": reversed(d.ownName()),
	})
	if errors.Is(err, fault.AlreadyExists) {
		err = fault.DomainUnavailable.New()
	}
	return id, err
}

// changeDomains runs f on the domains of a service that takes changes.
func (s *Service) changeDomains(ctx context.Context, accountID, serviceID int64,
	f func(ctx context.Context, tx *db.Tx, on site.Site, all []domain) error,
) error {
	c := s.collection()
	return c.Change(ctx, accountID, serviceID, func(ctx context.Context, tx *db.Tx, on site.Site) error {
		all, err := c.OfService(ctx, tx, serviceID)
		if err != nil {
			return err
		}
		return f(ctx, tx, on, all)
	})
}

// create adds a domain to one of the caller's services.
func (s *Service) create(ctx context.Context, p auth.Principal, serviceID int64, w wish) (domain, site.Site, error) {
	d, err := w.parse(s.ReservedDomains)
	if err != nil {
		return d, site.Site{}, err
	}
	if w.redirectTo != "" {
		if d, err = d.with(change{redirectTo: &w.redirectTo}); err != nil {
			return d, site.Site{}, err
		}
	}
	accountID := p.AccountID
	d.AccountID, d.ServiceID = accountID, serviceID
	var on site.Site
	err = s.changeDomains(ctx, accountID, serviceID, func(ctx context.Context, tx *db.Tx, found site.Site, all []domain) error {
		on = found
		if err := admit(on, all, d); err != nil {
			return err
		}
		if p.OnlyService != 0 {
			if err := s.admitVisit(ctx, tx, on, d.name); err != nil {
				return err
			}
		}
		id, err := s.insert(ctx, tx, found.Sandbox, d)
		if err != nil {
			return err
		}
		if d, err = s.collection().Get(ctx, tx, accountID, serviceID, id); err != nil {
			return err
		}
		return s.collection().Enqueue(ctx, tx, accountID, serviceID)
	})
	return d, on, err
}

// admit says why a service that has all cannot have d as well.
func admit(on site.Site, all []domain, d domain) error {
	for _, other := range all {
		if other.name == d.name {
			return fault.AlreadyExists.New()
		}
	}
	if d.kind == Subdomain && !below(all, d.name) {
		return fault.Invalid("name", "hosting_subdomain")
	}
	return refuse(on.Limits, count(all), count(append(all, d)))
}

// admitVisit refuses a name to a reseller's client who was admitted to one service: all clients share the account, so that it may
// use a name says nothing of theirs. The closest domain at or above the name must be the service's. Where there is none, the
// account may have nothing of the domain that can be registered: no service, no registration and no claim.
func (s *Service) admitVisit(ctx context.Context, q db.Querier, on site.Site, name string) error {
	found, err := s.closest(ctx, q, on, append([]string{name}, domainname.Parents(name)...))
	if err != nil || found == on.ServiceID || found == 0 && on.Sandbox { // a sandbox claims no names
		return err
	}
	if found == 0 {
		claimed, err := s.Claims.Verifications(ctx, q, on.AccountID, []string{name})
		if _, ok := claimed[name]; err != nil || !ok {
			return err
		}
	}
	return fault.DomainUnavailable.Wrapf("hosting: %s is the account's, but not for service %d", name, on.ServiceID)
}

// closest is the account's service that has the first of these names which a service of it has; 0 when none has.
func (s *Service) closest(ctx context.Context, q db.Querier, on site.Site, names []string) (serviceID int64, err error) {
	by, err := s.HostedBy(ctx, q, on.AccountID, names)
	for _, name := range names {
		if id, ok := by[name]; ok {
			return id, err
		}
	}
	return 0, err
}

// update changes a domain of one of the caller's services.
func (s *Service) update(ctx context.Context, p auth.Principal, serviceID, id int64, c change) (domain, site.Site, error) {
	var (
		d  domain
		on site.Site
	)
	accountID := p.AccountID
	err := s.changeDomains(ctx, accountID, serviceID, func(ctx context.Context, tx *db.Tx, found site.Site, all []domain) error {
		on = found
		old, err := s.collection().Get(ctx, tx, accountID, serviceID, id)
		if err != nil {
			return err
		}
		if old.Status == site.Removing {
			return fault.JobRunning.New()
		}
		if d, err = old.with(c); err != nil {
			return err
		}
		if c.primary && old.kind != Primary {
			if p.OnlyService != 0 { // a primary domain has a zone of its own, which hides that of a domain above it
				above, err := s.closest(ctx, tx, on, domainname.Parents(old.name))
				if err != nil {
					return err
				}
				if above != 0 && above != serviceID {
					return fault.Conflict.Wrapf("hosting: service %d has a domain above %s", above, old.name)
				}
			}
			if d, err = s.promote(ctx, tx, on, all, d); err != nil {
				return err
			}
		}
		if d.sameWish(old) && old.Status != site.Failed {
			d = old
			return nil
		}
		if err := s.collection().Update(ctx, tx, id, d.values()); err != nil {
			return err
		}
		if d, err = s.collection().Get(ctx, tx, accountID, serviceID, id); err != nil {
			return err
		}
		return s.collection().Enqueue(ctx, tx, accountID, serviceID)
	})
	return d, on, err
}

// promote makes d the primary domain in the place of the present one, which goes
// on as an addon with the root that it has. An alias takes over the site that it
// showed; the other aliases follow the new primary domain.
func (s *Service) promote(ctx context.Context, tx *db.Tx, on site.Site, all []domain, d domain) (domain, error) {
	if d.displacedName != nil {
		return d, fault.Conflict.Wrapf("hosting: %s is displaced", *d.displacedName)
	}
	switch d.Status {
	case site.Active:
	case site.Failed: // the service would be known by a name that does not work
		return d, fault.Conflict.Wrapf("hosting: %s failed", d.name)
	default:
		return d, fault.JobRunning.New()
	}
	former, ok := primaryOf(all)
	if !ok {
		return d, fault.Conflict.Wrapf("hosting: service %d has no primary domain", on.ServiceID)
	}
	if d.documentRoot == nil {
		d.documentRoot = former.documentRoot
	}
	former.kind, d.kind = Addon, Primary
	after := make([]domain, len(all))
	for i, other := range all {
		switch other.ID {
		case d.ID:
			other = d
		case former.ID:
			other = former
		}
		after[i] = other
	}
	if err := refuse(on.Limits, count(all), count(after)); err != nil {
		return d, err
	}
	// The former first: there is one primary domain at any time.
	if err := s.collection().Update(ctx, tx, former.ID, former.values()); err != nil {
		return d, err
	}
	return d, s.Primaries.SetDomain(ctx, tx, on.ServiceID, d.name)
}

// remove lets a domain of one of the account's services go.
func (s *Service) remove(ctx context.Context, accountID, serviceID, id int64) error {
	return s.changeDomains(ctx, accountID, serviceID, func(ctx context.Context, tx *db.Tx, _ site.Site, all []domain) error {
		d, err := s.collection().Get(ctx, tx, accountID, serviceID, id)
		if err != nil {
			return err
		}
		switch {
		case d.Status == site.Removing:
			return nil
		case d.kind == Primary, dependent(all, d.name):
			return fault.InUse.New()
		}
		if err := s.collection().SetRemoving(ctx, tx, id); err != nil {
			return err
		}
		return s.collection().Enqueue(ctx, tx, accountID, serviceID)
	})
}
