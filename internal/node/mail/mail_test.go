package mail

import (
	"crypto/tls"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/emersion/go-msgauth/dkim"

	"stead.dev/stead/internal/node/accounts"
	"stead.dev/stead/internal/platform/testkit"
	"stead.dev/stead/internal/port/panel"
)

func TestMailGoesInOutAndAcross(t *testing.T) {
	w := newWorld(t)
	w.set(alice, box("info@alice.example", func(m *panel.Mailbox) { m.Aliases = []string{"write@alice.example"} }))
	w.set(bob, box("me@bob.example"))
	must(t, w.comes("someone@outside.test", "info@alice.example", "in"))
	w.has("info@alice.example", "in")
	must(t, w.sends("info@alice.example", password, "info@alice.example", "me@bob.example", text("info@alice.example", "me@bob.example", "across")))
	w.has("me@bob.example", "across")
	must(t, w.sends("info@alice.example", password, "info@alice.example", "friend@outside.test", text("info@alice.example", "friend@outside.test", "out")))
	sent := w.gets("friend@outside.test", 1)[0]

	t.Run("what is sent does not say where its sender is, and comes from the address of the DNS", func(t *testing.T) {
		header, _, _ := strings.Cut(sent.data, "\r\n\r\n")
		for _, place := range []string{"laptop.test", "127.0.0.1", "localhost"} {
			if strings.Contains(header, place) {
				t.Errorf("the header says %s:\n%s", place, header)
			}
		}
		if strings.Count(header, "Received: by mx.stead.test with ESMTPSA id ") != 1 {
			t.Errorf("no Received header:\n%s", header)
		}
		if sent.peer != w.cfg.IPv4 {
			t.Errorf("it comes from %s, want %s", sent.peer, w.cfg.IPv4)
		}
	})
	t.Run("what is sent is signed with the key that the port tells", func(t *testing.T) {
		domains, err := w.MailDomains(t.Context(), alice)
		must(t, err)
		if len(domains) != 1 || domains[0].Name != "alice.example" {
			t.Fatalf("domains %+v", domains)
		}
		zone := map[string]string{domains[0].DKIMSelector + "._domainkey.alice.example": "v=DKIM1; k=rsa; p=" + domains[0].DKIMPublicKey}
		w.signed(sent.data, zone, "alice.example")
	})
	t.Run("the From header is an address of the login", func(t *testing.T) {
		send := func(from string) error {
			data := from + "To: victim@outside.test\r\nSubject: forged\r\n\r\nHello.\r\n"
			return w.sends("info@alice.example", password, "info@alice.example", "victim@outside.test", data)
		}
		for _, from := range []string{
			"From: me@bob.example\r\n",
			"From: Bob <me@bob.example>\r\n",
			"From: other@alice.example\r\n",
			"From: info@alice.example, me@bob.example\r\n",
			"From: info@alice.example\r\nFrom: me@bob.example\r\n",
			"From: info@alice.example\r\nFrom : me@bob.example\r\n",
			"From: me@bob.example <info@alice.example>\r\n",
			"From: <info@alice.example> <me@bob.example>\r\n",
			"From: (me@bob.example <info@alice.example>\r\n",
			"From: \"me\"@bob.example\r\n",
			"From:\r\n me@bob.example\r\n",
			"From: =?utf-8?Q?me=40bob.example?=\r\n",
			"From: info\r\n",
			"From:\r\n",
		} {
			if err := send(from); err == nil || !strings.HasPrefix(err.Error(), "554") || !strings.Contains(err.Error(), "From header") {
				t.Errorf("%q: %v", from, err)
			}
		}
		allowed := []string{
			"From: INFO@Alice.example\r\n",
			"From: \"Alice (sales) me@bob.example\" <info@alice.example>\r\n",
			"From: info+tag@alice.example (Alice)\r\n",
			"From: Alice\r\n <write@alice.example>\r\n",
			"", // Postfix adds the one of the envelope
		}
		for _, from := range allowed {
			if err := send(from); err != nil {
				t.Errorf("%q: %v", from, err)
			}
		}
		w.gets("victim@outside.test", len(allowed))
	})
	t.Run("no open relay, no forged sender, no wrong password", func(t *testing.T) {
		refused(t, w.comes("someone@outside.test", "other@outside.test", "relay"), "554")
		refused(t, w.comes("info@alice.example", "other@outside.test", "relay"), "554")
		refused(t, w.comes("someone@outside.test", `other%outside.test@alice.example`, "relay"), "554")
		refused(t, w.comes("someone@outside.test", "nobody@alice.example", "unknown"), "550")
		refused(t, w.comes("someone@outside.test", "info@shop.example", "no domain of mail"), "554")
		for _, sender := range []string{"me@bob.example", "other@alice.example", "ceo@outside.test", ""} {
			err := w.sends("info@alice.example", password, sender, "friend@outside.test", text(sender, "friend@outside.test", "forged"))
			refused(t, err, "55")
		}
		refused(t, w.sends("info@alice.example", "wrong", "info@alice.example", "friend@outside.test", ""), "535")
		refused(t, w.sends("alice", w.store.Get("alice").Secret+"x", "info@alice.example", "friend@outside.test", ""), "535")
		if _, err := w.login("info@alice.example", "wrong"); err == nil {
			t.Error("a wrong password signs in")
		}
		if _, err := w.login("alice", w.store.Get("alice").Secret); err == nil {
			t.Error("the programs' password reads mail")
		}
		if n := len(w.out.got); n != 6 {
			t.Errorf("%d letters went out, want 6", n)
		}
	})
	t.Run("nobody but its owner comes to mail", func(t *testing.T) {
		if _, err := w.login("me@bob.example", "info@alice.example"); err == nil {
			t.Error("signed in")
		}
		// By IMAP, with names that lead elsewhere.
		c, err := w.login("info@alice.example", password)
		must(t, err)
		defer c.Close()
		for _, name := range []string{"../../../bob/bob.example/me/Maildir", "~me@bob.example", filepath.Join(w.cfg.Store, "bob"), "user.me@bob.example"} {
			if _, err := c.Select(name, nil).Wait(); err == nil {
				t.Errorf("alice opened %s", name)
			}
		}
		// On the disk: as alice's user, as bob's own programs, and as anybody.
		box := filepath.Join(w.cfg.Store, "bob", "bob.example", "me", "Maildir", "new")
		for _, uid := range []uint32{61001, 61002, 65534} {
			cmd := exec.CommandContext(t.Context(), "/bin/ls", box)
			cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
			if out, err := cmd.CombinedOutput(); err == nil {
				t.Errorf("user %d sees %s", uid, out)
			}
		}
		for _, secret := range []string{
			w.cfg.dovecotDatabase(), w.cfg.postfixDatabase(), w.keyFile("alice.example", w.store.Get("alice").Keys["alice.example"]),
			filepath.Join(w.cfg.Dir, "submit", "61002"), filepath.Join(w.cfg.Dir, "accounts", "bob.json"), filepath.Join(w.cfg.Dir, "tls", "key.pem"),
			filepath.Join(w.cfg.loginsDir(), stateName("bob")),
		} {
			cmd := exec.CommandContext(t.Context(), "/bin/cat", secret)
			cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 61001, Gid: 61001}}
			if _, err := os.Stat(secret); err != nil {
				t.Error(err)
			}
			if out, err := cmd.CombinedOutput(); err == nil {
				t.Errorf("alice's programs read %s: %s", secret, out)
			}
		}
		refused(t, dial(t, w.cfg.Submission, "AUTH PLAIN AGEAYg=="), "5") // not without TLS
	})
	t.Run("the port tells what is used, and the log what happened", func(t *testing.T) {
		all, err := w.Mailboxes(t.Context(), alice)
		must(t, err)
		if len(all) != 1 || all[0].Messages != 1 || all[0].UsedBytes == 0 || all[0].PasswordHash != "" || all[0].PasswordTag != panel.PasswordTag(hashed()) ||
			time.Since(all[0].LastLoginAt) > 10*time.Minute || time.Since(all[0].LastLoginAt) < -time.Minute {
			t.Errorf("mailboxes %+v", all)
		}
		var u panel.Usage
		must(t, w.Count(t.Context(), w.here[alice], &u))
		if u.DiskBytes != all[0].UsedBytes {
			t.Errorf("counted %d bytes, want %d", u.DiskBytes, all[0].UsedBytes)
		}
		logged := func(account, want string) bool {
			w.mu.Lock()
			defer w.mu.Unlock()
			for _, l := range w.said[account] {
				if strings.Contains(l.Message, want) {
					return true
				}
			}
			return false
		}
		for _, want := range [][2]string{
			{"alice", "sent: from <someone@outside.test> to <info@alice.example>"},
			{"alice", "sent: from <info@alice.example> to <friend@outside.test>"},
			{"alice", "refused: from <someone@outside.test> to <nobody@alice.example>: 550"},
			{"alice", "info@alice.example signed in by IMAP"},
			{"alice", "info@alice.example could not sign in by IMAP"},
			{"bob", "sent: from <info@alice.example> to <me@bob.example>"},
			{"alice", "refused: from <me@bob.example>"},
		} {
			testkit.Eventually(t, time.Minute, func() bool { return logged(want[0], want[1]) }, "the log of "+want[0]+" says "+want[1])
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		for _, l := range w.said["bob"] {
			if !strings.Contains(l.Message, "bob.example") {
				t.Errorf("bob reads %q", l.Message)
			}
		}
	})
}

