package certificates

import (
	"context"
	"net/netip"
	"slices"
	"strings"
	"time"

	"golang.org/x/net/publicsuffix"

	"stead.dev/stead/internal/hosting/site"
	"stead.dev/stead/internal/platform/dnsquery"
	"stead.dev/stead/internal/port/panel"
)

// Lookups asks the Domain Name System, as the world sees it.
type Lookups interface {
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
	// CAA answers the records of the name itself.
	CAA(ctx context.Context, name string) ([]dnsquery.CAA, error)
	NS(ctx context.Context, zone string) ([]string, error)
	// Serves tells whether all name servers of the zone that can be reached, and at least one, answer the text.
	Serves(ctx context.Context, zone, name, text string) (bool, error)
}

// Public asks the resolvers of this machine, and the public name servers of zones.
type Public struct{ dnsquery.Client }

// Serves implements Lookups.
func (p *Public) Serves(ctx context.Context, zone, name, text string) (bool, error) {
	servers, err := p.NS(ctx, zone)
	if err != nil {
		return false, err
	}
	one := false
	for _, server := range servers {
		addresses, err := p.LookupNetIP(ctx, "ip", server)
		if err != nil {
			return false, err
		}
		for _, a := range addresses {
			at := dnsquery.Client{Servers: []netip.AddrPort{netip.AddrPortFrom(a, 53)}, Timeout: p.Timeout}
			found, err := at.TXT(ctx, name)
			if ctx.Err() != nil {
				return false, ctx.Err()
			}
			if err != nil {
				continue // such as an address of a family that this machine does not have
			}
			if !slices.Contains(found, text) {
				return false, nil
			}
			one = true
		}
	}
	return one, nil
}

// askTimeout bounds what a request asks the DNS.
const askTimeout = 10 * time.Second

// preflight says why the names cannot have a certificate now, or nil: what would fail at the authority fails here,
// where it costs nothing.
func (s *Service) preflight(ctx context.Context, on site.Site, domains []site.Domain, names []string, how Challenge) *refusal {
	for _, name := range names {
		switch {
		case !hosts(domains, name):
			return &refusal{name, errPreflight, reasonNotHosted, ""}
		case !hosts(usable(domains), name):
			return &refusal{name, errNotPointed, "", ""}
		case isWildcard(name) && how != DNS:
			return &refusal{name, errPreflight, reasonWildcard, ""}
		}
	}
	if _, err := site.On[panel.Issuing](s.Panels, on, panel.CapIssuing); err == nil {
		return nil // its authority looks for itself
	}
	if !s.Authority.on() {
		return &refusal{names[0], errPreflight, reasonOff, ""}
	}
	for _, name := range names {
		if refused := s.preflightOne(ctx, on, name, how); refused != nil {
			return refused
		}
	}
	return nil
}

func (s *Service) preflightOne(ctx context.Context, on site.Site, name string, how Challenge) *refusal {
	bare, _ := strings.CutPrefix(name, "*.")
	if !registrable(bare) {
		return &refusal{name, errPreflight, reasonName, ""}
	}
	var refused *refusal
	if how == DNS {
		refused = s.zoneIsHere(ctx, on, name, bare)
	} else {
		refused = s.pointsHere(ctx, on, name)
	}
	if refused != nil {
		return refused
	}
	return s.mayIssue(ctx, name, bare)
}

// registrable tells whether the name is below a suffix under which names are registered. Authorities issue for no
// others: not for .test, .local or .onion (RFC 6761).
func registrable(name string) bool {
	suffix, icann := publicsuffix.PublicSuffix(name)
	return icann || strings.Contains(suffix, ".")
}

// pointsHere says that the name leads elsewhere, or nil. Where nobody knows the service's address the authority finds
// out.
func (s *Service) pointsHere(ctx context.Context, on site.Site, name string) *refusal {
	expected := on.Addresses()
	found, err := s.DNS.LookupNetIP(ctx, "ip", name)
	if err != nil {
		return &refusal{name, errPreflight, reasonUnknown, ""}
	}
	if len(found) == 0 {
		return &refusal{name, errNotPointed, "", ""}
	}
	for _, a := range found {
		if len(expected) > 0 && !slices.Contains(expected, a.Unmap().String()) {
			return &refusal{name, errNotPointed, "", a.String()}
		}
	}
	return nil
}

// zoneIsHere says that the zone of the name is not served by this platform, or nil.
func (s *Service) zoneIsHere(ctx context.Context, on site.Site, name, bare string) *refusal {
	zone, ok, err := s.Zones.ZoneOf(ctx, s.DB, on.ServiceID, proofName(bare))
	if err != nil {
		return &refusal{name, errPreflight, reasonUnknown, ""}
	}
	if !ok {
		return &refusal{name, errPreflight, reasonDNS, ""}
	}
	servers, err := s.DNS.NS(ctx, zone)
	if err != nil {
		return &refusal{name, errPreflight, reasonUnknown, ""}
	}
	if !slices.ContainsFunc(servers, func(server string) bool { return slices.Contains(s.Nameservers, server) }) {
		return &refusal{name, errPreflight, reasonDNS, strings.Join(servers, ", ")}
	}
	return nil
}

// proofName is where the record that proves a name stands (RFC 8555, section 8.4).
func proofName(bare string) string { return "_acme-challenge." + bare }

// mayIssue says that CAA records forbid the authority to issue, or nil (RFC 8659, section 3: those of the closest name
// that has any count).
func (s *Service) mayIssue(ctx context.Context, name, bare string) *refusal {
	directory, err := s.authority.GetDirectory(ctx)
	if err != nil || directory.Meta == nil || len(directory.Meta.CAAIdentities) == 0 {
		return nil // without its identities nothing can be checked
	}
	for at := bare; at != ""; _, at, _ = strings.Cut(at, ".") {
		records, err := s.DNS.CAA(ctx, at)
		if err != nil {
			return &refusal{name, errPreflight, reasonUnknown, ""}
		}
		if len(records) > 0 {
			if detail, allowed := allows(records, directory.Meta.CAAIdentities, isWildcard(name)); !allowed {
				return &refusal{name, errPreflight, reasonCAA, detail}
			}
			return nil
		}
	}
	return nil
}

// allows tells whether CAA records let one of the identities issue, and if not whom they let.
func allows(records []dnsquery.CAA, identities []string, wildcard bool) (instead string, ok bool) {
	tag := "issue"
	if wildcard && slices.ContainsFunc(records, func(r dnsquery.CAA) bool { return r.Tag == "issuewild" }) {
		tag = "issuewild"
	}
	var others []string
	for _, r := range records {
		if r.Tag != tag {
			continue
		}
		issuer, _, _ := strings.Cut(r.Value, ";")
		issuer = strings.ToLower(strings.TrimSpace(issuer))
		if slices.Contains(identities, issuer) {
			return "", true
		}
		others = append(others, issuer)
	}
	if others == nil {
		return "", true // nothing about this kind
	}
	slices.Sort(others)
	return strings.Join(slices.DeleteFunc(others, func(o string) bool { return o == "" }), ", "), false
}
