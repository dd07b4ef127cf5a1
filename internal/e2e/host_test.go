package e2e

import (
	"context"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"io/fs"
	"math/big"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/pkg/sftp"
	"golang.org/x/crypto/ssh"

	"stead.dev/stead/internal/platform/testkit"
)

// host is a Linux machine with daemons: the embedded node of an installation, or one that an agent serves.
type host struct {
	*installation // nil of an agent's
	dir           string
	prefix        string // of the names of its users
	ports         map[string]int
	ca            *pebbleServer
}

// newHost creates an installation whose embedded node is a Linux machine, with a certificate authority.
func newHost(t *testing.T, env ...string) *host {
	t.Helper()
	h := newMachine(t)
	h.ports["dns"] = testkit.Port(t)
	h.ca = startPebble(t, h.ports["http"], 1, h.ports["dns"])
	h.installation = newInstallation(t, slices.Concat(h.environment(), h.ca.environment(h.ports["dns"]), env)...)
	return h
}

// environment has the settings of an installation that orders certificates from the authority, and whose DNS is on a port of the loopback.
func (s *pebbleServer) environment(dnsPort int) []string {
	dns := fmt.Sprintf("127.0.0.1:%d", dnsPort)
	return []string{
		"STEAD_DNS_LISTEN=" + dns, "STEAD_DNS_RESOLVERS=" + dns, "STEAD_ACME_EMAIL=hostmaster@stead.test", "STEAD_ACME_DIRECTORY=" + s.directory,
		"STEAD_ACME_CA_FILE=" + s.rootFile,
	}
}

// newMachine takes a folder, ports and names of users for a Linux machine. Its daemons end with the test.
func newMachine(t *testing.T) *host {
	t.Helper()
	const below = "/var/lib/stead-test" // homes must not be below a folder that others may write to
	if err := os.MkdirAll(below, 0o711); err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp(below, "host-")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o711); err != nil { // the accounts' users traverse it
		t.Fatal(err)
	}
	h := &host{dir: dir, prefix: "e" + strings.ToLower(rand.Text()[:5]), ports: map[string]int{}}
	for _, name := range []string{
		"http", "https", "ftp", "ssh", "mariadb", "postgresql",
		"smtp", "submission", "submissions", "imap", "imaps", "pop3", "pop3s", "sieve", "submit", "signin",
	} {
		h.ports[name] = testkit.Port(t)
	}
	t.Cleanup(func() { h.end(t) })
	return h
}

// environment has the settings of the program on the machine.
func (h *host) environment() []string {
	var listed []string
	for name, port := range h.ports {
		if name != "dns" {
			listed = append(listed, fmt.Sprintf("%s=%d", name, port))
		}
	}
	return []string{
		"STEAD_DATA_DIR=" + filepath.Join(h.dir, "data"), "STEAD_NODE_MACHINE=linux", "STEAD_NODE_HOST=127.0.0.1",
		"STEAD_NODE_PORTS=" + strings.Join(listed, ","), "STEAD_NODE_USER_PREFIX=" + h.prefix, "STEAD_NODE_IPV4=127.0.0.1",
		fmt.Sprintf("STEAD_NODE_URL=http://127.0.0.1:%d", h.ports["http"]),
	}
}

// killDaemons kills the daemons of the host, which outlive the server.
func (h *host) killDaemons(t *testing.T) {
	t.Helper()
	testkit.Eventually(t, time.Minute, func() bool {
		pids := h.daemons(t)
		for _, pid := range pids {
			// A daemon leads a group, of which some processes do not name the folder: the workers of most, the leader of rspamd.
			if group, err := syscall.Getpgid(pid); err == nil && group != syscall.Getpgrp() {
				_ = syscall.Kill(-group, syscall.SIGKILL)
			}
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		return len(pids) == 0
	}, "the daemons are gone")
}

// end ends the daemons of the host, and removes its users and files.
func (h *host) end(t *testing.T) {
	t.Helper()
	h.killDaemons(t)
	passwd, err := os.ReadFile("/etc/passwd")
	if err != nil {
		t.Error(err)
	}
	for line := range strings.Lines(string(passwd)) {
		if name, _, _ := strings.Cut(line, ":"); strings.HasPrefix(name, h.prefix) {
			if out, err := exec.Command("userdel", "-f", name).CombinedOutput(); err != nil {
				t.Errorf("userdel %s: %v %s", name, err, out)
			}
		}
	}
	if t.Failed() {
		h.tell(t)
	}
	if err := os.RemoveAll(h.dir); err != nil {
		t.Error(err)
	}
}

// tell prints the daemons' last log lines.
func (h *host) tell(t *testing.T) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(h.dir, "data/node/*/log/*.log"))
	if err != nil {
		t.Error(err)
	}
	for _, name := range files {
		if text, err := os.ReadFile(name); err == nil && len(text) > 0 {
			t.Logf("%s:\n%s", filepath.Base(name), tail(string(text), 4000))
		}
	}
}

