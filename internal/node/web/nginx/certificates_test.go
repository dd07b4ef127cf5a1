package nginx

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"stead.dev/stead/internal/node/accounts"
	"stead.dev/stead/internal/node/identity"
	"stead.dev/stead/internal/node/nodetest"
	"stead.dev/stead/internal/node/web"
	"stead.dev/stead/internal/platform/certificate"
	"stead.dev/stead/internal/port/panel"
)

// certified is a site with a new certificate of that subject.
func (w *world) certified(domain, subject string) web.Site {
	w.Helper()
	b, err := certificate.SelfSign(subject, []string{domain, "www." + domain}, time.Now(), time.Hour)
	w.must(err)
	key, err := b.KeyPEM()
	w.must(err)
	base := filepath.Join(w.TempDir(), domain)
	w.must(os.WriteFile(base+".crt", []byte(b.ChainPEM()), 0o600))
	w.must(os.WriteFile(base+".key", []byte(key), 0o600))
	return web.Site{Domain: domain, Certificate: base + ".crt", CertificateKey: base + ".key"}
}

// subject is that of the certificate with which nginx answers a name in the handshake; empty sends none.
func (w *world) subject(name string, protocols ...string) (string, error) {
	dialer := tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true, ServerName: name, NextProtos: protocols}}
	conn, err := dialer.DialContext(w.Context(), "tcp", w.tlsAddress)
	if err != nil {
		return "", err
	}
	state := conn.(*tls.Conn).ConnectionState()
	return state.PeerCertificates[0].Subject.CommonName, conn.Close()
}

func (w *world) expectSubject(name, want string) {
	w.Helper()
	for _, protocol := range []string{"h2", "http/1.1"} {
		if got, err := w.subject(name, protocol); err != nil || got != want {
			w.Errorf("%q by %s: certificate of %q, want %q (%v)", name, protocol, got, want, err)
		}
	}
}

const ownCertificate = "no certificate yet"

func TestANameHasItsOwnCertificate(t *testing.T) {
	w := newWorld(t)
	a, b := w.machine.Account("alice", panel.Limits{}), w.machine.Account("bob", panel.Limits{})
	first, second := w.certified("alice.example", "alice"), w.certified("second.example", "second")
	first.Aliases, first.Preview, second.ForceHTTPS = []string{"alias.example"}, "alice.preview.example", true
	w.apply(a, first, second, web.Site{Domain: "none.example"})
	w.apply(b, w.certified("bob.example", "bob"))
	for name, want := range map[string]string{
		"alice.example": "alice", "www.alice.example": "alice", "ALICE.example": "alice", "alias.example": "alice", "second.example": "second",
		"bob.example": "bob", "www.bob.example": "bob",
		"none.example": ownCertificate, "alice.preview.example": ownCertificate, "nobody.example": ownCertificate, "x.bob.example": ownCertificate,
		"": ownCertificate, "_": ownCertificate, "certificates/bob.example": ownCertificate,
	} {
		w.expectSubject(name, want)
	}
	for _, name := range []string{"../certificates/bob.example", "./bob.example", "/etc/passwd"} {
		if got, err := w.subject(name); err == nil && got != ownCertificate {
			t.Errorf("%q: certificate of %q", name, got)
		}
	}
	// The name moves to another account, which asks for it first.
	w.apply(b, w.certified("bob.example", "bob"), w.certified("second.example", "of bob"))
	w.apply(a, first)
	w.expectSubject("second.example", "of bob")
	w.apply(b)
	for _, name := range []string{"bob.example", "second.example", "none.example"} {
		w.expectSubject(name, ownCertificate)
		if _, err := os.Lstat(w.certificateOf(name)); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("the key of %s stays: %v", name, err)
		}
	}
	w.expectSubject("alice.example", "alice")
}

