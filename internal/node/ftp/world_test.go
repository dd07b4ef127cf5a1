package ftp

import (
	"bufio"
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"io"
	"log/slog"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	client "github.com/jlaffaye/ftp"

	"stead.dev/stead/internal/node/accounts"
	"stead.dev/stead/internal/node/files"
	"stead.dev/stead/internal/port/panel"
)

// world is a machine with two accounts, each with a Linux user of its own.
type world struct {
	t     *testing.T
	dir   string
	cert  *tls.Certificate
	roots *x509.CertPool
	log   *logBuffer
	disk  *files.Driver
	*Driver

	mu   sync.Mutex
	accs map[string]accounts.Account
}

// logBuffer is written by the server and read by the test.
type logBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

const (
	aliceUID = 30101
	bobUID   = 30102
)

func newWorld(t *testing.T, change ...func(*Config)) *world {
	t.Helper()
	w := &world{t: t, log: &logBuffer{}, accs: map[string]accounts.Account{}}
	// Not t.TempDir: the accounts' users must be able to pass it.
	dir, err := os.MkdirTemp("", "ftp")
	w.must(err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	w.must(os.Chmod(dir, 0o711))
	w.dir = dir
	w.cert, w.roots = selfSigned(t)
	w.account("1", "alice", aliceUID, panel.Limits{DiskMB: 10, Inodes: 100})
	w.account("2", "bob", bobUID, panel.Limits{DiskMB: 10})
	w.disk = files.New(func(ref string) (files.Home, error) {
		a, err := w.lookup(ref)
		return files.Home{Account: a.Name, Dir: a.Home, Limits: a.Limits, Suspended: a.Suspended}, err
	})
	c := Config{
		Dir: filepath.Join(dir, "state"), Lookup: w.lookup, Disk: w.disk, Now: time.Now, Listen: "127.0.0.1:0", Host: "127.0.0.1",
		Log:         slog.New(slog.NewTextHandler(w.log, nil)),
		Certificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return w.cert, nil },
	}
	for _, f := range change {
		f(&c)
	}
	w.open(c)
	return w
}

func (w *world) open(c Config) {
	w.t.Helper()
	d, err := New(c)
	w.must(err)
	w.must(d.Start(w.t.Context()))
	w.Driver = d
	w.t.Cleanup(func() {
		if err := d.Close(); err != nil {
			w.t.Error(err)
		}
	})
}

func (w *world) lookup(ref string) (accounts.Account, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	a, ok := w.accs[ref]
	if !ok {
		return a, panel.ErrNotFound
	}
	return a, nil
}

func (w *world) account(ref, name string, uid int, l panel.Limits) {
	w.t.Helper()
	home := filepath.Join(w.dir, name)
	a := accounts.Account{Home: home, Record: accounts.Record{
		Ref: ref, Name: name, User: accounts.User{Name: name, UID: uid, GID: uid}, Limits: l,
	}}
	for _, d := range []string{home, home + "/public_html", home + "/tmp", home + "/private"} {
		w.must(os.Mkdir(d, 0o750))
		w.must(os.Chown(d, uid, uid))
	}
	w.file(uid, home+"/private/secret.txt", "secret of "+name)
	w.file(uid, home+"/public_html/index.html", "site of "+name)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.accs[ref] = a
}

func (w *world) file(uid int, name, content string) {
	w.t.Helper()
	w.must(os.WriteFile(name, []byte(content), 0o640))
	w.must(os.Chown(name, uid, uid))
}

func (w *world) suspend(ref string, suspended bool) {
	w.t.Helper()
	w.mu.Lock()
	a := w.accs[ref]
	a.Suspended = suspended
	w.accs[ref] = a
	w.mu.Unlock()
	w.must(w.Apply(w.t.Context(), a))
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

const password = "correct-Horse-7"

// user makes an FTP account of alice.
func (w *world) user(name, home string, change ...func(*panel.FTPAccount)) panel.FTPAccount {
	w.t.Helper()
	f := panel.FTPAccount{Username: "alice_" + name, Home: home, Password: password, PasswordVersion: "1"}
	for _, c := range change {
		c(&f)
	}
	set, err := w.SetFTPAccount(w.t.Context(), "1", f)
	w.must(err)
	return set
}

func (w *world) address() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(w.Port())) }

func (w *world) clientTLS() *tls.Config {
	return &tls.Config{RootCAs: w.roots, ServerName: "ftp.test", ClientSessionCache: tls.NewLRUClientSessionCache(8), MinVersion: tls.VersionTLS12}
}

// dial connects by explicit TLS.
func (w *world) dial(options ...client.DialOption) *client.ServerConn {
	w.t.Helper()
	options = append([]client.DialOption{client.DialWithExplicitTLS(w.clientTLS()), client.DialWithTimeout(10 * time.Second)}, options...)
	c, err := client.Dial(w.address(), options...)
	w.must(err)
	w.t.Cleanup(func() { _ = c.Quit() })
	return c
}

// login signs in and must.
func (w *world) login(name string, options ...client.DialOption) *client.ServerConn {
	w.t.Helper()
	c := w.dial(options...)
	w.must(c.Login(name, password))
	return c
}

func (w *world) get(c *client.ServerConn, name string) (string, error) {
	r, err := c.Retr(name)
	if err != nil {
		return "", err
	}
	data, err := io.ReadAll(r)
	if closing := r.Close(); err == nil {
		err = closing
	}
	return string(data), err
}

// raw speaks the protocol word by word.
type raw struct {
	t    *testing.T
	conn net.Conn
	r    *bufio.Reader
}

func (w *world) raw() *raw {
	w.t.Helper()
	conn, err := new(net.Dialer).DialContext(w.t.Context(), "tcp", w.address())
	w.must(err)
	w.t.Cleanup(func() { _ = conn.Close() })
	r := &raw{t: w.t, conn: conn, r: bufio.NewReader(conn)}
	r.answer()
	return r
}

// say sends a line and answers the reply, "" when the connection ended.
func (r *raw) say(line string) string {
	r.t.Helper()
	if _, err := fmt.Fprintf(r.conn, "%s\r\n", line); err != nil {
		return ""
	}
	return r.answer()
}

func (r *raw) answer() string {
	_ = r.conn.SetReadDeadline(time.Now().Add(10 * time.Second))
	for {
		line, err := r.r.ReadString('\n')
		if err != nil {
			return ""
		}
		if len(line) > 3 && line[3] == ' ' && strings.Trim(line[:3], "0123456789") == "" {
			return strings.TrimSpace(line)
		}
	}
}

// protect begins TLS.
func (r *raw) protect(c *tls.Config) {
	r.t.Helper()
	if got := r.say("AUTH TLS"); !strings.HasPrefix(got, "234") {
		r.t.Fatalf("AUTH TLS: %q", got)
	}
	t := tls.Client(r.conn, c)
	if err := t.HandshakeContext(context.Background()); err != nil {
		r.t.Fatal(err)
	}
	r.conn, r.r = t, bufio.NewReader(t)
}

func selfSigned(t *testing.T) (*tls.Certificate, *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "ftp.test"}, DNSNames: []string{"ftp.test"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(leaf)
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, roots
}
