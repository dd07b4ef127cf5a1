// Package push is the port to the services that show messages on people's devices. Adapters: webpush, for browsers
// (RFC 8030), and fcm, for phones.
package push

import (
	"context"
	"errors"
	"strconv"
	"time"
)

// Message is what a device shows.
type Message struct {
	// ID tells messages apart and stays the same when one is sent again: a device that gets it twice shows it once.
	// Letters, digits and hyphens, at most 32.
	ID    string
	Kind  string // machine key, such as ssl_failed
	Title string
	Body  string
	// Link is the path on this server of what it is about; empty without.
	Link    string
	Urgency Urgency
	// TTL is how long a device that cannot be reached is waited for.
	TTL time.Duration
}

// Urgency is what a message is worth to the battery of a device (RFC 8030, 5.3).
type Urgency string

// The urgencies.
const (
	Low    Urgency = "low"
	Normal Urgency = "normal"
	High   Urgency = "high"
)

// Sender hands messages to one such service. It is safe for concurrent use. Its errors say nothing of tokens, which are
// secrets: with one, anybody may bother the device.
type Sender interface {
	// Canonical writes a token as it is always written, or answers ErrToken for what is no token of a device.
	Canonical(token string) (string, error)
	// Send answers nil when the service has the message. ErrGone and ErrRejected are for good; what else fails may
	// be tried again, after a Busy service's pause.
	Send(ctx context.Context, token string, m Message) error
}

var (
	// ErrToken says that a token is none.
	ErrToken = errors.New("push: not a token of a device")
	// ErrGone says that the device takes no messages any more: its token is to be forgotten.
	ErrGone = errors.New("push: the device is gone")
	// ErrRejected says that this message will never be taken.
	ErrRejected = errors.New("push: the message was rejected for good")
)

// Busy says that the service wants to be left alone.
type Busy struct {
	After time.Duration // zero when it did not say for how long
}

func (*Busy) Error() string { return "push: the service is busy" }

// Keys are what this server signs with as the sender of messages to browsers (VAPID, RFC 8292): a key pair on P-256, in
// unpadded base64url, the public key as an uncompressed point and the private one as a number.
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

// maxPause is the longest that a service can ask to be left alone.
const maxPause = time.Hour

// RetryAfter reads the header's seconds (RFC 9110, 10.2.3); zero for anything else.
func RetryAfter(value string) time.Duration {
	seconds, err := strconv.ParseUint(value, 10, 31)
	if err != nil {
		return 0
	}
	return min(time.Duration(seconds)*time.Second, maxPause)
}
