package mail

import (
	"testing"
	"time"

	"stead.dev/stead/internal/node/accounts"
	"stead.dev/stead/internal/platform/testkit"
	"stead.dev/stead/internal/port/panel"
)

// TestMailOfAnAccountThatHasLeft goes to the machine that has it: what was in the queue, what is still sent here, and what others on
// this machine write. What that machine does not take is refused for now, so that its senders ask the DNS again.
func TestMailOfAnAccountThatHasLeft(t *testing.T) {
	dns := &zone{mx: map[string][]string{"led.example": {"mx.outside.test"}}, a: map[string][]string{"mx.outside.test": {"198.51.100.1"}}}
	w := newWorldWith(t, func(c *Config) { c.Resolver = dns })
	w.change(alice, func(a *accounts.Account) { a.Domains = append(a.Domains, accounts.Domain{Name: "led.example"}) })
	w.set(alice, box("anna@alice.example", func(m *panel.Mailbox) { m.ForwardTo, m.KeepCopy = []string{"far@outside.test"}, true }))
	w.set(alice, box("anna@led.example"))
	w.set(bob, box("me@bob.example"))
	must(t, w.comes("someone@outside.test", "anna@alice.example", "at home"))
	w.has("anna@alice.example", "at home")
	w.gets("far@outside.test", 1)

	// A letter was accepted and could not be delivered when the move began.
	must(t, w.sup.Stop(t.Context(), daemonDovecot))
	must(t, w.comes("someone@outside.test", "anna@alice.example", "deferred"))
	queue := func(n int64) {
		t.Helper()
		testkit.Eventually(t, time.Minute, func() bool {
			queued, err := w.Queued()
			must(t, err)
			return queued == n
		}, "the queue has what it should")
	}
	w.gets("far@outside.test", 2)
	queue(1)
	for _, spec := range w.specs() { // Dovecot runs again
		must(t, w.sup.Ensure(t.Context(), spec))
	}
	w.change(alice, func(a *accounts.Account) { a.Suspended, a.Held = true, &accounts.Held{Move: 1} })
	flush := func() { must(t, run(t.Context(), nil, "/usr/sbin/postqueue", "-c", w.conf("postfix"), "-f")) }
	flush()
	refused(t, w.comes("someone@outside.test", "anna@alice.example", "while it is held"), "450")
	queue(1)

	leave := func(a *accounts.Account) {
		a.Left, a.Held, a.Forward = 1, nil, panel.Forward{HTTP: "127.0.0.1:80", Mail: "127.0.0.1:" + w.out.port}
	}
	w.change(alice, leave)
	w.change(alice, leave) // told twice
	// A letter that is being tried at that moment is not among those that are flushed.
	testkit.Eventually(t, time.Minute, func() bool {
		flush()
		return len(w.out.to("anna@alice.example")) == 1
	}, "the letter that waited goes to the other machine")
	queue(0)
	must(t, w.comes("someone@outside.test", "anna@alice.example", "after it has left"))
	w.gets("anna@alice.example", 2)
	must(t, w.comes("someone@outside.test", "new@alice.example", "for a mailbox that is newer"))
	w.gets("new@alice.example", 1)
	refused(t, w.comes("someone@outside.test", "refused@alice.example", "for nobody there"), "450")
	must(t, w.comes("someone@outside.test", "anna@led.example", "for a domain that is led elsewhere"))
	w.gets("anna@led.example", 1)
	must(t, w.sends("me@bob.example", password, "me@bob.example", "anna@alice.example", text("me@bob.example", "anna@alice.example", "from a neighbour")))
	w.gets("anna@alice.example", 3)
	if got := len(w.out.to("far@outside.test")); got != 2 {
		t.Errorf("this machine forwarded %d letters, and 1 is the other machine's to forward", got)
	}
	refused(t, w.sends("anna@alice.example", password, "anna@alice.example", "me@bob.example", text("anna@alice.example", "me@bob.example", "x")), "535")
	queue(0)

	// It comes back.
	w.change(alice, func(a *accounts.Account) { a.Left, a.Forward, a.Suspended = 0, panel.Forward{}, false })
	must(t, w.comes("someone@outside.test", "anna@alice.example", "at home again"))
	w.has("anna@alice.example", "at home", "at home again")
}
