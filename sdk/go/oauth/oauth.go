// Package oauth signs a customer in to a Stead server: OAuth 2.0 with PKCE, for programs with a browser at hand and without.
// A [Source] gives the client its tokens and refreshes them.
package oauth

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"
)

// Config is an application that is registered at a server.
type Config struct {
	Server       string // address, such as https://my.example.com
	ClientID     string
	ClientSecret string // of a confidential application
	Scopes       []string
	HTTP         *http.Client
}

// Token is what the server gives. It is secret.
type Token struct {
	Access  string    `json:"access_token"`
	Refresh string    `json:"refresh_token,omitempty"`
	Expires time.Time `json:"expires_at"`
	Scope   string    `json:"scope,omitempty"`
}

// Error is a refusal by the OAuth endpoints.
type Error struct {
	Key         string // such as invalid_grant: sign in again
	Description string
	Status      int
}

func (e *Error) Error() string {
	if e.Description == "" {
		return "oauth: " + e.Key
	}
	return "oauth: " + e.Key + ": " + e.Description
}

// NewVerifier makes a secret for PKCE, or for the state of a request.
func NewVerifier() string {
	var b [32]byte
	_, _ = rand.Read(b[:])
	return base64.RawURLEncoding.EncodeToString(b[:])
}

// AuthorizeURL is where the customer's browser goes to allow the application. It comes back to redirect with a code and the state.
func (c Config) AuthorizeURL(redirect, state, verifier string) string {
	sum := sha256.Sum256([]byte(verifier))
	q := url.Values{
		"response_type": {"code"}, "client_id": {c.ClientID}, "redirect_uri": {redirect}, "state": {state},
		"code_challenge": {base64.RawURLEncoding.EncodeToString(sum[:])}, "code_challenge_method": {"S256"},
	}
	if len(c.Scopes) > 0 {
		q.Set("scope", strings.Join(c.Scopes, " "))
	}
	return strings.TrimRight(c.Server, "/") + "/oauth/authorize?" + q.Encode()
}

// Exchange turns a code into tokens.
func (c Config) Exchange(ctx context.Context, code, redirect, verifier string) (Token, error) {
	return c.token(ctx, url.Values{"grant_type": {"authorization_code"}, "code": {code}, "redirect_uri": {redirect}, "code_verifier": {verifier}})
}

// A server repeats the answer to a refresh for 10 s; the same refresh token later is taken for a stolen one, and ends the sign-in.
// Two tries and the pause between them are shorter than that.
const (
	refreshTimeout = 4 * time.Second
	refreshPause   = time.Second
)

// Refresh gets new tokens. The refresh token is used up by it: keep the new one. Once begun it goes on when ctx ends, for 9 seconds
// at most, because new tokens that the server has made and nobody has read cannot be asked for later. A try without an answer is
// repeated once, which gets the same tokens.
func (c Config) Refresh(ctx context.Context, refresh string) (Token, error) {
	if err := ctx.Err(); err != nil {
		return Token{}, err
	}
	ctx = context.WithoutCancel(ctx)
	token, err := c.refreshOnce(ctx, refresh)
	var refused *Error
	if err == nil || errors.As(err, &refused) && refused.Status < http.StatusInternalServerError {
		return token, err
	}
	time.Sleep(refreshPause)
	return c.refreshOnce(ctx, refresh)
}

func (c Config) refreshOnce(ctx context.Context, refresh string) (Token, error) {
	ctx, cancel := context.WithTimeout(ctx, refreshTimeout)
	defer cancel()
	return c.token(ctx, url.Values{"grant_type": {"refresh_token"}, "refresh_token": {refresh}})
}

// Revoke ends what came of a sign-in: all its access and refresh tokens.
func (c Config) Revoke(ctx context.Context, t Token) error {
	value := t.Refresh
	if value == "" {
		value = t.Access
	}
	response, err := c.post(ctx, "/oauth/revoke", url.Values{"token": {value}})
	if err != nil {
		return err
	}
	_ = response.Body.Close()
	return nil
}

func (c Config) token(ctx context.Context, form url.Values) (Token, error) {
	response, err := c.post(ctx, "/oauth/token", form)
	if err != nil {
		return Token{}, err
	}
	defer func() { _ = response.Body.Close() }()
	var answer struct {
		Token
		ExpiresIn int64 `json:"expires_in"`
	}
	if err := json.NewDecoder(io.LimitReader(response.Body, 1<<20)).Decode(&answer); err != nil {
		return Token{}, fmt.Errorf("oauth: the answer cannot be read: %w", err)
	}
	answer.Expires = time.Now().Add(time.Duration(answer.ExpiresIn) * time.Second)
	return answer.Token, nil
}

