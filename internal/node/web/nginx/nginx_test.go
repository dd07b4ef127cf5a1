package nginx

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"stead.dev/stead/internal/node/accounts"
	"stead.dev/stead/internal/node/logs"
	"stead.dev/stead/internal/node/nodetest"
	"stead.dev/stead/internal/node/web"
	"stead.dev/stead/internal/platform/certificate"
	"stead.dev/stead/internal/platform/testkit"
	"stead.dev/stead/internal/port/panel"
)

// world is an nginx with real accounts.
type world struct {
	testing.TB
	*Server
	machine             *nodetest.Machine
	store               *logs.Store
	address, tlsAddress string
}

func newWorld(t testing.TB, change ...func(*Config)) *world {
	t.Helper()
	m := nodetest.New(t)
	store, err := logs.Open(logs.Config{Dir: filepath.Join(m.Dir, "logs"), Now: time.Now, Log: nodetest.Log(t)})
	if err != nil {
		t.Fatal(err)
	}
	w := &world{TB: t, machine: m, store: store}
	w.address, w.tlsAddress = testkit.Address(t), testkit.Address(t)
	cfg := Config{
		Dir: filepath.Join(m.Dir, "nginx"), ACME: filepath.Join(m.Dir, "acme"), Logs: store, Supervisor: m.Supervisor,
		Now: time.Now, Log: nodetest.Log(t), HTTP: []string{w.address}, HTTPS: []string{w.tlsAddress}, Workers: 2,
		Interval: 10 * time.Millisecond,
	}
	for _, c := range change {
		c(&cfg)
	}
	if w.Server, err = Open(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	store.OnRotate(w.Reopen)
	return w
}

func (w *world) apply(a accounts.Account, sites ...web.Site) {
	w.Helper()
	for i := range sites {
		sites[i].GID = a.User.GID
		if sites[i].Home == "" {
			sites[i].Home = a.Home
		}
		if sites[i].DocumentRoot == "" {
			sites[i].DocumentRoot = "public_html"
		}
	}
	if err := w.Apply(w.Context(), a.Name, sites); err != nil {
		w.Fatal(err)
	}
}

// put makes a file of the account's.
func (w *world) put(a accounts.Account, name, content string) {
	w.Helper()
	file := filepath.Join(a.Home, name)
	for dir := filepath.Dir(name); dir != "."; dir = filepath.Dir(dir) {
		defer func() { _ = os.Chown(filepath.Join(a.Home, dir), a.User.UID, -1) }()
	}
	w.must(os.MkdirAll(filepath.Dir(file), 0o755))
	w.must(os.WriteFile(file, []byte(content), 0o644))
	w.must(os.Chown(file, a.User.UID, a.User.GID))
}

func (w *world) link(a accounts.Account, target, name string) {
	w.Helper()
	file := filepath.Join(a.Home, name)
	w.must(os.Symlink(target, file))
	w.must(os.Lchown(file, a.User.UID, a.User.GID))
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

type answer struct {
	*http.Response
	body string
}

// ask asks nginx; header pairs are name, value.
func (w *world) ask(method, address string, header ...string) answer {
	w.Helper()
	req, err := http.NewRequestWithContext(w.Context(), method, address, nil)
	w.must(err)
	req.Header.Set("Accept-Encoding", "identity")
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	host := req.URL.Host
	to := w.address
	transport := &http.Transport{DisableKeepAlives: true, DisableCompression: true, ForceAttemptHTTP2: true}
	if req.URL.Scheme == "https" {
		to = w.tlsAddress
		transport.TLSClientConfig = &tls.Config{InsecureSkipVerify: true, ServerName: strings.Split(host, ":")[0]}
	}
	transport.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "tcp", to)
	}
	res, err := transport.RoundTrip(req)
	w.must(err)
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	w.must(err)
	return answer{res, string(body)}
}

