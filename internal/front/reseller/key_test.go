package reseller

import (
	"context"
	"errors"
	"log/slog"
	"net/netip"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"stead.dev/stead/internal/commerce/wallet"
	"stead.dev/stead/internal/identity/account"
	"stead.dev/stead/internal/platform/api"
	"stead.dev/stead/internal/platform/auth"
	"stead.dev/stead/internal/platform/brand"
	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/jobs"
	"stead.dev/stead/internal/platform/money"
	"stead.dev/stead/internal/platform/outbox"
	"stead.dev/stead/internal/platform/secret"
	"stead.dev/stead/internal/platform/signal"
	"stead.dev/stead/internal/platform/testkit"
	"stead.dev/stead/internal/platform/throttle"
	"stead.dev/stead/internal/port/mailer"
)

// here is where the tests call from.
var here = netip.MustParseAddr("192.0.2.7")

// world is the front with real accounts and wallets, and one reseller.
type world struct {
	*Service
	t   *testing.T
	clk *clock.Fake
	Reseller
	balance money.USDCents // of everybody, as their services see it
}

type everySection struct{}

func (everySection) Enabled(api.Section) bool { return true }

// each runs f in a world on each engine.
func each(t *testing.T, f func(t *testing.T, w *world)) {
	t.Helper()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		box, err := secret.OpenKeyFile(filepath.Join(t.TempDir(), "key"))
		if err != nil {
			t.Fatal(err)
		}
		quiet := slog.New(slog.DiscardHandler)
		q, err := jobs.New(d, jobs.Config{MaxWorkers: 1, Logger: quiet})
		if err != nil {
			t.Fatal(err)
		}
		accounts, err := account.New(account.Config{
			DB: d, Clock: clk, Box: box, Queue: q, Signals: signal.NewHub(d, clk, quiet), Limiter: throttle.New(d, clk),
			Modules: everySection{}, BaseURL: "https://stead.test", Brand: brand.Fixed(brand.Brand{Name: "Stead"}), Letters: &mailer.Writer{Brand: brand.Fixed(brand.Brand{Name: "Stead"}), BaseURL: "https://stead.test"}, Language: "en", Currency: "USD",
		})
		if err != nil {
			t.Fatal(err)
		}
		accounts.Connect(account.Needs{Grants: account.NoGrants{}, Pushes: account.NoGrants{}, Referrals: account.NoReferrals{}})
		w := &world{t: t, clk: clk, Service: New(Config{
			DB: d, Clock: clk, Accounts: accounts, Events: outbox.New(d), Company: brand.Fixed(brand.Brand{Name: "Stead"}),
			Wallet: wallet.New(wallet.Config{DB: d, Clock: clk, Events: outbox.New(d), Box: box, Log: quiet, Queue: jobs.Discard{}, BaseURL: "https://stead.test/"}),
		})}
		w.Reseller = w.appoint("anna@stead.test")
		f(t, w)
	})
}

func (w *world) appoint(email string) Reseller {
	w.t.Helper()
	p, err := w.Accounts.Create(w.t.Context(), account.NewAccount{Email: email, Name: "Anna", Verified: true})
	if err != nil {
		w.t.Fatal(err)
	}
	r, err := w.Appoint(w.t.Context(), p.ID, "gold", 2000)
	if err != nil {
		w.t.Fatal(err)
	}
	return r
}

func (w *world) key(n NewKey) (Key, string) {
	w.t.Helper()
	n.Name = "Test"
	k, token, err := w.CreateKey(w.t.Context(), w.AccountID, n)
	if err != nil {
		w.t.Fatal(err)
	}
	return k, token
}

func (w *world) passes(token string, from netip.Addr) auth.Principal {
	w.t.Helper()
	p, err := w.VerifyKey(w.t.Context(), token, from)
	if err != nil {
		w.t.Fatalf("from %s: %v", from, err)
	}
	return p
}

func (w *world) refused(token string, from netip.Addr, want *fault.Def) {
	w.t.Helper()
	if p, err := w.VerifyKey(w.t.Context(), token, from); !errors.Is(err, want) {
		w.t.Errorf("from %s: %+v, %v, want %s", from, p, err, want.Key)
	}
}

