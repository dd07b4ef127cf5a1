package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"
)

// origin is the machine that serves the site, called as if the domain's DNS pointed to it.
type origin struct {
	base   *url.URL
	domain string
	client *http.Client
}

func newOrigin(address, domain string, network http.RoundTripper, timeout time.Duration) (origin, error) {
	base, err := url.Parse(address)
	if err != nil || base.Host == "" {
		return origin{}, fmt.Errorf("%q is not the address of a machine", address)
	}
	return origin{base: base, domain: domain, client: &http.Client{
		Transport: network, Timeout: timeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}, nil
}

func (o origin) String() string {
	if o.base == nil {
		return ""
	}
	return o.base.Scheme + "://" + o.base.Host
}

// served is an answer of the machine.
type served struct {
	status int
	header http.Header
	body   []byte
}

// get fetches a path of the site; header holds pairs of names and values.
func (o origin) get(ctx context.Context, path string, header ...string) (served, error) {
	return o.raw(ctx, o.domain, (&url.URL{Path: path}).EscapedPath(), header...)
}

// raw fetches target exactly as written, without cleaning or encoding.
func (o origin) raw(ctx context.Context, host, target string, header ...string) (served, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, o.String(), nil)
	if err != nil {
		return served{}, err
	}
	req.Host = host
	req.URL.Opaque = target
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	res, err := o.client.Do(req)
	if err != nil {
		return served{}, err
	}
	body, err := io.ReadAll(res.Body)
	return served{res.StatusCode, res.Header, body}, errors.Join(err, res.Body.Close())
}
