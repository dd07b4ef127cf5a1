package epp

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/port/registrar"
	"stead.dev/stead/internal/port/registrar/epp/epptest"
	"stead.dev/stead/internal/port/registrar/registrartest"
)

var start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func open(t *testing.T) (*Client, *epptest.Server, *clock.Fake) {
	t.Helper()
	clk := clock.NewFake(start)
	registry := epptest.New(t, clk)
	return client(t, registry, clk, nil), registry, clk
}

func client(t *testing.T, registry *epptest.Server, clk clock.Clock, log *slog.Logger) *Client {
	t.Helper()
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	c := New(Config{
		Address: registry.Address, User: epptest.User, Password: epptest.Password, TLS: registry.Trust(), Clock: clk, Log: log,
		Timeout: 20 * time.Second,
	})
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func TestEPPIsARegistrar(t *testing.T) {
	registrartest.RunSuite(t, func(t *testing.T) registrartest.World {
		c, registry, clk := open(t)
		registry.AddOther("taken-shop.example", "secret-code", true)
		registry.AddOther("moved-shop.example", "secret-code", false)
		return registrartest.World{
			Registrar: c, Advance: func(d time.Duration) { clk.Advance(d) }, GraceFor: epptest.GraceFor, RedemptionFor: epptest.RedemptionFor,
			Free: "shop.example", Taken: "taken-shop.example", Movable: "moved-shop.example", Code: "secret-code",
			RequestTransferOut: registry.RequestTransferOut,
		}
	})
}

var anna = registrar.Contact{
	Name: "Anna Karimova", Email: "anna@example.com", Phone: "+998 90 123-45-67", Street: "Navoiy 1", City: "Tashkent", Country: "uz",
}

const shop = "shop.example"

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func kind(t *testing.T, what string, err error, want registrar.Kind) {
	t.Helper()
	if err == nil || registrar.KindOf(err) != want {
		t.Errorf("%s: %v, want kind %d", what, err, want)
	}
}

func registration(t *testing.T, c *Client) registrar.Registration {
	t.Helper()
	handle, err := c.PutContact(t.Context(), "stead-1", anna)
	must(t, err)
	return registrar.Registration{
		TransactionID: "stead-7", Name: shop, Years: 1, Nameservers: []string{"ns1.example.net"},
		Contacts: map[registrar.Role]string{registrar.Owner: handle, registrar.Admin: handle, registrar.Tech: handle, registrar.Billing: handle},
	}
}

// step is one thing that a caller wants of a registry. A caller repeats it as the port says: what the registry has is
// asked first.
type step struct {
	name string
	// done tells from what the registry has whether it is done.
	done func(d registrar.Domain, err error) bool
	do   func(ctx context.Context, c *Client, d registrar.Domain) error
}

func ours(d registrar.Domain, err error) bool { return err == nil && d.Ours }

// steps are a domain's whole life.
func steps() []step {
	expires := start.AddDate(1, 0, 0)
	glue := registrar.Host{Name: "ns1." + shop, Addresses: []netip.Addr{netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("2001:db8::1")}}
	ds := []registrar.DS{{KeyTag: 7, Algorithm: 13, DigestType: 2, Digest: "AB12"}}
	contacts := func(ctx context.Context, c *Client) (map[registrar.Role]string, error) {
		handle, err := c.PutContact(ctx, "stead-1", anna)
		return map[registrar.Role]string{registrar.Owner: handle, registrar.Admin: handle}, err
	}
	return []step{
		{"register", ours, func(ctx context.Context, c *Client, _ registrar.Domain) error {
			handles, err := contacts(ctx, c)
			if err != nil {
				return err
			}
			_, err = c.Register(ctx, registrar.Registration{
				TransactionID: "stead-7", Name: shop, Years: 1, Contacts: handles, Nameservers: []string{"ns1.example.net"}, Privacy: true,
			})
			return err
		}},
		{
			"glue", func(d registrar.Domain, err error) bool { return ours(d, err) && len(d.Hosts) == 1 },
			func(ctx context.Context, c *Client, _ registrar.Domain) error {
				return c.SetHosts(ctx, shop, []registrar.Host{glue})
			},
		},
		{
			"name servers", func(d registrar.Domain, err error) bool {
				return ours(d, err) && slices.Equal(d.Nameservers, []string{glue.Name})
			},
			func(ctx context.Context, c *Client, _ registrar.Domain) error {
				return c.SetNameservers(ctx, shop, []string{glue.Name})
			},
		},
		{
			"signers", func(d registrar.Domain, err error) bool { return ours(d, err) && slices.Equal(d.DS, ds) },
			func(ctx context.Context, c *Client, _ registrar.Domain) error { return c.SetDNSSEC(ctx, shop, ds) },
		},
		{
			"lock", func(d registrar.Domain, err error) bool { return ours(d, err) && d.Locked },
			func(ctx context.Context, c *Client, _ registrar.Domain) error { return c.SetLock(ctx, shop, true) },
		},
		{
			"show", func(d registrar.Domain, err error) bool { return ours(d, err) && !d.Privacy },
			func(ctx context.Context, c *Client, _ registrar.Domain) error { return c.SetPrivacy(ctx, shop, false) },
		},
		{
			"renew", func(d registrar.Domain, err error) bool { return ours(d, err) && d.ExpiresAt.After(expires) },
			func(ctx context.Context, c *Client, _ registrar.Domain) error {
				_, err := c.Renew(ctx, registrar.Renewal{TransactionID: "stead-8", Name: shop, Years: 2, ExpiresAt: expires})
				return err
			},
		},
	}
}

// run does a step as the port asks its callers to, and answers how often it was tried.
func run(t *testing.T, c *Client, s step) {
	t.Helper()
	for range 5 {
		now, err := c.Info(t.Context(), shop)
		if err != nil && registrar.KindOf(err) != registrar.NotFound {
			continue
		}
		if s.done(now, err) {
			return
		}
		err = s.do(t.Context(), c, now)
		if k := registrar.KindOf(err); err != nil && k != registrar.Unknown && k != registrar.Unreachable {
			t.Fatalf("%s: %v", s.name, err)
		}
	}
	t.Fatalf("%s is never done", s.name)
}

// The connection is cut at each frame in turn of a domain's whole life, a login and a hello among them: before it is
// sent, and after it is done and not answered; at some, when nothing is done or in the middle of the answer. What
// the registry then has is what it has without a cut: one registration and one renewal, and nothing is missing.
func TestACutConnectionNeitherRepeatsNorLosesAnything(t *testing.T) {
	whole := func(t *testing.T, n int, moment epptest.Moment) (registrar.Domain, *epptest.Server) {
		t.Helper()
		c, registry, clk := open(t)
		registry.Cut(n, moment)
		for _, s := range steps() {
			run(t, c, s)
			clk.Advance(time.Minute) // the session has been idle: it is asked with a hello
		}
		d, err := c.Info(t.Context(), shop)
		must(t, err)
		d.RegisteredAt = time.Time{}
		return d, registry
	}
	want, registry := whole(t, 0, 0)
	want.ExpiresAt = time.Time{}
	frames := registry.Received()
	if frames < 20 || registry.Hellos() == 0 {
		t.Fatalf("a life of %d frames and %d hellos", frames, registry.Hellos())
	}
	for moment, c := range map[epptest.Moment]struct {
		name  string
		every int
	}{
		epptest.BeforeSent: {"before it is sent", 1}, epptest.Unread: {"before it is done", 3}, epptest.Unanswered: {"before it is answered", 1},
		epptest.InAnswer: {"in the answer", 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			for n := 1; n <= frames; n += c.every {
				d, registry := whole(t, n, moment)
				if years := d.ExpiresAt.Year() - start.Year(); years != 3 {
					t.Errorf("cut at %d: %d years", n, years)
				}
				d.ExpiresAt = time.Time{}
				if got, want := fmt.Sprintf("%+v", d), fmt.Sprintf("%+v", want); got != want {
					t.Errorf("cut at %d:\n%s, want\n%s", n, got, want)
				}
				if a, b := registry.Created(shop), registry.Renewed(shop); a != 1 || b != 1 {
					t.Errorf("cut at %d: registered %d times, renewed %d times", n, a, b)
				}
			}
		})
	}
}

