package certificates

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mholt/acmez/v3/acme"

	"stead.dev/stead/internal/platform/certificate"
	"stead.dev/stead/internal/platform/testkit"
	"stead.dev/stead/internal/port/panel"
)

// pebble is a real authority, for tests: it checks what it is told, and refuses a fifth of all nonces.
type pebble struct {
	directory string
	client    *http.Client
}

// startPebble starts an authority that asks the world's name server, and looks for files at the port.
func (w *world) startPebble(port int) pebble {
	w.T.Helper()
	dir := w.T.TempDir()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	w.Must(err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), DNSNames: []string{"localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(day), IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	w.Must(err)
	text, err := certificate.EncodeKey(key)
	w.Must(err)
	w.Must(os.WriteFile(filepath.Join(dir, "cert.pem"), []byte(pemOf("CERTIFICATE", der)), 0o600))
	w.Must(os.WriteFile(filepath.Join(dir, "key.pem"), []byte(text), 0o600))
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM([]byte(pemOf("CERTIFICATE", der)))
	p := pebble{client: &http.Client{Timeout: time.Minute, Transport: hurried{&http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12},
	}}}}

	address := testkit.Address(w.T)
	config, err := json.Marshal(map[string]any{"pebble": map[string]any{
		"listenAddress": address, "certificate": filepath.Join(dir, "cert.pem"), "privateKey": filepath.Join(dir, "key.pem"),
		"httpPort": port, "tlsPort": 1, "ocspResponderURL": "", "externalAccountBindingRequired": false,
	}})
	w.Must(err)
	w.Must(os.WriteFile(filepath.Join(dir, "config.json"), config, 0o600))
	var out bytes.Buffer
	cmd := exec.CommandContext(w.T.Context(), "pebble", "-config", filepath.Join(dir, "config.json"), "-dnsserver", w.ns.Addr(), "-strict")
	cmd.Env = []string{"PEBBLE_WFE_NONCEREJECT=20", "PEBBLE_VA_NOSLEEP=1", "PEBBLE_AUTHZREUSE=0", "PATH=/usr/bin"}
	cmd.Stdout, cmd.Stderr = &out, &out
	w.Must(cmd.Start())
	w.T.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if w.T.Failed() {
			lines := strings.Split(out.String(), "\n")
			w.T.Logf("pebble says:\n%s", strings.Join(lines[max(0, len(lines)-20):], "\n"))
		}
	})
	p.directory = "https://" + address + "/dir"
	testkit.Eventually(w.T, time.Minute, func() bool {
		res, err := p.client.Get(p.directory)
		if err != nil {
			return false
		}
		defer res.Body.Close()
		return res.StatusCode == http.StatusOK
	}, "the authority answers")
	return p
}

// hurried leaves out that the authority asks to be polled every three seconds only.
type hurried struct{ next http.RoundTripper }

func (h hurried) RoundTrip(r *http.Request) (*http.Response, error) {
	res, err := h.next.RoundTrip(r)
	if err == nil {
		res.Header.Del("Retry-After")
	}
	return res, err
}

// by has certificates issued by an authority.
func (w *world) by(directory string, client *http.Client) {
	w.T.Helper()
	w.config.Authority = Authority{
		Directory: directory, Email: "hostmaster@stead.uz", Client: client, Poll: 50 * time.Millisecond, Patience: 20 * time.Second,
	}
	w.begin()
}

