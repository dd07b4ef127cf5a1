package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"stead.dev/stead/internal/platform/testkit"
)

// newRelease builds this program as that of a release; of the source file named by its path, if any, what change makes of it.
func newRelease(t *testing.T, version, path string, change func(source string) string) string {
	t.Helper()
	dir := t.TempDir()
	program := filepath.Join(dir, "stead-"+version)
	args := []string{"build", "-ldflags", "-X stead.dev/stead/internal/platform/release.version=" + version, "-o", program}
	if path != "" {
		file, err := filepath.Abs(path)
		if err != nil {
			t.Fatal(err)
		}
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		changed := change(string(source))
		if changed == string(source) {
			t.Fatalf("%s is not changed", path)
		}
		overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{file: filepath.Join(dir, "changed.go")}})
		if err != nil {
			t.Fatal(err)
		}
		for name, content := range map[string][]byte{"changed.go": []byte(changed), "overlay.json": overlay} {
			if err := os.WriteFile(filepath.Join(dir, name), content, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		args = append(args, "-overlay", filepath.Join(dir, "overlay.json"))
	}
	build := exec.CommandContext(t.Context(), "go", append(args, "../../cmd/stead")...)
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if output, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build %s: %v\n%s", version, err, output)
	}
	return program
}

// installed is a program at a place of its own.
func installed(t *testing.T, program string) string {
	t.Helper()
	content, err := os.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "stead")
	if err := os.WriteFile(path, content, 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestAgentsAreUpgradedByTheControlPlane: a control plane has two machines run its version, one after the other, and sites are served
// afterwards. A program that cannot serve gives its place back on the first machine, and the second one is left.
func TestAgentsAreUpgradedByTheControlPlane(t *testing.T) {
	t.Parallel()
	old, next := newRelease(t, "v0.2.0", "", nil), newRelease(t, "v0.3.0", "", nil)
	broken := newRelease(t, "v0.4.0", "../app/agent.go", func(source string) string {
		const begin = "func RunNode(ctx context.Context, cfg config.Config, opts Options) (err error) {\n"
		return strings.Replace(source, begin, begin+"\tif cfg.NodeUpgrades {\n\t\treturn errors.New(\"this program cannot serve\")\n\t}\n", 1)
	})
	control := testkit.Address(t)
	in := newInstallation(t, "STEAD_PANEL=nodes", "STEAD_NODES_LISTEN="+control, "STEAD_NODES_URL=https://"+control)
	in.env, in.program = append(in.env, "STEAD_NODE_LISTEN=off"), next
	p := in.serve(t, "--demo")
	machine := func(name string, env ...string) *agent {
		a := newAgentAt(t, in, installed(t, old), testkit.Address(t), control, name, "--disk-percent", "10000", "--location", "tashkent")
		a.env = append(a.env, env...)
		a.start(t)
		t.Cleanup(func() {
			_, _ = a.cmd.Process.Kill(), a.cmd.Wait()
			if t.Failed() {
				t.Logf("log of %s:\n%s", name, tail(a.logged(), 4000))
			}
		})
		testkit.Eventually(t, time.Minute, func() bool { return in.state(t, name) == "active" }, "the node reports")
		return a
	}
	first := machine("node1", "STEAD_NODE_UPGRADES=true")
	c := p.signIn(t)
	in.must(t, &struct{}{}, "admin", "wallet", "credit", demoEmail, "50", "--reason", "a test")
	order, _ := c.order(c.plan(), "shop.example.com")
	if status, answer, err := c.call(http.MethodPost, fmt.Sprintf("/api/v1/orders/%d/pay", order), "{}", "pay"); err != nil || status != http.StatusOK {
		t.Fatalf("pay: %d %v %s", status, err, answer)
	}
	served := func() bool {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+first.sites, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		r.Host = "shop.example.com"
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			return false
		}
		_ = answer.Body.Close()
		return answer.StatusCode == http.StatusOK
	}
	testkit.Eventually(t, time.Minute, func() bool {
		homes, _ := filepath.Glob(filepath.Join(first.dir, "node", "accounts", "*", "public_html"))
		return len(homes) == 1 && os.WriteFile(filepath.Join(homes[0], "index.html"), []byte("open"), 0o644) == nil && served()
	}, "the site is served")
	second := machine("node2")

	// versions are those that the nodes have reported last.
	versions := func() (all []string) {
		var list struct {
			Data []struct{ Version string } `json:"data"`
		}
		in.must(t, &list, "admin", "nodes", "list")
		for _, n := range list.Data {
			all = append(all, n.Version)
		}
		return all
	}
	// upgrade has a program upgrade nodes, and tells what came of each.
	upgrade := func(program string, args ...string) (all []string, stderr string, code int) {
		t.Helper()
		commander := &installation{env: in.env, program: program}
		stdout, stderr, code := commander.run(t, append([]string{"admin", "nodes", "upgrade", "--json"}, args...)...)
		var list struct {
			Data []struct{ Name, Outcome, Note string } `json:"data"`
		}
		if err := json.Unmarshal([]byte(stdout), &list); err != nil {
			t.Fatalf("%v in %s%s", err, stdout, stderr)
		}
		for _, n := range list.Data {
			all = append(all, n.Name+" "+n.Outcome)
			t.Logf("%s %s: %s", n.Name, n.Outcome, n.Note)
		}
		return all, stderr, code
	}

	if all, stderr, code := upgrade(next, "node2", "node1"); code != 3 || !slices.Equal(all, []string{"node2 failed", "node1 left"}) || !strings.Contains(stderr, `"upgrade_off"`) {
		t.Fatalf("without the leave of the machine's operator: exit code %d, %v\n%s", code, all, stderr)
	}
	if got := versions(); !slices.Equal(got, []string{"v0.2.0", "v0.2.0"}) {
		t.Errorf("the nodes run %v", got)
	}
	second.kill(t)
	second.env = append(second.env, "STEAD_NODE_UPGRADES=true")
	second.start(t)
	in.must(t, &struct{}{}, "admin", "nodes", "maintenance", "node2", "on", "--reason", "a test")
	if all, stderr, code := upgrade(next); code != 0 || !slices.Equal(all, []string{"node1 upgraded", "node2 skipped"}) {
		t.Fatalf("exit code %d, %v\n%s", code, all, stderr)
	}
	if got := versions(); !slices.Equal(got, []string{"v0.3.0", "v0.2.0"}) {
		t.Errorf("the nodes run %v", got)
	}
	in.must(t, &struct{}{}, "admin", "nodes", "maintenance", "node2", "off", "--reason", "a test")
	if all, stderr, code := upgrade(next); code != 0 || !slices.Equal(all, []string{"node1 skipped", "node2 upgraded"}) {
		t.Fatalf("exit code %d, %v\n%s", code, all, stderr)
	}
	if got := versions(); !slices.Equal(got, []string{"v0.3.0", "v0.3.0"}) {
		t.Errorf("the nodes run %v", got)
	}
	testkit.Eventually(t, time.Minute, served, "the site is served by the new version")
	whole := func(version string) {
		t.Helper()
		if said, _, _ := (&installation{program: first.program}).run(t, "version"); !strings.Contains(said, version) {
			t.Errorf("the program of the machine says of itself %s", said)
		}
		for _, left := range []string{".new", ".trial"} {
			if _, err := os.Stat(first.program + left); !os.IsNotExist(err) {
				t.Errorf("%s: %v", left, err)
			}
		}
	}
	whole("v0.3.0")

	all, stderr, code := upgrade(broken, "--wait", "20s")
	if code != 1 || !slices.Equal(all, []string{"node1 failed", "node2 left"}) || !strings.Contains(stderr, "node1: it has not come back with v0.4.0") {
		t.Errorf("a program that cannot serve: exit code %d, %v\n%s", code, all, stderr)
	}
	testkit.Eventually(t, time.Minute, func() bool { return served() && in.state(t, "node1") == "active" }, "the site is served by the former version")
	if got := versions(); !slices.Equal(got, []string{"v0.3.0", "v0.3.0"}) {
		t.Errorf("the nodes run %v", got)
	}
	whole("v0.3.0")
	if log := first.logged(); !strings.Contains(log, "the upgrade of the program is taken back") || !strings.Contains(log, "this program cannot serve") {
		t.Error("the log does not say why the former program is back")
	}
	var audited struct {
		Data []struct{ Action, Subject, Reason string } `json:"data"`
	}
	in.must(t, &audited, "admin", "audit", "list", "--action", "node.upgrade")
	if len(audited.Data) != 4 || audited.Data[0].Reason != "v0.3.0 to v0.4.0" {
		t.Errorf("the audit log has %+v", audited.Data)
	}
}