func TestSitesAreServed(t *testing.T) {
	w := newWorld(t)
	a := w.machine.Account("alice", panel.Limits{})
	w.put(a, "public_html/index.html", "INDEX")
	w.put(a, "public_html/a/index.html", "IN A")
	w.put(a, "public_html/app.js", strings.Repeat("let a = 1\n", 200))
	w.put(a, "public_html/p.PNG", "\x89PNG\x00")
	w.put(a, "public_html/name with space.txt", "x")
	w.apply(a, web.Site{Domain: "alice.example", Aliases: []string{"alias.example"}})
	for address, want := range map[string]struct{ body, mediaType string }{
		"http://alice.example/":                        {"INDEX", "text/html; charset=utf-8"},
		"http://WWW.Alice.Example.:80/":                {"INDEX", "text/html; charset=utf-8"},
		"http://alias.example/index.html":              {"INDEX", "text/html; charset=utf-8"},
		"https://alice.example/":                       {"INDEX", "text/html; charset=utf-8"},
		"http://alice.example/a/":                      {"IN A", "text/html; charset=utf-8"},
		"http://alice.example//a//index.html":          {"IN A", "text/html; charset=utf-8"},
		"http://alice.example/p.PNG":                   {"\x89PNG\x00", "image/png"},
		"http://alice.example/name%20with%20space.txt": {"x", "text/plain; charset=utf-8"},
	} {
		res := w.ask("GET", address)
		if res.StatusCode != 200 || res.body != want.body || res.Header.Get("Content-Type") != want.mediaType {
			t.Errorf("%s: %d %q %q", address, res.StatusCode, res.Header.Get("Content-Type"), res.body)
		}
		if res.Header.Get("X-Content-Type-Options") != "nosniff" || res.Header.Get("ETag") == "" || res.Header.Get("Server") != "nginx" {
			t.Errorf("%s: %v", address, res.Header)
		}
	}
	packed := w.ask("GET", "http://alice.example/app.js", "Accept-Encoding", "gzip")
	in, err := gzip.NewReader(strings.NewReader(packed.body))
	w.must(err)
	if plain, err := io.ReadAll(in); err != nil || len(plain) != 2000 || packed.Header.Get("Vary") != "Accept-Encoding" {
		t.Errorf("gzip: %d bytes, %v, %v", len(plain), err, packed.Header)
	}
	if res := w.ask("GET", "http://alice.example/a?q=1"); res.StatusCode != 301 || res.Header.Get("Location") != "/a/?q=1" {
		t.Errorf("directory: %d %s", res.StatusCode, res.Header.Get("Location"))
	}
	if res := w.ask("GET", "https://alice.example/"); res.Proto != "HTTP/2.0" || res.TLS.PeerCertificates[0].Subject.CommonName != "no certificate yet" {
		t.Errorf("TLS: %s %s", res.Proto, res.TLS.PeerCertificates[0].Subject)
	}
	for _, host := range []string{"none.example", "a.alice.example", "www.www.alice.example", "127.0.0.1"} {
		if res := w.ask("GET", "http://"+host+"/"); res.StatusCode != 404 || strings.Contains(res.body, "INDEX") || !strings.Contains(res.body, "lang=\"uz\"") {
			t.Errorf("%s: %d %.40q", host, res.StatusCode, res.body)
		}
	}
	for _, method := range []string{"POST", "PUT", "DELETE", "TRACE"} {
		if res := w.ask(method, "http://alice.example/"); res.StatusCode != 405 {
			t.Errorf("%s: %d", method, res.StatusCode)
		}
	}
	w.apply(a)
	if res := w.ask("GET", "http://alice.example/"); res.StatusCode != 404 {
		t.Errorf("removed: %d", res.StatusCode)
	}
}

func TestErrorPagesAndSuspension(t *testing.T) {
	w := newWorld(t)
	a := w.machine.Account("alice", panel.Limits{})
	w.apply(a, web.Site{Domain: "alice.example"})
	res := w.ask("GET", "http://alice.example/none")
	if res.StatusCode != 404 || !strings.Contains(res.body, "no such page") || res.Header.Get("Content-Type") != "text/html; charset=utf-8" {
		t.Errorf("own: %d %v", res.StatusCode, res.Header)
	}
	if res := w.ask("POST", "http://alice.example/none"); res.StatusCode != 405 && res.StatusCode != 404 {
		t.Errorf("POST: %d", res.StatusCode)
	}
	w.put(a, "public_html/404.html", "bizda yo‘q")
	if res := w.ask("GET", "http://alice.example/none"); res.StatusCode != 404 || res.body != "bizda yo‘q" || res.Header.Get("ETag") != "" || res.Header.Get("Cache-Control") != "no-store" {
		t.Errorf("404.html: %d %q %v", res.StatusCode, res.body, res.Header)
	}
	w.put(a, "public_html/errors/404.html", "errors/404")
	if res := w.ask("GET", "http://alice.example/none"); res.StatusCode != 404 || res.body != "errors/404" {
		t.Errorf("errors/404.html: %d %q", res.StatusCode, res.body)
	}
	for _, path := range []string{"/.stead-page/404", "/.well-known/acme-challenge/.stead-page", "/.well-known/acme-challenge/none"} {
		if res := w.ask("GET", "http://alice.example"+path); res.StatusCode != 404 || res.body != "errors/404" {
			t.Errorf("%s: %d %q", path, res.StatusCode, res.body)
		}
	}
	w.put(a, "public_html/index.html", "INDEX")
	w.apply(a, web.Site{Domain: "alice.example", Suspended: true, RedirectTo: "https://new.example"})
	for _, method := range []string{"GET", "POST"} {
		res := w.ask(method, "http://alice.example/")
		if res.StatusCode != 503 || res.Header.Get("Retry-After") != "3600" || res.Header.Get("Cache-Control") != "no-store" || !strings.Contains(res.body, "suspended") || strings.Contains(res.body, "INDEX") {
			t.Errorf("suspended %s: %d %v %.50q", method, res.StatusCode, res.Header, res.body)
		}
	}
}

