package insights

import (
	"compress/gzip"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"path"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/domainname"
	"stead.dev/stead/internal/platform/intx"
	"stead.dev/stead/internal/platform/outgoing"
)

// Bounds of what an audit does to a site.
const (
	crawlTime    = 18 * time.Second
	requestTime  = 8 * time.Second
	mostPages    = 12
	mostLooks    = 80 // links and pictures beside the pages
	mostRequests = 150
	mostBytes    = 24 << 20 // of all answers
	mostPage     = 2 << 20
	mostRobots   = 64 << 10
	mostHeader   = 64 << 10
	mostHops     = 4
	mostDials    = 2 // addresses of a host that are tried
	atOnce       = 3
	userAgent    = "Stead-Audit/1.0"
)

// Crawler visits sites.
type Crawler struct {
	Resolver interface {
		LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
	}
	Clock clock.Clock
	// HTTPPort and HTTPSPort are those of the web; tests use others.
	HTTPPort, HTTPSPort string
	// AllowLoopback accepts addresses of this machine to which a domain leads; for tests.
	AllowLoopback bool
}

// Site is where the site of a service is.
type Site struct {
	Host string
	// Addresses are those of the service's server. A domain that leads elsewhere is not visited there.
	Addresses []string
	// OriginURL answers HTTP for the host whatever the DNS says, as the hosting machine says, which could lie. Empty: there is none.
	OriginURL string
	// Local tells that this machine answers there, so its own addresses may be called.
	Local bool
}

// visit is one audit's way through one site.
type visit struct {
	*Crawler
	guard      outgoing.Guard
	host, twin string // twin is with www. or without
	origin     string // host and port that are called whatever the DNS says; empty: the DNS leads to the service
	machine    outgoing.Machine
	addresses  []string
	http       *http.Client
	requests   atomic.Int64
	bytes      atomic.Int64
}

var (
	errSpent = errors.New("insights: the audit has asked for enough")
	errAway  = errors.New("insights: the address is not on the site")
)

// crawl gathers what there is to see of a site.
func (c *Crawler) crawl(ctx context.Context, s Site) facts {
	ctx, cancel := context.WithTimeout(ctx, crawlTime)
	defer cancel()
	v := &visit{
		Crawler: c, guard: outgoing.Guard{AllowLoopback: c.AllowLoopback}, host: s.Host, twin: domainname.Twin(s.Host), addresses: s.Addresses,
		machine: outgoing.Machine{Local: s.Local},
	}
	transport := &http.Transport{
		Proxy: nil, DialContext: v.dial, TLSHandshakeTimeout: requestTime, MaxResponseHeaderBytes: mostHeader, DisableCompression: true, // unpacked within bounds
		MaxConnsPerHost: atOnce,
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS12}, //nolint:gosec // nothing secret is sent; certificates are judged by scans
	}
	defer transport.CloseIdleConnections()
	v.http = &http.Client{
		Timeout: requestTime, Transport: intx.Transport{Next: transport},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	if s.Host == "" {
		return facts{skipped: true}
	}
	if _, err := v.resolve(ctx, s.Host); err == nil {
		return v.walk(ctx, "https", "http")
	}
	// The domain does not lead here, so the site is asked for at its server.
	origin, err := url.Parse(s.OriginURL)
	if err != nil || origin.Hostname() == "" || strings.HasSuffix(origin.Hostname(), ".invalid") || origin.Scheme != "http" {
		return facts{skipped: true}
	}
	port := origin.Port()
	if port == "" {
		port = "80"
	}
	v.origin = net.JoinHostPort(origin.Hostname(), port)
	return v.walk(ctx, "http")
}

// walk visits the site by the first of the schemes that answers.
func (v *visit) walk(ctx context.Context, schemes ...string) facts {
	f := facts{looked: map[string]resource{}, complete: true}
	for _, scheme := range schemes {
		start := &url.URL{Scheme: scheme, Host: v.host, Path: "/"}
		first, err := v.page(ctx, start)
		switch {
		case errors.Is(err, errAway):
			return facts{skipped: true} // the site is elsewhere, or sends everybody to HTTPS, which cannot be seen from here
		case err != nil:
			f.failure = outgoing.Reason(err)
			continue
		}
		f.reached, f.failure, f.status, f.pages = true, "", first.status, []visited{first.visited}
		v.spread(ctx, &f, first)
		return f
	}
	return f
}

// found is a page with the address at which it was in the end.
type found struct {
	visited

	at *url.URL
}

