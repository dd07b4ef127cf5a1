package nginx

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"stead.dev/stead/internal/node/web"
	"stead.dev/stead/internal/port/panel"
)

// TestASiteThatIsReadOnlyServesFiles: what is a program answers that the site will be back in a moment, and all else is answered as
// before, closed directories and addresses that are not there too.
func TestASiteThatIsReadOnlyServesFiles(t *testing.T) {
	w := newWorld(t)
	a := w.machine.Account("alice", panel.Limits{})
	for _, name := range []string{
		"public_html/index.html", "public_html/logo.png", "public_html/app.php", "public_html/blog/index.php", "public_html/private/x.txt",
		"public_html/private/open/x.txt", "public_html/.htpasswd", "public_html/app.php.bak", "public_html/404.html", "public_html/503.html", "programs/index.php", "programs/a.css",
	} {
		w.put(a, name, name)
	}
	w.must(os.Chmod(filepath.Join(a.Home, "programs"), 0o755))
	w.must(os.Chmod(filepath.Join(a.Home, "public_html", "app.php"), 0o600)) // programs may be kept from the web server
	w.must(os.WriteFile(filepath.Join(w.cfg.ACME, "token"), []byte("ANSWER"), 0o644))
	w.apply(a,
		web.Site{Domain: "files.test", ReadOnly: true, HSTS: true, Closed: []web.Closed{{Path: "/private/", Denied: true}, {Path: "/private/open/"}}},
		web.Site{Domain: "programs.test", ReadOnly: true, DocumentRoot: "programs"},
		web.Site{Domain: "redirects.test", ReadOnly: true, RedirectTo: "https://new.test"},
		web.Site{Domain: "suspended.test", ReadOnly: true, Suspended: true},
	)
	for address, want := range map[string]struct {
		status int
		body   string
	}{
		"http://files.test/":                                 {200, "public_html/index.html"},
		"https://files.test/logo.png":                        {200, "public_html/logo.png"},
		"http://files.test/app.php":                          {503, ""},
		"https://files.test/app.php/more?x=y":                {503, ""},
		"http://files.test/blog/":                            {503, ""},
		"http://files.test/blog/post":                        {404, "public_html/404.html"}, // there is no /index.php
		"http://files.test/none.php":                         {404, "public_html/404.html"},
		"http://files.test/.htpasswd":                        {404, "public_html/404.html"},
		"http://files.test/app.php.bak":                      {404, "public_html/404.html"},
		"http://files.test/private/x.txt":                    {403, ""},
		"http://files.test/private/open/x.txt":               {200, "public_html/private/open/x.txt"},
		"http://files.test/.well-known/acme-challenge/token": {200, "ANSWER"},
		"http://programs.test/":                              {503, ""},
		"http://programs.test/any/address":                   {503, ""},
		"http://programs.test/a.css":                         {200, "programs/a.css"},
		"http://redirects.test/x":                            {301, ""},
		"http://suspended.test/":                             {503, ""},
	} {
		res := w.ask("GET", address)
		if res.StatusCode != want.status || want.body != "" && res.body != want.body {
			t.Errorf("%s: %d %.60q, want %d %q", address, res.StatusCode, res.body, want.status, want.body)
		}
		retry, moving := "60", "moving"
		if strings.Contains(address, "suspended") {
			retry, moving = "3600", "suspended"
		}
		if want.status == http.StatusServiceUnavailable && (res.Header.Get("Retry-After") != retry || res.Header.Get("Cache-Control") != "no-store" || !strings.Contains(res.body, moving)) {
			t.Errorf("%s: %v %.60q", address, res.Header, res.body)
		}
		if want.status == http.StatusOK && res.Header.Get("Retry-After") != "" {
			t.Errorf("%s: %v", address, res.Header)
		}
	}
	if res := w.ask("POST", "http://programs.test/form"); res.StatusCode != http.StatusServiceUnavailable || res.Header.Get("Retry-After") != "60" {
		t.Errorf("POST: %d %v", res.StatusCode, res.Header)
	}
}
