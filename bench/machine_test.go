package bench

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"mime/multipart"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"stead.dev/stead/internal/front/demo"
	"stead.dev/stead/internal/node/daemon"
	"stead.dev/stead/internal/node/machine"
	"stead.dev/stead/internal/node/nodetest"
	"stead.dev/stead/internal/node/php"
	"stead.dev/stead/internal/node/web/nginx"
	"stead.dev/stead/internal/platform/testkit"
	"stead.dev/stead/internal/port/panel"
	panelnode "stead.dev/stead/internal/port/panel/node"
)

// hosting is the built program with a whole Linux machine on ports of the loopback, and a customer of it.
type hosting struct {
	b         *testing.B
	url, node string
	pid       int
	started   time.Duration // from its start until it was ready
	client    *http.Client  // bears the token
	browser   *http.Client  // is signed in to the pages
	plan      int64
}

const customerEmail, customerPassword = "demo@stead.example", "stead-demo-password"

// host builds and starts the program. Daemons, users and files are gone when the benchmark ends.
func host(b *testing.B) *hosting {
	b.Helper()
	dir := nodetest.Dir(b)
	var ports []string
	var node string
	for _, name := range []string{"http", "https", "ftp", "ssh", "mariadb", "postgresql"} {
		port := testkit.Port(b)
		ports = append(ports, fmt.Sprintf("%s=%d", name, port))
		if name == "http" {
			node = fmt.Sprintf("http://127.0.0.1:%d", port)
		}
	}
	prefix := "b" + strings.ToLower(rand.Text()[:5])
	b.Cleanup(func() { clearMachine(b, dir, prefix) }) // once the server has ended
	h := launch(b, filepath.Join(dir, "data"), 10_000,
		"STEAD_NODE_MACHINE=linux", "STEAD_NODE_HOST=127.0.0.1", "STEAD_NODE_PORTS="+strings.Join(ports, ","), "STEAD_NODE_USER_PREFIX="+prefix,
		"STEAD_NODE_URL="+node, "STEAD_MAX_UPLOAD=4GiB")
	h.node = node
	return h
}

// mostCredit is the most dollars that staff credit at once.
const mostCredit = 100_000

// launch builds the program and starts it with a demo shop, until the benchmark ends. Its customer gets dollars.
func launch(b *testing.B, data string, dollars int, settings ...string) *hosting {
	b.Helper()
	binary := filepath.Join(b.TempDir(), "stead")
	build := exec.CommandContext(b.Context(), "go", "build", "-o", binary, "../cmd/stead")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	out, err := build.CombinedOutput()
	if err != nil {
		b.Fatalf("build: %v %s", err, out)
	}
	listen := testkit.Address(b)
	h := &hosting{b: b, url: "http://" + listen}
	env := append([]string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + b.TempDir(), "STEAD_DATA_DIR=" + data, "STEAD_LISTEN=" + listen,
		"STEAD_OPS_LISTEN=off", "STEAD_DNS_LISTEN=off", "STEAD_NODE_LISTEN=127.0.0.1:0", "STEAD_THROTTLE=false",
	}, settings...)
	var log bytes.Buffer
	server := exec.CommandContext(context.WithoutCancel(b.Context()), binary, "serve", "--demo")
	server.Env, server.Stderr = env, &log
	began := time.Now()
	must(b, server.Start())
	h.pid = server.Process.Pid
	b.Cleanup(func() {
		_ = server.Process.Signal(syscall.SIGTERM)
		_ = server.Wait()
		if b.Failed() {
			b.Logf("the server's last words: %.4000s", log.Bytes()[max(0, log.Len()-4000):])
		}
	})
	testkit.Eventually(b, time.Minute, func() bool {
		res, err := http.Get(h.url + "/readyz")
		if err != nil {
			return false
		}
		return errors.Join(res.Body.Close()) == nil && res.StatusCode == http.StatusOK
	}, "the server is ready")
	h.started = time.Since(began)
	for left := dollars; left > 0; left -= mostCredit {
		credit := exec.CommandContext(b.Context(), binary, "admin", "wallet", "credit", customerEmail, strconv.Itoa(min(left, mostCredit)), "--reason", "a benchmark")
		credit.Env = env
		if out, err := credit.CombinedOutput(); err != nil {
			b.Fatalf("credit: %v %s", err, out)
		}
	}
	h.client, err = demo.Authorize(b.Context(), demo.Options{URL: h.url, Out: io.Discard, JSON: true, Email: customerEmail, Password: customerPassword})
	must(b, err)
	h.client.Timeout = 10 * time.Minute
	jar, err := cookiejar.New(nil)
	must(b, err)
	h.browser = &http.Client{Jar: jar, Timeout: time.Minute}
	h.text(h.browser.PostForm(h.url+"/login", url.Values{"email": {customerEmail}, "password": {customerPassword}}))
	var catalog struct {
		Data []struct {
			Type  string
			Plans []struct{ ID int64 }
		}
	}
	h.call(http.MethodGet, "/api/v1/catalog", nil, &catalog)
	for _, p := range catalog.Data {
		if p.Type == "hosting" && len(p.Plans) > 0 {
			h.plan = p.Plans[len(p.Plans)-1].ID
			break
		}
	}
	return h
}

