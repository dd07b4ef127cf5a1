package scans

import (
	"context"
	"net/netip"
	"slices"
	"strings"
	"sync"

	"stead.dev/stead/internal/platform/dnsquery"
	"stead.dev/stead/internal/platform/domainname"
)

// Resolver asks the DNS; *dnsquery.Client is one.
type Resolver interface {
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
	TXT(ctx context.Context, name string) ([]string, error)
	CAA(ctx context.Context, name string) ([]dnsquery.CAA, error)
	Records(ctx context.Context, name, kind string) ([]string, error)
}

// selectors are where keys of DKIM are looked for: our own first, then what others use. A selector cannot be asked for.
var selectors = []string{"stead", "default", "dkim", "mail", "google", "selector1", "selector2", "k1", "s1"}

// records asks for all that is judged, at once.
func records(ctx context.Context, r Resolver, host string) DNSFacts {
	d := DNSFacts{Domain: registrable(host)}
	var (
		wait sync.WaitGroup
		mu   sync.Mutex
	)
	wait.Go(func() { d.MX, d.MXErr = r.Records(ctx, d.Domain, "MX") })
	wait.Go(func() { d.TXT, d.TXTErr = r.TXT(ctx, d.Domain) })
	wait.Go(func() { d.DMARC, d.DMARCErr = r.TXT(ctx, "_dmarc."+d.Domain) })
	wait.Go(func() { d.DS, d.DSErr = r.Records(ctx, d.Domain, "DS") })
	wait.Go(func() {
		for _, name := range append([]string{host}, domainname.Parents(host)...) {
			if d.CAA, d.CAAErr = r.CAA(ctx, name); len(d.CAA) > 0 || d.CAAErr != nil || name == d.Domain {
				return
			}
		}
	})
	for _, selector := range selectors {
		wait.Go(func() {
			found, err := r.TXT(ctx, selector+"._domainkey."+d.Domain)
			key := slices.ContainsFunc(found, func(txt string) bool {
				return strings.Contains(strings.ReplaceAll(txt, " ", ""), "p=") && !strings.HasSuffix(strings.TrimRight(txt, "; "), "p=")
			})
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				d.DKIMErr = err
			}
			if key {
				d.DKIM = append(d.DKIM, selector)
			}
		})
	}
	wait.Wait()
	if len(d.DKIM) > 0 {
		d.DKIMErr = nil
	}
	slices.Sort(d.DKIM)
	slices.Sort(d.MX)
	d.MX = slices.DeleteFunc(d.MX, func(mx string) bool { return strings.HasSuffix(mx, " ") || mx == "0 ." || mx == "0" }) // RFC 7505: no mail
	return d
}

// registrable is the domain that somebody has registered of a host; the host itself where none is known.
func registrable(host string) string {
	if above := domainname.Parents(host); len(above) > 0 {
		return above[len(above)-1]
	}
	return host
}
