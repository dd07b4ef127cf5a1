package e2e

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"
)

// TestTheUnitsOfTheServerAreConfined by the measure of systemd itself, from 0 (nothing is exposed) to 10.
func TestTheUnitsOfTheServerAreConfined(t *testing.T) {
	t.Parallel()
	for _, unit := range []string{"stead.service", "stead-backup.service"} {
		said, err := exec.Command("systemd-analyze", "security", "--offline=true", "--threshold=20", "--no-pager", filepath.Join("../../packaging/systemd", unit)).CombinedOutput()
		if err != nil {
			t.Errorf("%s: %v\n%s", unit, err, tail(string(said), 4000))
		}
	}
}

// TestMigrationsMayTakeTheirTime: the server tells systemd that it is ready once they are done, and systemd by itself ends a start
// after 90 seconds.
func TestMigrationsMayTakeTheirTime(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../packaging/systemd/stead.service")
	if err != nil {
		t.Fatal(err)
	}
	if unit := string(text); strings.Contains(unit, "\nType=notify\n") && !strings.Contains(unit, "\nTimeoutStartSec=infinity\n") {
		t.Error("the unit bounds how long a start may take")
	}
}

// TestTheScriptsOfAPackageNameItsOwnUnits: both packages may be on one machine, and one is removed or upgraded alone.
func TestTheScriptsOfAPackageNameItsOwnUnits(t *testing.T) {
	t.Parallel()
	units := map[string][]string{"stead-server": {"stead.service", "stead-backup.service"}, "stead-node": {"stead-node.service"}}
	for name, own := range units {
		text, err := os.ReadFile(filepath.Join("../../packaging/nfpm", name+".yaml"))
		if err != nil {
			t.Fatal(err)
		}
		var is struct {
			Scripts  map[string]string
			Contents []struct{ Dst string }
		}
		if err := yaml.Unmarshal(text, &is); err != nil {
			t.Fatal(err)
		}
		for _, c := range is.Contents {
			if unit, ok := strings.CutPrefix(c.Dst, "/usr/lib/systemd/system/"); ok && !slices.Contains(own, unit) {
				t.Errorf("%s has the unit %s", name, unit)
			}
		}
		for _, c := range []struct{ script, argument, asks string }{
			{"postinstall", "configure", "try-restart"},
			{"preremove", "remove", "disable --now"},
			{"preremove", "0", "disable --now"},
			{"preremove", "upgrade", ""},
			{"preremove", "1", ""},
			{"postremove", "remove", ""},
			{"postremove", "0", ""},
		} {
			want := ""
			if c.asks != "" {
				want = c.asks + " " + strings.Join(own, " ")
			}
			if got := asked(t, filepath.Join("../..", is.Scripts[c.script]), c.argument); got != want {
				t.Errorf("%s: %s %s asks systemd for %q, want %q", name, c.script, c.argument, got, want)
			}
		}
	}
}

// asked runs a script of a package in a root of its own under a systemctl that writes down what it is asked for, and returns
// that without daemon-reload.
func asked(t *testing.T, script, argument string) string {
	t.Helper()
	text, err := os.ReadFile(script)
	if err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	log := filepath.Join(root, "log")
	for _, program := range []string{"systemctl", "systemd-sysusers", "systemd-tmpfiles"} {
		stub := "#!/bin/sh\n"
		if program == "systemctl" {
			stub += `echo "$*" >>` + log + "\n"
		}
		if err := os.WriteFile(filepath.Join(root, program), []byte(stub), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.MkdirAll(filepath.Join(root, "run/systemd/system"), 0o700); err != nil {
		t.Fatal(err)
	}
	c := exec.Command("sh", "-s", argument)
	c.Stdin = strings.NewReader(strings.ReplaceAll(string(text), "/run/systemd", root+"/run/systemd"))
	c.Env = []string{"PATH=" + root + ":" + os.Getenv("PATH")}
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%s %s: %v\n%s", script, argument, err, out)
	}
	said, err := os.ReadFile(log)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return strings.TrimSpace(strings.ReplaceAll(string(said), "daemon-reload\n", ""))
}

// TestSystemdIsToldHowTheServerIs as it asks for with Type=notify and WatchdogSec.
func TestSystemdIsToldHowTheServerIs(t *testing.T) {
	t.Parallel()
	socket, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: filepath.Join(t.TempDir(), "notify"), Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = socket.Close() })
	hears := func(want string) {
		t.Helper()
		if err := socket.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
			t.Fatal(err)
		}
		buffer := make([]byte, 256)
		for {
			n, err := socket.Read(buffer)
			if err != nil {
				t.Fatalf("%s: %v", want, err)
			}
			if string(buffer[:n]) == want {
				return
			}
		}
	}
	in := newInstallation(t, "NOTIFY_SOCKET="+socket.LocalAddr().String(), "WATCHDOG_USEC=400000")
	p := in.serve(t)
	hears("READY=1")
	hears("WATCHDOG=1")
	p.terminate(t)
	hears("STOPPING=1")
	p.ends(t)
}

// TestTheManualAndTheCompletionNameTheCommands: they are made of them.
func TestTheManualAndTheCompletionNameTheCommands(t *testing.T) {
	t.Parallel()
	in := newInstallation(t)
	page, stderr, code := in.run(t, "manual", "--date", "2026-11-26T10:00:00Z")
	if code != 0 || !strings.Contains(page, "2026-11-26") || !strings.Contains(page, "restore") {
		t.Errorf("the manual: exit code %d\n%s%s", code, tail(page, 500), stderr)
	}
	if again, _, _ := in.run(t, "manual", "--date", "2026-11-26T10:00:00Z"); again != page {
		t.Error("the manual differs from one time to the next")
	}
	for shell, has := range map[string]string{"bash": "complete ", "zsh": "#compdef stead", "fish": "complete -c stead"} {
		if script, _, code := in.run(t, "completion", shell); code != 0 || !strings.Contains(script, has) {
			t.Errorf("the completion of %s: exit code %d\n%s", shell, code, script)
		}
	}
	line := "stead admin wal"
	shell := newInstallation(t, "COMP_LINE="+line, "COMP_POINT=15")
	if words, stderr, code := shell.run(t); code != 0 || strings.TrimSpace(words) != "wallet" {
		t.Errorf("%q is completed to %q: exit code %d\n%s", line, words, code, stderr)
	}
}
