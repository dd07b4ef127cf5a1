package mail

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"stead.dev/stead/internal/node/accounts"
	"stead.dev/stead/internal/port/panel"
)

func TestProtocolsAndSendLimit(t *testing.T) {
	w := newWorld(t)
	w.set(alice, box("limited@alice.example", func(m *panel.Mailbox) { m.SendLimitPerHour = 2; m.Protocols.IMAP = false }))
	w.set(alice, box("silent@alice.example", func(m *panel.Mailbox) { m.Protocols = panel.MailProtocols{IMAP: true} }))
	send := func(n int) error {
		to := fmt.Sprintf("friend%d@outside.test", n)
		return w.sends("limited@alice.example", password, "limited@alice.example", to, text("limited@alice.example", to, "one"))
	}
	must(t, send(1))
	must(t, send(2))
	refused(t, send(3), "450")
	w.set(alice, box("limited@alice.example", func(m *panel.Mailbox) { m.SendLimitPerHour = 3; m.Protocols.IMAP = false }))
	must(t, send(3))
	refused(t, send(4), "450")
	if _, err := w.login("limited@alice.example", password); err == nil {
		t.Error("IMAP is not among the protocols")
	}
	if _, err := w.login("silent@alice.example", password); err != nil {
		t.Error(err)
	}
	refused(t, w.sends("silent@alice.example", password, "silent@alice.example", "friend@outside.test", ""), "535")
}

// TestMailLeavesByAddressesThatTheDNSNames: by IPv6 only where such an address of the machine is known.
func TestMailLeavesByAddressesThatTheDNSNames(t *testing.T) {
	const only4 = "unix - - n - - smtp\n  -o { inet_protocols = ipv4 }\n"
	for name, c := range map[string]struct {
		cfg  Config
		want bool
	}{
		"IPv4 alone": {Config{IPv4: "192.0.2.1"}, true}, "nothing": {Config{}, true},
		"both": {Config{IPv4: "192.0.2.1", IPv6: "2001:db8::1"}, false}, "by a relay": {Config{Relay: "[smtp.example.com]:587"}, false},
	} {
		master := c.cfg.postfixMaster()
		for _, service := range []string{"smtp ", "relay "} {
			if got := strings.Contains(master, "\n"+service+only4); got != c.want {
				t.Errorf("%s: %sby IPv4 alone: %v", name, service, got)
			}
			if !strings.Contains(master, "\n"+service+"unix - - n - - smtp\n") {
				t.Errorf("%s: no service %s", name, service)
			}
		}
	}
}

