package runs

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"stead.dev/stead/internal/platform/domainname"
	"stead.dev/stead/internal/platform/intx"
	"stead.dev/stead/internal/platform/outgoing"
)

// Places tells where services are served.
type Places interface {
	Place(ctx context.Context, accountID, serviceID int64) (Place, error)
}

// Place is where a service is served.
type Place struct {
	// Names are its domains that are served, the primary one first.
	Names []string
	// HTTP and HTTPS are the addresses, host:port, that answer for the names whatever the DNS says; empty where nothing does.
	HTTP, HTTPS string
	// Local tells that this machine answers, so its own addresses may be called.
	Local bool
}

// Bounds of a page that is fetched.
const (
	fetchTime   = 10 * time.Second
	mostFetched = 64 << 10
	mostHops    = 4
	mostTarget  = 2048 // bytes of a path with its query
	fetchAgent  = "Stead-Agent/1.0"
)

// fetched is what a site has answered.
type fetched struct {
	url      string
	status   int
	kind     string // media type
	location string // to where it sends visitors that is not followed; empty: nowhere
	body     []byte
	cut      bool // there is more of the body
}

var errNotServed = errors.New("runs: the site is served nowhere that can be asked")

// serves tells whether a name is one of the service's, with or without www.
func (p Place) serves(host string) bool {
	return slices.ContainsFunc(p.Names, func(name string) bool { return host == name || host == domainname.Twin(name) })
}

// fetch asks the server of a service for a page. It connects to that server alone, whatever the DNS says, and follows
// redirects on the service's own names alone.
func (p Place) fetch(ctx context.Context, host, target string) (fetched, error) {
	scheme := "http"
	switch {
	case p.HTTP != "":
	case p.HTTPS != "":
		scheme = "https"
	default:
		return fetched{}, errNotServed
	}
	ctx, cancel := context.WithTimeout(ctx, fetchTime)
	defer cancel()
	dialer := &net.Dialer{Timeout: fetchTime / 2, Control: outgoing.Machine{Local: p.Local}.Control}
	transport := &http.Transport{
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			if strings.HasSuffix(address, ":443") {
				return dialer.DialContext(ctx, network, p.HTTPS)
			}
			return dialer.DialContext(ctx, network, p.HTTP)
		},
		TLSHandshakeTimeout: fetchTime / 2, MaxResponseHeaderBytes: mostFetched, DisableKeepAlives: true,
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS12}, //nolint:gosec // nothing secret is sent; it is the platform's own server
	}
	client := &http.Client{
		Transport: intx.Transport{Next: transport}, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	at, err := url.Parse(scheme + "://" + host + target)
	if err != nil {
		return fetched{}, err
	}
	for hop := 0; ; hop++ {
		got, next, err := p.get(ctx, client, at)
		if err != nil || next == nil || hop == mostHops {
			return got, err
		}
		at = next
	}
}

// get asks for one address. next is where the answer leads to on the service's own names.
func (p Place) get(ctx context.Context, client *http.Client, at *url.URL) (got fetched, next *url.URL, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at.String(), nil)
	if err != nil {
		return got, nil, err
	}
	req.Header.Set("User-Agent", fetchAgent)
	req.Header.Set("Accept", "text/html,*/*;q=0.8")
	resp, err := client.Do(req)
	if err != nil {
		return got, nil, err
	}
	defer func() { _ = resp.Body.Close() }() // what was read counts
	got = fetched{url: at.String(), status: resp.StatusCode}
	got.kind, _, _ = mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if to := resp.Header.Get("Location"); to != "" && resp.StatusCode >= 300 && resp.StatusCode <= 399 {
		got.location = shorten(to, mostTarget)
		if next, err = at.Parse(to); err == nil && p.follows(next) {
			return got, next, nil
		}
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, mostFetched+1))
	if err != nil && len(body) == 0 {
		return got, nil, err
	}
	got.cut = len(body) > mostFetched || err != nil
	got.body = body[:min(len(body), mostFetched)]
	return got, nil, nil
}

// follows tells whether an address is the service's own, on the ports of the web.
func (p Place) follows(u *url.URL) bool {
	if u.User != nil || !p.serves(strings.ToLower(u.Hostname())) {
		return false
	}
	switch u.Scheme {
	case "http":
		return p.HTTP != "" && (u.Port() == "" || u.Port() == "80")
	case "https":
		return p.HTTPS != "" && (u.Port() == "" || u.Port() == "443")
	default:
		return false
	}
}

func fetchPage(ctx context.Context, w workplace, arguments string) (any, error) {
	in, err := decode[struct {
		Path string `json:"path"`
		Host string `json:"host"`
	}](arguments)
	if err != nil {
		return nil, err
	}
	place, err := w.Places.Place(ctx, w.accountID, w.serviceID)
	if err != nil {
		return nil, err
	}
	if len(place.Names) == 0 {
		return nil, refuse("not_served", "the site has no domain that is served")
	}
	host := strings.ToLower(in.Host)
	if host == "" {
		host = place.Names[0]
	}
	if !place.serves(host) {
		return nil, refuse("host_not_allowed", "only the site's own domains can be asked: %s", strings.Join(place.Names, ", "))
	}
	target, ok := targetOf(in.Path)
	if !ok {
		return nil, malformed("path must be one such as /shop/?page=2")
	}
	got, err := place.fetch(ctx, host, target)
	switch {
	case errors.Is(err, errNotServed):
		return nil, refuse("not_served", "the site is served nowhere yet")
	case err != nil && ctx.Err() != nil:
		return nil, err
	case err != nil:
		return nil, refuse("no_answer", "the site gave no answer: %s", outgoing.Reason(err))
	}
	text := "(the body is no text)"
	if utf8.Valid(got.body) || got.cut && utf8.ValidString(strings.ToValidUTF8(string(got.body), "")) && strings.HasPrefix(got.kind, "text/") {
		text = strings.ToValidUTF8(string(got.body), "")
	}
	out := w.lines("page", w.mask.Mask("", got.url), []string{text}, got.cut)
	out.Truncated = out.Truncated || len(text) > mostResult
	out.Status, out.Type, out.Location = got.status, plain(shorten(got.kind, 100)), w.mask.Mask("", plain(got.location))
	return out, nil
}

// targetOf is a path with its query as it is asked for; false for what is none.
func targetOf(path string) (string, bool) {
	u, err := url.Parse(path)
	if err != nil || len(path) > mostTarget || u.Scheme != "" || u.Host != "" || u.User != nil || u.Opaque != "" || !strings.HasPrefix(u.Path, "/") {
		return "", false
	}
	u.Fragment, u.RawFragment = "", ""
	return u.RequestURI(), true
}
