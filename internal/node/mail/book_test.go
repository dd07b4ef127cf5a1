package mail

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"stead.dev/stead/internal/node/accounts"
)

// TestSessionsEndThoughItIsInterrupted: a change that the daemons did not hear of at first ends the sessions of
// those who may no longer have them when it is made again.
func TestSessionsEndThoughItIsInterrupted(t *testing.T) {
	a := accounts.Account{Record: accounts.Record{Ref: "1", Name: "alice", Domains: []accounts.Domain{{Name: "alice.example"}}}}
	s, err := OpenSimulated(t.TempDir(), func(string) (accounts.Account, error) { return a, nil })
	must(t, err)
	var ended []string
	s.shut = func(_ context.Context, addresses ...string) error {
		ended = append(ended, addresses...)
		return nil
	}
	fail := func(do func() error) {
		t.Helper()
		s.publish = func(context.Context, string) error { return errors.New("no reload") }
		if err := do(); err == nil {
			t.Error("it did not fail")
		}
		s.publish = func(context.Context, string) error { return nil }
		ended = nil
		must(t, do())
		if !slices.Equal(ended, []string{"info@alice.example"}) {
			t.Errorf("ended: %v", ended)
		}
		ended = nil
		must(t, do())
		if len(ended) != 0 {
			t.Errorf("once more: %v", ended)
		}
	}
	m := box("info@alice.example")
	_, err = s.SetMailbox(t.Context(), "1", m)
	must(t, err)
	m.PasswordHash = strings.Replace(m.PasswordHash, m.PasswordHash[len(m.PasswordHash)-4:], "0000", 1)
	fail(func() error {
		_, err := s.SetMailbox(t.Context(), "1", m)
		return err
	})
	a.Suspended = true
	fail(func() error { return s.Apply(t.Context(), a) })
}

// TestADomainThatComesBackSignsAgain: its mailboxes are there still, and its mail needs a key in the DNS as before.
func TestADomainThatComesBackSignsAgain(t *testing.T) {
	domains := []accounts.Domain{{Name: "alice.example"}, {Name: "shop.example"}}
	a := accounts.Account{Record: accounts.Record{Ref: "1", Name: "alice", Domains: domains}}
	s, err := OpenSimulated(t.TempDir(), func(string) (accounts.Account, error) { return a, nil })
	must(t, err)
	_, err = s.SetMailbox(t.Context(), "1", box("info@shop.example"))
	must(t, err)
	before, err := s.MailDomains(t.Context(), "1")
	must(t, err)
	a.Domains = domains[:1]
	must(t, s.Apply(t.Context(), a))
	a.Domains = domains
	must(t, s.Apply(t.Context(), a))
	after, err := s.MailDomains(t.Context(), "1")
	must(t, err)
	if len(after) != 1 || after[0].DKIMSelector == "" || after[0].DKIMPublicKey == before[0].DKIMPublicKey {
		t.Errorf("keys %+v, before %+v", after, before)
	}
	must(t, s.Apply(t.Context(), a))
	if again, err := s.MailDomains(t.Context(), "1"); err != nil || again[0] != after[0] {
		t.Errorf("another key: %+v, %v", again, err)
	}
}
