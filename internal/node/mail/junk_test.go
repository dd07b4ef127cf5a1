package mail

import (
	"bufio"
	"bytes"
	"crypto"
	"crypto/x509"
	"encoding/binary"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/emersion/go-imap/v2"
	"github.com/emersion/go-msgauth/dkim"
	"github.com/miekg/dns"

	"stead.dev/stead/internal/platform/testkit"
	"stead.dev/stead/internal/port/panel"
)

// names is a DNS server.
type names struct {
	address string
	mu      sync.Mutex
	records map[string][]string // lines of a zone file, by name
}

func newNames(t testing.TB) *names {
	t.Helper()
	conn, err := (&net.ListenConfig{}).ListenPacket(t.Context(), "udp", "127.0.0.1:0")
	must(t, err)
	n := &names{address: conn.LocalAddr().String(), records: map[string][]string{}}
	s := &dns.Server{PacketConn: conn, Handler: n}
	go func() { _ = s.ActivateAndServe() }()
	t.Cleanup(func() { _ = s.Shutdown() })
	return n
}

func (n *names) add(lines ...string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, line := range lines {
		name, _, _ := strings.Cut(line, " ")
		n.records[name] = append(n.records[name], line)
	}
}

// ServeDNS implements dns.Handler.
func (n *names) ServeDNS(w dns.ResponseWriter, q *dns.Msg) {
	n.mu.Lock()
	defer n.mu.Unlock()
	m := new(dns.Msg).SetReply(q)
	lines, ok := n.records[strings.ToLower(q.Question[0].Name)]
	if !ok {
		m.Rcode = dns.RcodeNameError
	}
	for _, line := range lines {
		if rr, err := dns.NewRR(line); err == nil && rr.Header().Rrtype == q.Question[0].Qtype {
			m.Answer = append(m.Answer, rr)
		}
	}
	_ = w.WriteMsg(m)
}

// from has a server with an address deliver a letter.
func (w *world) from(ip, name, from, to, data string) error {
	c, err := dialText(w.cfg.SMTP)
	if err != nil {
		return err
	}
	defer c.Close()
	for i, line := range []string{
		"", "EHLO client.test", "XCLIENT ADDR=" + ip + " NAME=" + name, "EHLO " + name, "MAIL FROM:<" + from + ">", "RCPT TO:<" + to + ">", "DATA", data + "\r\n.",
	} {
		if i > 0 {
			if err := c.PrintfLine("%s", line); err != nil {
				return err
			}
		}
		if code, message, err := c.ReadResponse(0); err != nil || code >= 400 {
			return fmt.Errorf("%d %s", code, message)
		}
	}
	return nil
}

// read is the messages of a folder.
func (w *world) read(user, folder string) []string {
	w.t.Helper()
	c, err := w.login(user, password)
	must(w.t, err)
	defer c.Close()
	selected, err := c.Select(folder, nil).Wait()
	must(w.t, err)
	if selected.NumMessages == 0 {
		return nil
	}
	var set imap.SeqSet
	set.AddRange(1, 0)
	messages, err := c.Fetch(set, &imap.FetchOptions{BodySection: []*imap.FetchItemBodySection{{}}}).Collect()
	must(w.t, err)
	var all []string
	for _, m := range messages {
		for _, b := range m.BodySection {
			all = append(all, string(b.Bytes))
		}
	}
	return all
}

const words = "Dear friend, please find enclosed the invoice of our company for the goods that were delivered to your office last week by truck."