func TestACommandThatChangesSomethingIsNeverRepeated(t *testing.T) {
	c, registry, _ := open(t)
	in := registration(t, c)
	registry.Cut(3, epptest.Unanswered) // a host check and a host create come before it
	_, err := c.Register(t.Context(), in)
	kind(t, "the lost answer", err, registrar.Unknown)
	if !strings.Contains(err.Error(), "stead-7.") {
		t.Errorf("without the transaction: %v", err)
	}
	if n := registry.Received(); n != 3 {
		t.Errorf("%d frames", n)
	}
	d, err := c.Info(t.Context(), shop)
	if err != nil || !d.Ours || registry.Created(shop) != 1 {
		t.Errorf("%+v %v", d, err)
	}
	_, err = c.Register(t.Context(), in)
	kind(t, "again", err, registrar.Exists)
}

// What a registry sends that is no answer to the command leaves its outcome unknown, and ends the session.
func TestAnAnswerThatIsNoneIsNotBelieved(t *testing.T) {
	replace := func(old, with string) func([]byte) []byte {
		return func(packet []byte) []byte {
			changed := append([]byte{0, 0, 0, 0}, strings.Replace(string(packet[4:]), old, with, 1)...)
			binary.BigEndian.PutUint32(changed, uint32(len(changed)))
			return changed
		}
	}
	for what, spoil := range map[string]func([]byte) []byte{
		"of another command":  replace("<clTRID>stead", "<clTRID>staed"),
		"no result":           replace("<result", "<nothing"),
		"no XML":              replace("<epp", "<<epp"),
		"a greeting":          replace("response>", "greeting>"),
		"a code that is none": replace(`code="1000"`, `code="good"`),
		"endless":             func([]byte) []byte { return []byte{0xff, 0xff, 0xff, 0xff, '<'} },
		"empty":               func([]byte) []byte { return []byte{0, 0, 0, 4} },
		"of a negative size":  func([]byte) []byte { return []byte{0, 0, 0, 1, '<'} },
	} {
		c, registry, _ := open(t)
		in := registration(t, c)
		in.Nameservers = nil
		registry.Spoil = spoil
		registry.Cut(1, epptest.Spoiled)
		_, err := c.Register(t.Context(), in)
		kind(t, what, err, registrar.Unknown)
		d, err := c.Info(t.Context(), shop)
		if err != nil || !d.Ours || registry.Logins() != 2 || registry.Created(shop) != 1 {
			t.Errorf("%s: %+v %v, %d logins", what, d, err, registry.Logins())
		}
	}
}

