package e2e

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"stead.dev/stead/internal/platform/testkit"
	stead "stead.dev/stead/sdk/go"
)

// githubAction is the part of an Action's file that a runner goes by.
type githubAction struct {
	Inputs map[string]struct {
		Required bool
		Default  string
	}
	Outputs map[string]struct{ Value string }
	Runs    struct {
		Steps []struct {
			ID, Shell, Run string
			Env            map[string]string
		}
	}
}

func readYAML(t *testing.T, name string, into any) {
	t.Helper()
	content, err := os.ReadFile(filepath.Join("../../deploy", name))
	if err == nil {
		err = yaml.Unmarshal(content, into)
	}
	if err != nil {
		t.Fatal(err)
	}
}

var inputOf = regexp.MustCompile(`^\$\{\{ inputs\.([a-z0-9]+) \}\}$`)

// runAction runs the steps as a runner of GitHub does, and returns what they put out.
func runAction(t *testing.T, a githubAction, dir string, with map[string]string) (outputs map[string]string, log string, err error) {
	t.Helper()
	outputs = map[string]string{}
	for _, step := range a.Runs.Steps {
		file := filepath.Join(t.TempDir(), "output")
		env := map[string]string{"PATH": os.Getenv("PATH"), "HOME": t.TempDir(), "GITHUB_OUTPUT": file}
		for name, value := range step.Env {
			found := inputOf.FindStringSubmatch(value)
			if found == nil {
				t.Fatalf("%s is %s", name, value)
			}
			input, known := a.Inputs[found[1]]
			if !known {
				t.Fatalf("%s is an input that the Action does not have", found[1])
			}
			given, ok := with[found[1]]
			if !ok {
				if input.Required {
					t.Fatalf("%s is required", found[1])
				}
				given = input.Default
			}
			env[name] = given
		}
		if strings.Contains(step.Run, "${{") {
			t.Error("the script has an expression in it, whose value could be a command")
		}
		log, err = runScript(t, step.Run, dir, env)
		content, _ := os.ReadFile(file)
		for line := range strings.Lines(string(content)) {
			name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
			outputs[name] = value
		}
		if err != nil {
			break
		}
	}
	return outputs, log, err
}

// runScript runs a script by bash, as both services do.
func runScript(t *testing.T, script, dir string, env map[string]string) (log string, err error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "script.sh")
	if err := os.WriteFile(file, []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
	c := exec.CommandContext(t.Context(), "bash", "--noprofile", "--norc", "-e", "-o", "pipefail", file)
	c.Dir = dir
	for name, value := range env {
		c.Env = append(c.Env, name+"="+value)
	}
	output, err := c.CombinedOutput()
	return string(output), err
}

