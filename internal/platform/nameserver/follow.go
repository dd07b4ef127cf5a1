package nameserver

import (
	"net/netip"
	"sync"
	"time"

	"github.com/miekg/dns"
)

// followed is which changes the secondaries have come for. A secondary that signs gives zones serials of its own, so what it
// answers with says nothing; that it asks for the serial or takes a transfer, with the key, does.
type followed struct {
	mu    sync.Mutex
	since map[netip.Addr]map[string]time.Time // by zone: the first change that the secondary has not come for
}

func newFollowed(secondaries []netip.AddrPort) *followed {
	f := &followed{since: map[netip.Addr]map[string]time.Time{}}
	for _, at := range secondaries {
		f.since[at.Addr().Unmap()] = map[string]time.Time{}
	}
	return f
}

// changed is called when the secondaries are to take a zone.
func (f *followed) changed(zone string, now time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, zones := range f.since {
		if zones[zone].IsZero() {
			zones[zone] = now
		}
	}
}

// came is called when a secondary has come for a zone.
func (f *followed) came(secondary netip.Addr, zone string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.since[secondary], zone)
}

// broke is called when a transfer to a secondary has broken off.
func (f *followed) broke(secondary netip.Addr, zone string, now time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if zones := f.since[secondary]; zones != nil && zones[zone].IsZero() {
		zones[zone] = now
	}
}

// removed is called when a zone is not served any more.
func (f *followed) removed(zone string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, zones := range f.since {
		delete(zones, zone)
	}
}

// asksSerial reports whether a message asks for the serial of a zone.
func asksSerial(q dns.Question, z *versions) bool {
	return q.Qtype == dns.TypeSOA && dns.CanonicalName(q.Name) == z.name
}

// Lags says of each secondary for how long it has not come for a change, of the change for which that is longest; 0 when it has come
// for all. What it did with other replicas, and before this process started, is not known here.
func (s *Server) Lags() map[netip.Addr]time.Duration {
	now := s.Now()
	s.followed.mu.Lock()
	defer s.followed.mu.Unlock()
	lags := make(map[netip.Addr]time.Duration, len(s.followed.since))
	for secondary, zones := range s.followed.since {
		lags[secondary] = 0
		for _, since := range zones {
			lags[secondary] = max(lags[secondary], now.Sub(since))
		}
	}
	return lags
}