// A registry that cannot read a command cannot say whose id it bears; it has not carried it out (RFC 5730, section 2.6).
func TestACommandThatTheRegistryCannotReadIsRefused(t *testing.T) {
	c, registry, _ := open(t)
	in := registration(t, c)
	in.Nameservers = nil
	registry.Spoil = func(packet []byte) []byte {
		changed := append([]byte{0, 0, 0, 0}, regexp.MustCompile("<clTRID>.*</clTRID>").ReplaceAll(packet[4:], nil)...)
		binary.BigEndian.PutUint32(changed, uint32(len(changed)))
		return changed
	}
	for code, want := range map[int]registrar.Kind{2001: registrar.Rejected, 2005: registrar.Rejected, 2302: registrar.Unknown} {
		must(t, c.Ready(t.Context())) // logged in
		registry.Answer(code)
		registry.Cut(1, epptest.Spoiled)
		_, err := c.Register(t.Context(), in)
		kind(t, fmt.Sprint(code), err, want)
	}
	for _, spoil := range []func(*registrar.Contact){
		func(c *registrar.Contact) { c.Name = " " }, func(c *registrar.Contact) { c.City = " " }, func(c *registrar.Contact) { c.Email = " " },
	} {
		bad := anna
		spoil(&bad)
		_, err := c.PutContact(t.Context(), "stead-2", bad)
		kind(t, "a contact that no registry can read", err, registrar.Rejected)
	}
}

