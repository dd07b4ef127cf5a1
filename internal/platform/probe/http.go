package probe

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/outgoing"
)

const (
	maxRedirects = 5
	maxHeader    = 64 << 10
	userAgent    = "Stead-Monitor/1"
)

type originKey struct{}

// transport opens a connection for each request. A target's own origin, where it has one, is judged as a machine.
func (p *Prober) transport(verify bool) http.RoundTripper {
	return &http.Transport{
		Proxy: nil, // a proxy would resolve the name itself
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			if origin, ok := ctx.Value(originKey{}).(string); ok {
				return p.ours.DialContext(ctx, network, origin)
			}
			if host, port, err := net.SplitHostPort(address); err == nil && p.Local.Serves(host) {
				return p.Local.Dial(ctx, network, port, 0) // the context bounds it
			}
			return p.dialer.DialContext(ctx, network, address)
		},
		TLSClientConfig: &tls.Config{
			MinVersion: tls.VersionTLS12, RootCAs: p.RootCAs, Time: p.Clock.Now,
			InsecureSkipVerify: !verify, //nolint:gosec // the customer's choice, for a check of a server of theirs
		},
		DisableKeepAlives: true, DisableCompression: true, // no decompression: the answer could be a zip bomb
		MaxResponseHeaderBytes: maxHeader,
	}
}

// phases are the times of a request. Connections that are given up may still report, so it has a lock.
type phases struct {
	elapsed func() time.Duration

	mu                          sync.Mutex
	lookup, lookedUp, handshake time.Duration // when they began, and when the lookup ended
	secure, connected           bool
	result                      Result
}

func (h *phases) trace() *httptrace.ClientTrace {
	locked := func(f func()) {
		h.mu.Lock()
		defer h.mu.Unlock()
		f()
	}
	return &httptrace.ClientTrace{
		DNSStart: func(httptrace.DNSStartInfo) { locked(func() { h.lookup = h.elapsed() }) },
		DNSDone: func(httptrace.DNSDoneInfo) {
			locked(func() { h.lookedUp = h.elapsed(); h.result.Lookup = h.lookedUp - h.lookup })
		},
		TLSHandshakeStart: func() {
			locked(func() { h.secure = true; h.handshake = h.elapsed(); h.result.Connect = h.handshake - h.lookedUp })
		},
		TLSHandshakeDone: func(s tls.ConnectionState, err error) {
			locked(func() {
				if err == nil {
					h.result.TLS = h.elapsed() - h.handshake
					h.result.Certificate = certificateOf(s, len(s.VerifiedChains) > 0)
				}
			})
		},
		GotConn: func(httptrace.GotConnInfo) {
			locked(func() {
				h.connected = true
				if !h.secure {
					h.result.Connect = h.elapsed() - h.lookedUp
				}
			})
		},
		GotFirstResponseByte: func() { locked(func() { h.result.FirstByte = h.elapsed() }) },
	}
}

// far returns what was measured, and how far the request came.
func (h *phases) far() (r Result, connected, secure bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.result, h.connected, h.secure
}

