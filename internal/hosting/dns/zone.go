package dns

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"stead.dev/stead/internal/platform/nameserver"
)

// zone is a row of dns_zones.
type zone struct {
	id, accountID, serviceID int64
	name                     string
	serial                   uint32
	settledFor               string
	published                bool // name servers answer for it
	ipv4, ipv6               string
	lowered                  bool // the system's records are served with a short TTL
}

const (
	maxRecords    = 1000 // of a zone
	keepSnapshots = 30
	longestName   = 253 // in characters
)

// nextSerial is greater than the last one (RFC 1982): the time in seconds where that
// is so, else one more.
func nextSerial(last uint32, now time.Time) uint32 {
	if seconds := uint32(now.Unix()); nameserver.Newer(seconds, last) { //nolint:gosec // serials wrap
		return seconds
	}
	return last + 1
}

// systemRecords are what the platform puts into a zone: the name servers, and the
// service's addresses for the zone and for www, where that can be a name.
func systemRecords(zone string, nameservers []string, ipv4, ipv6 string) []record {
	var all []record
	add := func(name string, kind Type, value string) {
		if len(absolute(zone, name)) > longestName {
			return
		}
		all = append(all, record{system: true, fields: fields{name: name, kind: kind, value: value, ttl: defaultTTL}})
	}
	for _, ns := range nameservers {
		add(apex, NS, ns)
	}
	for _, name := range []string{apex, "www"} {
		if ipv4 != "" {
			add(name, A, ipv4)
		}
		if ipv6 != "" {
			add(name, AAAA, ipv6)
		}
	}
	return all
}

// settlement is what makes the system records of a zone as they should be.
type settlement struct {
	add, remove []record
	toggle      []record // served from now on, or no longer
}

// settle compares the system records with what they should be. The name servers are
// always there. Addresses follow the service; of a family that the service did not
// have before they are added where nothing is in the way, so what the customer deleted
// stays away. What the customer's records displace is disabled until they go.
func settle(z zone, all []record, nameservers []string, ipv4, ipv6 string) settlement {
	var s settlement
	wanted := systemRecords(z.name, nameservers, ipv4, ipv6)
	kept := make([]record, 0, len(all))
	gone := map[string]bool{}
	for _, r := range all {
		if r.owner != "" {
			continue // place brings them to the rest
		}
		if !r.system || contains(wanted, r) {
			kept = append(kept, r)
			continue
		}
		s.remove = append(s.remove, r)
		gone[string(r.kind)+" "+r.name] = true
	}
	before := map[Type]string{A: z.ipv4, AAAA: z.ipv6}
	for _, w := range wanted {
		isNew := w.kind == NS || before[w.kind] == "" || gone[string(w.kind)+" "+w.name]
		if contains(kept, w) || !isNew {
			continue
		}
		w.disabled = w.serviceAddress() && displaced(kept, w, ipv4, ipv6)
		if w.serviceAddress() && !w.disabled && has(kept, w.name, w.kind) {
			continue
		}
		s.add = append(s.add, w)
		kept = append(kept, w)
	}
	return s
}

func contains(all []record, r record) bool {
	for _, other := range all {
		if other.same(r.fields) {
			return true
		}
	}
	return false
}

func has(all []record, name string, kind Type) bool {
	for _, r := range all {
		if r.name == name && r.kind == kind {
			return true
		}
	}
	return false
}

// snapshotRecord is a record in dns_snapshots.
type snapshotRecord struct {
	savedRecord
	System bool `json:"system,omitempty"`
}

func snapshotOf(all []record) (string, error) {
	rows := make([]snapshotRecord, len(all))
	for i, r := range all {
		rows[i] = snapshotRecord{savedFrom(r.fields), r.system}
	}
	b, err := json.Marshal(rows)
	return string(b), err
}

// served is a zone as the name server takes it. An ALIAS is its addresses; without any its name is unresolved.
func served(z zone, all []record, nameservers []string) nameserver.Zone {
	out := nameserver.Zone{Name: z.name, Serial: z.serial, Primary: nameservers[0], Contact: contact(z.name)}
	for _, r := range all {
		ttl := r.ttl
		if z.lowered && r.moves() {
			ttl = min(ttl, minTTL)
		}
		add := func(kind Type, data string) {
			out.Records = append(out.Records, nameserver.Record{
				Name: absolute(z.name, r.name), Type: string(kind), TTL: uint32(ttl), Data: data, //nolint:gosec // checked
			})
		}
		switch {
		case r.disabled:
		case r.kind != ALIAS:
			add(r.kind, r.data())
		case len(r.resolved) == 0:
			out.Unresolved = append(out.Unresolved, absolute(z.name, r.name))
		default:
			for _, a := range r.resolved {
				if strings.Contains(a, ":") {
					add(AAAA, a)
				} else {
					add(A, a)
				}
			}
		}
	}
	return out
}

// contact is the mailbox of who is responsible for a zone, in the form of a name: at the zone, or at the closest name
// above it for which that is no longer than a name can be.
func contact(zone string) string {
	const mailbox = "hostmaster."
	for len(mailbox)+len(zone) > longestName {
		_, zone, _ = strings.Cut(zone, ".")
	}
	return mailbox + zone
}

// bind is the zone as a file of BIND. What that cannot say stands in comments.
func bind(z zone, all []record, nameservers []string) string {
	var b strings.Builder
	soa := served(z, nil, nameservers)
	fmt.Fprintf(&b, "$ORIGIN %s.\n$TTL %d\n", z.name, defaultTTL)
	fmt.Fprintf(&b, "@ %d IN SOA %s. %s. %d 600 120 1209600 300\n", defaultTTL, soa.Primary, soa.Contact, z.serial)
	for _, r := range all {
		prefix := ""
		switch {
		case r.disabled:
			prefix = "; disabled: "
		case r.kind == ALIAS:
			prefix = "; of Stead only: "
		}
		fmt.Fprintf(&b, "%s%s %d IN %s %s\n", prefix, r.name, r.ttl, r.kind, r.data())
	}
	return b.String()
}
