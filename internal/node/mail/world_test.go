package mail

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/smtp"
	"net/textproto"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/emersion/go-imap/v2"
	"github.com/emersion/go-imap/v2/imapclient"
	gosmtp "github.com/emersion/go-smtp"
	"golang.org/x/crypto/bcrypt"

	"stead.dev/stead/internal/node/accounts"
	"stead.dev/stead/internal/node/daemon"
	"stead.dev/stead/internal/platform/testkit"
	"stead.dev/stead/internal/port/panel"
)

// The daemons start this binary as they would start stead.
func TestMain(m *testing.M) {
	if code, ok := Run(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr, time.Now); ok {
		os.Exit(code)
	}
	os.Exit(m.Run())
}

// world is a machine with mail, two accounts, and everybody else's mail server.
type world struct {
	t    testing.TB
	cfg  Config
	sup  daemon.Supervisor
	out  *outside
	mu   sync.Mutex
	here map[string]accounts.Account
	said map[string][]panel.LogLine
	*Driver

	dns   *names                    // what rspamd finds in the DNS
	given atomic.Pointer[[2][]byte] // certificate and key that the agent has; nil: none
}

const (
	alice = "101"
	bob   = "102"
)

func newWorld(t testing.TB) *world {
	t.Helper()
	return newWorldWith(t, func(*Config) {})
}

func newWorldWith(t testing.TB, change func(*Config)) *world {
	t.Helper()
	// Paths of sockets are short, and daemons that are not root pass the directory.
	dir, err := os.MkdirTemp("/tmp", "sm")
	must(t, err)
	must(t, os.Chmod(dir, 0o711))
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	w := &world{t: t, here: map[string]accounts.Account{}, said: map[string][]panel.LogLine{}, out: newOutside(t), dns: newNames(t)}
	program := filepath.Join(dir, "stead")
	self, err := os.Executable()
	must(t, err)
	binary, err := os.ReadFile(self)
	must(t, err)
	must(t, os.WriteFile(program, binary, 0o755))
	log := slog.New(slog.NewTextHandler(testWriter{t}, &slog.HandlerOptions{Level: slog.LevelWarn}))
	w.cfg = Config{
		Postmaster: "operator@outside.test",
		Dir:        filepath.Join(dir, "m"), Store: filepath.Join(dir, "store"), hasty: true, Hostname: "mx.stead.test", IPv4: "127.0.0.9",
		SMTP: testkit.Address(t), Submission: testkit.Address(t), Submissions: testkit.Address(t), IMAP: testkit.Address(t), IMAPS: testkit.Address(t), POP3: testkit.Address(t), POP3S: testkit.Address(t), Sieve: testkit.Address(t), Submit: testkit.Address(t),
		Relay: "[127.0.0.1]:" + w.out.port, Program: []string{program}, Accounts: w.lookup, Now: time.Now, Log: log,
		Certificate: func(string) (chain, key []byte, ok bool) {
			if given := w.given.Load(); given != nil {
				return given[0], given[1], true
			}
			return nil, nil, false
		},
		Lines: func(account string, _ int, l panel.LogLine) error {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.said[account] = append(w.said[account], l)
			return nil
		},
	}
	w.sup, err = daemon.New(daemon.Config{Dir: filepath.Join(dir, "daemons"), Now: time.Now, Log: log})
	must(t, err)
	w.cfg.Supervisor, w.cfg.suffixes, w.cfg.dns, w.cfg.xclient = w.sup, suffixes(t, dir), w.dns.address, true
	change(&w.cfg)
	w.open()
	t.Cleanup(func() {
		if t.Failed() {
			for _, name := range []string{"postfix", "dovecot"} {
				data, _ := os.ReadFile(w.cfg.logFile(name))
				t.Logf("%s\n%s", name, tail(string(data), 12000))
			}
			data, _ := os.ReadFile(filepath.Join(dir, "daemons", daemonRspamd+".log"))
			t.Logf("rspamd\n%s", tail(string(data), 12000))
		}
		if err := w.Stop(context.Background()); err != nil {
			t.Error(err)
		}
		if pid, err := os.ReadFile(filepath.Join(w.cfg.queue(), "pid", "master.pid")); err == nil {
			if _, err := os.Stat("/proc/" + strings.TrimSpace(string(pid))); err == nil {
				t.Errorf("Postfix goes on as process %s", pid)
			}
		}
		_ = w.sup.Close()
	})
	w.account(alice, "alice", 61001, "alice.example", "shop.example")
	w.account(bob, "bob", 61002, "bob.example")
	return w
}

// suffixes are the public suffixes of the tests' domains.
func suffixes(t testing.TB, dir string) string {
	t.Helper()
	file := filepath.Join(dir, "suffixes")
	must(t, os.WriteFile(file, []byte("test\nexample\ncom\n"), 0o644))
	return file
}

