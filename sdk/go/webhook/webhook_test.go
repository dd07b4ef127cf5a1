package webhook_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"stead.dev/stead/sdk/go/webhook"
)

// The example of the Standard Webhooks specification's reference libraries.
const (
	exampleSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	exampleID     = "msg_p5jXN8AQM9LWM0D4loKWxJek"
	exampleBody   = `{"test": 2432232314}`
	exampleSent   = 1614265330
	exampleWant   = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
	serviceWant   = "80ec8a89ce3cd22133a1066caecb4d04fea7467657c8514d717ec42c38a5c94c"
)

const otherSecret = "whsec_b3RoZXItc2VjcmV0LW90aGVyLXNlY3JldA=="

var sent = time.Unix(exampleSent, 0)

func TestSignaturesAreThoseOfTheStandard(t *testing.T) {
	h, err := webhook.Sign(exampleID, sent, []byte(exampleBody), exampleSecret)
	if err != nil || h.Get("webhook-signature") != exampleWant || h.Get("webhook-id") != exampleID || h.Get("webhook-timestamp") != "1614265330" {
		t.Errorf("%v %v", err, h)
	}
	// printf %s '{"test": 2432232314}' | openssl dgst -sha256 -hmac whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw
	if got := h.Get("X-Service-Signature"); got != serviceWant {
		t.Errorf("X-Service-Signature: %s", got)
	}
}

func TestWhatIsRefused(t *testing.T) {
	both := func(h http.Header) http.Header { return h }
	old := func(h http.Header) http.Header { // receivers that see X-Service-Signature alone
		for _, name := range []string{webhook.HeaderID, webhook.HeaderTimestamp, webhook.HeaderSignature} {
			h.Del(name)
		}
		return h
	}
	without := func(name string) func(http.Header) http.Header {
		return func(h http.Header) http.Header { h.Del(name); return h }
	}
	for name, c := range map[string]struct {
		signed, trusted []string
		body            string
		after           time.Duration
		headers         func(http.Header) http.Header
		want            error
	}{
		"right":                     {[]string{exampleSecret}, []string{exampleSecret}, exampleBody, 0, both, nil},
		"right, hex":                {[]string{exampleSecret}, []string{exampleSecret}, exampleBody, time.Hour, old, nil},
		"rotated, old receiver":     {[]string{otherSecret, exampleSecret}, []string{exampleSecret}, exampleBody, 0, both, nil},
		"rotated, new receiver":     {[]string{otherSecret, exampleSecret}, []string{otherSecret}, exampleBody, 0, both, nil},
		"rotated, hex old receiver": {[]string{otherSecret, exampleSecret}, []string{exampleSecret}, exampleBody, 0, old, nil},
		"several trusted":           {[]string{exampleSecret}, []string{otherSecret, exampleSecret}, exampleBody, 0, both, nil},
		"another secret":            {[]string{exampleSecret}, []string{otherSecret}, exampleBody, 0, both, webhook.ErrSignature},
		"another secret, hex":       {[]string{exampleSecret}, []string{otherSecret}, exampleBody, 0, old, webhook.ErrSignature},
		"another body":              {[]string{exampleSecret}, []string{exampleSecret}, exampleBody + " ", 0, both, webhook.ErrSignature},
		"another body, hex":         {[]string{exampleSecret}, []string{exampleSecret}, exampleBody + " ", 0, old, webhook.ErrSignature},
		"too late":                  {[]string{exampleSecret}, []string{exampleSecret}, exampleBody, 6 * time.Minute, both, webhook.ErrTimestamp},
		"too early":                 {[]string{exampleSecret}, []string{exampleSecret}, exampleBody, -6 * time.Minute, both, webhook.ErrTimestamp},
		"no time":                   {[]string{exampleSecret}, []string{exampleSecret}, exampleBody, 0, without(webhook.HeaderTimestamp), webhook.ErrTimestamp},
		"no id":                     {[]string{exampleSecret}, []string{exampleSecret}, exampleBody, 0, without(webhook.HeaderID), webhook.ErrSignature},
		"no secret":                 {[]string{exampleSecret}, nil, exampleBody, 0, both, webhook.ErrSecret},
		"a secret that is none":     {[]string{exampleSecret}, []string{"whsec_%"}, exampleBody, 0, both, webhook.ErrSecret},
		"an empty secret, hex":      {[]string{exampleSecret}, []string{""}, exampleBody, 0, old, webhook.ErrSecret},
		"nothing": {
			[]string{exampleSecret},
			[]string{exampleSecret},
			exampleBody, 0,
			func(http.Header) http.Header { return http.Header{} }, webhook.ErrSignature,
		},
	} {
		h, err := webhook.Sign(exampleID, sent, []byte(exampleBody), c.signed...)
		if err != nil {
			t.Fatal(err)
		}
		v := webhook.Verifier{Secrets: c.trusted, WithoutTime: true, Now: func() time.Time { return sent.Add(c.after) }}
		if err := v.Verify(c.headers(h), []byte(c.body)); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
	if _, err := webhook.Sign("a", sent, nil, "none"); !errors.Is(err, webhook.ErrSecret) {
		t.Error(err)
	}
	large := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(strings.Repeat("a", webhook.MaxBody+1)))
	if _, err := (webhook.Verifier{Secrets: []string{exampleSecret}}).Request(large); !errors.Is(err, webhook.ErrBody) {
		t.Error(err)
	}
}

// TestARecordedWebhookIsRefused: without the headers that have its time, too.
func TestARecordedWebhookIsRefused(t *testing.T) {
	h, err := webhook.Sign(exampleID, sent, []byte(exampleBody), exampleSecret)
	if err != nil {
		t.Fatal(err)
	}
	v := webhook.Verifier{Secrets: []string{exampleSecret}, Now: func() time.Time { return sent.Add(time.Hour) }}
	if err := v.Verify(h, []byte(exampleBody)); !errors.Is(err, webhook.ErrTimestamp) {
		t.Errorf("with all its headers: %v", err)
	}
	for _, name := range []string{webhook.HeaderSignature, webhook.HeaderTimestamp, webhook.HeaderID} {
		h.Del(name)
		if err := v.Verify(h, []byte(exampleBody)); !errors.Is(err, webhook.ErrSignature) {
			t.Errorf("without %s: %v", name, err)
		}
	}
	v.WithoutTime = true
	if err := v.Verify(h, []byte(exampleBody)); err != nil {
		t.Errorf("for who accepts it: %v", err)
	}
}
