package mcp

import (
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
)

// sameSite reports whether a request is for this site and not sent by a page of another one. The protocol wants both checked
// ("Security Warning" of its transports): a page can make its own name lead to the address of this server (DNS rebinding).
func sameSite(base string, r *http.Request) bool {
	own, err := url.Parse(base)
	if err != nil || !ownHost(own.Hostname(), hostname(r.Host)) {
		return false
	}
	origins := r.Header.Values("Origin")
	if len(origins) == 0 {
		return true // no browser
	}
	from, err := url.Parse(origins[0])
	if err != nil || len(origins) > 1 || from.Host == "" {
		return false
	}
	if local(own.Hostname()) {
		return local(from.Hostname())
	}
	return from.Scheme == own.Scheme && strings.EqualFold(from.Host, own.Host)
}

// ownHost reports whether a request with that Host may be for this site. A proxy may have put an address in its place, or a
// name of the machine without a dot: no stranger can own these.
func ownHost(own, asked string) bool {
	_, err := netip.ParseAddr(asked)
	return strings.EqualFold(own, asked) || err == nil || asked != "" && !strings.Contains(strings.TrimSuffix(asked, "."), ".")
}

// local reports whether a name or an address is this machine.
func local(host string) bool {
	a, err := netip.ParseAddr(host)
	return strings.EqualFold(host, "localhost") || err == nil && a.IsLoopback()
}

// hostname is a Host without its port and brackets.
func hostname(hostport string) string {
	if host, _, err := net.SplitHostPort(hostport); err == nil {
		return host
	}
	return strings.Trim(hostport, "[]")
}