// dial says something to a server of SMTP that greets, and answers what it says to the last line.
func dial(t *testing.T, address, line string) error {
	t.Helper()
	c, err := dialText(address)
	must(t, err)
	defer c.Close()
	for _, l := range []string{"", "EHLO x.test", line} {
		if l != "" {
			must(t, c.PrintfLine("%s", l))
		}
		_, message, err := c.ReadResponse(0)
		if l == line {
			return fmt.Errorf("%s", message)
		}
		must(t, err)
	}
	return nil
}

// signed verifies a letter's signature by the zone.
func (w *world) signed(data string, zone map[string]string, domain string) {
	w.t.Helper()
	found, err := dkim.VerifyWithOptions(strings.NewReader(data), &dkim.VerifyOptions{LookupTXT: func(name string) ([]string, error) {
		if record, ok := zone[name]; ok {
			return []string{record}, nil
		}
		return nil, fmt.Errorf("the zone has no %s", name)
	}})
	must(w.t, err)
	if len(found) != 1 || found[0].Err != nil || found[0].Domain != domain {
		w.t.Errorf("signatures %+v of\n%s", found, data)
	}
}

func TestQuotaIsHard(t *testing.T) {
	w := newWorld(t)
	w.set(alice, box("small@alice.example", func(m *panel.Mailbox) { m.QuotaMB = 1; m.Aliases = []string{"other@alice.example"}; m.CatchAll = true }))
	large := text("someone@outside.test", "small@alice.example", "large") + strings.Repeat(strings.Repeat("x", 70)+"\r\n", 1<<20/72+1000)
	must(t, w.comes("someone@outside.test", "small@alice.example", "fits"))
	w.has("small@alice.example", "fits")
	part := text("someone@outside.test", "small@alice.example", "half") + strings.Repeat(strings.Repeat("x", 70)+"\r\n", 13_000)
	must(t, w.comesWith("someone@outside.test", "small@alice.example", part))
	w.has("small@alice.example", "fits", "half")
	for _, to := range []string{"small@alice.example", "other@alice.example", "anybody@alice.example", "small+tag@alice.example"} {
		refused(t, w.comesSized("someone@outside.test", to, len(large)), "552")
	}
	c, err := w.login("small@alice.example", password)
	must(t, err)
	defer c.Close()
	add := c.Append("INBOX", int64(len(large)), nil)
	_, _ = add.Write([]byte(large))
	_ = add.Close()
	if _, err := add.Wait(); err == nil {
		t.Error("IMAP takes more than the quota")
	}
	w.set(alice, box("small@alice.example", func(m *panel.Mailbox) { m.QuotaMB = 5 }))
	must(t, w.comesSized("someone@outside.test", "small@alice.example", len(large)))
	refused(t, w.comes("someone@outside.test", "anybody@alice.example", "no catch-all any more"), "550")
}

