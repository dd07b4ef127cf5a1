package switches_test

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"time"

	"stead.dev/stead/internal/platform/api"
	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/signal"
	"stead.dev/stead/internal/platform/switches"
	"stead.dev/stead/internal/platform/testkit"
)

func load(t *testing.T, d *db.DB, clk clock.Clock) (*switches.Switches, *signal.Hub) {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	hub := signal.NewHub(d, clk, log)
	s, err := switches.Load(t.Context(), d, hub, log)
	if err != nil {
		t.Fatal(err)
	}
	return s, hub
}

func set(t *testing.T, d *db.DB, s *switches.Switches, section api.Section, on bool, fail error) {
	t.Helper()
	err := d.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
		return errors.Join(s.Set(ctx, tx, section, on), fail)
	})
	if !errors.Is(err, fail) {
		t.Fatal(err)
	}
}

func TestASectionIsOnUntilSwitchedOff(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		s, _ := load(t, d, clk)
		if !s.Enabled(api.Orders) || !s.Enabled("one of a later version") {
			t.Error("a section is off although nobody switched it off")
		}
		set(t, d, s, api.Orders, false, errors.New("rolled back"))
		if !s.Enabled(api.Orders) {
			t.Error("a change that was rolled back counts")
		}
		set(t, d, s, api.Orders, false, nil)
		if s.Enabled(api.Orders) || !s.Enabled(api.Wallet) {
			t.Error("the section is still on, or another went off with it")
		}
		if again, _ := load(t, d, clk); again.Enabled(api.Orders) {
			t.Error("the switch is forgotten at the next start")
		}
		set(t, d, s, api.Orders, true, nil)
		if !s.Enabled(api.Orders) {
			t.Error("the section cannot be switched on again")
		}
	})
}

func TestEveryReplicaHearsOfASwitch(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		here, _ := load(t, d, clk)
		there, hub := load(t, d, clk)
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { hub.Run(ctx) })
		defer running.Wait()
		defer cancel()
		for _, on := range []bool{false, true, false} {
			set(t, d, here, api.Files, on, nil)
			testkit.Eventually(t, time.Minute, func() bool { return there.Enabled(api.Files) == on }, "the other replica follows")
		}
	})
}
