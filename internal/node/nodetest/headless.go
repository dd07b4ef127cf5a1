package nodetest

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"stead.dev/stead/internal/platform/testkit"
)

// headless is the name of a copy of the test's own program.
const headless = "nodetest-headless"

func init() {
	if filepath.Base(os.Args[0]) != headless {
		return
	}
	runtime.LockOSThread() // functions of initialization run on the first thread
	go func() {
		time.Sleep(time.Hour) // sleeps: somebody is to end it before
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	}()
	_, _, _ = syscall.Syscall(syscall.SYS_EXIT, 0, 0, 0) // ends the thread, and not the process
}

// Headless starts a process whose first thread has ended, so that the kernel shows it as a zombie, while it goes on in its other
// threads. Its program is put into dir, which whoever it runs as must be able to pass. ended is closed when it has ended.
func Headless(t testing.TB, dir string, attr *syscall.SysProcAttr) (pid int, ended <-chan struct{}) {
	t.Helper()
	self, err := os.ReadFile("/proc/self/exe")
	must(t, err)
	program := filepath.Join(dir, headless)
	must(t, os.WriteFile(program, self, 0o755))      //nolint:gosec // G703: in a directory of the test
	must(t, os.Chmod(program, 0o755))                //nolint:gosec // G302: others run it
	cmd := exec.CommandContext(t.Context(), program) //nolint:gosec // G204: a copy of this program
	cmd.Dir, cmd.Env, cmd.SysProcAttr = dir, []string{}, attr
	must(t, cmd.Start())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = cmd.Wait() // it is killed
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // unless it has ended
		<-done
	})
	testkit.Eventually(t, time.Minute, func() bool {
		line, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(cmd.Process.Pid), "stat"))
		must(t, err)
		fields := strings.Fields(string(line[bytes.LastIndexByte(line, ')')+1:]))
		return fields[0] == "Z" && fields[17] != "1"
	}, "the first thread has ended")
	return cmd.Process.Pid, done
}