func TestARealAuthorityIssuesAndRenews(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		p := w.startPebble(w.fileServer())
		w.by(p.directory, p.client)
		w.add("anna.uz", "anna.uz A 127.0.0.1", "www.anna.uz A 127.0.0.1")
		w.service(10, "node", "anna.uz")
		// By a file.
		byFile := w.post(10, `{}`)
		w.run()
		got := w.shown(10, byFile)
		if got["status"] != "active" || fmt.Sprint(got["sans"]) != "[anna.uz www.anna.uz]" || w.tls("node", 10, "anna.uz") != panel.TLSActive {
			t.Fatalf("by a file: %v", got)
		}
		if n := w.challenges(); n != 0 {
			t.Errorf("%d proofs are left", n)
		}
		// A wildcard by the DNS.
		byDNS := w.post(10, `{"domains": ["*.anna.uz", "anna.uz"]}`)
		w.run()
		got = w.shown(10, byDNS)
		if got["status"] != "active" || got["challenge"] != "dns" || fmt.Sprint(got["sans"]) != "[*.anna.uz anna.uz]" || fmt.Sprint(got["domains"]) != "[anna.uz]" {
			t.Fatalf("by the DNS: %v", got)
		}
		if len(w.zones.texts) != 0 {
			t.Errorf("proofs are left: %v", w.zones.texts)
		}
		// Renewed, with the same account and another key.
		first := w.leaf(byDNS)
		w.post(10, fmt.Sprintf(`{"certificate_id": %d}`, byDNS))
		w.run()
		if second := w.leaf(byDNS); second.Equal(first) || ecdsaOf(second).Equal(ecdsaOf(first)) || w.status(10, byDNS) != "active" {
			t.Error("it was not renewed")
		}
		if got := w.told(); got != "ssl.issued ssl.issued ssl.renewed" {
			t.Errorf("told: %s", got)
		}
		installed, err := w.panels["node"].(panel.Certificates).InstalledCertificates(t.Context(), "10")
		w.Must(err)
		if len(installed) != 1 || installed[0].Fingerprint != certificate.Fingerprint(w.leaf(byDNS)) {
			t.Errorf("on the panel: %+v", installed)
		}
		w.noSecrets(10)
		// A revoked one is replaced when its customer asks.
		key, err := w.unseal(byDNS, w.row(byDNS).current.secret)
		w.Must(err)
		signer, err := certificate.ParseKey(key)
		w.Must(err)
		account, err := w.account(t.Context())
		w.Must(err)
		w.Must(w.authority.RevokeCertificate(t.Context(), account, w.leaf(byDNS), signer, acme.ReasonKeyCompromise))
		revoked := w.leaf(byDNS)
		w.post(10, fmt.Sprintf(`{"certificate_id": %d}`, byDNS))
		w.run()
		if w.leaf(byDNS).Equal(revoked) {
			t.Error("the revoked certificate is still in use")
		}
	})
}

// TestWWWKeepsItsCertificateWhileTheDNSIsSilent: visitors of www would be warned for as long as the next one lasts.
func TestWWWKeepsItsCertificateWhileTheDNSIsSilent(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		p := w.startPebble(w.fileServer())
		w.by(p.directory, p.client)
		w.add("anna.uz", "anna.uz A 127.0.0.1", "www.anna.uz A 127.0.0.1")
		w.service(10, "node", "anna.uz")
		id := w.post(10, `{}`)
		w.run()
		first := w.leaf(id)
		dns, _ := w.config.DNS.(*lookups)
		dns.lost = "www.anna.uz"
		w.post(10, fmt.Sprintf(`{"certificate_id": %d}`, id))
		w.run()
		if got := w.shown(10, id); !w.leaf(id).Equal(first) || got["status"] != "active" || got["last_error_key"] != "ssl_preflight_failed" {
			t.Errorf("in silence: %v", got)
		}
		// With no time left it is better to have one for the rest.
		w.Clock.Set(first.NotAfter.Add(-day))
		w.post(10, fmt.Sprintf(`{"certificate_id": %d}`, id))
		w.run()
		if got := w.leaf(id).DNSNames; w.leaf(id).Equal(first) || fmt.Sprint(got) != "[anna.uz]" {
			t.Errorf("at its end: %v", got)
		}
	})
}