// A handshake between whose two reads of the file the renewal falls fails, and the client's next one succeeds.
func TestARenewedCertificateIsServedWithoutAReload(t *testing.T) {
	w := newWorld(t)
	a := w.machine.Account("alice", panel.Limits{})
	w.put(a, "public_html/index.html", "INDEX")
	w.apply(a, w.certified("alice.example", "number 0"))
	reloads := w.Reloads()
	ctx, stop := context.WithCancel(w.Context())
	var wg sync.WaitGroup
	const renewals = 10
	failed := 0
	wg.Go(func() {
		for ctx.Err() == nil {
			if _, err := w.subject("alice.example"); err != nil {
				failed++ // it met a renewal; the next may meet the next one
			}
		}
	})
	for i := range renewals {
		want := fmt.Sprintf("number %d", i+1)
		w.apply(a, w.certified("alice.example", want))
		if got, err := w.subject("alice.example"); err != nil || got != want {
			t.Errorf("after the renewal: %q, want %q (%v)", got, want, err)
		}
	}
	stop()
	wg.Wait()
	if failed > renewals {
		t.Errorf("%d handshakes failed in %d renewals", failed, renewals)
	}
	if n := w.Reloads() - reloads; n != 0 {
		t.Errorf("%d reloads for renewed certificates", n)
	}
	if res := w.ask("GET", "https://alice.example/"); res.body != "INDEX" {
		t.Errorf("%d %q", res.StatusCode, res.body)
	}
}

func TestSessionsAreResumed(t *testing.T) {
	w := newWorld(t)
	w.apply(w.machine.Account("alice", panel.Limits{}), w.certified("alice.example", "alice"))
	for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		config := &tls.Config{InsecureSkipVerify: true, ServerName: "alice.example", MaxVersion: version, ClientSessionCache: tls.NewLRUClientSessionCache(1)}
		for _, want := range []bool{false, version == tls.VersionTLS13} { // Go resumes by tickets only, which nginx has with TLS 1.3
			conn, err := (&tls.Dialer{Config: config}).DialContext(w.Context(), "tcp", w.tlsAddress)
			w.must(err)
			_, err = conn.Write([]byte("GET / HTTP/1.0\r\n\r\n"))
			w.must(err)
			_, err = io.ReadAll(conn) // with it comes what the session is resumed with
			w.must(errors.Join(err, conn.Close()))
			if got := conn.(*tls.Conn).ConnectionState().DidResume; got != want {
				t.Errorf("version %x: resumed %v, want %v", version, got, want)
			}
		}
	}
}

func TestManyAccountsGoAtOnce(t *testing.T) {
	w := newWorld(t)
	user := w.machine.Account("alice", panel.Limits{})
	site := w.certified("all.example", "all")
	for _, present := range []bool{true, false} {
		var wg sync.WaitGroup
		for i := range 50 {
			wg.Go(func() {
				a := accounts.Account{Record: accounts.Record{Name: fmt.Sprintf("site%d", i), User: user.User}, Home: user.Home}
				one := site
				one.Domain = fmt.Sprintf("n%d.example", i)
				var sites []web.Site
				if present {
					sites = append(sites, one)
				}
				w.apply(a, sites...)
			})
		}
		wg.Wait()
	}
	left, err := os.ReadDir(w.file("certificates"))
	w.must(err)
	if len(left) != 1 || left[0].Name() != noName {
		t.Errorf("what is left: %v", left)
	}
}

func TestABrokenCertificateHoldsUpNobody(t *testing.T) {
	w := newWorld(t)
	a, b := w.machine.Account("alice", panel.Limits{}), w.machine.Account("bob", panel.Limits{})
	broken, other := w.certified("alice.example", "alice"), w.certified("foreign.example", "foreign")
	w.must(os.WriteFile(broken.Certificate, []byte("-----BEGIN CERTIFICATE-----\nbm8=\n-----END CERTIFICATE-----\n"), 0o600))
	mismatched := w.certified("mismatch.example", "mismatch")
	mismatched.CertificateKey = other.CertificateKey
	var wg sync.WaitGroup
	wg.Go(func() { w.apply(a, broken, mismatched) })
	wg.Go(func() { w.apply(b, w.certified("bob.example", "bob")) })
	wg.Wait()
	w.expectSubject("bob.example", "bob")
	w.expectSubject("alice.example", ownCertificate)
	w.expectSubject("mismatch.example", ownCertificate)
	// Whatever happens to one file, other sites and reloads go on.
	w.must(os.WriteFile(w.certificateOf("alice.example"), []byte("no certificate"), 0o400))
	w.apply(b, w.certified("bob.example", "bob again"), web.Site{Domain: "more.example"})
	w.expectSubject("bob.example", "bob again")
	w.expectSubject("more.example", ownCertificate)
	w.apply(a, w.certified("alice.example", "alice again"))
	w.expectSubject("alice.example", "alice again")
}

