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
		s.publish = func(context.Context) error { return errors.New("no reload") }
		if err := do(); err == nil {
			t.Error("it did not fail")
		}
		s.publish = func(context.Context) error { return nil }
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
