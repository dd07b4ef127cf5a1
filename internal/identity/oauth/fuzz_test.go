package oauth

import (
	"net/url"
	"slices"
	"strings"
	"testing"

	"stead.dev/stead/internal/platform/i18n"
)

// What matches is what was registered, but for a loopback port: a browser that
// is sent there gets to no other host, by any reading of the text.
func FuzzRedirectMatching(f *testing.F) {
	registered := []string{"https://client.example/cb", "http://127.0.0.1/cb", "http://[::1]/cb", "http://localhost/cb?x=1", "com.example.app:/cb"}
	for _, r := range registered {
		f.Add(r)
	}
	for _, s := range []string{
		"http://127.0.0.1:80/cb", "http://127.0.0.1:80@evil.example/cb", "http://127.0.0.1:@x/cb", "http://localhost:1?x=1", "https://client.example/cb#", "http://[::1]:65536/cb",
	} {
		f.Add(s)
	}
	app := Application{Type: Public, RedirectURIs: registered}
	f.Fuzz(func(t *testing.T, requested string) {
		if !app.matches(requested) || slices.Contains(registered, requested) {
			return
		}
		u, err := url.Parse(requested)
		if err != nil {
			t.Fatalf("%q matches and is no address: %v", requested, err)
		}
		if u.Scheme != "http" || u.User != nil || u.Fragment != "" || !slices.Contains([]string{"127.0.0.1", "::1", "localhost"}, u.Hostname()) {
			t.Errorf("%q matches and leads to %q", requested, u.Host)
		}
		if port := u.Port(); port == "" || strings.Trim(port, "0123456789") != "" {
			t.Errorf("%q matches with the port %q", requested, port)
		}
	})
}

// Nothing that can be registered leads to a script or past the checks.
func FuzzRedirectRegistration(f *testing.F) {
	for _, s := range []string{"https://a.example/cb", "com.example:/x", "http://localhost", "javascript:alert(1)", "https:a.example", "HTTPS://A", "a.b:c?code=1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		wrong := checkRedirect(raw, Public)
		if wrong != "" {
			if id := "invalid." + wrong; !i18n.Has("en", id) {
				t.Errorf("no text for %s", id)
			}
			return
		}
		u, err := url.Parse(raw)
		if err != nil || u.User != nil || u.Fragment != "" {
			t.Fatalf("%q is registered: %v", raw, err)
		}
		a := Application{Type: Public, RedirectURIs: []string{raw}}
		if !a.matches(raw) {
			t.Errorf("%q is registered and does not match itself", raw)
		}
		to, err := url.Parse(withParams(raw, url.Values{"code": {"c"}, "state": {"a&b=c#d"}}))
		if err != nil || to.Host != u.Host || to.Scheme != u.Scheme || to.Path != u.Path || to.Query().Get("code") != "c" || to.Query().Get("state") != "a&b=c#d" {
			t.Errorf("%q becomes %q", raw, to)
		}
	})
}

func FuzzParameters(f *testing.F) {
	f.Add("client_id=a&client_id=b")
	f.Add("scope=profile+orders%3Aread&state=%ff")
	f.Add("resource=a&code=%00")
	f.Fuzz(func(t *testing.T, raw string) {
		v, err := url.ParseQuery(raw)
		if err != nil {
			return
		}
		p, err := parseParams(v)
		if err != nil {
			if r := AsRefusal(err); r == nil || r.Def != ErrInvalidRequest {
				t.Errorf("%q: %v", raw, err)
			}
			return
		}
		for name, value := range p {
			if value == "" || len(v[name]) != 1 || v[name][0] != value || strings.ContainsAny(value, "\x00\r\n") {
				t.Errorf("%q gives %s=%q", raw, name, value)
			}
		}
		if scopes, ok := parseScopes(p["scope"]); ok {
			if again, ok := parseScopes(scopes.String()); !ok || again.String() != scopes.String() {
				t.Errorf("scopes %q are read again as %q", scopes, again)
			}
		}
	})
}

// The English reasons are error_description: RFC 6749, section 5.2, allows them
// few characters. Every reason that the code names has its text.
func TestEveryReasonCanBeADescription(t *testing.T) {
	for _, reason := range reasonsInSource(t) {
		id := "oauth.reason." + reason
		for _, lang := range i18n.Supported() {
			if !i18n.Has(lang, id) {
				t.Errorf("%s has no text in %s", id, lang)
			}
		}
		for _, c := range i18n.T(i18n.English, id, nil) {
			if c < ' ' || c > '~' || c == '"' || c == '\\' {
				t.Errorf("%s holds %q", id, c)
			}
		}
	}
}