func TestRedirectsHTTPSAndChallenges(t *testing.T) {
	w := newWorld(t)
	a := w.machine.Account("alice", panel.Limits{})
	w.put(a, "public_html/index.html", "INDEX")
	w.put(a, "public_html/.well-known/acme-challenge/own", "OWN")
	w.apply(a,
		web.Site{Domain: "host.example", RedirectTo: "https://new.example"},
		web.Site{Domain: "page.example", RedirectTo: `https://new.example/moved?x=$host"\;{}` + "`"},
		web.Site{Domain: "secure.example", ForceHTTPS: true, HSTS: true, Preview: "alice.preview.example"},
		web.Site{Domain: "down.example", Suspended: true},
	)
	w.must(os.WriteFile(filepath.Join(w.cfg.ACME, "token"), []byte("ANSWER"), 0o644))
	for address, want := range map[string]string{
		"http://host.example/":                       "https://new.example/",
		"http://www.host.example/a%2Fb/x?q=1&r":      "https://new.example/a%2Fb/x?q=1&r",
		"http://host.example//evil.example/":         "https://new.example//evil.example/",
		"https://page.example/anything?y=2":          `https://new.example/moved?x=$host"\;{}` + "`",
		"http://secure.example:8080/a?b":             "https://secure.example/a?b",
		"http://WWW.Secure.Example./":                "https://www.secure.example/",
		"http://secure.example/%0d%0aSet-Cookie:%20": "https://secure.example/%0d%0aSet-Cookie:%20",
	} {
		for _, method := range []string{"GET", "HEAD", "POST"} {
			if res := w.ask(method, address); res.StatusCode != 301 || res.Header.Get("Location") != want {
				t.Errorf("%s %s: %d to %q, want %q", method, address, res.StatusCode, res.Header.Get("Location"), want)
			}
		}
	}
	if res := w.ask("GET", "https://secure.example/"); res.StatusCode != 200 || res.Header.Get("Strict-Transport-Security") == "" {
		t.Errorf("by HTTPS: %d %v", res.StatusCode, res.Header)
	}
	if res := w.ask("GET", "http://alice.preview.example/"); res.StatusCode != 200 || res.body != "INDEX" || res.Header.Get("X-Robots-Tag") != "noindex, nofollow" {
		t.Errorf("preview: %d %v", res.StatusCode, res.Header)
	}
	for _, host := range []string{"host.example", "page.example", "secure.example", "www.secure.example", "down.example", "nobody.example"} {
		if res := w.ask("GET", "http://"+host+"/.well-known/acme-challenge/token"); res.StatusCode != 200 || res.body != "ANSWER" {
			t.Errorf("challenge of %s: %d %q", host, res.StatusCode, res.body)
		}
	}
	if res := w.ask("GET", "https://secure.example/.well-known/acme-challenge/own"); res.body != "OWN" {
		t.Errorf("the site's own challenge: %d %q", res.StatusCode, res.body)
	}
	if res := w.ask("GET", "https://secure.example/.well-known/acme-challenge/none"); res.StatusCode != 404 || !strings.Contains(res.body, "no such page") {
		t.Errorf("no challenge: %d %q", res.StatusCode, res.body)
	}
}

func TestTheNamesOfWWWBelongToWhoHasThem(t *testing.T) {
	w := newWorld(t)
	a, b := w.machine.Account("alice", panel.Limits{}), w.machine.Account("bob", panel.Limits{})
	w.put(a, "public_html/index.html", "ALICE")
	w.put(a, "other/index.html", "OTHER")
	w.must(os.Chmod(filepath.Join(a.Home, "other"), 0o755))
	w.put(b, "public_html/index.html", "BOB")
	w.apply(a, web.Site{Domain: "one.example"}, web.Site{Domain: "two.example"}, web.Site{Domain: "www.two.example", DocumentRoot: "other"})
	expect := func(host, want string) {
		t.Helper()
		if res := w.ask("GET", "http://"+host+"/"); res.body != want {
			t.Errorf("%s: %q, want %q", host, res.body, want)
		}
	}
	expect("www.one.example", "ALICE")
	expect("www.two.example", "OTHER")
	w.apply(b, web.Site{Domain: "www.one.example"})
	expect("www.one.example", "BOB")
	expect("one.example", "ALICE")
	w.apply(b)
	expect("www.one.example", "ALICE")
}

// What another agent applies first takes no name from who comes later.
func TestANameOfWWWIsItsOwnersWhileAnAgentStarts(t *testing.T) {
	w := newWorld(t)
	a, b := w.machine.Account("alice", panel.Limits{}), w.machine.Account("bob", panel.Limits{})
	w.put(a, "public_html/index.html", "ALICE")
	w.put(b, "public_html/index.html", "BOB")
	w.apply(a, web.Site{Domain: "one.example"})
	w.apply(b, web.Site{Domain: "www.one.example"})
	w.must(w.Close())
	again, err := Open(w.Context(), w.cfg)
	w.must(err)
	w.Server = again
	w.Expect(a.Name, []web.Site{{Domain: "one.example", Home: a.Home, DocumentRoot: "public_html", GID: a.User.GID}})
	w.Expect(b.Name, []web.Site{{Domain: "www.one.example", Home: b.Home, DocumentRoot: "public_html", GID: b.User.GID}})
	before := w.Reloads()
	w.apply(a, web.Site{Domain: "one.example"})
	if res := w.ask("GET", "http://www.one.example/"); res.body != "BOB" {
		t.Errorf("%q, want BOB", res.body)
	}
	w.apply(b, web.Site{Domain: "www.one.example"})
	if n := w.Reloads() - before; n != 0 {
		t.Errorf("%d reloads for what is so already", n)
	}
}

