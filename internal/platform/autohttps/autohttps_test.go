package autohttps

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestReadersAreLedToHTTPSAndOthersRefused(t *testing.T) {
	t.Parallel()
	h := Redirect("https://panel.example.com:8443")
	for name, c := range map[string]struct {
		request, header string
		status          int
		location        string
	}{
		"a page":         {"GET /panel/x%2Fy?z=1 HTTP/1.1", "", http.StatusPermanentRedirect, "https://panel.example.com:8443/panel/x%2Fy?z=1"},
		"its head":       {"HEAD / HTTP/1.1", "", http.StatusPermanentRedirect, "https://panel.example.com:8443/"},
		"another's host": {"GET http://evil.example/a HTTP/1.1", "", http.StatusPermanentRedirect, "https://panel.example.com:8443/a"},
		"no path":        {"GET http:.evil.example/ HTTP/1.1", "", http.StatusPermanentRedirect, "https://panel.example.com:8443"},
		"a form":         {"POST /sign-in HTTP/1.1", "", http.StatusForbidden, ""},
		"a token":        {"GET /api/v1/me HTTP/1.1", "Bearer x", http.StatusForbidden, ""},
	} {
		method, rest, _ := strings.Cut(c.request, " ")
		target, _, _ := strings.Cut(rest, " ")
		r := httptest.NewRequestWithContext(t.Context(), method, target, nil)
		if c.header != "" {
			r.Header.Set("Authorization", c.header)
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != c.status || w.Header().Get("Location") != c.location {
			t.Errorf("%s: %d to %q", name, w.Code, w.Header().Get("Location"))
		}
	}
}
