package setup_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"stead.dev/stead/internal/node/mailguard"
	"stead.dev/stead/internal/node/setup"
	"stead.dev/stead/internal/platform/config"
)

// machine is a Debian below a folder, with a package manager and a systemd that do as they are told.
type machine struct {
	t         *testing.T
	root      string
	installed map[string]bool
	units     map[string]string // state by name
	ran       []string
	policy    string // what says while packages come whether services may start
	rules     string // of nftables
}

func newMachine(t *testing.T, systemd bool) *machine {
	t.Helper()
	m := &machine{t: t, root: t.TempDir(), installed: map[string]bool{"ca-certificates": true}, units: map[string]string{}}
	m.write("/etc/os-release", "PRETTY_NAME=\"Debian\"\nID=debian\n")
	if systemd {
		m.write("/run/systemd/system/x", "")
	}
	return m
}

func (m *machine) write(name, text string) {
	m.t.Helper()
	file := filepath.Join(m.root, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		m.t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		m.t.Fatal(err)
	}
}

func (m *machine) read(name string) string {
	data, err := os.ReadFile(filepath.Join(m.root, name))
	if err != nil {
		return ""
	}
	return string(data)
}

func (m *machine) run(_ context.Context, name string, args ...string) (string, error) {
	line := name + " " + strings.Join(args, " ")
	last := args[len(args)-1]
	switch {
	case name == "dpkg-query" && m.installed[last]:
		return "installed", nil
	case name == "dpkg-query":
		return "dpkg-query: no packages found matching " + last, errors.New("exit status 1")
	case name == "apt-get" && args[0] == "install":
		m.policy = m.read("/usr/sbin/policy-rc.d")
		for _, a := range args {
			m.installed[a] = true
		}
		for _, u := range []string{"nginx.service", "mariadb.service", "postfix.service"} {
			m.units[u] = "enabled"
		}
	case name == "systemctl" && args[0] == "list-unit-files":
		var out strings.Builder
		for u, state := range m.units {
			if !strings.HasPrefix(u, "stead-") {
				out.WriteString(u + " " + state + " enabled\n")
			}
		}
		return out.String(), nil
	case name == "systemctl" && args[0] == "is-enabled":
		if m.units[last] != "enabled" {
			return "disabled\n", errors.New("exit status 1")
		}
		return "enabled\n", nil
	case name == "systemctl" && args[0] == "mask":
		for _, u := range args[1:] {
			m.units[u] = "masked"
		}
	case name == "systemctl" && args[0] == "enable":
		m.units[last] = "enabled"
	case name == "systemctl" || name == "apt-get":
	case name == mailguard.Program && args[0] == "-f":
		m.rules = m.read(strings.TrimPrefix(last, m.root))
	case name == mailguard.Program && args[0] == "list":
		if m.rules == "" {
			return "Error: No such file or directory", errors.New("exit status 1")
		}
		return m.rules, nil
	default:
		m.t.Errorf("ran %s", line)
	}
	m.ran = append(m.ran, line)
	return "", nil
}

var settings = setup.Settings{
	DataDir: "/var/lib/stead", AgentListen: "0.0.0.0:8443", ConfigFile: "/etc/stead/node.yaml", Program: "/usr/local/bin/stead",
	IPv4: "192.0.2.7", Nameservers: []string{"ns1.example.com", "ns2.example.com"},
}

func (m *machine) setup(dry bool) string {
	m.t.Helper()
	var out strings.Builder
	if err := setup.Execute(m.t.Context(), setup.System{Root: m.root, Run: m.run}, setup.Plan(settings), dry, &out); err != nil {
		m.t.Fatalf("%v\n%s", err, &out)
	}
	return out.String()
}