// That a name server is another's says nothing of the domain that is to have it.
func TestANameServerThatTheRegistryRefuses(t *testing.T) {
	c, registry, _ := open(t)
	registry.AddOther("other.example", "secret-code", false)
	refused := func(what string, err error) {
		t.Helper()
		kind(t, what, err, registrar.Rejected)
		var e *registrar.Error
		if errors.As(err, &e); !strings.HasPrefix(e.Message, "ns9.other.example: ") {
			t.Errorf("%s: %s", what, e.Message)
		}
	}
	in := registration(t, c)
	in.Nameservers = []string{"ns9.other.example"}
	_, err := c.Register(t.Context(), in)
	refused("registered", err)
	in.Nameservers = nil
	_, err = c.Register(t.Context(), in)
	must(t, err)
	refused("delegated", c.SetNameservers(t.Context(), shop, []string{"ns9.other.example"}))
}

func TestARegistryThatHangsIsNotWaitedFor(t *testing.T) {
	_, registry, clk := open(t)
	c := New(Config{
		Address: registry.Address, User: epptest.User, Password: epptest.Password, TLS: registry.Trust(), Clock: clk,
		Log: slog.New(slog.DiscardHandler), Timeout: 2 * time.Second,
	})
	t.Cleanup(func() { _ = c.Close() })
	in := registration(t, c)
	in.Nameservers = nil
	registry.Cut(1, epptest.Never)
	_, err := c.Register(t.Context(), in)
	kind(t, "a command", err, registrar.Unknown)
	if d, err := c.Info(t.Context(), shop); err != nil || !d.Ours {
		t.Errorf("%+v %v", d, err)
	}
	registry.Cut(1, epptest.Never)
	if _, err := c.Info(t.Context(), shop); err != nil { // on another session
		t.Error(err)
	}
}

func TestSessionsAreUsedAgain(t *testing.T) {
	c, registry, clk := open(t)
	ask := func() {
		t.Helper()
		if _, err := c.Check(t.Context(), []string{shop}); err != nil {
			t.Error(err)
		}
	}
	for range 5 {
		ask()
	}
	if registry.Logins() != 1 || registry.Hellos() != 0 {
		t.Errorf("%d logins, %d hellos", registry.Logins(), registry.Hellos())
	}
	clk.Advance(time.Minute)
	ask()
	if registry.Logins() != 1 || registry.Hellos() != 1 {
		t.Errorf("idle: %d logins, %d hellos", registry.Logins(), registry.Hellos())
	}
	registry.Drop()
	ask()
	if registry.Logins() != 2 {
		t.Errorf("dropped: %d logins", registry.Logins())
	}
	registry.Drop()
	clk.Advance(time.Minute)
	in := registration(t, c)
	if _, err := c.Register(t.Context(), in); err != nil || registry.Created(shop) != 1 {
		t.Errorf("after a session that died idle: %v", err)
	}
	var all sync.WaitGroup
	for range 20 {
		all.Go(ask)
	}
	all.Wait()
	if n := registry.Logins(); n > 4 {
		t.Errorf("%d logins for two sessions at once", n)
	}
	must(t, c.Close())
	_, err := c.Check(t.Context(), []string{shop})
	kind(t, "closed", err, registrar.Unreachable)
}

func TestALoginThatIsRefusedIsNotTriedOnAndOn(t *testing.T) {
	c, registry, clk := open(t)
	registry.LoginCode = 2200
	for range 3 {
		_, err := c.Check(t.Context(), []string{shop})
		kind(t, "refused", err, registrar.Unreachable)
	}
	if registry.Logins() != 1 {
		t.Errorf("%d logins", registry.Logins())
	}
	registry.LoginCode = 0
	clk.Advance(loginPause)
	if _, err := c.Check(t.Context(), []string{shop}); err != nil {
		t.Error(err)
	}
}

