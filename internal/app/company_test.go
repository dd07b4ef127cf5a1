package app

import (
	"net/http"
	"strings"
	"testing"

	"stead.dev/stead/internal/content/company"
	"stead.dev/stead/internal/platform/auth"
)

func TestTheBrandIsOnEveryPage(t *testing.T) {
	engines(t, simulated, func(t *testing.T, a *App) {
		w := newStaffWorld(t, a)
		plain := func(path string) answer {
			t.Helper()
			return a.do(t, request{method: http.MethodGet, path: path})
		}
		if r := plain("/.well-known/security.txt"); r.status != http.StatusNotFound {
			t.Errorf("a contact without a support address: %s", r)
		}
		if r := plain("/favicon.ico"); r.status != http.StatusOK || r.header.Get("Content-Type") != "image/svg+xml" {
			t.Errorf("the icon of a company without one: %s", r)
		}
		owner := w.members[auth.Owner].token
		r := a.do(t, request{
			method: http.MethodPut, path: "/api/v1/admin/company", token: owner,
			body: `{"name": "Bulut & Co", "color": "#1c4ed8", "support_email": "help@bulut.example", "terms_url": "https://bulut.example/terms", "privacy_url": "", ` +
				`"imprint_url": "", "logo": "PHN2ZyB4bWxucz0iaHR0cDovL3d3dy53My5vcmcvMjAwMC9zdmciLz4=", "reason": "the new brand"}`,
		})
		if r.status != http.StatusOK {
			t.Fatal(r)
		}
		b := a.company.Current()
		for _, path := range []string{"/", "/login", "/status", "/kb", "/docs/", "/docs/guides", "/docs/wallet"} {
			body := string(plain(path).body)
			for _, part := range []string{"Bulut &amp; Co", b.Style, b.Icon, `<img src="` + b.Logo + `" alt="Bulut &amp; Co">`} {
				if !strings.Contains(body, part) {
					t.Errorf("%s has no %s", path, part)
				}
			}
			if strings.HasPrefix(path, "/docs") {
				continue
			}
			for _, part := range []string{"https://bulut.example/terms", "mailto:help@bulut.example"} {
				if !strings.Contains(body, part) {
					t.Errorf("%s has no %s", path, part)
				}
			}
		}
		if r := plain("/.well-known/security.txt"); !strings.Contains(string(r.body), "mailto:help@bulut.example") {
			t.Errorf("the contact: %s", r)
		}
		for _, path := range []string{b.Logo, b.Icon, b.Style, company.IconPath} {
			if r := plain(path); r.status != http.StatusOK || !strings.Contains(r.header.Get("Content-Security-Policy"), "sandbox") {
				t.Errorf("%s: %s", path, r)
			}
		}
		// What a reseller's client opens names nothing of it.
		if r := plain("/client/nothing"); strings.Contains(string(r.body), "Bulut") || strings.Contains(string(r.body), company.Path) {
			t.Errorf("a client's page: %s", r.body)
		}
	})
}
