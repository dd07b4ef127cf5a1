package sitedomains

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"stead.dev/stead/internal/hosting/site"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/outbox"
	"stead.dev/stead/internal/platform/outbox/outboxtest"
	"stead.dev/stead/internal/platform/testkit"
)

func sorted(line string) string { return strings.Join(slices.Sorted(strings.FieldsSeq(line)), " ") }

// owners are the Claims of the test.
type owners struct {
	Unclaimed
	others  map[string]bool              // names that are somebody else's
	verdict map[string]site.Verification // of the rest
}

func (o owners) Take(_ context.Context, _ *db.Tx, _ int64, name string) error {
	if o.others[name] {
		return fault.DomainVerificationRequired.New()
	}
	return nil
}

func (o owners) Verifications(context.Context, db.Querier, int64, []string) (map[string]site.Verification, error) {
	return o.verdict, nil
}

// TestADisplacedServiceGoesOnUnderAStandIn: its panel lets the names go, also of a service that is suspended, and has them
// again when they are given back.
func TestADisplacedServiceGoesOnUnderAStandIn(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		w.service(owner, 10, "shop.example")
		w.add(10, "blog.shop.example", Subdomain)
		w.add(10, "other.example", Addon)
		w.Must(w.Apply(ctx, owner, 10))
		before := w.has(10)
		w.Services.SetStatus(t, 10, "suspended")

		w.Tx(func(ctx context.Context, tx *db.Tx) error { return w.Displace(ctx, tx, owner, "shop.example") })
		if leaving, err := w.Leaving(ctx, w.DB, "shop.example"); err != nil || !leaving {
			t.Errorf("the panel has it: %v, %v", leaving, err)
		}
		w.Must(w.Apply(ctx, owner, 10))
		if has := w.has(10); strings.Contains(has, "shop.example=") || !strings.Contains(has, "displaced-1.invalid=/public_html") || !strings.Contains(has, "other.example") {
			t.Errorf("the panel has %s", has)
		}
		if leaving, err := w.Leaving(ctx, w.DB, "shop.example"); err != nil || leaving {
			t.Errorf("the panel has followed: %v, %v", leaving, err)
		}
		// The name is free for its owner.
		w.Tx(func(ctx context.Context, tx *db.Tx) error {
			return w.Claim(ctx, tx, stranger, 20, false, "free.shop.example")
		})

		w.Services.SetStatus(t, 10, "active")
		w.Tx(func(ctx context.Context, tx *db.Tx) error { return w.Reinstate(ctx, tx, owner, "shop.example") })
		w.Must(w.Apply(ctx, owner, 10))
		if has := sorted(w.has(10)); has != sorted(before) {
			t.Errorf("the panel has %s, had %s", has, before)
		}
	})
}

// TestANameThatWasAddedAgainStaysWhereItIs when the account's former names are given back, so that a registration is not held up.
func TestANameThatWasAddedAgainStaysWhereItIs(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		w.service(owner, 10, "shop.example")
		w.add(10, "blog.shop.example", Subdomain)
		displace := func() {
			w.Tx(func(ctx context.Context, tx *db.Tx) error { return w.Displace(ctx, tx, owner, "shop.example") })
			w.Must(w.Apply(t.Context(), owner, 10))
		}
		reinstate := func() {
			w.Tx(func(ctx context.Context, tx *db.Tx) error { return w.Reinstate(ctx, tx, owner, "shop.example") })
			w.Must(w.Apply(t.Context(), owner, 10))
			w.Must(w.Apply(t.Context(), owner, 20))
		}
		displace()
		w.service(owner, 20, "shop.example")
		reinstate()
		if has := w.has(10); !strings.Contains(has, "displaced-1.invalid=") || !strings.Contains(has, "blog.shop.example=") {
			t.Errorf("the first service has %s", has)
		}
		if has := w.has(20); !strings.Contains(has, "shop.example=") {
			t.Errorf("the second service has %s", has)
		}
		// Displaced both, one of them has it again.
		displace()
		w.Must(w.Apply(t.Context(), owner, 20))
		reinstate()
		if has := w.has(10) + " " + w.has(20); strings.Count(has, "displaced-") != 1 {
			t.Errorf("the services have %s", has)
		}
	})
}

