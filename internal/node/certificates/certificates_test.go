package certificates

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"stead.dev/stead/internal/node/accounts"
	"stead.dev/stead/internal/platform/certificate"
	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/testkit"
	"stead.dev/stead/internal/port/panel"
)

// world is a machine's certificates with accounts of the test.
type world struct {
	*testing.T
	*Driver
	dir string
	clk *clock.Fake

	mu       sync.Mutex
	accounts map[string]accounts.Account
	follows  error // what the sites' following answers
	followed int
}

func open(t *testing.T) *world {
	t.Helper()
	w := &world{T: t, dir: t.TempDir(), clk: clock.NewFake(testkit.Start), accounts: map[string]accounts.Account{}}
	w.reopen()
	w.account("alice", "alice.example", "shop.example")
	return w
}

func (w *world) reopen() {
	w.Helper()
	var err error
	w.Driver, err = Open(w.dir, func(ref string) (accounts.Account, error) {
		w.mu.Lock()
		defer w.mu.Unlock()
		a, ok := w.accounts[ref]
		if !ok {
			return a, panel.ErrNotFound
		}
		return a, nil
	}, w.clk.Now)
	w.must(err)
	w.Follow(func(ctx context.Context, ref string) error {
		w.followed++
		a, err := w.Driver.accounts(ref)
		return errors.Join(err, w.Apply(ctx, a), w.follows)
	})
}

func (w *world) account(ref string, domains ...string) accounts.Account {
	w.Helper()
	a := accounts.Account{Record: accounts.Record{Ref: ref, Name: ref}}
	for _, d := range domains {
		a.Domains = append(a.Domains, accounts.Domain{Name: d})
	}
	w.mu.Lock()
	w.accounts[ref] = a
	w.mu.Unlock()
	w.must(w.Apply(w.Context(), a))
	return a
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// certificate is one of the simulated authority for the names.
func (w *world) certificate(name string, domains ...string) panel.Certificate {
	w.Helper()
	authority, err := NewSimulated(w.clk.Now)
	w.must(err)
	chain, key := issued(w.T, authority, domains...)
	return panel.Certificate{Name: name, Chain: chain, Key: key, Domains: domains}
}

func (w *world) set(c panel.Certificate) {
	w.Helper()
	_, err := w.SetCertificate(w.Context(), "alice", c)
	w.must(err)
}

func (w *world) files(account string) []string {
	w.Helper()
	entries, err := os.ReadDir(filepath.Join(w.dir, "certificates", "files", account))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		w.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		info, err := e.Info()
		w.must(err)
		if info.Mode().Perm() != 0o600 {
			w.Errorf("%s may be read by others: %v", e.Name(), info.Mode())
		}
		names = append(names, e.Name())
	}
	return names
}

func TestFilesAreThoseOfWhatIsKeptAndOfNobodyElse(t *testing.T) {
	w := open(t)
	if got := w.files("alice"); len(got) != 4 {
		t.Errorf("of two own certificates: %v", got)
	}
	w.set(w.certificate("c1", "alice.example"))
	first, _ := w.Site("alice", "alice.example")
	w.set(w.certificate("c1", "alice.example"))
	second, _ := w.Site("alice", "alice.example")
	if first.Chain == second.Chain || first.TLS != panel.TLSActive || len(w.files("alice")) != 6 {
		t.Errorf("after a renewal: %+v, %+v, files %v", first, second, w.files("alice"))
	}
	if _, err := tls.LoadX509KeyPair(second.Chain, second.Key); err != nil {
		t.Error(err)
	}
	info, err := os.Stat(filepath.Join(w.dir, "certificates", "files"))
	w.must(err)
	if info.Mode().Perm() != 0o700 {
		t.Errorf("the directory of keys is %v", info.Mode())
	}
	w.reopen()
	if again, ok := w.Site("alice", "alice.example"); !ok || again != second {
		t.Errorf("after a start: %+v", again)
	}
	// Applied again nothing changes.
	before := w.files("alice")
	w.must(w.Apply(t.Context(), w.accounts["alice"]))
	if !slices.Equal(before, w.files("alice")) {
		t.Error("applying changed files")
	}
	w.must(w.SetChallenge(t.Context(), "alice", panel.Challenge{Domain: "alice.example", Token: "a", KeyAuthorization: "a.b"}))
	w.must(w.Remove(t.Context(), w.accounts["alice"]))
	if got := w.files("alice"); len(got) != 0 {
		t.Errorf("of a removed account: %v", got)
	}
	if _, err := os.Stat(filepath.Join(w.dir, "acme", "a")); !errors.Is(err, os.ErrNotExist) {
		t.Error("a proof of a removed account stays")
	}
	w.must(w.Remove(t.Context(), w.accounts["alice"]))
}

