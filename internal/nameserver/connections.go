package nameserver

import (
	"net"
	"net/netip"
	"time"

	"stead.dev/stead/internal/platform/places"
)

// fair shares the connections: no network has more than maxPerNetwork, so that nobody keeps all of them for themselves,
// and clients that do not read their answers lose theirs. The library has a bound of writing, and does not use it.
type fair struct {
	net.Listener
	places places.Places[netip.Prefix]
}

func newFair(l net.Listener) *fair {
	return &fair{l, places.Places[netip.Prefix]{Each: maxPerNetwork}}
}

// Accept closes connections of networks that have enough.
func (l *fair) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if network, ok := networkOf(addressOf(c.RemoteAddr())); ok {
			if giveBack, ok := l.places.Take(network); ok {
				return &fairConn{c, giveBack}, nil
			}
		}
		_ = c.Close()
	}
}

type fairConn struct {
	net.Conn
	giveBack func()
}

// Write writes all of b in time, or closes: after a part of an answer no other can follow.
func (c *fairConn) Write(b []byte) (int, error) {
	err := c.SetWriteDeadline(time.Now().Add(ioTimeout)) //nolint:forbidigo // the network's time, not Stead's
	if err != nil {
		return 0, err
	}
	n, err := c.Conn.Write(b)
	if err != nil {
		_ = c.Close()
	}
	return n, err
}

// Close gives the network's place back.
func (c *fairConn) Close() error {
	c.giveBack()
	return c.Conn.Close()
}

// networkOf is the network of an address that one client has at will.
func networkOf(from netip.Addr) (netip.Prefix, bool) {
	bits := 24
	if from.Is6() {
		bits = 56
	}
	network, err := from.Prefix(bits)
	return network, err == nil
}
