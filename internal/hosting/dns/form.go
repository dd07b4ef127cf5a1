package dns

import (
	"encoding/hex"
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// form is what a type of records looks like.
type form struct {
	priority bool // has a priority
	service  bool // has weight and port
	property bool // has flags and a tag
	// owner says which names can have such a record; nil: all.
	owner func(name string) bool
	// check brings the value into its one form.
	check func(zone string, f fields) (fields, error)
	// data and read are the value with all members as in a zone file, and back.
	data func(f fields) string
	read func(f *fields, data string) bool
}

var forms = map[Type]form{
	A:     {check: address(netip.Addr.Is4, "a"), data: plain, read: readPlain},
	AAAA:  {check: address(func(a netip.Addr) bool { return a.Is6() && !a.Is4In6() && a.Zone() == "" }, "aaaa"), data: plain, read: readPlain},
	ALIAS: {check: checkHost, data: host, read: readPlain},
	CNAME: {check: checkHost, data: host, read: readPlain},
	NS:    {owner: func(name string) bool { return !strings.HasPrefix(name, "*") }, check: checkHost, data: host, read: readPlain},
	PTR:   {check: checkHost, data: host, read: readPlain},
	MX: {
		priority: true, check: checkHostOrNone,
		data: func(f fields) string { return fmt.Sprintf("%d %s", *f.priority, host(f)) },
		read: func(f *fields, data string) bool { return readWords(data, &f.value, &f.priority) },
	},
	SRV: {
		priority: true, service: true, owner: servicePort, check: checkHostOrNone,
		data: func(f fields) string { return fmt.Sprintf("%d %d %d %s", *f.priority, *f.weight, *f.port, host(f)) },
		read: func(f *fields, data string) bool {
			return readWords(data, &f.value, &f.priority, &f.weight, &f.port)
		},
	},
	CAA: {
		property: true, check: checkCAA,
		data: func(f fields) string { return fmt.Sprintf("%d %s %s", *f.flags, *f.tag, quote(f.value)) },
		read: readCAA,
	},
	TXT: {check: checkTXT, data: func(f fields) string { return quoteAll(f.value) }, read: readTXT},
	SSHFP: {
		check: digest([]int{255, 255}, func(n []int) []int {
			if !slices.Contains([]int{1, 2, 3, 4, 6}, n[0]) {
				return nil
			}
			return map[int][]int{1: {20}, 2: {32}}[n[1]]
		}), data: plain, read: readPlain,
	},
	TLSA: {
		owner: servicePort,
		check: digest([]int{3, 1, 2}, func(n []int) []int {
			return map[int][]int{0: anyLength, 1: {32}, 2: {64}}[n[2]]
		}), data: plain, read: readPlain,
	},
	DS: {
		owner: func(name string) bool { return name != apex && !strings.HasPrefix(name, "*") },
		check: digest([]int{65535, 255, 255}, func(n []int) []int {
			return map[int][]int{1: {20}, 2: {32}, 4: {48}}[n[2]]
		}), data: plain, read: readPlain,
	},
}

// data is the record as after its type in a zone file.
func (f fields) data() string { return forms[f.kind].data(f) }

func plain(f fields) string { return f.value }

func readPlain(f *fields, data string) bool {
	f.value = data
	return true
}

// host is the value as an absolute name.
func host(f fields) string {
	if f.value == "." {
		return "."
	}
	return f.value + "."
}

func address(is func(netip.Addr) bool, reason string) func(string, fields) (fields, error) {
	return func(_ string, f fields) (fields, error) {
		a, err := netip.ParseAddr(strings.TrimSpace(f.value))
		if err != nil || !is(a) {
			return f, invalid("value", reason, nil)
		}
		f.value = a.String()
		return f, nil
	}
}

func checkHost(zone string, f fields) (fields, error) {
	name, ok := target(zone, f.value)
	if !ok {
		return f, invalid("value", "host", nil)
	}
	if f.kind != NS && name == absolute(zone, f.name) {
		return f, invalid("value", "itself", nil)
	}
	f.value = name
	return f, nil
}

// checkHostOrNone takes the dot that says that there is no such service (RFC 7505,
// RFC 2782).
func checkHostOrNone(zone string, f fields) (fields, error) {
	if strings.TrimSpace(f.value) == "." {
		if f.kind == MX && *f.priority != 0 {
			return f, invalid("priority", "null_mx", nil)
		}
		f.value = "."
		return f, nil
	}
	name, ok := target(zone, f.value)
	if !ok {
		return f, invalid("value", "host", nil)
	}
	f.value = name
	return f, nil
}

// servicePort tells whether a name begins as _https._tcp does.
func servicePort(name string) bool {
	first, rest, _ := strings.Cut(name, ".")
	second, _, _ := strings.Cut(rest, ".")
	return (first == "*" || len(first) > 1 && first[0] == '_') && len(second) > 1 && second[0] == '_'
}

// issuers are the tags of CAA whose value names who may issue.
var issuers = []string{"issue", "issuewild", "issuemail", "issuevmc"}

// checkCAA holds RFC 8659: an issuer's name with parameters, none for nobody; or
// where to report to.
func checkCAA(_ string, f fields) (fields, error) {
	tag := strings.ToLower(*f.tag)
	f.tag = &tag
	f.value = strings.TrimSpace(f.value)
	switch {
	case *f.flags != 0 && *f.flags != 128:
		return f, invalid("flags", "caa_flags", nil)
	case slices.Contains(issuers, tag):
		name, parameters, _ := strings.Cut(f.value, ";")
		if name = strings.TrimSpace(name); name != "" && (!labels(strings.ToLower(name)) || !strings.Contains(name, ".")) {
			return f, invalid("value", "caa_issuer", nil)
		}
		if len(f.value) > 255 || !printable(parameters) {
			return f, invalid("value", "caa_issuer", nil)
		}
	case tag == "iodef":
		u, err := url.Parse(f.value)
		if err != nil || !slices.Contains([]string{"mailto", "http", "https"}, u.Scheme) || (u.Host == "" && u.Opaque == "") ||
			len(f.value) > 255 || !printable(f.value) {
			return f, invalid("value", "caa_report", nil)
		}
	default:
		return f, invalid("tag", "caa_tag", nil)
	}
	return f, nil
}

func printable(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r < 0x20 || r > 0x7e })
}