// A loss of power, or whoever kills for want of memory, leaves nginx no time to put things away.
func TestNginxStartsAgainAfterItWasCutShort(t *testing.T) {
	w := newWorld(t)
	a := w.machine.Account("alice", panel.Limits{})
	w.put(a, "public_html/index.html", "INDEX")
	w.apply(a, web.Site{Domain: "alice.example"})
	pid := w.cfg.Supervisor.PID(Name)
	w.must(syscall.Kill(-pid, syscall.SIGKILL)) // its session
	testkit.Eventually(t, time.Minute, func() bool {
		now := w.cfg.Supervisor.PID(Name)
		_, err := w.serving(t.Context())
		return now != 0 && now != pid && err == nil
	}, "nginx serves again")
	if res := w.ask("GET", "http://alice.example/"); res.body != "INDEX" {
		t.Errorf("%d %q", res.StatusCode, res.body)
	}
}

func TestNothingOfAnotherAccountIsServed(t *testing.T) {
	w := newWorld(t)
	a, b := w.machine.Account("alice", panel.Limits{}), w.machine.Account("bob", panel.Limits{})
	w.put(a, "public_html/index.html", "ok")
	w.put(a, "public_html/real/ok.txt", "ok")
	w.put(a, "secret", "SECRET")
	w.put(b, "public_html/secret.txt", "SECRET")
	w.put(b, "public_html/index.html", "SECRET")
	for _, hidden := range []string{".env", ".htaccess", ".git/config", "a/.hidden/x", "x/.user.ini"} {
		w.put(a, "public_html/"+hidden, "SECRET")
	}
	w.put(a, "public_html/secret.php", "<?php SECRET")
	for name, target := range map[string]string{
		"bfile": filepath.Join(b.Home, "public_html/secret.txt"), "bdir": filepath.Join(b.Home, "public_html"), "root": "/",
		"log": w.store.File("bob", panel.LogAccess), "conf": filepath.Join(w.cfg.Dir, "conf/sites/bob.conf"), "passwd": "/etc/passwd",
		"key": w.certificateOf(noName), "inside": "real", "loop": "loop", "errors": filepath.Join(b.Home, "public_html"),
	} {
		w.link(a, target, "public_html/"+name)
	}
	w.link(a, filepath.Join(b.Home, "public_html"), "linkroot")
	w.must(syscall.Mkfifo(filepath.Join(a.Home, "public_html/pipe"), 0o666))
	w.apply(b, web.Site{Domain: "bob.example"})
	w.apply(a, web.Site{Domain: "alice.example"}, web.Site{Domain: "link.example", DocumentRoot: "linkroot"})
	for _, path := range []string{
		"/../secret", "/%2e%2e/secret", "/%2E%2E%2Fsecret", "/..%2fsecret", "/real/../../secret", "/..%5csecret", "/%252e%252e/secret",
		"/index.html%00", "/....//secret", "/.%2e/secret", "//../secret", "/bfile", "/bdir/secret.txt", "/bdir/", "/bdir", "/root/etc/passwd",
		"/log", "/conf", "/passwd", "/key", "/loop", "/loop/", "/pipe", "/.env", "/.htaccess", "/.git/config", "/.git/", "/a/.hidden/x",
		"/x/.user.ini", "/%2eenv", "/%2Egit/config", "/.ENV", "/secret.php", "/secret.php/x", "/errors/secret.txt", "/" + strings.Repeat("a", 300),
	} {
		conn, err := net.Dial("tcp", w.address)
		w.must(err)
		_, err = fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: alice.example\r\nConnection: close\r\n\r\n", path)
		w.must(err)
		got, err := io.ReadAll(conn)
		w.must(err)
		_ = conn.Close()
		status := string(got[9:12])
		if strings.Contains(string(got), "SECRET") || strings.Contains(string(got), "root:") || status[0] != '4' && status != "301" {
			t.Errorf("%q: %.300q", path, got)
		}
	}
	for _, address := range []string{"http://link.example/", "http://link.example/secret.txt"} {
		if res := w.ask("GET", address); res.StatusCode < 400 || strings.Contains(res.body, "SECRET") {
			t.Errorf("%s: %d %q", address, res.StatusCode, res.body)
		}
	}
	for path, want := range map[string]string{"/inside/ok.txt": "ok", "/": "ok"} {
		if res := w.ask("GET", "http://alice.example"+path); res.body != want {
			t.Errorf("%s: %d %q", path, res.StatusCode, res.body)
		}
	}
	// A hard link to another's file cannot be made by the account at all (fs.protected_hardlinks); one
	// that root would make is another name of a file that nobody but its owner gave away.
	if data, err := os.ReadFile("/proc/sys/fs/protected_hardlinks"); err != nil || strings.TrimSpace(string(data)) != "1" {
		t.Errorf("hard links are not protected: %s %v", data, err)
	}
}

func TestWhateverACustomerNamesIsOnlyAName(t *testing.T) {
	w := newWorld(t)
	a := w.machine.Account("alice", panel.Limits{})
	for i, root := range []string{`a b`, `a"b`, `a'b`, `a\b`, `a;b`, `a{b`, `a}b`, `$host`, `${uri}`, "a\nb", `#a`, `кириллица`, `a\`, `a\"; return 200 x; #`} {
		w.put(a, root+"/index.html", "OK"+root)
		w.must(os.Chmod(filepath.Join(a.Home, root), 0o755))
		w.apply(a, web.Site{Domain: fmt.Sprintf("n%d.example", i), DocumentRoot: root})
		if res := w.ask("GET", fmt.Sprintf("http://n%d.example/", i)); res.body != "OK"+root {
			t.Errorf("%q: %d %q", root, res.StatusCode, res.body)
		}
	}
	if _, err := quote("a\x00b"); panel.KindOf(err) != panel.ErrInvalid {
		t.Errorf("NUL: %v", err)
	}
}