// daemons are the processes with the host's folder in their command line.
func (h *host) daemons(t *testing.T) (pids []int) {
	t.Helper()
	entries, err := os.ReadDir("/proc")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		var pid int
		if _, err := fmt.Sscan(e.Name(), &pid); err != nil || pid == os.Getpid() {
			continue
		}
		line, err := os.ReadFile(filepath.Join("/proc", e.Name(), "cmdline"))
		if err == nil && strings.Contains(string(line), h.dir) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// buy orders and pays hosting for a domain and waits until the site is served.
func (h *host) buy(t *testing.T, c *customer, domain string) (service int64) {
	t.Helper()
	id, _ := c.order(c.planWith(2), domain)
	c.must("POST", fmt.Sprintf("/api/v1/orders/%d/pay", id), `{}`, &struct{}{})
	testkit.Eventually(t, time.Minute, func() bool {
		var list struct {
			Data []struct {
				ID             int64
				Domain, Status string
			}
		}
		c.must("GET", "/api/v1/services", "", &list)
		for _, s := range list.Data {
			if s.Domain == domain && s.Status == "active" {
				service = s.ID
			}
		}
		return service != 0
	}, "the service is active")
	return service
}

// certify orders a certificate for a domain of a service, where none was ordered by itself, and waits until it is active.
func (c *customer) certify(service int64, domain string) {
	c.t.Helper()
	path := fmt.Sprintf("/api/v1/services/%d/ssl", service)
	testkit.Eventually(c.t, 2*time.Minute, func() bool {
		var list struct {
			Data []struct {
				Status string
				SANs   []string `json:"sans"`
			}
		}
		c.must("GET", path, "", &list)
		for _, cert := range list.Data {
			if cert.Status == "active" && slices.Contains(cert.SANs, domain) {
				return true
			}
		}
		if len(list.Data) == 0 {
			_, _, _ = c.call("POST", path, `{}`, "") // refused until the DNS leads to the machine
		}
		return false
	}, "the certificate is issued")
}

// ownerOf is the user id of a file below the first account's document root.
func (h *host) ownerOf(t *testing.T, name string) int {
	t.Helper()
	homes, err := filepath.Glob(filepath.Join(h.dir, "data/node/accounts/*/home/public_html", name))
	if err != nil || len(homes) != 1 {
		t.Fatalf("%v, %v", homes, err)
	}
	info, err := os.Stat(homes[0])
	if err != nil {
		t.Fatal(err)
	}
	return ownerID(info)
}

// newKey registers an SSH key by the API.
func (c *customer) newKey(service int64) ssh.Signer {
	t := c.t
	t.Helper()
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	signer, err := ssh.NewSignerFromKey(private)
	if err != nil {
		t.Fatal(err)
	}
	body, err := json.Marshal(map[string]string{"name": "test", "public_key": string(ssh.MarshalAuthorizedKey(signer.PublicKey()))})
	if err != nil {
		t.Fatal(err)
	}
	c.must("POST", fmt.Sprintf("/api/v1/services/%d/ssh-keys", service), string(body), &struct{}{})
	return signer
}

// sftp opens SFTP with a key, by what the API tells of the way there.
func (c *customer) sftp(service int64, signer ssh.Signer) *sftp.Client {
	t := c.t
	t.Helper()
	var connection *ssh.Client
	var err error
	testkit.Eventually(t, time.Minute, func() bool {
		var way struct {
			Host, Username, Fingerprint *string
			Port                        *int
		}
		c.must("PUT", fmt.Sprintf("/api/v1/services/%d/shell", service), `{"enabled": false}`, &way)
		if way.Username == nil || way.Port == nil || way.Fingerprint == nil {
			return false
		}
		connection, err = ssh.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", *way.Port), &ssh.ClientConfig{
			User: *way.Username, Auth: []ssh.AuthMethod{ssh.PublicKeys(signer)}, Timeout: time.Minute,
			HostKeyCallback: func(_ string, _ net.Addr, key ssh.PublicKey) error {
				if got := ssh.FingerprintSHA256(key); got != *way.Fingerprint {
					return fmt.Errorf("the server's key is %s, the interface says %s", got, *way.Fingerprint)
				}
				return nil
			},
		})
		return err == nil
	}, "the key opens SFTP")
	t.Cleanup(func() { _ = connection.Close() })
	session, err := sftp.NewClient(connection)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = session.Close() })
	return session
}

