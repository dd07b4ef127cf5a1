package e2e

import (
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"stead.dev/stead/internal/platform/testkit"
)

// newLinuxAgent joins a Linux machine to the control plane and starts its agent.
func (h *host) newLinuxAgent(t *testing.T, in *installation, control, name string, env ...string) *agent {
	t.Helper()
	a := &agent{program: in.binary(), dir: filepath.Join(h.dir, "data"), address: testkit.Address(t), sites: fmt.Sprintf("127.0.0.1:%d", h.ports["http"])}
	a.env = slices.Concat([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "STEAD_AGENT_LISTEN=" + a.address}, h.environment(), env)
	a.join(t, in, control, name, "--location", "tashkent", "--disk-percent", "10000")
	a.start(t)
	t.Cleanup(func() {
		_, _ = a.cmd.Process.Kill(), a.cmd.Wait() // it writes its log no more
		if t.Failed() {
			t.Logf("log of %s:\n%s", name, tail(a.logged(), 6000))
		}
	})
	testkit.Eventually(t, 3*time.Minute, func() bool { return in.state(t, name) == "active" }, name+" reports")
	return a
}

// has tells whether a file of the machine's own, in which facilities keep what should be, has a text.
func (h *host) has(t *testing.T, text string) bool {
	t.Helper()
	found := false
	err := filepath.WalkDir(filepath.Join(h.dir, "data"), func(name string, e fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) || err == nil && !e.Type().IsRegular() || found {
			return nil
		}
		content, err := os.ReadFile(name)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		found = bytes.Contains(content, []byte(text))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// certificate is the serial number of the one by which the machine serves a domain, if the authority has issued it.
func (h *host) certificate(t *testing.T, domain string) string {
	t.Helper()
	dialer := &net.Dialer{Timeout: 20 * time.Second}
	conn, err := tls.DialWithDialer(dialer, "tcp", fmt.Sprintf("127.0.0.1:%d", h.ports["https"]), &tls.Config{
		ServerName: domain, RootCAs: h.ca.issued(t), MinVersion: tls.VersionTLS12,
	})
	if err != nil {
		return ""
	}
	defer func() { _ = conn.Close() }()
	return conn.ConnectionState().PeerCertificates[0].SerialNumber.String()
}

// TestADeadMachinesAccountsAreBackFromS3: a Linux machine is lost with all daemons and its disk, and what its account had is served by
// another one within minutes, out of a backup in S3. What is newer than the backup is lost, and the operator is told from when on.
func TestADeadMachinesAccountsAreBackFromS3(t *testing.T) {
	t.Parallel()
	const domain, address = "annas-shop.example.com", "info@annas-shop.example.com"
	store := testkit.NewS3(t)
	env := []string{"STEAD_BACKUP_STORE=s3:" + store.URL + "/sites", "STEAD_BACKUP_S3_FILE=" + testkit.S3CredentialsFile(t), "STEAD_MAIL_HOST=mx.annas-shop.example.com"}
	one, two := newMachine(t), newMachine(t)
	dns, control := testkit.Port(t), testkit.Address(t)
	one.ca = startPebble(t, one.ports["http"], 1, dns)
	two.ca = one.ca
	in := newInstallation(t, append(one.ca.environment(dns), "STEAD_PANEL=nodes", "STEAD_NODES_LISTEN="+control, "STEAD_NODES_URL=https://"+control, "STEAD_ALLOW_LOOPBACK_TARGETS=true")...)
	in.env = append(in.env, "STEAD_NODE_LISTEN=off")
	p := in.serve(t, "--demo")
	c := p.signIn(t)
	first := one.newLinuxAgent(t, in, control, "node1", env...)
	service := one.buy(t, c, domain)
	at := func(rest string) string { return fmt.Sprintf("/api/v1/services/%d%s", service, rest) }

	// The account: files, two databases, a mailbox with a message, a cron job, a key, a certificate.
	put := func(content string) {
		t.Helper()
		c.must("PUT", at("/files/content"), fmt.Sprintf(`{"path": "/public_html/index.html", "content": %q}`, content), &struct{}{})
	}
	put("backed up")
	maria, postgres := one.database(t, c, p, service, "shop", "mariadb"), one.database(t, c, p, service, "books", "postgresql")
	maria.write(t)
	postgres.write(t)
	letters := one.mailbox(t, c, service, domain)
	c.must("POST", at("/cron"), `{"expression": "5 4 * * *", "command": "echo kept"}`, &struct{}{})
	key := c.newKey(service)
	c.sftp(service, key)
	c.certify(service, domain)
	testkit.Eventually(t, time.Minute, func() bool { return one.certificate(t, domain) != "" }, "the site has the certificate")
	certificate := one.certificate(t, domain)
	asked := time.Now()
	one.backup(t, c, service)
	made := time.Now()
	put("newer")
	two.newLinuxAgent(t, in, control, "node2", env...)

	first.kill(t)
	one.killDaemons(t)
	if err := os.RemoveAll(filepath.Join(one.dir, "data")); err != nil {
		t.Fatal(err)
	}
	testkit.Eventually(t, 3*time.Minute, func() bool { return in.state(t, "node1") == "offline" }, "the control plane sees that it is dead")

	began := time.Now()
	type move struct {
		ID        int64
		To, State string
		BackupAt  *time.Time `json:"backup_at"`
		ErrorKey  *string    `json:"error_key"`
		Cause     string
	}
	var begun struct {
		Moves         []move
		WithoutBackup []int64 `json:"without_backup"`
	}
	in.must(t, &begun, "admin", "nodes", "recover", "node1", "--reason", "its disks are gone")
	if len(begun.Moves) != 1 || len(begun.WithoutBackup) != 0 {
		t.Fatalf("begun: %+v", begun)
	}
	if from := begun.Moves[0].BackupAt; from == nil || from.Before(asked.Add(-time.Second)) || from.After(made) {
		t.Errorf("it says that what is newer than %v is lost; the backup was asked for at %v", from, asked)
	}
	if stdout, _, code := in.run(t, "admin", "moves", "list"); code != 0 || !strings.Contains(stdout, begun.Moves[0].BackupAt.Format("2006-01-02 15:04:05")) {
		t.Errorf("the list of moves does not say of when the backup is:\n%s", stdout)
	}
	var m move
	testkit.Eventually(t, 5*time.Minute, func() bool {
		in.must(t, &m, "admin", "moves", "show", fmt.Sprint(begun.Moves[0].ID))
		return m.State != "running"
	}, "the service is on the other machine")
	t.Logf("back after %s", time.Since(began).Round(time.Second))
	if m.State != "moved" || m.To != "node2" || m.ErrorKey != nil {
		t.Fatalf("the move: %+v", m)
	}

	site := two.visitor(t, domain)
	site.eventually("https://"+domain+"/", func(r page) bool { return r.status == http.StatusOK && r.body == "backed up" }, "the site is served by HTTPS")
	if got := two.certificate(t, domain); got != certificate {
		t.Errorf("its certificate is %s, want %s: another one was ordered", got, certificate)
	}
	for _, d := range []customersDatabase{maria, postgres} {
		testkit.Eventually(t, time.Minute, func() bool { return d.find(c, service) }, "the database is there")
		d.check(t)
	}
	testkit.Eventually(t, 2*time.Minute, func() bool {
		got, err := two.letters(address)
		return err == nil && slices.Equal(got, letters)
	}, "the letter is back, byte for byte")
	testkit.Eventually(t, time.Minute, func() bool { return two.deliver(address) == nil }, "mail is taken")
	testkit.Eventually(t, time.Minute, func() bool { return two.has(t, "echo kept") }, "the cron job is back")
	session := c.sftp(service, key)
	f, err := session.Open(homeBySFTP(session) + "/public_html/index.html")
	if err != nil {
		t.Fatal(err)
	}
	if content, err := io.ReadAll(f); err != nil || string(content) != "backed up" {
		t.Errorf("by SFTP with the former key: %q, %v", content, err)
	}
}
