package mail

import (
	"fmt"
	"testing"

	"stead.dev/stead/internal/port/panel"
)

// Mailboxes that forward to each other multiply no message: a stranger's one would leave as thousands, above every hourly limit.
func TestChainedForwardsReachNoMoreAddressesThanOneMailboxMay(t *testing.T) {
	s := state{Domains: []string{"chain.example"}}
	const boxes = 10
	for i := range boxes {
		m := panel.Mailbox{Address: fmt.Sprintf("m%d@chain.example", i)}
		for j := range panel.MaxMailForwards - 1 {
			m.ForwardTo = append(m.ForwardTo, fmt.Sprintf("out%d-%d@elsewhere.example", i, j))
		}
		if i+1 < boxes {
			m.ForwardTo = append(m.ForwardTo, fmt.Sprintf("m%d@chain.example", i+1))
		} else {
			m.KeepCopy = true
		}
		s.Boxes = append(s.Boxes, m)
	}
	r := newRoutes()
	r.set("alice", s)
	ends, passed := r.ends(s.Boxes[0])
	if len(passed) != boxes || !ends["m9@chain.example"] {
		t.Errorf("the chain is not followed to its end: %d mailboxes", len(passed))
	}
	if len(ends) != panel.MaxMailForwards+1 || !ends["out0-0@elsewhere.example"] || ends["out9-0@elsewhere.example"] {
		t.Errorf("mail of one mailbox goes to %d addresses", len(ends))
	}
}
