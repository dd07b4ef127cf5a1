package webpush_test

import (
	"bytes"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/ecdh"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"stead.dev/stead/internal/port/push"
	"stead.dev/stead/internal/port/push/webpush"
)

func text(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }

// browser is one end of a subscription, written from RFC 8291 and RFC 8188.
type browser struct {
	key  *ecdh.PrivateKey
	auth []byte
}

func newBrowser(t *testing.T) browser {
	t.Helper()
	key, err := ecdh.P256().GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	auth := make([]byte, 16)
	_, _ = rand.Read(auth) // never fails
	return browser{key, auth}
}

func (b browser) subscription(endpoint string) string {
	return fmt.Sprintf(`{"endpoint": %q, "expirationTime": null, "keys": {"p256dh": %q, "auth": %q}}`,
		endpoint, text(b.key.PublicKey().Bytes()), text(b.auth))
}

// open decrypts the body of a request.
func (b browser) open(t *testing.T, body []byte) []byte {
	t.Helper()
	must := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	salt, size, idLen := body[:16], binary.BigEndian.Uint32(body[16:20]), int(body[20])
	sender, sealed := body[21:21+idLen], body[21+idLen:]
	if len(sealed) > int(size) {
		t.Fatalf("%d bytes in records of %d: more than one", len(sealed), size)
	}
	public, err := ecdh.P256().NewPublicKey(sender)
	must(err)
	shared, err := b.key.ECDH(public)
	must(err)
	info := "WebPush: info\x00" + string(b.key.PublicKey().Bytes()) + string(sender)
	ikm, err := hkdf.Key(sha256.New, shared, b.auth, info, 32)
	must(err)
	cek, err := hkdf.Key(sha256.New, ikm, salt, "Content-Encoding: aes128gcm\x00", 16)
	must(err)
	nonce, err := hkdf.Key(sha256.New, ikm, salt, "Content-Encoding: nonce\x00", 12)
	must(err)
	block, err := aes.NewCipher(cek)
	must(err)
	gcm, err := cipher.NewGCM(block)
	must(err)
	plain, err := gcm.Open(nil, nonce, sealed, nil)
	must(err)
	plain = bytes.TrimRight(plain, "\x00")
	if len(plain) == 0 || plain[len(plain)-1] != 2 {
		t.Fatal("the last record does not end as one")
	}
	return plain[:len(plain)-1]
}

// signedBy checks the Authorization header (RFC 8292) and answers the claims.
func signedBy(t *testing.T, header string, keys push.Keys) (claims struct {
	Aud, Sub string
	Exp      int64
},
) {
	t.Helper()
	rest, ok := strings.CutPrefix(header, "vapid t=")
	token, k, found := strings.Cut(rest, ", k=")
	parts := strings.Split(token, ".")
	if !ok || !found || k != keys.Public || len(parts) != 3 {
		t.Fatalf("Authorization %q", header)
	}
	point, err := base64.RawURLEncoding.DecodeString(keys.Public)
	if err != nil {
		t.Fatal(err)
	}
	key, err := ecdsa.ParseUncompressedPublicKey(elliptic.P256(), point)
	if err != nil {
		t.Fatal(err)
	}
	signature, err := base64.RawURLEncoding.DecodeString(parts[2])
	if err != nil || len(signature) != 64 {
		t.Fatalf("a signature of %d bytes: %v", len(signature), err)
	}
	digest := sha256.Sum256([]byte(parts[0] + "." + parts[1]))
	if !ecdsa.Verify(key, digest[:], new(big.Int).SetBytes(signature[:32]), new(big.Int).SetBytes(signature[32:])) {
		t.Error("the signature is wrong")
	}
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err == nil {
		err = json.Unmarshal(payload, &claims)
	}
	if err != nil {
		t.Fatal(err)
	}
	return claims
}

func newKeys(t *testing.T) push.Keys {
	t.Helper()
	pair := newBrowser(t).key
	return push.Keys{Public: text(pair.PublicKey().Bytes()), Private: text(pair.Bytes())}
}

func newSender(keys push.Keys, loopback bool) *webpush.Sender {
	return webpush.New(webpush.Config{
		Keys:    func(context.Context) (push.Keys, error) { return keys, nil },
		Contact: "ops@stead.test", AllowLoopback: loopback,
	})
}

