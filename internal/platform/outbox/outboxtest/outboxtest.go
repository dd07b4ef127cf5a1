// Package outboxtest keeps the events of tests instead of telling anybody.
package outboxtest

import (
	"context"
	"log/slog"
	"testing"

	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/outbox"
)

// Recorder is outbox.Events for a test that emits one event at a time.
type Recorder struct{ Events []outbox.Event }

// Emit implements outbox.Events.
func (r *Recorder) Emit(_ context.Context, _ *db.Tx, e outbox.Event) error {
	r.Events = append(r.Events, e)
	return nil
}

// Types are those of the events, in order.
func (r *Recorder) Types() []string {
	all := make([]string, len(r.Events))
	for i, e := range r.Events {
		all[i] = e.Type
	}
	return all
}

// Take is Types, and forgets the events.
func (r *Recorder) Take() []string {
	all := r.Types()
	r.Events = nil
	return all
}

// Relay runs the relay of an outbox until the test ends.
func Relay(t testing.TB, o *outbox.Outbox) {
	t.Helper()
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		o.Run(ctx, slog.New(slog.DiscardHandler))
	}()
	t.Cleanup(func() {
		stop()
		<-ended
	})
}
