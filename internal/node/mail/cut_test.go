package mail

import (
	"crypto/tls"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"stead.dev/stead/internal/platform/testkit"
)

// An agent is killed, and then the power is lost: what either left half done keeps no mail server from its work.
func TestWhatWasCutShortIsDoneByTheNextAgent(t *testing.T) {
	w := newWorld(t)
	w.set(alice, box("info@alice.example"))
	w.set(bob, box("info@bob.example"))

	// The directory of an account was made and not given away.
	must(t, os.Chown(filepath.Join(w.cfg.Store, "bob"), 0, 0))
	// Another configuration was written and not read.
	w.cfg.Hostname = "mx2.stead.test"
	killed := &Driver{book: w.book, cfg: w.cfg, ids: w.ids}
	must(t, killed.configure(t.Context()))
	// Dovecot's process id is another's by now.
	must(t, w.Close())
	must(t, w.sup.Stop(t.Context(), daemonDovecot))
	must(t, w.sup.Close())
	must(t, os.WriteFile(filepath.Join(w.cfg.Dir, "run", "master.pid"), []byte(strconv.Itoa(os.Getpid())+"\n"), 0o600))

	w.reopen()
	greeting := ""
	testkit.Eventually(t, time.Minute, func() bool {
		c, err := dialText(w.cfg.SMTP)
		if err != nil {
			return false
		}
		defer c.Close()
		greeting, err = c.ReadLine()
		return err == nil && strings.Contains(greeting, "mx2.stead.test")
	}, "Postfix has the configuration that was written")
	must(t, w.comes("writer@outside.test", "info@bob.example", "after all"))
	w.has("info@bob.example", "after all")
	if w.unread().Noted() {
		t.Error("the daemons are said not to have read what they read")
	}
}

// An operator's certificate is renewed by a program that writes one file after the other.
func TestACertificateWithAnothersKeyIsNotUsed(t *testing.T) {
	w := newWorld(t)
	w.set(alice, box("info@alice.example"))
	shown := func() string {
		t.Helper()
		c, err := tls.Dial("tcp", w.cfg.IMAPS, &tls.Config{InsecureSkipVerify: true})
		if err != nil {
			return err.Error()
		}
		defer c.Close()
		return c.ConnectionState().PeerCertificates[0].SerialNumber.String()
	}
	first := shown()
	chain, key, err := selfSigned(w.cfg.Hostname, time.Now())
	must(t, err)
	_, former, err := selfSigned(w.cfg.Hostname, time.Now())
	must(t, err)
	pair, err := tls.X509KeyPair(chain, key)
	must(t, err)

	w.given.Store(&[2][]byte{chain, former})
	w.verified = time.Time{}
	must(t, w.Apply(t.Context(), w.here[alice]))
	if got := shown(); got != first {
		t.Errorf("shown: %s, want the former one", got)
	}
	w.given.Store(&[2][]byte{chain, key})
	w.verified = time.Time{}
	must(t, w.Apply(t.Context(), w.here[alice]))
	testkit.Eventually(t, time.Minute, func() bool { return shown() == pair.Leaf.SerialNumber.String() }, "the new one is shown")
}

// A log that was put aside is read to its end, also when the agent was killed before it asked for another.
func TestALogThatWasPutAsideLosesNoLine(t *testing.T) {
	w := newWorld(t)
	w.set(alice, box("info@alice.example"))
	told := func(subject string) func() bool {
		return func() bool {
			w.mu.Lock()
			defer w.mu.Unlock()
			for _, l := range w.said["alice"] {
				if strings.Contains(l.Message, subject) {
					return true
				}
			}
			return false
		}
	}
	line := func(name, to string) {
		t.Helper()
		f, err := os.OpenFile(name, os.O_WRONLY|os.O_APPEND, 0)
		must(t, err)
		_, err = fmt.Fprintf(f, "\n%s mx postfix/lmtp[7]: 4XyZ%06dzA: to=<%s@alice.example>, relay=x[x], delay=1, delays=1/0/0/0, dsn=2.0.0, status=sent (250 2.0.0 kept)\n",
			time.Now().Format("Jan _2 15:04:05"), 7, to)
		must(t, err)
		must(t, f.Close())
	}
	log := w.cfg.logFile("postfix")
	fill := func() int64 {
		t.Helper()
		must(t, os.Truncate(log, rotateAfter)) // nothing but a hole
		line(log, "filled")
		info, err := os.Stat(log)
		must(t, err)
		return info.Size()
	}

	// As it should be.
	must(t, w.comes("writer@outside.test", "info@alice.example", "one"))
	testkit.Eventually(t, time.Minute, told("to <info@alice.example>"), "what came is told")
	fill()
	testkit.Eventually(t, time.Minute, told("filled@"), "the last line of the full log is told")
	w.set(alice, box("next@alice.example"))
	must(t, w.comes("writer@outside.test", "next@alice.example", "next"))
	testkit.Eventually(t, time.Minute, told("to <next@alice.example>"), "what comes to the next log is told")
	if info, err := os.Stat(log); err != nil || info.Size() >= rotateAfter {
		t.Errorf("there is no other log: %v", err)
	}

	// The agent is killed when it has put the log aside; mail goes on.
	must(t, w.Close())
	at := fill()
	places, err := json.Marshal(map[string]int64{"postfix": at})
	must(t, err)
	must(t, os.WriteFile(filepath.Join(w.cfg.Dir, "state", logPlaces), places, 0o600))
	must(t, os.Rename(log, log+aside))
	line(log+aside, "meanwhile")
	must(t, w.sup.Close())
	w.reopen()
	testkit.Eventually(t, time.Minute, told("meanwhile@"), "what came without an agent is told")
	w.set(alice, box("later@alice.example"))
	must(t, w.comes("writer@outside.test", "later@alice.example", "two"))
	testkit.Eventually(t, time.Minute, told("to <later@alice.example>"), "what came after is told")
	if info, err := os.Stat(log); err != nil || info.Size() >= rotateAfter {
		t.Errorf("Postfix goes on with the log that was put aside: %v", err)
	}
}

func TestRecipientsMayHaveNamesOfAnyCharacterSet(t *testing.T) {
	job := sendmail{fromHeader: true}
	message := "To: =?windows-1251?B?yOLg7Q==?= <one@outside.test>, =?koi8-r?Q?=C9?= <two@outside.test>, Три <three@outside.test>\n" +
		"Cc: \"=?ISO-2022-JP?B?GyRCOzNFRBsoQg==?=\" <four@outside.test>\nSubject: x\n\nx\n"
	if _, err := job.prepare([]byte(message)); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(job.recipients, " "); got != "one@outside.test two@outside.test three@outside.test four@outside.test" {
		t.Error(got)
	}
}
