package dns

import (
	"strings"
	"time"

	"golang.org/x/net/idna"
)

// Type is a type of records.
type Type string

// The types that a zone may hold besides its SOA record.
const (
	A     Type = "A"
	AAAA  Type = "AAAA"
	ALIAS Type = "ALIAS" // of this platform: served as the addresses of its target
	CAA   Type = "CAA"
	CNAME Type = "CNAME"
	DS    Type = "DS"
	MX    Type = "MX"
	NS    Type = "NS"
	PTR   Type = "PTR"
	SRV   Type = "SRV"
	SSHFP Type = "SSHFP"
	TLSA  Type = "TLSA"
	TXT   Type = "TXT"
)

// The range of TTLs in seconds.
const (
	minTTL     = 60
	maxTTL     = 86400
	defaultTTL = 3600
)

// apex is the name of the zone itself.
const apex = "@"

// fields are what a record says.
type fields struct {
	name  string // relative to the zone, apex for its own
	kind  Type
	value string
	ttl   int
	// What only some types have.
	priority, weight, port, flags *int
	tag                           *string
	disabled                      bool
}

// record is a row of dns_records.
type record struct {
	id int64
	fields
	system               bool
	owner                string   // whose set it is of (SetSystem); empty for all others
	resolved             []string // addresses of an ALIAS
	lookedUpAt           *time.Time
	createdAt, updatedAt time.Time
}

// fixed tells that customers cannot change or delete the record.
func (r record) fixed() bool { return r.owner != "" || (r.system && r.kind == NS) }

// serviceAddress tells that the record is one of the service's addresses for the zone and for www, which follow it.
func (r record) serviceAddress() bool { return r.system && r.owner == "" && r.kind != NS }

// managedBy names what keeps a fixed record; nil for records that customers can change.
func (r record) managedBy() *string {
	if !r.fixed() {
		return nil
	}
	keeper := "certificates"
	switch r.owner {
	case "":
		keeper = "nameservers"
	case ofSites:
		keeper = "domains"
	case "mail":
		keeper = "mail"
	}
	return &keeper
}

// same tells whether two records would be served as one.
func (f fields) same(g fields) bool {
	// An import compares each of its records with each of the zone: their data need not be written out for that.
	return f.name == g.name && f.kind == g.kind && f.value == g.value && equal(f.priority, g.priority) && equal(f.weight, g.weight) &&
		equal(f.port, g.port) && equal(f.flags, g.flags) && equal(f.tag, g.tag)
}

func equal[T comparable](a, b *T) bool { return a == b || a != nil && b != nil && *a == *b }

// parse checks what a customer wants of a record in the zone and writes it in its
// one form.
func (f fields) parse(zone string) (fields, error) {
	form, ok := forms[f.kind]
	if !ok {
		return f, invalid("type", "type", nil)
	}
	var err error
	if f.name, err = owner(zone, f.name); err != nil {
		return f, err
	}
	if f.ttl < minTTL || f.ttl > maxTTL {
		return f, invalid("ttl", "ttl", map[string]any{"min": minTTL, "max": maxTTL})
	}
	for _, m := range []struct {
		field string
		given **int
		used  bool
		most  int
	}{
		{"priority", &f.priority, form.priority, 65535},
		{"weight", &f.weight, form.service, 65535},
		{"port", &f.port, form.service, 65535},
		{"flags", &f.flags, form.property, 255},
	} {
		switch given := *m.given; {
		case given != nil && !m.used:
			return f, invalid(m.field, "field_unused", map[string]any{"type": f.kind})
		case given == nil && m.used && m.field == "flags":
			zero := 0
			*m.given = &zero
		case given == nil && m.used:
			return f, invalid(m.field, "field_missing", map[string]any{"type": f.kind})
		case given != nil && (*given < 0 || *given > m.most):
			return f, invalid(m.field, "number", map[string]any{"max": m.most})
		}
	}
	switch {
	case f.tag != nil && !form.property:
		return f, invalid("tag", "field_unused", map[string]any{"type": f.kind})
	case f.tag == nil && form.property:
		return f, invalid("tag", "field_missing", map[string]any{"type": f.kind})
	}
	if form.owner != nil && !form.owner(f.name) {
		return f, invalid("name", "owner_"+strings.ToLower(string(f.kind)), nil)
	}
	return form.check(zone, f)
}

// owner reads the name of a record: relative to the zone, or absolute when it ends
// with the zone's own name or a dot.
func owner(zone, text string) (string, error) {
	name, err := ascii(text)
	if err != nil {
		return "", invalid("name", "name", nil)
	}
	absolute := strings.HasSuffix(name, ".")
	name = strings.TrimSuffix(name, ".")
	switch {
	case name == zone, (name == "" || name == apex) && !absolute:
		return apex, nil
	case strings.HasSuffix(name, "."+zone):
		name = strings.TrimSuffix(name, "."+zone)
	case absolute:
		return "", invalid("name", "name_outside", map[string]any{"zone": zone})
	}
	rest := name
	if name == "*" {
		rest = ""
	} else if below, ok := strings.CutPrefix(name, "*."); ok {
		rest = below
	}
	if (rest != "" && !labels(rest)) || len(name)+1+len(zone) > 253 {
		return "", invalid("name", "name", nil)
	}
	return name, nil
}

// target reads the name of a host that a record leads to: @ is the zone itself, a
// name without a dot is in the zone, any other is absolute. An address is none: no
// name ends with a number (RFC 1123, section 2.1).
func target(zone, text string) (string, bool) {
	name, err := ascii(text)
	if err != nil {
		return "", false
	}
	absolute := strings.HasSuffix(name, ".")
	name = strings.TrimSuffix(name, ".")
	switch {
	case name == apex && !absolute:
		return zone, true
	case !absolute && !strings.Contains(name, "."):
		name += "." + zone
	}
	last := strings.LastIndexByte(name, '.')
	return name, labels(name) && last >= 0 && !digits(name[last+1:])
}

// profile takes names as people write them; underscores are what services begin
// with.
var profile = idna.New(idna.MapForLookup(), idna.Transitional(false), idna.StrictDomainName(false))

// ascii is a name in lower-case ASCII.
func ascii(text string) (string, error) {
	text = strings.TrimSpace(text)
	for i := range len(text) {
		if text[i] >= 0x80 {
			return profile.ToASCII(text)
		}
	}
	return strings.ToLower(text), nil
}

// labels tells whether a name is made of letters, digits, hyphens and underscores.
func labels(name string) bool {
	if len(name) > 253 {
		return false
	}
	for label := range strings.SplitSeq(name, ".") {
		if label == "" || len(label) > 63 || label[0] == '-' || label[len(label)-1] == '-' {
			return false
		}
		for i := range len(label) {
			switch c := label[i]; {
			case 'a' <= c && c <= 'z', '0' <= c && c <= '9', c == '-', c == '_':
			default:
				return false
			}
		}
	}
	return true
}

// absolute is the full name of a record.
func absolute(zone, name string) string {
	if name == apex {
		return zone
	}
	return name + "." + zone
}
