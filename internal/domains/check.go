package domains

import (
	"context"
	"errors"
	"strings"
	"time"

	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/domainname"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/money"
	"stead.dev/stead/internal/registrar"
)

// answerIn bounds what a check waits for one source.
const answerIn = 10 * time.Second

// Availability is what is known of a name. Available is nil where that is nothing.
type Availability struct {
	Name      string
	Available *bool
	Reason    string
	Premium   bool
	Price     *money.USDCents // of a registration for the shortest period
	Source    string
	CheckedAt time.Time
}

// named brings what somebody wrote to the one form of a name, and finds the zone that it is directly below:
// of co.uz and uz the longer. Everything else is domain_invalid; a zone that is not sold is
// tld_unsupported.
func named(ctx context.Context, q db.Querier, written string) (string, tld, error) {
	name, err := domainname.ForSite(written, nil)
	if err != nil {
		return "", tld{}, err
	}
	for zone := name; ; {
		_, above, ok := strings.Cut(zone, ".")
		if !ok {
			return name, tld{}, ErrTLDUnsupported.New()
		}
		t, err := findTLD(ctx, q, above, true)
		switch {
		case errors.Is(err, db.ErrNoRows):
			zone = above
			continue
		case err != nil:
			return name, t, err
		}
		label := strings.TrimSuffix(name, "."+above)
		if strings.Contains(label, ".") || strings.HasPrefix(label, "xn--") && !t.IDN {
			return name, t, fault.DomainInvalid.New()
		}
		return name, t, nil
	}
}

// Check tells whether a name can be registered: by our own registrations, the registry, and else by the
// configured sources in their order. What no one knows stays unknown.
func (s *Service) Check(ctx context.Context, written string, sandbox, wholesale bool) (Availability, error) {
	out := Availability{CheckedAt: s.Clock.Now()}
	name, zone, err := named(ctx, s.DB, written)
	out.Name = name
	switch {
	case errors.Is(err, ErrTLDUnsupported):
		out.Reason = "tld_unsupported"
		return out, nil
	case err != nil:
		return out, err
	}
	for _, own := range s.ReservedDomains {
		if domainname.Within(name, own) {
			return out.is(false, "reserved", "registry"), nil
		}
	}
	live, err := isLive(ctx, s.DB, name, sandbox)
	if err != nil {
		return out, err
	}
	if live {
		return out.is(false, "taken", "registry"), nil
	}
	found, source := s.ask(ctx, name, sandbox)
	if found.Available == nil {
		out.Reason = "lookup_failed"
		return out, nil
	}
	out = out.is(*found.Available, found.Reason, source)
	if out.Premium = found.Premium; *found.Available && !found.Premium {
		price, err := zone.of(wholesale).Register.Mul(int64(zone.MinYears))
		if err != nil {
			return out, err
		}
		out.Price = &price
	}
	return out, nil
}

func (a Availability) is(available bool, reason, source string) Availability {
	a.Available, a.Reason, a.Source = &available, reason, source
	return a
}

// ask asks one source after the other until one knows. What goes wrong is logged: for the customer it is
// that nobody knows.
func (s *Service) ask(ctx context.Context, name string, sandbox bool) (registrar.Availability, string) {
	if r, ok := s.Registrars.Registrar(sandbox); ok {
		within, cancel := context.WithTimeout(ctx, answerIn)
		all, err := r.Check(within, []string{name})
		cancel()
		if err == nil && len(all) == 1 && all[0].Available != nil {
			return all[0], "registry"
		}
		s.Log.WarnContext(ctx, "domains: a registrar did not say whether a name is free", "registrar", r.Name(), "domain", name, "error", err)
	}
	if sandbox {
		return registrar.Availability{}, ""
	}
	for _, source := range s.sources {
		within, cancel := context.WithTimeout(ctx, answerIn)
		a, err := source.Lookup(within, name)
		cancel()
		if err == nil && a.Available != nil {
			return a, source.Name()
		}
		if err != nil {
			s.Log.WarnContext(ctx, "domains: a source did not say whether a name is free", "source", source.Name(), "domain", name, "error", err)
		}
	}
	return registrar.Availability{}, ""
}

// Servers are where the zone of a name is looked up: the address of its RDAP server, and its WHOIS server
// with what that says of a free name. They are empty where the price book has none.
func (s *Service) Servers(ctx context.Context, name string) (rdap, whois, free string) {
	_, zone, err := named(ctx, s.DB, name)
	if err != nil {
		return "", "", ""
	}
	return zone.RDAP, zone.Whois, zone.WhoisFree
}
