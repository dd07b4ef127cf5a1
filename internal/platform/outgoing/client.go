package outgoing

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"time"

	"stead.dev/stead/internal/platform/intx"
)

// Config of a Client.
type Config struct {
	// AllowLoopback accepts addresses of this machine; for tests.
	AllowLoopback bool
	// Timeout bounds a call from the lookup of the name to the end of reading the answer.
	Timeout time.Duration
	// RootCAs replace the system's trusted authorities; nil means the system's.
	RootCAs *x509.CertPool
}

// Client calls addresses that customers register. It is safe for concurrent use.
type Client struct {
	http  *http.Client
	guard Guard
}

// Bounds of what is read from an answer, in bytes.
const (
	maxExcerpt = 1 << 10
	maxHeader  = 16 << 10
)

// New makes a client.
func New(c Config) *Client {
	client := &Client{guard: Guard{AllowLoopback: c.AllowLoopback}}
	dialer := &net.Dialer{Timeout: c.Timeout, Control: client.guard.Control}
	client.http = &http.Client{
		Timeout:       c.Timeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: intx.Transport{Next: &http.Transport{
			Proxy:                  nil, // a proxy would resolve the name itself
			DialContext:            dialer.DialContext,
			TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: c.RootCAs},
			TLSHandshakeTimeout:    c.Timeout,
			MaxResponseHeaderBytes: maxHeader,
			MaxIdleConns:           256,
			MaxIdleConnsPerHost:    1,
			IdleConnTimeout:        30 * time.Second,
			ForceAttemptHTTP2:      true,
			DisableCompression:     true, // no decompression: the answer could be a zip bomb
		}},
	}
	return client
}

// Answer is the part of an answer that is kept.
type Answer struct {
	Status int
	Header http.Header
	// Excerpt is the beginning of the body as text: at most 1 KiB of valid UTF-8, without NUL.
	Excerpt string
}

// Post sends body to the address. An answer of any status is a success; it does not follow redirects. An answer whose
// body breaks off is one too: its status is known.
func (c *Client) Post(ctx context.Context, address string, header http.Header, body []byte) (Answer, error) {
	if err := Check(address, c.guard.AllowLoopback); err != nil {
		return Answer{}, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(body))
	if err != nil {
		return Answer{}, ErrTarget
	}
	if header != nil {
		r.Header = header.Clone()
	}
	resp, err := c.http.Do(r)
	if err != nil {
		return Answer{}, fmt.Errorf("outgoing: %w", err)
	}
	defer func() { _ = resp.Body.Close() }()
	read, _ := io.ReadAll(io.LimitReader(resp.Body, maxExcerpt)) // the part that was read counts
	return Answer{Status: resp.StatusCode, Header: resp.Header, Excerpt: text(read)}, nil
}

// text converts bytes to text that every database and reader accepts.
func text(b []byte) string {
	return strings.ReplaceAll(strings.ToValidUTF8(string(b), "\uFFFD"), "\x00", "\uFFFD")
}

// Reason is the public key that explains why a call had no answer (resources, section 8: a check's error_key).
func Reason(err error) string {
	var (
		lookup  *net.DNSError
		timeout net.Error
		cert    *tls.CertificateVerificationError
		record  tls.RecordHeaderError
		alert   tls.AlertError
	)
	switch {
	case errors.Is(err, ErrTarget):
		return "blocked_target"
	case errors.As(err, &timeout) && timeout.Timeout():
		return "timeout"
	case errors.As(err, &lookup):
		return "dns_failed"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "connection_refused"
	case errors.As(err, &cert), errors.As(err, &record), errors.As(err, &alert):
		return "tls_invalid"
	default:
		return "connection_failed"
	}
}
