package ftp

import (
	"net/netip"
	"sync"
	"time"
)

// How many wrong passwords an address may try, and how long it then waits.
const (
	attempts = 10
	pause    = 10 * time.Minute
	// remembered bounds the memory that strangers can occupy. When it is full the oldest entries are dropped.
	remembered = 10_000
)

// guard refuses addresses that guess passwords.
type guard struct {
	now func() time.Time

	mu    sync.Mutex
	wrong map[netip.Prefix]tries
}

type tries struct {
	n     int
	until time.Time // when it is dropped
}

func newGuard(now func() time.Time) *guard {
	return &guard{now: now, wrong: map[netip.Prefix]tries{}}
}

// network is what counts as one address: one IPv6 client has a /64.
func network(a netip.Addr) netip.Prefix {
	a = a.Unmap().WithZone("")
	bits := 32
	if a.Is6() {
		bits = 64
	}
	p, _ := a.Prefix(bits) // bits fit the address
	return p
}

// refuses reports whether the address may not try now.
func (g *guard) refuses(a netip.Addr) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	t := g.wrong[network(a)]
	return t.n >= attempts && g.now().Before(t.until)
}

// failed counts a wrong password.
func (g *guard) failed(a netip.Addr) {
	g.mu.Lock()
	defer g.mu.Unlock()
	now, n := g.now(), network(a)
	t := g.wrong[n]
	if !now.Before(t.until) {
		t = tries{}
	}
	t.n++
	t.until = now.Add(pause)
	if len(g.wrong) >= remembered {
		g.forget(now)
	}
	g.wrong[n] = t
}

// forget makes room.
func (g *guard) forget(now time.Time) {
	for n, t := range g.wrong {
		if !now.Before(t.until) {
			delete(g.wrong, n)
		}
	}
	for n := range g.wrong { // in random order, which nobody can exploit
		if len(g.wrong) < remembered {
			return
		}
		delete(g.wrong, n)
	}
}

// succeeded drops the failures of an address after a right password.
func (g *guard) succeeded(a netip.Addr) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.wrong, network(a))
}
