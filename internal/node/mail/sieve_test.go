package mail

import (
	"bufio"
	"crypto/tls"
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"stead.dev/stead/internal/platform/testkit"
	"stead.dev/stead/internal/port/panel"
)

// manager is a mail program that edits filters (RFC 5804).
type manager struct {
	t testing.TB
	net.Conn
	r *bufio.Reader
}

func (w *world) manage() *manager {
	w.t.Helper()
	// Dovecot takes who has the address of the server for safe.
	elsewhere := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 2)}}
	conn, err := elsewhere.DialContext(w.t.Context(), "tcp", w.cfg.Sieve)
	must(w.t, err)
	w.t.Cleanup(func() { _ = conn.Close() })
	must(w.t, conn.SetDeadline(time.Now().Add(10*time.Minute))) // of a whole test, on a machine that may be busy
	m := &manager{w.t, conn, bufio.NewReader(conn)}
	m.answer()
	return m
}

// answer reads lines until OK, NO or BYE.
func (m *manager) answer() string {
	m.t.Helper()
	var all strings.Builder
	for {
		line, err := m.r.ReadString('\n')
		must(m.t, err)
		all.WriteString(line)
		var rest int
		if at := strings.LastIndexByte(line, '{'); at >= 0 && strings.HasSuffix(line, "}\r\n") {
			_, err := fmt.Sscanf(line[at:], "{%d}", &rest)
			must(m.t, err)
			text := make([]byte, rest)
			_, err = io.ReadFull(m.r, text)
			must(m.t, err)
			all.Write(text)
			_, err = m.r.ReadString('\n')
			must(m.t, err)
		}
		for _, end := range []string{"OK", "NO", "BYE"} {
			if strings.HasPrefix(line, end) {
				return all.String()
			}
		}
	}
}

func (m *manager) ask(command string) string {
	m.t.Helper()
	_, err := fmt.Fprintf(m, "%s\r\n", command)
	must(m.t, err)
	return m.answer()
}

func (m *manager) secure() string {
	m.t.Helper()
	if got := m.ask("STARTTLS"); !strings.HasPrefix(got, "OK") {
		m.t.Fatal(got)
	}
	m.Conn = tls.Client(m.Conn, &tls.Config{InsecureSkipVerify: true})
	m.r = bufio.NewReader(m.Conn)
	return m.answer()
}

func (m *manager) signIn(user, password string) string {
	m.t.Helper()
	return m.ask(`AUTHENTICATE "PLAIN" "` + base64.StdEncoding.EncodeToString([]byte("\x00"+user+"\x00"+password)) + `"`)
}

func (m *manager) put(name, script string) string {
	m.t.Helper()
	return m.ask(fmt.Sprintf("PUTSCRIPT %q {%d+}\r\n%s", name, len(script), script))
}

func TestMailProgramsEditFilters(t *testing.T) {
	w := newWorldWith(t, func(c *Config) { c.Signin = testkit.Address(t) })
	w.set(alice, box("info@alice.example"))
	w.set(alice, box("pop@alice.example", func(m *panel.Mailbox) { m.Protocols.IMAP = false }))

	m := w.manage()
	if got := m.signIn("info@alice.example", password); !strings.HasPrefix(got, "NO") && !strings.HasPrefix(got, "BYE") {
		t.Errorf("signs in without encryption: %s", got)
	}
	m = w.manage()
	offer := m.secure()
	if !strings.Contains(offer, "fileinto") || !strings.Contains(offer, "PLAIN") {
		t.Errorf("offers %s", offer)
	}
	for _, not := range []string{"reject", "enotify", "vnd.dovecot.pipe", "vnd.dovecot.execute", "vnd.dovecot.environment"} {
		if strings.Contains(offer, not) {
			t.Errorf("offers %s: %s", not, offer)
		}
	}
	for _, wrong := range [][2]string{{"info@alice.example", "wrong"}, {"pop@alice.example", password}, {"alice", password}} {
		if got := m.signIn(wrong[0], wrong[1]); !strings.HasPrefix(got, "NO") {
			t.Errorf("%v signs in: %s", wrong, got)
		}
	}
	if got := m.signIn("info@alice.example", password); !strings.HasPrefix(got, "OK") {
		t.Fatal(got)
	}
	for _, refused := range []string{
		`require "reject"; reject "no";`, `require "enotify"; notify "mailto:x@outside.test";`,
		`require "vnd.dovecot.pipe"; pipe "learn";`, `require "vnd.dovecot.execute"; execute "learn";`,
		strings.Repeat("# long\r\n", 10_000), "nonsense",
	} {
		if got := m.put("bad", refused); !strings.HasPrefix(got, "NO") {
			t.Errorf("%.40s is taken: %s", refused, got)
		}
	}
	if got := m.put("good", "require [\"fileinto\", \"mailbox\"];\r\nif header :contains \"subject\" \"invoice\" { fileinto :create \"Bills\"; }\r\n"); !strings.HasPrefix(got, "OK") {
		t.Fatal(got)
	}
	if got := m.ask(`SETACTIVE "good"`); !strings.HasPrefix(got, "OK") {
		t.Fatal(got)
	}
	must(t, w.comes("x@outside.test", "info@alice.example", "your invoice"))
	must(t, w.comes("x@outside.test", "info@alice.example", "hello"))
	testkit.Eventually(t, 20*time.Second, func() bool { return len(w.read("info@alice.example", "Bills")) == 1 }, "the filter sorts")
	w.has("info@alice.example", "hello")

	// Forwards are settings of the mailbox.
	if got := m.put("good", `redirect "y@outside.test";`); strings.HasPrefix(got, "OK") {
		must(t, w.comes("x@outside.test", "info@alice.example", "stays"))
		w.has("info@alice.example", "hello", "stays")
		if got := w.gets("y@outside.test", 0); len(got) > 0 {
			t.Errorf("a filter forwards: %v", got)
		}
	}

	// Guesses wait as those of IMAP do.
	started := time.Now()
	done := make(chan string)
	const guesses = 13
	for range guesses {
		go func() {
			m := w.manage()
			m.secure()
			done <- m.signIn("info@alice.example", "guess")
		}()
	}
	for range guesses {
		if got := <-done; !strings.HasPrefix(got, "NO") && !strings.HasPrefix(got, "BYE") {
			t.Errorf("a guess: %s", got)
		}
	}
	if took := time.Since(started); took < 3*time.Second {
		t.Errorf("%d guesses took %v", guesses, took)
	}
}