func (c Config) post(ctx context.Context, path string, form url.Values) (*http.Response, error) {
	form.Set("client_id", c.ClientID)
	if c.ClientSecret != "" {
		form.Set("client_secret", c.ClientSecret)
	}
	q, err := http.NewRequestWithContext(ctx, http.MethodPost, strings.TrimRight(c.Server, "/")+path, strings.NewReader(form.Encode()))
	if err != nil {
		return nil, err
	}
	q.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	q.Header.Set("Accept", "application/json")
	client := c.HTTP
	if client == nil {
		client = &http.Client{Timeout: 30 * time.Second}
	}
	response, err := client.Do(q)
	if err != nil || response.StatusCode == http.StatusOK {
		return response, err
	}
	defer func() { _ = response.Body.Close() }()
	var told struct {
		Error       string `json:"error"`
		Description string `json:"error_description"`
		Message     string `json:"message"`
	}
	body, _ := io.ReadAll(io.LimitReader(response.Body, 1<<20))
	_ = json.Unmarshal(body, &told)
	if told.Description == "" {
		told.Description = told.Message
	}
	if told.Error == "" {
		told.Error = fmt.Sprintf("http_%d", response.StatusCode)
	}
	return nil, &Error{told.Error, told.Description, response.StatusCode}
}

// ErrDenied says that the customer did not allow the application.
var ErrDenied = errors.New("oauth: access was denied in the browser")

// Login signs in by a browser on this machine: it listens on a loopback address, has the browser opened there, and waits
// until it comes back or ctx ends. The application must have the redirect address http://127.0.0.1/callback registered; the port
// is free.
func (c Config) Login(ctx context.Context, open func(address string) error) (Token, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return Token{}, err
	}
	defer func() { _ = listener.Close() }()
	redirect := "http://" + listener.Addr().String() + "/callback"
	state, verifier := NewVerifier(), NewVerifier()
	codes, failures := make(chan string, 1), make(chan error, 1)
	server := &http.Server{ReadHeaderTimeout: 10 * time.Second, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		if r.URL.Path != "/callback" {
			http.NotFound(w, r)
			return
		}
		code, err := readCallback(r.URL.Query(), state)
		switch {
		case err == nil:
			_, _ = io.WriteString(w, "You are signed in. You can close this page.\n")
			first(codes, code)
		case errors.Is(err, errState): // of another program, or an attack: keep waiting
			http.Error(w, err.Error(), http.StatusBadRequest)
		default:
			_, _ = io.WriteString(w, err.Error()+"\n") //nolint:gosec // plain text, and never sniffed
			first(failures, err)
		}
	})}
	go func() { _ = server.Serve(listener) }()
	defer func() {
		// The browser gets its page before the program goes on.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		_ = server.Shutdown(ctx)
	}()
	if err := open(c.AuthorizeURL(redirect, state, verifier)); err != nil {
		return Token{}, err
	}
	select {
	case <-ctx.Done():
		return Token{}, ctx.Err()
	case err := <-failures:
		return Token{}, err
	case code := <-codes:
		return c.Exchange(ctx, code, redirect, verifier)
	}
}

func first[T any](c chan<- T, v T) {
	select {
	case c <- v:
	default:
	}
}

// DeviceCode is what a customer needs to sign in on another device (RFC 8628).
type DeviceCode struct {
	UserCode string `json:"user_code"`        // to enter at Address
	Address  string `json:"verification_uri"` // to open in a browser
	// Complete is the same page with the code filled in.
	Complete string `json:"verification_uri_complete"`

	Code      string `json:"device_code"` // secret
	ExpiresIn int64  `json:"expires_in"`  // seconds
	Interval  int64  `json:"interval"`    // seconds between two polls
}

