package mail

import (
	"fmt"
	"net/http"
	"net/smtp"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"stead.dev/stead/internal/platform/testkit"
)

func TestGuessesWaitForEachOther(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	g := newGuesses(func() time.Time { return now })
	const attacker, home, box = "203.0.113.5", "198.51.100.7", "info@alice.example"
	if wait, no := g.wait(home, box); no || wait != 0 {
		t.Errorf("the first attempt waits %v, refused %v", wait, no)
	}
	g.right(home, box)
	// guess makes many attempts at once, and returns how many are answered within half a minute.
	guess := func(n int, remote func(i int) string, login func(i int) string) (answered int) {
		for i := range n {
			if wait, no := g.wait(remote(i), login(i)); !no {
				if wait <= 30*time.Second {
					answered++
				}
			}
		}
		return answered
	}
	one := func(s string) func(int) string { return func(int) string { return s } }
	if got := guess(61, one(attacker), one(box)); got > 16 {
		t.Errorf("an address makes %d guesses at once", got)
	}
	if _, no := g.wait(attacker, "other@alice.example"); !no {
		t.Error("the address goes on with another mailbox")
	}
	if got := guess(61, func(i int) string { return fmt.Sprintf("192.0.2.%d", i) }, one("me@bob.example")); got > 16 {
		t.Errorf("61 addresses make %d guesses of one mailbox", got)
	}
	if got := guess(61, func(i int) string { return fmt.Sprintf("2001:db8:1:1::%d", i) }, func(i int) string { return fmt.Sprint(i, "@x.example") }); got > 16 {
		t.Errorf("a network of IPv6 makes %d guesses", got)
	}
	if wait, no := g.wait(home, strings.ToUpper(box)); no || wait != 0 {
		t.Errorf("the owner waits %v, refused %v, where they have signed in before", wait, no)
	}
	if wait, no := g.wait("198.51.100.9", "someone@else.example"); no || wait != 0 {
		t.Errorf("somebody else waits %v, refused %v", wait, no)
	}
	// Also where somebody is known, guesses wait.
	if got := guess(61, one(home), one(box)); got > 16 {
		t.Errorf("from an address that is known come %d guesses", got)
	}
	// Programs of all accounts come from the loopback: none of them waits for wrong passwords, of whomever. People do there too.
	for _, loopback := range []string{"127.0.0.1", "::1", "::ffff:127.0.0.1"} {
		if got := guess(61, one(loopback), one("alice")); got != 61 {
			t.Errorf("a program makes %d attempts from %s", got, loopback)
		}
		if got := guess(61, one(loopback), one("me@carol.example")); got > 16 {
			t.Errorf("from %s come %d guesses of a mailbox", loopback, got)
		}
	}
	if got := guess(61, one("192.0.2.250"), one("alice")); got > 16 {
		t.Errorf("from outside come %d guesses of a program's secret", got)
	}
	now = now.Add(guessMemory + time.Minute)
	if wait, no := g.wait(attacker, box); no || wait != 0 {
		t.Errorf("after an hour it waits %v, refused %v", wait, no)
	}
}

func TestDovecotAsksBeforeASignIn(t *testing.T) {
	w := newWorldWith(t, func(c *Config) { c.Signin = testkit.Address(t) })
	w.set(alice, box("info@alice.example"))
	w.has("info@alice.example")
	const guesses = 13
	started := time.Now()
	refused := make(chan string, guesses)
	for range guesses {
		go func() {
			c, err := w.login("nobody@alice.example", "wrong")
			if err == nil {
				_ = c.Close()
				refused <- "signed in"
				return
			}
			refused <- err.Error()
		}()
	}
	for range guesses {
		if got := <-refused; got == "signed in" {
			t.Error(got)
		}
	}
	if took := time.Since(started); took < 6*time.Second { // 1 s, then 2 s and 4 s more
		t.Errorf("%d guesses at once are answered within %v", guesses, took)
	}
	// The address has to wait now, whoever it wants to be, but for the mailbox that knows it.
	started = time.Now()
	w.has("info@alice.example")
	if took := time.Since(started); took > 10*time.Second {
		t.Errorf("who has signed in here before waits %v", took)
	}
	// Everybody on the machine reaches the port, and nobody but Dovecot is answered.
	res, err := http.Post("http://"+w.cfg.Signin+"/?command=report", "application/json", strings.NewReader(`{"login":"info@alice.example","remote":"192.0.2.1","success":true}`))
	must(t, err)
	defer res.Body.Close()
	if res.StatusCode != http.StatusForbidden {
		t.Errorf("a stranger is answered %s", res.Status)
	}
	if info, err := os.Stat(w.cfg.dovecotSigninFile()); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the secret: %v %v", info, err)
	}
}

// TestNoNeighbourStopsAnAccountsMail by wrong passwords, neither for its login nor from the address that all programs share.
func TestNoNeighbourStopsAnAccountsMail(t *testing.T) {
	w := newWorldWith(t, func(c *Config) { c.Signin, c.hasty = testkit.Address(t), false })
	var group sync.WaitGroup
	for i := range 40 {
		group.Go(func() {
			c, err := smtp.Dial(w.cfg.Submit)
			if err != nil {
				t.Error(err)
				return
			}
			defer c.Close()
			if err := c.Auth(smtp.PlainAuth("", "alice", fmt.Sprint("guess ", i), "127.0.0.1")); err == nil {
				t.Error("signed in")
			}
		})
	}
	group.Wait()
	started := time.Now()
	must(t, w.sendmail(61001, "From: info@alice.example\nTo: one@outside.test\nSubject: form\n\nx", "-t"))
	if took := time.Since(started); took > 8*time.Second {
		t.Errorf("a program waits %v", took)
	}
}
