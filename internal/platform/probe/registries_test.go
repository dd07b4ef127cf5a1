package probe_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/probe"
)

// registry knows when domains end: not at all when it is nil, and that they are free when the time is zero.
type registry struct {
	ends  map[string]time.Time
	asked int
}

func (r *registry) Expires(_ context.Context, domain string) (time.Time, bool, error) {
	r.asked++
	at, ok := r.ends[domain]
	if !ok {
		return at, false, probe.ErrUnknownExpiry
	}
	return at, !at.IsZero(), nil
}

func TestDomains(t *testing.T) {
	start := time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC)
	clk := clock.NewFake(start)
	soon := start.AddDate(0, 1, 0)
	one := &registry{ends: map[string]time.Time{"ours.example": soon}}
	other := &registry{ends: map[string]time.Time{"theirs.example": soon, "free.example": {}, "over.example": start}}
	p := probe.New(probe.Config{Clock: clk, Expiry: probe.NewRegistries(clk, one, other)})
	check := func(domain string) probe.Result {
		return p.Check(t.Context(), probe.Target{Type: probe.Domain, Host: domain, TimeoutMS: 1000})
	}
	for _, domain := range []string{"ours.example", "theirs.example"} {
		if r := check(domain); !r.OK || r.DomainExpiresAt == nil || !r.DomainExpiresAt.Equal(soon) {
			t.Errorf("%s: %+v", domain, r)
		}
	}
	for _, domain := range []string{"free.example", "over.example"} {
		if r := check(domain); r.OK || r.Unknown || r.ErrorKey != probe.KeyUnregistered {
			t.Errorf("%s: %+v", domain, r)
		}
	}
	if r := check("unknown.example"); r.OK || !r.Unknown {
		t.Errorf("%+v", r)
	}
	asked := one.asked + other.asked
	check("ours.example")
	check("unknown.example")
	if now := one.asked + other.asked; now != asked {
		t.Errorf("asked %d times more", now-asked)
	}
	delete(one.ends, "ours.example")
	clk.Advance(7 * time.Hour)
	if r := check("ours.example"); !r.Unknown {
		t.Errorf("it is not asked again: %+v", r)
	}
	// Who gave up learnt nothing.
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r := probe.NewRegistries(clk, one)
	if _, _, err := r.Expires(ctx, "later.example"); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	one.ends["later.example"] = soon
	if _, registered, err := r.Expires(t.Context(), "later.example"); err != nil || !registered {
		t.Error(registered, err)
	}
}