func TestAKeyIsShownOnceAndKeptHashed(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		k, token := w.key(NewKey{})
		if !strings.HasPrefix(token, "rsk_") || strings.HasPrefix(token, "rsk_test_") || !strings.HasSuffix(token, k.Hint) {
			t.Errorf("a key whose hint is %q begins with %.9s", k.Hint, token)
		}
		if p := w.passes(token, here); p.AccountID != w.AccountID || p.KeyID != k.ID || p.ReadOnly || p.Currency != "USD" {
			t.Errorf("%+v", p)
		}
		rows, err := db.Collect(t.Context(), w.DB, func(row db.Row) (kept string, err error) {
			var hash []byte
			var name, hint, addresses string
			err = row.Scan(&hash, &name, &hint, &addresses)
			return string(hash) + name + hint + addresses, err
		}, `SELECT hash, name, hint, addresses FROM reseller_keys`)
		if err != nil || len(rows) != 1 {
			t.Fatalf("%d rows, %v", len(rows), err)
		}
		if strings.Contains(rows[0], strings.TrimPrefix(token, livePrefix)) {
			t.Error("the table has the key itself")
		}
		flipped := token[:len(token)-1] + map[bool]string{true: "B", false: "A"}[token[len(token)-1] == 'A']
		for _, wrong := range []string{"", "rsk_", token + "x", flipped, strings.TrimPrefix(token, "rsk_"), "stk_" + token, strings.ToUpper(token)} {
			w.refused(wrong, here, fault.APIKeyInvalid)
		}
	})
}

func TestARevokedKeyIsRefusedAtTheNextRequest(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		k, token := w.key(NewKey{})
		_, other := w.key(NewKey{})
		w.passes(token, here)
		if err := w.RevokeKey(t.Context(), k.ID); err != nil {
			t.Fatal(err)
		}
		w.refused(token, here, fault.APIKeyRevoked)
		w.passes(other, here)

		own, mine := w.key(NewKey{})
		for _, account := range []int64{w.AccountID + 1000, w.SandboxID} {
			if err := w.RevokeOwnKey(t.Context(), account, own.ID); !errors.Is(err, fault.NotFound) {
				t.Errorf("by account %d: %v", account, err)
			}
		}
		w.passes(mine, here)
		if err := w.RevokeOwnKey(t.Context(), w.AccountID, own.ID); err != nil {
			t.Fatal(err)
		}
		w.refused(mine, here, fault.APIKeyRevoked)

		first := w.find(k.ID).RevokedAt
		w.clk.Advance(time.Hour)
		if err := w.RevokeKey(t.Context(), k.ID); err != nil {
			t.Fatal(err)
		}
		if again := w.find(k.ID).RevokedAt; first == nil || again == nil || !again.Equal(*first) {
			t.Errorf("revoked at %v, then at %v", first, again)
		}
		if err := w.RevokeKey(t.Context(), 999); !errors.Is(err, fault.NotFound) {
			t.Errorf("an unknown key: %v", err)
		}
	})
}

func (w *world) find(id int64) Key {
	w.t.Helper()
	all, err := w.Keys(w.t.Context(), w.AccountID)
	i := slices.IndexFunc(all, func(k Key) bool { return k.ID == id })
	if err != nil || i < 0 {
		w.t.Fatalf("key %d is not among %d: %v", id, len(all), err)
	}
	return all[i]
}

func TestAKeyIsBoundToItsAddresses(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		networks := func(all ...string) (p []netip.Prefix) {
			for _, n := range all {
				p = append(p, netip.MustParsePrefix(n))
			}
			return p
		}
		_, token := w.key(NewKey{Addresses: networks("192.0.2.0/24", "2001:db8::1/64", "::ffff:198.51.100.7/128")})
		for _, in := range []string{"192.0.2.255", "::ffff:192.0.2.1", "2001:db8::ffff", "198.51.100.7", "::ffff:198.51.100.7"} {
			w.passes(token, netip.MustParseAddr(in))
		}
		for _, out := range []string{"192.0.3.1", "::ffff:192.0.3.1", "2001:db8:0:1::1", "198.51.100.8", "::192.0.2.1"} {
			w.refused(token, netip.MustParseAddr(out), fault.AddressNotAllowed)
		}
		w.refused(token, netip.Addr{}, fault.AddressNotAllowed)
		for _, bad := range []netip.Prefix{{}, netip.MustParsePrefix("::ffff:0:0/90")} {
			if _, _, err := w.CreateKey(t.Context(), w.AccountID, NewKey{Name: "Bad", Addresses: []netip.Prefix{bad}}); err == nil {
				t.Errorf("%s was taken for a network", bad)
			}
		}
	})
}

func TestASandboxKeyWorksOnTheTwin(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		k, token := w.key(NewKey{Sandbox: true, ReadOnly: true})
		if !strings.HasPrefix(token, "rsk_test_") {
			t.Errorf("a sandbox key begins with %.9s", token)
		}
		p := w.passes(token, here)
		if p.AccountID != w.SandboxID || w.SandboxID == w.AccountID || !p.ReadOnly || p.KeyID != k.ID {
			t.Errorf("%+v on the sandbox %d", p, w.SandboxID)
		}
		for id, want := range map[int64]bool{w.SandboxID: true, w.AccountID: false} {
			b, err := w.Wallet.Balance(t.Context(), w.DB, id)
			if err != nil || (b.Spendable > 0) != want {
				t.Errorf("account %d has %d, %v", id, b.Spendable, err)
			}
		}
	})
}

