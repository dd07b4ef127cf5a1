package nameserver

import (
	"net/netip"
	"sync"
	"time"

	"github.com/miekg/dns"
)

// followed records which changes the secondaries have come for. A secondary that signs gives zones serials of its own, so its
// answers say nothing; that it takes a transfer, with the key, does. To ask for the serial is not enough: that goes by UDP, also
// where no transfer comes through. Who asks and takes nothing here may have the version from another replica: it is believed
// once it has taken any zone from here since the change. A secondary that takes all zones so has taken the last change of all from
// one of the replicas, and that one waits for none.
type followed struct {
	mu      sync.Mutex
	pending map[netip.Addr]map[string]pendingChange // by zone
	took    map[netip.Addr]time.Time                // when a secondary last took a transfer, of whatever zone
	takes   map[netip.Addr]map[string]bool          // the private zones that a secondary has come for: others it is not configured for
}

// pendingChange is a change that a secondary has not taken.
type pendingChange struct {
	since  time.Time
	asked  bool // the secondary has asked for the serial since
	broken bool // a transfer broke off: only a whole one settles it
}

func newFollowed(secondaries []netip.AddrPort) *followed {
	f := &followed{pending: map[netip.Addr]map[string]pendingChange{}, took: map[netip.Addr]time.Time{}, takes: map[netip.Addr]map[string]bool{}}
	for _, at := range secondaries {
		f.pending[at.Addr().Unmap()] = map[string]pendingChange{}
		f.takes[at.Addr().Unmap()] = map[string]bool{}
	}
	return f
}

// change notes that the secondaries have to take a zone.
func (f *followed) change(z *zone, now time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for secondary, pending := range f.pending {
		if z.private && !f.takes[secondary][z.name] {
			continue
		}
		before, known := pending[z.name]
		if !known || f.settled(secondary, before) {
			before = pendingChange{since: now}
		}
		before.asked = false // for this version
		pending[z.name] = before
	}
}

// settled reports whether a secondary is believed to have a change.
func (f *followed) settled(secondary netip.Addr, c pendingChange) bool {
	return c.asked && !c.broken && !f.took[secondary].Before(c.since)
}

// ask notes that a secondary has asked for the serial of a zone. It takes a transfer next, unless it has the version from another
// replica, or no transfer comes through to it.
func (f *followed) ask(secondary netip.Addr, z *zone) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.note(secondary, z) {
		return
	}
	if change, known := f.pending[secondary][z.name]; known {
		change.asked = true
		f.pending[secondary][z.name] = change
	}
}

// transfer notes that a secondary has taken a version of a zone, and present is the one that is served.
func (f *followed) transfer(secondary netip.Addr, taken *zone, present uint32, now time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.note(secondary, taken) {
		return
	}
	f.took[secondary] = now
	if taken.serial == present {
		delete(f.pending[secondary], taken.name)
	}
}

// fail notes that a transfer to a secondary has broken off.
func (f *followed) fail(secondary netip.Addr, z *zone, now time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.note(secondary, z) {
		return
	}
	change, known := f.pending[secondary][z.name]
	if !known {
		change.since = now
	}
	change.broken = true
	f.pending[secondary][z.name] = change
}

// note notes that a secondary takes a private zone, and reports whether it is one of the secondaries.
func (f *followed) note(secondary netip.Addr, z *zone) bool {
	takes, known := f.takes[secondary]
	if known && z.private {
		takes[z.name] = true
	}
	return known
}

// asksSerial reports whether a question asks for the serial of a zone.
func asksSerial(q dns.Question, z *versions) bool {
	return q.Qtype == dns.TypeSOA && dns.CanonicalName(q.Name) == z.name
}

// Lags returns for how long each secondary has not taken a change, of the change for which that is longest; 0 when it has taken
// all. What it did with other replicas, and before this process started, is not known here.
func (s *Server) Lags() map[netip.Addr]time.Duration {
	now := s.Now()
	s.mu.RLock()
	defer s.mu.RUnlock()
	s.followed.mu.Lock()
	defer s.followed.mu.Unlock()
	lags := make(map[netip.Addr]time.Duration, len(s.followed.pending))
	for secondary, pending := range s.followed.pending {
		lags[secondary] = 0
		for zone, change := range pending {
			if s.zones[zone] == nil || s.followed.settled(secondary, change) {
				delete(pending, zone)
				continue
			}
			lags[secondary] = max(lags[secondary], now.Sub(change.since))
		}
	}
	return lags
}
