package panel

import (
	"fmt"
	"net/netip"
	"net/url"
	"strings"

	"golang.org/x/net/idna"
)

// CanonicalDomain is name as it is compared, stored and served: lower-case ASCII, international
// labels in punycode, no trailing dot. Wildcards, addresses and single labels are ErrInvalid.
func CanonicalDomain(name string) (string, error) {
	host, err := CanonicalHost(name)
	if err != nil {
		return "", err
	}
	_, notAddr := netip.ParseAddr(host)
	if !strings.Contains(host, ".") || notAddr == nil {
		return "", fmt.Errorf("%w: %q is not a domain name", ErrInvalid, name)
	}
	return host, nil
}

// CanonicalHost is CanonicalDomain without its demand for two labels: what a Host header may name.
func CanonicalHost(name string) (string, error) {
	host := strings.TrimSuffix(name, ".")
	if !plainHost(host) {
		var err error
		if host, err = idna.Lookup.ToASCII(host); err != nil || !plainHost(host) {
			return "", fmt.Errorf("%w: %q is not a host name", ErrInvalid, name)
		}
	}
	return host, nil
}

// plainHost is the fast way for nearly every request: a name that is canonical already.
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

// maxRedirect bounds the address of a redirect.
const maxRedirect = 2048

// RedirectURL is the address of a redirect in the form in which it is stored and sent: absolute,
// http or https, without user or fragment. One without a path of its own ("https://example.com")
// takes the path and query of the visitor's address along; any other is sent as it is.
func RedirectURL(address string) (string, error) {
	u, err := url.Parse(address)
	if err != nil || len(address) > maxRedirect || u.Opaque != "" || u.User != nil || u.Fragment != "" {
		return "", fmt.Errorf("%w: %q is not an address to redirect to", ErrInvalid, address)
	}
	if u.Scheme != "http" && u.Scheme != "https" {
		return "", fmt.Errorf("%w: %q is not an address of the web", ErrInvalid, address)
	}
	host, err := CanonicalHost(u.Hostname())
	if err != nil {
		return "", err
	}
	if port := u.Port(); port != "" {
		host += ":" + port
	}
	u.Host = host
	if u.Path == "/" && u.RawQuery == "" {
		u.Path = ""
	}
	return u.String(), nil
}
