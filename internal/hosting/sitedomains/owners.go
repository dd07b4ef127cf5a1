package sitedomains

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"stead.dev/stead/internal/hosting/site"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/domainname"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/outbox"
)

// placeholder is the name under which a displaced domain goes on. Nobody can reach it (RFC 6761, section 6.4).
func placeholder(id int64) string { return fmt.Sprintf("displaced-%d%s", id, standInSuffix) }

const standInSuffix = ".invalid"

// Used tells whether services of the account answer to names of a domain, or had them before they were displaced.
func (s *Service) Used(ctx context.Context, q db.Querier, accountID int64, zone string) (bool, error) {
	all, err := s.within(ctx, q, accountID, zone)
	return len(all) > 0, err
}

// LeadHere tells whether the DNS of one of an account's names of a domain led to its service when it was last asked.
func (s *Service) LeadHere(ctx context.Context, q db.Querier, accountID int64, zone string) (bool, error) {
	all, err := s.within(ctx, q, accountID, zone)
	if err != nil {
		return false, err
	}
	for _, d := range all {
		on, err := s.Services.Site(ctx, q, accountID, d.ServiceID)
		if err != nil {
			return false, err
		}
		here, err := s.here(ctx, q, on)
		if err != nil {
			return false, err
		}
		if d.displacedName == nil && d.dns.status(here) == Pointed {
			return true, nil
		}
	}
	return false, nil
}

// OfService are the names of one of an account's services.
func (s *Service) OfService(ctx context.Context, q db.Querier, accountID, serviceID int64) ([]string, error) {
	rows, err := s.collection().OfService(ctx, q, serviceID)
	var names []string
	for _, d := range rows {
		if d.AccountID == accountID {
			names = append(names, d.ownName())
		}
	}
	return names, err
}

// Return is Claim for a service that comes back. When the account may no longer use the name, the service comes back under
// a stand-in, so that nothing of it is lost, and the owner is told.
func (s *Service) Return(ctx context.Context, tx *db.Tx, accountID, serviceID int64, sandbox bool, name string) (string, error) {
	err := tx.Savepoint(ctx, func(ctx context.Context) error { return s.Claim(ctx, tx, accountID, serviceID, sandbox, name) })
	if err == nil || sandbox || !errors.Is(err, fault.DomainVerificationRequired) && !errors.Is(err, fault.DomainUnavailable) {
		return name, err
	}
	if strings.HasSuffix(name, standInSuffix) {
		return name, err
	}
	root := firstRoot
	d := domain{
		Item: site.Item{Owned: site.Owned{AccountID: accountID, ServiceID: serviceID}}, name: fmt.Sprintf("displaced-s%d%s", serviceID, standInSuffix),
		kind: Primary, documentRoot: &root, displacedName: &name,
	}
	if d.ID, err = s.insert(ctx, tx, sandbox, d); err != nil {
		return name, err
	}
	if err := setName(ctx, tx, d); err != nil {
		return name, err
	}
	return d.name, s.tellOwner(ctx, tx, "site_domain.displaced", d, nil)
}

// Leaving tells whether a panel may still have a name for a service that was displaced.
func (s *Service) Leaving(ctx context.Context, q db.Querier, name string) (bool, error) {
	return leaving(ctx, q, `displaced_name = $1`, name)
}

// ownName is the name that the customer gave the domain.
func (d domain) ownName() string {
	if d.displacedName != nil {
		return *d.displacedName
	}
	return d.name
}

// Displace takes the names of a domain from the services of an account that turned out not to own it. Each goes on under
// a name that nobody reaches, so sites stay as they are behind their preview address; the owner is told.
func (s *Service) Displace(ctx context.Context, tx *db.Tx, accountID int64, zone string) error {
	return s.renameWithin(ctx, tx, accountID, zone, func(d *domain) (bool, error) {
		if d.displacedName != nil {
			return false, nil
		}
		former := d.name
		d.name, d.displacedName = placeholder(d.ID), &former
		return true, nil
	})
}

// Reinstate gives the services of an account the names of a domain back that they had before. What the account has added again
// meanwhile stays where it is now.
func (s *Service) Reinstate(ctx context.Context, tx *db.Tx, accountID int64, zone string) error {
	return s.renameWithin(ctx, tx, accountID, zone, func(d *domain) (bool, error) {
		if d.displacedName == nil {
			return false, nil
		}
		if taken, err := isTaken(ctx, tx, *d.displacedName); err != nil || taken {
			return false, err
		}
		d.name, d.displacedName = *d.displacedName, nil
		return true, nil
	})
}

// renameWithin renames an account's names of a domain as rename says, with all that bears them.
func (s *Service) renameWithin(ctx context.Context, tx *db.Tx, accountID int64, zone string, rename func(*domain) (bool, error)) error {
	all, err := s.within(ctx, tx, accountID, zone)
	if err != nil {
		return err
	}
	var services []int64
	for _, d := range all {
		services = append(services, d.ServiceID)
	}
	slices.Sort(services)
	for _, serviceID := range slices.Compact(services) {
		on, err := s.Services.LockSite(ctx, tx, accountID, serviceID)
		if err != nil {
			return err
		}
		// Read anew: what another transaction has done meanwhile is seen under the lock.
		rows, err := s.collection().OfService(ctx, tx, serviceID)
		if err != nil {
			return err
		}
		changed := false
		for _, d := range rows {
			was := d
			if !domainname.Within(d.ownName(), zone) {
				continue
			}
			renamed, err := rename(&d)
			if err != nil {
				return err
			}
			if !renamed {
				continue
			}
			changed = true
			if err := s.rename(ctx, tx, on, was, d); err != nil {
				return err
			}
		}
		if changed && !on.Ended() {
			if err := s.enqueueApplyAll(ctx, tx, site.Target{AccountID: accountID, ServiceID: serviceID}); err != nil {
				return err
			}
		}
	}
	return nil
}

