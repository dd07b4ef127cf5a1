package web

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"stead.dev/stead/internal/port/panel"
)

// GoServer serves sites from this process.
type GoServer struct {
	// Challenges is a directory whose files are served under /.well-known/acme-challenge/ of every site, before
	// anything else; empty is none. It is set before serving.
	Challenges string

	now  func() time.Time
	log  *slog.Logger
	logs *accessLogs
	// others carries requests to other machines.
	others http.Transport

	mu       sync.Mutex
	accounts map[string][]*Site // the arguments of Apply
	hosts    sync.Map           // host name to *Site; read by every request
}

var _ Server = (*GoServer)(nil)

// NewGoServer makes a server without sites. Close ends its writing of logs.
func NewGoServer(now func() time.Time, log *slog.Logger) *GoServer {
	s := &GoServer{now: now, log: log, logs: newAccessLogs(log), accounts: map[string][]*Site{}}
	s.others = http.Transport{ResponseHeaderTimeout: answerTimeout, IdleConnTimeout: time.Minute, MaxIdleConnsPerHost: 16, DisableCompression: true}
	return s
}

// Apply implements Server.
func (s *GoServer) Apply(_ context.Context, account string, sites []Site) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := make([]*Site, 0, len(sites))
	for _, site := range sites {
		site.Aliases = slices.Clone(site.Aliases)
		now = append(now, &site)
		for _, host := range site.hosts() {
			s.hosts.Store(host, &site)
		}
	}
	for _, old := range s.accounts[account] {
		for _, host := range old.hosts() {
			s.hosts.CompareAndDelete(host, old) // unless it was just stored again
		}
		if len(sites) == 0 {
			s.logs.forget(old)
		}
	}
	if len(now) == 0 {
		delete(s.accounts, account)
	} else {
		s.accounts[account] = now
	}
	return nil
}

// Close implements Server.
func (s *GoServer) Close() error {
	s.others.CloseIdleConnections()
	return s.logs.close()
}

// site finds the site of a Host header: case, port and trailing dot do not matter, and it may be international in
// either form.
func (s *GoServer) site(hostport string) *Site {
	host, err := panel.CanonicalHost(hostname(hostport))
	if err != nil {
		return nil
	}
	if site, ok := s.hosts.Load(host); ok {
		return site.(*Site)
	}
	if bare, ok := strings.CutPrefix(host, "www."); ok {
		if site, ok := s.hosts.Load(bare); ok {
			return site.(*Site)
		}
	}
	return nil
}

// hostname is a Host header without its port; empty when it is malformed.
func hostname(hostport string) string {
	if !strings.Contains(hostport, ":") {
		return hostport
	}
	host, _, err := net.SplitHostPort(hostport)
	if err != nil {
		return ""
	}
	return host
}

// ServeHTTP serves all sites.
func (s *GoServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("X-Content-Type-Options", "nosniff")
	site := s.site(r.Host)
	if site == nil {
		page(w, http.StatusNotFound, "node.no_site")
		return
	}
	if site.Preview != "" && strings.EqualFold(hostname(r.Host), site.Preview) {
		w.Header().Set("X-Robots-Tag", "noindex, nofollow")
	}
	rec := &recorder{ResponseWriter: w}
	switch {
	case site.Forward != nil:
		s.forward(rec, r, site.Forward.HTTP)
	case !s.serveChallenge(rec, r):
		s.serveSite(rec, r, site)
	}
	if r.Method == http.MethodHead {
		rec.bytes = 0 // the count is of bytes that were not sent
	}
	s.logs.add(site, logLine(r, rec.status, rec.bytes, s.now()))
}

// challengePath is where certificate authorities look (RFC 8555, section 8.3).
const challengePath = "/.well-known/acme-challenge/"

// serveChallenge serves the proof for an authority, even while the site is suspended or redirects.
func (s *GoServer) serveChallenge(w http.ResponseWriter, r *http.Request) bool {
	token, ok := strings.CutPrefix(r.URL.Path, challengePath)
	if !ok || s.Challenges == "" || r.Method != http.MethodGet || strings.Trim(token, tokenLetters) != "" || token == "" {
		return false
	}
	answer, err := os.ReadFile(filepath.Join(s.Challenges, token)) //nolint:gosec // a token has letters of which no path is made
	if err != nil {
		return false // the site may have one of its own
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	_, _ = w.Write(answer) // the visitor may be gone
	return true
}

// tokenLetters are those of base64url.
const tokenLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"

const allowed = "GET, HEAD, OPTIONS"

func (s *GoServer) serveSite(w http.ResponseWriter, r *http.Request, site *Site) {
	if site.HSTS && r.TLS != nil {
		w.Header().Set("Strict-Transport-Security", "max-age=31536000")
	}
	switch {
	case site.Moving && !site.Suspended:
		w.Header().Set("Retry-After", "60")
		page(w, http.StatusServiceUnavailable, "node.moving")
	case site.Suspended:
		w.Header().Set("Retry-After", "3600")
		page(w, http.StatusServiceUnavailable, "node.suspended")
	case site.RedirectTo != "":
		redirect(w, redirectTarget(site.RedirectTo, r))
	case site.ForceHTTPS && r.TLS == nil:
		redirect(w, secureAddress(r))
	case r.Method == http.MethodOptions:
		w.Header().Set("Allow", allowed)
		w.WriteHeader(http.StatusNoContent)
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		w.Header().Set("Allow", allowed)
		page(w, http.StatusMethodNotAllowed, "node.not_allowed")
	default:
		s.serveFile(w, r, site)
	}
}

// Listener settings against slow and greedy clients.
const (
	headerTimeout  = 10 * time.Second
	bodyTimeout    = 30 * time.Second // requests for static files have no body worth waiting for
	writeTimeout   = time.Hour        // a large download on a slow line; it can be resumed by range
	idleTimeout    = 75 * time.Second
	maxHeaderBytes = 32 << 10
)

// HTTPServer makes a server for handler with limits fit for the open internet.
func HTTPServer(handler http.Handler, log *slog.Logger) *http.Server {
	return &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: headerTimeout,
		ReadTimeout:       bodyTimeout,
		WriteTimeout:      writeTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
}