// A registry may name the registrar otherwise than its login. Nothing is registered before that is told right.
func TestTheSponsorsNameIsProvedBeforeAnythingIsRegistered(t *testing.T) {
	_, registry, clk := open(t)
	config := Config{
		Address: registry.Address, User: epptest.User, Password: epptest.Password, Sponsor: "somebody", TLS: registry.Trust(), Clock: clk,
		Log: slog.New(slog.DiscardHandler),
	}
	wrong := New(config)
	defer wrong.Close()
	for range 2 { // made, and replaced
		_, err := wrong.PutContact(t.Context(), "stead-1", anna)
		kind(t, "another name", err, registrar.Unreachable)
	}
	config.Sponsor = strings.ToUpper(epptest.User)
	right := New(config)
	defer right.Close()
	_, err := right.PutContact(t.Context(), "stead-2", anna)
	must(t, err)
	must(t, right.Ready(t.Context()))
}

// An answer that does not say whose a domain is does not say that it is another's.
func TestADomainWithoutASponsorIsNoAnswer(t *testing.T) {
	c, registry, _ := open(t)
	_, err := c.Register(t.Context(), registration(t, c))
	must(t, err)
	registry.Spoil = func(packet []byte) []byte {
		changed := append([]byte{0, 0, 0, 0}, regexp.MustCompile("<d:clID>.*</d:clID>").ReplaceAll(packet[4:], nil)...)
		binary.BigEndian.PutUint32(changed, uint32(len(changed)))
		return changed
	}
	registry.Cut(1, epptest.Spoiled)
	_, err = c.Info(t.Context(), shop)
	kind(t, "without a sponsor", err, registrar.Unreachable)
}

func TestAStrangersCertificateIsNotTrusted(t *testing.T) {
	clk := clock.NewFake(start)
	registry, stranger := epptest.New(t, clk), epptest.New(t, clk)
	c := New(Config{
		Address: registry.Address, User: epptest.User, Password: epptest.Password, TLS: stranger.Trust(), Clock: clk, Log: slog.New(slog.DiscardHandler),
	})
	_, err := c.Check(t.Context(), []string{shop})
	kind(t, "another's certificate", err, registrar.Unreachable)
	if registry.Logins() != 0 {
		t.Error("the password was sent")
	}
}

func TestTheAnswersOfRegistriesAreTold(t *testing.T) {
	c, registry, _ := open(t)
	in := registration(t, c)
	in.Nameservers = nil
	for code, want := range map[int]registrar.Kind{
		2002: registrar.Unreachable, 2103: registrar.Unsupported, 2104: registrar.Unreachable, 2200: registrar.Unreachable,
		2302: registrar.Exists, 2303: registrar.Rejected, 2304: registrar.Locked, 2306: registrar.Rejected, 2308: registrar.Rejected,
		2400: registrar.Unknown, 2500: registrar.Unknown, 2502: registrar.Unreachable,
	} {
		registry.Answer(code)
		_, err := c.Register(t.Context(), in)
		kind(t, fmt.Sprint(code), err, want)
		var e *registrar.Error
		if errors.As(err, &e) && code == 2306 && e.Message != "Parameter value policy error; the policy of the tests" {
			t.Errorf("message %q", e.Message)
		}
		if errors.As(err, &e) && e.Kind == registrar.Unreachable && e.Message != "" {
			t.Errorf("customers would read %q", e.Message)
		}
	}
	if registry.Created(shop) != 0 {
		t.Error("registered")
	}
	registry.Answer(2400)
	_, err := c.Info(t.Context(), shop)
	kind(t, "a query that failed", err, registrar.Unreachable)
}

func TestWhatTheGreetingDoesNotOfferIsNotAskedFor(t *testing.T) {
	c, registry, _ := open(t)
	registry.Extensions = nil
	_, err := c.Register(t.Context(), registration(t, c))
	must(t, err)
	kind(t, "signers", c.SetDNSSEC(t.Context(), shop, []registrar.DS{{KeyTag: 1, Algorithm: 13, DigestType: 2, Digest: "AB"}}), registrar.Unsupported)
	must(t, c.SetDNSSEC(t.Context(), shop, nil))
}

