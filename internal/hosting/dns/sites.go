package dns

import (
	"context"
	"slices"
	"strings"

	"stead.dev/stead/internal/hosting/site"
	"stead.dev/stead/internal/platform/db"
)

// ofSites owns the addresses of a service's domains within its zones.
const ofSites = "sites"

// settleSites has every domain of a service found in the DNS: one that is in a zone of the service by its addresses there,
// another by a zone of its own. What is in a zone of another service is said there. The service is locked and live.
func (s *Service) settleSites(ctx context.Context, tx *db.Tx, on site.Site) error {
	names, err := s.names(ctx, tx, on.AccountID, on.ServiceID)
	if err != nil {
		return err
	}
	slices.SortFunc(names, func(a, b string) int { return len(a) - len(b) }) // what is above comes first
	var records []site.Record
	for _, name := range names {
		in, own, err := s.ZoneOf(ctx, tx, on.ServiceID, name)
		switch {
		case err != nil:
			return err
		case in == "" || in == name:
			if _, err := s.ensureNamed(ctx, tx, on, name); err != nil {
				return err
			}
		case own:
			records = append(records, addressesOf(name, on)...)
		}
	}
	return s.SetSystem(ctx, tx, on.AccountID, on.ServiceID, ofSites, records)
}

// names are the domains of a service that belong in the DNS: the panel has them, and no other account owns them.
func (s *Service) names(ctx context.Context, q db.Querier, accountID, serviceID int64) (names []string, err error) {
	all, err := s.Domains.Hosted(ctx, q, accountID, serviceID)
	for _, d := range all {
		if d.Served && !d.Displaced {
			names = append(names, d.Name)
		}
	}
	return names, err
}

// addressesOf are those of a service, for a domain and its "www." name.
func addressesOf(domain string, on site.Site) []site.Record {
	names := []string{domain}
	if www := "www." + domain; !strings.HasPrefix(domain, "www.") && len(www) <= longestName {
		names = append(names, www)
	}
	var all []site.Record
	for _, name := range names {
		if on.IPv4 != "" {
			all = append(all, site.Record{Name: name, Type: "A", Value: on.IPv4})
		}
		if on.IPv6 != "" {
			all = append(all, site.Record{Name: name, Type: "AAAA", Value: on.IPv6})
		}
	}
	return all
}