func TestABrokenConfigurationHoldsUpNobody(t *testing.T) {
	w := newWorld(t)
	a, b := w.machine.Account("alice", panel.Limits{}), w.machine.Account("bob", panel.Limits{})
	w.put(a, "public_html/index.html", "ALICE")
	w.put(b, "public_html/index.html", "BOB")
	w.apply(a, web.Site{Domain: "alice.example"})
	var wg sync.WaitGroup
	var broken error
	wg.Go(func() {
		broken = w.Apply(w.Context(), a.Name, []web.Site{{Domain: "alice.example; syntax error", Home: a.Home, DocumentRoot: "public_html", GID: a.User.GID}})
	})
	wg.Go(func() { w.apply(b, web.Site{Domain: "bob.example"}) })
	wg.Wait()
	if broken == nil {
		t.Error("a configuration that nginx refuses was taken")
	}
	for host, want := range map[string]string{"alice.example": "ALICE", "bob.example": "BOB"} {
		if res := w.ask("GET", "http://"+host+"/"); res.body != want {
			t.Errorf("%s: %d %q", host, res.StatusCode, res.body)
		}
	}
}

// What only all sites together are refused for is found too, soon, and taken back.
func TestAConfigurationThatIsRefusedAsAWholeIsTakenBack(t *testing.T) {
	w := newWorld(t)
	a := w.machine.Account("alice", panel.Limits{})
	w.put(a, "public_html/index.html", "ALICE")
	w.apply(a, web.Site{Domain: "alice.example"})
	other := w.file("conf", "sites", "other.conf")
	w.must(os.WriteFile(other, []byte("no directive;\n"), 0o600)) // by somebody's hand
	site := web.Site{Domain: "new.example", Home: a.Home, DocumentRoot: "public_html", GID: a.User.GID}
	if err := w.Apply(w.Context(), a.Name, []web.Site{site}); err == nil || !strings.Contains(err.Error(), "other.conf") {
		t.Errorf("%v, want what nginx says of other.conf", err)
	}
	if res := w.ask("GET", "http://alice.example/"); res.body != "ALICE" {
		t.Errorf("alice.example: %d %q", res.StatusCode, res.body)
	}
	w.must(os.Remove(other))
	w.must(w.Apply(w.Context(), a.Name, []web.Site{site}))
	if res := w.ask("GET", "http://new.example/"); res.body != "ALICE" {
		t.Errorf("new.example: %d %q", res.StatusCode, res.body)
	}
}

func TestAHundredDomainsAtOnceTakeFiveReloads(t *testing.T) {
	w := newWorld(t, func(c *Config) { c.Interval = 0 })
	a := w.machine.Account("alice", panel.Limits{})
	w.put(a, "public_html/index.html", "INDEX")
	before := w.Reloads()
	var wg sync.WaitGroup
	for i := range 100 {
		wg.Go(func() {
			w.apply(accounts.Account{Record: accounts.Record{Name: fmt.Sprintf("site%d", i), User: a.User}, Home: a.Home}, web.Site{Domain: fmt.Sprintf("n%d.example", i)})
			if res := w.ask("GET", fmt.Sprintf("http://n%d.example/", i)); res.body != "INDEX" {
				t.Errorf("n%d.example is not served when Apply has answered: %d", i, res.StatusCode)
			}
		})
	}
	wg.Wait()
	if n := w.Reloads() - before; n > 5 {
		t.Errorf("%d reloads", n)
	}
	before = w.Reloads()
	w.apply(accounts.Account{Record: accounts.Record{Name: "site1", User: a.User}, Home: a.Home}, web.Site{Domain: "n1.example"})
	if w.Reloads() != before {
		t.Error("the same again reloads")
	}
}

func TestReloadsDropNoRequestAndTheAgentMayDie(t *testing.T) {
	w := newWorld(t)
	a := w.machine.Account("alice", panel.Limits{})
	w.put(a, "public_html/index.html", "INDEX")
	w.apply(a, web.Site{Domain: "alice.example"})
	ctx, stop := context.WithCancel(w.Context())
	var wg sync.WaitGroup
	var asked int
	wg.Go(func() {
		for ctx.Err() == nil {
			if res := w.ask("GET", "http://alice.example/"); res.body != "INDEX" {
				t.Errorf("during a reload: %d", res.StatusCode)
			}
			asked++
		}
	})
	for i := range 5 {
		w.apply(a, web.Site{Domain: "alice.example", Aliases: []string{fmt.Sprintf("n%d.example", i)}})
	}
	stop()
	wg.Wait()
	if asked < 5 {
		t.Errorf("only %d requests", asked)
	}
	pid := w.cfg.Supervisor.PID(Name)
	w.must(w.Close())
	again, err := Open(w.Context(), w.cfg)
	w.must(err)
	if w.cfg.Supervisor.PID(Name) != pid {
		t.Error("another agent started another nginx")
	}
	w.Server = again
	if res := w.ask("GET", "http://n4.example/"); res.body != "INDEX" {
		t.Errorf("after the agent was another: %d", res.StatusCode)
	}
}

