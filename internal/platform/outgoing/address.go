package outgoing

import (
	"errors"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
)

// ErrTarget says that an address may not be called.
var ErrTarget = errors.New("outgoing: the address is not a public one")

// special are the IPv4 networks without hosts of the public Internet (IANA's special-purpose registries, RFC 6890),
// beyond what netip.Addr itself reports.
var special = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"),       // this network
	netip.MustParsePrefix("100.64.0.0/10"),   // carrier-grade NAT, RFC 6598
	netip.MustParsePrefix("192.0.0.0/24"),    // protocol assignments
	netip.MustParsePrefix("192.0.2.0/24"),    // documentation
	netip.MustParsePrefix("192.88.99.0/24"),  // relays of 6to4
	netip.MustParsePrefix("198.18.0.0/15"),   // benchmarks
	netip.MustParsePrefix("198.51.100.0/24"), // documentation
	netip.MustParsePrefix("203.0.113.0/24"),  // documentation
	netip.MustParsePrefix("240.0.0.0/4"),     // reserved, and broadcast
}

// global is the part of IPv6 that is assigned to hosts; the rest is reserved, local or embeds IPv4 (RFC 4291, NAT64 of
// RFC 6052 and RFC 8215).
var global = netip.MustParsePrefix("2000::/3")

// inner are the parts of global that embed IPv4 addresses or have no hosts.
var inner = []netip.Prefix{
	netip.MustParsePrefix("2001::/23"),     // protocol assignments, with Teredo
	netip.MustParsePrefix("2001:db8::/32"), // documentation
	netip.MustParsePrefix("2002::/16"),     // 6to4
	netip.MustParsePrefix("3fff::/20"),     // documentation
}

// Public reports whether an address belongs to a host on the public Internet. Of IPv6 addresses that carry an IPv4
// address, mapped ones are judged by that address, and others (NAT64, 6to4, Teredo) are refused.
func Public(a netip.Addr) bool {
	if !a.IsValid() || a.Zone() != "" {
		return false
	}
	a = a.Unmap()
	if !a.IsGlobalUnicast() || a.IsPrivate() {
		return false
	}
	if a.Is6() {
		return global.Contains(a) && !within(inner, a)
	}
	return !within(special, a)
}

func within(networks []netip.Prefix, a netip.Addr) bool {
	for _, n := range networks {
		if n.Contains(a) {
			return true
		}
	}
	return false
}

// maxURL is how long an address may be, in bytes.
const maxURL = 2048

// Check reports whether a customer may register an address: https with a host, no user and no fragment, and not
// obviously an internal one. Its resolution is checked when it is called. With allowLoopback, an address of this
// machine may also be http.
func Check(address string, allowLoopback bool) error {
	if len(address) > maxURL || strings.ContainsFunc(address, func(r rune) bool { return r <= ' ' || r == 0x7f || r == '\\' }) {
		return ErrTarget
	}
	u, err := url.Parse(address)
	if err != nil || u.Opaque != "" || u.User != nil || u.Fragment != "" || u.Hostname() == "" {
		return ErrTarget
	}
	if p := u.Port(); p != "" {
		if n, err := strconv.Atoi(p); err != nil || n < 1 || n > 65535 {
			return ErrTarget
		}
	}
	host := strings.ToLower(strings.TrimSuffix(u.Hostname(), "."))
	ip, err := netip.ParseAddr(host)
	numeric := err == nil
	local := host == "localhost" || strings.HasSuffix(host, ".localhost") || numeric && ip.Unmap().IsLoopback()
	switch {
	case local:
		if !allowLoopback || u.Scheme != "https" && u.Scheme != "http" {
			return ErrTarget
		}
	case u.Scheme != "https", numeric && !Public(ip), !numeric && !strings.Contains(host, "."):
		return ErrTarget
	}
	return nil
}
