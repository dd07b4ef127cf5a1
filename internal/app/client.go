package app

import (
	"net/http"
	"net/netip"
	"strings"
)

// clientAddr finds the address of a request's client. Every proxy appends to X-Forwarded-For, and the client itself may
// begin the list, so it is read from its end, and only as far as trusted proxies wrote it.
func clientAddr(trusted []netip.Prefix) func(*http.Request) netip.Addr {
	isProxy := func(a netip.Addr) bool {
		for _, p := range trusted {
			if p.Contains(a) {
				return true
			}
		}
		return false
	}
	return func(r *http.Request) netip.Addr {
		peer, err := netip.ParseAddrPort(r.RemoteAddr)
		if err != nil {
			return netip.IPv4Unspecified()
		}
		addr := peer.Addr().Unmap()
		if !isProxy(addr) {
			return addr
		}
		hops := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
		for i := len(hops) - 1; i >= 0; i-- {
			hop, ok := hopAddr(strings.TrimSpace(hops[i]))
			if !ok {
				break // a proxy of ours writes addresses; what stands before this is not its word
			}
			addr = hop
			if !isProxy(addr) {
				break
			}
		}
		return addr
	}
}

// hopAddr parses an address as proxies write it: some add the port, and brackets around an IPv6 address.
func hopAddr(text string) (netip.Addr, bool) {
	if withPort, err := netip.ParseAddrPort(text); err == nil {
		return withPort.Addr().Unmap(), true
	}
	if inner, ok := strings.CutPrefix(text, "["); ok {
		if text, ok = strings.CutSuffix(inner, "]"); !ok || !strings.Contains(text, ":") {
			return netip.Addr{}, false
		}
	}
	addr, err := netip.ParseAddr(text)
	return addr.Unmap(), err == nil
}