// sendmail has a program of the user submit a message.
func (w *world) sendmail(uid uint32, message string, args ...string) error {
	cmd := exec.CommandContext(w.t.Context(), w.cfg.Program[0], append([]string{SubmitCommand, w.cfg.Dir}, args...)...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
	cmd.Stdin = strings.NewReader(message)
	out, err := cmd.CombinedOutput()
	if err != nil {
		err = fmt.Errorf("%w: %s", err, out)
	}
	return err
}

// TestNobodySendsAsADomainThatIsNotKnownToBeTheirs: neither by its envelope nor by its header, as a program or a mailbox.
func TestNobodySendsAsADomainThatIsNotKnownToBeTheirs(t *testing.T) {
	w := newWorld(t)
	w.set(alice, box("info@shop.example"))
	mute := func(domains ...string) {
		t.Helper()
		w.change(alice, func(a *accounts.Account) {
			a.Domains = slices.Clone(a.Domains)
			for i := range a.Domains {
				a.Domains[i].NoMail = slices.Contains(domains, a.Domains[i].Name)
			}
		})
	}
	const uid, to = 61001, "one@outside.test"
	mute("shop.example")
	for _, c := range []struct {
		message string
		args    []string
	}{
		{"Subject: x\n\nx", []string{"-f", "ceo@shop.example", to}},
		{"From: ceo@shop.example\nSubject: x\n\nx", []string{to}},
	} {
		if err := w.sendmail(uid, c.message, c.args...); err == nil || !strings.Contains(err.Error(), "exit status 77") {
			t.Errorf("a program sends %q %q: %v", c.message, c.args, err)
		}
	}
	if err := w.sends("info@shop.example", password, "info@shop.example", to, text("info@shop.example", to, "x")); err == nil {
		t.Error("a mailbox sends")
	}
	must(t, w.sendmail(uid, "From: ceo@alice.example\nSubject: x\n\nx", to))
	w.gets(to, 1)
	// Without any such domain, mail() fails at once.
	mute("alice.example", "shop.example")
	if err := w.sendmail(uid, "Subject: x\n\nx", to); err == nil || !strings.Contains(err.Error(), "exit status 77") {
		t.Errorf("a program sends: %v", err)
	}
	mute()
	must(t, w.sendmail(uid, "Subject: x\n\nx", "-f", "ceo@shop.example", to))
	must(t, w.sends("info@shop.example", password, "info@shop.example", to, text("info@shop.example", to, "x")))
	w.gets(to, 3)
}

func TestProgramsOfAnAccountSend(t *testing.T) {
	w := newWorld(t)
	w.set(alice, box("info@alice.example"))
	sendmail := w.sendmail
	must(t, sendmail(61001, "To: One <one@outside.test>\nCc: two@outside.test\nBcc: secret@outside.test\nFrom: info@alice.example\nSubject: form\n\nline\n.\nend\n", "-t", "-i"))
	got := w.gets("one@outside.test,secret@outside.test,two@outside.test", 1)[0]
	if got.from != "alice@alice.example" || strings.Contains(got.data, "secret@") || !strings.Contains(got.data, "line\r\n.\r\nend") || !strings.Contains(got.data, "d=alice.example") {
		t.Errorf("got %+v", got)
	}
	must(t, sendmail(61001, "Subject: x\n\nx", "-f", "wordpress@shop.example", "--", "one@outside.test"))
	if got := w.gets("one@outside.test", 1)[0]; got.from != "wordpress@shop.example" || !strings.Contains(got.data, "From: wordpress@shop.example") {
		t.Errorf("got %+v", got)
	}
	must(t, sendmail(61001, "From: orders@shop.example\nTo: two@outside.test\n\nx", "-t"))
	w.gets("two@outside.test", 1)
	if err := sendmail(61001, "From: me@bob.example\nTo: two@outside.test\n\nx", "-t"); err == nil || !strings.Contains(err.Error(), "exit status 77") {
		t.Errorf("a program of alice's writes as bob: %v", err)
	}
	for _, c := range []struct {
		uid  uint32
		args []string
		code string
	}{
		{61001, []string{"-f", "me@bob.example", "one@outside.test"}, "exit status 77"},
		{61001, []string{"-f", "x@outside.test", "one@outside.test"}, "exit status 77"},
		{61001, nil, "exit status 64"},
		{61003, []string{"one@outside.test"}, "exit status 77"},
	} {
		if err := sendmail(c.uid, "Subject: x\n\nx", c.args...); err == nil || !strings.Contains(err.Error(), c.code) {
			t.Errorf("%v: %v, want %s", c.args, err, c.code)
		}
	}
	// More recipients than the hour's limit are refused for good, however many.
	for n, want := range map[int]string{501: "may send to 300 recipients in an hour, and this message has 501", maxRecipients + 1: "recipients: send it to fewer"} {
		args := make([]string, n)
		for i := range args {
			args[i] = fmt.Sprintf("r%d@outside.test", i)
		}
		if err := sendmail(61001, "Subject: x\n\nx", args...); err == nil || !strings.Contains(err.Error(), "exit status 77") || !strings.Contains(err.Error(), want) {
			t.Errorf("to %d recipients: %v", n, err)
		}
	}
	w.change(alice, func(a *accounts.Account) { a.Suspended = true })
	if err := sendmail(61001, "Subject: x\n\nx", "one@outside.test"); err == nil {
		t.Error("a suspended account sends")
	}
}

func TestPolicyCountsAnHour(t *testing.T) {
	dir := t.TempDir()
	must(t, os.MkdirAll(filepath.Join(dir, "tables"), 0o700))
	must(t, os.MkdirAll(filepath.Join(dir, "sent"), 0o700))
	known := &database{path: Config{Dir: dir}.dovecotDatabase(), schema: dovecotSchema}
	must(t, known.create(t.Context(), map[string][]row{"alice": {{limits, []string{"a@x.example", "3"}}, {limits, []string{"b@x.example", "1"}}}}))
	must(t, known.close())
	now := time.Unix(1_800_000_000, 0)
	ask := func(login string, recipients int) string {
		var out bytes.Buffer
		question := fmt.Sprintf("request=smtpd_access_policy\nsasl_username=%s\nrecipient_count=%d\n\n", login, recipients)
		must(t, Policy(t.Context(), dir, strings.NewReader(question), &out, func() time.Time { return now }))
		return strings.TrimSpace(out.String())
	}
	const yes, no, never = "action=DUNNO", "action=450 4.7.1", "action=554 5.7.1"
	for _, c := range []struct {
		later      time.Duration
		login      string
		recipients int
		want       string
	}{
		{0, "a@x.example", 2, yes},
		{0, "A@x.example", 2, no}, // as many would be too many
		{30 * time.Minute, "a@x.example", 1, yes},
		{0, "a@x.example", 1, no},
		{0, "b@x.example", 2, never}, // more than an hour's in one message
		{0, "b@x.example", 1, yes},   // another's count
		{31 * time.Minute, "a@x.example", 2, yes},
		{0, "a@x.example", 1, no},
		{0, "free@x.example", 1000, yes},
		{0, "", 1, yes},
	} {
		now = now.Add(c.later)
		if got := ask(strings.ToLower(c.login), c.recipients); !strings.HasPrefix(got, c.want) {
			t.Errorf("%s to %d after %s: %s, want %s", c.login, c.recipients, c.later, got, c.want)
		}
	}
	must(t, os.Remove(known.path))
	if got := ask("a@x.example", 1); !strings.HasPrefix(got, "action=451") {
		t.Errorf("without limits: %s", got)
	}
}