// spread visits what the first page leads to.
func (v *visit) spread(ctx context.Context, f *facts, first found) {
	var (
		seen  = map[string]bool{"/": true, first.path: true}
		pages []link
		looks []link
	)
	// note notes an address that a page names, unless it was noted before.
	note := func(to *[]link, p found, u *url.URL, picture bool) {
		l := link{url: u, subject: subjectOf(u), from: p.path, picture: picture}
		if v.own(u) && !seen[l.subject] {
			seen[l.subject] = true
			*to = append(*to, l)
		}
	}
	noteAll := func(p found) {
		for _, u := range p.links {
			if pageLike(u.Path) {
				note(&pages, p, u, false)
			} else {
				note(&looks, p, u, false)
			}
		}
		for _, u := range p.pictures {
			note(&looks, p, u, true)
		}
		for _, u := range p.assets {
			note(&looks, p, u, false)
		}
	}
	noteAll(first)
	for len(pages) > 0 && len(f.pages) < mostPages {
		wave := pages[:min(atOnce, len(pages), mostPages-len(f.pages))]
		pages = pages[len(wave):]
		answers := make([]found, len(wave))
		failed := make([]error, len(wave))
		each(len(wave), func(i int) { answers[i], failed[i] = v.page(ctx, wave[i].url) })
		for i, l := range wave {
			switch {
			case errors.Is(failed[i], errAway):
			case failed[i] != nil:
				f.complete = false
			default:
				f.looked[l.subject] = resource{path: l.subject, status: answers[i].status, from: l.from}
				if answers[i].status == http.StatusOK && !slices.ContainsFunc(f.pages, func(p visited) bool { return p.path == answers[i].path }) {
					f.pages = append(f.pages, answers[i].visited)
					noteAll(answers[i])
				}
			}
		}
	}
	looks = append(looks, pages...) // links beyond the pages that are read are only tried
	if len(pages) > 0 || len(looks) > mostLooks {
		f.complete = false
	}
	looks = looks[:min(len(looks), mostLooks)]
	answers := make([]resource, len(looks))
	failed := make([]error, len(looks))
	each(len(looks), func(i int) { answers[i], failed[i] = v.look(ctx, looks[i]) })
	for i, l := range looks {
		if failed[i] != nil {
			f.complete = f.complete && errors.Is(failed[i], errAway)
			continue
		}
		f.looked[l.subject] = answers[i]
	}
	v.readRobots(ctx, f, first.at)
}

func (v *visit) readRobots(ctx context.Context, f *facts, at *url.URL) {
	a, err := v.get(ctx, http.MethodGet, &url.URL{Scheme: at.Scheme, Host: at.Host, Path: "/robots.txt"}, mostRobots)
	if err != nil || a.status >= http.StatusInternalServerError {
		return
	}
	f.robotsKnown = true
	if a.status == http.StatusOK && !strings.Contains(a.header.Get("Content-Type"), "html") {
		f.robots = string(a.body)
	}
}

// each runs f for 0 to n-1, some at once.
func each(n int, f func(i int)) {
	var wait sync.WaitGroup
	slots := make(chan struct{}, atOnce)
	for i := range n {
		slots <- struct{}{}
		wait.Go(func() {
			defer func() { <-slots }()
			f(i)
		})
	}
	wait.Wait()
}

// link is an address of the site that a page names.
type link struct {
	url     *url.URL
	subject string
	from    string
	picture bool
}

// own tells whether an address is on the site.
func (v *visit) own(u *url.URL) bool {
	name := strings.ToLower(u.Hostname())
	port := u.Port()
	return (name == v.host || name == v.twin) && (port == "" || port == "80" && u.Scheme == "http" || port == "443" && u.Scheme == "https")
}

func pageLike(name string) bool {
	switch strings.ToLower(path.Ext(name)) {
	case "", ".html", ".htm", ".php", ".xhtml", ".asp", ".aspx", ".jsp":
		return true
	default:
		return false
	}
}

// page reads a page, and follows redirects that stay on the site.
func (v *visit) page(ctx context.Context, u *url.URL) (found, error) {
	for range mostHops {
		began := v.Clock.Now()
		a, err := v.get(ctx, http.MethodGet, u, mostPage)
		if err != nil {
			return found{}, err
		}
		took := v.Clock.Now().Sub(began)
		if to := a.header.Get("Location"); a.status >= 300 && a.status <= 399 && to != "" {
			next, err := u.Parse(to)
			if err != nil || next.User != nil || !v.own(next) || v.origin != "" && next.Scheme != "http" {
				return found{}, errAway
			}
			next.Fragment = ""
			if next.Path == "" {
				next.Path = "/"
			}
			u = next
			continue
		}
		p := found{at: u, visited: visited{
			path: subjectOf(u), status: a.status, took: took, bytes: int64(len(a.body)), compressed: a.packed,
			html: isHTML(a.header, a.body), headerSays: strings.Contains(strings.ToLower(a.header.Get("X-Robots-Tag")), "noindex"),
		}}
		if p.html {
			p.document = parse(string(a.body), u)
		}
		return p, nil
	}
	return found{}, errAway
}

