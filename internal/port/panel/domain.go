package panel

import (
	"fmt"
	"net/url"

	"stead.dev/stead/internal/platform/domainname"
)

// CanonicalDomain is domainname.Domain with the port's kind of failure: lower-case ASCII, no trailing
// dot. Wildcards, addresses and single labels are ErrInvalid.
func CanonicalDomain(name string) (string, error) {
	domain, err := domainname.Domain(name)
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	return domain, nil
}

// CanonicalHost is domainname.Host with the port's kind of failure: what a Host header may name.
func CanonicalHost(name string) (string, error) {
	host, err := domainname.Host(name)
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	return host, nil
}

// maxRedirect bounds the length of a redirect's address.
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
