package e2e

import (
	"encoding/json"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// conformance is the program of the protocol's official suite. Its package is installed by scripts/test.
const conformance = typescript + "/node_modules/@modelcontextprotocol/conformance/dist/index.js"

// TestTheProtocolsConformanceSuite runs the scenarios of the suite that need no server made for it: others call tools and read
// resources of certain names.
func TestTheProtocolsConformanceSuite(t *testing.T) {
	t.Parallel()
	p := newInstallation(t).serve(t, "--demo")
	endpoint := withToken(t, p.url, p.signIn(t).token) + "/api/v1/mcp"
	for _, scenario := range []string{"dns-rebinding-protection", "server-initialize", "ping", "tools-list", "resources-list", "prompts-list"} {
		t.Run(scenario, func(t *testing.T) {
			results := t.TempDir()
			c := exec.CommandContext(t.Context(), "node", conformance, "server", "--url", endpoint, "--scenario", scenario, "--output-dir", results)
			output, err := c.CombinedOutput()
			if err != nil {
				t.Fatalf("%v\n%s", err, output)
			}
			// A scenario that checks nothing ends well, too.
			files, err := filepath.Glob(filepath.Join(results, "*", "checks.json"))
			if err != nil || len(files) != 1 {
				t.Fatalf("results %v, error %v\n%s", files, err, output)
			}
			content, err := os.ReadFile(files[0])
			if err != nil {
				t.Fatal(err)
			}
			var checks []struct{ ID, Status, ErrorMessage string }
			if err := json.Unmarshal(content, &checks); err != nil || len(checks) == 0 {
				t.Fatalf("%d checks, error %v: %s", len(checks), err, content)
			}
			for _, check := range checks {
				if check.Status != "SUCCESS" {
					t.Errorf("%s: %s %s", check.ID, check.Status, check.ErrorMessage)
				}
			}
		})
	}
}

// withToken is the address of a proxy that adds a token to requests, which the suite cannot send, and leaves all else as it is:
// Host and Origin among it.
func withToken(t *testing.T, base, token string) string {
	t.Helper()
	to, err := url.Parse(base)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httptest.NewServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(to)
		r.Out.Host = r.In.Host
		r.Out.Header.Set("Authorization", "Bearer "+token)
	}})
	t.Cleanup(proxy.Close)
	return proxy.URL
}