func TestWhatARealAuthorityRefusesChangesNothing(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		p := w.startPebble(w.fileServer())
		w.by(p.directory, p.client)
		w.add("anna.uz", "anna.uz A 127.0.0.1", "elsewhere.anna.uz A 192.0.2.9", "caa.anna.uz A 127.0.0.1", `caa.anna.uz CAA 0 issue "other.example"`)
		w.service(10, "node", "anna.uz", "elsewhere.anna.uz", "nowhere.anna.uz", "caa.anna.uz", "foreign.uz", "anna.com", "anna.test")
		id := w.post(10, `{}`)
		w.run()
		first := w.leaf(id)
		for _, c := range [][2]string{
			{`{"domains": ["elsewhere.anna.uz"]}`, "domain_not_pointed"},
			{`{"domains": ["nowhere.anna.uz"]}`, "domain_not_pointed"},
			{`{"domains": ["foreign.uz"]}`, "domain_not_pointed"},
			{`{"domains": ["anna.com"]}`, "ssl_preflight_failed dns_unknown"},
			{`{"domains": ["*.anna.com"]}`, "ssl_preflight_failed dns_elsewhere"},
			{`{"domains": ["anna.test"]}`, "ssl_preflight_failed name_refused"},
		} {
			if a := w.do("POST", "/10/ssl", "own", c[0]); a.code != 422 || a.key() != c[1] {
				t.Errorf("%s: %d %s, want %s", c[0], a.code, a.body, c[1])
			}
		}
		// The preflight passes and the authority finds nothing: the files are served from elsewhere. It is
		// another authority, because Pebble takes a former proof for a new one now and then, also where it
		// is told never to (PEBBLE_AUTHZREUSE=0: in one case of a hundred).
		p = w.startPebble(w.fileServer())
		w.by(p.directory, p.client)
		w.dir = t.TempDir()
		w.Must(os.MkdirAll(filepath.Join(w.dir, "acme"), 0o755))
		w.post(10, fmt.Sprintf(`{"certificate_id": %d}`, id))
		w.run()
		got := w.shown(10, id)
		if !w.leaf(id).Equal(first) || got["status"] != "active" || got["last_error_key"] != "ssl_preflight_failed" ||
			!strings.HasSuffix(w.told(), "ssl.failed") || w.tls("node", 10, "anna.uz") != panel.TLSActive {
			t.Errorf("after a failed renewal: %v, told %s", got, w.told())
		}
		if pre := got["preflight"].(map[string]any); pre["reason"] != reasonProof || !strings.Contains(fmt.Sprint(pre["message"]), "anna.uz") {
			t.Errorf("preflight: %v", pre)
		}
		// After five failures in an hour nothing is asked any more.
		for range 4 {
			w.post(10, fmt.Sprintf(`{"certificate_id": %d}`, id))
			w.run()
		}
		if a := w.do("POST", "/10/ssl", "own", fmt.Sprintf(`{"certificate_id": %d}`, id)); a.key() != "ssl_rate_limited" {
			t.Errorf("the sixth in an hour: %s", a.body)
		}
		// A record of the customer's in the way.
		w.zones.taken = true
		wild := w.post(10, `{"domains": ["*.anna.uz"]}`)
		w.run()
		if got := w.shown(10, wild); got["status"] != "failed" || got["preflight"].(map[string]any)["reason"] != reasonTaken {
			t.Errorf("with a record in the way: %v", got)
		}
	})
}

// cutting ends the goroutine that works at the n-th request to the authority: nothing after it happens.
type cutting struct {
	next  http.RoundTripper
	left  atomic.Int64
	after bool // the authority has done what it was asked
}

func (c *cutting) RoundTrip(r *http.Request) (*http.Response, error) {
	switch left := c.left.Add(-1); {
	case left > 0:
		return c.next.RoundTrip(r)
	case left == 0 && c.after:
		if res, err := c.next.RoundTrip(r); err == nil {
			_, _ = io.Copy(io.Discard, res.Body)
			_ = res.Body.Close()
		}
	}
	runtime.Goexit()
	return nil, nil
}

// TestAnOrderSurvivesACrashAtEachStep ends the process at every request to the authority, before and after it was
// done, and lets a new one go on.
func TestAnOrderSurvivesACrashAtEachStep(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		p := w.startPebble(w.fileServer())
		w.add("anna.uz", "anna.uz A 127.0.0.1", "www.anna.uz A 127.0.0.1")
		w.service(10, "node", "anna.uz")
		orders := &counting{next: p.client.Transport}
		client := &http.Client{Timeout: time.Minute, Transport: orders}
		w.by(p.directory, client)
		id := w.post(10, `{}`)
		w.run()
		issued := w.leaf(id)
		orders.issued.Store(0)
		for step := int64(1); ; step++ {
			w.Clock.Advance(8 * day) // the limits are for one week
			w.Must(w.Sweep(t.Context()))
			w.queue.take()
			w.post(10, fmt.Sprintf(`{"certificate_id": %d}`, id))
			cut := &cutting{next: orders, after: step%2 == 1}
			cut.left.Store(step)
			w.by(p.directory, &http.Client{Timeout: time.Minute, Transport: cut})
			var process sync.WaitGroup
			process.Go(func() {
				for _, j := range w.queue.take() {
					if err := w.work(t.Context(), j); err != nil {
						t.Error(err)
					}
				}
			})
			process.Wait()
			survived := cut.left.Load() > 0
			if survived {
				break // it came to its end before the cut
			}
			// The lock of the dead one runs out; another process goes on.
			w.by(p.directory, client)
			w.after(time.Minute)
			if !w.leaf(id).Equal(issued) {
				t.Errorf("cut at request %d: another process did not wait for the dead one's lock", step)
			}
			w.after(2 * dueAgain)
			w.after(2 * dueAgain)
			if now := w.leaf(id); now.Equal(issued) || w.status(10, id) != "active" {
				t.Fatalf("cut at request %d: %v", step, w.shown(10, id))
			}
			issued = w.leaf(id)
			if n := orders.issued.Swap(0); n != 1 {
				t.Errorf("cut at request %d: the authority issued %d certificates", step, n)
			}
		}
		w.Clock.Advance(2 * day)
		_, err := w.panels["node"].(panel.Sites).SetDomain(t.Context(), "10", panel.Domain{Name: "anna.uz", Primary: true})
		w.Must(err)
		if n := w.challenges(); n != 0 {
			t.Errorf("%d proofs are left", n)
		}
	})
}

