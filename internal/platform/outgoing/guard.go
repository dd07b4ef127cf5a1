package outgoing

import (
	"context"
	"net"
	"net/netip"
	"syscall"
	"time"
)

// Guard decides which addresses may be called: those of the public Internet.
type Guard struct {
	// AllowLoopback accepts addresses of this machine; for tests.
	AllowLoopback bool
}

// Allows reports whether an address may be called.
func (g Guard) Allows(a netip.Addr) bool {
	return Public(a) || g.AllowLoopback && a.Unmap().IsLoopback()
}

// Control is that of a net.Dialer: it judges each address after resolution, before the connection, and answers ErrTarget for
// one that may not be called.
func (g Guard) Control(_, address string, _ syscall.RawConn) error {
	to, err := netip.ParseAddrPort(address)
	if err != nil || !g.Allows(to.Addr()) {
		return ErrTarget
	}
	return nil
}

// Dial connects to the first of a host's addresses that answers within timeout, and judges each. Its error is that of the last.
func (g Guard) Dial(ctx context.Context, network string, addresses []netip.Addr, port string, timeout time.Duration) (conn net.Conn, err error) {
	dialer := &net.Dialer{Timeout: timeout, Control: g.Control}
	for _, a := range addresses {
		if conn, err = dialer.DialContext(ctx, network, net.JoinHostPort(a.String(), port)); err == nil {
			return conn, nil
		}
	}
	return nil, err
}
