package nameserver

import (
	"github.com/miekg/dns"
)

// envelopeSize is how many bytes of records one message of a transfer holds, well
// below the most that a message can.
const envelopeSize = 16 << 10

// transfer answers AXFR (RFC 5936) and IXFR (RFC 1995).
func (s *Server) transfer(w dns.ResponseWriter, r, reply *dns.Msg) {
	q := r.Question[0]
	z := s.zone(dns.CanonicalName(q.Name))
	datagram := w.RemoteAddr().Network() == "udp"
	if !s.trusted(w, r) || (datagram && q.Qtype == dns.TypeAXFR) {
		s.Log.Info("nameserver: transfer refused", "zone", q.Name, "from", addressOf(w.RemoteAddr()))
		reply.Rcode = dns.RcodeRefused
		s.write(w, r, reply)
		return
	}
	if z == nil {
		reply.Rcode = dns.RcodeNotAuth
		s.write(w, r, reply)
		return
	}
	if datagram { // the serial alone: the client repeats over TCP when it wants more
		reply.Authoritative = true
		reply.Answer = []dns.RR{z.soa}
		s.write(w, r, reply)
		return
	}
	records := z.whole()
	if q.Qtype == dns.TypeIXFR {
		if has, ok := serialOf(r); ok {
			records = z.since(has)
		}
	}
	envelopes := split(records)
	queue := make(chan *dns.Envelope, len(envelopes))
	for _, e := range envelopes {
		queue <- e
	}
	close(queue)
	if err := new(dns.Transfer).Out(w, r, queue); err != nil {
		s.followed.fail(addressOf(w.RemoteAddr()), z.zone, s.Now())
		s.Log.Warn("nameserver: transfer broke off", "zone", z.name, "to", addressOf(w.RemoteAddr()), "error", err)
		_ = w.Close()
		return
	}
	present, _ := s.Serial(z.name)
	s.followed.transfer(addressOf(w.RemoteAddr()), z.zone, present, s.Now())
	s.Log.Info("nameserver: zone transferred", "zone", z.name, "serial", z.serial, "to", addressOf(w.RemoteAddr()), "records", len(records))
}

// serialOf is the version that the client of an IXFR has.
func serialOf(r *dns.Msg) (uint32, bool) {
	if len(r.Ns) == 1 {
		if soa, ok := r.Ns[0].(*dns.SOA); ok {
			return soa.Serial, true
		}
	}
	return 0, false
}

// whole is the content of a full transfer.
func (z *zone) whole() []dns.RR {
	out := make([]dns.RR, 0, len(z.records)+2)
	out = append(out, z.soa)
	out = append(out, z.records...)
	return append(out, z.soa)
}

// since is the content of an incremental transfer for a client with that serial: nothing, the difference, or the whole
// zone when the version is unknown.
func (v *versions) since(serial uint32) []dns.RR {
	if serial == v.serial || !Newer(v.serial, serial) {
		return []dns.RR{v.soa}
	}
	for _, old := range v.past {
		if old.serial != serial {
			continue
		}
		out := []dns.RR{v.soa, old.soa}
		out = append(out, without(old.records, v.records)...)
		out = append(out, v.soa)
		out = append(out, without(v.records, old.records)...)
		return append(out, v.soa)
	}
	return v.whole()
}

// Newer compares serials (RFC 1982).
func Newer(a, b uint32) bool { return a != b && a-b < 1<<31 }

// without are the records of a that b does not have.
func without(a, b []dns.RR) []dns.RR {
	has := make(map[string]bool, len(b))
	for _, rr := range b {
		has[rr.String()] = true
	}
	var out []dns.RR
	for _, rr := range a {
		if !has[rr.String()] {
			out = append(out, rr)
		}
	}
	return out
}

func split(records []dns.RR) []*dns.Envelope {
	var out []*dns.Envelope
	size := envelopeSize
	for _, rr := range records {
		if n := dns.Len(rr); len(out) == 0 || size+n > envelopeSize {
			out, size = append(out, &dns.Envelope{}), 0
		}
		last := out[len(out)-1]
		last.RR = append(last.RR, rr)
		size += dns.Len(rr)
	}
	return out
}
