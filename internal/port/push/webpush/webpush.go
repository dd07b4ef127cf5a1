// Package webpush sends messages to browsers through the push services of their subscriptions (RFC 8030), encrypted for
// the browser (RFC 8291) and signed by this server (VAPID, RFC 8292).
//
// A token is the JSON of the browser's PushSubscription. Its endpoint is an address from a customer, and is called as
// such (see outgoing).
package webpush

import (
	"bytes"
	"context"
	"crypto/ecdh"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/SherClockHolmes/webpush-go"

	"stead.dev/stead/internal/platform/outgoing"
	"stead.dev/stead/internal/port/push"
)

// Config of a Sender.
type Config struct {
	// Keys are the key pair of browser subscriptions.
	Keys func(ctx context.Context) (push.Keys, error)
	// Contact is the address at which a push service finds the operator: an https address, or that of a mailbox.
	Contact string
	// AllowLoopback accepts endpoints on this machine; for tests.
	AllowLoopback bool
}

// Sender implements push.Sender.
type Sender struct {
	Config
	client *outgoing.Client
}

const timeout = 15 * time.Second

// maxPayload is the longest message that every push service accepts, less the encryption (RFC 8030, 7.2: 4096 bytes).
const maxPayload = 3900

// New makes a sender.
func New(c Config) *Sender {
	return &Sender{Config: c, client: outgoing.New(outgoing.Config{AllowLoopback: c.AllowLoopback, Timeout: timeout})}
}

const secretBytes = 16 // RFC 8291, 3.2

func (s *Sender) parse(token string) (*webpush.Subscription, error) {
	var sub webpush.Subscription
	if json.Unmarshal([]byte(token), &sub) != nil || outgoing.Check(sub.Endpoint, s.AllowLoopback) != nil {
		return nil, push.ErrToken
	}
	point, err := decode(sub.Keys.P256dh)
	if err == nil {
		_, err = ecdh.P256().NewPublicKey(point)
	}
	if err != nil {
		return nil, push.ErrToken
	}
	if secret, err := decode(sub.Keys.Auth); err != nil || len(secret) != secretBytes {
		return nil, push.ErrToken
	}
	return &sub, nil
}

// decode decodes base64url, padded or not: browsers' libraries write both.
func decode(text string) ([]byte, error) {
	return base64.RawURLEncoding.Strict().DecodeString(strings.TrimRight(text, "="))
}

// Canonical implements push.Sender. Browsers add members to a subscription that do not belong to it.
func (s *Sender) Canonical(token string) (string, error) {
	sub, err := s.parse(token)
	if err != nil {
		return "", err
	}
	encoded, err := json.Marshal(sub)
	return string(encoded), err
}

// payload is what the page's service worker gets.
type payload struct {
	ID    string `json:"id"`
	Kind  string `json:"kind"`
	Title string `json:"title"`
	Body  string `json:"body"`
	Link  string `json:"link,omitempty"`
}

func encode(m push.Message) ([]byte, error) {
	for size := maxPayload; ; size /= 2 {
		p := payload{m.ID, m.Kind, push.Shorten(m.Title, size/4), push.Shorten(m.Body, size/2), m.Link}
		encoded, err := json.Marshal(p)
		if err != nil || len(encoded) <= maxPayload {
			return encoded, err
		}
		if size == 0 {
			return nil, fmt.Errorf("%w: it is too long", push.ErrRejected)
		}
	}
}

// Send implements push.Sender.
func (s *Sender) Send(ctx context.Context, token string, m push.Message) error {
	sub, err := s.parse(token)
	if err != nil {
		return fmt.Errorf("%w: %w", push.ErrRejected, err)
	}
	keys, err := s.Keys(ctx)
	if err != nil {
		return err
	}
	content, err := encode(m)
	if err != nil {
		return err
	}
	through := &caller{client: s.client}
	resp, err := webpush.SendNotificationWithContext(ctx, content, sub, &webpush.Options{
		HTTPClient: through, Subscriber: s.Contact, Topic: m.ID, TTL: int(m.TTL / time.Second), Urgency: webpush.Urgency(m.Urgency),
		VAPIDPublicKey: keys.Public, VAPIDPrivateKey: keys.Private,
	})
	if err != nil {
		return failure(through.err, err)
	}
	defer func() { _ = resp.Body.Close() }()
	return verdict(resp)
}

// failure explains a missing answer, without the endpoint.
func failure(call, other error) error {
	switch {
	case call == nil:
		return fmt.Errorf("webpush: encrypt: %w", other) // caused by our keys, not by the endpoint
	case errors.Is(call, outgoing.ErrTarget):
		return fmt.Errorf("%w: its address is not a public one", push.ErrRejected)
	default:
		return fmt.Errorf("webpush: %s", outgoing.Reason(call))
	}
}

// verdict interprets an answer (RFC 8030, 5 and 7.3).
func verdict(resp *http.Response) error {
	switch {
	case resp.StatusCode >= 200 && resp.StatusCode < 300:
		return nil
	case resp.StatusCode == http.StatusNotFound, resp.StatusCode == http.StatusGone:
		return push.ErrGone
	case resp.StatusCode == http.StatusTooManyRequests, resp.StatusCode == http.StatusServiceUnavailable:
		return &push.Busy{After: push.RetryAfter(resp.Header.Get("Retry-After"))}
	case resp.StatusCode >= 500:
		return fmt.Errorf("webpush: the service answers %d", resp.StatusCode)
	default:
		return fmt.Errorf("%w: the service answers %d", push.ErrRejected, resp.StatusCode)
	}
}

// caller makes the library's calls by the rules of outgoing.
type caller struct {
	client *outgoing.Client
	err    error
}

// Do implements webpush.HTTPClient.
func (c *caller) Do(r *http.Request) (*http.Response, error) {
	content, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	a, err := c.client.Post(r.Context(), r.URL.String(), r.Header, content)
	if err != nil {
		c.err = err
		return nil, err
	}
	return &http.Response{StatusCode: a.Status, Header: a.Header, Body: io.NopCloser(bytes.NewReader(nil))}, nil
}
