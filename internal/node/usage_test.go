package node

import (
	"context"
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
