package webhooks

import (
	"context"
	"time"

	"stead.dev/stead/internal/platform/secret"
)

// The figures that the tests hold the section to.
const (
	LeaseFor   = leaseFor
	FailingFor = failingFor
	Retention  = retention

	MostSending  = mostSending
	SendingPause = sendingPause
)

// Attempts is how often an event is sent before it is given up.
func Attempts() int { return len(schedule) + 1 }

// DieAfterSending is a worker that ends between sending and writing what became of it.
func (s *Service) DieAfterSending(ctx context.Context, endpointID int64) (sent bool, err error) {
	w, done, err := s.take(ctx, endpointID, secret.Token("", 12))
	defer done()
	if err != nil || w == nil {
		return false, err
	}
	_, err = s.send(ctx, *w)
	return true, err
}

// DieBeforeSending is one that ends sooner.
func (s *Service) DieBeforeSending(ctx context.Context, endpointID int64) error {
	_, done, err := s.take(ctx, endpointID, secret.Token("", 12))
	done()
	return err
}

// RetryAfter reads the header.
func RetryAfter(value string, now time.Time) time.Duration { return retryAfter(value, now) }
