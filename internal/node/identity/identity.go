// Package identity does things as the Linux user of an account, so that nothing of a customer's is
// read, written or run as root.
package identity

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"

	"stead.dev/stead/internal/node/accounts"
)

// Do calls f while the file system takes the calling thread for the account's user: its rights are
// the user's, and what it makes is the user's. f stays on its goroutine: what it starts with go is
// root again. An account without a user is served by the process's own.
//
// A descriptor that f opened works everywhere afterwards.
func Do(a accounts.Account, f func() error) error {
	if a.User.UID == 0 {
		return f()
	}
	runtime.LockOSThread()
	if err := become(a.User.UID, a.User.GID); err != nil {
		// The thread is in an unknown state: it ends with its goroutine, so it is never unlocked.
		return fmt.Errorf("identity: %w", err)
	}
	defer func() {
		if err := become(0, 0); err != nil {
			panic("identity: root cannot be regained: " + err.Error())
		}
		runtime.UnlockOSThread()
	}()
	return f()
}

// become changes the file system ids and groups of this thread only. With the id leaves, by the
// kernel's rule, every capability that overrides permissions (capabilities(7), "Effect of user ID
// changes"), and comes back with it.
func become(uid, gid int) error {
	var groups [1]uint32
	n := uintptr(0)
	if _, _, errno := syscall.RawSyscall(syscall.SYS_SETGROUPS, n, 0, 0); errno != 0 && uid != 0 {
		return fmt.Errorf("setgroups: %w", errno)
	}
	_ = groups
	if _, _, errno := syscall.RawSyscall(syscall.SYS_SETFSGID, uintptr(gid), 0, 0); errno != 0 {
		return fmt.Errorf("setfsgid: %w", errno)
	}
	if _, _, errno := syscall.RawSyscall(syscall.SYS_SETFSUID, uintptr(uid), 0, 0); errno != 0 {
		return fmt.Errorf("setfsuid: %w", errno)
	}
	// setfsuid answers the former id and no error: asking again with an id that cannot be tells.
	if now, _, _ := syscall.RawSyscall(syscall.SYS_SETFSUID, ^uintptr(0), 0, 0); int(now) != uid {
		return fmt.Errorf("setfsuid: the file system id is %d, not %d", now, uid)
	}
	return nil
}

// Command is a command that runs as the account's user in its home, with an environment of its own
// and under the account's limits. It ends, with all that it started, when ctx does.
func Command(ctx context.Context, a accounts.Account, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = a.Home
	user := a.User.Name
	if user == "" {
		user = a.Name
	}
	cmd.Env = []string{
		"HOME=" + a.Home, "USER=" + user, "LOGNAME=" + user, "SHELL=/bin/sh", "LANG=C.UTF-8",
		"PATH=/usr/local/bin:/usr/bin:/bin", "TMPDIR=" + filepath.Join(a.Home, "tmp"),
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if a.User.UID != 0 && os.Geteuid() == 0 {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: uint32(a.User.UID), Gid: uint32(a.User.GID), Groups: []uint32{uint32(a.User.GID)}}
	}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	return cmd
}

var _ = strconv.Itoa