func tail(s string, n int) string { return s[max(0, len(s)-n):] }

// open starts what an agent starts.
func (w *world) open() {
	w.t.Helper()
	d, err := Open(w.cfg)
	must(w.t, err)
	w.Driver = d
	must(w.t, d.Start(w.t.Context()))
}

func (w *world) lookup(ref string) (accounts.Account, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	a, ok := w.here[ref]
	if !ok {
		return a, panel.ErrNotFound
	}
	return a, nil
}

func (w *world) account(ref, name string, uid int, domains ...string) {
	w.t.Helper()
	a := accounts.Account{Record: accounts.Record{Ref: ref, Name: name, User: accounts.User{Name: name, UID: uid, GID: uid}}}
	for _, d := range domains {
		a.Domains = append(a.Domains, accounts.Domain{Name: d, DocumentRoot: "public_html"})
	}
	w.change(ref, func(old *accounts.Account) { *old = a })
}

// change changes an account and has it applied.
func (w *world) change(ref string, f func(*accounts.Account)) {
	w.t.Helper()
	w.mu.Lock()
	a := w.here[ref]
	f(&a)
	w.here[ref] = a
	w.mu.Unlock()
	must(w.t, w.Apply(w.t.Context(), a))
}

const password = "correct horse"

var hashed = sync.OnceValue(func() string { return hashOf(password) })

func hashOf(password string) string {
	h, err := bcrypt.GenerateFromPassword([]byte(password), bcrypt.MinCost)
	if err != nil {
		panic(err)
	}
	return "{BLF-CRYPT}" + string(h)
}

// box is a mailbox that may do everything.
func box(address string, change ...func(*panel.Mailbox)) panel.Mailbox {
	m := panel.Mailbox{Address: address, PasswordHash: hashed(), QuotaMB: 10, Protocols: panel.MailProtocols{IMAP: true, POP3: true, SMTPOut: true}}
	for _, c := range change {
		c(&m)
	}
	return m
}

