package nameserver

import "fmt"

// Member is a zone of a catalog.
type Member struct {
	// Label is unique in the catalog and stays the zone's for as long as the zone
	// is the same one; another label has secondaries forget what they had.
	Label string
	Zone  string
}

// Catalog is the zone that lists the zones for secondaries (RFC 9432).
func Catalog(name string, serial uint32, members []Member) Zone {
	z := Zone{
		Name: name, Serial: serial, Primary: "invalid", Contact: "invalid", Private: true,
		Records: []Record{
			{Name: name, Type: "NS", TTL: soaTTL, Data: "invalid."},
			{Name: "version." + name, Type: "TXT", TTL: soaTTL, Data: `"2"`},
		},
	}
	for _, m := range members {
		z.Records = append(z.Records, Record{
			Name: fmt.Sprintf("%s.zones.%s", m.Label, name), Type: "PTR", TTL: soaTTL, Data: m.Zone + ".",
		})
	}
	return z
}