func TestSitesThatDoNotFollowKeepTheOldCertificate(t *testing.T) {
	w := open(t)
	w.set(w.certificate("c1", "alice.example"))
	before, _ := w.Site("alice", "alice.example")
	w.follows = errors.New("nginx: configuration file test failed")
	if _, err := w.SetCertificate(t.Context(), "alice", w.certificate("c1", "alice.example")); err == nil {
		t.Fatal("a certificate that the sites do not take is set")
	}
	if err := w.RemoveCertificate(t.Context(), "alice", "c1"); err == nil {
		t.Error("it is removed though the sites do not follow")
	}
	now, _ := w.Site("alice", "alice.example")
	if now != before {
		t.Errorf("after failures: %+v, before %+v", now, before)
	}
	if _, err := os.Stat(now.Key); err != nil {
		t.Error(err)
	}
	w.follows = nil
	w.set(w.certificate("c2", "shop.example"))
	if got := w.files("alice"); len(got) != 8 {
		t.Errorf("what failed left files: %v", got)
	}
}

func TestWhatIsLostOrOldIsMadeAnew(t *testing.T) {
	w := open(t)
	w.set(w.certificate("c1", "alice.example"))
	site, _ := w.Site("alice", "alice.example")
	w.must(os.Remove(site.Key))
	w.must(w.Apply(t.Context(), w.accounts["alice"]))
	if list, err := w.InstalledCertificates(t.Context(), "alice"); err != nil || len(list) != 0 {
		t.Errorf("a certificate without its key is listed: %v %v", list, err)
	}
	own, _ := w.Site("alice", "alice.example")
	if own.TLS != panel.TLSSelfSigned {
		t.Errorf("answered with %+v", own)
	}
	w.clk.Advance(ownLife - ownEarly + time.Hour)
	w.must(w.Apply(t.Context(), w.accounts["alice"]))
	if now, _ := w.Site("alice", "alice.example"); now.Chain == own.Chain {
		t.Error("an own certificate that ends soon is still used")
	}
	w.must(w.Apply(t.Context(), w.accounts["alice"]))
	if got := w.files("alice"); len(got) != 4 {
		t.Errorf("files: %v", got)
	}
	w.account("alice", "alice.example")
	if _, ok := w.Site("alice", "shop.example"); ok {
		t.Error("a domain that went is answered")
	}
	// A proof that nobody removed ends after a day.
	w.must(w.SetChallenge(t.Context(), "alice", panel.Challenge{Domain: "alice.example", Token: "a", KeyAuthorization: "a.b"}))
	w.clk.Advance(challengeLife + time.Second)
	w.must(w.Apply(t.Context(), w.accounts["alice"]))
	if _, err := os.Stat(filepath.Join(w.dir, "acme", "a")); !errors.Is(err, os.ErrNotExist) {
		t.Error("a proof is older than a day")
	}
}

func TestHandshakesAreAnsweredForTheNameThatIsAskedFor(t *testing.T) {
	w := open(t)
	w.account("bob", "bob.example")
	w.set(w.certificate("c1", "alice.example"))
	for name, want := range map[string]string{
		"alice.example": "alice.example", "WWW.alice.example": "alice.example", "shop.example": "shop.example", "bob.example": "bob.example",
		"other.example": "", "": "", "127.0.0.1": "", "deep.alice.example": "",
	} {
		for range 2 {
			c, err := w.ForHandshake(&tls.ClientHelloInfo{ServerName: name})
			if (err == nil) != (want != "") {
				t.Fatalf("%q: %v", name, err)
			}
			if err != nil {
				continue
			}
			leaf, err := x509.ParseCertificate(c.Certificate[0])
			w.must(err)
			if !slices.Contains(leaf.DNSNames, want) || strings.Contains(leaf.Issuer.CommonName, "Sandbox") != (want == "alice.example") {
				t.Errorf("%q: %v by %s", name, leaf.DNSNames, leaf.Issuer)
			}
		}
	}
	w.clk.Advance(leafLife)
	if site, _ := w.Site("alice", "alice.example"); site.TLS != panel.TLSExpired {
		t.Errorf("after its end: %+v", site)
	}
}

func TestTheSimulatedAuthorityFailsWhenItIsAskedTo(t *testing.T) {
	authority, err := NewSimulated(func() time.Time { return testkit.Start })
	if err != nil {
		t.Fatal(err)
	}
	for name, kind := range Refusals {
		_, err := authority.IssueCertificate(t.Context(), "1", request(t, nil, "fine.example", name+".example"))
		if !errors.Is(err, kind) {
			t.Errorf("%s: %v", name, err)
		}
	}
	other := request(t, nil, "fine.example")
	other.Names = []string{"victim.example"}
	for _, bad := range []panel.CertificateRequest{{}, {Names: []string{"a.example"}, CSR: "x"}, other} {
		if _, err := authority.IssueCertificate(t.Context(), "1", bad); !errors.Is(err, panel.ErrInvalid) {
			t.Errorf("%+v: %v", bad, err)
		}
	}
	chain, key := issued(t, authority, "fine.example", "*.fine.example")
	b, err := certificate.Parse(key, chain)
	if err := errors.Join(err, b.CheckNames("deep.fine.example"), b.CheckTime(testkit.Start)); err != nil {
		t.Error(err)
	}
}