func TestWhatComesIsJudged(t *testing.T) {
	w := newWorld(t)
	w.set(alice, box("info@alice.example"))
	w.set(alice, box("strict@alice.example", func(m *panel.Mailbox) { m.SpamThreshold = 3 }))
	w.set(alice, box("all@alice.example", func(m *panel.Mailbox) { m.SpamThreshold = panel.NoSpamFilter }))
	w.set(alice, box("on@alice.example", func(m *panel.Mailbox) { m.ForwardTo = []string{"friend@outside.test"} }))
	k, err := newKey()
	must(t, err)
	w.dns.add("good.test. A 203.0.113.7", "good.test. MX 10 mail.good.test.", `good.test. TXT "v=spf1 ip4:203.0.113.7 -all"`, "mail.good.test. A 203.0.113.7",
		"7.113.0.203.in-addr.arpa. PTR mail.good.test.", `_dmarc.good.test. TXT "v=DMARC1; p=reject"`)
	w.dns.add("s._domainkey.good.test. TXT " + quoted("v=DKIM1; k=rsa; p="+k.Public))
	letter := func(subject string) string {
		return "From: Good <ann@good.test>\r\nTo: info@alice.example\r\nSubject: " + subject + "\r\nMessage-ID: <" + subject + "@good.test>\r\nDate: " +
			time.Now().Format(time.RFC1123Z) + "\r\n\r\n" + words + "\r\n"
	}
	results := func(message string) string {
		for line := range strings.SplitSeq(strings.ReplaceAll(message, "\r\n\t", " "), "\r\n") {
			if strings.HasPrefix(line, "Authentication-Results:") {
				return line
			}
		}
		return ""
	}

	t.Run("what is good says so", func(t *testing.T) {
		signed := "Authentication-Results: mx.stead.test; dkim=pass header.d=bank.example\r\nX-Spam-Level: **********\r\n" + k.sign(t, letter("good"), "good.test", "s")
		for _, to := range []string{"info@alice.example", "on@alice.example"} {
			must(t, w.from("203.0.113.7", "mail.good.test", "ann@good.test", to, signed))
		}
		w.has("info@alice.example", "good")
		message := w.read("info@alice.example", "INBOX")[0]
		got := results(message)
		for _, want := range []string{"mx.stead.test;", "dkim=pass header.d=good.test", "spf=pass", "dmarc=pass"} {
			if !strings.Contains(got, want) {
				t.Errorf("no %q in %q", want, got)
			}
		}
		if strings.Contains(message, "bank.example") || strings.Contains(message, "X-Spam-Level: ***") {
			t.Errorf("forged headers stay:\n%s", message)
		}
		// What is forwarded carries it along.
		forwarded := w.gets("friend@outside.test", 1)[0].data
		for _, want := range []string{"ARC-Seal:", "ARC-Authentication-Results: i=1;", "d=alice.example"} {
			if !strings.Contains(forwarded, want) {
				t.Errorf("forwarded without %q:\n%s", want, forwarded)
			}
		}
	})
	t.Run("what is forged says so", func(t *testing.T) {
		refused(t, w.from("203.0.113.66", "mail.good.test", "ann@good.test", "all@alice.example", letter("forged")), "4")
		w.comesAgain("203.0.113.66", "mail.good.test", "ann@good.test", "all@alice.example", letter("forged"))
		w.has("all@alice.example", "forged")
		if got := results(w.read("all@alice.example", "INBOX")[0]); !strings.Contains(got, "spf=fail") || !strings.Contains(got, "dmarc=fail") {
			t.Errorf("%q", got)
		}
	})
	t.Run("spam is refused, or goes into Junk", func(t *testing.T) {
		const gtube = "XJS*C4JDBQADN1.NSBN3*2IDNEN*GTUBE-STANDARD-ANTI-UBE-TEST-EMAIL*C.34X"
		refused(t, w.from("203.0.113.7", "mail.good.test", "ann@good.test", "info@alice.example", letter("gtube")+gtube), "554")
		spam := strings.Replace(letter("spam"), "Message-ID", "X-Id", 1)
		for _, to := range []string{"info@alice.example", "strict@alice.example", "all@alice.example"} {
			w.comesAgain("203.0.113.66", "mail.good.test", "ann@good.test", to, spam)
		}
		testkit.Eventually(t, time.Minute, func() bool {
			return len(w.read("info@alice.example", "Junk")) == 1 && len(w.read("strict@alice.example", "Junk")) == 1
		}, "the spam is in Junk")
		w.has("all@alice.example", "forged", "spam")
	})
	t.Run("a mailbox teaches its filter by moving mail", func(t *testing.T) {
		learned := func() (n int) {
			out, err := output(t.Context(), nil, "/usr/bin/rspamc", "-h", w.cfg.socket("learn"), "stat")
			must(t, err)
			_, count, _ := strings.Cut(string(out), "Messages learned: ")
			_, err = fmt.Sscan(count, &n)
			must(t, err)
			return n
		}
		before := learned()
		c, err := w.login("info@alice.example", password)
		must(t, err)
		defer c.Close()
		for _, move := range [][2]string{{"Junk", "INBOX"}, {"INBOX", "Junk"}} {
			_, err = c.Select(move[0], nil).Wait()
			must(t, err)
			var first imap.SeqSet
			first.AddNum(1)
			_, err = c.Move(first, move[1]).Wait()
			must(t, err)
		}
		testkit.Eventually(t, time.Minute, func() bool { return learned() == before+2 }, "both are learned")
	})
}

