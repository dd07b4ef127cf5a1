package web

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

func TestSitesRedirect(t *testing.T) {
	s, home := newSite(t)
	put(t, home, "public_html/index.html", "never served")
	site := func(domain, to string, force bool) Site {
		return Site{Domain: domain, Home: home, DocumentRoot: "public_html", RedirectTo: to, ForceHTTPS: force}
	}
	apply(t, s, "alice",
		site("host.example", "https://new.example", false),
		site("page.example", "https://new.example/moved?x=1", false),
		site("secure.example", "", true),
	)
	request := func(method, target string) *http.Response {
		w := httptest.NewRecorder()
		s.ServeHTTP(w, httptest.NewRequest(method, target, nil))
		return w.Result()
	}
	for target, want := range map[string]string{
		"http://host.example/":                       "https://new.example/",
		"http://www.host.example/a%2Fb/../c?q=1&r":   "https://new.example/a%2Fb/../c?q=1&r",
		"http://host.example//evil.example/":         "https://new.example//evil.example/",
		"http://page.example/anything?y=2":           "https://new.example/moved?x=1",
		"http://secure.example:8080/a?b":             "https://secure.example/a?b",
		"http://WWW.Secure.Example./":                "https://www.secure.example/",
		"http://secure.example/%0d%0aSet-Cookie:%20": "https://secure.example/%0d%0aSet-Cookie:%20",
	} {
		for _, method := range []string{"GET", "HEAD", "POST"} {
			res := request(method, target)
			if got := res.Header.Get("Location"); res.StatusCode != 301 || got != want || body(t, res) != "" {
				t.Errorf("%s %s: %d to %q, want %q", method, target, res.StatusCode, got, want)
			}
		}
	}
	if res := request("GET", "https://secure.example/"); res.StatusCode != 200 || body(t, res) != "never served" {
		t.Errorf("by HTTPS: %d", res.StatusCode)
	}
	suspended := site("host.example", "https://new.example", false)
	suspended.Suspended = true
	apply(t, s, "alice", suspended)
	if res := request("GET", "http://host.example/"); res.StatusCode != 503 {
		t.Errorf("suspended: %d", res.StatusCode)
	}
}