// clearMachine ends the daemons below dir, which outlive the server, and removes the users.
func clearMachine(b *testing.B, dir, prefix string) {
	testkit.Eventually(b, time.Minute, func() bool {
		left := 0
		entries, err := os.ReadDir("/proc")
		must(b, err)
		for _, e := range entries {
			pid, err := strconv.Atoi(e.Name())
			if err != nil || pid == os.Getpid() {
				continue
			}
			line, err := os.ReadFile(filepath.Join("/proc", e.Name(), "cmdline"))
			if err == nil && bytes.Contains(line, []byte(dir+"/")) {
				left++
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
		}
		return left == 0
	}, "the daemons are gone")
	passwd, err := os.ReadFile("/etc/passwd")
	must(b, err)
	for line := range strings.Lines(string(passwd)) {
		if name, _, _ := strings.Cut(line, ":"); strings.HasPrefix(name, prefix) {
			if out, err := exec.Command("userdel", "-f", name).CombinedOutput(); err != nil {
				b.Errorf("userdel %s: %v %s", name, err, out)
			}
		}
	}
}

// text is a page that has to be there.
func (h *hosting) text(res *http.Response, err error) string {
	h.b.Helper()
	must(h.b, err)
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(res.Body)
	must(h.b, err)
	if res.StatusCode >= 300 {
		h.b.Fatalf("%s %s: %s %.500s", res.Request.Method, res.Request.URL, res.Status, body)
	}
	return string(body)
}

// call is one operation that has to succeed.
func (h *hosting) call(method, path string, in, out any) {
	h.b.Helper()
	body, err := json.Marshal(in)
	must(h.b, err)
	var reader io.Reader
	if in != nil {
		reader = bytes.NewReader(body)
	}
	req, err := http.NewRequestWithContext(h.b.Context(), method, h.url+path, reader)
	must(h.b, err)
	req.Header.Set("Content-Type", "application/json")
	answer := h.text(h.client.Do(req))
	if out != nil {
		must(h.b, json.Unmarshal([]byte(answer), out))
	}
}

// panel is an operation that has to succeed, called as the panel does in the browser that is signed in.
func (h *hosting) panel(method, path string, out any) {
	h.b.Helper()
	req, err := http.NewRequestWithContext(h.b.Context(), method, h.url+"/panel"+path, nil)
	must(h.b, err)
	req.Header.Set("X-Stead-Panel", "1")
	must(h.b, json.Unmarshal([]byte(h.text(h.browser.Do(req))), out))
}

// order orders hosting for a domain; what it answers is to be paid.
func (h *hosting) order(domain string) (order int64) {
	var o struct{ ID int64 }
	h.call(http.MethodPost, "/api/v1/orders", map[string]any{"plan_id": h.plan, "domain": domain}, &o)
	return o.ID
}

// pay pays an order and waits until its service is active.
func (h *hosting) pay(order int64) (service int64) {
	var paid struct {
		ServiceID int64 `json:"service_id"`
	}
	h.call(http.MethodPost, fmt.Sprintf("/api/v1/orders/%d/pay", order), map[string]any{}, &paid)
	h.await(func() bool {
		var s struct{ Status string }
		h.call(http.MethodGet, fmt.Sprintf("/api/v1/services/%d", paid.ServiceID), nil, &s)
		return s.Status == "active"
	}, "the service is active")
	return paid.ServiceID
}

func (h *hosting) await(done func() bool, what string) {
	h.b.Helper()
	testkit.Eventually(h.b, time.Minute, done, what)
}

// rowPage writes a row into its database and reads it.
const rowPage = `<?php
$db = new PDO('mysql:host=%s;port=%d;dbname=%s', '%s', '%s', [PDO::ATTR_ERRMODE => PDO::ERRMODE_EXCEPTION]);
$db->exec('CREATE TABLE IF NOT EXISTS visits (id INT PRIMARY KEY, what VARCHAR(40))');
$db->exec("REPLACE INTO visits VALUES (1, '%s')");
echo $db->query('SELECT what FROM visits WHERE id = 1')->fetchColumn();
`

// database makes a database of the service, has its password shown, once, and
// writes the page that reads a row of it.
func (h *hosting) database(service int64, row string) {
	at := fmt.Sprintf("/api/v1/services/%d", service)
	var made struct{ Name string }
	h.call(http.MethodPost, at+"/databases", map[string]any{"name": "shop", "engine": "mariadb"}, &made)
	var list struct {
		Data []struct {
			Status string
			Host   *string
			Port   *int
			Users  []struct{ Name string }
		}
	}
	h.await(func() bool {
		h.call(http.MethodGet, at+"/databases", nil, &list)
		return len(list.Data) == 1 && list.Data[0].Status == "active" && len(list.Data[0].Users) == 1
	}, "the database is active")
	db := list.Data[0]
	var passwords struct{ Data []struct{ ID int64 } }
	h.panel(http.MethodGet, at+"/passwords", &passwords)
	if len(passwords.Data) == 0 {
		h.b.Fatal("no password is to be shown")
	}
	var shown struct{ Password string }
	h.panel(http.MethodPost, fmt.Sprintf("%s/passwords/%d/reveal", at, passwords.Data[0].ID), &shown)
	h.call(http.MethodPut, at+"/files/content", map[string]any{
		"path":    "/public_html/row.php",
		"content": fmt.Sprintf(rowPage, *db.Host, *db.Port, made.Name, db.Users[0].Name, shown.Password, row),
	}, nil)
}

// visit is a request to a site, and whether it answers as it should.
func (h *hosting) visit(domain, path, want string) bool {
	req, err := http.NewRequestWithContext(h.b.Context(), http.MethodGet, h.node+path, nil)
	must(h.b, err)
	req.Host = domain
	res, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		return false
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(res.Body)
	if res.StatusCode == http.StatusOK && string(body) != want && strings.HasSuffix(path, ".php") {
		h.b.Fatalf("%s%s answers %.500s", domain, path, body)
	}
	return err == nil && res.StatusCode == http.StatusOK && string(body) == want
}

// BenchmarkOrderToSite is from the call that pays an order to the first answer of the site, on a whole
// Linux machine under the built program: of a PHP page that its customer writes as soon as the service
// is active, and then of one that reads a row of a database that was made for it. One order after
// the other, back to back.
func BenchmarkOrderToSite(b *testing.B) {
	h := host(b)
	var active, page, row []time.Duration
	buy := func(i int) (a, p, r time.Duration) {
		domain := fmt.Sprintf("order-%d.stead.test", i)
		order := h.order(domain)
		began := time.Now()
		service := h.pay(order)
		a = time.Since(began)
		h.call(http.MethodPut, fmt.Sprintf("/api/v1/services/%d/files/content", service),
			map[string]any{"path": "/public_html/hello.php", "content": "<?php echo 6 * 7;"}, nil)
		h.await(func() bool { return h.visit(domain, "/hello.php", "42") }, "the page is served")
		p = time.Since(began)
		h.database(service, domain)
		h.await(func() bool { return h.visit(domain, "/row.php", domain) }, "the row is shown")
		return a, p, time.Since(began)
	}
	buy(1000) // the first one of a machine makes what all share
	i := 0
	for b.Loop() {
		a, p, r := buy(i)
		active, page, row = append(active, a), append(page, p), append(row, r)
		i++
	}
	report(b, active, "active")
	report(b, page, "php")
	report(b, row, "row")
	b.ReportMetric(0, "ns/op")
}

func report(b *testing.B, took []time.Duration, what string) {
	slices.Sort(took)
	ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
	b.ReportMetric(ms(took[len(took)/2]), "p50-"+what+"-ms")
	b.ReportMetric(ms(took[len(took)-1]), "max-"+what+"-ms")
}

// The facilities of an account whose cost is told apart.
const (
	costAccount     = "account" // user, home, quota, nginx, PHP
	costMailboxes   = "mailboxes"
	costDatabase    = "database"
	costCertificate = "certificate"
	costRenewal     = "renewal"
)

// BenchmarkAccountOnMachine makes accounts on whole machines and tells what one costs where there are 10,
// 300 and 1,000, in time and in processor time of this process and all daemons: user, home, quota, nginx, PHP and what else a
// machine has; five mailboxes, of which the first makes the domain's key of DKIM; a database of MariaDB; a certificate of its
// own; and another one in its place. The accounts before are made 64 at once, and share reloads; how many those were is in the
// log (-v). Then each machine makes one in its turn, so that what else the computer does falls on all alike. At last all
// accounts are reconciled, of which none has changed: once so that all is as it should be, and once to see what that costs.
// STEAD_BENCH_ACCOUNTS stands for the 1,000 when it is set, and STEAD_BENCH_ROUNDS for the 15 that each machine makes.
func BenchmarkAccountOnMachine(b *testing.B) {
	rounds := int(setting(b, "STEAD_BENCH_ROUNDS", 15))
	most := int(setting(b, "STEAD_BENCH_ACCOUNTS", 1000))
	sizes := slices.Compact([]int{10, min(300, most), most})
	for b.Loop() {
		took, spent := map[string]map[int][]time.Duration{}, map[string]map[int]time.Duration{}
		var machines []*growing
		for _, n := range sizes {
			g := newGrowing(b, n+rounds)
			g.fill(n - rounds/2 - 1)
			machines = append(machines, g)
		}
		for range rounds {
			for i, g := range machines {
				for what, c := range g.one() {
					if took[what] == nil {
						took[what], spent[what] = map[int][]time.Duration{}, map[int]time.Duration{}
					}
					took[what][sizes[i]] = append(took[what][sizes[i]], c.took)
					spent[what][sizes[i]] += c.spent
				}
			}
		}
		for what, bySize := range took {
			for n, all := range bySize {
				slices.Sort(all)
				b.ReportMetric(float64(all[rounds/2].Microseconds())/1000, fmt.Sprintf("%s-ms/%dth", what, n))
				b.ReportMetric(float64(spent[what][n].Microseconds())/1000/float64(rounds), fmt.Sprintf("%s-cpu-ms/%dth", what, n))
			}
			b.ReportMetric(float64(bySize[most][rounds/2])/float64(bySize[10][rounds/2]), what+"-ratio")
			b.ReportMetric(float64(spent[what][most])/float64(spent[what][10]), what+"-cpu-ratio")
		}
		for i, g := range machines {
			g.m.Reconcile(b.Context())
			stop := nodetest.ProcessorTime(b, g.dir, g.supervisor)
			g.m.Reconcile(b.Context())
			b.ReportMetric(stop().Seconds(), fmt.Sprintf("reconcile-cpu-s/%d", sizes[i]))
		}
		b.ReportMetric(0, "ns/op")
	}
}

// growing is a whole machine on which accounts are made.
type growing struct {
	*testing.B
	m            *machine.Machine
	dir          string
	supervisor   daemon.Supervisor
	mail         panel.Mail
	databases    panel.Databases
	certificates panel.Certificates
	made         int
}

// newGrowing starts a machine with room for most accounts. It is gone with the benchmark.
func newGrowing(b *testing.B, most int) *growing {
	dir := nodetest.Dir(b)
	cfg := machine.Config{
		Kind: machine.Linux, Dir: dir, Now: time.Now, Log: nodetest.Log(b), Host: "127.0.0.1", WebGroup: nodetest.Web,
		Supervisor: nodetest.Supervisor(b, dir), Mail: machine.Mail{Hostname: "mx.stead.test"},
	}
	cfg.UserPrefix, cfg.UIDMin, cfg.UIDMax = nodetest.UsersSized(b, most)
	for _, ports := range []reflect.Value{reflect.ValueOf(&cfg.Ports).Elem(), reflect.ValueOf(&cfg.Mail.Ports).Elem()} {
		for i := range ports.NumField() {
			ports.Field(i).SetInt(int64(testkit.Port(b)))
		}
	}
	m, err := machine.Open(b.Context(), cfg)
	must(b, err)
	b.Cleanup(func() { endMachine(b, m, cfg) })
	g := &growing{B: b, m: m, dir: dir, supervisor: cfg.Supervisor}
	port := panelnode.New(m.Node)
	g.mail, err = panel.Of[panel.Mail](port, panel.CapMail)
	must(b, err)
	g.databases, err = panel.Of[panel.Databases](port, panel.CapDatabases)
	must(b, err)
	g.certificates, err = panel.Of[panel.Certificates](port, panel.CapCertificates)
	must(b, err)
	return g
}

// next is what makes an account with all that it has, in order.
func (g *growing) next() []step {
	g.made++
	name := fmt.Sprintf("u%d", g.made)
	domain := name + ".example"
	certify := func() error {
		chain, key := ownCertificate(g.B, domain)
		_, err := g.certificates.SetCertificate(g.Context(), name, panel.Certificate{Name: "own", Chain: chain, Key: key, Domains: []string{domain}})
		return err
	}
	return []step{
		{costAccount, func() error {
			_, err := g.m.CreateAccount(g.Context(), panel.AccountSpec{
				Ref: name, Username: name, PrimaryDomain: domain, Limits: panel.Limits{DiskMB: 100, Processes: 20, MemoryMB: 256},
			})
			return err
		}},
		{costMailboxes, func() error {
			for i := range 5 {
				_, err := g.mail.SetMailbox(g.Context(), name, panel.Mailbox{
					Address: fmt.Sprintf("box%d@%s", i, domain), PasswordHash: "{BLF-CRYPT}$2a$04$7Zk0wPq0hQGqCkqS0nq0eOVj1yK7hD0b8oJH3jz7VYw0Xv8m8yqTe", QuotaMB: 5,
				})
				if err != nil {
					return err
				}
			}
			return nil
		}},
		{costDatabase, func() error {
			account, err := g.m.Account(g.Context(), name)
			if err != nil {
				return err
			}
			_, err = g.databases.SetDatabase(g.Context(), name, panel.Database{
				Name: account.Username + "_shop", Engine: panel.MariaDB, Password: rand.Text(), PasswordVersion: "1", MaxSizeMB: 100,
			})
			return err
		}},
		{costCertificate, certify},
		{costRenewal, certify},
	}
}

// step is a part of what an account is made of.
type step struct {
	what string
	do   func() error
}

// ownCertificate is one for a domain that nobody trusts.
func ownCertificate(b *testing.B, domain string) (chain, key string) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(b, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: domain}, DNSNames: []string{domain},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().AddDate(0, 3, 0),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	must(b, err)
	pkcs8, err := x509.MarshalPKCS8PrivateKey(private)
	must(b, err)
	text := func(kind string, der []byte) string {
		return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
	}
	return text("CERTIFICATE", der), text("PRIVATE KEY", pkcs8)
}