// LoginDevice signs in by a browser on another device: show tells the customer where to open which page and which code to enter
// there, and the tokens come once the customer has allowed it. It ends with ErrDenied when the customer refuses, and with an [Error]
// of the key expired_token when nobody decides in time.
func (c Config) LoginDevice(ctx context.Context, show func(DeviceCode) error) (Token, error) {
	form := url.Values{}
	if len(c.Scopes) > 0 {
		form.Set("scope", strings.Join(c.Scopes, " "))
	}
	response, err := c.post(ctx, "/oauth/device_authorization", form)
	if err != nil {
		return Token{}, err
	}
	var d DeviceCode
	err = json.NewDecoder(io.LimitReader(response.Body, 1<<20)).Decode(&d)
	_ = response.Body.Close()
	if err != nil {
		return Token{}, fmt.Errorf("oauth: the answer cannot be read: %w", err)
	}
	if err := show(d); err != nil {
		return Token{}, err
	}
	interval := time.Duration(max(d.Interval, 1)) * time.Second
	ctx, cancel := context.WithTimeoutCause(ctx, time.Duration(max(d.ExpiresIn, 1))*time.Second, errExpired)
	defer cancel()
	for {
		select {
		case <-ctx.Done():
			return Token{}, context.Cause(ctx)
		case <-time.After(interval):
		}
		token, err := c.token(ctx, url.Values{"grant_type": {"urn:ietf:params:oauth:grant-type:device_code"}, "device_code": {d.Code}})
		var refused *Error
		switch {
		case err == nil:
			return token, nil
		case ctx.Err() != nil:
			return Token{}, context.Cause(ctx)
		case !errors.As(err, &refused):
			interval *= 2 // the connection failed (RFC 8628, section 3.5); the code stays good
		case refused.Key == "authorization_pending":
		case refused.Key == "slow_down":
			interval += 5 * time.Second
		case refused.Status == http.StatusTooManyRequests || refused.Status >= http.StatusInternalServerError:
			interval += 5 * time.Second
		case refused.Key == "access_denied":
			return Token{}, ErrDenied
		default:
			return Token{}, err
		}
	}
}

var errExpired error = &Error{Key: "expired_token", Description: "The code has expired: begin again.", Status: http.StatusBadRequest}

// LoginElsewhere signs in by a browser on another machine, such as from a server without one. Ask shows the customer
// the address; the browser ends at a page of 127.0.0.1 that cannot be opened, and ask returns that page's address.
func (c Config) LoginElsewhere(ctx context.Context, ask func(address string) (string, error)) (Token, error) {
	const redirect = "http://127.0.0.1/callback"
	state, verifier := NewVerifier(), NewVerifier()
	answer, err := ask(c.AuthorizeURL(redirect, state, verifier))
	if err != nil {
		return Token{}, err
	}
	u, err := url.Parse(strings.TrimSpace(answer))
	if err != nil {
		return Token{}, errState
	}
	code, err := readCallback(u.Query(), state)
	if err != nil {
		return Token{}, err
	}
	return c.Exchange(ctx, code, redirect, verifier)
}

var errState = errors.New("oauth: this is not the answer to this sign-in")

func readCallback(q url.Values, state string) (code string, err error) {
	switch {
	case q.Get("state") != state:
		return "", errState
	case q.Get("error") == "access_denied":
		return "", ErrDenied
	case q.Get("error") != "":
		return "", &Error{Key: q.Get("error"), Description: q.Get("error_description")}
	case q.Get("code") == "":
		return "", errState
	}
	return q.Get("code"), nil
}

// Source gives a client its access tokens and refreshes them a little before they expire. It may be used by many calls at once.
type Source struct {
	config Config
	save   func(Token) error

	mu    sync.Mutex
	token Token
}

// early is how long before its end a token is replaced.
const early = 30 * time.Second

// NewSource makes a source that begins with a token. Save keeps each new one; the one before is used up then. It may be nil.
func NewSource(config Config, token Token, save func(Token) error) *Source {
	return &Source{config: config, token: token, save: save}
}

// Token returns a token that has not expired.
func (s *Source) Token(ctx context.Context) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.token.Refresh != "" && time.Now().Add(early).After(s.token.Expires) {
		if err := s.refresh(ctx); err != nil {
			return "", err
		}
	}
	return s.token.Access, nil
}

// Refresh replaces a token that the server did not take.
func (s *Source) Refresh(ctx context.Context, expired string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.token.Access != expired {
		return nil // another call has replaced it
	}
	return s.refresh(ctx)
}

func (s *Source) refresh(ctx context.Context) error {
	if s.token.Refresh == "" {
		return &Error{Key: "invalid_grant", Description: "there is no refresh token: sign in again"}
	}
	fresh, err := s.config.Refresh(ctx, s.token.Refresh)
	if err != nil {
		return err
	}
	if fresh.Refresh == "" {
		fresh.Refresh = s.token.Refresh
	}
	s.token = fresh
	if s.save != nil {
		return s.save(fresh)
	}
	return nil
}