// counting counts certificates that the authority issued.
type counting struct {
	next   http.RoundTripper
	issued atomic.Int64
}

func (c *counting) RoundTrip(r *http.Request) (*http.Response, error) {
	res, err := c.next.RoundTrip(r)
	if err == nil && res.StatusCode == http.StatusOK && strings.Contains(r.URL.Path, "finalize") {
		c.issued.Add(1)
	}
	return res, err
}

// limiting is an authority that takes nothing.
func limiting(t *testing.T, problem, detail string, asked *atomic.Int64) *httptest.Server {
	t.Helper()
	var srv *httptest.Server
	srv = httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		rw.Header().Set("Replay-Nonce", strconv.FormatInt(time.Now().UnixNano(), 36))
		rw.Header().Set("Content-Type", "application/json")
		switch r.URL.Path {
		case "/dir":
			_ = json.NewEncoder(rw).Encode(map[string]any{
				"newNonce": srv.URL + "/nonce", "newAccount": srv.URL + "/account", "newOrder": srv.URL + "/order",
				"meta": map[string]any{"caaIdentities": []string{"authority.uz"}},
			})
		case "/nonce":
		case "/account":
			rw.Header().Set("Location", srv.URL+"/account/1")
			rw.WriteHeader(http.StatusCreated)
			_, _ = io.WriteString(rw, `{"status": "valid"}`)
		default:
			asked.Add(1)
			rw.Header().Set("Retry-After", "7200")
			rw.Header().Set("Content-Type", "application/problem+json")
			rw.WriteHeader(http.StatusTooManyRequests)
			_ = json.NewEncoder(rw).Encode(map[string]any{"type": problem, "detail": detail, "status": 429})
		}
	}))
	t.Cleanup(srv.Close)
	return srv
}

func TestLimitsOfAnAuthorityAreKeptTo(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		var asked atomic.Int64
		const ofOne, ofAll = "too many certificates already issued for anna.uz", "too many new orders (300) from this account"
		for _, detail := range []string{ofOne, ofAll} {
			srv := limiting(t, acme.ProblemTypeRateLimited, detail, &asked)
			asked.Store(0)
			w.by(srv.URL+"/dir", srv.Client())
			name, service := "anna.uz", int64(10)
			if detail == ofAll {
				name, service = "bobur.uz", 20
			}
			w.add(name, name+" A 127.0.0.1")
			w.service(service, "node", name)
			w.service(service+1, "node", "other."+name)
			w.add(name, name+" A 127.0.0.1", "other."+name+" A 127.0.0.1")
			id := w.post(service, `{}`)
			w.run()
			got := w.shown(service, id)
			if got["status"] != "failed" || got["last_error_key"] != "ssl_rate_limited" || !strings.Contains(fmt.Sprint(got["last_error"]), detail) {
				t.Fatalf("%v", got)
			}
			for range 7 { // an hour and more, well before what was asked for
				w.after(15 * time.Minute)
			}
			if asked.Load() != 1 {
				t.Errorf("asked %d times before Retry-After", asked.Load())
			}
			// Another domain is only held up when the limit is everybody's.
			a := w.do("POST", fmt.Sprintf("/%d/ssl", service+1), "own", `{}`)
			if (a.key() == "ssl_rate_limited") != (detail == ofAll) {
				t.Errorf("another domain after %q: %s", detail, a.body)
			}
			w.queue.take()
			w.after(3 * time.Hour)
			if asked.Load() < 2 {
				t.Error("it is not tried again after Retry-After")
			}
		}
		// A CAA record is seen before anybody is asked.
		w.add("caa.uz", "caa.uz A 127.0.0.1", `caa.uz CAA 0 issue "other.example"`, `open.caa.uz CAA 0 issue "authority.uz; validationmethods=http-01"`, "open.caa.uz A 127.0.0.1")
		w.service(30, "node", "caa.uz", "open.caa.uz")
		if a := w.do("POST", "/30/ssl", "own", `{}`); a.key() != "ssl_preflight_failed caa_forbids" || !strings.Contains(a.body, "other.example") {
			t.Errorf("with a CAA record: %s", a.body)
		}
		w.Clock.Advance(9 * day)
		if a := w.do("POST", "/30/ssl", "own", `{"domains": ["open.caa.uz"]}`); a.code != 201 {
			t.Errorf("with a CAA record for the authority: %s", a.body)
		}
	})
}

