package signal_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"

	"stead.dev/stead/internal/platform/signal"
)

type topics map[string]func(string)

func (t topics) Subscribe(topic string, f func(string)) { t[topic] = f }

// TestACopyFollowsItsTopic: and keeps what it has while it cannot be read.
func TestACopyFollowsItsTopic(t *testing.T) {
	t.Parallel()
	stored, broken := 1, error(nil)
	c := signal.NewCopy(0, func(context.Context) (int, error) { return stored, broken })
	has := func(want int) {
		t.Helper()
		if got := c.Get(); got != want {
			t.Errorf("it is %d, want %d", got, want)
		}
	}
	has(0)
	ctx, cancel := context.WithCancel(t.Context())
	hub := topics{}
	if err := c.Follow(ctx, hub, "numbers", slog.New(slog.DiscardHandler)); err != nil {
		t.Fatal(err)
	}
	cancel() // the start is over
	has(1)
	stored = 2
	has(1)
	hub["numbers"]("")
	has(2)
	stored, broken = 3, errors.New("the database is away")
	hub["numbers"]("")
	has(2)
	if err := c.Read(t.Context()); !errors.Is(err, broken) {
		t.Errorf("reading: %v", err)
	}
	if err := c.Follow(t.Context(), hub, "other", slog.New(slog.DiscardHandler)); err == nil || hub["other"] != nil {
		t.Errorf("it follows without a first value: %v", err)
	}
}
