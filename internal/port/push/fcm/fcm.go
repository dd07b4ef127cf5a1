// Package fcm sends messages to phones through Firebase Cloud Messaging, by its HTTP v1 interface. A token is the
// registration token of an installed application.
package fcm

import (
	"bytes"
	"context"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/jwt"

	"stead.dev/stead/internal/platform/intx"
	"stead.dev/stead/internal/port/push"
)

const (
	service = "https://fcm.googleapis.com"
	scope   = "https://www.googleapis.com/auth/firebase.messaging"
	timeout = 15 * time.Second
	// maxAnswer bounds the bytes read of an answer.
	maxAnswer = 64 << 10
	// A message has at most 4096 bytes; text takes most of it.
	maxTitle, maxBody = 300, 1500
)

// Config of a Sender.
type Config struct {
	// Account is the JSON key of the service account from the Firebase console.
	Account []byte
	// URL is the address of the service; empty means Google's.
	URL string
}

// Sender implements push.Sender.
type Sender struct {
	client *http.Client // without credentials
	tokens oauth2.TokenSource
	url    string
}

// account is the part of the key that is needed.
type account struct {
	Type         string `json:"type"`
	ProjectID    string `json:"project_id"`
	PrivateKeyID string `json:"private_key_id"`
	PrivateKey   string `json:"private_key"`
	Email        string `json:"client_email"`
	TokenURL     string `json:"token_uri"`
}

// New makes a sender. Its errors quote nothing of the key.
func New(c Config) (*Sender, error) {
	var a account
	if err := json.Unmarshal(c.Account, &a); err != nil {
		return nil, errors.New("fcm: the key of the service account is not JSON")
	}
	if a.Type != "service_account" || a.ProjectID == "" || a.Email == "" || a.PrivateKey == "" || a.TokenURL == "" {
		return nil, errors.New("fcm: this is not the key of a service account: type, project_id, client_email, private_key and token_uri are needed")
	}
	if block, _ := pem.Decode([]byte(a.PrivateKey)); block == nil || notRSA(block.Bytes) {
		return nil, errors.New("fcm: private_key in the key of the service account is no RSA key")
	}
	if c.URL == "" {
		c.URL = service
	}
	s := &Sender{
		client: &http.Client{Timeout: timeout, Transport: intx.Transport{Next: http.DefaultTransport}},
		url:    strings.TrimSuffix(c.URL, "/") + "/v1/projects/" + url.PathEscape(a.ProjectID) + "/messages:send",
	}
	conf := &jwt.Config{
		Email: a.Email, PrivateKey: []byte(a.PrivateKey), PrivateKeyID: a.PrivateKeyID, Scopes: []string{scope}, TokenURL: a.TokenURL,
	}
	// The tokens outlive a single message, so the client's timeout bounds their requests.
	s.tokens = conf.TokenSource(context.WithValue(context.Background(), oauth2.HTTPClient, s.client))
	return s, nil
}

func notRSA(der []byte) bool {
	key, err := x509.ParsePKCS8PrivateKey(der)
	_, rsaKey := key.(*rsa.PrivateKey)
	return err != nil || !rsaKey
}

// maxToken is longer than any of Google's tokens, in bytes.
const maxToken = 1024