// TestAPipelineDeploysAFolder runs the GitHub Action and the GitLab template with the built program as a release.
func TestAPipelineDeploysAFolder(t *testing.T) {
	t.Parallel()
	server := newInstallation(t).serve(t, "--demo")
	shop := server.signIn(t)
	ctx := t.Context()
	order, _ := shop.order(shop.plan(), "shop.example.com")
	if _, err := shop.sdk().Orders.Pay(ctx, order); err != nil {
		t.Fatal(err)
	}
	var service stead.Service
	testkit.Eventually(t, heard, func() bool {
		for s, err := range shop.sdk().Services.All(ctx, stead.ServicesQuery{Q: "shop.example.com", Status: stead.ServiceStatusActive}) {
			if err != nil {
				t.Fatal(err)
			}
			service = s
		}
		return service.ID != 0
	}, "the service is active")

	// The customer makes a token for it.
	p := newPerson(t)
	made := make(chan string, 1)
	go func() {
		stdout, _, _ := p.run("", "token", "create", "--server", server.url)
		made <- strings.TrimSpace(stdout)
	}()
	decide(t, server.url, p.opened(), "allow")
	token := <-made
	if !strings.HasPrefix(token, "sta_") {
		t.Fatalf("the token is %q", token)
	}
	if _, err := os.Stat(filepath.Join(p.home, ".config", "stead", "servers.json")); err == nil {
		t.Error("the token is kept")
	}

	program, err := os.ReadFile(binary)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(program)
	release := filepath.Join(t.TempDir(), "stead_1.2.3_linux_amd64")
	if err := os.Link(binary, release); err != nil {
		if err := os.WriteFile(release, program, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	checkout := t.TempDir()
	write := func(name, content string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Join(checkout, "public"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(checkout, "public", name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	content := func(name string) string {
		t.Helper()
		f, err := shop.sdk().Files.Read(context.WithoutCancel(ctx), service.ID, stead.FilesReadQuery{Path: "/public_html/" + name})
		if stead.HasKey(err, stead.KeyNotFound) {
			return ""
		}
		if err != nil {
			t.Fatal(err)
		}
		return f.Content
	}
	write("index.html", "<h1>By GitHub</h1>")
	write("old.html", "old")

	var action githubAction
	readYAML(t, "github-action/action.yml", &action)
	with := map[string]string{
		"server": server.url, "token": token, "site": "shop.example.com", "folder": "public",
		"program": "file://" + release, "sha256": hex.EncodeToString(sum[:]),
	}
	changed := func(name, value string) map[string]string {
		other := maps.Clone(with)
		other[name] = value
		return other
	}
	outputs, log, err := runAction(t, action, checkout, with)
	if err != nil || outputs["url"] != "https://shop.example.com" || outputs["release"] == "" || content("index.html") != "<h1>By GitHub</h1>" {
		t.Fatalf("%v, %v\n%s", outputs, err, log)
	}
	if strings.Contains(log, token) {
		t.Error("the token is in the log")
	}
	for name, output := range action.Outputs {
		if output.Value != fmt.Sprintf("${{ steps.%s.outputs.%s }}", action.Runs.Steps[0].ID, name) || outputs[name] == "" {
			t.Errorf("output %s is %s", name, output.Value)
		}
	}
	write("index.html", "<h1>Another</h1>")
	for name, other := range map[string]map[string]string{
		"another program":     changed("sha256", strings.Repeat("0", 64)),
		"no checksum":         changed("sha256", ""),
		"no program":          changed("program", "file:///nothing"),
		"an unsafe address":   changed("program", "http://127.0.0.1:1/stead"),
		"a wrong token":       changed("token", "sta_wrong"),
		"no such site":        changed("site", "other.example.com"),
		"a command as a site": changed("site", "$(touch attacked) `touch attacked`; touch attacked"),
		"a flag as a folder":  changed("folder", "--rollback"),
	} {
		if _, log, err := runAction(t, action, checkout, other); err == nil || content("index.html") != "<h1>By GitHub</h1>" {
			t.Errorf("%s: it went on\n%s", name, log)
		}
	}
	if _, err := os.Stat(filepath.Join(checkout, "attacked")); err == nil {
		t.Error("an input was run")
	}

	var template struct {
		Deploy struct {
			Variables map[string]string
			Script    []string
		} `yaml:".stead-deploy"`
	}
	readYAML(t, "gitlab/stead.gitlab-ci.yml", &template)
	if err := os.Remove(filepath.Join(checkout, "public", "old.html")); err != nil {
		t.Fatal(err)
	}
	env := maps.Clone(template.Deploy.Variables)
	maps.Copy(env, map[string]string{
		"PATH": os.Getenv("PATH"), "HOME": t.TempDir(), "STEAD_SERVER": server.url, "STEAD_TOKEN": token, "STEAD_SITE": "shop.example.com",
		"STEAD_FOLDER": "public", "STEAD_DELETE": "true", "STEAD_PROGRAM": with["program"], "STEAD_SHA256": with["sha256"],
	})
	log, err = runScript(t, strings.Join(template.Deploy.Script, "\n"), checkout, env)
	told, _ := os.ReadFile(filepath.Join(checkout, "stead.env"))
	if err != nil || !bytes.HasPrefix(told, []byte("STEAD_URL=https://shop.example.com\nSTEAD_RELEASE=")) || content("index.html") != "<h1>Another</h1>" || content("old.html") != "" {
		t.Errorf("%s, %v\n%s", told, err, log)
	}
	env["STEAD_SHA256"] = strings.Repeat("0", 64)
	if log, err := runScript(t, strings.Join(template.Deploy.Script, "\n"), checkout, env); err == nil {
		t.Errorf("another program is run\n%s", log)
	}

	if _, stderr, code := p.run(token+"\n", "token", "revoke", "--server", server.url); code != 0 {
		t.Errorf("revoked: exit code %d, %s", code, stderr)
	}
	testkit.Eventually(t, heard, func() bool {
		_, log, err := runAction(t, action, checkout, with)
		return err != nil && strings.Contains(log, "token_revoked")
	}, "the token is revoked")
}