func TestLogsAreWrittenRotatedAndLoseNothing(t *testing.T) {
	w := newWorld(t)
	a := w.machine.Account("alice", panel.Limits{})
	w.put(a, "public_html/a.txt", "12345")
	w.apply(a, web.Site{Domain: "alice.example"})
	small, err := logs.Open(logs.Config{Dir: filepath.Join(w.machine.Dir, "logs"), Now: time.Now, Log: nodetest.Log(t), Policy: logs.Policy{MaxBytes: 1000, Keep: 1000}})
	w.must(err)
	small.OnRotate(w.Reopen)
	const requests = 300
	for i := range requests {
		w.ask("GET", fmt.Sprintf("http://alice.example/a.txt?n=%d", i), "Referer", `http://x/"`, "User-Agent", "ag\"ent")
		if i%20 == 19 {
			w.must(small.Rotate(t.Context()))
		}
	}
	seen := map[string]bool{}
	testkit.Eventually(t, time.Minute, func() bool {
		before := ""
		for {
			page, err := small.Read(w.Context(), "alice", panel.LogQuery{Type: panel.LogAccess, Limit: 50, Before: before})
			w.must(err)
			for _, l := range page.Lines {
				seen[l.Message] = true
				if l.Status != 200 || l.Path != "/a.txt" || l.IP != "127.0.0.1" || l.At.IsZero() {
					t.Fatalf("%+v", l)
				}
			}
			if before = page.Before; before == "" {
				return len(seen) == requests
			}
		}
	}, "all requests are in the logs")
	entries, err := os.ReadDir(w.store.Dir("alice"))
	w.must(err)
	packed := 0
	for _, e := range entries {
		info, err := e.Info()
		w.must(err)
		st, ok := info.Sys().(*syscall.Stat_t)
		if !ok || info.Mode().Perm() != 0o640 || int(st.Gid) != a.User.GID {
			t.Errorf("%s: %v, group %d", e.Name(), info.Mode(), st.Gid)
		}
		if strings.HasSuffix(e.Name(), ".gz") {
			packed++
		}
	}
	if packed < 5 {
		t.Errorf("%d compressed logs of %d", packed, len(entries))
	}
	w.ask("GET", "http://alice.example/.env")
	w.ask("GET", "http://alice.example/missing.txt")
}

// TestNoSourceOfAProgramIsSent: with PHP and without, whatever a copy of a program is called.
func TestNoSourceOfAProgramIsSent(t *testing.T) {
	w := newWorld(t)
	a := w.machine.Account("alice", panel.Limits{})
	for _, name := range slices.Concat(nodetest.Sources, nodetest.NoSources) {
		w.put(a, "public_html/a b/"+name, "SOURCE")
	}
	w.put(a, "public_html/lib.inc/style.css", "STYLE")
	w.apply(a, web.Site{Domain: "static.example"}, web.Site{Domain: "php.example", PHP: filepath.Join(w.cfg.Dir, "none.sock")})
	for _, host := range []string{"static.example", "php.example"} {
		for _, name := range nodetest.Sources {
			if res := w.ask("GET", "http://"+host+"/a%20b/"+url.PathEscape(name)); res.StatusCode != 404 || strings.Contains(res.body, "SOURCE") {
				t.Errorf("%s of %s: %d %.40q", name, host, res.StatusCode, res.body)
			}
		}
		for _, name := range nodetest.NoSources {
			if res := w.ask("GET", "http://"+host+"/a%20b/"+url.PathEscape(name)); res.StatusCode != 200 || res.body != "SOURCE" {
				t.Errorf("%s of %s: %d %.40q", name, host, res.StatusCode, res.body)
			}
		}
		if res := w.ask("GET", "http://"+host+"/lib.inc/style.css"); res.body != "STYLE" {
			t.Errorf("a directory of %s: %d %.40q", host, res.StatusCode, res.body)
		}
	}
}

// TestFormerWorkersEnd: a slow download would keep one of every reload.
func TestFormerWorkersEnd(t *testing.T) {
	w := newWorld(t)
	text, err := os.ReadFile(w.file("nginx.conf"))
	w.must(err)
	if !strings.Contains(string(text), "\nworker_shutdown_timeout 10m;\n") {
		t.Errorf("workers have no end in\n%s", text)
	}
}

// TestTheAddressesOfTheMachineChange: nginx does not start with an address that the machine has no more.
func TestTheAddressesOfTheMachineChange(t *testing.T) {
	w := newWorld(t)
	a := w.machine.Account("alice", panel.Limits{})
	w.put(a, "public_html/index.html", "INDEX")
	w.apply(a, web.Site{Domain: "alice.example"})
	w.must(w.Close())
	file := filepath.Join(w.cfg.Dir, "conf/sites", a.Name+".conf")
	text, err := os.ReadFile(file)
	w.must(err)
	// 192.0.2.0/24 is nobody's (RFC 5737).
	w.must(os.WriteFile(file, bytes.ReplaceAll(text, []byte(w.address), []byte("192.0.2.7:80")), 0o600))
	w.must(w.cfg.Supervisor.Stop(t.Context(), Name))
	w.address = testkit.Address(t)
	w.cfg.HTTP = []string{w.address}
	again, err := Open(t.Context(), w.cfg)
	w.must(err)
	w.Server = again
	w.apply(a, web.Site{Domain: "alice.example"})
	if res := w.ask("GET", "http://alice.example/"); res.body != "INDEX" {
		t.Errorf("%d %q", res.StatusCode, res.body)
	}
}

