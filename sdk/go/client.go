package stead

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime/multipart"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Version is the version of the SDK; it is part of the User-Agent.
const Version = "0.1.0"

const (
	defaultRetries = 4
	firstDelay     = 500 * time.Millisecond
	longestDelay   = 8 * time.Second
	// longestWait bounds how long Retry-After may make a call wait. Beyond it the refusal is returned.
	longestWait = time.Minute
	// largestAnswer bounds what is read of an answer that is decoded.
	largestAnswer = 64 << 20
)

// TokenSource gives access tokens, such as the one of package oauth. It is asked before each try.
type TokenSource interface {
	Token(ctx context.Context) (string, error)
}

// Refresher is a [TokenSource] that can replace a token which the server no longer takes.
type Refresher interface {
	TokenSource
	// Refresh replaces the token; it does nothing when the token is another one already.
	Refresh(ctx context.Context, expired string) error
}

type staticToken string

func (t staticToken) Token(context.Context) (string, error) { return string(t), nil }

// Option changes a client.
type Option func(*caller)

// WithToken signs calls with an access token, or another key that the server takes as a bearer.
func WithToken(token string) Option { return func(c *caller) { c.tokens = staticToken(token) } }

// WithTokenSource signs calls with the tokens of a source.
func WithTokenSource(source TokenSource) Option { return func(c *caller) { c.tokens = source } }

// WithHTTPClient sends calls by a client of the caller, which has the timeouts and the proxy that it needs. Without it a connection
// that nothing answers on is given up, and calls last as long as the server works on them.
func WithHTTPClient(client *http.Client) Option { return func(c *caller) { c.http = client } }

// WithRetries sets how often a call is tried again; 4 by default, 0 never.
func WithRetries(n int) Option { return func(c *caller) { c.retries = n } }

// WithLanguage asks for messages and for texts of the company in a language: uz, ru or en.
func WithLanguage(language string) Option { return func(c *caller) { c.language = language } }

// WithUserAgent puts the name of the program before the one of the SDK.
func WithUserAgent(name string) Option {
	return func(c *caller) { c.agent = name + " " + c.agent }
}

// CallOption changes one call.
type CallOption func(*request)

// WithIdempotencyKey names the intention of a call that moves money, so that a later call with the same key, also of another
// process, does not repeat it. Without it each call gets a key of its own, which its retries keep.
func WithIdempotencyKey(key string) CallOption {
	return func(r *request) { r.key = key }
}

// WithHeader sends a header with one call, such as If-Match.
func WithHeader(name, value string) CallOption {
	return func(r *request) {
		if r.headers == nil {
			r.headers = http.Header{}
		}
		r.headers.Set(name, value)
	}
}

// New makes a client of the server at the address, such as https://my.example.com, for a customer.
func New(address string, options ...Option) (*Client, error) {
	caller, err := newCaller(address, options)
	if err != nil {
		return nil, err
	}
	c := &Client{caller: caller}
	c.assemble()
	return c, nil
}

// NewReseller makes a client of the server at the address for a reseller, by an API key: rsk_… or rsk_test_….
func NewReseller(address, key string, options ...Option) (*Reseller, error) {
	caller, err := newCaller(address, append([]Option{WithToken(key)}, options...))
	if err != nil {
		return nil, err
	}
	c := &Reseller{caller: caller}
	c.assemble()
	return c, nil
}

// caller sends the requests of all methods.
type caller struct {
	base     string
	http     *http.Client
	tokens   TokenSource
	retries  int
	language string
	agent    string
	sleep    func(ctx context.Context, d time.Duration) error // replaced by tests
}

