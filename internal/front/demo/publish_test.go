package demo

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/oauth2"

	"stead.dev/stead/internal/hosting/files"
	"stead.dev/stead/internal/hosting/site"
	"stead.dev/stead/internal/hosting/site/sitetest"
	"stead.dev/stead/internal/node"
	"stead.dev/stead/internal/platform/api"
	"stead.dev/stead/internal/platform/auth"
	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/idempotency"
	"stead.dev/stead/internal/platform/testkit"
	"stead.dev/stead/internal/platform/throttle"
	"stead.dev/stead/internal/port/panel"
	panelnode "stead.dev/stead/internal/port/panel/node"
)

// machine is the part of an installation that publishing needs: the section Files and a node, with
// one account that was provisioned.
type machine struct{ panel panelnode.Panel }

func (machine) Enabled(api.Section) bool { return true }

func (machine) Verify(_ context.Context, token string) (auth.Principal, error) {
	if token != "customer" {
		return auth.Principal{}, fault.Unauthenticated.New()
	}
	return auth.Principal{AccountID: 1, ApplicationID: 1, Scopes: scopes}, nil
}

// provisioned is a demonstration that has come as far as an active service, and where its node is.
func provisioned(t *testing.T, out *bytes.Buffer, pages fs.FS, serve func(http.Handler) http.Handler) *demonstration {
	t.Helper()
	silent := slog.New(slog.DiscardHandler)
	n, err := node.New(t.Context(), node.Config{Dir: t.TempDir(), Now: time.Now, Log: silent})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = n.Close() })
	m := machine{panelnode.New(n)}
	if _, err := n.CreateAccount(t.Context(), panel.AccountSpec{Ref: "7", PrimaryDomain: "shop.stead.test"}); err != nil {
		t.Fatal(err)
	}
	clk := clock.NewFake(testkit.Start)
	d := testkit.SQLite(t, clk)
	edge := api.NewEdge(api.Config{
		DB: d, Switches: m, Limiter: throttle.New(d, clk), Answers: idempotency.NewStore(d), Verifier: m,
		MaxBody: 1 << 20, Timeout: time.Minute, Language: "en", BaseURL: "http://stead.test", Version: "test",
		ClientAddr: func(*http.Request) netip.Addr { return netip.MustParseAddr("203.0.113.9") },
	})
	services := sitetest.New(t, d)
	services.Add(t, site.Site{ServiceID: 7, AccountID: 1, Panel: "node", Ref: "7", Status: "active"})
	if err := edge.Mount(files.New(d, services, sitetest.Panels{"node": m.panel}, 1<<30).Operations()...); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(api.Outer(silent, clock.System(0), nil, edge))
	t.Cleanup(server.Close)
	sites := httptest.NewServer(serve(n.Handler()))
	t.Cleanup(sites.Close)

	demo, err := newDemonstration(Options{URL: server.URL, Out: out, JSON: true, Timeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(demo.network.CloseIdleConnections)
	demo.site, demo.domain, demo.service, demo.paidAt = pages, "shop.stead.test", 7, now()
	demo.token = &oauth2.Token{AccessToken: "customer"}
	if demo.origin, err = newOrigin(sites.URL, demo.domain, demo.network, 20*time.Second); err != nil {
		t.Fatal(err)
	}
	return demo
}

// publishing are the steps that provisioned is ready for.
func (d *demonstration) publishing() []step { return d.mainJob()[3:] }

func asItIs(h http.Handler) http.Handler { return h }

func TestASiteIsPublishedAndChecked(t *testing.T) {
	t.Parallel()
	own, err := fs.Sub(ownSite, "site")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, content := range map[string]string{
		"start.html": "<h1>" + strings.Repeat("Hello ", 500), "a b/ö+%.txt": "odd names", ".git/config": "at home", ".env": "at home", "empty.css": "",
	} {
		if err := errors.Join(os.MkdirAll(filepath.Join(dir, filepath.Dir(name)), 0o755), os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("start.html", filepath.Join(dir, "index.html")); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		site  fs.FS
		files int
	}{"own": {own, 5}, "with links and odd names": {os.DirFS(dir), 4}} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			d := provisioned(t, &out, c.site, asItIs)
			for i, s := range d.publishing() {
				d.report.begin(i+1, 5, s)
				if err := s.run(t.Context()); err != nil {
					t.Fatalf("%s: %v", s.name, err)
				}
				d.report.end(nil)
			}
			if len(d.assets) != c.files {
				t.Errorf("published %d files, want %d", len(d.assets), c.files)
			}
			for line := range strings.Lines(out.String()) {
				var s stepReport
				if err := json.Unmarshal([]byte(line), &s); err != nil || !s.OK || s.Step == "" || strings.Contains(line, "Bearer") {
					t.Errorf("%v in %s", err, line)
				}
			}
		})
	}
}

