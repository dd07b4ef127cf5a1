package e2e

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

const typescript = "../../sdk/typescript"

// TestTheTypeScriptSDK runs the SDK's own tests, its example in Node and the same in a browser against a server. Its packages are
// installed by scripts/test.
func TestTheTypeScriptSDK(t *testing.T) {
	t.Parallel()
	p := newInstallation(t).serve(t, "--demo")
	customer := p.signIn(t)
	for _, args := range [][]string{{"npm", "run", "--silent", "build"}, {"npm", "test", "--silent"}, {"node", "build/examples/publish.js"}} {
		c := exec.CommandContext(t.Context(), args[0], args[1:]...)
		c.Dir = typescript
		c.Env = append(c.Environ(), "STEAD_URL="+p.url, "STEAD_TOKEN="+customer.token)
		output, err := c.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %v\n%s", args, err, output)
		}
		if args[0] == "node" && !strings.HasPrefix(string(output), "published ") {
			t.Errorf("the example printed %s", output)
		}
	}
	query := url.Values{"url": {p.url}, "token": {customer.token}}
	if report := inBrowser(t, typescript+"/build", "/test/browser.js", query); !strings.HasPrefix(report, "published ") {
		t.Errorf("the browser reported %q", report)
	}
}

// inBrowser runs a module of a folder in a page of an origin of its own, with a query, and returns what the page posts to /report.
func inBrowser(t *testing.T, folder, module string, query url.Values) string {
	t.Helper()
	report := make(chan string, 1)
	mux := http.NewServeMux()
	mux.Handle("GET /", http.FileServer(http.Dir(folder)))
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = io.WriteString(w, `<!doctype html><title>SDK</title><script type="module" src="`+module+`"></script>`)
	})
	mux.HandleFunc("POST /report", func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		report <- string(body)
	})
	server := httptest.NewServer(mux)
	defer server.Close()
	browser := exec.CommandContext(t.Context(), "chromium-headless-shell", "--no-sandbox", "--disable-gpu", "--user-data-dir="+t.TempDir(),
		"--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1", server.URL+"/?"+query.Encode())
	browser.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Debian's program is a script that starts the browser
	if err := browser.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = syscall.Kill(-browser.Process.Pid, syscall.SIGKILL)
		_ = browser.Wait()
	}()
	select {
	case said := <-report:
		return said
	case <-time.After(2 * time.Minute):
		t.Fatal("the page reports nothing")
		return ""
	}
}