func TestForwardsAliasesAndCatchAll(t *testing.T) {
	w := newWorld(t)
	forward := func(to string, keep bool) func(*panel.Mailbox) {
		return func(m *panel.Mailbox) { m.ForwardTo, m.KeepCopy = []string{to}, keep }
	}
	w.set(alice, box("info@alice.example", func(m *panel.Mailbox) { m.Aliases = []string{"sales@alice.example", "info@shop.example"} }))
	w.set(alice, box("rest@alice.example", func(m *panel.Mailbox) { m.CatchAll = true }))
	w.set(alice, box("away@alice.example", forward("away@outside.test", false)))
	w.set(alice, box("copy@alice.example", forward("copy@outside.test", true)))
	w.set(alice, box("over@alice.example", forward("me@bob.example", false)))
	w.set(alice, box("round@alice.example", forward("round@bob.example", false)))
	w.set(bob, box("round@bob.example", forward("round@alice.example", false)))
	w.set(bob, box("me@bob.example"))
	for _, to := range []string{
		"sales@alice.example", "INFO+x@Alice.example", "info@shop.example", "typo@alice.example", "away@alice.example",
		"copy@alice.example", "over@alice.example", "round@alice.example", "away+tag@alice.example",
	} {
		must(t, w.comes("someone@outside.test", to, "to "+to))
	}
	w.gets("away@outside.test", 2)
	w.gets("copy@outside.test", 1)
	w.has("copy@alice.example", "to copy@alice.example")
	w.has("me@bob.example", "to over@alice.example")
	w.has("rest@alice.example", "to typo@alice.example")
	w.has("round@alice.example", "to round@alice.example")
	testkit.Eventually(t, time.Minute, func() bool { return len(w.inbox("info@alice.example")) == 3 }, "three letters to aliases")
	for _, empty := range []string{"away@alice.example", "over@alice.example"} {
		if got := w.inbox(empty); len(got) != 0 {
			t.Errorf("%s has %q", empty, got)
		}
	}
	// Forwards to forwards end somewhere: who writes is told to wait, and the message leaves to nobody.
	for i := range 6 {
		w.set(alice, box(fmt.Sprintf("chain%d@alice.example", i), func(m *panel.Mailbox) {
			m.KeepCopy = true
			m.ForwardTo = []string{fmt.Sprintf("chain%d@alice.example", i+1)}
			for j := range panel.MaxMailForwards - 1 {
				m.ForwardTo = append(m.ForwardTo, fmt.Sprintf("chained%d-%d@outside.test", i, j))
			}
		}))
	}
	must(t, w.comes("someone@outside.test", "chain5@alice.example", "the end of the chain"))
	reached := func(address string) bool {
		w.out.mu.Lock()
		defer w.out.mu.Unlock()
		return slices.ContainsFunc(w.out.got, func(l letter) bool { return slices.Contains(l.to, address) })
	}
	testkit.Eventually(t, time.Minute, func() bool { return reached("chained5-0@outside.test") }, "the end of the chain forwards")
	refused(t, w.comes("someone@outside.test", "chain0@alice.example", "the whole chain"), "451")
	if reached("chained0-0@outside.test") {
		t.Error("a message of too many recipients left")
	}
	_, err := w.SetMailbox(t.Context(), alice, box("more@alice.example", func(m *panel.Mailbox) { m.CatchAll = true }))
	wantKind(t, err, panel.ErrExists)
	must(t, w.RemoveMailbox(t.Context(), alice, "rest@alice.example"))
	refused(t, w.comes("someone@outside.test", "typo@alice.example", "nobody's"), "550")
	if _, err := os.Stat(filepath.Join(w.cfg.Store, "alice", "alice.example", "rest")); err == nil {
		t.Error("the mail of the removed mailbox is there")
	}
}

