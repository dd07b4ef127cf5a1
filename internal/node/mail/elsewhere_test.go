package mail

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"stead.dev/stead/internal/node/accounts"
	"stead.dev/stead/internal/platform/testkit"
	"stead.dev/stead/internal/port/panel"
)

// zone is the DNS as the world sees it: mail exchangers and addresses by name. A name that is not in it is missing.
type zone struct {
	mu     sync.Mutex
	mx     map[string][]string
	a      map[string][]string
	silent bool
}

func (z *zone) LookupMX(_ context.Context, name string) (all []*net.MX, err error) {
	z.mu.Lock()
	defer z.mu.Unlock()
	if z.silent {
		return nil, &net.DNSError{Err: "timeout", IsTimeout: true}
	}
	for _, host := range z.mx[strings.TrimSuffix(name, ".")] {
		all = append(all, &net.MX{Host: host + "."})
	}
	return all, missing(len(all))
}

func (z *zone) LookupNetIP(_ context.Context, _, name string) (all []netip.Addr, err error) {
	z.mu.Lock()
	defer z.mu.Unlock()
	for _, a := range z.a[strings.TrimSuffix(name, ".")] {
		all = append(all, netip.MustParseAddr(a))
	}
	return all, missing(len(all))
}

func missing(found int) error {
	if found == 0 {
		return &net.DNSError{Err: "no such host", IsNotFound: true}
	}
	return nil
}

func (z *zone) set(f func(*zone)) {
	z.mu.Lock()
	defer z.mu.Unlock()
	f(z)
}

func TestWhereTheDNSLeadsMail(t *testing.T) {
	z := &zone{
		mx: map[string][]string{
			"by-name.example": {"mx.stead.test"}, "by-address.example": {"mail.by-address.example"}, "secondary.example": {"mx.other.test", "MX.stead.test"},
			"gmail.example": {"mx.other.test"}, "null.example": {""}, "nowhere.example": {"gone.other.test"},
		},
		a: map[string][]string{
			"mx.stead.test": {"192.0.2.9", "2001:db8::9"}, "mail.by-address.example": {"192.0.2.9"}, "mx.other.test": {"198.51.100.1"},
			"implicit.example": {"2001:db8::9"}, "site.example": {"198.51.100.2"},
		},
	}
	c := Config{Hostname: "mx.stead.test", IPv4: "192.0.2.9", Resolver: z}
	for domain, want := range map[string]bool{
		"by-name.example": false, "by-address.example": false, "secondary.example": false, "gmail.example": true, "null.example": false,
		"nowhere.example": false, "implicit.example": false, "site.example": true, "unknown.example": false,
	} {
		if elsewhere, known := c.leadsElsewhere(t.Context(), domain); elsewhere != want || !known {
			t.Errorf("%s: elsewhere %v, known %v", domain, elsewhere, known)
		}
	}
	own, err := net.InterfaceAddrs()
	must(t, err)
	for _, a := range own {
		if at := netip.MustParsePrefix(a.String()).Addr(); !at.IsLoopback() {
			z.set(func(z *zone) { z.a["mail.by-address.example"] = []string{at.String()} })
			if elsewhere, _ := c.leadsElsewhere(t.Context(), "by-address.example"); elsewhere {
				t.Errorf("%s is elsewhere", at)
			}
		}
	}
	z.set(func(z *zone) { z.a["mx.stead.test"] = []string{"127.0.1.1"} })
	if _, known := (Config{Hostname: "mx.stead.test", Resolver: z}).leadsElsewhere(t.Context(), "gmail.example"); known {
		t.Error("known, and nobody knows where this machine is")
	}
	z.set(func(z *zone) { z.silent = true })
	if _, known := c.leadsElsewhere(t.Context(), "gmail.example"); known {
		t.Error("known, and nobody answered")
	}
}

