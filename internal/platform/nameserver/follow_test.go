package nameserver

import (
	"log/slog"
	"net/netip"
	"testing"
	"time"

	"github.com/miekg/dns"
)

// TestASecondaryThatOnlyAsksLags: the port for transfers may be shut. What it asks for and takes nowhere else is told, and what it has
// from another replica is not, once it has taken anything here.
func TestASecondaryThatOnlyAsksLags(t *testing.T) {
	at := netip.MustParseAddr("127.0.0.1")
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	s := New(Config{Key: key, Secondaries: []netip.AddrPort{netip.AddrPortFrom(at, 1)}, Now: func() time.Time { return now }, Log: slog.New(slog.DiscardHandler)})
	set := func(name string, serial uint32) {
		t.Helper()
		now = now.Add(time.Minute)
		records := []Record{{Name: name, Type: "NS", TTL: 60, Data: "ns1.stead.test."}}
		if err := s.Set(Zone{Name: name, Serial: serial, Primary: "ns1.stead.test", Contact: "h.stead.test", Records: records}); err != nil {
			t.Fatal(err)
		}
	}
	asks := func(name string) { s.followed.ask(at, s.zone(dns.CanonicalName(name)).zone) }
	takes := func(name string) {
		now = now.Add(time.Minute)
		z := s.zone(dns.CanonicalName(name)).zone
		s.followed.transfer(at, z, z.serial, now)
	}
	lag := func(what string, want time.Duration) {
		t.Helper()
		if got := s.Lags()[at]; got != want {
			t.Errorf("%s: %s, want %s", what, got, want)
		}
	}
	set("one.test", 1)
	set("two.test", 1)
	lag("nothing has changed", 0)

	set("one.test", 2)
	asks("one.test")
	now = now.Add(time.Hour)
	lag("it asks and takes nothing", time.Hour)
	asks("one.test") // and again
	set("one.test", 3)
	lag("it changes again", time.Hour+time.Minute)
	set("two.test", 2)
	takes("two.test")
	lag("it has not asked for what changed again", time.Hour+3*time.Minute)
	asks("one.test")
	lag("transfers come through: it has the other zone from another replica", 0)

	set("one.test", 4)
	set("two.test", 3)
	takes("one.test")
	asks("two.test")
	lag("it asks late for what it has from another replica", 0)

	set("one.test", 5)
	asks("one.test")
	s.followed.fail(at, s.zone("one.test.").zone, now)
	takes("two.test")
	lag("a transfer broke off", time.Minute)
	takes("one.test")
	lag("it was taken whole", 0)
}
