package e2e

import (
	"net"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
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