// TestAServerThatServesWronglyIsFoundOut breaks one thing after the other.
func TestAServerThatServesWronglyIsFoundOut(t *testing.T) {
	t.Parallel()
	own, err := fs.Sub(ownSite, "site")
	if err != nil {
		t.Fatal(err)
	}
	rewriting := func(change func(w http.ResponseWriter, r *http.Request, body []byte) []byte) func(http.Handler) http.Handler {
		return func(next http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				rec := httptest.NewRecorder()
				next.ServeHTTP(rec, r)
				for k, v := range rec.Header() {
					w.Header()[k] = v
				}
				w.Header().Del("Content-Length")
				body := change(w, r, rec.Body.Bytes())
				w.WriteHeader(rec.Code)
				_, _ = w.Write(body)
			})
		}
	}
	for _, c := range []struct {
		step, says string
		serve      func(http.Handler) http.Handler
	}{
		{"serve", "differ", rewriting(func(_ http.ResponseWriter, r *http.Request, b []byte) []byte {
			if strings.HasSuffix(r.URL.Path, ".svg") {
				return append(b, ' ')
			}
			return b
		})},
		{"serve", "text/css", rewriting(func(w http.ResponseWriter, r *http.Request, b []byte) []byte {
			if strings.HasSuffix(r.URL.Path, ".css") {
				w.Header().Set("Content-Type", "text/plain")
			}
			return b
		})},
		{"http", "ETag", rewriting(func(w http.ResponseWriter, _ *http.Request, b []byte) []byte {
			w.Header().Del("ETag")
			return b
		})},
		{"http", "compressed", rewriting(func(w http.ResponseWriter, r *http.Request, b []byte) []byte {
			if r.Header.Get("Accept-Encoding") == "gzip" {
				w.Header().Del("Vary")
			}
			return b
		})},
		{"http", "no directory listing", rewriting(func(_ http.ResponseWriter, r *http.Request, b []byte) []byte {
			if r.URL.Path == "/unlisted/" {
				return []byte("private-name.txt")
			}
			return b
		})},
		{"escape", "root:", rewriting(func(_ http.ResponseWriter, r *http.Request, b []byte) []byte {
			if strings.Contains(r.RequestURI, "%2f") {
				return []byte("root:x:0:0")
			}
			return b
		})},
	} {
		t.Run(c.step+" "+c.says, func(t *testing.T) {
			d := provisioned(t, &bytes.Buffer{}, own, c.serve)
			for _, s := range d.publishing() {
				err := s.run(t.Context())
				if err == nil {
					continue
				}
				if s.name != c.step || !strings.Contains(err.Error(), c.says) {
					t.Errorf("step %s: %v", s.name, err)
				}
				return
			}
			t.Error("nothing was found wrong")
		})
	}
}

func TestOptionsThatCannotWork(t *testing.T) {
	for _, o := range []Options{
		{URL: ""}, {URL: "127.0.0.1:8080"}, {URL: "ftp://x"}, {URL: "http://x", SiteDir: "/no/such/directory"}, {URL: "http://x", SiteDir: "/etc/passwd"},
	} {
		o.Out = &bytes.Buffer{}
		if err := Run(t.Context(), o); err == nil {
			t.Errorf("%+v was taken", o)
		}
	}
}

func TestAnInstallationThatIsNotThereFailsTheFirstStep(t *testing.T) {
	closed := httptest.NewServer(nil)
	closed.Close()
	var out bytes.Buffer
	err := Run(t.Context(), Options{URL: closed.URL, Out: &out})
	if err == nil || !strings.Contains(err.Error(), `step "register"`) || !strings.Contains(out.String(), "FAILED") {
		t.Errorf("%v\n%s", err, &out)
	}
}

func TestNoSecretIsPrinted(t *testing.T) {
	var out bytes.Buffer
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"access_token":"first-secret","refresh_token": "second-secret","client_secret":"third-secret","echo":"my-password"}`))
	}))
	defer server.Close()
	for _, asJSON := range []bool{true, false} {
		out.Reset()
		r := newReport(&out, asJSON)
		r.hide("my-password")
		r.begin(1, 1, step{name: "x", title: "x"})
		c := &http.Client{Transport: r.recorded(calls, newTransport())}
		q := url.Values{"code": {"fourth-secret"}, "state": {"fifth-secret"}}
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+"/?"+q.Encode(), nil)
		if err != nil {
			t.Fatal(err)
		}
		res, err := c.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		r.end(errors.New("the password my-password is wrong"))
		if s := out.String(); strings.Contains(s, "-secret") || strings.Contains(s, "my-password") || !strings.Contains(s, "***") {
			t.Errorf("printed: %s", s)
		}
	}
}