// fill makes accounts until there are n, 64 at once.
func (g *growing) fill(n int) {
	var all errgroup.Group
	all.SetLimit(64)
	began := time.Now()
	for g.made < n {
		steps := g.next()
		all.Go(func() error {
			for _, s := range steps {
				if err := s.do(); err != nil {
					return fmt.Errorf("%s: %w", s.what, err)
				}
			}
			return nil
		})
	}
	must(g.B, all.Wait())
	g.Logf("%d accounts, 64 at once: %v, %d reloads of nginx, %d of PHP", n, time.Since(began).Round(time.Millisecond),
		g.m.Web().(*nginx.Server).Reloads(), g.m.Facility(panel.CapPHP).(*php.Driver).Reloads())
}

// cost is what a step took, and the processor time that it spent, with what daemons did soon after it.
type cost struct{ took, spent time.Duration }

// one makes a lone account and tells what each part cost: no pause between reloads is in it.
func (g *growing) one() map[string]cost {
	all := map[string]cost{}
	for _, s := range g.next() {
		stop := nodetest.ProcessorTime(g.B, g.dir, g.supervisor)
		began := time.Now()
		must(g.B, s.do())
		took := time.Since(began)
		<-time.After(200 * time.Millisecond) // sleeps: until former workers have ended
		all[s.what] = cost{took, stop()}
		if s.what == costAccount {
			<-time.After(time.Second) // sleeps: until a reload need not wait for the one before it
		}
	}
	return all
}