func TestWhatTheRegistryHasNotDecidedIsUnknown(t *testing.T) {
	c, registry, _ := open(t)
	registry.Slow = true
	_, err := c.Register(t.Context(), registration(t, c))
	kind(t, "registered", err, registrar.Unknown)
	_, err = c.Info(t.Context(), shop)
	kind(t, "info", err, registrar.Undecided)
	registry.Decide(shop, true)
	m, ok, err := c.Poll(t.Context())
	if err != nil || !ok || m.Name != shop {
		t.Errorf("%+v %v %v", m, ok, err)
	}
	if d, err := c.Info(t.Context(), shop); err != nil || !d.Ours {
		t.Errorf("%+v %v", d, err)
	}
}

func TestATransferThatTakesDays(t *testing.T) {
	for _, yes := range []bool{true, false} {
		c, registry, _ := open(t)
		registry.Slow = true
		registry.AddOther("moved.example", "secret-code", false)
		ask := registrar.TransferIn{TransactionID: "stead-9", Name: "moved.example", AuthCode: "secret-code", Years: 1}
		must(t, c.Transfer(t.Context(), ask))
		state, err := c.TransferState(t.Context(), "moved.example", start)
		if err != nil || state != registrar.TransferPending {
			t.Errorf("%s %v", state, err)
		}
		kind(t, "again", c.Transfer(t.Context(), ask), registrar.Exists)
		registry.Decide("moved.example", yes)
		want := registrar.TransferRejected
		if yes {
			want = registrar.TransferDone
		}
		if state, err = c.TransferState(t.Context(), "moved.example", start); err != nil || state != want {
			t.Errorf("%s %v, want %s", state, err, want)
		}
		if yes {
			continue
		}
		if state, err = c.TransferState(t.Context(), "moved.example", start.Add(time.Second)); err != nil || state != registrar.TransferNone {
			t.Errorf("an old one: %s %v", state, err)
		}
	}
}

// A restore is cut at each frame; called again, it goes on where it ended.
func TestARestoreIsPickedUpWhereItEnded(t *testing.T) {
	for n := 1; n <= 5; n++ {
		for _, moment := range []epptest.Moment{epptest.BeforeSent, epptest.Unread, epptest.Unanswered} {
			c, registry, clk := open(t)
			d, err := c.Register(t.Context(), registration(t, c))
			must(t, err)
			clk.Advance(d.ExpiresAt.Sub(start) + epptest.GraceFor)
			registry.Cut(n, moment)
			for range 5 {
				now, err := c.Info(t.Context(), shop)
				if err == nil && now.Status == registrar.Active {
					break
				}
				if err == nil {
					_, err = c.Restore(t.Context(), "stead-10", shop)
				}
				if k := registrar.KindOf(err); err != nil && k != registrar.Unknown && k != registrar.Unreachable {
					t.Errorf("cut at %d: %v", n, err)
				}
			}
			now, err := c.Info(t.Context(), shop)
			if err != nil || now.Status != registrar.Active || !now.ExpiresAt.Equal(d.ExpiresAt.AddDate(1, 0, 0)) || registry.Renewed(shop) != 0 {
				t.Errorf("cut at %d: %+v %v", n, now, err)
			}
		}
	}
}

