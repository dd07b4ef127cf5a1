// Package push is the port to the services that show messages on people's devices. Adapters: webpush, for browsers (RFC
// 8030), and fcm, for phones.
package push

import (
	"context"
	"errors"
	"strconv"
	"time"
)

// Message is what a device shows.
type Message struct {
	// ID identifies a message and stays the same when it is sent again: a device that gets it twice shows it once.
	// Letters, digits and hyphens, at most 32.
	ID    string
	Kind  string // machine key, such as ssl_failed
	Title string
	Body  string
	// Link is the path of its object on this server; empty without.
	Link    string
	Urgency Urgency
	// TTL is how long the service tries to reach the device.
	TTL time.Duration
}

// Urgency tells the device whether a message is worth its battery (RFC 8030, 5.3).
type Urgency string

// The urgencies.
const (
	Low    Urgency = "low"
	Normal Urgency = "normal"
	High   Urgency = "high"
)

// Sender hands messages to one push service. It is safe for concurrent use. Its errors never contain tokens, which are
// secrets: anybody with one can push to the device.
type Sender interface {
	// Canonical returns the canonical form of a token, or ErrToken for an invalid one.
	Canonical(token string) (string, error)
	// Send returns nil when the service has accepted the message. ErrGone and ErrRejected are permanent; other failures
	// may be retried, after a Busy service's pause.
	Send(ctx context.Context, token string, m Message) error
}

var (
	// ErrToken says that a token is invalid.
	ErrToken = errors.New("push: not a token of a device")
	// ErrGone says that the device accepts no messages any more: delete its token.
	ErrGone = errors.New("push: the device is gone")
	// ErrRejected says that the service will never accept this message.
	ErrRejected = errors.New("push: the message was rejected for good")
)

// Busy says that the service asks to wait.
type Busy struct {
	After time.Duration // zero when the service did not say for how long
}

func (*Busy) Error() string { return "push: the service is busy" }

// Keys are the key pair with which this server signs messages to browsers (VAPID, RFC 8292): on P-256, in unpadded
// base64url, the public key as an uncompressed point and the private one as a number.
type Keys struct{ Public, Private string }

// Shorten cuts text to at most n bytes, between characters.
func Shorten(text string, n int) string {
	if len(text) <= n {
		return text
	}
	const sign = "…"
	end := 0
	for i := range text {
		if i > n-len(sign) {
			break
		}
		end = i
	}
	return text[:end] + sign
}

// maxPause is the longest pause that a service can ask for.
const maxPause = time.Hour

// RetryAfter parses the header's seconds (RFC 9110, 10.2.3); zero for anything else.
func RetryAfter(value string) time.Duration {
	seconds, err := strconv.ParseUint(value, 10, 31)
	if err != nil {
		return 0
	}
	return min(time.Duration(seconds)*time.Second, maxPause)
}