// homeBySFTP is the folder of the account's files, before a name that begins with a slash.
func homeBySFTP(session *sftp.Client) string {
	if _, err := session.Stat("/home"); err != nil {
		return ""
	}
	return "/home"
}

// writeBySFTP registers a key by the API and writes a file by SFTP with it.
func (c *customer) writeBySFTP(service int64, name string, content func(io.Writer) error) {
	t := c.t
	t.Helper()
	session := c.sftp(service, c.newKey(service))
	f, err := session.Create(homeBySFTP(session) + name)
	if err != nil {
		t.Fatal(err)
	}
	if err := content(f); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

// reveal reads the one password of a service that was not shown yet: the panel shows it once to who has signed in.
func (p *process) reveal(t *testing.T, service int64) string {
	t.Helper()
	browser := p.signedIn(t, demoEmail, demoPassword)
	passwords := fmt.Sprintf("/services/%d/passwords", service)
	type credential struct {
		ID      int64
		ShownAt *time.Time `json:"shown_at"`
	}
	var list struct{ Data []credential }
	p.panel(t, browser, http.MethodGet, passwords, "", &list)
	waiting := slices.DeleteFunc(list.Data, func(c credential) bool { return c.ShownAt != nil })
	if len(waiting) != 1 {
		t.Fatalf("%+v wait to be shown", waiting)
	}
	var shown struct{ Password string }
	p.panel(t, browser, http.MethodPost, fmt.Sprintf("%s/%d/reveal", passwords, waiting[0].ID), "", &shown)
	if shown.Password == "" {
		t.Fatal("the password is not shown")
	}
	return shown.Password
}

// guest is a browser of one site on the host.
type guest struct {
	t      *testing.T
	client *http.Client
	domain string
}

type page struct {
	status         int
	body, location string
}

// visitor resolves every name to the host, and trusts the authority.
func (h *host) visitor(t *testing.T, domain string) *guest {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	dial := func(ctx context.Context, network, address string) (net.Conn, error) {
		_, port, err := net.SplitHostPort(address)
		if err != nil {
			return nil, err
		}
		to := h.ports["http"]
		if port == "443" {
			to = h.ports["https"]
		}
		return (&net.Dialer{}).DialContext(ctx, network, fmt.Sprintf("127.0.0.1:%d", to))
	}
	return &guest{t: t, domain: domain, client: &http.Client{
		Jar: jar, Timeout: time.Minute, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{DialContext: dial, TLSClientConfig: &tls.Config{RootCAs: h.ca.issued(t), MinVersion: tls.VersionTLS12}},
	}}
}

func (v *guest) do(r *http.Request) page {
	v.t.Helper()
	answer, err := v.client.Do(r)
	if err != nil {
		v.t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		v.t.Fatal(err)
	}
	return page{answer.StatusCode, string(body), answer.Header.Get("Location")}
}

func (v *guest) request(method, address, contentType, body string) page {
	v.t.Helper()
	r, err := http.NewRequestWithContext(v.t.Context(), method, address, strings.NewReader(body))
	if err != nil {
		v.t.Fatal(err)
	}
	if contentType != "" {
		r.Header.Set("Content-Type", contentType)
	}
	return v.do(r)
}

func (v *guest) get(address string) page { return v.request(http.MethodGet, address, "", "") }

func (v *guest) post(path string, form url.Values, wanted string) {
	v.t.Helper()
	got := v.request(http.MethodPost, "https://"+v.domain+path, "application/x-www-form-urlencoded", form.Encode())
	if got.status != http.StatusOK || !strings.Contains(got.body, wanted) {
		v.t.Fatalf("%s: status %d, without %q:\n%.3000s", path, got.status, wanted, got.body)
	}
}

func (v *guest) shows(address string, texts ...string) {
	v.t.Helper()
	got := v.get(address)
	for _, text := range texts {
		if got.status != http.StatusOK || !strings.Contains(got.body, text) {
			v.t.Fatalf("%s: status %d, without %q:\n%.2000s", address, got.status, text, got.body)
		}
	}
}

func (v *guest) eventually(address string, ok func(page) bool, what string) {
	v.t.Helper()
	testkit.Eventually(v.t, 4*time.Minute, func() bool { return ok(v.get(address)) }, what)
}

// pebbleServer is an ACME authority that refuses a fifth of all nonces and validates challenges.
type pebbleServer struct {
	directory, rootFile, management string
	client                          *http.Client
	stop                            func() // ends it
}

func startPebble(t *testing.T, httpPort, tlsPort, dnsPort int) *pebbleServer {
	t.Helper()
	dir := t.TempDir()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), DNSNames: []string{"localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour), IsCA: true, BasicConstraintsValid: true,
	}
	certificate, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	s := &pebbleServer{rootFile: filepath.Join(dir, "cert.pem")}
	write := func(name, kind string, der []byte) {
		if err := os.WriteFile(name, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(s.rootFile, "CERTIFICATE", certificate)
	write(filepath.Join(dir, "key.pem"), "PRIVATE KEY", private)
	address, management := testkit.Address(t), testkit.Address(t)
	config, err := json.Marshal(map[string]any{"pebble": map[string]any{
		"listenAddress": address, "managementListenAddress": management, "certificate": s.rootFile, "privateKey": filepath.Join(dir, "key.pem"),
		"httpPort": httpPort, "tlsPort": tlsPort, "ocspResponderURL": "", "externalAccountBindingRequired": false,
	}})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "config.json"), config, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("pebble", "-config", filepath.Join(dir, "config.json"), "-dnsserver", fmt.Sprintf("127.0.0.1:%d", dnsPort), "-strict")
	cmd.Env = []string{"PEBBLE_WFE_NONCEREJECT=20", "PEBBLE_VA_NOSLEEP=1", "PATH=/usr/bin"}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	s.stop = sync.OnceFunc(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	t.Cleanup(s.stop)
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate}))
	s.client = &http.Client{Timeout: time.Minute, Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}}}
	s.directory, s.management = "https://"+address+"/dir", "https://"+management
	testkit.Eventually(t, time.Minute, func() bool {
		r, err := s.client.Get(s.directory)
		if err != nil {
			return false
		}
		defer func() { _ = r.Body.Close() }()
		return r.StatusCode == http.StatusOK
	}, "the authority answers")
	return s
}

// issued trusts the authority's certificates.
func (s *pebbleServer) issued(t *testing.T) *x509.CertPool {
	t.Helper()
	r, err := s.client.Get(s.management + "/roots/0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Body.Close() }()
	text, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(text) {
		t.Fatalf("no root in %s", text)
	}
	return roots
}

func ownerID(info fs.FileInfo) int { return int(info.Sys().(*syscall.Stat_t).Uid) }

// mailbox makes the mailbox info of a service, and returns what is in it: one letter.
func (h *host) mailbox(t *testing.T, c *customer, service int64, domain string) (letters []string) {
	t.Helper()
	c.must("POST", fmt.Sprintf("/api/v1/services/%d/mailboxes", service), fmt.Sprintf(`{"local_part": "info", "domain": %q, "password": %q, "quota_mb": 50}`, domain, mailPassword), &struct{}{})
	testkit.Eventually(t, 2*time.Minute, func() bool { return h.deliver("info@"+domain) == nil }, "a letter is taken")
	testkit.Eventually(t, 2*time.Minute, func() bool {
		var err error
		letters, err = h.letters("info@" + domain)
		return err == nil && len(letters) == 1
	}, "the letter is there")
	return letters
}