// TestNobodyElseIsWrittenTo: what comes from another server never makes this one write to the sender, whom anybody can
// forge; and the machine's postmaster is there.
func TestNobodyElseIsWrittenTo(t *testing.T) {
	w := newWorld(t)
	w.set(alice, box("info@alice.example"))
	w.set(alice, box("away@alice.example", func(m *panel.Mailbox) { m.ForwardTo = []string{"refused@outside.test"} }))
	deliver := func(rcpt string) error {
		c, err := dialText(w.cfg.SMTP)
		must(t, err)
		defer c.Close()
		expect := []int{220, 250, 250, 250, 354, 250}
		for i, line := range []string{"", "EHLO outside.test", "MAIL FROM:<forged@outside.test> RET=FULL", "RCPT " + rcpt, "DATA", text("forged@outside.test", "x@alice.example", "x") + "."} {
			if i > 0 {
				must(t, c.PrintfLine("%s", line))
			}
			if _, _, err := c.ReadResponse(expect[i]); err != nil {
				return err
			}
		}
		return nil
	}
	for _, rcpt := range []string{
		"TO:<info@alice.example> NOTIFY=SUCCESS,FAILURE,DELAY ORCPT=rfc822;info@alice.example", "to:<info@alice.example> notify=success",
		"TO:<away@alice.example>", "TO:<away@alice.example> NOTIFY=FAILURE", "TO: <away@alice.example> ORCPT=rfc822;x@y NOTIFY=SUCCESS",
		"TO:<postmaster>", "TO:<Postmaster@mx.stead.test>", "TO:<postmaster@alice.example>",
	} {
		if err := deliver(rcpt); err != nil {
			t.Errorf("%s: %v", rcpt, err)
		}
	}
	refused(t, deliver("TO:<info@alice.example> NOTIFY=SUCCESS NOTIFY=FAILURE"), "501")
	refused(t, deliver("TO:<other@mx.stead.test>"), "550")
	w.gets("operator@outside.test", 3)
	// Postfix makes a bounce before it removes the message that it is for.
	testkit.Eventually(t, time.Minute, func() bool {
		log, err := os.ReadFile(w.cfg.logFile("postfix"))
		must(t, err)
		waiting, err := w.Queued()
		must(t, err)
		return strings.Count(string(log), "status=bounced") == 3 && waiting == 0
	}, "all is delivered or given up")
	w.has("info@alice.example", "x", "x")
	if got := w.out.to("forged@outside.test"); len(got) != 0 {
		t.Errorf("who is named as the sender gets %d letters: %+v", len(got), got)
	}
	// A customer is told.
	must(t, w.sends("info@alice.example", password, "info@alice.example", "refused@outside.test", text("info@alice.example", "refused@outside.test", "to nobody")))
	w.has("info@alice.example", "x", "x", "Undelivered Mail Returned to Sender")
}