// TestAServiceComesBackUnderAStandIn when its name is somebody else's by then.
func TestAServiceComesBackUnderAStandIn(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		w.Claims = owners{others: map[string]bool{"taken.example": true}}
		w.Services.Add(t, w.site(owner, 10, "taken.example"))
		var got string
		w.Tx(func(ctx context.Context, tx *db.Tx) (err error) {
			got, err = w.Return(ctx, tx, owner, 10, false, "taken.example")
			return err
		})
		names, err := w.OfService(t.Context(), w.DB, owner, 10)
		if err != nil || len(names) != 1 || names[0] != "taken.example" || got != "displaced-s10.invalid" {
			t.Errorf("%q, %q, %v", got, names, err)
		}
		// It ends once more, and comes back as it was.
		w.Tx(func(ctx context.Context, tx *db.Tx) (err error) {
			got, err = w.Return(ctx, tx, owner, 10, false, got)
			return err
		})
		if got != "displaced-s10.invalid" {
			t.Error(got)
		}
	})
}

// TestWhatMayHaveCertificatesAndMail: names that are proven, and those that lead here themselves.
func TestWhatMayHaveCertificatesAndMail(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		w.service(owner, 10, "proven.example")
		for _, name := range []string{"pointed.example", "unproven.example"} {
			w.add(10, name, Addon)
		}
		record := &site.Record{Name: "_stead-verify", Type: "TXT", Value: "x"}
		w.Claims = owners{verdict: map[string]site.Verification{
			"proven.example": {State: "verified", Cleared: true}, "pointed.example": {State: "dns_leads_here", Record: record},
			"unproven.example": {State: "unverified", Record: record},
		}}
		w.dns.answers = map[string]string{"pointed.example": "192.0.2.1", "unproven.example": "198.51.100.1"}
		w.Must(w.CheckDNS(t.Context()))
		all, err := w.Hosted(t.Context(), w.DB, owner, 10)
		w.Must(err)
		var names []string
		for _, d := range all {
			if d.Usable {
				names = append(names, d.Name)
			}
		}
		if got := strings.Join(names, " "); got != "proven.example pointed.example" {
			t.Error(got)
		}
		for name, want := range map[string]bool{"proven.example": false, "unproven.example": true} {
			if err := w.Refusal(t.Context(), w.DB, owner, name); (err != nil) != want {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}

// moved are the Moves of the test: where services were before.
type moved []string

func (m *moved) Former(context.Context, db.Querier, int64) ([]string, error) { return *m, nil }

// TestAMoveTakesMailAndCertificates of names whose DNS is elsewhere: it leads to the former machine, which passes on what comes, until
// the owner has changed it.
func TestAMoveTakesMailAndCertificates(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		former := &moved{"192.0.2.50"}
		w.Claims, w.Moves = owners{}, former
		w.service(owner, 10, "shop.example")
		w.dns.answers = map[string]string{"shop.example": "192.0.2.50"}
		w.Clock.Advance(dnsYoung)
		usable := func(want bool, why string) {
			t.Helper()
			w.Must(w.CheckDNS(ctx))
			all, err := w.Hosted(ctx, w.DB, owner, 10)
			w.Must(err)
			here, err := w.LeadHere(ctx, w.DB, owner, "shop.example")
			w.Must(err)
			if all[0].Usable != want || here != want {
				t.Errorf("%s: usable %v, leads here %v", why, all[0].Usable, here)
			}
		}
		follows := func() (n int) {
			w.Must(w.DB.QueryRow(ctx, `SELECT count(*) FROM river_job WHERE kind = 'hosting.apply_all'`).Scan(&n))
			return n
		}
		usable(true, "the former machine passes on")
		if w.shows(10)["shop.example"].DNS.Status != "not_pointed" {
			t.Error("the owner does not see that the DNS is to be changed")
		}
		asked, before := w.dns.asked, follows()
		w.dns.answers["shop.example"] = "192.0.2.1"
		w.Tx(func(ctx context.Context, tx *db.Tx) error {
			return w.Follow(ctx, tx, outbox.Stored{Type: "service.migrated", AccountID: owner, SubjectID: 10})
		})
		usable(true, "the owner has changed the DNS")
		if w.dns.asked != asked+1 || follows() != before+1 {
			t.Errorf("after the move the DNS was asked %d times, and all followed %d times", w.dns.asked-asked, follows()-before)
		}
		*former = nil
		usable(true, "the former machine has forgotten it")

		before = follows()
		w.dns.answers["shop.example"] = "192.0.2.50"
		w.Clock.Advance(dnsSeldom)
		usable(false, "somebody else's by now")
		if follows() != before+1 {
			t.Error("mail and certificates do not follow what the DNS says")
		}
	})
}

