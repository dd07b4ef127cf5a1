package session

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestMain is also the program that begins sessions.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == Word {
		fmt.Fprintln(os.Stderr, Main(os.Args[2:], os.Environ()))
		os.Exit(126)
	}
	os.Exit(m.Run())
}

// A program in Go has more address space than many a plan gives: it must not need more of it with the limit in force.
func TestASessionBeginsBelowItsLimitOfMemory(t *testing.T) {
	t.Parallel()
	jail := t.TempDir()
	for _, dir := range []string{filepath.Dir(jail), jail} { // another user looks into them
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.MkdirAll(filepath.Join(jail, "home"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, command := range []string{"ulimit -v; ulimit -c", ""} {
		for range 20 {
			c := exec.CommandContext(t.Context(), "/proc/self/exe", Word, filepath.Join(jail, "no-agent"), "0", "64")
			// The collector works all the time.
			c.Env = []string{"HOME=" + jail, "GOGC=1", "SSH_ORIGINAL_COMMAND=" + command}
			c.Stdin = strings.NewReader("ulimit -v; ulimit -c; shopt -q login_shell || exit 3\n")
			if os.Getuid() == 0 {
				c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
			}
			out, err := c.CombinedOutput()
			if err != nil || strings.Join(strings.Fields(string(out)), " ") != "65536 0" {
				t.Fatalf("%v: %.500s", err, out)
			}
		}
	}
}
