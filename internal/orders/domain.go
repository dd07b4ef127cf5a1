package orders

import (
	"fmt"
	"strings"

	"golang.org/x/net/idna"
	"golang.org/x/net/publicsuffix"

	"stead.dev/stead/internal/panel"
	"stead.dev/stead/internal/platform/fault"
)

// specialUse are top-level names that nobody can register and that may be hosted
// all the same, for trials and tests (RFC 6761).
var specialUse = map[string]bool{"test": true, "example": true, "localhost": true}

// parseDomain is the name as it is stored: lower-case ASCII, international labels in
// punycode. It must be a name that can be registered, or a subdomain of one, and
// none of the operator's reserved names or what is below them.
func parseDomain(name string, reserved []string) (string, error) {
	ascii, err := idna.Lookup.ToASCII(strings.TrimSuffix(strings.TrimSpace(name), "."))
	if err != nil {
		return "", fault.DomainInvalid.Wrap(err)
	}
	if ascii, err = panel.CanonicalDomain(ascii); err != nil { // lengths, which Lookup does not look at
		return "", fault.DomainInvalid.Wrap(err)
	}
	// What can be registered is one label more than a public suffix. The list answers
	// any last label that it does not know, so those, and addresses with them, are
	// told apart: an unknown suffix has no dot and is not ICANN's.
	if _, err := publicsuffix.EffectiveTLDPlusOne(ascii); err != nil {
		return "", fault.DomainInvalid.Wrap(err)
	}
	suffix, icann := publicsuffix.PublicSuffix(ascii)
	if !icann && !strings.Contains(suffix, ".") && !specialUse[suffix] {
		return "", fault.DomainInvalid.Wrap(fmt.Errorf("nobody can register names in .%s", suffix))
	}
	for _, r := range reserved {
		if ascii == r || strings.HasSuffix(ascii, "."+r) {
			return "", fault.DomainUnavailable.Wrap(fmt.Errorf("%s is reserved", r))
		}
	}
	return ascii, nil
}
