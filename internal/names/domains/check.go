package domains

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"stead.dev/stead/internal/platform/atonce"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/domainname"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/money"
	"stead.dev/stead/internal/port/registrar"
)

// invalidName is the reason of a name that is none.
const invalidName = "invalid"

// answerIn bounds how long a check waits for one source.
const answerIn = 10 * time.Second

// Availability is the result for one name. Available is nil when it is unknown.
type Availability struct {
	Name      string
	Available *bool
	Reason    string
	Premium   bool
	Price     *money.USDCents // of a registration for the shortest period
	Source    string
	CheckedAt time.Time
}

// named parses what a customer typed into the canonical form of a name, and finds its zone: the longest one that the
// name is directly below (co.uz before uz). Everything else is domain_invalid; a zone that is not sold is
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

// Check reports for each name whether it can be registered. It asks our own registrations, the registry, and then the
// configured sources in order. A name that none of them knows stays unknown. One that nobody can register, because it is
// malformed, is not available and says so; the others are answered.
func (s *Service) Check(ctx context.Context, written []string, sandbox, wholesale bool) ([]Availability, error) {
	all := make([]Availability, len(written))
	zones := make([]tld, len(written))
	var open []int // those that the registry is asked about
	for i, text := range written {
		all[i].CheckedAt = s.Clock.Now()
		name, zone, err := named(ctx, s.DB, text)
		all[i].Name, zones[i] = name, zone
		switch {
		case errors.Is(err, ErrTLDUnsupported):
			all[i].Reason = "tld_unsupported"
			continue
		case errors.Is(err, fault.DomainInvalid):
			no := false
			all[i].Name, all[i].Available, all[i].Reason = text, &no, invalidName
			continue
		case err != nil:
			return nil, err
		case slices.ContainsFunc(s.ReservedDomains, func(own string) bool { return domainname.Within(name, own) }):
			all[i] = all[i].is(false, "reserved", "registry")
			continue
		}
		live, err := isLive(ctx, s.DB, name, sandbox)
		if err != nil {
			return nil, err
		}
		if live {
			all[i] = all[i].is(false, "taken", "registry")
			continue
		}
		open = append(open, i)
	}
	names := make([]string, len(open))
	for n, i := range open {
		names[n] = all[i].Name
	}
	answers := s.ask(ctx, names, sandbox)
	for n, i := range open {
		a := answers[n]
		if a.Available == nil {
			all[i].Reason = "lookup_failed"
			continue
		}
		all[i] = all[i].is(*a.Available, a.Reason, a.source)
		if all[i].Premium = a.Premium; *a.Available && !a.Premium {
			price, err := zones[i].of(wholesale).Register.Mul(int64(zones[i].MinYears))
			if err != nil {
				return nil, err
			}
			all[i].Price = &price
		}
	}
	return all, nil
}

func (a Availability) is(available bool, reason, source string) Availability {
	a.Available, a.Reason, a.Source = &available, reason, source
	return a
}

// answer is a source's report about a name.
type answer struct {
	registrar.Availability
	source string
}

// asksAtOnce is how many names are looked up concurrently when the registry does not know them.
const asksAtOnce = 5

// ask asks the registry about all names, and then one source after the other about those that it does not know. It logs
// failures: for the customer the name is unknown.
func (s *Service) ask(ctx context.Context, names []string, sandbox bool) []answer {
	answers := make([]answer, len(names))
	if len(names) == 0 {
		return answers
	}
	var sources []registrar.Source
	if !sandbox {
		sources = s.Sources
	}
	if r, ok := s.Registrars.Registrar(sandbox); ok {
		within, cancel := context.WithTimeout(ctx, answerIn)
		all, err := r.Check(within, names)
		cancel()
		if err != nil || len(all) != len(names) {
			s.Log.WarnContext(ctx, "domains: a registrar did not say whether names are free", "registrar", r.Name(), "domains", names, "error", err)
			if len(names) > 1 && registrar.KindOf(err) == registrar.Rejected { // perhaps because of one of them
				sources = append([]registrar.Source{oneByOne{r}}, sources...)
			}
		} else {
			for i, a := range all {
				if a.Name == names[i] && a.Available != nil {
					answers[i] = answer{a, "registry"}
				}
			}
		}
	}
	if len(sources) == 0 {
		return answers
	}
	within, cancel := context.WithTimeout(ctx, 2*answerIn)
	defer cancel()
	atonce.Each(len(names), asksAtOnce, func(i int) {
		if answers[i].Available == nil {
			answers[i] = s.look(within, sources, names[i])
		}
	})
	return answers
}

// oneByOne asks the registry about one name at a time.
type oneByOne struct{ r registrar.Registrar }

func (oneByOne) Name() string { return "registry" }

func (a oneByOne) Lookup(ctx context.Context, name string) (registrar.Availability, error) {
	all, err := a.r.Check(ctx, []string{name})
	if err != nil || len(all) != 1 || all[0].Name != name {
		return registrar.Availability{}, err
	}
	return all[0], nil
}

// look asks one source after the other until one knows.
func (s *Service) look(ctx context.Context, sources []registrar.Source, name string) answer {
	for _, source := range sources {
		within, cancel := context.WithTimeout(ctx, answerIn)
		a, err := source.Lookup(within, name)
		cancel()
		if err == nil && a.Available != nil {
			return answer{a, source.Name()}
		}
		if err != nil {
			s.Log.WarnContext(ctx, "domains: a source did not say whether a name is free", "source", source.Name(), "domain", name, "error", err)
		}
	}
	return answer{}
}

// Expires returns until when a name is registered with us; false when it is not. Registrations of sandboxes are none.
func (s *Service) Expires(ctx context.Context, name string) (time.Time, bool, error) {
	at, err := liveExpiry(ctx, s.DB, name)
	if errors.Is(err, db.ErrNoRows) || err == nil && at == nil {
		return time.Time{}, false, nil
	}
	if err != nil {
		return time.Time{}, false, err
	}
	return *at, true, nil
}

// Servers returns the lookup servers of a name's zone: the address of its RDAP server, and its WHOIS server with the
// text that reports a free name. They are empty when the price book has none.
func (s *Service) Servers(ctx context.Context, name string) (rdap, whois, free string) {
	_, zone, err := named(ctx, s.DB, name)
	if err != nil {
		return "", "", ""
	}
	return zone.RDAP, zone.Whois, zone.WhoisFree
}