func TestAMachineIsSetUpOnceAndStaysSo(t *testing.T) {
	m := newMachine(t, true)
	dry := m.setup(true)
	if len(m.ran) != 0 || m.read(settings.ConfigFile) != "" || !strings.Contains(dry, "would do packages") || !strings.Contains(dry, "           nginx\n") {
		t.Errorf("a dry run did %v and said\n%s", m.ran, dry)
	}
	m.setup(false)
	if !strings.Contains(m.policy, "exit 101") || m.read("/usr/sbin/policy-rc.d") != "" {
		t.Error("services may start while packages are installed, or never again")
	}
	for _, p := range setup.Packages() {
		if !m.installed[p] {
			t.Errorf("%s is missing", p)
		}
	}
	for u, state := range m.units {
		if want := map[bool]string{true: "enabled", false: "masked"}[strings.HasPrefix(u, "stead-")]; state != want {
			t.Errorf("%s is %s", u, state)
		}
	}
	unit := m.read("/etc/systemd/system/stead-node.service")
	if !strings.Contains(unit, "KillMode=process") || !strings.Contains(unit, "ExecStart=/usr/local/bin/stead --config /etc/stead/node.yaml node\n") {
		t.Errorf("unit:\n%s", unit)
	}
	if info, err := os.Stat(filepath.Join(m.root, settings.DataDir)); err != nil || info.Mode().Perm() != 0o711 {
		t.Errorf("data directory: %v %v", info, err)
	}
	c, err := config.Load(config.Input{File: filepath.Join(m.root, settings.ConfigFile)})
	if err != nil {
		t.Fatal(err)
	}
	if c.NodeMachine != config.MachineLinux || c.DataDir != settings.DataDir || c.NodeListen != config.Off || c.NodeURL != "http://192.0.2.7" || !slices.Equal(c.Nameservers, settings.Nameservers) {
		t.Errorf("settings: %+v", c)
	}

	if !strings.Contains(m.rules, "skuid 20000-59999") || m.units["stead-mailguard.service"] != "enabled" ||
		!strings.Contains(m.read("/etc/systemd/system/stead-mailguard.service"), "-f /var/lib/stead/mailguard.nft\n") {
		t.Errorf("accounts reach mail servers: rules %q, units %v", m.rules, m.units)
	}

	m.ran = nil
	if again := m.setup(false); strings.Contains(again, "changed") || len(m.ran) != 0 {
		t.Errorf("the second time it did %v and said\n%s", m.ran, again)
	}
	// What an operator changed stays; what was lost is put right.
	m.write(settings.ConfigFile, "node_machine: linux\n")
	m.units["nginx.service"], m.rules = "enabled", ""
	m.setup(false)
	if m.read(settings.ConfigFile) != "node_machine: linux\n" || m.units["nginx.service"] != "masked" || m.rules == "" {
		t.Error("the settings were replaced, nginx is on, or accounts reach mail servers")
	}
}

func TestASetupThatWasKilledForbidsNothingForEver(t *testing.T) {
	const policy = "/usr/sbin/policy-rc.d"
	for what, installed := range map[string]bool{"while packages came": false, "after that": true} {
		t.Run(what, func(t *testing.T) {
			m := newMachine(t, true)
			m.setup(false)
			m.write(policy, m.policy) // the operator's connection broke, and the program with it
			m.installed["nginx"] = installed
			if dry := m.setup(true); m.read(policy) == "" || !strings.Contains(dry, "would do") {
				t.Errorf("a dry run removed it, or says nothing of it:\n%s", dry)
			}
			m.setup(false)
			if left := m.read(policy); left != "" {
				t.Errorf("no package may start a service any more: %s", left)
			}
		})
	}
	m := newMachine(t, true)
	m.write(policy, "#!/bin/sh\nexit 104\n") // an operator's
	m.setup(false)
	if m.read(policy) == "" || m.policy != m.read(policy) {
		t.Errorf("an operator's was replaced by %q", m.policy)
	}
}

func TestWithoutSystemdNothingIsSwitched(t *testing.T) {
	m := newMachine(t, false)
	m.setup(false)
	for _, line := range m.ran {
		if strings.HasPrefix(line, "systemctl") {
			t.Errorf("ran %s", line)
		}
	}
	if next := setup.Next(setup.System{Root: m.root}, settings); !strings.Contains(next, "/usr/local/bin/stead --config /etc/stead/node.yaml node") {
		t.Errorf("next: %s", next)
	}
}

func TestAnotherSystemIsRefusedUntouched(t *testing.T) {
	m := newMachine(t, true)
	m.write("/etc/os-release", "ID=fedora\n")
	err := setup.Execute(t.Context(), setup.System{Root: m.root, Run: m.run}, setup.Plan(settings), false, &strings.Builder{})
	if err == nil || len(m.ran) != 0 {
		t.Errorf("err %v, ran %v", err, m.ran)
	}
}

func TestAStepThatDoesNotHoldIsAnError(t *testing.T) {
	m := newMachine(t, true)
	broken := func(ctx context.Context, name string, args ...string) (string, error) {
		if name == "apt-get" {
			return "", nil // says that it did
		}
		return m.run(ctx, name, args...)
	}
	err := setup.Execute(t.Context(), setup.System{Root: m.root, Run: broken}, setup.Plan(settings), false, &strings.Builder{})
	if err == nil || !strings.Contains(err.Error(), "still missing") {
		t.Errorf("err = %v", err)
	}
}