func TestAutoresponderAnswersOnceWithinItsDates(t *testing.T) {
	w := newWorld(t)
	now := time.Now()
	auto := func(from, to time.Time) func(*panel.Mailbox) {
		return func(m *panel.Mailbox) {
			m.Autoresponder = panel.Autoresponder{Enabled: true, Subject: `Away "until" Monday \ ü`, Body: "I am away.\n.\n\"quoted\" \\ text ${x}", StartsAt: from, EndsAt: to}
		}
	}
	w.set(alice, box("now@alice.example", auto(now.Add(-time.Hour), now.Add(time.Hour)), func(m *panel.Mailbox) { m.Aliases = []string{"alias@alice.example"} }))
	w.set(alice, box("past@alice.example", auto(now.Add(-2*time.Hour), now.Add(-time.Hour))))
	w.set(alice, box("future@alice.example", auto(now.Add(time.Hour), time.Time{})))
	for _, to := range []string{"past@alice.example", "future@alice.example", "now@alice.example"} {
		must(t, w.comes("writer@outside.test", to, "hello"))
	}
	w.gets("writer@outside.test", 1) // letters that come at once are delivered in any order
	for _, to := range []string{"now@alice.example", "alias@alice.example"} {
		must(t, w.comes("writer@outside.test", to, "hello"))
	}
	testkit.Eventually(t, time.Minute, func() bool { return len(w.inbox("now@alice.example")) == 3 }, "all letters are there")
	w.has("past@alice.example", "hello")
	w.has("future@alice.example", "hello")
	w.gets("writer@outside.test", 1)
	must(t, w.comes("second@outside.test", "now@alice.example", "hello")) // a further writer's answer comes after all of those
	w.gets("second@outside.test", 1)
	got := w.out.to("writer@outside.test")
	if len(got) != 1 {
		t.Fatalf("%d answers, want 1: %q", len(got), got)
	}
	answer := got[0]
	for _, want := range []string{"I am away.", `"quoted" \ text ${x}`, "Auto-Submitted: auto-replied", "From: <now@alice.example>", "DKIM-Signature:", "d=alice.example"} {
		if !strings.Contains(answer.data, want) {
			t.Errorf("the answer has no %q:\n%s", want, answer.data)
		}
	}
	if answer.from != "now@alice.example" {
		t.Errorf("the answer is from <%s>", answer.from)
	}
}