// rename writes the new name of a domain of a locked service.
func (s *Service) rename(ctx context.Context, tx *db.Tx, on site.Site, was, now domain) error {
	if err := setName(ctx, tx, now); err != nil {
		return err
	}
	if err := s.Zones.Rename(ctx, tx, now.ServiceID, was.name, now.name); err != nil {
		return err
	}
	if now.kind == Primary && on.Domain == was.name {
		if err := s.Primaries.SetDomain(ctx, tx, now.ServiceID, now.name); err != nil {
			return err
		}
	}
	eventType := "site_domain.reinstated"
	if now.displacedName != nil {
		eventType = "site_domain.displaced"
	}
	return s.tellOwner(ctx, tx, eventType, now, nil)
}

// ownershipWire is the data of events about whose a domain is.
type ownershipWire struct {
	eventWire

	Domain  string     `json:"domain"` // the name that the customer gave it, as people write it
	TakesAt *time.Time `json:"takes_at,omitempty"`
}

func (s *Service) tellOwner(ctx context.Context, tx *db.Tx, eventType string, d domain, takesAt *time.Time) error {
	return s.Events.Emit(ctx, tx, outbox.Event{
		Type: eventType, AccountID: d.AccountID, Subject: "service", SubjectID: d.ServiceID,
		Data: ownershipWire{eventOf(d), domainname.Unicode(d.ownName()), takesAt},
	})
}

// Changed tells the services of an account that what may be served under their names of a domain has changed.
func (s *Service) Changed(ctx context.Context, tx *db.Tx, accountID int64, zone string) error {
	return s.tellEach(ctx, tx, accountID, zone, "site_domain.verification_changed", nil)
}

// Contested notifies an account that another has proven control of a domain, and takes it at a time.
func (s *Service) Contested(ctx context.Context, tx *db.Tx, accountID int64, zone string, takesAt time.Time) error {
	return s.tellEach(ctx, tx, accountID, zone, "site_domain.contested", &takesAt)
}

// tellEach emits one event for each service with such names.
func (s *Service) tellEach(ctx context.Context, tx *db.Tx, accountID int64, zone, eventType string, takesAt *time.Time) error {
	all, err := s.within(ctx, tx, accountID, zone)
	done := map[int64]bool{}
	for _, d := range all {
		if done[d.ServiceID] || d.displacedName != nil {
			continue
		}
		done[d.ServiceID] = true
		err = errors.Join(err, s.tellOwner(ctx, tx, eventType, d, takesAt))
	}
	return err
}

// within reads an account's domains whose own names are the zone or below it.
func (s *Service) within(ctx context.Context, q db.Querier, accountID int64, zone string) ([]domain, error) {
	first := reversed(zone)
	behind := bytes.Clone(first)
	behind[len(behind)-1]++ // a label more begins before this
	return s.collection().Where(ctx, q, `account_id = $1 AND NOT sandbox AND reversed >= $2 AND reversed < $3 ORDER BY service_id, id`,
		accountID, first, behind)
}

// reversed is a name from its last label to its first with a dot behind each.
func reversed(name string) []byte {
	labels := strings.Split(name, ".")
	slices.Reverse(labels)
	return []byte(strings.Join(labels, ".") + ".")
}

// verifications tells of the domains of a service whether they are known to be the account's.
func (s *Service) verifications(ctx context.Context, q db.Querier, on site.Site, all []domain) (map[string]site.Verification, error) {
	var found map[string]site.Verification
	if !on.Sandbox {
		names := make([]string, len(all))
		for i, d := range all {
			names[i] = d.ownName()
		}
		var err error
		if found, err = s.Claims.Verifications(ctx, q, on.AccountID, names); err != nil {
			return nil, err
		}
	}
	told := make(map[string]site.Verification, len(all))
	for _, d := range all {
		v, ok := found[d.ownName()]
		switch {
		case on.Sandbox:
			v = site.Verification{State: "not_required", Cleared: true}
		case !ok:
			v.State = "unverified"
		}
		if d.displacedName != nil {
			v.State, v.Cleared = "displaced", false
		}
		told[d.name] = v
	}
	return told, nil
}

// Cleared tells whether a name that the account uses is known to be its own.
func (s *Service) Cleared(ctx context.Context, q db.Querier, accountID int64, name string) (bool, error) {
	v, err := s.Claims.Verifications(ctx, q, accountID, []string{name})
	return v[name].Cleared, err
}

// Refusal is why a name of the account's may have no certificate and no mail yet, with the record that proves that it
// is the account's; nil when it may.
func (s *Service) Refusal(ctx context.Context, q db.Querier, accountID int64, name string) error {
	known, err := s.Claims.Verifications(ctx, q, accountID, []string{name})
	if v, ok := known[name]; err == nil && ok && !v.Cleared && v.Record != nil {
		return fault.DomainVerificationRequired.With(fault.Fields{"domain": name, "record": *v.Record})
	}
	return err
}