func TestABrowserReadsWhatIsSent(t *testing.T) {
	var (
		got  *http.Request
		body []byte
	)
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = r
		body, _ = io.ReadAll(r.Body)
		w.WriteHeader(http.StatusCreated)
	}))
	t.Cleanup(service.Close)
	b, keys := newBrowser(t), newKeys(t)
	s := newSender(keys, true)
	for name, m := range map[string]push.Message{
		"a short one": {ID: "notification-7", Kind: "ssl_failed", Title: "Сертификат", Body: "<b>O‘zbek</b> & co", Link: "/api/v1/services/7", Urgency: push.High, TTL: time.Hour},
		"a long one":  {ID: "notification-8", Kind: "x", Title: strings.Repeat("ж", 3000), Body: strings.Repeat("\x01", 9000), Urgency: push.Low, TTL: time.Minute},
	} {
		if err := s.Send(t.Context(), b.subscription(service.URL+"/push/1"), m); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if len(body) > 4096 {
			t.Errorf("%s: %d bytes", name, len(body))
		}
		var p struct{ ID, Kind, Title, Body, Link string }
		if err := json.Unmarshal(b.open(t, body), &p); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if p.ID != m.ID || p.Kind != m.Kind || p.Link != m.Link || len(m.Body) < 100 && (p.Title != m.Title || p.Body != m.Body) {
			t.Errorf("%s: %+v", name, p)
		}
		if got.Header.Get("Urgency") != string(m.Urgency) || got.Header.Get("TTL") != fmt.Sprint(m.TTL.Seconds()) || got.Header.Get("Topic") != m.ID ||
			got.Header.Get("Content-Encoding") != "aes128gcm" {
			t.Errorf("%s: %v", name, got.Header)
		}
		if c := signedBy(t, got.Header.Get("Authorization"), keys); c.Aud != service.URL || c.Sub != "mailto:ops@stead.test" {
			t.Errorf("%s: %+v", name, c)
		}
	}
}

func TestWhatAnAnswerMeans(t *testing.T) {
	var status int
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "120")
		w.Header().Set("Location", "/elsewhere")
		w.WriteHeader(status)
	}))
	t.Cleanup(service.Close)
	b := newBrowser(t)
	token := b.subscription(service.URL + "/a-secret-address")
	s := newSender(newKeys(t), true)
	for code, want := range map[int]error{
		200: nil, 201: nil, 202: nil, 404: push.ErrGone, 410: push.ErrGone, 400: push.ErrRejected, 403: push.ErrRejected,
		413: push.ErrRejected, 302: push.ErrRejected,
	} {
		status = code
		if err := s.Send(t.Context(), token, push.Message{ID: "n", TTL: time.Hour}); !errors.Is(err, want) {
			t.Errorf("%d: %v, want %v", code, err, want)
		}
	}
	for _, code := range []int{429, 503} {
		status = code
		var busy *push.Busy
		if err := s.Send(t.Context(), token, push.Message{ID: "n"}); !errors.As(err, &busy) || busy.After != 2*time.Minute {
			t.Errorf("%d: %v", code, err)
		}
	}
	status = 500
	transient := func(err error) bool {
		return err != nil && !errors.Is(err, push.ErrGone) && !errors.Is(err, push.ErrRejected) && !strings.Contains(err.Error(), "secret")
	}
	if err := s.Send(t.Context(), token, push.Message{ID: "n"}); !transient(err) {
		t.Errorf("500: %v", err)
	}
	service.Close()
	if err := s.Send(t.Context(), token, push.Message{ID: "n"}); !transient(err) {
		t.Errorf("nobody answers: %v", err)
	}
}

func TestTokensThatAreNone(t *testing.T) {
	b := newBrowser(t)
	good := b.subscription("https://push.example.com/a")
	s := newSender(newKeys(t), false)
	canonical, err := s.Canonical(good)
	if err != nil || strings.Contains(canonical, "expirationTime") {
		t.Fatalf("%q %v", canonical, err)
	}
	if again, err := s.Canonical(canonical); err != nil || again != canonical {
		t.Errorf("%q %v", again, err)
	}
	for name, token := range map[string]string{
		"nothing": "", "text": "abc", "no keys": `{"endpoint": "https://push.example.com/a"}`,
		"this machine":   b.subscription("https://127.0.0.1/a"),
		"the network":    b.subscription("https://10.0.0.1/a"),
		"not encrypted":  b.subscription("http://push.example.com/a"),
		"a broken point": strings.Replace(good, text(b.key.PublicKey().Bytes()), text(make([]byte, 65)), 1),
		"a short secret": strings.Replace(good, text(b.auth), text(b.auth[:15]), 1),
	} {
		if _, err := s.Canonical(token); !errors.Is(err, push.ErrToken) {
			t.Errorf("%s: %v", name, err)
		}
		if err := s.Send(t.Context(), token, push.Message{ID: "n"}); !errors.Is(err, push.ErrRejected) {
			t.Errorf("sent to %s: %v", name, err)
		}
	}
}