// TestWhoForwardsAnswersToo: mail that goes on to a colleague is answered as well, and not kept for that.
func TestWhoForwardsAnswersToo(t *testing.T) {
	w := newWorld(t)
	away := func(to string) func(*panel.Mailbox) {
		return func(m *panel.Mailbox) {
			m.ForwardTo, m.Autoresponder = []string{to}, panel.Autoresponder{Enabled: true, Body: "I am away."}
		}
	}
	w.set(alice, box("away@alice.example", away("me@bob.example")))
	w.set(alice, box("round@alice.example", away("round@bob.example")))
	w.set(bob, box("me@bob.example"))
	w.set(bob, box("round@bob.example", away("round@alice.example")))
	must(t, w.comes("writer@outside.test", "away@alice.example", "hello"))
	w.gets("writer@outside.test", 1)
	w.has("me@bob.example", "hello")
	must(t, w.comes("second@outside.test", "round@alice.example", "in a circle"))
	w.gets("second@outside.test", 1)
	w.has("round@alice.example", "in a circle")
	if got := w.inbox("away@alice.example"); len(got) != 0 {
		t.Errorf("kept: %q", got)
	}
}

func TestSuspension(t *testing.T) {
	w := newWorld(t)
	w.set(alice, box("info@alice.example"))
	w.set(alice, box("other@alice.example", func(m *panel.Mailbox) { m.CatchAll = true }))
	session, err := w.login("info@alice.example", password)
	must(t, err)
	defer session.Close()
	closed := func(address string) {
		t.Helper()
		refused(t, w.comes("someone@outside.test", address, "put off"), "450")
		if _, err := w.login(address, password); err == nil {
			t.Errorf("%s signs in", address)
		}
		refused(t, w.sends(address, password, address, "friend@outside.test", ""), "535")
	}
	w.set(alice, box("info@alice.example", func(m *panel.Mailbox) { m.Suspended = true }))
	closed("info@alice.example")
	if err := session.Noop().Wait(); err == nil {
		t.Error("a session goes on")
	}
	must(t, w.comes("someone@outside.test", "other@alice.example", "not suspended"))
	w.has("other@alice.example", "not suspended")

	w.change(alice, func(a *accounts.Account) { a.Suspended = true })
	closed("other@alice.example")
	refused(t, w.comes("someone@outside.test", "anybody@alice.example", "put off"), "450")
	_, err = w.SetMailbox(t.Context(), alice, box("new@alice.example"))
	wantKind(t, err, panel.ErrSuspended)
	w.change(alice, func(a *accounts.Account) { a.Suspended = false })
	w.has("other@alice.example", "not suspended")

	// A domain that leaves the account takes its mail along, and the key is nobody's any more.
	before, err := w.MailDomains(t.Context(), alice)
	must(t, err)
	w.change(alice, func(a *accounts.Account) { a.Domains = []accounts.Domain{{Name: "shop.example"}} })
	testkit.Eventually(t, time.Minute, func() bool {
		err := w.comes("someone@outside.test", "info@alice.example", "gone")
		return err != nil && strings.HasPrefix(err.Error(), "554")
	}, "mail for the domain is refused")
	w.change(bob, func(a *accounts.Account) { a.Domains = append(a.Domains, accounts.Domain{Name: "alice.example"}) })
	w.set(bob, box("info@alice.example"))
	if got := w.inbox("info@alice.example"); len(got) != 0 {
		t.Errorf("the next owner reads %q", got)
	}
	after, err := w.MailDomains(t.Context(), bob)
	must(t, err)
	if len(after) != 1 || after[0].DKIMPublicKey == before[0].DKIMPublicKey || after[0].DKIMSelector == before[0].DKIMSelector {
		t.Errorf("keys %+v, before %+v", after, before)
	}
	must(t, w.Remove(t.Context(), w.here[alice]))
	must(t, w.Remove(t.Context(), w.here[alice]))
	for _, trace := range []string{filepath.Join(w.cfg.Store, "alice"), filepath.Join(w.cfg.Dir, "submit", "61001"), filepath.Join(w.cfg.Dir, "accounts", "alice.json")} {
		if _, err := os.Stat(trace); err == nil {
			t.Errorf("%s is there", trace)
		}
	}
}