func TestContacts(t *testing.T) {
	c, registry, _ := open(t)
	handle, err := c.PutContact(t.Context(), "stead-1", anna)
	must(t, err)
	if got := registry.Contact(handle); got != "int|Anna Karimova||Tashkent|+998.901234567|anna@example.com" {
		t.Error(got)
	}
	local := anna
	local.Name, local.Organization, local.City, local.Phone = "Анна\nКаримова", "<Bozor> & Co", "Ташкент", "+12025550123"
	var again string
	for range 2 { // the first contact keeps its ASCII form, so somebody whom that cannot hold gets another
		again, err = c.PutContact(t.Context(), "stead-1", local)
		if got := registry.Contact(again); err != nil || again == handle || got != "loc|Анна Каримова|<Bozor> & Co|Ташкент|+1.2025550123|anna@example.com" {
			t.Error(again, got, err)
		}
	}
	bek := anna
	bek.Name, bek.Phone = "Bek", ""
	if same, err := c.PutContact(t.Context(), "stead-1", bek); err != nil || same != handle || registry.Contact(handle) != "int|Bek||Tashkent||anna@example.com" {
		t.Error(same, registry.Contact(handle), err)
	}
	both := contactUpdate{ID: again, Change: contactChange{Postal: []postalInfo{{Type: "int", Name: "Anna", City: "Tashkent", Country: "UZ"}}}}
	_, err = c.do(t.Context(), request{what: "contact update", command: command{Update: &object{both}}, changes: true})
	must(t, err)
	same, err := c.PutContact(t.Context(), again, bek)
	if got := registry.Contact(again); err != nil || same != again || got != "int|Bek||Tashkent||anna@example.com\nloc|Bek||Tashkent||anna@example.com" {
		t.Error(same, got, err)
	}
	registry.AddContact("stead-2")
	mine, err := c.PutContact(t.Context(), "stead-2", anna)
	if err != nil || mine == "stead-2" || len(mine) > handleMax || registry.Contact(mine) == "" {
		t.Errorf("a handle of another's: %q %v", mine, err)
	}
	if again, err := c.PutContact(t.Context(), "stead-2", anna); err != nil || again != mine {
		t.Errorf("the second time: %q %v", again, err)
	}
	bad := anna
	bad.Phone = "0901234567"
	for what, in := range map[string]registrar.Contact{"nobody": {}, "a number without a country": bad} {
		_, err := c.PutContact(t.Context(), "stead-3", in)
		kind(t, what, err, registrar.Rejected)
	}
}

// Whoever becomes a contact of a domain whose contacts are hidden is hidden too.
func TestNewContactsOfAPrivateDomainAreHidden(t *testing.T) {
	c, _, _ := open(t)
	in := registration(t, c)
	in.Privacy = true
	_, err := c.Register(t.Context(), in)
	must(t, err)
	owner, err := c.PutContact(t.Context(), "stead-1O", anna)
	must(t, err)
	tech, err := c.PutContact(t.Context(), "stead-1T", anna)
	must(t, err)
	handles := map[registrar.Role]string{registrar.Owner: owner, registrar.Tech: tech}
	must(t, c.SetContacts(t.Context(), shop, handles))
	for role, handle := range handles {
		if hidden, err := c.private(t.Context(), handle); err != nil || !hidden {
			t.Errorf("the %s is shown: %v", role, err)
		}
	}
	local := anna
	local.Name = "Анна Каримова"
	owner, err = c.PutContact(t.Context(), owner, local)
	must(t, err)
	must(t, c.SetContacts(t.Context(), shop, map[registrar.Role]string{registrar.Owner: owner, registrar.Tech: tech}))
	for range 2 {
		now, err := c.contact(t.Context(), owner)
		if err != nil || !now.private() || !slices.Contains(now.Disclose.Address, typed{"loc"}) {
			t.Errorf("in another form it is shown: %+v %v", now.Disclose, err)
		}
		_, err = c.PutContact(t.Context(), owner, local)
		must(t, err)
	}
	must(t, c.SetPrivacy(t.Context(), shop, false))
	shown, err := c.PutContact(t.Context(), "stead-1A", anna)
	must(t, err)
	must(t, c.SetContacts(t.Context(), shop, map[registrar.Role]string{registrar.Owner: shown}))
	if hidden, err := c.private(t.Context(), shown); err != nil || hidden {
		t.Errorf("the owner of a domain that is not private is hidden: %v", err)
	}
}