// Canonical implements push.Sender.
func (s *Sender) Canonical(token string) (string, error) {
	if len(token) < 20 || len(token) > maxToken || strings.ContainsFunc(token, func(r rune) bool {
		return (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && !strings.ContainsRune("-_:.", r)
	}) {
		return "", push.ErrToken
	}
	return token, nil
}

type request struct {
	Message message `json:"message"`
}

type message struct {
	Token        string            `json:"token"`
	Notification notification      `json:"notification"`
	Data         map[string]string `json:"data"`
	Android      android           `json:"android"`
	APNS         apns              `json:"apns"`
}

type notification struct {
	Title string `json:"title"`
	Body  string `json:"body"`
}

type android struct {
	CollapseKey  string              `json:"collapse_key"`
	Priority     string              `json:"priority"` // high wakes the phone
	TTL          string              `json:"ttl"`
	Notification androidNotification `json:"notification"`
}

type androidNotification struct {
	Tag string `json:"tag"` // a repeated message replaces itself
}

type apns struct {
	Headers map[string]string `json:"headers"`
}

func requestOf(token string, m push.Message) request {
	seconds := strconv.Itoa(int(m.TTL / time.Second))
	priority, apple := "normal", "5"
	if m.Urgency == push.High {
		priority, apple = "high", "10"
	}
	data := map[string]string{"id": m.ID, "kind": m.Kind}
	if m.Link != "" {
		data["link"] = m.Link
	}
	return request{message{
		Token: token, Notification: notification{push.Shorten(m.Title, maxTitle), push.Shorten(m.Body, maxBody)}, Data: data,
		Android: android{CollapseKey: m.ID, Priority: priority, TTL: seconds + "s", Notification: androidNotification{m.ID}},
		APNS:    apns{map[string]string{"apns-collapse-id": m.ID, "apns-priority": apple}},
	}}
}

// Send implements push.Sender.
func (s *Sender) Send(ctx context.Context, token string, m push.Message) error {
	content, err := json.Marshal(requestOf(token, m))
	if err != nil {
		return fmt.Errorf("fcm: %w", err)
	}
	access, err := s.tokens.Token()
	if err != nil {
		return refusedToken(err)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url, bytes.NewReader(content))
	if err != nil {
		return fmt.Errorf("fcm: %w", err)
	}
	r.Header.Set("Content-Type", "application/json")
	access.SetAuthHeader(r)
	resp, err := s.client.Do(r)
	if err != nil {
		return fmt.Errorf("fcm: %w", err) // the address is the same for every device
	}
	defer func() { _ = resp.Body.Close() }()
	return verdict(resp)
}

// refusedToken keeps the token server's answer, which may quote the assertion, out of logs.
func refusedToken(err error) error {
	var refused *oauth2.RetrieveError
	if errors.As(err, &refused) && refused.Response != nil {
		return fmt.Errorf("fcm: no access: the token server answers %d", refused.Response.StatusCode)
	}
	return errors.New("fcm: no access: the token server cannot be asked, or the private key is none")
}

// refusal is the error object of the interface.
type refusal struct {
	Error struct {
		Status  string `json:"status"`
		Details []struct {
			Code       string `json:"errorCode"`
			Violations []struct {
				Field string `json:"field"`
			} `json:"fieldViolations"`
		} `json:"details"`
	} `json:"error"`
}

// verdict interprets an answer (Firebase Cloud Messaging, "ErrorCode").
func verdict(resp *http.Response) error {
	if resp.StatusCode == http.StatusOK {
		return nil
	}
	var r refusal
	content, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err == nil {
		err = json.Unmarshal(content, &r)
	}
	if err != nil {
		r = refusal{} // the status is enough
	}
	code, ofToken := "", false
	for _, d := range r.Error.Details {
		if d.Code != "" {
			code = d.Code
		}
		for _, v := range d.Violations {
			ofToken = ofToken || v.Field == "message.token"
		}
	}
	switch {
	case code == "UNREGISTERED", code == "SENDER_ID_MISMATCH", resp.StatusCode == http.StatusBadRequest && ofToken:
		return push.ErrGone
	case resp.StatusCode == http.StatusTooManyRequests, resp.StatusCode == http.StatusServiceUnavailable:
		return &push.Busy{After: push.RetryAfter(resp.Header.Get("Retry-After"))}
	case resp.StatusCode == http.StatusBadRequest:
		return fmt.Errorf("%w: fcm answers %s", push.ErrRejected, r.Error.Status)
	default: // 401 and 403 too: an operator may correct them
		return fmt.Errorf("fcm: the service answers %d", resp.StatusCode)
	}
}