func newCaller(address string, options []Option) (*caller, error) {
	u, err := url.Parse(address)
	if err != nil || (u.Scheme != "https" && u.Scheme != "http") || u.Host == "" || u.RawQuery != "" || u.Fragment != "" {
		return nil, fmt.Errorf("stead: %q is no address of a server, such as https://my.example.com", address)
	}
	c := &caller{
		base: strings.TrimRight(address, "/"), retries: defaultRetries, agent: "stead-go/" + Version, sleep: sleep,
		// A redirect of the API is an error of the address; following it would send the token elsewhere.
		http: &http.Client{
			Transport:     transport(),
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
	for _, o := range options {
		o(c)
	}
	return c, nil
}

// longestWork bounds the time from a request that was sent to the headers of its answer: a server works on one for a quarter of an
// hour at most. What is read then has no bound, because logs are followed for hours.
const longestWork = 16 * time.Minute

// transport returns what clients without one of their own share: the program's usual one, which bounds how long connecting takes,
// and which here gives up connections that nothing comes back on.
var transport = sync.OnceValue(func() http.RoundTripper {
	usual, ok := http.DefaultTransport.(*http.Transport)
	if !ok {
		return http.DefaultTransport // of the program, which has put one of its own there
	}
	t := usual.Clone()
	t.ResponseHeaderTimeout = longestWork
	// With HTTP/2 one connection has all calls, and the kernel gives up one with unanswered data after a quarter of an hour only.
	if t.HTTP2 == nil {
		t.HTTP2 = &http.HTTP2Config{}
	}
	t.HTTP2.SendPingTimeout, t.HTTP2.PingTimeout = 15*time.Second, 15*time.Second
	return t
})

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}

// request is one call.
type request struct {
	method, path string
	query        url.Values
	body         body
	accept       string
	keyed        bool   // the operation takes an Idempotency-Key
	key          string // the key
	headers      http.Header
	options      []CallOption
}

// body is the content of a request. Open is called once for each try.
type body struct {
	contentType string
	open        func() (io.Reader, error)
	err         error
	size        int64 // 0: unknown, or empty
	once        bool  // it can be read only once
}

func jsonBody(v any) body {
	data, err := json.Marshal(v)
	return body{contentType: "application/json", err: err, open: func() (io.Reader, error) { return bytes.NewReader(data), nil }}
}

// UploadFile is a file that is uploaded.
type UploadFile struct {
	Name    string
	Content io.Reader
}

// formBody sends the files as they are read; what has been read cannot be sent again.
func formBody(files []UploadFile) body {
	boundary := multipart.NewWriter(nil).Boundary()
	return body{contentType: "multipart/form-data; boundary=" + boundary, once: true, open: func() (io.Reader, error) {
		r, w := io.Pipe()
		go func() {
			form := multipart.NewWriter(w)
			err := form.SetBoundary(boundary)
			for _, f := range files {
				if err != nil {
					break
				}
				var part io.Writer
				if part, err = form.CreateFormFile("file", f.Name); err == nil {
					_, err = io.Copy(part, f.Content)
				}
			}
			if err == nil {
				err = form.Close()
			}
			w.CloseWithError(err)
		}()
		return r, nil
	}}
}

// call sends a request and decodes its answer.
func (c *caller) call(ctx context.Context, r request, into any) error {
	response, err := c.do(ctx, r)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	if into == nil || response.StatusCode == http.StatusNoContent {
		return nil
	}
	if err := json.NewDecoder(io.LimitReader(response.Body, largestAnswer)).Decode(into); err != nil {
		return fmt.Errorf("stead: %s %s: the answer cannot be read: %w", r.method, r.path, err)
	}
	return nil
}

// Download is an answer that is not decoded. The caller closes it.
type Download struct {
	io.ReadCloser
	Header http.Header
}

func (c *caller) download(ctx context.Context, r request) (*Download, error) {
	if r.accept == "" {
		r.accept = "*/*"
	}
	response, err := c.do(ctx, r) //nolint:bodyclose // the answer's reader is the body
	if err != nil {
		return nil, err
	}
	return &Download{response.Body, response.Header}, nil // the caller closes it
}

// do sends a request until it succeeds, is refused, or its tries are used up.
func (c *caller) do(ctx context.Context, r request) (*http.Response, error) {
	for _, o := range r.options {
		o(&r)
	}
	if r.body.err != nil {
		return nil, fmt.Errorf("stead: %s %s: %w", r.method, r.path, r.body.err)
	}
	if r.keyed && r.key == "" {
		r.key = newKey()
	}
	uncertain := false // an earlier try may have been done
	renewed := false
	for try := 0; ; try++ {
		token, response, err := c.send(ctx, r)
		if err == nil && response.StatusCode < 300 {
			return response, nil
		}
		var refusal *Error
		var local notSent
		if errors.As(err, &local) {
			return nil, fmt.Errorf("stead: %s %s: %w", r.method, r.path, local.error)
		}
		if err == nil {
			refusal = readError(r, response)
			err = refusal
		}
		if refusal != nil && refusal.Status == http.StatusNotFound && r.method == http.MethodDelete && uncertain {
			// What an earlier try has deleted is gone.
			return &http.Response{StatusCode: http.StatusNoContent, Header: response.Header, Body: http.NoBody}, nil
		}
		if source, ok := c.tokens.(Refresher); ok && refusal != nil && refusal.Status == http.StatusUnauthorized && !renewed && !r.body.once {
			renewed = true
			if err := source.Refresh(ctx, token); err != nil {
				return nil, err
			}
			continue
		}
		delay, again := c.next(ctx, r, refusal, try)
		if !again {
			return nil, err
		}
		uncertain = uncertain || refusal == nil || refusal.Status >= 500
		if err := c.sleep(ctx, delay); err != nil {
			return nil, err
		}
	}
}

// send makes one try.
func (c *caller) send(ctx context.Context, r request) (token string, response *http.Response, err error) {
	address := c.base + r.path
	query := maps.Clone(r.query)
	if c.language != "" {
		if query == nil {
			query = url.Values{}
		}
		query.Set("lang", c.language)
	}
	if len(query) > 0 {
		address += "?" + query.Encode()
	}
	var content io.Reader
	if r.body.open != nil {
		if content, err = r.body.open(); err != nil {
			return "", nil, notSent{err}
		}
	}
	q, err := http.NewRequestWithContext(ctx, r.method, address, content)
	if err != nil {
		return "", nil, notSent{err}
	}
	if r.body.size > 0 {
		q.ContentLength = r.body.size
	}
	if c.tokens != nil {
		if token, err = c.tokens.Token(ctx); err != nil {
			return "", nil, notSent{err}
		}
		q.Header.Set("Authorization", "Bearer "+token)
	}
	q.Header.Set("User-Agent", c.agent)
	q.Header.Set("Accept", "application/json")
	if r.accept != "" {
		q.Header.Set("Accept", r.accept)
	}
	if r.body.contentType != "" {
		q.Header.Set("Content-Type", r.body.contentType)
	}
	if r.key != "" {
		q.Header.Set("Idempotency-Key", r.key)
	}
	for name, values := range r.headers {
		q.Header[name] = values
	}
	response, err = c.http.Do(q)
	return token, response, err
}

// notSent is an error before anything was sent: trying again would be the same.
type notSent struct{ error }

func (e notSent) Unwrap() error { return e.error }

// next decides whether a failed try is followed by another, and when. A refusal of nil is a broken connection.
func (c *caller) next(ctx context.Context, r request, refusal *Error, try int) (delay time.Duration, again bool) {
	if try >= c.retries || ctx.Err() != nil || r.body.once {
		return 0, false
	}
	// With If-Match or If-None-Match a try that was done would refuse its own repetition.
	conditional := r.headers.Get("If-Match") != "" || r.headers.Get("If-None-Match") != ""
	safe := (r.method != http.MethodPost || r.key != "") && !conditional
	switch {
	case refusal == nil:
		again = safe
	case refusal.Status == http.StatusTooManyRequests, refusal.Key == KeyIdempotencyInProgress:
		again = true
	case refusal.Status == http.StatusServiceUnavailable:
		again = safe || refusal.Key == KeyPanelBusy || refusal.Key == KeyMaintenance // refused before it began
	case refusal.Status == http.StatusInternalServerError, refusal.Status == http.StatusBadGateway, refusal.Status == http.StatusGatewayTimeout:
		again = safe
	}
	if refusal != nil && refusal.RetryAfter > 0 {
		return refusal.RetryAfter, again && refusal.RetryAfter <= longestWait
	}
	return jitter(min(longestDelay, firstDelay<<try)), again
}

// jitter spreads the tries of many clients: between half of d and d.
func jitter(d time.Duration) time.Duration {
	var b [2]byte
	_, _ = rand.Read(b[:])
	return d/2 + d/2*time.Duration(int(b[0])<<8|int(b[1]))/(1<<16)
}

func newKey() string {
	var b [16]byte
	_, _ = rand.Read(b[:])
	return hex.EncodeToString(b[:])
}

// Error is a refusal of the server.
type Error struct {
	Status     int                 // of HTTP
	Key        string              // what to branch on: one of the Key constants, or a newer one
	Message    string              // for people, in their language
	Fields     map[string][]string // with validation_failed: what is wrong with each field
	RetryAfter time.Duration       // when the server says so; 0 otherwise
	RequestID  string              // what to tell the company's support
	Body       []byte              // the whole answer; some keys add members
}

func (e *Error) Error() string {
	text := e.Message
	if text == "" {
		text = http.StatusText(e.Status)
	}
	for name, wrong := range e.Fields {
		text += fmt.Sprintf("; %s: %s", name, strings.Join(wrong, ", "))
	}
	if e.Key == "" {
		return fmt.Sprintf("stead: %d: %s", e.Status, text)
	}
	return fmt.Sprintf("stead: %s: %s", e.Key, text)
}

// HasKey reports whether err is, or wraps, a refusal with the key, such as KeyInsufficientFunds.
func HasKey(err error, key string) bool {
	var e *Error
	return errors.As(err, &e) && e.Key == key
}

func readError(r request, response *http.Response) *Error {
	defer func() { _ = response.Body.Close() }()
	e := &Error{Status: response.StatusCode, RequestID: response.Header.Get("X-Request-Id")}
	e.Body, _ = io.ReadAll(io.LimitReader(response.Body, 1<<20))
	var told struct {
		Error   string              `json:"error"`
		Message string              `json:"message"`
		Errors  map[string][]string `json:"errors"`
	}
	// Something between may answer with a page: then there is no key, and the status has to do.
	if json.Unmarshal(e.Body, &told) == nil {
		e.Key, e.Message, e.Fields = told.Error, told.Message, told.Errors
	}
	if e.Key == "" && response.StatusCode < 400 {
		e.Message = fmt.Sprintf("%s %s is redirected to %s: the address of the server is wrong", r.method, r.path, response.Header.Get("Location"))
	}
	if after := response.Header.Get("Retry-After"); after != "" {
		if seconds, err := strconv.Atoi(after); err == nil && seconds >= 0 {
			e.RetryAfter = time.Duration(seconds) * time.Second
		} else if at, err := http.ParseTime(after); err == nil {
			e.RetryAfter = max(0, time.Until(at))
		}
	}
	return e
}