func (p *Prober) http(ctx context.Context, t Target) Result {
	address, err := url.Parse(t.URL)
	if err != nil {
		return failed(KeyBlocked, "the address is none")
	}
	via := p.checked
	if !t.Verify {
		via = p.lenient
	}
	method, header, body := t.Method, t.Header, t.Body
	if method == "" {
		method = http.MethodGet
	}
	elapsed := clock.Stopwatch()
	if t.Origin != "" {
		ctx = context.WithValue(ctx, originKey{}, t.Origin)
	}
	for hop := 0; ; hop++ {
		h := &phases{elapsed: clock.Stopwatch()}
		resp, err := p.request(ctx, via, h, method, address, header, body)
		if err != nil {
			measured, connected, secure := h.far()
			r := reason(err, !connected && !secure)
			if secure && !connected && r.ErrorKey == KeyConnection {
				r = failed(KeyTLS, "no secure connection")
			}
			r.Lookup, r.Connect, r.Response = measured.Lookup, measured.Connect, elapsed()
			return r
		}
		to := resp.Header.Get("Location")
		if !t.Follow || !redirects(resp.StatusCode) || to == "" {
			r := p.judged(t, resp, h)
			r.Response = elapsed()
			return r
		}
		next, err := address.Parse(to)
		if err == nil && t.Origin != "" && !sameOrigin(address, next) { // what is checked is the server, which has answered
			r := p.judged(t, resp, h)
			r.Response = elapsed()
			return r
		}
		_ = resp.Body.Close() // of a redirect
		if hop == maxRedirects {
			return failed(KeyRedirects, fmt.Sprintf("more than %d redirects", maxRedirects))
		}
		if err != nil || next.Scheme != "http" && next.Scheme != "https" || next.User != nil || next.Hostname() == "" {
			return failed(KeyRedirects, "a redirect leads to no address of the web")
		}
		if !sameOrigin(address, next) {
			header, body = nil, "" // they are not for others
			if method != http.MethodHead {
				method = http.MethodGet
			}
		} else if resp.StatusCode != http.StatusTemporaryRedirect && resp.StatusCode != http.StatusPermanentRedirect && method != http.MethodHead {
			method, body = http.MethodGet, ""
		}
		address = next
	}
}

func (p *Prober) request(ctx context.Context, via http.RoundTripper, h *phases, method string, to *url.URL, header http.Header, body string) (*http.Response, error) {
	var content io.Reader
	if body != "" {
		content = strings.NewReader(body)
	}
	r, err := http.NewRequestWithContext(httptrace.WithClientTrace(ctx, h.trace()), method, to.String(), content)
	if err != nil {
		return nil, outgoing.ErrTarget
	}
	r.Header.Set("User-Agent", userAgent)
	for name, values := range header {
		if strings.EqualFold(name, "Host") {
			r.Host = values[0]
			continue
		}
		r.Header[http.CanonicalHeaderKey(name)] = values
	}
	return via.RoundTrip(r)
}

func redirects(status int) bool {
	switch status {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		return true
	default:
		return false
	}
}

func sameOrigin(a, b *url.URL) bool {
	return a.Scheme == b.Scheme && strings.EqualFold(a.Hostname(), b.Hostname()) && portOf(a) == portOf(b)
}

func portOf(u *url.URL) string {
	switch {
	case u.Port() != "":
		return u.Port()
	case u.Scheme == "https":
		return "443"
	default:
		return "80"
	}
}

// judged holds an answer to what is expected of it.
func (p *Prober) judged(t Target, resp *http.Response, h *phases) Result {
	defer func() { _ = resp.Body.Close() }()
	r, _, _ := h.far()
	r.HTTPStatus = resp.StatusCode
	limit := p.maxBody
	if t.Type != HTTP {
		limit = p.maxMatch
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, limit))
	switch {
	case !Expected(t.Statuses, resp.StatusCode):
		r.ErrorKey, r.Detail = KeyStatus, "the answer was "+strconv.Itoa(resp.StatusCode)
		return r
	case err != nil && !errors.Is(err, http.ErrBodyReadAfterClose):
		failure := reason(err, false)
		failure.HTTPStatus, failure.Lookup, failure.Connect, failure.TLS, failure.FirstByte = r.HTTPStatus, r.Lookup, r.Connect, r.TLS, r.FirstByte
		failure.Certificate = r.Certificate
		return failure
	}
	r.ErrorKey, r.Detail = content(t, body)
	r.OK = r.ErrorKey == ""
	return r
}

// Expected reports whether a status is one of those: codes, and ranges such as "200-299".
func Expected(statuses []string, status int) bool {
	if len(statuses) == 0 {
		return status >= 200 && status <= 299
	}
	for _, s := range statuses {
		if low, high, ok := ParseStatuses(s); ok && status >= low && status <= high {
			return true
		}
	}
	return false
}

// ParseStatuses reads a code, or a range of them.
func ParseStatuses(s string) (low, high int, ok bool) {
	first, last, isRange := strings.Cut(s, "-")
	low, err := strconv.Atoi(first)
	high = low
	if err == nil && isRange {
		high, err = strconv.Atoi(last)
	}
	return low, high, err == nil && low >= 100 && high <= 599 && low <= high
}