func TestGlueIsReplaced(t *testing.T) {
	c, _, _ := open(t)
	_, err := c.Register(t.Context(), registration(t, c))
	must(t, err)
	set := func(hosts ...registrar.Host) {
		t.Helper()
		must(t, c.SetHosts(t.Context(), shop, hosts))
		d, err := c.Info(t.Context(), shop)
		if err != nil || fmt.Sprint(d.Hosts) != fmt.Sprint(hosts) {
			t.Errorf("%v %v, want %v", d.Hosts, err, hosts)
		}
	}
	one, two := netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("192.0.2.2")
	set(registrar.Host{Name: "a." + shop, Addresses: []netip.Addr{one}})
	set(registrar.Host{Name: "a." + shop, Addresses: []netip.Addr{two}}, registrar.Host{Name: "b." + shop, Addresses: []netip.Addr{one}})
	set(registrar.Host{Name: "b." + shop, Addresses: []netip.Addr{one}})
	kind(t, "a name server below the domain without an address", c.SetNameservers(t.Context(), shop, []string{"c." + shop}), registrar.Rejected)
	must(t, c.SetNameservers(t.Context(), shop, []string{"b." + shop}))
	kind(t, "one that is in use", c.SetHosts(t.Context(), shop, nil), registrar.Rejected)
}

func TestANoticeAboutNoDomainIsReadAndAcknowledged(t *testing.T) {
	c, registry, _ := open(t)
	registry.Tell("The balance of your account is low")
	m, ok, err := c.Poll(t.Context())
	if err != nil || !ok || m.Name != "" || m.Text != "The balance of your account is low" || !m.At.Equal(start) {
		t.Errorf("%+v %v %v", m, ok, err)
	}
	for range 2 {
		must(t, c.Acknowledge(t.Context(), m.ID))
	}
}

// lines is a log.
type lines struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func TestTheLogHoldsNoSecretAndNoContact(t *testing.T) {
	clk := clock.NewFake(start)
	registry := epptest.New(t, clk)
	log := &lines{}
	c := client(t, registry, clk, slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug})))
	in := registration(t, c)
	registry.Answer(2306)
	_, refused := c.Register(t.Context(), in)
	_, err := c.Register(t.Context(), in)
	must(t, err)
	code, err := c.AuthCode(t.Context(), shop)
	must(t, err)
	registry.Cut(1, epptest.Unanswered)
	lost := c.SetLock(t.Context(), shop, true)
	all := log.text.String() + fmt.Sprint(refused, lost)
	if !strings.Contains(all, "domain create") || !strings.Contains(all, "stead-7.") {
		t.Error("the log does not tell of the commands")
	}
	for _, secret := range []string{epptest.Password, code, "Anna", "Karimova", "anna@example.com", "901234567"} {
		if strings.Contains(all, secret) {
			t.Errorf("the log holds %q", secret)
		}
	}
}

func TestAContextThatEndsFreesTheSession(t *testing.T) {
	c, registry, _ := open(t)
	if _, err := c.Check(t.Context(), []string{shop}); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	_, err := c.Check(ctx, []string{shop})
	kind(t, "a context that has ended", err, registrar.Unreachable)
	kind(t, "a command in it", c.change(ctx, domainUpdate{Name: shop}), registrar.Unreachable)
	if _, err := c.Check(t.Context(), []string{shop}); err != nil {
		t.Error(err)
	}
	if registry.Logins() != 1 {
		t.Errorf("%d logins", registry.Logins())
	}
}

func TestReasons(t *testing.T) {
	yes, no := true, false
	for _, c := range []struct {
		text      string
		available *bool
		want      string
		premium   bool
	}{
		{"In use", &no, "taken", false},
		{"", &no, "taken", false},
		{"Reserved name", &no, "reserved", false},
		{"Blocked by policy", &no, "restricted", false},
		{"Premium name", &yes, "premium", true},
		{"", &yes, "", false},
		{"In use", nil, "", false},
	} {
		if got, premium := reason(c.text, c.available); got != c.want || premium != c.premium {
			t.Errorf("%q: %q %t", c.text, got, premium)
		}
	}
}