func (w *world) set(ref string, m panel.Mailbox) {
	w.t.Helper()
	_, err := w.SetMailbox(w.t.Context(), ref, m)
	must(w.t, err)
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

type testWriter struct{ t testing.TB }

func (w testWriter) Write(p []byte) (int, error) {
	w.t.Log(strings.TrimSpace(string(p)))
	return len(p), nil
}

// outside is the mail server of everybody else.
type outside struct {
	port string
	mu   sync.Mutex
	got  []letter
}

type letter struct {
	from string
	to   []string
	data string
	peer string // address of the server that brought it
}

func newOutside(t testing.TB) *outside {
	t.Helper()
	o := &outside{}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	_, o.port, _ = net.SplitHostPort(l.Addr().String())
	s := gosmtp.NewServer(o)
	s.Domain = "outside.test"
	go func() { _ = s.Serve(l) }()
	t.Cleanup(func() { _ = s.Close() })
	return o
}

func (o *outside) NewSession(c *gosmtp.Conn) (gosmtp.Session, error) {
	peer, _, err := net.SplitHostPort(c.Conn().RemoteAddr().String())
	return &session{o: o, peer: peer}, err
}

type session struct {
	o    *outside
	peer string
	l    letter
}

func (s *session) Mail(from string, _ *gosmtp.MailOptions) error {
	s.l = letter{from: from, peer: s.peer}
	return nil
}

func (s *session) Rcpt(to string, _ *gosmtp.RcptOptions) error {
	if strings.HasPrefix(to, "refused") {
		return &gosmtp.SMTPError{Code: 550, EnhancedCode: gosmtp.EnhancedCode{5, 1, 1}, Message: "no such mailbox"}
	}
	s.l.to = append(s.l.to, to)
	return nil
}
func (s *session) Reset()        { s.l = letter{} }
func (s *session) Logout() error { return nil }

func (s *session) Data(r io.Reader) error {
	data, err := io.ReadAll(r)
	s.l.data = string(data)
	s.o.mu.Lock()
	s.o.got = append(s.o.got, s.l)
	s.o.mu.Unlock()
	return err
}

// to are the letters to an address.
func (o *outside) to(address string) []letter {
	o.mu.Lock()
	defer o.mu.Unlock()
	var all []letter
	for _, l := range o.got {
		if strings.EqualFold(strings.Join(l.to, ","), address) {
			all = append(all, l)
		}
	}
	return all
}

func (w *world) gets(address string, n int) []letter {
	w.t.Helper()
	testkit.Eventually(w.t, time.Minute, func() bool { return len(w.out.to(address)) >= n }, fmt.Sprintf("%s outside gets %d letters", address, n))
	return w.out.to(address)
}

func text(from, to, subject string) string {
	return fmt.Sprintf("From: %s\r\nTo: %s\r\nSubject: %s\r\nMessage-ID: <%d@test>\r\nDate: %s\r\n\r\nHello.\r\n", from, to, subject,
		time.Now().UnixNano(), time.Now().Format(time.RFC1123Z))
}

// comes has another mail server deliver a letter.
func (w *world) comes(from, to, subject string) error {
	return w.comesWith(from, to, text(from, to, subject))
}

func (w *world) comesWith(from, to, data string) error {
	c, err := smtp.Dial(w.cfg.SMTP)
	if err != nil {
		return err
	}
	defer c.Close()
	if err := errors.Join(c.Hello("outside.test")); err != nil {
		return err
	}
	return letterBy(c, from, to, data)
}

func letterBy(c *smtp.Client, from, to, data string) error {
	if err := c.Mail(from); err != nil {
		return err
	}
	if err := c.Rcpt(to); err != nil {
		return err
	}
	d, err := c.Data()
	if err != nil {
		return err
	}
	if _, err := io.WriteString(d, data); err != nil {
		return err
	}
	return d.Close()
}

// sends has somebody send a letter by the submission service.
func (w *world) sends(user, password, from, to, data string) error {
	c, err := smtp.Dial(w.cfg.Submission)
	if err != nil {
		return err
	}
	defer c.Close()
	if err := c.Hello("laptop.test"); err != nil {
		return err
	}
	if err := c.StartTLS(&tls.Config{InsecureSkipVerify: true}); err != nil {
		return err
	}
	if err := c.Auth(smtp.PlainAuth("", user, password, "127.0.0.1")); err != nil {
		return err
	}
	return letterBy(c, from, to, data)
}

func (w *world) login(user, password string) (*imapclient.Client, error) {
	c, err := imapclient.DialTLS(w.cfg.IMAPS, &imapclient.Options{TLSConfig: &tls.Config{InsecureSkipVerify: true}})
	if err != nil {
		return nil, err
	}
	err = c.WaitGreeting()
	if err == nil {
		err = c.Login(user, password).Wait()
	}
	if err != nil {
		_ = c.Close()
		return nil, err
	}
	return c, nil
}

// inbox is the subjects and texts in a mailbox.
func (w *world) inbox(user string) []string {
	w.t.Helper()
	c, err := w.login(user, password)
	must(w.t, err)
	defer c.Close()
	selected, err := c.Select("INBOX", nil).Wait()
	must(w.t, err)
	if selected.NumMessages == 0 {
		return nil
	}
	var set imap.SeqSet
	set.AddRange(1, 0)
	messages, err := c.Fetch(set, &imap.FetchOptions{Envelope: true}).Collect()
	must(w.t, err)
	var all []string
	for _, m := range messages {
		all = append(all, m.Envelope.Subject)
	}
	return all
}

func (w *world) has(user string, subjects ...string) {
	w.t.Helper()
	var got []string
	testkit.Eventually(w.t, time.Minute, func() bool {
		got = w.inbox(user)
		return len(got) >= len(subjects)
	}, fmt.Sprintf("%s has %v", user, subjects))
	if strings.Join(got, "|") != strings.Join(subjects, "|") {
		w.t.Errorf("%s has %q, want %q", user, got, subjects)
	}
}

// refused checks the code of an answer of SMTP.
func refused(t *testing.T, err error, code string) {
	t.Helper()
	if err == nil || !strings.HasPrefix(err.Error(), code) {
		t.Errorf("got %v, want %s", err, code)
	}
}

// comesSized is comes with the size that a server declares beforehand (RFC 1870).
func (w *world) comesSized(from, to string, size int) error {
	c, err := dialText(w.cfg.SMTP)
	if err != nil {
		return err
	}
	defer c.Close()
	for i, line := range []string{"", "EHLO outside.test", fmt.Sprintf("MAIL FROM:<%s> SIZE=%d", from, size), fmt.Sprintf("RCPT TO:<%s>", to)} {
		if i > 0 {
			if err := c.PrintfLine("%s", line); err != nil {
				return err
			}
		}
		if _, _, err := c.ReadResponse(2); err != nil {
			return err
		}
	}
	return nil
}

func dialText(address string) (*textproto.Conn, error) { return textproto.Dial("tcp", address) }

func wantKind(t *testing.T, err error, kind panel.Kind) {
	t.Helper()
	if panel.KindOf(err) != kind {
		t.Errorf("got %v, want %s", err, kind)
	}
}

// reopen is another agent after the former has ended.
func (w *world) reopen() {
	w.t.Helper()
	var err error
	w.sup, err = daemon.New(daemon.Config{Dir: filepath.Join(filepath.Dir(w.cfg.Dir), "daemons"), Now: time.Now, Log: w.cfg.Log})
	must(w.t, err)
	w.cfg.Supervisor = w.sup
	w.open()
	for _, a := range w.here {
		must(w.t, w.Apply(w.t.Context(), a))
	}
}
