package nameserver

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/miekg/dns"
)

// Record is one record in the form of a zone file.
type Record struct {
	Name string // absolute; the trailing dot may be left out
	Type string
	TTL  uint32
	Data string // the data as in a zone file, all names absolute with their dot
}

// Zone is one version of a zone. The server makes its SOA record from it.
type Zone struct {
	Name    string
	Serial  uint32
	Primary string // name of the first name server
	Contact string // mailbox of the person responsible, in the form of a name
	Records []Record
	// Unresolved are names whose addresses are unknown at present: questions for these are answered SERVFAIL. A secondary
	// cannot learn that. It gets an HINFO record for a name that would not exist otherwise, so that no wildcard answers.
	Unresolved []string
	// Private zones are only transferred, to secondaries.
	Private bool
}

// The times of every SOA record. Secondaries are notified of changes; refresh is for missed notifications.
const (
	soaTTL     = 3600
	soaRefresh = 600
	soaRetry   = 120
	soaExpire  = 14 * 24 * 3600
	soaMinimum = 300 // how long resolvers cache that a name does not exist
)

// zone is a version of a zone in the form that is served.
type zone struct {
	name    string // absolute, lower case
	serial  uint32
	private bool
	soa     *dns.SOA
	records []dns.RR // without the SOA record
	// nodes are all names that exist, empty non-terminals included.
	nodes map[string]node
}

// node holds the record sets of one name. An empty set is one whose records are unknown.
type node map[uint16][]dns.RR

func parse(r Record) (dns.RR, error) {
	if strings.ContainsAny(r.Name+r.Type+r.Data, "\r\n") {
		return nil, errors.New("nameserver: a record is one line")
	}
	rr, err := dns.NewRR(fmt.Sprintf("%s %d IN %s %s", dns.Fqdn(r.Name), r.TTL, r.Type, r.Data))
	if err != nil {
		return nil, fmt.Errorf("nameserver: %s %s: %w", r.Name, r.Type, err)
	}
	if rr == nil {
		return nil, fmt.Errorf("nameserver: %s %s: no record", r.Name, r.Type)
	}
	if _, err := dns.PackRR(rr, make([]byte, dns.MaxMsgSize), 0, nil, false); err != nil {
		return nil, fmt.Errorf("nameserver: %s %s: %w", r.Name, r.Type, err)
	}
	rr.Header().Name = dns.CanonicalName(rr.Header().Name)
	return rr, nil
}

// build makes a version ready to be served.
func build(in Zone) (*zone, error) {
	z := &zone{name: dns.CanonicalName(in.Name), serial: in.Serial, private: in.Private, nodes: map[string]node{}}
	if _, ok := dns.IsDomainName(z.name); !ok {
		return nil, fmt.Errorf("nameserver: %q is not a name", in.Name)
	}
	z.soa = &dns.SOA{
		Hdr: dns.RR_Header{Name: z.name, Rrtype: dns.TypeSOA, Class: dns.ClassINET, Ttl: soaTTL},
		Ns:  dns.Fqdn(in.Primary), Mbox: dns.Fqdn(in.Contact), Serial: in.Serial,
		Refresh: soaRefresh, Retry: soaRetry, Expire: soaExpire, Minttl: soaMinimum,
	}
	z.nodes[z.name] = node{dns.TypeSOA: {z.soa}}
	for _, r := range in.Records {
		rr, err := parse(r)
		if err != nil {
			return nil, err
		}
		owner := rr.Header().Name
		if !dns.IsSubDomain(z.name, owner) {
			return nil, fmt.Errorf("nameserver: %s is outside of %s", owner, z.name)
		}
		z.records = append(z.records, rr)
		z.add(owner, rr)
	}
	z.evenTTLs()
	for _, name := range in.Unresolved {
		name = dns.CanonicalName(name)
		if !dns.IsSubDomain(z.name, name) {
			return nil, fmt.Errorf("nameserver: %s is outside of %s", name, z.name)
		}
		if z.nodes[name] == nil {
			rr := &dns.HINFO{Hdr: dns.RR_Header{Name: name, Rrtype: dns.TypeHINFO, Class: dns.ClassINET, Ttl: soaMinimum}, Cpu: "ALIAS", Os: "unresolved"}
			z.records = append(z.records, rr)
			z.add(name, rr)
		}
		z.nodes[name][dns.TypeA], z.nodes[name][dns.TypeAAAA] = []dns.RR{}, []dns.RR{}
	}
	return z, nil
}

// add adds a record to its name, and makes the names above exist.
func (z *zone) add(owner string, rr dns.RR) {
	if z.nodes[owner] == nil {
		z.nodes[owner] = node{}
	}
	kind := rr.Header().Rrtype
	z.nodes[owner][kind] = append(z.nodes[owner][kind], rr)
	for name := above(owner); len(name) > len(z.name) && z.nodes[name] == nil; name = above(name) {
		z.nodes[name] = node{}
	}
}

// evenTTLs gives the records of a set one TTL, the lowest of them (RFC 2181,
// section 5.2).
func (z *zone) evenTTLs() {
	for _, n := range z.nodes {
		for _, set := range n {
			lowest := slices.MinFunc(set, func(a, b dns.RR) int { return int(a.Header().Ttl) - int(b.Header().Ttl) })
			for _, rr := range set {
				rr.Header().Ttl = lowest.Header().Ttl
			}
		}
	}
}

// above is the name without its first label.
func above(name string) string {
	next, end := dns.NextLabel(name, 0)
	if end {
		return "."
	}
	return name[next:]
}
