package mcp

import (
	"net/http/httptest"
	"testing"
)

func TestAPageOfAnotherSiteCannotReachAnEndpoint(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		base, host, origin string
		want               bool
	}{
		{"https://panel.example.com", "panel.example.com", "", true},
		{"https://panel.example.com", "PANEL.example.com:443", "https://panel.example.com", true},
		{"https://panel.example.com", "127.0.0.1:8080", "", true}, // behind a proxy
		{"https://panel.example.com", "[::1]:8080", "", true},
		{"https://panel.example.com", "backend:8080", "", true},
		{"https://panel.example.com", "evil.example.com", "", false},
		{"https://panel.example.com", "panel.example.com.evil.test", "", false},
		{"https://panel.example.com", "panel.example.com", "https://evil.example.com", false},
		{"https://panel.example.com", "panel.example.com", "http://panel.example.com", false},
		{"https://panel.example.com", "panel.example.com", "http://localhost:3000", false},
		{"https://panel.example.com", "panel.example.com", "null", false},
		{"http://127.0.0.1:8080", "localhost:8080", "http://localhost:8080", true},
		{"http://127.0.0.1:8080", "127.0.0.1:8080", "http://evil.example.com", false},
		{"http://127.0.0.1:8080", "evil.example.com", "http://evil.example.com", false},
	} {
		r := httptest.NewRequest("POST", "http://"+c.host+"/api/v1/mcp", nil)
		if c.origin != "" {
			r.Header.Set("Origin", c.origin)
		}
		if got := sameSite(c.base, r); got != c.want {
			t.Errorf("%s as %s from %q: %v", c.base, c.host, c.origin, got)
		}
	}
}
