package probe

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"stead.dev/stead/internal/platform/dnsquery"
	"stead.dev/stead/internal/platform/plaintext"
)

// RecordTypes are the types of records that can be checked.
var RecordTypes = []string{"A", "AAAA", "CNAME", "MX", "NS", "TXT", "CAA", "SOA", "SRV"}

// dns looks a record up. An answer with an address that is not public is refused: a check must not be a way to read the
// names of our network.
func (p *Prober) dns(ctx context.Context, t Target) Result {
	client := dnsquery.Client{Servers: p.Nameservers, Timeout: min(t.timeout(), 5*time.Second)}
	found, err := client.Records(ctx, t.Host, t.DNSType)
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return failed(KeyTimeout, "the name servers did not answer in time")
	case err != nil:
		return failed(KeyDNS, "the name servers did not answer")
	case len(found) == 0:
		return failed(KeyDNS, fmt.Sprintf("the name has no %s record", t.DNSType))
	}
	for _, f := range found {
		if a, err := netip.ParseAddr(f); err == nil && !p.guard.Allows(a) {
			return failed(KeyBlocked, "the address is not on the public Internet")
		}
	}
	if t.DNSExpected != "" && !slices.ContainsFunc(found, func(f string) bool { return sameRecord(f, t.DNSExpected) }) {
		return failed(KeyAnswer, plaintext.Line("the records are "+strings.Join(found, ", "), 300))
	}
	return Result{OK: true}
}

// sameRecord compares records as people write them.
func sameRecord(found, expected string) bool {
	plain := func(s string) string {
		return strings.ToLower(strings.Trim(strings.TrimSuffix(strings.TrimSpace(s), "."), `"`))
	}
	if a, err := netip.ParseAddr(strings.TrimSpace(expected)); err == nil {
		expected = a.String()
	}
	return plain(found) == plain(expected)
}

// domain asks when the registration of the domain ends.
func (p *Prober) domain(ctx context.Context, t Target) Result {
	if p.Expiry == nil {
		return Result{Unknown: true, ErrorKey: KeyInternal, Detail: "nobody is asked for registrations here"}
	}
	at, registered, err := p.Expiry.Expires(ctx, t.Host)
	switch {
	case err != nil:
		return Result{Unknown: true, ErrorKey: KeyInternal, Detail: "the registry did not say"}
	case !registered:
		return failed(KeyUnregistered, "the domain is not registered")
	case !p.Clock.Now().Before(at):
		r := failed(KeyUnregistered, "the registration has ended")
		r.DomainExpiresAt = &at
		return r
	}
	return Result{OK: true, DomainExpiresAt: &at}
}
