package domains

import (
	"context"
	"strings"

	"stead.dev/stead/internal/platform/domainname"
	"stead.dev/stead/internal/platform/money"
)

// shopZones is in how many zones a word without one is searched.
const shopZones = 6

// Offer is a name as the shop front shows it to everybody, with prices in the display currency of the context.
type Offer struct {
	// Name is written as people write it.
	Name string
	// Free names can be registered: Price is that of the first period, Renew of each further year.
	Free         bool
	Price, Renew money.Money
	Reason       string // why it is not free, as the interface says it
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
		offers[i] = Offer{Name: domainname.Unicode(a.Name), Free: a.Price != nil, Reason: a.Reason}
		if a.Price != nil {
			_, zone, err := named(ctx, s.DB, a.Name)
			if err != nil {
				return nil, err
			}
			offers[i].Price, offers[i].Renew = money.Wire(ctx, *a.Price), money.Wire(ctx, zone.Retail.Renew)
		}
	}
	return offers, nil
}

// Zone is what a zone costs everybody: a registration for its shortest period, and each further year.
type Zone struct {
	Name            string // as people write it
	Register, Renew money.Money
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
		zones[i] = Zone{Name: domainname.Unicode(z.TLD), Register: money.Wire(ctx, register), Renew: money.Wire(ctx, z.Retail.Renew)}
	}
	return zones, err
}