func TestAnAuthoritySaysWhenToRenew(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		p := w.startPebble(w.fileServer())
		// Debian's pebble knows nothing of renewal information: it is added here.
		var window atomic.Pointer[[2]time.Time]
		var asked atomic.Int64
		client := &http.Client{Timeout: time.Minute, Transport: informed{next: p.client.Transport, window: &window, asked: &asked}}
		w.by(p.directory, client)
		w.add("anna.uz", "anna.uz A 127.0.0.1")
		w.service(10, "node", "anna.uz")
		later := w.Clock.Now().Add(100 * day)
		window.Store(&[2]time.Time{later, later.Add(day)})
		id := w.post(10, `{}`)
		w.run()
		before := w.row(id)
		if want := before.expiresAt.Add(-before.life() / 3); before.renewAt.After(want) || before.renewAt.Before(want.Add(-before.life()/30)) {
			t.Errorf("without its word it is renewed at %v, not around %v", before.renewAt, want)
		}
		for range 3 {
			w.after(2 * time.Minute)
		}
		if r := w.row(id); asked.Load() > 2 || // the library asks once of itself
			r.renewAt.Before(later) || r.renewAt.After(later.Add(day)) {
			t.Fatalf("asked %d times; renewed at %v, not within a day from %v", asked.Load(), r.renewAt, later)
		}
		// It is about to be revoked, say: the window is now.
		now := w.Clock.Now()
		window.Store(&[2]time.Time{now.Add(time.Hour), now.Add(2 * time.Hour)})
		w.after(25 * time.Hour)
		if r := w.row(id); slices.Equal([]string{r.fingerprint}, []string{before.fingerprint}) {
			t.Errorf("it is not renewed in the window; renewal at %v, phase %s, %v", r.renewAt, r.phase, r.lastErrorKey)
		}
		if asked.Load() > 12 {
			t.Errorf("asked %d times", asked.Load())
		}
	})
}

// informed adds renewal information to an authority (RFC 9773).
type informed struct {
	next   http.RoundTripper
	window *atomic.Pointer[[2]time.Time]
	asked  *atomic.Int64
}

func (i informed) RoundTrip(r *http.Request) (*http.Response, error) {
	if strings.Contains(r.URL.Path, "/renewal-information/") {
		i.asked.Add(1)
		rec := httptest.NewRecorder()
		rec.Header().Set("Content-Type", "application/json")
		w := i.window.Load()
		_ = json.NewEncoder(rec).Encode(map[string]any{"suggestedWindow": map[string]any{"start": w[0], "end": w[1]}})
		return rec.Result(), nil
	}
	if strings.HasSuffix(r.URL.Path, "/dir") {
		res, err := i.next.RoundTrip(r)
		if err != nil {
			return nil, err
		}
		defer res.Body.Close()
		var directory map[string]any
		if err := json.NewDecoder(res.Body).Decode(&directory); err != nil {
			return nil, err
		}
		directory["renewalInfo"] = "https://" + r.URL.Host + "/renewal-information"
		rec := httptest.NewRecorder()
		rec.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(rec).Encode(directory)
		return rec.Result(), nil
	}
	return i.next.RoundTrip(r)
}
