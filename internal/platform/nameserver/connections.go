package nameserver

import (
	"net"
	"net/netip"
	"time"

	"stead.dev/stead/internal/platform/semaphore"
)

// fairListener shares the connections: no network has more than maxPerNetwork, so that nobody occupies all, and clients
// that do not read their answers are disconnected. The library has a write timeout, and does not apply it.
type fairListener struct {
	net.Listener
	connections semaphore.Keyed[netip.Prefix]
}

func newFairListener(l net.Listener) *fairListener {
	return &fairListener{l, semaphore.Keyed[netip.Prefix]{Each: maxPerNetwork}}
}

// Accept closes connections of networks that have reached their limit.
func (l *fairListener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if network, ok := networkOf(addressOf(c.RemoteAddr())); ok {
			if release, ok := l.connections.Acquire(network); ok {
				return &fairConn{c, release}, nil
			}
		}
		_ = c.Close()
	}
}

type fairConn struct {
	net.Conn
	release func()
}

// Write writes all of b in time, or closes the connection: no answer can follow a partial one.
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

// Close releases the network's connection.
func (c *fairConn) Close() error {
	c.release()
	return c.Conn.Close()
}

// networkOf is the network of addresses that one client can choose from.
func networkOf(from netip.Addr) (netip.Prefix, bool) {
	bits := 24
	if from.Is6() {
		bits = 56
	}
	network, err := from.Prefix(bits)
	return network, err == nil
}
