package claims

import (
	"context"
	"net/netip"
	"slices"
	"strings"

	"golang.org/x/net/publicsuffix"

	"stead.dev/stead/internal/platform/dnsquery"
)

// Lookup asks the Domain Name System, as the world sees it.
type Lookup interface {
	// Texts are the TXT records of a name; none and no error when it has none.
	Texts(ctx context.Context, name string) ([]string, error)
	// Delegation are the name servers to which the registry has delegated a domain, whether these answer or not.
	Delegation(ctx context.Context, domain string) ([]string, error)
}

// Public is the Lookup by the resolvers of this machine and the servers of registries.
type Public struct{ dnsquery.Client }

// Texts implements Lookup.
func (p *Public) Texts(ctx context.Context, name string) ([]string, error) { return p.TXT(ctx, name) }

// parentServers bounds how many servers of a registry are asked.
const parentServers = 3

// Delegation implements Lookup. A resolver does not know a delegation to servers that refuse the zone, as ours do before
// the domain is cleared, so the servers of the zone above are asked.
func (p *Public) Delegation(ctx context.Context, domain string) ([]string, error) {
	parent, _ := publicsuffix.PublicSuffix(domain)
	var failed error
	for ; parent != ""; _, parent, _ = strings.Cut(parent, ".") {
		servers, err := p.NS(ctx, parent)
		if err != nil {
			return nil, err
		}
		if len(servers) == 0 {
			continue // it is in the zone above
		}
		for _, server := range servers[:min(len(servers), parentServers)] {
			addresses, err := p.LookupNetIP(ctx, "ip", server)
			if err != nil {
				failed = err
				continue
			}
			for _, a := range addresses {
				at := dnsquery.Client{Servers: []netip.AddrPort{netip.AddrPortFrom(a, 53)}, Timeout: p.Timeout}
				found, err := at.Referral(ctx, domain)
				if err == nil {
					return found, nil
				}
				failed = err // such as an address of a family that this machine does not have
			}
		}
		return nil, failed
	}
	return nil, dnsquery.ErrNoAnswer
}

// evidence is what a look into the DNS found of a claim.
type evidence struct {
	proof     Proof
	delegated bool // all name servers of the domain are ours
	texts     []string
	servers   []string
	known     bool // the DNS answered
}

// shown is the proof of a claim that the DNS has, by a look for any claim to the domain. A record proves nothing while one of our
// name servers may have answered it: it is then in a zone that the holder edits here.
func (s *Service) shown(c claim, e evidence) Proof {
	for _, server := range nameserversOf(s.Nameservers, c.token) {
		if slices.Contains(e.servers, strings.ToLower(server)) {
			return ByDelegation
		}
	}
	// While delegatedAt is set, the zone is served here still, and resolvers remember our answers for a while.
	if slices.Contains(e.texts, recordOf(c.domain, c.token).Value) && c.delegatedAt == nil && !slices.ContainsFunc(e.servers, s.isOurs) {
		return ByTXT
	}
	return NoProof
}

// look asks for the proofs of a claim.
func (s *Service) look(ctx context.Context, c claim) evidence {
	var e evidence
	texts, textErr := s.Lookup.Texts(ctx, recordOf(c.domain, c.token).Name)
	for _, text := range texts {
		e.texts = append(e.texts, strings.TrimSpace(text))
	}
	servers, err := s.Lookup.Delegation(ctx, c.domain)
	for _, server := range servers {
		e.servers = append(e.servers, strings.ToLower(strings.TrimSuffix(server, ".")))
	}
	e.delegated = len(e.servers) > 0 && !slices.ContainsFunc(e.servers, func(server string) bool { return !s.isOurs(server) })
	e.proof, e.known = s.shown(c, e), textErr == nil && err == nil
	return e
}

// isOurs tells whether a name is one of our name servers, perhaps with the token of an account before it.
func (s *Service) isOurs(server string) bool {
	_, rest, _ := strings.Cut(server, ".")
	return slices.ContainsFunc(s.Nameservers, func(ns string) bool {
		ns = strings.ToLower(strings.TrimSuffix(ns, "."))
		return server == ns || rest == ns
	})
}