// TestMoreThanAHundredSessions: mail programs keep theirs for hours, and strangers can, too.
func TestMoreThanAHundredSessions(t *testing.T) {
	w := newWorld(t)
	w.set(alice, box("info@alice.example"))
	for _, address := range []string{w.cfg.IMAPS, w.cfg.POP3S} {
		for range 120 {
			c, err := tls.Dial("tcp", address, &tls.Config{InsecureSkipVerify: true})
			must(t, err)
			defer c.Close()
			must(t, c.SetReadDeadline(time.Now().Add(time.Minute)))
			_, err = c.Read(make([]byte, 100)) // the greeting
			must(t, err)
		}
	}
	c, err := w.login("info@alice.example", password)
	must(t, err)
	must(t, c.Close())
	log, err := os.ReadFile(w.cfg.logFile("dovecot"))
	must(t, err)
	if strings.Contains(string(log), "lower than required") {
		t.Errorf("bounds that do not fit:\n%s", tail(string(log), 4000))
	}
}

func TestMailGoesOnWithoutTheAgent(t *testing.T) {
	w := newWorld(t)
	w.set(alice, box("info@alice.example", func(m *panel.Mailbox) {
		m.SendLimitPerHour, m.Autoresponder = 2, panel.Autoresponder{Enabled: true, Body: "away"}
	}))
	must(t, w.Close())
	must(t, w.sup.Close()) // nobody looks after the daemons now
	pids := map[string]int{}
	for _, s := range w.specs() {
		pids[s.Name] = w.sup.PID(s.Name)
	}
	must(t, w.comes("writer@outside.test", "info@alice.example", "while away"))
	w.has("info@alice.example", "while away")
	w.gets("writer@outside.test", 1)
	must(t, w.sends("info@alice.example", password, "info@alice.example", "friend@outside.test", text("info@alice.example", "friend@outside.test", "out")))
	if data := w.gets("friend@outside.test", 1)[0].data; !strings.Contains(data, "DKIM-Signature") {
		t.Errorf("it is not signed:\n%s", data)
	}
	must(t, w.sends("info@alice.example", password, "info@alice.example", "friend@outside.test", text("info@alice.example", "friend@outside.test", "out")))
	refused(t, w.sends("info@alice.example", password, "info@alice.example", "friend@outside.test", text("info@alice.example", "friend@outside.test", "out")), "450")

	w.reopen()
	for name, pid := range pids {
		if got := w.sup.PID(name); got != pid || pid == 0 {
			t.Errorf("%s is process %d, was %d", name, got, pid)
		}
	}
	testkit.Eventually(t, time.Minute, func() bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		for _, l := range w.said["alice"] {
			if strings.Contains(l.Message, "to <info@alice.example>") {
				return true
			}
		}
		return false
	}, "what happened meanwhile is in the log")
	w.set(alice, box("new@alice.example"))
	must(t, w.comes("writer@outside.test", "new@alice.example", "to the new one"))
	w.has("new@alice.example", "to the new one")

	// What somebody did to the tables is put right.
	must(t, os.WriteFile(w.cfg.table("other"), []byte("no database"), 0o640))
	must(t, os.Rename(w.cfg.table("other"), w.cfg.dovecotDatabase()))
	must(t, os.Remove(w.cfg.postfixDatabase()))
	must(t, os.Remove(filepath.Join(w.cfg.loginsDir(), stateName("alice"))))
	w.verified = time.Time{}
	must(t, w.Apply(t.Context(), w.here[alice]))
	must(t, w.comes("writer@outside.test", "new@alice.example", "after the repair"))
	w.has("new@alice.example", "to the new one", "after the repair")
}
