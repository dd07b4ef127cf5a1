package outgoing

import (
	"context"
	"net"
	"strings"
	"syscall"
	"time"
)

// Local are the sites of a demonstration: their names are below .test (RFC 6761), which no DNS knows, and this
// installation serves them itself. A nil Local has none.
type Local struct {
	// HTTP and HTTPS are where the sites are served, as host:port, instead of ports 80 and 443; empty: not at all.
	HTTP, HTTPS string
}

// Serves reports whether a name is one of a demonstration's.
func (l *Local) Serves(host string) bool {
	return l != nil && strings.HasSuffix(strings.ToLower(strings.TrimSuffix(host, ".")), ".test")
}

// Dial connects to where the sites are served on a port of the web. Other ports refuse connections.
func (l *Local) Dial(ctx context.Context, network, port string, timeout time.Duration) (net.Conn, error) {
	to := ""
	switch port {
	case "80":
		to = l.HTTP
	case "443":
		to = l.HTTPS
	}
	if to == "" {
		return nil, &net.OpError{Op: "dial", Net: network, Err: syscall.ECONNREFUSED}
	}
	return (&net.Dialer{Timeout: timeout}).DialContext(ctx, network, to)
}
