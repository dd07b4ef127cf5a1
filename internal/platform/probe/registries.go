package probe

import (
	"context"
	"errors"
	"sync"
	"time"

	"stead.dev/stead/internal/platform/clock"
)

// ErrUnknownExpiry is returned by an Expiry that does not know a domain.
var ErrUnknownExpiry = errors.New("probe: nobody says when the registration ends")

// How long an answer of a registry is believed. Registries refuse those who ask often, and a registration changes once a
// year.
const (
	believeAnswer  = 6 * time.Hour
	believeFailure = 15 * time.Minute
	maxBelieved    = 20_000
)

// Registries is an Expiry that asks several in turn until one knows, and remembers what they said.
type Registries struct {
	clock   clock.Clock
	sources []Expiry

	mu       sync.Mutex
	believed map[string]believed
}

type believed struct {
	until      time.Time
	expires    time.Time
	registered bool
	err        error
}

// NewRegistries makes an Expiry of others.
func NewRegistries(c clock.Clock, sources ...Expiry) *Registries {
	return &Registries{clock: c, sources: sources, believed: map[string]believed{}}
}

// Expires implements Expiry.
func (r *Registries) Expires(ctx context.Context, domain string) (time.Time, bool, error) {
	now := r.clock.Now()
	r.mu.Lock()
	b, ok := r.believed[domain]
	r.mu.Unlock()
	if ok && now.Before(b.until) {
		return b.expires, b.registered, b.err
	}
	b = believed{until: now.Add(believeFailure), err: ErrUnknownExpiry}
	for _, source := range r.sources {
		expires, registered, err := source.Expires(ctx, domain)
		if err == nil {
			b = believed{until: now.Add(believeAnswer), expires: expires, registered: registered}
			break
		}
		if ctx.Err() != nil {
			return time.Time{}, false, ctx.Err() // says nothing about the domain
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.believed) >= maxBelieved {
		clear(r.believed)
	}
	r.believed[domain] = b
	return b.expires, b.registered, b.err
}