func TestOnlyTheWorkersReadKeys(t *testing.T) {
	w := newWorld(t)
	a, b := w.machine.Account("alice", panel.Limits{}), w.machine.Account("bob", panel.Limits{})
	w.apply(a, w.certified("alice.example", "alice"))
	w.apply(b, w.certified("bob.example", "bob"))
	w.put(a, "public_html/index.html", "INDEX")
	for i, name := range []string{"alice.example", "bob.example", noName} {
		file := w.certificateOf(name)
		info, err := os.Stat(file)
		w.must(err)
		if info.Mode().Perm() != 0o400 {
			t.Errorf("%s: %v", file, info.Mode())
		}
		for _, account := range []accounts.Account{a, b} {
			err := identity.Do(account, func() error {
				_, err := os.ReadFile(file)
				return err
			})
			if !errors.Is(err, fs.ErrPermission) {
				t.Errorf("%s reads %s: %v", account.Name, file, err)
			}
		}
		w.link(a, file, fmt.Sprintf("public_html/key%d.txt", i))
		if res := w.ask("GET", fmt.Sprintf("https://alice.example/key%d.txt", i)); res.StatusCode != 403 {
			t.Errorf("a link to %s: %d %.40q", file, res.StatusCode, res.body)
		}
	}
	w.link(a, w.file("certificates"), "public_html/keys")
	if res := w.ask("GET", "https://alice.example/keys/bob.example"); res.StatusCode < 400 {
		t.Errorf("a link to the directory: %d %.40q", res.StatusCode, res.body)
	}
}

func TestTheMachineHasANameOfItsOwn(t *testing.T) {
	var mu sync.Mutex
	var chain, key []byte
	socket := filepath.Join(nodetest.Dir(t), "gate.sock")
	gate, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "GATE "+r.Host+" "+r.URL.Path)
	})}
	go func() { _ = server.Serve(gate) }()
	t.Cleanup(func() { _ = server.Close() })
	if err := os.Chmod(socket, 0o666); err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, func(c *Config) {
		c.Adminer, c.OwnName = socket, "node.example"
		c.OwnCertificate = func() ([]byte, []byte, bool) {
			mu.Lock()
			defer mu.Unlock()
			return chain, key, chain != nil
		}
	})
	a := w.machine.Account("alice", panel.Limits{})
	w.put(a, "public_html/index.html", "SITE")
	w.apply(a, w.certified("alice.example", "alice"))
	certify := func(want bool) {
		t.Helper()
		if good, err := w.CertifyOwn(); err != nil || good != want {
			t.Errorf("%v, %v", good, err)
		}
	}
	become := func(subject, name string, life time.Duration) {
		b, err := certificate.SelfSign(subject, []string{name}, time.Now().Add(-time.Hour), life)
		w.must(err)
		secret, err := b.KeyPEM()
		w.must(err)
		mu.Lock()
		defer mu.Unlock()
		chain, key = []byte(b.ChainPEM()), []byte(secret)
	}
	certify(false)
	w.expectSubject("node.example", ownCertificate)
	become("of the machine", "node.example", 48*time.Hour)
	certify(true)
	w.expectSubject("node.example", "of the machine")
	w.apply(a) // whoever is removed, it stays
	w.expectSubject("node.example", "of the machine")
	become("another", "other.example", 48*time.Hour)
	certify(false)
	become("old", "node.example", time.Minute)
	certify(false)
	w.expectSubject("node.example", ownCertificate)

	w.apply(a, w.certified("alice.example", "alice"))
	for address, want := range map[string]string{
		"http://node.example/.stead/adminer/x": "GATE node.example /.stead/adminer/x", "http://192.0.2.1/.stead/adminer/": "GATE 192.0.2.1 /.stead/adminer/",
	} {
		if got := w.ask("GET", address); got.body != want {
			t.Errorf("%s: %+v", address, got)
		}
	}
	for _, address := range []string{"http://alice.example/.stead/adminer/x", "http://node.example/x"} {
		if got := w.ask("GET", address); got.StatusCode != 404 {
			t.Errorf("%s: %+v", address, got)
		}
	}
}
