package ftp

import (
	"errors"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"
)

// crowd bounds the control connections: in total and for each address. One too many is closed at once, before it costs
// anything.
type crowd struct {
	net.Listener
	most, mostOf int

	mu    sync.Mutex
	all   int
	of    map[netip.Prefix]int
	conns map[*counted]struct{}
}

func newCrowd(ln net.Listener, most, mostOf int) *crowd {
	return &crowd{Listener: ln, most: most, mostOf: mostOf, of: map[netip.Prefix]int{}, conns: map[*counted]struct{}{}}
}

// Accept implements net.Listener.
func (c *crowd) Accept() (net.Conn, error) {
	for {
		conn, err := c.Listener.Accept()
		if err != nil {
			return nil, err
		}
		from := network(addressOf(conn.RemoteAddr()))
		c.mu.Lock()
		if c.all >= c.most || c.of[from] >= c.mostOf {
			c.mu.Unlock()
			_ = conn.Close() // nothing was sent
			continue
		}
		c.all++
		c.of[from]++
		k := &counted{Conn: conn, crowd: c, from: from}
		c.conns[k] = struct{}{}
		c.mu.Unlock()
		return k, nil
	}
}

// find is the connection from an address; nil when it is gone.
func (c *crowd) find(from net.Addr) net.Conn {
	c.mu.Lock()
	defer c.mu.Unlock()
	for k := range c.conns {
		if k.RemoteAddr().String() == from.String() {
			return k
		}
	}
	return nil
}

// closeAll ends every connection.
func (c *crowd) closeAll() {
	c.mu.Lock()
	all := make([]*counted, 0, len(c.conns))
	for k := range c.conns {
		all = append(all, k)
	}
	c.mu.Unlock()
	for _, k := range all {
		_ = k.Close() // it ends either way
	}
}

type counted struct {
	net.Conn
	crowd *crowd
	from  netip.Prefix
	once  sync.Once
}

// Close implements net.Conn.
func (k *counted) Close() error {
	k.once.Do(func() {
		c := k.crowd
		c.mu.Lock()
		defer c.mu.Unlock()
		c.all--
		if c.of[k.from]--; c.of[k.from] <= 0 {
			delete(c.of, k.from)
		}
		delete(c.conns, k)
	})
	return k.Conn.Close()
}

func addressOf(a net.Addr) netip.Addr {
	if t, ok := a.(*net.TCPAddr); ok {
		return t.AddrPort().Addr()
	}
	return netip.Addr{}
}

// private is the listener of a data connection. It admits only what begins with a TLS handshake: otherwise a client
// that requests its port first and protection afterwards would get an unprotected connection from the library. It also
// ends an idle connection.
type private struct {
	net.Listener
	idle time.Duration
}

// Accept implements net.Listener.
func (p private) Accept() (net.Conn, error) {
	c, err := p.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &handshaking{Conn: c, idle: p.idle, alarm: time.AfterFunc(p.idle, func() { _ = c.Close() })}, nil
}

var errClear = errors.New("ftp: data in the clear")

// handshaking is a connection that must send first, and whose first byte must be of a TLS handshake.
type handshaking struct {
	net.Conn
	idle  time.Duration
	alarm *time.Timer // ends the connection
	begun atomic.Bool
}

const handshakeRecord = 22 // RFC 8446, section 5.1

// Read implements net.Conn.
func (h *handshaking) Read(b []byte) (int, error) {
	n, err := h.Conn.Read(b)
	if n > 0 {
		h.alarm.Reset(h.idle)
		if h.begun.CompareAndSwap(false, true) && b[0] != handshakeRecord {
			_ = h.Close() // nothing of it counts
			return 0, errClear
		}
	}
	return n, err
}

// Write implements net.Conn.
func (h *handshaking) Write(b []byte) (int, error) {
	if !h.begun.Load() {
		return 0, errClear
	}
	n, err := h.Conn.Write(b)
	if n > 0 {
		h.alarm.Reset(h.idle)
	}
	return n, err
}

// Close implements net.Conn.
func (h *handshaking) Close() error {
	h.alarm.Stop()
	return h.Conn.Close()
}
