package webui_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"stead.dev/stead/internal/identity/account"
	"stead.dev/stead/internal/platform/api"
	"stead.dev/stead/internal/platform/auth"
	"stead.dev/stead/internal/platform/testkit"
)

// countedSections counts how often the edge has identified a caller.
type countedSections struct{ asked atomic.Int64 }

func (c *countedSections) Enabled(api.Section) bool {
	c.asked.Add(1)
	return true
}

// TestConfirmingAPasswordEndsNoUpload: the confirmation replaces the token that the running upload began with. A session that
// has ended does end its upload.
func TestConfirmingAPasswordEndsNoUpload(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		during func(b *browser, s account.Session)
		status int
	}{
		"confirmed long after signing in": {func(b *browser, _ account.Session) {
			b.site.clk.Advance(time.Hour)
			if a := b.send(http.MethodPost, "/panel/confirm", strings.NewReader(`{"password": "`+password+`"}`)); a.status != http.StatusOK {
				b.t.Fatalf("%+v", a)
			}
		}, http.StatusOK},
		"signed out": {func(b *browser, s account.Session) {
			if err := b.site.accounts.EndSession(b.t.Context(), s.Account.ID, s.ID); err != nil {
				b.t.Fatal(err)
			}
		}, http.StatusUnauthorized},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, checks, began, goOn := newSite(t), &countedSections{}, make(chan struct{}), make(chan struct{})
			s.api.Switches = checks
			err := s.api.Mount(api.Operation[struct{}, api.Empty]{
				ID: "things.upload", Method: http.MethodPut, Path: "/api/v1/things", Section: api.Files, Auth: api.Token,
				Scopes: []string{auth.ScopeServicesWrite}, Recent: true, Summary: "Upload",
				Stream: func(ctx context.Context, _ auth.Principal, _ *struct{}, w http.ResponseWriter, r *http.Request) error {
					if _, err := io.ReadFull(r.Body, make([]byte, 1)); err != nil {
						return err
					}
					close(began)
					select {
					case <-ctx.Done():
					case <-goOn:
					}
					rest, err := io.ReadAll(r.Body)
					if err == nil {
						_, err = w.Write(rest)
					}
					return err
				},
			})
			if err != nil {
				t.Fatal(err)
			}
			b := s.browser(t)
			b.register("anna@example.com")
			session, err := s.accounts.Authenticate(t.Context(), b.cookie("stead_session"))
			if err != nil {
				t.Fatal(err)
			}
			body, file := io.Pipe()
			answered := make(chan answer)
			go func() { answered <- b.send(http.MethodPut, "/panel/api/v1/things", body) }()
			_, _ = file.Write([]byte("a"))
			<-began
			c.during(b, session)
			if c.status == http.StatusOK {
				seen := checks.asked.Load()
				testkit.Eventually(t, 10*time.Second, func() bool { return checks.asked.Load() > seen+2 }, "the edge checks the caller again")
				close(goOn)
			}
			go func() {
				_, _ = file.Write([]byte("bc"))
				_ = file.Close()
			}()
			if a := <-answered; a.status != c.status || a.status == http.StatusOK && a.body != "bc" {
				t.Errorf("%+v", a)
			}
		})
	}
}

// send sends what a script of the panel does.
func (b *browser) send(method, path string, body io.Reader) answer {
	r, err := http.NewRequestWithContext(b.t.Context(), method, b.address(path), body)
	if err != nil {
		b.t.Error(err)
		return answer{}
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("X-Stead-Panel", b.holder())
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	return b.do(r)
}
