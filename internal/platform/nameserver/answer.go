package nameserver

import (
	"github.com/miekg/dns"
)

// answer is a zone's answer to a question.
type answer struct {
	rcode         int
	authoritative bool
	answer        []dns.RR
	authority     []dns.RR
	additional    []dns.RR
}

// maxChain bounds how many CNAMEs are followed.
const maxChain = 10

// lookup answers a question for a name in the zone; name is canonical.
func (z *zone) lookup(name string, kind uint16) answer {
	a := answer{authoritative: true}
	for range maxChain {
		if cut, ok := z.cut(name, kind); ok {
			a.authoritative = len(a.answer) > 0
			a.authority = append(a.authority, cut[dns.TypeNS]...)
			a.additional = z.addresses(cut[dns.TypeNS])
			return a
		}
		sets, ok := z.find(name)
		if !ok {
			a.rcode = dns.RcodeNameError
			a.authority = append(a.authority, z.negative())
			return a
		}
		if kind == dns.TypeANY {
			a.answer = append(a.answer, minimal(name))
			return a
		}
		set, has := sets[kind]
		switch {
		case len(set) > 0:
			a.answer = append(a.answer, owned(name, set)...)
			a.additional = z.addresses(set)
			return a
		case has:
			return answer{rcode: dns.RcodeServerFailure}
		}
		alias := sets[dns.TypeCNAME]
		if len(alias) == 0 {
			a.authority = append(a.authority, z.negative())
			return a
		}
		a.answer = append(a.answer, owned(name, alias)...)
		name = dns.CanonicalName(alias[0].(*dns.CNAME).Target)
		if !dns.IsSubDomain(z.name, name) {
			return a // the resolver follows it
		}
	}
	return a
}

// cut finds the delegation at or above the name. A query for a delegation's DS record is answered here, on the parent's
// side.
func (z *zone) cut(name string, kind uint16) (node, bool) {
	labels := dns.Split(name)
	for i := len(labels) - dns.CountLabel(z.name) - 1; i >= 0; i-- {
		n := z.nodes[name[labels[i]:]]
		if len(n[dns.TypeNS]) > 0 && (i > 0 || kind != dns.TypeDS) {
			return n, true
		}
	}
	return nil, false
}

// find returns the record sets of a name, or those of a wildcard when the name does not exist itself (RFC 4592).
func (z *zone) find(name string) (node, bool) {
	if n, ok := z.nodes[name]; ok {
		return n, true
	}
	for encloser := above(name); len(encloser) >= len(z.name); encloser = above(encloser) {
		if _, ok := z.nodes[encloser]; ok {
			n, ok := z.nodes["*."+encloser]
			return n, ok
		}
	}
	return nil, false
}

// owned is a record set with the queried name as its owner.
func owned(name string, set []dns.RR) []dns.RR {
	out := make([]dns.RR, len(set))
	for i, rr := range set {
		if rr.Header().Name != name {
			rr = dns.Copy(rr)
			rr.Header().Name = name
		}
		out[i] = rr
	}
	return out
}

// addresses are the zone's own addresses of the names that a record set points to: glue, or the client's next question.
func (z *zone) addresses(set []dns.RR) []dns.RR {
	var out []dns.RR
	for _, rr := range set {
		var target string
		switch rr := rr.(type) {
		case *dns.NS:
			target = rr.Ns
		case *dns.MX:
			target = rr.Mx
		case *dns.SRV:
			target = rr.Target
		default:
			return nil
		}
		n := z.nodes[dns.CanonicalName(target)]
		out = append(append(out, n[dns.TypeA]...), n[dns.TypeAAAA]...)
	}
	return out
}

// negative is the SOA record that bounds how long resolvers cache a negative answer (RFC 2308).
func (z *zone) negative() dns.RR {
	soa := dns.Copy(z.soa)
	soa.Header().Ttl = min(soaTTL, soaMinimum)
	return soa
}

// minimal is the answer to ANY (RFC 8482, section 4.2).
func minimal(name string) dns.RR {
	return &dns.HINFO{
		Hdr: dns.RR_Header{Name: name, Rrtype: dns.TypeHINFO, Class: dns.ClassINET, Ttl: soaTTL}, Cpu: "RFC8482",
	}
}