func isHTML(h http.Header, body []byte) bool {
	kind := h.Get("Content-Type")
	if kind == "" {
		kind = http.DetectContentType(body)
	}
	return strings.Contains(strings.ToLower(kind), "html")
}

// look asks what an address leads to, and how large that is.
func (v *visit) look(ctx context.Context, l link) (resource, error) {
	r := resource{path: l.subject, picture: l.picture, from: l.from}
	a, err := v.get(ctx, http.MethodHead, l.url, 0)
	if err != nil {
		return r, err
	}
	r.status, r.bytes = a.status, max(a.length, 0)
	unknown := l.picture && r.status == http.StatusOK && a.length < 0
	if r.status >= 400 || unknown { // some programs know no HEAD
		if a, err = v.get(ctx, http.MethodGet, l.url, hugeImage+1); err != nil {
			return r, err
		}
		r.status, r.bytes = a.status, int64(len(a.body))
	}
	return r, nil
}

// answer is what the site has answered.
type answer struct {
	status int
	header http.Header
	length int64 // as the header tells; -1: it does not
	body   []byte
	packed bool // the body came compressed
}

// get asks for an address of the site, and reads at most so much of the answer.
func (v *visit) get(ctx context.Context, method string, u *url.URL, most int64) (answer, error) {
	if !v.own(u) || v.origin != "" && u.Scheme != "http" {
		return answer{}, errAway
	}
	if v.requests.Add(1) > mostRequests || v.bytes.Load() > mostBytes {
		return answer{}, errSpent
	}
	req, err := http.NewRequestWithContext(ctx, method, u.String(), nil)
	if err != nil {
		return answer{}, errAway
	}
	req.Header.Set("User-Agent", userAgent)
	req.Header.Set("Accept", "text/html,*/*;q=0.8")
	req.Header.Set("Accept-Encoding", "gzip")
	resp, err := v.http.Do(req)
	if err != nil {
		return answer{}, fmt.Errorf("insights: %w", err)
	}
	defer func() { _ = resp.Body.Close() }() // what was read counts
	a := answer{status: resp.StatusCode, header: resp.Header, length: resp.ContentLength}
	if method == http.MethodHead {
		return a, nil
	}
	from := io.LimitReader(resp.Body, most)
	if strings.EqualFold(a.header.Get("Content-Encoding"), "gzip") {
		a.packed = true
		unpacked, err := gzip.NewReader(from)
		if err != nil {
			return a, nil // an empty or broken body; its status is known
		}
		from = io.LimitReader(unpacked, most)
	} else if a.header.Get("Content-Encoding") != "" {
		a.packed = true
		return a, nil // nobody asked for another encoding
	}
	a.body, err = io.ReadAll(from)
	v.bytes.Add(int64(len(a.body)))
	if err != nil && ctx.Err() != nil {
		return answer{}, fmt.Errorf("insights: %w", err)
	}
	return a, nil
}

// resolve finds the addresses of a host, all of which must be the service's and may be called.
func (v *visit) resolve(ctx context.Context, host string) ([]netip.Addr, error) {
	all, err := v.Resolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return nil, fmt.Errorf("insights: %w", err)
	}
	if len(all) == 0 {
		return nil, errAway
	}
	for i := range all {
		all[i] = all[i].Unmap()
		if !v.guard.Allows(all[i]) || !slices.Contains(v.addresses, all[i].String()) {
			return nil, errAway
		}
	}
	return all, nil
}

// dial connects to the service's server: to its origin, or to the addresses of the host. Both are judged each time.
func (v *visit) dial(ctx context.Context, network, address string) (net.Conn, error) {
	if v.origin != "" {
		dialer := &net.Dialer{Timeout: requestTime / 2, Control: v.machine.Control}
		return dialer.DialContext(ctx, network, v.origin)
	}
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, errAway
	}
	switch port {
	case "80":
		port = v.HTTPPort
	case "443":
		port = v.HTTPSPort
	default:
		return nil, errAway
	}
	all, err := v.resolve(ctx, host)
	if err != nil {
		return nil, err
	}
	conn, err := v.guard.Dial(ctx, network, all[:min(len(all), mostDials)], port, requestTime/2)
	if err != nil {
		return nil, fmt.Errorf("insights: %w", err)
	}
	return conn, nil
}
