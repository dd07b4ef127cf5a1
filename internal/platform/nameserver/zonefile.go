package nameserver

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/miekg/dns"
)

// ErrTooMany says that a zone file has more records than allowed.
var ErrTooMany = errors.New("nameserver: too many records")

// SyntaxError is a zone file that cannot be read from a line on.
type SyntaxError struct {
	Line  int
	Cause error
}

func (e *SyntaxError) Error() string { return fmt.Sprintf("nameserver: line %d: %v", e.Line, e.Cause) }

// Unwrap gives the parser's own error.
func (e *SyntaxError) Unwrap() error { return e.Cause }

// ParseFile reads a zone file in the form of BIND (RFC 1035, section 5). Names
// are relative to origin until the file says otherwise; includes are refused.
func ParseFile(text, origin string, defaultTTL uint32, most int) ([]Record, error) {
	p := dns.NewZoneParser(strings.NewReader(text), dns.Fqdn(origin), "")
	p.SetDefaultTTL(defaultTTL)
	var records []Record
	for rr, ok := p.Next(); ok; rr, ok = p.Next() {
		if len(records) == most {
			return nil, ErrTooMany
		}
		h := rr.Header()
		records = append(records, Record{
			Name: strings.TrimSuffix(dns.CanonicalName(h.Name), "."), Type: dns.Type(h.Rrtype).String(), TTL: h.Ttl,
			Data: strings.TrimPrefix(rr.String(), h.String()),
		})
	}
	if err := p.Err(); err != nil {
		return nil, &SyntaxError{Line: lineOf(err), Cause: err}
	}
	return records, nil
}

var line = regexp.MustCompile(`at line: (\d+):\d+`)

// lineOf parses the line number from the parser's message, its only source.
func lineOf(err error) int {
	if m := line.FindStringSubmatch(err.Error()); m != nil {
		if n, err := strconv.Atoi(m[1]); err == nil {
			return n
		}
	}
	return 0
}
