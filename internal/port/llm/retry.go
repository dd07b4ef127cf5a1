package llm

import (
	"context"
	"math/rand/v2"
	"time"

	"stead.dev/stead/internal/platform/clock"
)

// The bounds of retries.
const (
	retries    = 3
	firstPause = 500 * time.Millisecond
	maxPause   = 8 * time.Second
	maxAfter   = 30 * time.Second // of a pause that the provider asks for
)

// Retry returns a client that repeats what failed as Busy or Unavailable, three times at most, with full jitter between
// the attempts, or after the pause that the provider asks for. It never repeats a request of which any part of an answer
// arrived: somebody has seen that text, and it may be billed.
func Retry(next Client) Client { return &retrying{next: next, wait: clock.Sleep} }

// RetryWith is Retry with a function that waits instead of the clock, for tests.
func RetryWith(next Client, wait func(context.Context, time.Duration) error) Client {
	return &retrying{next: next, wait: wait}
}

type retrying struct {
	next Client
	wait func(context.Context, time.Duration) error
}

// Ask implements Client.
func (c *retrying) Ask(ctx context.Context, r Request, onText func(string)) (Answer, error) {
	for attempt := 0; ; attempt++ {
		answer, err := c.next.Ask(ctx, r, onText)
		if err == nil || answer.Received || attempt == retries {
			return answer, err
		}
		pause, again := pauseAfter(err, attempt)
		if !again {
			return answer, err
		}
		if waitErr := c.wait(ctx, pause); waitErr != nil {
			return answer, waitErr
		}
	}
}

// pauseAfter tells whether a failure may pass by itself, and how long to wait before the next attempt.
func pauseAfter(err error, attempt int) (time.Duration, bool) {
	failure, ok := asError(err)
	if !ok || (failure.Kind != Busy && failure.Kind != Unavailable) {
		return 0, false
	}
	if failure.After > maxAfter {
		return 0, false // a person waits: better to fail now
	}
	if failure.After > 0 {
		return failure.After, true
	}
	ceiling := min(firstPause<<attempt, maxPause)
	return rand.N(ceiling) + 1, true //nolint:gosec // jitter, no secret
}