func TestDirectoriesThatTheCustomerClosesAreClosed(t *testing.T) {
	w := newWorld(t)
	a := w.machine.Account("alice", panel.Limits{})
	odd := `a "b" $c \d ~e`
	for _, name := range []string{
		"index.html", "private/x.txt", "private/x.php", "private/index.html", "private/open/y.txt", "privateer.txt", odd + "/x.txt", ".well-known/acme-challenge/token",
		"403.html",
	} {
		w.put(a, "public_html/"+name, name)
	}
	closed := []web.Closed{
		{Path: "/private/", Denied: true},
		{Path: "/private/open/"},
		{Path: "/" + odd + "/", Denied: true},
		{Path: "/.well-known/acme-challenge/", Denied: true},
	}
	php := filepath.Join(t.TempDir(), "none.sock")
	for _, socket := range []string{"", php} {
		w.apply(a, web.Site{Domain: "closed.example", Closed: closed, PHP: socket})
		for path, want := range map[string]int{
			"/": 200, "/private/x.txt": 403, "/private/": 403, "/private/x.php": 403, "/private/none": 403, "/private/x.php/more": 403,
			"/%70rivate/x.txt": 403, "//private//x.txt": 403, "/x/../private/x.txt": 403, "/./private/x.txt": 403,
			"/private/open/y.txt": 200, "/privateer.txt": 200, "/" + url.PathEscape(odd) + "/x.txt": 403,
			"/.well-known/acme-challenge/token": 200,
		} {
			if got := w.ask("GET", "http://closed.example"+path); got.StatusCode != want || want == 403 && got.body != "403.html" {
				t.Errorf("PHP %q: %s is %d %q, want %d", socket, path, got.StatusCode, got.body, want)
			}
		}
		if got := w.ask("GET", "http://closed.example/private"); got.StatusCode == 200 {
			t.Errorf("without its slash %d %q", got.StatusCode, got.body)
		}
	}
	w.apply(a, web.Site{Domain: "closed.example", Closed: []web.Closed{{Path: "/", Denied: true}, {Path: "/private/open/"}}})
	for path, want := range map[string]int{"/": 403, "/index.html": 403, "/private/x.txt": 403, "/private/open/y.txt": 200, "/.well-known/acme-challenge/token": 200} {
		if got := w.ask("GET", "http://closed.example"+path); got.StatusCode != want {
			t.Errorf("all closed: %s is %d, want %d", path, got.StatusCode, want)
		}
	}
}

func TestSettingsOfMailProgramsAreAskedForAtTheDomain(t *testing.T) {
	socket := filepath.Join(nodetest.Dir(t), "s")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(socket, 0o666); err != nil {
		t.Fatal(err)
	}
	settings := &http.Server{Handler: http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		_, _ = fmt.Fprintf(rw, "SETTINGS %s %s%s %s", r.Method, r.Host, r.URL.Path, body)
	})}
	go func() { _ = settings.Serve(l) }()
	t.Cleanup(func() { _ = settings.Close() })
	w := newWorld(t, func(c *Config) {
		c.MailSettings = socket
		c.MailNames = func(domain string) []string { return []string{"autoconfig." + domain, "autodiscover." + domain} }
	})
	a := w.machine.Account("alice", panel.Limits{})
	const wellKnown, outlook = "/.well-known/autoconfig/mail/config-v1.1.xml", "/autodiscover/autodiscover.xml"
	w.put(a, "public_html/index.html", "INDEX")
	php := filepath.Join(t.TempDir(), "none.sock")
	sites := []web.Site{
		{Domain: "mail.example", Aliases: []string{"also.example"}, Mail: []string{"mail.example"}},
		{Domain: "php.example", Mail: []string{"php.example"}, PHP: php},
		{Domain: "moved.example", Mail: []string{"moved.example"}, RedirectTo: "https://elsewhere.example"},
		{Domain: "none.example"},
	}
	w.apply(a, sites...)
	for address, want := range map[string]string{
		"http://mail.example" + wellKnown: "SETTINGS GET mail.example" + wellKnown + " ", "https://php.example" + outlook: "SETTINGS GET php.example" + outlook + " ",
		"http://autoconfig.mail.example/mail/config-v1.1.xml": "SETTINGS GET autoconfig.mail.example/mail/config-v1.1.xml ",
		"http://autodiscover.php.example" + outlook:           "SETTINGS GET autodiscover.php.example" + outlook + " ",
		"http://moved.example" + wellKnown:                    "SETTINGS GET moved.example" + wellKnown + " ",
		"http://mail.example/Autodiscover/Autodiscover.xml":   "SETTINGS GET mail.example/Autodiscover/Autodiscover.xml ",
	} {
		if got := w.ask("GET", address); got.StatusCode != 200 || got.body != want {
			t.Errorf("%s is %d %q, want %q", address, got.StatusCode, got.body, want)
		}
	}
	for address, want := range map[string]int{
		"http://none.example" + wellKnown: 404, "http://autoconfig.none.example/": 404, "http://autoconfig.also.example/": 404,
		"http://moved.example/": 301, "http://mail.example/": 200,
	} {
		if got := w.ask("GET", address); got.StatusCode != want {
			t.Errorf("%s is %d, want %d", address, got.StatusCode, want)
		}
	}
	if got := w.ask("POST", "https://mail.example"+outlook); got.body != "SETTINGS POST mail.example"+outlook+" " {
		t.Errorf("a question: %d %q", got.StatusCode, got.body)
	}
	// The customer's own files and names win.
	w.put(a, "public_html/.well-known/autoconfig/mail/config-v1.1.xml", "OWN")
	w.put(a, "public_html/autodiscover/autodiscover.xml", "OWN")
	for _, path := range []string{wellKnown, outlook} {
		if got := w.ask("GET", "http://mail.example"+path); got.body != "OWN" {
			t.Errorf("%s: %d %q", path, got.StatusCode, got.body)
		}
	}
	w.apply(a, append(sites, web.Site{Domain: "autoconfig.mail.example"})...)
	if got := w.ask("GET", "http://autoconfig.mail.example/"); got.body != "INDEX" {
		t.Errorf("a site of the customer's: %d %q", got.StatusCode, got.body)
	}
}

