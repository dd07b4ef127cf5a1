package archive

import (
	"fmt"
	"strings"

	"stead.dev/stead/internal/platform/nameserver"
)

// QuoteText is a text as the strings of a zone file (RFC 1035, section 5.1), of at most 255 bytes each.
func QuoteText(text string) string {
	const piece = 255
	var b strings.Builder
	for first := true; first || text != ""; first = false {
		n := min(len(text), piece)
		if !first {
			b.WriteByte(' ')
		}
		b.WriteByte('"')
		for _, c := range []byte(text[:n]) {
			switch {
			case c == '"' || c == '\\':
				b.WriteByte('\\')
				b.WriteByte(c)
			case c < ' ' || c > '~':
				fmt.Fprintf(&b, `\%03d`, c)
			default:
				b.WriteByte(c)
			}
		}
		b.WriteByte('"')
		text = text[n:]
	}
	return b.String()
}

// ParseZone reads a zone file of BIND. Its names become absolute.
func ParseZone(name, text string) (Zone, error) {
	const (
		most  = 5000
		usual = 14400
	)
	records, err := nameserver.ParseFile(text, name, usual, most)
	z := Zone{Name: name}
	for _, r := range records {
		z.Records = append(z.Records, Record{Name: r.Name + ".", Type: r.Type, TTL: int(r.TTL), Data: r.Data})
	}
	return z, err
}

// Foreign sorts the records of a zone. Those are dropped that led to the machine there, and those that Stead keeps itself, each with
// its reason: addresses of the machine, names of it, its name servers, its keys for signing mail. What is left is what the owner wrote
// about other machines.
func Foreign(z Zone, addresses []string) (keep []Record, drop []Left) {
	here := map[string]bool{} // addresses of the machine there, and names that are such
	for _, a := range addresses {
		here[a] = true
	}
	absolute := func(name string) string {
		switch {
		case name == "@" || name == "":
			return z.Name
		case strings.HasSuffix(name, "."):
			return strings.ToLower(strings.TrimSuffix(name, "."))
		default:
			return strings.ToLower(name) + "." + z.Name
		}
	}
	for _, r := range z.Records {
		if (r.Type == "A" || r.Type == "AAAA") && here[r.Data] {
			here[absolute(r.Name)] = true
		}
	}
	here[z.Name] = true
	mailHere := true
	for _, r := range z.Records {
		if r.Type == "MX" && absolute(r.Name) == z.Name && !here[lastName(r.Data, absolute)] {
			mailHere = false
		}
	}
	for _, r := range z.Records {
		name := absolute(r.Name)
		if reason := why(r, name, z.Name, here, mailHere, absolute); reason != "" {
			drop = append(drop, Left{"dns", name + " " + r.Type, reason})
			continue
		}
		r.Name = name + "."
		keep = append(keep, r)
	}
	return keep, drop
}

// lastName is the host of a record's data.
func lastName(data string, absolute func(string) string) string {
	fields := strings.Fields(data)
	if len(fields) == 0 {
		return ""
	}
	return absolute(fields[len(fields)-1])
}

func why(r Record, name, zone string, here map[string]bool, mailHere bool, absolute func(string) string) string {
	switch r.Type {
	case "SOA", "DNSKEY", "RRSIG", "NSEC", "NSEC3", "NSEC3PARAM", "CDS", "CDNSKEY":
		return "Stead writes it itself"
	case "NS":
		if name == zone {
			return "Stead writes it itself"
		}
	case "A", "AAAA":
		if here[r.Data] {
			return "it led to the former machine"
		}
	case "CNAME", "MX":
		if here[lastName(r.Data, absolute)] && (r.Type == "MX" || name == "www."+zone) {
			return "it led to the former machine"
		}
	case "SRV":
		if here[lastName(r.Data, absolute)] {
			return "it led to the former machine"
		}
	case "TXT":
		text := strings.ToLower(r.Data)
		switch {
		case strings.HasPrefix(strings.TrimLeft(text, `"`), "v=spf1") && mailHere && ownSPF(text, here):
			return "Stead writes it itself"
		case strings.HasSuffix(name, "._domainkey."+zone) && mailHere && (strings.HasPrefix(name, "mail.") || strings.HasPrefix(name, "default.")),
			name == "_domainkey."+zone:
			return "it is the key by which the former machine signed mail"
		}
	}
	return ""
}

// ownSPF reports whether a policy names nothing but the machine there.
func ownSPF(text string, here map[string]bool) bool {
	for _, word := range strings.Fields(strings.NewReplacer(`"`, "", `\`, "").Replace(text)) {
		word = strings.TrimLeft(word, "+")
		_, address, _ := strings.Cut(word, ":")
		switch {
		case word == "v=spf1" || word == "a" || word == "mx" || strings.HasSuffix(word, "all") && len(word) <= 4:
		case (strings.HasPrefix(word, "ip4:") || strings.HasPrefix(word, "ip6:")) && here[address]:
		case (strings.HasPrefix(word, "a:") || strings.HasPrefix(word, "mx:")) && here[address]:
		default:
			return false
		}
	}
	return true
}
