// Package dnsquery makes DNS queries that the standard library's resolver cannot: CAA, TXT and addresses from a certain
// server, and records past any cache of this process.
package dnsquery

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/miekg/dns"

	"stead.dev/stead/internal/platform/intx"
)

// ErrNoAnswer says that no server answered, or that all failed: nothing is known about the name.
var ErrNoAnswer = errors.New("dnsquery: no answer")

// Client asks servers. The zero value asks those of /etc/resolv.conf.
type Client struct {
	// Servers are recursive resolvers, or authoritative servers for all names that are queried.
	Servers []netip.AddrPort
	Timeout time.Duration // of one question to one server; zero is 3 s
}

// CAA is a record that says who may issue certificates (RFC 8659).
type CAA struct {
	Flags uint8
	Tag   string // lower case
	Value string
}

// CAA answers the records of a name itself, none when it has none.
func (c *Client) CAA(ctx context.Context, name string) ([]CAA, error) {
	var found []CAA
	err := c.each(ctx, name, dns.TypeCAA, func(rr dns.RR) {
		if r, ok := rr.(*dns.CAA); ok {
			found = append(found, CAA{r.Flag, strings.ToLower(r.Tag), r.Value})
		}
	})
	return found, err
}

// TXT answers the texts of a name, the pieces of each joined.
func (c *Client) TXT(ctx context.Context, name string) ([]string, error) {
	var found []string
	err := c.each(ctx, name, dns.TypeTXT, func(rr dns.RR) {
		if r, ok := rr.(*dns.TXT); ok {
			found = append(found, strings.Join(r.Txt, ""))
		}
	})
	return found, err
}

// NS answers the name servers of a name, lower case without the last dot, sorted.
func (c *Client) NS(ctx context.Context, name string) ([]string, error) {
	var found []string
	err := c.each(ctx, name, dns.TypeNS, func(rr dns.RR) {
		if r, ok := rr.(*dns.NS); ok {
			found = append(found, strings.TrimSuffix(dns.CanonicalName(r.Ns), "."))
		}
	})
	slices.Sort(found)
	return slices.Compact(found), err
}

// Referral answers the name servers to which a server of the zone above delegates a domain, sorted; none when the domain
// does not exist. A server that has the domain's own zone answers those of the zone.
func (c *Client) Referral(ctx context.Context, domain string) ([]string, error) {
	var found []string
	err := c.ask(ctx, domain, dns.TypeNS, false, func(answer *dns.Msg) {
		for _, rr := range append(answer.Answer, answer.Ns...) {
			if r, ok := rr.(*dns.NS); ok && dns.CanonicalName(r.Hdr.Name) == dns.CanonicalName(domain) {
				found = append(found, strings.TrimSuffix(dns.CanonicalName(r.Ns), "."))
			}
		}
	})
	slices.Sort(found)
	return slices.Compact(found), err
}

// LookupNetIP has the signature of net.Resolver's: the addresses of a host, sorted. A host without addresses returns
// none and no error.
func (c *Client) LookupNetIP(ctx context.Context, _, host string) ([]netip.Addr, error) {
	var found []netip.Addr
	for _, kind := range []uint16{dns.TypeA, dns.TypeAAAA} {
		err := c.each(ctx, host, kind, func(rr dns.RR) {
			switch r := rr.(type) {
			case *dns.A:
				if a, ok := netip.AddrFromSlice(r.A); ok {
					found = append(found, a.Unmap())
				}
			case *dns.AAAA:
				if a, ok := netip.AddrFromSlice(r.AAAA); ok {
					found = append(found, a)
				}
			}
		})
		if err != nil {
			return nil, err
		}
	}
	slices.SortFunc(found, netip.Addr.Compare)
	return slices.Compact(found), nil
}

// each calls f with the records of the answer; the server follows aliases. A name that does not exist has no records.
func (c *Client) each(ctx context.Context, name string, kind uint16, f func(dns.RR)) error {
	return c.ask(ctx, name, kind, true, func(answer *dns.Msg) {
		for _, rr := range answer.Answer {
			f(rr)
		}
	})
}

// ask calls f with the first answer that says something of the name.
func (c *Client) ask(ctx context.Context, name string, kind uint16, recursive bool, f func(*dns.Msg)) error {
	if err := intx.Check(ctx); err != nil {
		return err
	}
	servers, err := c.servers()
	if err != nil {
		return err
	}
	question := new(dns.Msg).SetQuestion(dns.Fqdn(name), kind)
	question.RecursionDesired = recursive
	question.SetEdns0(1232, false)
	failed := fmt.Errorf("%w for %s %s", ErrNoAnswer, name, dns.TypeToString[kind])
	for _, server := range servers {
		answer, err := c.exchange(ctx, question, server)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			failed = fmt.Errorf("%w: %w", failed, err)
		case answer.Rcode != dns.RcodeSuccess && answer.Rcode != dns.RcodeNameError:
			failed = fmt.Errorf("%w: %s says %s", failed, server, dns.RcodeToString[answer.Rcode])
		default:
			f(answer)
			return nil
		}
	}
	return failed
}

const defaultTimeout = 3 * time.Second

func (c *Client) exchange(ctx context.Context, question *dns.Msg, server string) (*dns.Msg, error) {
	timeout := c.Timeout
	if timeout == 0 {
		timeout = defaultTimeout
	}
	answer, _, err := (&dns.Client{Timeout: timeout}).ExchangeContext(ctx, question, server)
	if err == nil && answer.Truncated {
		answer, _, err = (&dns.Client{Net: "tcp", Timeout: timeout}).ExchangeContext(ctx, question, server)
	}
	return answer, err
}

func (c *Client) servers() ([]string, error) {
	var all []string
	for _, s := range c.Servers {
		all = append(all, s.String())
	}
	if len(all) > 0 {
		return all, nil
	}
	system, err := dns.ClientConfigFromFile("/etc/resolv.conf")
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoAnswer, err)
	}
	for _, s := range system.Servers {
		all = append(all, joinPort(s, system.Port))
	}
	return all, nil
}

func joinPort(host, port string) string {
	if strings.Contains(host, ":") {
		return "[" + host + "]:" + port
	}
	return host + ":" + port
}

// Records answers the records of a type, such as "MX", as they are written in a zone file without their head; names have
// no last dot. Aliases on the way are not among them.
func (c *Client) Records(ctx context.Context, name, kind string) ([]string, error) {
	number, ok := dns.StringToType[strings.ToUpper(kind)]
	if !ok {
		return nil, fmt.Errorf("dnsquery: no type of record is called %q", kind)
	}
	var found []string
	err := c.each(ctx, name, number, func(rr dns.RR) {
		if rr.Header().Rrtype != number {
			return
		}
		if t, ok := rr.(*dns.TXT); ok {
			found = append(found, strings.Join(t.Txt, ""))
			return
		}
		found = append(found, strings.TrimSuffix(strings.TrimPrefix(rr.String(), rr.Header().String()), "."))
	})
	slices.Sort(found)
	return found, err
}
