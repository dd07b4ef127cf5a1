package node

import (
	"context"
	"errors"
	"log/slog"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"stead.dev/stead/internal/node/accounts"
	"stead.dev/stead/internal/node/certificates"
	"stead.dev/stead/internal/node/facility"
	"stead.dev/stead/internal/platform/certificate"
	"stead.dev/stead/internal/port/panel"
)

// slow is a facility whose Apply waits while gate is set. The node's own round may call it, too.
type slow struct {
	gate    atomic.Pointer[chan struct{}]
	waiting chan struct{}
}

func (*slow) Capability() panel.Capability                   { return "slow" }
func (*slow) Remove(context.Context, accounts.Account) error { return nil }
func (s *slow) Apply(context.Context, accounts.Account) error {
	if gate := s.gate.Load(); gate != nil {
		s.waiting <- struct{}{}
		<-*gate
	}
	return nil
}

// A certificate that is set while its account is being removed waits for the end, and not each for the other.
func TestACertificateIsSetWhileItsAccountEnds(t *testing.T) {
	dir, s := t.TempDir(), &slow{waiting: make(chan struct{}, 10)}
	n, err := New(t.Context(), Config{
		Dir: dir, Log: slog.New(slog.DiscardHandler), Now: time.Now,
		Facilities: func(n *Node) ([]facility.Facility, error) {
			keeper, err := certificates.Open(dir, n.Lookup, time.Now)
			return []facility.Facility{keeper, s}, err
		},
	})
	must(t, err)
	defer n.Close()
	create(t, n, "1", "shop.example")
	bundle, err := certificate.SelfSign("shop.example", []string{"shop.example"}, time.Now(), time.Hour)
	must(t, err)
	key, err := bundle.KeyPEM()
	must(t, err)

	gate := make(chan struct{})
	s.gate.Store(&gate)
	applied, ended, set := make(chan error, 1), make(chan error, 1), make(chan error, 1)
	go func() { applied <- n.apply(t.Context(), "1") }()
	<-s.waiting
	go func() { ended <- n.DeleteAccount(t.Context(), "1") }()
	until(t, "the end waits", func() bool { return waits("(*Node).end(") })
	go func() {
		_, err := n.certificates.SetCertificate(t.Context(), "1",
			panel.Certificate{Name: "c1", Chain: bundle.ChainPEM(), Key: key, Domains: []string{"shop.example"}})
		set <- err
	}()
	until(t, "the change waits", func() bool { return waits("(*Driver).set(") })
	s.gate.Store(nil)
	close(gate)
	must(t, <-applied)
	until(t, "the account ends", func() bool {
		select {
		case err := <-ended:
			must(t, err)
			return true
		default:
			return false
		}
	})
	if err := <-set; !errors.Is(err, panel.ErrNotFound) {
		t.Errorf("set for an account that has ended: %v", err)
	}
	if _, err := n.certificates.InstalledCertificates(t.Context(), "1"); !errors.Is(err, panel.ErrNotFound) {
		t.Errorf("listed: %v", err)
	}
}

// waits reports whether a goroutine in the function waits for a lock of a key.
func waits(function string) bool {
	stacks := make([]byte, 1<<20)
	for stack := range strings.SplitSeq(string(stacks[:runtime.Stack(stacks, true)]), "\n\n") {
		if strings.Contains(stack, function) && strings.Contains(stack, "keylock.(*Locks).Lock(") {
			return true
		}
	}
	return false
}