// Who says that a domain is theirs does not get what others on the machine write to it.
func TestMailForADomainThatLeadsElsewhereGoesThere(t *testing.T) {
	dns := &zone{mx: map[string][]string{"gmail.example": {"mx.outside.test"}}, a: map[string][]string{"mx.outside.test": {"198.51.100.1"}}}
	w := newWorldWith(t, func(c *Config) { c.Resolver = dns })
	w.change(alice, func(a *accounts.Account) { a.Domains = append(a.Domains, accounts.Domain{Name: "gmail.example"}) })
	w.set(alice, box("rest@gmail.example", func(m *panel.Mailbox) { m.CatchAll = true }))
	w.set(alice, box("anna@gmail.example", func(m *panel.Mailbox) { m.Aliases = []string{"ann@gmail.example", "ann@alice.example"} }))
	w.set(alice, box("shut@gmail.example", func(m *panel.Mailbox) { m.Suspended = true }))
	w.set(bob, box("me@bob.example"))
	w.set(bob, box("on@bob.example", func(m *panel.Mailbox) { m.ForwardTo = []string{"on@gmail.example"} }))
	send := func(to string) {
		t.Helper()
		must(t, w.sends("me@bob.example", password, "me@bob.example", to, text("me@bob.example", to, "to "+to)))
	}
	for _, to := range []string{"friend@gmail.example", "anna@gmail.example", "ann@gmail.example", "shut@gmail.example", "Anna+x@Gmail.example"} {
		send(to)
		w.gets(to, 1)
	}
	must(t, w.comes("someone@outside.test", "on@bob.example", "forwarded"))
	w.gets("on@gmail.example", 1)

	// What was led here comes in.
	must(t, w.comes("someone@outside.test", "anna@gmail.example", "by a filter"))
	w.has("anna@gmail.example", "by a filter")
	send("ann@alice.example")
	w.has("anna@gmail.example", "by a filter", "to ann@alice.example")
	must(t, w.comes("someone@outside.test", "typo@gmail.example", "for the rest"))
	w.has("rest@gmail.example", "for the rest")
	refused(t, w.comes("someone@outside.test", "shut@gmail.example", "suspended"), "450")
	refused(t, w.comes("someone@outside.test", "anna@gmail.example"+hereMark, "by the inner name"), "554")

	must(t, w.RemoveMailbox(t.Context(), alice, "rest@gmail.example"))
	refused(t, w.comes("someone@outside.test", "typo@gmail.example", "nobody's"), "550")

	// What the log says is told to whoever has the domain when it is read.
	testkit.Eventually(t, time.Minute, func() bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		return strings.Contains(fmt.Sprint(w.said["alice"]), "sent: from <someone@outside.test> to <anna@gmail.example>")
	}, "the log says what came in")

	// A domain that is taken away and added again is not believed meanwhile.
	w.change(alice, func(a *accounts.Account) { a.Domains = a.Domains[:2] })
	w.change(alice, func(a *accounts.Account) { a.Domains = append(a.Domains, accounts.Domain{Name: "gmail.example"}) })
	send("anna@gmail.example")
	w.gets("anna@gmail.example", 2)

	// The log tells nobody what others write to such a domain.
	w.logs.stop()
	w.mu.Lock()
	for _, l := range w.said["alice"] {
		if strings.Contains(l.Message, "from <me@bob.example> to <friend@gmail.example>") {
			t.Errorf("alice's log says %q", l.Message)
		}
	}
	if got := fmt.Sprint(w.said["alice"]); !strings.Contains(got, "sent: from <someone@outside.test> to <anna@gmail.example>") {
		t.Errorf("alice's log: %s", got)
	}
	w.mu.Unlock()
	w.logs = startLogs(w.Driver)

	// Its DNS is changed.
	dns.set(func(z *zone) { z.mx["gmail.example"] = []string{"mx.stead.test"} })
	must(t, w.lookAround(t.Context()))
	send("anna@gmail.example")
	w.has("anna@gmail.example", "by a filter", "to ann@alice.example", "to anna@gmail.example")
}
