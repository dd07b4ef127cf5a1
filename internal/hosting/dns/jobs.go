package dns

import (
	"context"
	"errors"
	"net"
	"slices"
	"time"

	"github.com/riverqueue/river"

	"stead.dev/stead/internal/platform/atonce"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/jobs"
	"stead.dev/stead/internal/platform/outgoing"
)

// How often the periodic jobs run.
const (
	resolveEvery = time.Minute
	settleEvery  = 10 * time.Minute
)

// Register adds the section's workers.
func (s *Service) Register(w *river.Workers) {
	jobs.Work(w, func(ctx context.Context, _ resolveArgs) error { return s.ResolveAliases(ctx) })
	jobs.Work(w, func(ctx context.Context, _ settleArgs) error { return s.Settle(ctx) })
}

// Schedule adds the section's periodic jobs; every is the queue's.
func (s *Service) Schedule(every func(interval time.Duration, args river.JobArgs)) {
	every(resolveEvery, resolveArgs{})
	every(settleEvery, settleArgs{})
}

type resolveArgs struct{}

func (resolveArgs) Kind() string { return "dns.resolve_aliases" }

// resolveSoon has the ALIASes of a zone that changed looked up. One job is there for all that wait, however many a
// customer adds: they wait for servers of the customer's, and everybody's other jobs are in the same queue. What comes
// while it ends is for the periodic one.
func (s *Service) resolveSoon(ctx context.Context, tx *db.Tx, z zone) error {
	due, err := aliasIsDue(ctx, tx, z.id)
	if err != nil || !due {
		return err
	}
	return s.Queue.Enqueue(ctx, tx, resolveArgs{}, &river.InsertOpts{
		UniqueOpts: jobs.Once(),
	})
}

type settleArgs struct{}

func (settleArgs) Kind() string { return "dns.settle" }

// How ALIAS targets are looked up.
const (
	aliasBatch    = 100
	aliasAtOnce   = 100              // they only wait
	aliasTurn     = 45 * time.Second // of a job, below what the queue gives it
	aliasTimeout  = 3 * time.Second
	aliasInterval = 5 * time.Minute
	aliasMost     = 16 // addresses that are kept
)

// ResolveAliases looks up the ALIAS targets that are due. A target that is not there, or has no public address, has no
// addresses; one that cannot be looked up keeps those that it had.
func (s *Service) ResolveAliases(ctx context.Context) error {
	turn, cancel := context.WithTimeout(ctx, aliasTurn)
	defer cancel()
	for turn.Err() == nil {
		due, err := aliasesDue(ctx, s.DB, s.Clock.Now(), aliasBatch)
		if err != nil {
			return err
		}
		found := s.lookUp(ctx, due)
		if ctx.Err() != nil {
			return ctx.Err() // what was not looked up is still due
		}
		for i, a := range due {
			if err := s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error { return s.resolved(ctx, tx, a, found[i]) }); err != nil {
				return err
			}
		}
		if len(due) < aliasBatch {
			return nil
		}
	}
	return ctx.Err() // the next turn goes on
}

// resolved notes what a look found, and grows the zone when it is news.
func (s *Service) resolved(ctx context.Context, tx *db.Tx, a alias, found []string) error {
	z, err := lockZone(ctx, tx, a.zoneID)
	if errors.Is(err, db.ErrNoRows) {
		return nil // gone meanwhile
	}
	if err != nil {
		return err
	}
	changed, err := setResolved(ctx, tx, a, found, tx.Now.Add(aliasInterval))
	if err == nil && changed {
		_, err = s.bumpSerial(ctx, tx, z)
	}
	return err
}

// lookUp asks for all targets, some at once. nil is one that did not answer.
func (s *Service) lookUp(ctx context.Context, due []alias) [][]string {
	found := make([][]string, len(due))
	atonce.Each(len(due), aliasAtOnce, func(i int) { found[i] = lookUp(ctx, s.Resolver, due[i].target) })
	return found
}

// lookUp answers the public addresses of a name: the resolver of this machine knows others too, such as its own.
func lookUp(ctx context.Context, r Resolver, name string) []string {
	ctx, cancel := context.WithTimeout(ctx, aliasTimeout)
	defer cancel()
	// The dot keeps the machine's search list out of it.
	addresses, err := r.LookupNetIP(ctx, "ip", name+".")
	var dnsErr *net.DNSError
	if err != nil && (!errors.As(err, &dnsErr) || !dnsErr.IsNotFound) {
		return nil
	}
	found := []string{}
	for _, a := range addresses {
		if outgoing.Public(a) {
			found = append(found, a.Unmap().String())
		}
	}
	slices.Sort(found)
	found = slices.Compact(found)
	return found[:min(len(found), aliasMost)]
}

const settleBatch = 100

// Settle brings the system's records of all zones up to the configured name servers.
func (s *Service) Settle(ctx context.Context) error {
	for after := int64(0); ; {
		due, err := unsettled(ctx, s.DB, s.nameservers(), after, settleBatch)
		if err != nil {
			return err
		}
		for _, z := range due {
			if err := s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error { return s.settleOne(ctx, tx, z) }); err != nil {
				return err
			}
			after = z.id
		}
		if len(due) < settleBatch {
			return nil
		}
	}
}

// Apply implements site.Part: it brings the system's records of a service's zones up to where the service is served.
func (s *Service) Apply(ctx context.Context, _, serviceID int64) error {
	zones, err := zonesOf(ctx, s.DB, serviceID)
	if err != nil {
		return err
	}
	for _, z := range zones {
		if err := s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error { return s.settleOne(ctx, tx, z) }); err != nil {
			return err
		}
	}
	return nil
}

// Count implements site.Part.
func (*Service) Count(context.Context, db.Querier, int64, map[string]int64) error { return nil }

func (s *Service) settleOne(ctx context.Context, tx *db.Tx, z zone) error {
	on, err := s.Services.LockSite(ctx, tx, z.accountID, z.serviceID)
	if err != nil {
		return err
	}
	if on.Status == "terminating" || on.Status == "provisioning" {
		return nil // its final backup has yet to keep the zone, or it is about to come back to it
	}
	if !live(on) {
		return s.end(ctx, tx, namedOfTheOne, z.serviceID, z.name)
	}
	if z, err = lockZone(ctx, tx, z.id); err != nil {
		if errors.Is(err, db.ErrNoRows) {
			return nil
		}
		return err
	}
	wanted, err := s.wanted(ctx, tx, z, on)
	if err != nil || wanted == z {
		return err
	}
	_, err = s.settleZone(ctx, tx, z, wanted)
	return err
}
