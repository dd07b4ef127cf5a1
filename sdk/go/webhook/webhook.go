// Package webhook verifies the webhooks of a Stead server, for programs that receive them.
//
// A request carries two kinds of signatures over the same body:
//
//   - Those of Standard Webhooks (standardwebhooks.com): webhook-id, webhook-timestamp and webhook-signature, which
//     cover the id and the time too. While a secret is rotated, there is one of each secret. A [Verifier] wants these.
//   - X-Service-Signature: the lowercase hex HMAC-SHA256 of the body under the newest secret, as it was shown; while a
//     secret is rotated, X-Service-Signature-Previous under the one before. They cover no time, so a [Verifier] takes them
//     alone only with WithoutTime.
//
// The package needs nothing but the standard library.
package webhook

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// The headers of a webhook.
const (
	HeaderID                = "Webhook-Id"
	HeaderTimestamp         = "Webhook-Timestamp"
	HeaderSignature         = "Webhook-Signature"
	HeaderService           = "X-Service-Signature"
	HeaderServiceOfPrevious = "X-Service-Signature-Previous"
)

// The reasons for refusing a webhook.
var (
	ErrSignature = errors.New("webhook: no signature is right")
	ErrTimestamp = errors.New("webhook: the timestamp is missing, or too far from now")
	ErrSecret    = errors.New("webhook: no secret, or one that is not as it was shown")
	ErrBody      = errors.New("webhook: the body is too large or cannot be read")
)

// DefaultTolerance is the allowed difference between the time of a webhook and the receiver's.
const DefaultTolerance = 5 * time.Minute

// MaxBody is the largest body that Request reads, in bytes; a server sends less.
const MaxBody = 64 << 10

const (
	secretPrefix = "whsec_"
	version      = "v1,"
)

// Event is the body of a webhook. The same ID may arrive more than once, always with the same content: store the ids
// that were processed. Sequence increases with each event of one object.
type Event struct {
	ID         string    `json:"id"`
	Type       string    `json:"type"`
	CreatedAt  time.Time `json:"created_at"`
	APIVersion string    `json:"api_version"`
	Sandbox    bool      `json:"sandbox"`
	Sequence   int64     `json:"sequence"`
	Data       struct {
		Object    json.RawMessage `json:"object"`
		Previous  json.RawMessage `json:"previous"`
		Truncated bool            `json:"truncated"` // the object was too large: only its id is included
	} `json:"data"`
	ClientRef *string `json:"client_ref"`
}

// Verifier checks webhooks. Its zero value refuses all.
type Verifier struct {
	// Secrets are the valid secrets, as they were shown ("whsec_…"): several during a rotation.
	Secrets []string
	// Tolerance is the allowed difference between the time of a webhook and now; zero means DefaultTolerance.
	Tolerance time.Duration
	// WithoutTime accepts X-Service-Signature where the headers of Standard Webhooks are missing, such as behind something that
	// drops them. A request that somebody has recorded is then right for ever: keep the ids of events.
	WithoutTime bool
	// Now returns the time; nil means the machine's clock.
	Now func() time.Time
}

// Request reads a request's body, at most MaxBody of it, verifies it and decodes it.
func (v Verifier) Request(r *http.Request) (Event, error) {
	body, err := io.ReadAll(io.LimitReader(r.Body, MaxBody+1))
	if err != nil || len(body) > MaxBody {
		return Event{}, ErrBody
	}
	if err := v.Verify(r.Header, body); err != nil {
		return Event{}, err
	}
	var e Event
	if json.Unmarshal(body, &e) != nil {
		return Event{}, ErrBody
	}
	return e, nil
}

// Verify checks the signatures of a body, which must be the bytes that were received. The headers of Standard Webhooks decide,
// with the time. Only where they are missing, and with WithoutTime, X-Service-Signature does. Signatures are compared in
// constant time.
func (v Verifier) Verify(h http.Header, body []byte) error {
	if len(v.Secrets) == 0 {
		return ErrSecret
	}
	if h.Get(HeaderSignature) == "" {
		if v.WithoutTime {
			return v.verifyService(h, body)
		}
		return ErrSignature
	}
	id, sent := h.Get(HeaderID), h.Get(HeaderTimestamp)
	seconds, err := strconv.ParseInt(sent, 10, 64)
	if err != nil || !v.near(time.Unix(seconds, 0)) {
		return ErrTimestamp
	}
	right := false
	for _, s := range v.Secrets {
		want, err := standard(s, id, sent, body)
		if err != nil {
			return err
		}
		for _, given := range strings.Fields(h.Get(HeaderSignature)) {
			right = hmac.Equal([]byte(given), []byte(want)) || right
		}
	}
	if id == "" || !right {
		return ErrSignature
	}
	return nil
}

func (v Verifier) verifyService(h http.Header, body []byte) error {
	right := false
	for _, s := range v.Secrets {
		if s == "" {
			return ErrSecret
		}
		want := []byte(service(s, body))
		for _, name := range []string{HeaderService, HeaderServiceOfPrevious} {
			right = hmac.Equal([]byte(h.Get(name)), want) || right
		}
	}
	if !right {
		return ErrSignature
	}
	return nil
}

func (v Verifier) near(t time.Time) bool {
	now, tolerance := time.Now, v.Tolerance //nolint:forbidigo // the receiver has no clock of ours; tests set Now
	if v.Now != nil {
		now = v.Now
	}
	if tolerance == 0 {
		tolerance = DefaultTolerance
	}
	return now().Sub(t).Abs() <= tolerance
}

// Sign makes the headers of a webhook, for servers and for the tests of receivers. The secrets are in order, the newest
// first; a second one signs as the previous one.
func Sign(id string, at time.Time, body []byte, secrets ...string) (http.Header, error) {
	if len(secrets) == 0 {
		return nil, ErrSecret
	}
	sent := strconv.FormatInt(at.Unix(), 10)
	signatures := make([]string, len(secrets))
	for i, s := range secrets {
		var err error
		if signatures[i], err = standard(s, id, sent, body); err != nil {
			return nil, err
		}
	}
	h := http.Header{}
	h.Set(HeaderID, id)
	h.Set(HeaderTimestamp, sent)
	h.Set(HeaderSignature, strings.Join(signatures, " "))
	h.Set(HeaderService, service(secrets[0], body))
	if len(secrets) > 1 {
		h.Set(HeaderServiceOfPrevious, service(secrets[1], body))
	}
	return h, nil
}

// standard is the signature of Standard Webhooks; its key is the decoded secret.
func standard(secret, id, sent string, body []byte) (string, error) {
	encoded, ok := strings.CutPrefix(secret, secretPrefix)
	key, err := base64.StdEncoding.DecodeString(encoded)
	if !ok || err != nil || len(key) == 0 {
		return "", ErrSecret
	}
	signed := bytes.Join([][]byte{[]byte(id), []byte(sent), body}, []byte("."))
	return version + base64.StdEncoding.EncodeToString(mac(key, signed)), nil
}

// service is the signature of X-Service-Signature; its key is the secret as it was shown.
func service(secret string, body []byte) string {
	return hex.EncodeToString(mac([]byte(secret), body))
}

func mac(key, message []byte) []byte {
	m := hmac.New(sha256.New, key)
	m.Write(message)
	return m.Sum(nil)
}
