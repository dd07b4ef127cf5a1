package e2e

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"stead.dev/stead/internal/platform/testkit"
)

// TestThePanelInABrowser runs the tests of web/panel/e2e, written for Playwright, against the built program: as people use
// the panel, and with an accessibility check of every page.
func TestThePanelInABrowser(t *testing.T) {
	t.Parallel()
	// Monitors find the sites of a demo at the port of its node, when it is known from the beginning. Webhooks go to a test.
	in := newInstallation(t, fmt.Sprintf("STEAD_NODE_LISTEN=127.0.0.1:%d", testkit.Port(t)), "STEAD_ALLOW_LOOPBACK_TARGETS=true")
	browse(t, in, in.serve(t, "--demo"))
}

// TestThePanelOnALinuxMachine runs the tests of web/panel/e2e that need web server, PHP, databases, backups and shells for real.
func TestThePanelOnALinuxMachine(t *testing.T) {
	t.Parallel()
	h := newHost(t, "STEAD_MAIL_HOST=mx.stead.test")
	h.env = append(h.env, fmt.Sprintf("PANEL_SITES=%d", h.ports["http"]))
	browse(t, h.installation, h.serve(t, "--demo"), "e2e/machine.spec.ts", "e2e/machine.keys.spec.ts")
}

// TestStaffMoveServicesInABrowser: a member of staff moves a service from one node to another, calls a move off, and drains and
// empties a node, by the pages alone.
func TestStaffMoveServicesInABrowser(t *testing.T) {
	t.Parallel()
	in, p, _, node := newShopOfNodes(t)
	for _, name := range []string{"node1", "node2", "node3"} {
		node(name)
	}
	in.env = append(in.env, "PANEL_NODES=true")
	browse(t, in, p, "e2e/nodes.spec.ts")
}

var update = flag.Bool("update", false, "take the pictures of the articles and of the documents anew")

// TestUpdatePictures takes the pictures of the knowledge base's articles, by the tests that walk their steps, and those of
// docs/images that show the panel, when it is told to (make pictures).
func TestUpdatePictures(t *testing.T) {
	if !*update {
		return // nothing is to be taken
	}
	media, err := filepath.Abs(filepath.Join("..", "content", "articles", "library", "media"))
	if err != nil {
		t.Fatal(err)
	}
	images, err := filepath.Abs(filepath.Join("..", "..", "docs", "images"))
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("PICTURES", media)
	in := newInstallation(t)
	browse(t, in, in.serve(t, "--demo"), "e2e/articles.spec.ts")

	shop := newInstallation(t, fmt.Sprintf("STEAD_NODE_LISTEN=127.0.0.1:%d", testkit.Port(t)))
	shop.env = append(shop.env, "DOCUMENT_PICTURES="+images)
	browse(t, shop, shop.serve(t, "--demo"), "e2e/pictures.spec.ts")
}

// browse runs the tests of web/panel/e2e against the running program of an installation: the named files, or all that need no
// machine of their own.
func browse(t *testing.T, in *installation, p *process, files ...string) {
	t.Helper()
	chromium, err := exec.LookPath("chromium-headless-shell")
	if err != nil {
		t.Fatalf("%v: run the tests with `make test`, which installs it", err)
	}
	panel := filepath.Join("..", "..", "web", "panel")
	if _, err := os.Stat(filepath.Join(panel, "node_modules", "@playwright", "test")); err != nil {
		t.Fatalf("%v: run the tests with `make test`, which installs it", err)
	}
	report := filepath.Join(t.TempDir(), "report.json")
	c := exec.CommandContext(t.Context(), "npx", append([]string{"playwright", "test"}, files...)...)
	c.Dir = panel
	c.Env = append(in.env, "PANEL_URL="+p.url, "PANEL_BINARY="+binary, "PANEL_CHROMIUM="+chromium, "PANEL_REPORT="+report,
		"PANEL_RESULTS="+t.TempDir(), "PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD=1", "PICTURES="+os.Getenv("PICTURES"))
	output, ran := c.CombinedOutput()
	content, err := os.ReadFile(report)
	if err != nil {
		t.Fatalf("%v; %v\n%s", ran, err, output)
	}
	var whole browserSuite
	if err := json.Unmarshal(content, &whole); err != nil {
		t.Fatal(err)
	}
	for _, problem := range whole.Errors {
		t.Errorf("%s", problem.Message)
	}
	if count := whole.each(t, ""); count == 0 || ran != nil && !t.Failed() {
		t.Errorf("%d tests ran: %v\n%s", count, ran, output)
	}
}

// browserSuite is a part of Playwright's report.
type browserSuite struct {
	Title  string
	Suites []browserSuite
	Specs  []struct {
		Title string
		OK    bool
		Tests []struct {
			Results []struct {
				Status string
				Errors []struct{ Message string }
			}
		}
	}
	Errors []struct{ Message string }
}

// each tells the result of each test as one of t's, and counts them.
func (s browserSuite) each(t *testing.T, above string) (count int) {
	for _, spec := range s.Specs {
		count++
		t.Run(strings.TrimPrefix(above+": "+spec.Title, ": "), func(t *testing.T) {
			if spec.OK && len(spec.Tests) > 0 {
				return
			}
			for _, one := range spec.Tests {
				for _, result := range one.Results {
					for _, e := range result.Errors {
						t.Errorf("%s: %s", result.Status, e.Message)
					}
				}
			}
			if !t.Failed() {
				t.Error("it did not run")
			}
		})
	}
	for _, inner := range s.Suites {
		count += inner.each(t, inner.Title)
	}
	return count
}
