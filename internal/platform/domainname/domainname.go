// Package domainname has the rules for names of the Domain Name System: their canonical form for storing and comparing,
// and which of them a customer can have a site under. It makes no queries.
package domainname

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/idna"
	"golang.org/x/net/publicsuffix"

	"stead.dev/stead/internal/platform/fault"
)

// ErrMalformed says that a text is not a name.
var ErrMalformed = errors.New("malformed name")

// Host is name as it is compared, stored and served: lower-case ASCII, international labels in
// punycode, no trailing dot. It is what a Host header may name, an address included.
func Host(name string) (string, error) {
	host := strings.TrimSuffix(name, ".")
	if !plainHost(host) {
		var err error
		if host, err = toASCII(host); err != nil || !plainHost(host) {
			return "", fmt.Errorf("%w: %q is not a host name", ErrMalformed, name)
		}
	}
	return host, nil
}

// maxWritten bounds the length of an international name that is parsed, in bytes: more than any spelling of a name of
// 253 characters needs.
const maxWritten = 2048

// toASCII converts international labels to punycode. The time for that grows with the square of a label's length, so it
// refuses a text that cannot be a name first. idna would read invalid UTF-8 as the replacement character.
func toASCII(name string) (string, error) {
	if len(name) > maxWritten {
		return "", fmt.Errorf("%w: %d bytes are no name", ErrMalformed, len(name))
	}
	if !utf8.ValidString(name) {
		return "", fmt.Errorf("%w: %q is not UTF-8", ErrMalformed, name)
	}
	return idna.Lookup.ToASCII(name)
}

// plainHost is the fast path for nearly every request: a name that is canonical already.
func plainHost(host string) bool {
	if host == "" || len(host) > 253 {
		return false
	}
	label := 0
	for i := range len(host) {
		switch c := host[i]; {
		case c == '.':
			if label == 0 || host[i-1] == '-' {
				return false
			}
			label = 0
			continue
		case c == '-' && label == 0:
			return false
		case 'a' <= c && c <= 'z', '0' <= c && c <= '9', c == '-':
		default:
			return false
		}
		if label++; label > 63 {
			return false
		}
	}
	return label > 0 && host[len(host)-1] != '-'
}

// Domain is Host without addresses and single labels.
func Domain(name string) (string, error) {
	host, err := Host(name)
	if err != nil {
		return "", err
	}
	_, notAddr := netip.ParseAddr(host)
	if !strings.Contains(host, ".") || notAddr == nil {
		return "", fmt.Errorf("%w: %q is not a domain name", ErrMalformed, name)
	}
	return host, nil
}

// specialUse are top-level names that nobody can register, and that may be hosted nevertheless, for trials and tests
// (RFC 6761).
var specialUse = map[string]bool{"test": true, "example": true, "localhost": true}

// ForSite is Domain for a name that a customer may have a site under: one that can be registered, or a subdomain of
// one, and none of the operator's reserved names or names below them. It ignores blanks around the name. It returns
// fault.DomainInvalid and fault.DomainUnavailable.
func ForSite(name string, reserved []string) (string, error) {
	// Convert every name, so that punycode in it is validated.
	ascii, err := toASCII(strings.TrimSuffix(strings.TrimSpace(name), "."))
	if err != nil {
		return "", fault.DomainInvalid.Wrap(err)
	}
	if ascii, err = Domain(ascii); err != nil { // Domain checks lengths, which Lookup does not
		return "", fault.DomainInvalid.Wrap(err)
	}
	if _, err := registrable(ascii); err != nil {
		return "", fault.DomainInvalid.Wrap(err)
	}
	for _, zone := range reserved {
		if Within(ascii, zone) {
			return "", fault.DomainUnavailable.Wrapf("%s is reserved", zone)
		}
	}
	return ascii, nil
}

// registrable is the part of a canonical name that can be registered: one label more than a public suffix. The list
// accepts any unknown last label, so unknown suffixes, and addresses with them, are excluded: an unknown suffix has no
// dot and is not ICANN's.
func registrable(ascii string) (string, error) {
	base, err := publicsuffix.EffectiveTLDPlusOne(ascii)
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	suffix, icann := publicsuffix.PublicSuffix(ascii)
	if !icann && !strings.Contains(suffix, ".") && !specialUse[suffix] {
		return "", fmt.Errorf("%w: nobody can register names in .%s", ErrMalformed, suffix)
	}
	return base, nil
}

// trialDomains are set aside for documentation and trials (RFC 2606), or by demonstrations of Stead: nobody can register
// names there. Names below them stand for domains of different owners.
var trialDomains = []string{"example.com", "example.net", "example.org", "stead.test"}

// Owned is the domain by which the owner of a canonical name is judged: the part that can be registered. trial tells
// that it is set aside for trials, so that nobody can prove that it is theirs.
func Owned(name string) (domain string, trial bool, err error) {
	for _, zone := range trialDomains {
		if below, ok := strings.CutSuffix(name, "."+zone); ok {
			return below[strings.LastIndex(below, ".")+1:] + "." + zone, true, nil
		}
	}
	domain, err = registrable(name)
	return domain, specialUse[name[strings.LastIndex(name, ".")+1:]], err
}

// Registered is the part of a canonical name that a registry knows: one label more than a suffix under which registries
// sell, such as example.co.uk of shop.example.co.uk. Suffixes of companies, such as github.io, are registered themselves.
func Registered(name string) (string, error) {
	base, err := registrable(name)
	if err != nil {
		return "", err
	}
	suffix, icann := publicsuffix.PublicSuffix(base)
	for !icann && strings.Contains(suffix, ".") {
		base = suffix
		_, above, _ := strings.Cut(suffix, ".")
		suffix, icann = publicsuffix.PublicSuffix(above)
	}
	above := strings.TrimSuffix(base, "."+suffix)
	return above[strings.LastIndex(above, ".")+1:] + "." + suffix, nil
}

// Parents are the names above the canonical name, from the nearest to the one that can be registered: the owner of one
// of them owns the name.
func Parents(name string) []string {
	base, err := registrable(name)
	if err != nil {
		return nil
	}
	var above []string
	for name != base {
		_, name, _ = strings.Cut(name, ".")
		above = append(above, name)
	}
	return above
}

// Twin is the name that people take for the same site: with "www.", or without.
func Twin(name string) string {
	if bare, ok := strings.CutPrefix(name, "www."); ok {
		return bare
	}
	return "www." + name
}

// Within tells whether a canonical name is zone or below it.
func Within(name, zone string) bool {
	return name == zone || strings.HasSuffix(name, "."+zone)
}

// Unicode is a canonical name as people write it.
func Unicode(name string) string {
	shown, err := idna.Display.ToUnicode(name)
	if err != nil {
		return name
	}
	return shown
}
