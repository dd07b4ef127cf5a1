package sitedomains

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"slices"
	"time"

	"stead.dev/stead/internal/hosting/site"
	"stead.dev/stead/internal/platform/atonce"
	"stead.dev/stead/internal/platform/db"
)

// pointing is what a look into the DNS found.
type pointing struct {
	known     bool     // the DNS answered, if only that there is nothing
	found     []string // addresses when it last answered, sorted
	checkedAt *time.Time
}

// PointStatus tells whether a domain leads to its service.
type PointStatus string

// The states of pointing.
const (
	Pointed    PointStatus = "pointed"
	NotPointed PointStatus = "not_pointed"
	Unknown    PointStatus = "unknown"
)

// status compares what was found with where the service is. A name that leads
// elsewhere too is not pointed: some visitors would not get here.
func (p pointing) status(expected []string) PointStatus {
	switch {
	case !p.known || len(expected) == 0:
		return Unknown
	case p.leads(expected):
		return Pointed
	default:
		return NotPointed
	}
}

// leads tells whether the name led to its service when the DNS last answered.
func (p pointing) leads(expected []string) bool {
	return len(p.found) > 0 && !slices.ContainsFunc(p.found, func(address string) bool { return !slices.Contains(expected, address) })
}

// Resolver looks names up; *net.Resolver is one.
type Resolver interface {
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// How the DNS is looked at. A young domain is watched, because its owner is
// just changing it.
const (
	dnsBatch    = 100
	dnsAtOnce   = 100              // they only wait
	dnsTurn     = 45 * time.Second // of a job, below what the queue gives it
	dnsTimeout  = 3 * time.Second
	dnsYoung    = 48 * time.Hour
	dnsInterval = 5 * time.Minute // of a young domain
	dnsSeldom   = time.Hour
	dnsMost     = 16 // addresses that are kept
)

// CheckDNS looks up the domains that are due. A periodic job calls it.
func (s *Service) CheckDNS(ctx context.Context) error {
	turn, cancel := context.WithTimeout(ctx, dnsTurn)
	defer cancel()
	for turn.Err() == nil {
		due, err := dnsDue(ctx, s.DB, s.Clock.Now(), dnsBatch)
		if err != nil {
			return err
		}
		found := s.lookUp(ctx, due)
		if ctx.Err() != nil {
			return ctx.Err() // what was not looked up is still due
		}
		err = s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
			enqueued := map[int64]bool{} // services
			for i, d := range due {
				next := dnsSeldom
				if tx.Now.Sub(d.createdAt) < dnsYoung {
					next = dnsInterval
				}
				turned, err := s.notePointing(ctx, tx, d, found[i], tx.Now.Add(next))
				if err == nil && turned && !enqueued[d.serviceID] {
					enqueued[d.serviceID] = true
					err = s.enqueueApplyAll(ctx, tx, site.Target{AccountID: d.accountID, ServiceID: d.serviceID})
				}
				if err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil || len(due) < dnsBatch {
			return err
		}
	}
	return ctx.Err() // the next turn goes on
}

// notePointing writes what a look into the DNS found. turned tells that the name leads to its service now, or no longer: the panel must
// follow with all that it may have, see usable.
func (s *Service) notePointing(ctx context.Context, tx *db.Tx, d dueName, found pointing, next time.Time) (turned bool, err error) {
	if !found.known {
		found.found = d.found
	}
	same, err := setPointing(ctx, tx, d, found, next)
	if err != nil || !same || slices.Equal(found.found, d.found) {
		return false, err
	}
	on, err := s.Services.Site(ctx, tx, d.accountID, d.serviceID)
	if err != nil {
		return false, err
	}
	here, err := s.here(ctx, tx, on)
	return found.leads(here) != (pointing{found: d.found}).leads(here), err
}

// lookUp asks for all names, some at once.
func (s *Service) lookUp(ctx context.Context, due []dueName) []pointing {
	found := make([]pointing, len(due))
	atonce.Each(len(due), dnsAtOnce, func(i int) { found[i] = lookUp(ctx, s.Resolver, due[i].name) })
	return found
}

func lookUp(ctx context.Context, r Resolver, name string) pointing {
	ctx, cancel := context.WithTimeout(ctx, dnsTimeout)
	defer cancel()
	// The dot keeps the machine's search list out of it.
	addresses, err := r.LookupNetIP(ctx, "ip", name+".")
	var dnsErr *net.DNSError
	switch {
	case errors.As(err, &dnsErr) && dnsErr.IsNotFound:
		return pointing{known: true}
	case err != nil:
		return pointing{}
	}
	p := pointing{known: true}
	for _, a := range addresses {
		p.found = append(p.found, a.Unmap().String())
	}
	slices.Sort(p.found)
	p.found = slices.Compact(p.found)
	p.found = p.found[:min(len(p.found), dnsMost)]
	return p
}
