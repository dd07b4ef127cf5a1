package watch

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"go.yaml.in/yaml/v3"

	"stead.dev/stead/internal/platform/observe"
)

// root is the folder of the repository.
var root = filepath.Join("..", "..", "..")

func read(t *testing.T, path ...string) []byte {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(append([]string{root}, path...)...))
	if err != nil {
		t.Fatal(err)
	}
	return content
}

type rule struct {
	Alert, Expr string
	Labels      map[string]string
	Annotations map[string]string
}

func rules(t *testing.T) []rule {
	t.Helper()
	var file struct{ Groups []struct{ Rules []rule } }
	if err := yaml.Unmarshal(read(t, "deploy", "prometheus", "stead.rules.yaml"), &file); err != nil {
		t.Fatal(err)
	}
	return file.Groups[0].Rules
}

func TestEachRuleHasARunbookAndEachRunbookARule(t *testing.T) {
	t.Parallel()
	var named []string
	for _, r := range rules(t) {
		name := strings.TrimPrefix(r.Alert, "Stead")
		named = append(named, name+".md")
		if want := "docs/runbooks/" + name + ".md"; r.Annotations["runbook"] != want || r.Annotations["summary"] == "" {
			t.Errorf("%s: annotations %v", r.Alert, r.Annotations)
		}
		if s := r.Labels["severity"]; s != "page" && s != "ticket" {
			t.Errorf("%s: severity %q", r.Alert, s)
		}
		text := string(read(t, "docs", "runbooks", name+".md"))
		for _, part := range []string{"# " + r.Alert + ":", "**What it means.**", "## How to see", "## What to do", "\n" + r.Expr + "\n"} {
			if !strings.Contains(text, part) {
				t.Errorf("the runbook %s lacks %q", name, part)
			}
		}
	}
	entries, err := os.ReadDir(filepath.Join(root, "docs", "runbooks"))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !slices.Contains(named, e.Name()) {
			t.Errorf("the runbook %s has no rule", e.Name())
		}
	}
}

var metricName = regexp.MustCompile(`\bstead_[a-z_0-9]+`)

// known are the names of all metrics that Stead has.
func known(t *testing.T) map[string]bool {
	t.Helper()
	names := map[string]bool{
		// With a database alone.
		"stead_db_connections_in_use": true, "stead_db_connections_max": true, "stead_db_connection_waits_total": true, "stead_jobs": true,
		// With a name server alone.
		"stead_dns_zone_lag_seconds": true, "stead_dns_secondary_lag_seconds": true,
	}
	for _, f := range figures {
		names[f.name] = true
	}
	descriptions := make(chan *prometheus.Desc, 1000)
	observe.NewMetrics("test").Describe(descriptions)
	close(descriptions)
	for d := range descriptions {
		name := metricName.FindString(d.String())
		names[name] = true
		for _, suffix := range []string{"_count", "_sum", "_bucket"} {
			names[name+suffix] = true
		}
	}
	return names
}

func TestRulesAndDashboardsNameMetricsThatThereAre(t *testing.T) {
	t.Parallel()
	names := known(t)
	check := func(where, expr string) {
		for _, name := range metricName.FindAllString(expr, -1) {
			if !names[name] {
				t.Errorf("%s names %s, which there is not", where, name)
			}
		}
	}
	for _, r := range rules(t) {
		check(r.Alert, r.Expr)
	}
	files, err := filepath.Glob(filepath.Join(root, "deploy", "grafana", "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		var board struct {
			Title  string
			Panels []struct {
				Title   string
				Targets []struct{ Expr string }
			}
		}
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(content, &board); err != nil || len(board.Panels) == 0 {
			t.Fatalf("%s: %v", file, err)
		}
		for _, p := range board.Panels {
			for _, target := range p.Targets {
				check(board.Title+": "+p.Title, target.Expr)
			}
		}
	}
	operations := string(read(t, "docs", "operations.md"))
	for _, f := range figures {
		if !strings.Contains(operations, f.name) {
			t.Errorf("docs/operations.md does not name %s", f.name)
		}
	}
}

// Prometheus itself reads the rules, and each of them fires when it should and not when it should not.
func TestPrometheusTakesTheRules(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(root, "deploy", "prometheus")
	for _, args := range [][]string{{"check", "rules", "stead.rules.yaml"}, {"test", "rules", "stead.rules.test.yaml"}} {
		cmd := exec.CommandContext(t.Context(), "promtool", args...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("promtool %v (Debian package prometheus): %v\n%s", args, err, out)
		}
	}
}