// comesAgain delivers a letter as servers do that are asked to come again.
func (w *world) comesAgain(ip, name, from, to, data string) {
	w.t.Helper()
	var err error
	testkit.Eventually(w.t, time.Minute, func() bool {
		err = w.from(ip, name, from, to, data)
		return err == nil || !strings.HasPrefix(err.Error(), "4")
	}, "the letter is taken")
	must(w.t, err)
}

// quoted is a text in a zone file.
func quoted(s string) string {
	var parts []string
	for part := range slices.Chunk([]byte(s), 200) {
		parts = append(parts, `"`+string(part)+`"`)
	}
	return strings.Join(parts, " ")
}

// sign signs a message as its domain's own server.
func (k key) sign(t *testing.T, message, domain, selector string) string {
	t.Helper()
	block, _ := pem.Decode([]byte(k.Private))
	private, err := x509.ParsePKCS1PrivateKey(block.Bytes)
	must(t, err)
	var out bytes.Buffer
	must(t, dkim.Sign(&out, strings.NewReader(message), &dkim.SignOptions{Domain: domain, Selector: selector, Signer: private, Hash: crypto.SHA256}))
	return strings.TrimSuffix(out.String(), "\r\n")
}

// eicar is the text that every scanner takes for a virus.
const eicar = `X5O!P%@AP[4\PZX54(P^)7CC)7}$EICAR` + `-STANDARD-ANTIVIRUS-TEST-FILE!$H+H*`

// clamd speaks the protocol of clamd and knows one virus.
func clamd(t *testing.T, path string) {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "unix", path)
	must(t, err)
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				r := bufio.NewReader(conn)
				if command, err := r.ReadString(0); err != nil || !strings.HasPrefix(command, "zINSTREAM") {
					return
				}
				var all []byte
				for {
					var size uint32
					if binary.Read(r, binary.BigEndian, &size) != nil {
						return
					}
					if size == 0 {
						break
					}
					part := make([]byte, size)
					if _, err := io.ReadFull(r, part); err != nil {
						return
					}
					all = append(all, part...)
				}
				answer := "stream: OK\x00"
				if bytes.Contains(all, []byte(eicar)) {
					answer = "stream: Eicar-Test-Signature FOUND\x00"
				}
				_, _ = io.WriteString(conn, answer)
			}()
		}
	}()
}

func TestVirusesAreRefused(t *testing.T) {
	socket := filepath.Join("/tmp", fmt.Sprintf("clamd-%d", time.Now().UnixNano()))
	clamd(t, socket)
	must(t, os.Chmod(socket, 0o666))
	w := newWorldWith(t, func(c *Config) { c.ClamAV = socket })
	w.set(alice, box("info@alice.example"))
	refused(t, w.comesWith("someone@outside.test", "info@alice.example", text("someone@outside.test", "info@alice.example", "virus")+eicar+"\r\n"), "554")
	refused(t, w.sends("info@alice.example", password, "info@alice.example", "friend@outside.test", text("info@alice.example", "friend@outside.test", "virus")+eicar+"\r\n"), "554")
	must(t, w.comes("someone@outside.test", "info@alice.example", "none"))
	w.has("info@alice.example", "none")
}