// maxText is how long the text of a TXT record may be, in bytes. It is served in
// pieces of maxPiece.
const (
	maxText  = 4096
	maxPiece = 255
)

func checkTXT(_ string, f fields) (fields, error) {
	if f.value == "" || len(f.value) > maxText || !utf8.ValidString(f.value) || strings.ContainsFunc(f.value, unicode.IsControl) {
		return f, invalid("value", "text", map[string]any{"max": maxText})
	}
	return f, nil
}

// anyLength stands for digests that are data of any length.
var anyLength = []int{-1}

// maxDigest bounds data of any length, in bytes.
const maxDigest = 2048

// digest checks numbers up to their most, followed by hexadecimal of one of the
// lengths that they allow.
func digest(most []int, lengths func(numbers []int) []int) func(string, fields) (fields, error) {
	return func(_ string, f fields) (fields, error) {
		refused := invalid("value", strings.ToLower(string(f.kind)), nil)
		words := strings.Fields(f.value)
		if len(words) <= len(most) {
			return f, refused
		}
		numbers := make([]int, len(most))
		for i := range numbers {
			n, err := strconv.ParseUint(words[i], 10, 16)
			if err != nil || int(n) > most[i] {
				return f, refused
			}
			numbers[i] = int(n)
		}
		text := strings.ToLower(strings.Join(words[len(most):], ""))
		raw, err := hex.DecodeString(text)
		allowed := lengths(numbers)
		if err != nil || len(raw) == 0 || len(raw) > maxDigest ||
			(!slices.Equal(allowed, anyLength) && !slices.Contains(allowed, len(raw))) {
			return f, refused
		}
		f.value = strings.Trim(fmt.Sprint(numbers), "[]") + " " + text
		return f, nil
	}
}

// readWords reads numbers and a last word.
func readWords(data string, last *string, numbers ...**int) bool {
	words := strings.Fields(data)
	if len(words) != len(numbers)+1 {
		return false
	}
	for i, to := range numbers {
		n, err := strconv.Atoi(words[i])
		if err != nil {
			return false
		}
		*to = &n
	}
	*last = words[len(numbers)]
	return true
}

func readCAA(f *fields, data string) bool {
	flags, rest, _ := strings.Cut(data, " ")
	tag, value, _ := strings.Cut(rest, " ")
	n, err := strconv.Atoi(flags)
	if err != nil {
		return false
	}
	f.flags, f.tag = &n, &tag
	return readTXT(f, value)
}

func readTXT(f *fields, data string) (ok bool) {
	f.value, ok = unquote(data)
	return ok
}

// quoteAll is a text as the strings of a zone file.
func quoteAll(text string) string {
	var pieces []string
	for len(text) > maxPiece {
		pieces = append(pieces, quote(text[:maxPiece]))
		text = text[maxPiece:]
	}
	return strings.Join(append(pieces, quote(text)), " ")
}

// quote is a string of a zone file (RFC 1035, section 5.1).
func quote(text string) string {
	var b strings.Builder
	b.WriteByte('"')
	for i := range len(text) {
		switch c := text[i]; {
		case c == '"' || c == '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case c < ' ' || c > '~':
			fmt.Fprintf(&b, "\\%03d", c)
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// unquote joins the quoted strings of a zone file.
func unquote(data string) (string, bool) {
	var b strings.Builder
	inside := false
	for i := 0; i < len(data); i++ {
		c := data[i]
		switch {
		case c == '"':
			inside = !inside
		case !inside:
			if c != ' ' && c != '\t' {
				return "", false
			}
		case c != '\\':
			b.WriteByte(c)
		case i+3 < len(data) && digits(data[i+1:i+4]):
			n, err := strconv.ParseUint(data[i+1:i+4], 10, 8)
			if err != nil {
				return "", false
			}
			b.WriteByte(byte(n))
			i += 3
		case i+1 < len(data):
			i++
			b.WriteByte(data[i])
		default:
			return "", false
		}
	}
	return b.String(), !inside
}

func digits(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r < '0' || r > '9' })
}