func endMachine(b *testing.B, m *machine.Machine, cfg machine.Config) {
	must(b, m.Close())
	for _, name := range daemon.Running(filepath.Join(cfg.Dir, "daemons")) { // before their users go
		must(b, cfg.Supervisor.Stop(context.WithoutCancel(b.Context()), name))
	}
	clearMachine(b, cfg.Dir, cfg.UserPrefix)
}

// BenchmarkTransfer uploads a file through the interface of the built program and downloads it, in
// turns with a copy of the same bytes through a loopback connection to a file ("cat"), and reports the
// rates, their ratios, and how much more memory the server had at most. STEAD_BENCH_MB is the size of the
// file; 1024 when it is not set.
func BenchmarkTransfer(b *testing.B) {
	size := setting(b, "STEAD_BENCH_MB", 1024) << 20
	h := host(b)
	service := h.pay(h.order("transfer.stead.test"))
	dir := nodetest.Dir(b)
	source := filepath.Join(dir, "source")
	random(b, source, size)
	var cats, ups, downs, upRatios, downRatios []float64
	before := h.memory("VmRSS")
	for b.Loop() {
		cat := rate(size, func() { cat(b, source, filepath.Join(dir, "copy")) })
		must(b, os.Remove(filepath.Join(dir, "copy")))
		up := rate(size, func() { h.upload(service, source, size) })
		down := rate(size, func() { h.download(service, filepath.Join(dir, "copy"), size) })
		same(b, source, filepath.Join(dir, "copy"))
		must(b, os.Remove(filepath.Join(dir, "copy")))
		cats, ups, downs = append(cats, cat), append(ups, up), append(downs, down)
		upRatios, downRatios = append(upRatios, up/cat), append(downRatios, down/cat)
	}
	median := func(all []float64) float64 { slices.Sort(all); return all[len(all)/2] }
	b.ReportMetric(median(cats), "cat-MB/s")
	b.ReportMetric(median(ups), "up-MB/s")
	b.ReportMetric(median(downs), "down-MB/s")
	b.ReportMetric(median(upRatios), "up-ratio")
	b.ReportMetric(median(downRatios), "down-ratio")
	b.ReportMetric(float64(before)/1024, "before-MiB")
	b.ReportMetric(float64(h.memory("VmHWM"))/1024, "peak-MiB")
	b.ReportMetric(0, "ns/op")
}

