package mail

import (
	"context"
	"errors"
	"maps"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"stead.dev/stead/internal/platform/atonce"
)

// Anybody may have a mailbox of a domain before its DNS leads here, to move to it, and anybody may say that
// a domain is theirs: gmail.com, or their neighbour's. So mail that comes from elsewhere for a domain is its mailboxes',
// as whoever sends it has found the way here, or was told it, by a filter of spam that the DNS names in our place. But
// what this machine sends goes where the DNS leads, or one account would get what all others write to the domain.
//
// Of a domain that leads elsewhere, what comes in is renamed to one below hereMark, which is nobody's, and Dovecot gets
// it by its own name again.

// hereMark is appended to domains that point elsewhere, to name their mailboxes here. No host has such a name.
const hereMark = "._here"

// Resolver makes DNS queries; *net.Resolver is one.
type Resolver interface {
	LookupMX(ctx context.Context, name string) ([]*net.MX, error)
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

const (
	// lookEvery is how often the DNS is queried for each mail domain.
	lookEvery = 10 * time.Minute
	// lookTimeout bounds the queries for one domain: adding a mailbox waits for them.
	lookTimeout = 3 * time.Second
	looksAtOnce = 20
)

// leadsElsewhere reports whether the DNS points a domain's mail to servers other than this machine (RFC 5321, section
// 5.1). It is unknown when the DNS does not answer.
func (c Config) leadsElsewhere(ctx context.Context, domain string) (elsewhere, known bool) {
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	hosts := []string{domain}
	records, err := c.Resolver.LookupMX(ctx, domain+".")
	if err != nil && !isMissing(err) && len(records) == 0 {
		return false, false
	}
	if len(records) > 0 {
		hosts = nil
		for _, mx := range records {
			hosts = append(hosts, strings.TrimSuffix(mx.Host, "."))
		}
	}
	if slices.ContainsFunc(hosts, func(h string) bool { return strings.EqualFold(h, c.Hostname) }) {
		return false, true
	}
	ours := c.ours(ctx)
	if len(ours) == 0 {
		return false, false // this machine's own addresses are unknown
	}
	known = true
	for _, host := range hosts {
		found, ok := c.addresses(ctx, host)
		known = known && ok
		for _, a := range found {
			if slices.Contains(ours, a) {
				return false, true
			}
			elsewhere = true
		}
	}
	return elsewhere, known || elsewhere
}

// ours are this machine's addresses, as the world reaches it and as Postfix knows itself: it sends nothing to those.
// None when its public address is unknown.
func (c Config) ours(ctx context.Context) []netip.Addr {
	all, _ := c.addresses(ctx, c.Hostname)
	for _, own := range []string{c.IPv4, c.IPv6} {
		if a, err := netip.ParseAddr(own); err == nil {
			all = append(all, a)
		}
	}
	if len(all) == 0 {
		return nil
	}
	own, err := net.InterfaceAddrs()
	if err != nil {
		return nil
	}
	for _, o := range own {
		if p, err := netip.ParsePrefix(o.String()); err == nil {
			all = append(all, p.Addr().Unmap())
		}
	}
	return all
}

// addresses are the addresses of a host; ok is false when the DNS does not answer. Loopback addresses come from a file
// of this machine.
func (c Config) addresses(ctx context.Context, host string) (all []netip.Addr, ok bool) {
	if host == "" { // the null MX of RFC 7505
		return nil, true
	}
	found, err := c.Resolver.LookupNetIP(ctx, "ip", host+".")
	for _, a := range found {
		if a = a.Unmap(); !a.IsLoopback() {
			all = append(all, a)
		}
	}
	return all, err == nil || isMissing(err)
}

func isMissing(err error) bool {
	var dns *net.DNSError
	return errors.As(err, &dns) && dns.IsNotFound
}

// ask queries the DNS for domains, and omits unknown results.
func (b book) ask(ctx context.Context, domains []string) map[string]bool {
	found := map[string]bool{}
	if b.leads == nil {
		return found
	}
	var mu sync.Mutex
	atonce.Each(len(domains), looksAtOnce, func(i int) {
		if elsewhere, known := b.leads(ctx, domains[i]); known {
			mu.Lock()
			found[domains[i]] = elsewhere
			mu.Unlock()
		}
	})
	return found
}

// unasked are the mail domains without a known result.
func (s state) unasked() []string {
	return slices.DeleteFunc(s.mailDomains(), func(domain string) bool { _, known := s.Elsewhere[domain]; return known })
}

// learn stores results.
func (s *state) learn(found map[string]bool) {
	for domain, elsewhere := range found {
		if s.Elsewhere == nil {
			s.Elsewhere = map[string]bool{}
		}
		if s.owns(domain) {
			s.Elsewhere[domain] = elsewhere
		}
	}
}

// lookAround queries the DNS for all mail domains.
func (d *Driver) lookAround(ctx context.Context) error {
	var changed []string
	var failed error
	for account, s := range d.store.All() {
		found := d.ask(ctx, s.mailDomains())
		maps.DeleteFunc(found, func(domain string, elsewhere bool) bool {
			was, known := s.Elsewhere[domain]
			return known && was == elsewhere
		})
		if len(found) == 0 {
			continue
		}
		changed = append(changed, account)
		_, err := d.store.Update(account, func(s *state) error { s.learn(found); return nil })
		failed = errors.Join(failed, err)
	}
	if len(changed) > 0 {
		failed = errors.Join(failed, d.publishRows(ctx, changed...))
	}
	return failed
}

// startLooking queries the DNS periodically, until stop is called.
func (d *Driver) startLooking() (stop func()) {
	if d.leads == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(context.Background())
	var looking sync.WaitGroup
	looking.Go(func() {
		tick := time.NewTicker(lookEvery)
		defer tick.Stop()
		for {
			if err := d.lookAround(ctx); err != nil && ctx.Err() == nil {
				d.cfg.Log.Error("where mail is led cannot be followed", "error", err)
			}
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
		}
	})
	return func() {
		cancel()
		looking.Wait()
	}
}
