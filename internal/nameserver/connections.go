package nameserver

import (
	"net"
	"net/netip"
	"sync"
	"time"
)

// fair shares the connections: no network has more than maxPerNetwork, so that nobody keeps all of them for themselves,
// and clients that do not read their answers lose theirs. The library has a bound of writing, and does not use it.
type fair struct {
	net.Listener

	mu   sync.Mutex
	open map[netip.Prefix]int
}

func newFair(l net.Listener) *fair { return &fair{Listener: l, open: map[netip.Prefix]int{}} }

// Accept closes connections of networks that have enough.
func (l *fair) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		network, ok := networkOf(addressOf(c.RemoteAddr()))
		if ok && l.take(network) {
			return &fairConn{Conn: c, gone: sync.OnceFunc(func() { l.giveBack(network) })}, nil
		}
		_ = c.Close()
	}
}

func (l *fair) take(network netip.Prefix) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open[network] >= maxPerNetwork {
		return false
	}
	l.open[network]++
	return true
}

func (l *fair) giveBack(network netip.Prefix) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open[network]--; l.open[network] == 0 {
		delete(l.open, network)
	}
}

type fairConn struct {
	net.Conn
	gone func()
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
	c.gone()
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