// setting is a number from the environment.
func setting(b *testing.B, name string, otherwise int64) int64 {
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.ParseInt(text, 10, 64)
	must(b, err)
	return n
}

func rate(size int64, do func()) float64 {
	began := time.Now()
	do()
	return float64(size) / 1e6 / time.Since(began).Seconds()
}

// memory is a line of the server's status, in KiB: VmRSS is what it has, VmHWM what it had at most.
func (h *hosting) memory(name string) (kib int64) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", h.pid))
	must(h.b, err)
	for line := range strings.Lines(string(status)) {
		if value, ok := strings.CutPrefix(line, name+":"); ok {
			kib, err = strconv.ParseInt(strings.Fields(value)[0], 10, 64)
			must(h.b, err)
		}
	}
	return kib
}

// random writes a file of a size that does not compress.
func random(b *testing.B, name string, size int64) {
	f, err := os.Create(name)
	must(b, err)
	block := make([]byte, 1<<20)
	_, err = rand.Read(block)
	must(b, err)
	for i := int64(0); i < size; i += int64(len(block)) {
		copy(block, strconv.FormatInt(i, 10))
		_, err = f.Write(block)
		must(b, err)
	}
	must(b, errors.Join(f.Sync(), f.Close()))
}

// cat sends a file through a connection of the loopback to one who writes it, as
// "cat from | nc" and "nc -l > to" do, and has it on the disk, as an upload has.
func cat(b *testing.B, from, to string) {
	ln, err := new(net.ListenConfig).Listen(b.Context(), "tcp", "127.0.0.1:0")
	must(b, err)
	sent := make(chan error, 1)
	go func() { sent <- send(ln.Addr().String(), from) }()
	conn, err := ln.Accept()
	must(b, err)
	f, err := os.Create(to)
	must(b, err)
	// Not io.Copy of the files themselves, which has the kernel do it: cat and nc read and write.
	_, err = io.CopyBuffer(struct{ io.Writer }{f}, struct{ io.Reader }{conn}, make([]byte, 128<<10))
	must(b, errors.Join(err, f.Sync(), f.Close(), conn.Close(), <-sent, ln.Close()))
}

