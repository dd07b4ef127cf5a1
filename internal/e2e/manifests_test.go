package e2e

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"stead.dev/stead/internal/platform/testkit"
)

// imageSettings are the settings that the image has by itself.
func imageSettings(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile("../../packaging/Containerfile")
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`(?m)^ENV (.+)$`).FindSubmatch(text)
	if found == nil {
		t.Fatal("the image has no settings")
	}
	return strings.Fields(string(found[1]))
}

// inImage is an installation with the settings of the image, and with those of a manifest. The files that they name lie in a
// folder of the test, with the contents by their names.
func inImage(t *testing.T, settings map[string]string, files map[string]string) *installation {
	t.Helper()
	in := &installation{env: append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir()}, imageSettings(t)...)}
	dir := t.TempDir()
	for name, value := range settings {
		if strings.HasSuffix(name, "_FILE") {
			content, ok := files[filepath.Base(value)]
			if !ok {
				t.Fatalf("%s names %s, which nothing provides", name, value)
			}
			value = filepath.Join(dir, filepath.Base(value))
			if err := os.WriteFile(value, []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		in.env = append(in.env, name+"="+value)
	}
	in.env = append(in.env, "STEAD_DATA_DIR="+filepath.Join(testkit.DatabaseDir(t), "data"))
	return in
}

// settings are all that the installation has, by their variables; a wrong one fails the test.
func (in *installation) settings(t *testing.T) map[string]string {
	t.Helper()
	var list []struct{ Env, Value string }
	in.must(t, &list, "config")
	all := map[string]string{}
	for _, s := range list {
		all[s.Env] = s.Value
	}
	return all
}

// serveOnLoopback serves with the settings of a manifest, but on ports of the loopback.
func (in *installation) serveOnLoopback(t *testing.T, env ...string) *process {
	t.Helper()
	listen := testkit.Address(t)
	in.env = append(in.env, "STEAD_LISTEN="+listen, "STEAD_BASE_URL=http://"+listen, "STEAD_OPS_LISTEN=127.0.0.1:0")
	in.env = append(in.env, env...)
	return in.serve(t)
}

// duration is that of a setting.
func duration(t *testing.T, settings map[string]string, name string) time.Duration {
	t.Helper()
	d, err := time.ParseDuration(settings[name])
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return d
}

// stopTakes is how long a stop may take by the settings: the delay, then the longer of the times for requests and for uploads.
func stopTakes(t *testing.T, settings map[string]string) time.Duration {
	t.Helper()
	return duration(t, settings, "STEAD_SHUTDOWN_DELAY") + max(duration(t, settings, "STEAD_UPLOAD_TIMEOUT"), duration(t, settings, "STEAD_SHUTDOWN_TIMEOUT"))
}

// portOf is the port of an address in a setting.
func portOf(t *testing.T, settings map[string]string, name string) string {
	t.Helper()
	host, port, err := net.SplitHostPort(settings[name])
	if err != nil || host != "0.0.0.0" {
		t.Errorf("%s is %q: nothing outside of the container reaches it", name, settings[name])
	}
	return port
}

// manifest is what is used of an object of Kubernetes.
type manifest struct {
	Kind     string
	Metadata struct{ Name string }
	Spec     struct {
		Replicas     int
		MinAvailable int `yaml:"minAvailable"`
		// A Deployment's and a disruption budget's have matchLabels, a Service's are the labels.
		Selector map[string]any
		Ports    []struct {
			Name       string
			TargetPort string `yaml:"targetPort"`
		}
		Template struct {
			Metadata struct{ Labels map[string]string }
			Spec     struct {
				Grace      int   `yaml:"terminationGracePeriodSeconds"`
				Links      *bool `yaml:"enableServiceLinks"`
				Containers []struct {
					Args  []string
					Env   []struct{ Name, Value string }
					Ports []struct {
						Name          string
						ContainerPort int `yaml:"containerPort"`
					}
					Startup   probe `yaml:"startupProbe"`
					Liveness  probe `yaml:"livenessProbe"`
					Readiness probe `yaml:"readinessProbe"`
					Mounts    []struct {
						Name string
						Path string `yaml:"mountPath"`
					} `yaml:"volumeMounts"`
				}
				Volumes []struct{ Name string }
			}
		}
	}
}

type probe struct {
	HTTP struct{ Path, Port string } `yaml:"httpGet"`
}

// TestTheManifestOfKubernetesFitsTheProgram: its settings are ones that the program has, its ports those on which the program listens, and
// its probes are answered by a program that runs with these settings.
func TestTheManifestOfKubernetesFitsTheProgram(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../deploy/kubernetes/stead.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var deployment manifest
	var others []manifest
	for decoder := yaml.NewDecoder(bytes.NewReader(text)); ; {
		var m manifest
		if err := decoder.Decode(&m); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		if m.Kind == "Deployment" {
			deployment = m
		} else {
			others = append(others, m)
		}
	}
	pod := deployment.Spec.Template.Spec
	if len(pod.Containers) != 1 || len(others) != 3 {
		t.Fatalf("%d containers, and %d objects beside the deployment", len(pod.Containers), len(others))
	}
	container, labels := pod.Containers[0], deployment.Spec.Template.Metadata.Labels
	// A cluster would set STEAD_PORT and others for the Service stead, and the program refuses settings that it does not know.
	if pod.Links == nil || *pod.Links {
		t.Error("the variables of Services are in the environment")
	}
	given := map[string]string{}
	for _, e := range container.Env {
		given[e.Name] = e.Value
	}
	// What comes before it, as the manifest says.
	before := newInstallation(t, "STEAD_DATABASE_URL="+testkit.PostgresURL(t))
	typed := regexp.MustCompile(`(?m)^#   stead (migrate) && stead (admin .*--admin)`).FindSubmatch(text)
	if typed == nil || !strings.Contains(string(text), "--from-literal=database-url=") || !strings.Contains(string(text), "--from-file=secret-key=first/secret.key") {
		t.Fatal("it does not say how the secret is made")
	}
	for _, command := range typed[1:] {
		if stdout, stderr, code := before.run(t, strings.Fields(string(command))...); code != 0 {
			t.Fatalf("stead %s: exit code %d\n%s%s", command, code, stdout, stderr)
		}
	}
	secret, err := os.ReadFile(filepath.Join(before.setting("STEAD_DATA_DIR"), "secret.key"))
	if err != nil {
		t.Fatal(err)
	}
	in := inImage(t, given, map[string]string{"database-url": before.setting("STEAD_DATABASE_URL"), "secret-key": string(secret)})
	settings := in.settings(t)
	ports := map[string]string{
		"http": portOf(t, settings, "STEAD_LISTEN"), "ops": portOf(t, settings, "STEAD_OPS_LISTEN"), "nodes": portOf(t, settings, "STEAD_NODES_LISTEN"),
	}
	for _, p := range container.Ports {
		if ports[p.Name] != fmt.Sprint(p.ContainerPort) {
			t.Errorf("port %s is %d, and the program listens at %q", p.Name, p.ContainerPort, ports[p.Name])
		}
	}
	if grace, stop := time.Duration(pod.Grace)*time.Second, stopTakes(t, settings); grace < stop {
		t.Errorf("a stop may take %s, and the pod has %s", stop, grace)
	}
	mounted := map[string]bool{}
	for _, m := range container.Mounts {
		mounted[m.Path] = slices.ContainsFunc(pod.Volumes, func(v struct{ Name string }) bool { return v.Name == m.Name })
	}
	for _, path := range []string{"/var/lib/stead", "/tmp", "/run/stead"} {
		if !mounted[path] {
			t.Errorf("%s has no volume", path)
		}
	}
	for _, o := range others {
		selector := o.Spec.Selector
		if o.Kind == "PodDisruptionBudget" {
			selector, _ = selector["matchLabels"].(map[string]any)
			if o.Spec.MinAvailable >= deployment.Spec.Replicas {
				t.Errorf("of %d replicas %d must be there: no machine is ever drained", deployment.Spec.Replicas, o.Spec.MinAvailable)
			}
		}
		for name, value := range selector {
			if labels[name] != value {
				t.Errorf("%s %s selects %s=%v, and the pods have %v", o.Kind, o.Metadata.Name, name, value, labels)
			}
		}
		if len(selector) == 0 {
			t.Errorf("%s %s selects nothing", o.Kind, o.Metadata.Name)
		}
		for _, p := range o.Spec.Ports {
			if ports[p.TargetPort] == "" {
				t.Errorf("Service %s leads to the port %q", o.Metadata.Name, p.TargetPort)
			}
		}
	}

	// It runs as the pod does, on ports of the loopback.
	if len(container.Args) != 1 || container.Args[0] != "serve" {
		t.Errorf("the program is started with %q", container.Args)
	}
	p := in.serveOnLoopback(t, "STEAD_NODES_LISTEN="+testkit.Address(t))
	for _, probe := range []probe{container.Startup, container.Liveness, container.Readiness} {
		if probe.HTTP.Port != "http" {
			t.Errorf("a probe asks the port %q", probe.HTTP.Port)
		}
		answer, err := http.Get(p.url + probe.HTTP.Path)
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
		if answer.StatusCode != http.StatusOK {
			t.Errorf("the probe %s is answered %d", probe.HTTP.Path, answer.StatusCode)
		}
	}
}

// TestTheComposeFileFitsTheProgram: its settings are ones that the program has, and the proxy leads to where the program listens.
func TestTheComposeFileFitsTheProgram(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../deploy/compose.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Services map[string]struct {
			Build struct{ Context, Dockerfile string }
			Grace time.Duration     `yaml:"stop_grace_period"`
			Env   map[string]string `yaml:"environment"`
			// Those of the program's user must be readable for it.
			Secrets, Volumes, Ports []string
			Command                 string
			DependsOn               map[string]struct{ Condition string } `yaml:"depends_on"`
			Healthcheck             *struct{ Test []string }
		}
		Secrets map[string]struct{ File string }
		Volumes map[string]struct{}
	}
	if err := yaml.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	stead := file.Services["stead"]
	if _, err := os.Stat(filepath.Join("../../deploy", stead.Build.Context, stead.Build.Dockerfile)); err != nil {
		t.Error(err)
	}
	given, files := map[string]string{}, map[string]string{}
	for name, value := range stead.Env {
		given[name] = strings.ReplaceAll(value, "${DOMAIN:?}", "panel.example.com")
	}
	for _, name := range stead.Secrets {
		files[name] = testkit.PostgresURL(t)
	}
	in := inImage(t, given, files)
	settings := in.settings(t)
	if stop := stopTakes(t, settings); stead.Grace < stop {
		t.Errorf("a stop may take %s, and the container has %s", stop, stead.Grace)
	}
	if to := "--to stead:" + portOf(t, settings, "STEAD_LISTEN"); !strings.HasSuffix(file.Services["caddy"].Command, to) {
		t.Errorf("the proxy is started as %q, want %s", file.Services["caddy"].Command, to)
	}
	// Nodes join where they are told to.
	if nodes := portOf(t, settings, "STEAD_NODES_LISTEN"); !slices.Contains(stead.Ports, nodes+":"+nodes) || !strings.HasSuffix(given["STEAD_NODES_URL"], ":"+nodes) {
		t.Errorf("nodes are told to join at %s, which leads to %v, and the program listens on %s", given["STEAD_NODES_URL"], stead.Ports, nodes)
	}
	for name, s := range file.Services {
		for _, secret := range s.Secrets {
			if file.Secrets[secret].File == "" {
				t.Errorf("%s: there is no secret %s", name, secret)
			}
			if !strings.Contains(string(text), "#   "+secret+" ") {
				t.Errorf("nobody is told to write the file %s", secret)
			}
		}
		for _, volume := range s.Volumes {
			source, _, _ := strings.Cut(volume, ":")
			if _, ok := file.Volumes[source]; !ok {
				t.Errorf("%s: there is no volume %s", name, source)
			}
		}
		for on, how := range s.DependsOn {
			if how.Condition == "service_healthy" && file.Services[on].Healthcheck == nil {
				t.Errorf("%s waits for the health of %s, which nobody asks for", name, on)
			}
		}
	}
	in.serveOnLoopback(t, "STEAD_NODES_LISTEN="+testkit.Address(t))
}
