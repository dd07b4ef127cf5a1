package node

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"
)

func TestProcessesAreLookedAfterWhileAnAccountIsWalked(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	swept, walking, ended := make(chan struct{}), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		beside(ctx, time.Millisecond, func() {
			select {
			case swept <- struct{}{}:
			case <-ctx.Done():
			}
		}, func() time.Duration {
			close(walking)
			<-ctx.Done() // millions of files
			return time.Hour
		})
	}()
	<-walking
	for range 3 {
		select {
		case <-swept:
		case <-time.After(time.Minute):
			t.Fatal("who is walked holds up the others")
		}
	}
	cancel()
	select {
	case <-ended:
	case <-time.After(time.Minute):
		t.Fatal("it does not end")
	}
}

// Who has waited longest is walked first, and everybody in the end, though few are chosen at a time.
func TestAccountsAreWalkedInTurn(t *testing.T) {
	t.Parallel()
	n := open(t, t.TempDir())
	const many = walksAtOnce + 10
	for i := range many {
		create(t, n, fmt.Sprint("a", i), fmt.Sprintf("a%d.example", i))
	}
	known := &watched{of: map[string]*walked{}}
	pass := func(now time.Duration) (refs []string) {
		for {
			ref, w := n.nextWalk(known, now)
			if w == nil {
				return refs
			}
			w.at = now + time.Duration(len(refs))
			refs = append(refs, ref)
		}
	}
	if first := pass(0); len(first) != many || len(slices.Compact(slices.Sorted(slices.Values(first)))) != many {
		t.Errorf("walked at first: %d of %d", len(first), many)
	}
	if again := pass(busyPause); len(again) != 0 {
		t.Errorf("walked although nothing runs there: %v", again)
	}
	known.of["a7"].active = true
	if again := pass(busyPause + time.Second); !slices.Equal(again, []string{"a7"}) {
		t.Errorf("walked: %v, want what has processes", again)
	}
	last := pass(2 * idlePause)
	if len(last) != many || last[many-1] != "a7" {
		t.Errorf("walked after the pause: %d, at last %v", len(last), last[len(last)-1:])
	}
	must(t, n.DeleteAccount(t.Context(), "a7"))
	if gone := pass(4 * idlePause); len(gone) != many-1 || slices.Contains(gone, "a7") {
		t.Errorf("walked after one was deleted: %d", len(gone))
	}
}