func TestTheLastUseIsKnownToTheMinute(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		k, token := w.key(NewKey{})
		if w.find(k.ID).LastUsedAt != nil {
			t.Error("used before it was used")
		}
		start := w.clk.Now()
		for _, c := range []struct{ after, noted time.Duration }{
			{0, 0}, {59 * time.Second, 0}, {60 * time.Second, 60 * time.Second}, {100 * time.Second, 60 * time.Second},
		} {
			w.clk.Advance(start.Add(c.after).Sub(w.clk.Now()))
			w.passes(token, here)
			used := w.find(k.ID)
			if used.LastUsedAt == nil || !used.LastUsedAt.Equal(start.Add(c.noted)) || used.LastAddress == nil || *used.LastAddress != here.String() {
				t.Errorf("after %s: %v from %v, want %s", c.after, used.LastUsedAt, used.LastAddress, start.Add(c.noted))
			}
		}
		w.refused("rsk_unknown", here, fault.APIKeyInvalid)
	})
}

func TestAResellerHasABoundNumberOfKeys(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		var first Key
		for n := range maxKeys {
			if k, _ := w.key(NewKey{}); n == 0 {
				first = k
			}
		}
		if _, _, err := w.CreateKey(t.Context(), w.AccountID, NewKey{Name: "One more"}); err == nil {
			t.Error("there is no bound")
		}
		if err := w.RevokeKey(t.Context(), first.ID); err != nil {
			t.Fatal(err)
		}
		w.key(NewKey{}) // a revoked one does not count
		for _, bad := range []string{"", "  ", "two\nlines", strings.Repeat("x", maxName+1)} {
			if _, _, err := w.CreateKey(t.Context(), w.AccountID, NewKey{Name: bad}); err == nil {
				t.Errorf("a key is called %q", bad)
			}
		}
		if _, _, err := w.CreateKey(t.Context(), w.SandboxID, NewKey{Name: "Test"}); !errors.Is(err, ErrNoReseller) {
			t.Errorf("of an account that sells nothing: %v", err)
		}
	})
}

func TestWhoIsNotLetInHasNoKeys(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		_, live := w.key(NewKey{})
		_, sandbox := w.key(NewKey{Sandbox: true})
		both := func(want *fault.Def) {
			t.Helper()
			w.refused(live, here, want)
			w.refused(sandbox, here, want)
		}
		if err := w.Accounts.Suspend(t.Context(), w.AccountID, "abuse"); err != nil {
			t.Fatal(err)
		}
		both(fault.AccountSuspended)
		if err := w.Accounts.Unsuspend(t.Context(), w.AccountID); err != nil {
			t.Fatal(err)
		}
		w.passes(live, here)
		w.passes(sandbox, here)
		if err := w.Accounts.Close(t.Context(), w.AccountID); err != nil {
			t.Fatal(err)
		}
		both(fault.AccountSuspended)
	})
}

func TestTermsChangeAndTheSandboxStays(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		again, err := w.Appoint(t.Context(), w.AccountID, "platinum", 3333)
		if err != nil || again.SandboxID != w.SandboxID || again.Tier != "platinum" || again.Discount != 3333 {
			t.Errorf("%+v, %v", again, err)
		}
		b, err := w.Wallet.Balance(t.Context(), w.DB, w.SandboxID)
		if err != nil || b.Spendable != playMoney {
			t.Errorf("the sandbox has %d, %v", b.Spendable, err)
		}
		other := w.appoint("boris@stead.test")
		all, err := w.List(t.Context())
		if err != nil || len(all) != 2 || all[0] != again || all[1] != other {
			t.Errorf("%+v, %v", all, err)
		}
		for _, id := range []int64{w.AccountID, w.SandboxID} {
			if r, err := of(context.Background(), w.DB, id); err != nil || r != again {
				t.Errorf("of %d: %+v, %v", id, r, err)
			}
		}
		for _, bad := range []struct {
			tier     string
			discount int
		}{{"", 0}, {"gold", -1}, {"gold", 10_001}, {strings.Repeat("x", 41), 0}} {
			if _, err := w.Appoint(t.Context(), w.AccountID, bad.tier, bad.discount); err == nil {
				t.Errorf("terms %+v", bad)
			}
		}
	})
}