func send(address, from string) error {
	conn, err := net.Dial("tcp", address)
	if err != nil {
		return err
	}
	f, err := os.Open(from)
	if err != nil {
		return errors.Join(err, conn.Close())
	}
	_, err = io.CopyBuffer(struct{ io.Writer }{conn}, struct{ io.Reader }{f}, make([]byte, 128<<10))
	return errors.Join(err, f.Close(), conn.Close())
}

// upload sends a file as curl -F does, with its length.
func (h *hosting) upload(service int64, from string, size int64) {
	f, err := os.Open(from)
	must(h.b, err)
	defer func() { _ = f.Close() }()
	var head bytes.Buffer
	form := multipart.NewWriter(&head)
	_, err = form.CreateFormFile("file", "large.bin")
	must(h.b, err)
	tail := "\r\n--" + form.Boundary() + "--\r\n"
	length := int64(head.Len()) + size + int64(len(tail))
	req, err := http.NewRequestWithContext(h.b.Context(), http.MethodPost, fmt.Sprintf("%s/api/v1/services/%d/files/upload?path=/&overwrite=true", h.url, service),
		io.MultiReader(&head, f, strings.NewReader(tail)))
	must(h.b, err)
	req.ContentLength = length
	req.Header.Set("Content-Type", form.FormDataContentType())
	h.text(h.client.Do(req))
}

func (h *hosting) download(service int64, to string, size int64) {
	res, err := h.client.Get(fmt.Sprintf("%s/api/v1/services/%d/files/download?path=/large.bin", h.url, service))
	must(h.b, err)
	defer func() { _ = res.Body.Close() }()
	f, err := os.Create(to)
	must(h.b, err)
	n, err := io.CopyBuffer(struct{ io.Writer }{f}, struct{ io.Reader }{res.Body}, make([]byte, 128<<10))
	must(h.b, errors.Join(err, f.Sync(), f.Close()))
	if res.StatusCode != http.StatusOK || n != size {
		h.b.Fatalf("%s, %d bytes", res.Status, n)
	}
}

func same(b *testing.B, one, other string) {
	if out, err := exec.CommandContext(b.Context(), "cmp", one, other).CombinedOutput(); err != nil {
		b.Fatalf("what came back differs: %s", out)
	}
}
