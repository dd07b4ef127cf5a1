package app

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/keycheck"
	"stead.dev/stead/internal/platform/secret"
	"stead.dev/stead/internal/platform/testkit"
)

func TestAStoppingServerClosesConnections(t *testing.T) {
	t.Parallel()
	var a App
	h := a.dismissing(http.NotFoundHandler())
	for _, want := range []string{"", "close"} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil))
		if got := w.Header().Get("Connection"); got != want {
			t.Errorf("draining %v: Connection: %q", a.draining.Load(), got)
		}
		a.draining.Store(true)
	}
}

// TestAnUploadOutlivesTheTimeOfOtherRequests at a stop; what else is still running is cut off.
func TestAnUploadOutlivesTheTimeOfOtherRequests(t *testing.T) {
	t.Parallel()
	running := &requests{maxBody: 10}
	cut, began := make(chan error, 1), make(chan struct{}, 2)
	srv := httptest.NewServer(running.around(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began <- struct{}{}
		if r.Method == http.MethodGet {
			<-r.Context().Done()
			cut <- context.Cause(r.Context())
			return
		}
		if body, err := io.ReadAll(r.Body); err != nil || len(body) != 20 {
			t.Errorf("%d bytes, %v", len(body), err)
		}
		w.WriteHeader(http.StatusCreated)
	})))
	t.Cleanup(srv.Close)
	body, typing := io.Pipe()
	uploaded := make(chan int, 1)
	go func() {
		res, err := http.Post(srv.URL, "application/octet-stream", body)
		if err != nil {
			t.Error(err)
			uploaded <- 0
			return
		}
		_ = res.Body.Close()
		uploaded <- res.StatusCode
	}()
	go func() {
		if res, err := http.Get(srv.URL); err == nil {
			_ = res.Body.Close()
		}
	}()
	_, _ = io.WriteString(typing, strings.Repeat("a", 10))
	<-began
	<-began
	over, cancel := context.WithCancel(t.Context())
	cancel() // the time of all requests is over
	stopped := make(chan error, 1)
	go func() { stopped <- running.stop(over, srv.Config, time.Minute) }()
	if err := <-cut; !errors.Is(err, errStopping) {
		t.Errorf("the request ended by %v", err)
	}
	_, _ = io.WriteString(typing, strings.Repeat("b", 10))
	_ = typing.Close()
	if status := <-uploaded; status != http.StatusCreated {
		t.Errorf("the upload: %d", status)
	}
	if err := <-stopped; err != nil {
		t.Errorf("stopping: %v", err)
	}
}

// TestAReplicaWithAWrongClockIsNotReady: it would end sessions and judge machines by a time that no other has.
func TestAReplicaWithAWrongClockIsNotReady(t *testing.T) {
	t.Parallel()
	a := start(t, map[string]string{"database_url": testkit.PostgresURL(t), "hsts_subdomains": "true", "base_url": "https://panel.example.com", "support_email": "help@example.com"})
	for _, c := range []struct {
		off  time.Duration
		want int
	}{
		{4 * time.Second, http.StatusOK},
		{-4 * time.Second, http.StatusOK},
		{6 * time.Second, http.StatusServiceUnavailable},
		{-6 * time.Second, http.StatusServiceUnavailable},
	} {
		a.machine = clock.System(c.off)
		w := httptest.NewRecorder()
		a.ready()(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/readyz", nil))
		if failing := strings.Contains(w.Body.String(), `"clock":"failing"`); w.Code != c.want || failing != (c.want != http.StatusOK) {
			t.Errorf("%v off: %d %s", c.off, w.Code, w.Body)
		}
	}
	w := httptest.NewRecorder()
	a.handler().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "https://panel.example.com/.well-known/security.txt", nil))
	if w.Code != http.StatusOK || !strings.HasPrefix(w.Body.String(), "Contact: mailto:help@example.com\nExpires: 20") {
		t.Errorf("security.txt: %d %s", w.Code, w.Body)
	}
	if got := w.Header().Get("Strict-Transport-Security"); got != "max-age=31536000; includeSubDomains" {
		t.Errorf("HSTS: %q", got)
	}
}

// TestAStartWithAnotherKeyIsRefused, before anything is changed, and none is made beside a database that has one.
func TestAStartWithAnotherKeyIsRefused(t *testing.T) {
	t.Parallel()
	for _, engine := range []string{"sqlite", "postgres"} {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			settings := map[string]string{}
			if engine == "postgres" {
				settings["database_url"] = testkit.PostgresURL(t)
			}
			cfg := testConfig(t, settings)
			begin := func() error {
				a, err := New(t.Context(), cfg, quietly())
				if err == nil {
					err = a.Close()
				}
				return err
			}
			if err := begin(); err != nil {
				t.Fatal(err)
			}
			key, err := os.ReadFile(KeyFile(cfg))
			if err != nil {
				t.Fatal(err)
			}
			if err := os.Remove(KeyFile(cfg)); err != nil {
				t.Fatal(err)
			}
			if err := begin(); !errors.Is(err, keycheck.ErrNoKey) {
				t.Errorf("without the key: %v", err)
			}
			if _, err := os.Stat(KeyFile(cfg)); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("a new key was made: %v", err)
			}
			examined := func() (found string) {
				for _, c := range Examine(t.Context(), cfg, "test").Checks {
					if c.Name == "stored secrets" {
						found = string(c.Status) + ": " + c.Found
					}
				}
				return found
			}
			if got := examined(); !strings.Contains(got, keycheck.ErrNoKey.Error()) {
				t.Errorf("the doctor without the key: %q", got)
			}
			if _, err := secret.OpenKeyFile(KeyFile(cfg)); err != nil { // another one
				t.Fatal(err)
			}
			if err := begin(); !errors.Is(err, keycheck.ErrWrongKey) {
				t.Errorf("with another key: %v", err)
			}
			if got := examined(); !strings.Contains(got, "put back the secret.key") {
				t.Errorf("the doctor with another key: %q", got)
			}
			if err := os.WriteFile(KeyFile(cfg), key, 0o600); err != nil {
				t.Fatal(err)
			}
			if err := begin(); err != nil {
				t.Errorf("with the key again: %v", err)
			}
		})
	}
}
