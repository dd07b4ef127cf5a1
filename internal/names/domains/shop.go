package domains

import (
	"context"
	"strings"

	"stead.dev/stead/internal/platform/domainname"
	"stead.dev/stead/internal/platform/money"
)

// shopZones is in how many zones a word without one is searched.
const shopZones = 6

// Offer is a name as the shop front shows it to everybody.
type Offer struct {
	Availability
	// Unicode is the name as people write it.
	Unicode string
	// Renew is what each further year costs; it says nothing where Price is nil.
	Renew money.USDCents
}

// Offers checks what a visitor typed: a name, with its label in other zones, or a single word in the zones that are sold.
func (s *Service) Offers(ctx context.Context, written string) ([]Offer, error) {
	written = strings.Trim(strings.ToLower(strings.TrimSpace(written)), ".")
	zones, err := listTLDs(ctx, s.DB, shopZones, 0)
	if err != nil {
		return nil, err
	}
	label, _, whole := strings.Cut(written, ".")
	var names []string
	if whole {
		names = append(names, written)
	}
	for _, z := range zones {
		if name := label + "." + domainname.Unicode(z.TLD); len(names) < shopZones && name != written && label+"."+z.TLD != written {
			names = append(names, name)
		}
	}
	all, err := s.Check(ctx, names, false, false)
	if err != nil {
		return nil, err
	}
	offers := make([]Offer, len(all))
	for i, a := range all {
		offers[i] = Offer{Availability: a, Unicode: domainname.Unicode(a.Name)}
		if a.Price != nil {
			_, zone, err := named(ctx, s.DB, a.Name)
			if err != nil {
				return nil, err
			}
			offers[i].Renew = zone.Retail.Renew
		}
	}
	return offers, nil
}

// Zone is what a zone costs everybody: a registration for its shortest period, and each further year.
type Zone struct {
	Unicode         string
	Register, Renew money.USDCents
}

// Zones lists the zones that are sold.
func (s *Service) Zones(ctx context.Context) ([]Zone, error) {
	book, err := listTLDs(ctx, s.DB, -1, 0)
	zones := make([]Zone, len(book))
	for i, z := range book {
		register, err := z.Retail.Register.Mul(int64(z.MinYears))
		if err != nil {
			return nil, err
		}
		zones[i] = Zone{Unicode: domainname.Unicode(z.TLD), Register: register, Renew: z.Retail.Renew}
	}
	return zones, err
}