// provers are Claims of two names, of which one is proven in the course of the test.
type provers struct {
	Unclaimed
	proven atomic.Bool
}

func (p *provers) Verifications(context.Context, db.Querier, int64, []string) (map[string]site.Verification, error) {
	return map[string]site.Verification{
		"victim.example": {State: "unverified", Cleared: p.proven.Load()}, "pointed.example": {State: "unverified"},
	}, nil
}

// TestThePanelIsToldAsWhichNamesNobodySends: at once when a name is known to be the account's, or its DNS leads here. A DNS that does
// not answer changes nothing.
func TestThePanelIsToldAsWhichNamesNobodySends(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		claims := &provers{}
		w.Claims = claims
		w.service(owner, 10, "victim.example")
		w.add(10, "pointed.example", Addon)
		w.add(10, "missing.example", Addon) // nobody claims it: it is not known to be theirs either
		w.Must(w.Apply(ctx, owner, 10))
		mute := func(want string) {
			t.Helper()
			testkit.Eventually(t, time.Minute, func() bool {
				all, err := w.machine.fullPanel.Domains(ctx, "10")
				w.Must(err)
				var names []string
				for _, d := range all {
					if d.NoMail {
						names = append(names, d.Name)
					}
				}
				return sorted(strings.Join(names, " ")) == want
			}, "nobody sends as "+want)
		}
		mute("missing.example pointed.example victim.example")
		if may, err := w.MaySend(ctx, w.DB, w.site(owner, 10, "victim.example")); err != nil || may {
			t.Errorf("a new account sends: %v, %v", may, err)
		}
		w.Start(w.queue)
		w.dns.answers = map[string]string{"pointed.example": "192.0.2.1", "victim.example": "198.51.100.1"}
		w.Must(w.CheckDNS(ctx))
		mute("missing.example victim.example")
		w.dns.answers["pointed.example"] = "?"
		w.Clock.Advance(dnsInterval)
		w.Must(errors.Join(w.CheckDNS(ctx), w.Apply(ctx, owner, 10)))
		mute("missing.example victim.example")

		claims.proven.Store(true)
		w.Tx(func(ctx context.Context, tx *db.Tx) error { return w.Changed(ctx, tx, owner, "victim.example") })
		outboxtest.Relay(t, w.events)
		mute("missing.example")
		changes := w.machine.changes
		w.Must(w.Apply(ctx, owner, 10))
		if w.machine.changes != changes {
			t.Error("the panel is told again what it knows")
		}
	})
}

// The names of a zone are itself and those below it, also while they are displaced, and no others that only look alike.
func TestTheNamesOfAZone(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		w.service(owner, 10, "shop.example")
		for _, name := range []string{"blog.shop.example", "a.b.shop.example", "myshop.example", "shop-x.example"} {
			kind := Addon
			if strings.HasSuffix(name, ".shop.example") {
				kind = Subdomain
			}
			w.add(10, name, kind)
		}
		w.service(stranger, 20, "other.example")
		names := func(zone string) string {
			all, err := w.within(t.Context(), w.DB, owner, zone)
			w.Must(err)
			var own []string
			for _, d := range all {
				own = append(own, d.ownName())
			}
			return strings.Join(own, " ")
		}
		for zone, want := range map[string]string{
			"shop.example":   "shop.example blog.shop.example a.b.shop.example",
			"b.shop.example": "a.b.shop.example",
			"other.example":  "",
			"shop.exampl":    "",
		} {
			if got := names(zone); got != want {
				t.Errorf("%s: %s, want %s", zone, got, want)
			}
		}
		w.Tx(func(ctx context.Context, tx *db.Tx) error { return w.Displace(ctx, tx, owner, "shop.example") })
		if got, want := names("shop.example"), "shop.example blog.shop.example a.b.shop.example"; got != want {
			t.Errorf("displaced: %s, want %s", got, want)
		}
	})
}
