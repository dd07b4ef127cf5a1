package nameserver

import (
	"context"
	"net/netip"
	"sync"
	"time"

	"github.com/miekg/dns"
)

// The pace at which a secondary is asked which versions it serves.
const (
	followEvery   = 30 * time.Second
	followAtOnce  = 1000 // zones in one round
	followTimeout = 2 * time.Second
)

// follower looks whether a secondary serves the present version of each zone. Which it has been seen to serve is not asked again until
// the zone changes.
type follower struct {
	server    *Server
	secondary netip.AddrPort

	mu     sync.Mutex
	serves map[string]uint32
	since  map[string]time.Time // when it was first seen that it did not serve the present version
}

func newFollower(s *Server, secondary netip.AddrPort) *follower {
	return &follower{server: s, secondary: secondary, serves: map[string]uint32{}, since: map[string]time.Time{}}
}

// run looks until ctx ends.
func (f *follower) run(ctx context.Context) {
	again := time.NewTicker(followEvery)
	defer again.Stop()
	for {
		f.look(ctx)
		select {
		case <-ctx.Done():
			return
		case <-again.C:
		}
	}
}

// look asks for the serials of zones that the secondary is not known to serve. One that is silent is asked again in the next round.
func (f *follower) look(ctx context.Context) {
	client := dns.Client{Timeout: followTimeout}
	for _, name := range f.unknown() {
		question := new(dns.Msg).SetQuestion(name, dns.TypeSOA)
		question.RecursionDesired = false
		answer, _, err := client.ExchangeContext(ctx, question, f.secondary.String())
		if err != nil {
			return
		}
		for _, rr := range answer.Answer {
			if soa, ok := rr.(*dns.SOA); ok {
				f.hear(name, soa.Serial)
			}
		}
	}
}

// unknown are zones of which the secondary is not known to serve the present version.
func (f *follower) unknown() []string {
	now := f.server.Now()
	f.server.mu.RLock()
	defer f.server.mu.RUnlock()
	f.mu.Lock()
	defer f.mu.Unlock()
	for name := range f.serves {
		if f.server.zones[name] == nil {
			delete(f.serves, name)
		}
	}
	for name := range f.since {
		if f.server.zones[name] == nil {
			delete(f.since, name)
		}
	}
	var names []string
	for name, v := range f.server.zones {
		if serial, heard := f.serves[name]; v.private || heard && serial == v.serial {
			delete(f.since, name)
			continue
		}
		if f.since[name].IsZero() {
			f.since[name] = now
		}
		if len(names) < followAtOnce { // of the rest, the order of a map gives each its turn
			names = append(names, name)
		}
	}
	return names
}

// hear takes the version that the secondary serves.
func (f *follower) hear(name string, serial uint32) {
	present, _ := f.server.Serial(name)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.serves[name] = serial
	if serial == present {
		delete(f.since, name)
	}
}

// lag is for how long the secondary has not served the present version of a zone, of the one for which that is longest.
func (f *follower) lag(now time.Time) (longest time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, since := range f.since {
		longest = max(longest, now.Sub(since))
	}
	return longest
}

// Lags says of each secondary for how long it has not served the present version of a zone, of the one for which that is longest; 0
// when it serves all. Changes of the last half minute may not have been looked at.
func (s *Server) Lags() map[netip.AddrPort]time.Duration {
	now := s.Now()
	lags := make(map[netip.AddrPort]time.Duration, len(s.followers))
	for _, f := range s.followers {
		lags[f.secondary] = f.lag(now)
	}
	return lags
}