// TestASiteThatMoves: it answers that it will be back in a moment, and then has the other machine answer, by HTTP and HTTPS, with
// the name that was asked for, and never in circles.
func TestASiteThatMoves(t *testing.T) {
	w := newWorld(t)
	other := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		_, _ = fmt.Fprintf(w, "%s %s %s %s hops%s", r.Method, r.Host, r.URL, body, r.Header.Get(web.HopHeader))
	})
	plain, secure := httptest.NewServer(other), httptest.NewUnstartedServer(other)
	defer plain.Close()
	defer secure.Close()
	identity, err := certificate.SelfSign("the other machine", []string{web.ProofName}, time.Now(), time.Hour)
	w.must(err)
	impostor, err := certificate.SelfSign("the other machine", []string{web.ProofName}, time.Now(), time.Hour)
	w.must(err)
	secure.TLS = &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{identity.Leaf().Raw}, PrivateKey: identity.Key}}}
	secure.StartTLS()
	a := w.machine.Account("moves", panel.Limits{})
	site := web.Site{Domain: "moves.test", Moving: true, ForceHTTPS: true}
	w.apply(a, site)
	if res := w.ask("GET", "http://moves.test/"); res.StatusCode != 503 || res.Header.Get("Retry-After") != "60" || !strings.Contains(res.body, "moving") {
		t.Errorf("it moves: %d %v %.50q", res.StatusCode, res.Header, res.body)
	}
	site.Moving, site.Forward = false, &panel.Forward{HTTP: plain.Listener.Addr().String(), HTTPS: secure.Listener.Addr().String(), Proof: identity.ChainPEM()}
	w.apply(a, site)
	if res := w.ask("GET", "http://moves.test/a%20b?c=d"); res.StatusCode != 200 || res.body != "GET moves.test /a%20b?c=d  hops.1" {
		t.Errorf("forwarded: %d %q", res.StatusCode, res.body)
	}
	if res := w.ask("GET", "http://moves.test/", "Stead-Forwarded", ".1.1.1"); res.StatusCode != http.StatusLoopDetected {
		t.Errorf("in circles: %d", res.StatusCode)
	}
	if res := w.ask("GET", "https://moves.test/a"); res.StatusCode != 200 || res.body != "GET moves.test /a  hops.1" {
		t.Errorf("forwarded by HTTPS: %d %q", res.StatusCode, res.body)
	}
	before := *site.Forward
	site.Forward = &panel.Forward{HTTP: before.HTTP, HTTPS: before.HTTPS, Proof: impostor.ChainPEM()}
	w.apply(a, site)
	if res := w.ask("GET", "https://moves.test/a"); res.StatusCode != http.StatusBadGateway {
		t.Errorf("forwarded to a machine that is another one: %d %q", res.StatusCode, res.body)
	}
	// Two machines with nginx know each other by what Proof answers.
	site.Forward = nil
	w.put(a, "public_html/index.html", "INDEX")
	here, err := w.Proof()
	w.must(err)
	b := w.machine.Account("moved", panel.Limits{})
	w.apply(a, site)
	w.apply(b, web.Site{Domain: "moved.test", Forward: &panel.Forward{HTTP: w.address, HTTPS: w.tlsAddress, Proof: here}})
	if res := w.ask("GET", "https://moved.test/a"); res.StatusCode != http.StatusLoopDetected {
		t.Errorf("forwarded to itself: %d %q", res.StatusCode, res.body)
	}
	w.apply(b)
	if left, err := filepath.Glob(w.file("conf", "sites", "moved.*")); err != nil || len(left) > 0 {
		t.Errorf("left of an account that was removed: %v %v", left, err)
	}
	site.Forward = &before
	w.apply(a, site)
	plain.Close()
	if res := w.ask("GET", "http://moves.test/"); res.StatusCode != http.StatusBadGateway {
		t.Errorf("while the other machine is down: %d %q", res.StatusCode, res.body)
	}
}
