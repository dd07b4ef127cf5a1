package bench

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"stead.dev/stead/internal/front/demo"
	"stead.dev/stead/internal/node/nodetest"
	"stead.dev/stead/internal/platform/testkit"
)

// hosting is the built program with a whole Linux machine on ports of the loopback, and a customer of it.
type hosting struct {
	b         *testing.B
	binary    string
	url, node string
	server    *exec.Cmd
	log       bytes.Buffer
	started   time.Duration // from its last start until it was ready
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
	listen := testkit.Address(b)
	h := &hosting{b: b, url: "http://" + listen, binary: filepath.Join(b.TempDir(), "stead")}
	build := exec.CommandContext(b.Context(), "go", "build", "-o", h.binary, "../cmd/stead")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	out, err := build.CombinedOutput()
	if err != nil {
		b.Fatalf("build: %v %s", err, out)
	}
	env := append([]string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + b.TempDir(), "STEAD_DATA_DIR=" + data, "STEAD_LISTEN=" + listen,
		"STEAD_OPS_LISTEN=off", "STEAD_DNS_LISTEN=off", "STEAD_NODE_LISTEN=127.0.0.1:0", "STEAD_THROTTLE=false",
	}, settings...)
	h.start(env)
	b.Cleanup(func() {
		h.stop()
		if b.Failed() {
			b.Logf("the server's last words: %.4000s", h.log.Bytes()[max(0, h.log.Len()-4000):])
		}
	})
	h.credit(customerEmail, dollars)
	h.authorize(customerEmail, customerPassword)
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

// admin runs a command of the operator.
func (h *hosting) admin(input string, arguments ...string) {
	h.b.Helper()
	cmd := exec.CommandContext(h.b.Context(), h.binary, append([]string{"admin"}, arguments...)...)
	cmd.Env, cmd.Stdin = h.server.Env, strings.NewReader(input)
	if out, err := cmd.CombinedOutput(); err != nil {
		h.b.Fatalf("%v: %v %s", arguments, err, out)
	}
}

// credit gives a customer dollars.
func (h *hosting) credit(email string, dollars int) {
	h.b.Helper()
	for left := dollars; left > 0; left -= mostCredit {
		h.admin("", "wallet", "credit", email, strconv.Itoa(min(left, mostCredit)), "--reason", "a benchmark")
	}
}

// authorize makes the calls that follow a customer's.
func (h *hosting) authorize(email, password string) {
	h.b.Helper()
	client, err := demo.Authorize(h.b.Context(), demo.Options{URL: h.url, Out: io.Discard, JSON: true, Email: email, Password: password})
	must(h.b, err)
	client.Timeout = 10 * time.Minute
	h.client = client
}

// newCustomer makes a customer with dollars, whose the calls are that follow.
func (h *hosting) newCustomer(email string, dollars int) {
	h.b.Helper()
	password := rand.Text()
	h.admin(password, "users", "create", email, "--password-stdin")
	h.credit(email, dollars)
	h.authorize(email, password)
}

// start starts the program and waits until it is ready.
func (h *hosting) start(env []string) {
	h.b.Helper()
	h.server = exec.CommandContext(context.WithoutCancel(h.b.Context()), h.binary, "serve", "--demo")
	h.server.Env, h.server.Stderr = env, &h.log
	began := time.Now()
	must(h.b, h.server.Start())
	testkit.Eventually(h.b, time.Minute, func() bool {
		res, err := http.Get(h.url + "/readyz")
		if err != nil {
			return false
		}
		return errors.Join(res.Body.Close()) == nil && res.StatusCode == http.StatusOK
	}, "the server is ready")
	h.started = time.Since(began)
}

// stop ends the program.
func (h *hosting) stop() {
	_ = h.server.Process.Signal(syscall.SIGTERM)
	_ = h.server.Wait()
}

// restart stops the program and starts it with the settings it had and more.
func (h *hosting) restart(settings ...string) {
	h.b.Helper()
	h.stop()
	h.start(append(h.server.Env, settings...))
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
	var me struct{ ID json.Number }
	h.panelCall(http.MethodGet, "/api/v1/me", "", &me)
	h.panelCall(method, path, "account/"+me.ID.String(), out)
}

// panelCall is panel for a page that was made for holder; without one, as by a link.
func (h *hosting) panelCall(method, path, holder string, out any) {
	h.b.Helper()
	req, err := http.NewRequestWithContext(h.b.Context(), method, h.url+"/panel"+path, nil)
	must(h.b, err)
	req.Header.Set("Sec-Fetch-Site", "same-origin")
	if holder != "" {
		req.Header.Set("X-Stead-Panel", holder)
	}
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

// memory is a line of the server's status, in KiB: VmRSS is what it has, VmHWM what it had at most.
func (h *hosting) memory(name string) (kib int64) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", h.server.Process.Pid))
	must(h.b, err)
	for line := range strings.Lines(string(status)) {
		if value, ok := strings.CutPrefix(line, name+":"); ok {
			kib, err = strconv.ParseInt(strings.Fields(value)[0], 10, 64)
			must(h.b, err)
		}
	}
	return kib
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
