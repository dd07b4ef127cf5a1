package identity

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"

	"stead.dev/stead/internal/node/accounts"
	"stead.dev/stead/internal/node/cgroup"
)

// Cmd is a command that runs as an account's user. Its fields are those of exec.Cmd; it must be started by its own
// methods, never by those of the embedded exec.Cmd.
type Cmd struct {
	*exec.Cmd
	account accounts.Account
}

// Limits of every process besides those of the account's plan.
const (
	openFiles = 4096
	noShare   = "/usr/bin/prlimit"
)

// Command is a command that runs as the account's user in its home, with an environment of its own
// and under the account's limits. name is an absolute path. It ends, with all of its session, when
// ctx does. A program that does not exist is told by the exit status 127.
//
// From its first instruction on
//   - it is in the account's cgroup;
//   - it has no capabilities and gets none, nor another user, by the programs it runs (no_new_privs);
//   - where the kernel lets this process make mounts, it finds no other account's directory and no
//     other's processes, /tmp, /var/tmp and the sessions of Debian's PHP are in the home's tmp, and
//     /dev/shm is its own and vanishes with it;
//   - it cannot change its limits on open files and core dumps;
//   - a write beyond a limit on the size of files, as full accounts have, fails and does not end it.
func Command(ctx context.Context, a accounts.Account, name string, args ...string) *Cmd {
	user := a.User.Name
	if user == "" {
		user = a.Name
	}
	if a.User.UID != 0 {
		args = append([]string{"--core=0:0", fmt.Sprintf("--nofile=%d:%d", openFiles, openFiles), "--", "/usr/bin/env", "--ignore-signal=XFSZ", name}, args...)
		name = noShare
	}
	cmd := exec.CommandContext(ctx, name, args...) //nolint:gosec // G204: to run what a customer wants, as the customer, is its purpose
	cmd.Dir = a.Home
	cmd.Env = []string{
		"HOME=" + a.Home, "USER=" + user, "LOGNAME=" + user, "SHELL=/bin/bash", "LANG=C.UTF-8",
		"PATH=/usr/local/bin:/usr/bin:/bin", "TMPDIR=" + filepath.Join(a.Home, "tmp"),
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	return &Cmd{Cmd: cmd, account: a}
}

// Start is exec.Cmd.Start as the account's user.
func (c *Cmd) Start() error {
	if c.account.User.UID == 0 {
		return c.Cmd.Start()
	}
	if c.account.Suspended {
		return fmt.Errorf("identity: %s is suspended", c.account.Ref)
	}
	user := c.account.User
	c.SysProcAttr.Credential = &syscall.Credential{
		Uid: uint32(user.UID), Gid: uint32(user.GID), Groups: []uint32{uint32(user.GID)}, //nolint:gosec // G115: numbers of users
	}
	return onThreadThatEnds(c.startHere)
}

// onThreadThatEnds calls f on a thread that runs nothing else afterwards: the process that f starts inherits the
// thread's changes, and nothing else does.
func onThreadThatEnds(f func() error) error {
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // never unlocked, so that the thread ends with this goroutine
		if unix.Gettid() == unix.Getpid() {
			// The first thread of a process does not end. While this goroutine occupies it, the next one gets another
			// thread.
			done <- onThreadThatEnds(f)
			runtime.UnlockOSThread()
			return
		}
		done <- f()
	}()
	return <-done
}

func (c *Cmd) startHere() error {
	group, err := cgroup.Machine().Enter(c.account.User.Name)
	if err != nil {
		return fmt.Errorf("identity: %w", err)
	}
	if group != nil {
		defer group.Close()
		c.SysProcAttr.UseCgroupFD, c.SysProcAttr.CgroupFD = true, int(group.Fd())
	}
	if err := confine(c.account); err != nil {
		return fmt.Errorf("identity: %w", err)
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("identity: no_new_privs: %w", err)
	}
	return c.Cmd.Start()
}

// confine gives the thread a mount namespace of its own. Where the kernel forbids that, as in a container without the
// right to, file modes alone keep accounts apart.
func confine(a accounts.Account) error {
	if err := unix.Unshare(unix.CLONE_NEWNS); err != nil {
		if errors.Is(err, unix.EPERM) || errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSYS) {
			return nil
		}
		return fmt.Errorf("unshare: %w", err)
	}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("private mounts: %w", err)
	}
	ids := ",uid=" + strconv.Itoa(a.User.UID) + ",gid=" + strconv.Itoa(a.User.GID)
	if err := unix.Mount("tmpfs", "/dev/shm", "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=0700,size=64m"+ids); err != nil && !errors.Is(err, unix.ENOENT) {
		return fmt.Errorf("/dev/shm: %w", err)
	}
	// hidepid for a single mount exists since Linux 5.8.
	if err := unix.Mount("proc", "/proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, "hidepid=invisible"); err != nil && !errors.Is(err, unix.EPERM) && !errors.Is(err, unix.EINVAL) {
		return fmt.Errorf("/proc: %w", err)
	}
	// The customer may have replaced tmp by a link, or removed it: open it as the user.
	var tmp int
	err := Do(a, func() (err error) {
		dir := filepath.Join(a.Home, "tmp")
		if err := unix.Mkdir(dir, 0o700); err != nil && !errors.Is(err, unix.EEXIST) {
			return err
		}
		tmp, err = unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		return err
	})
	if err != nil {
		return fmt.Errorf("tmp of the home: %w", err)
	}
	defer func() { _ = unix.Close(tmp) }()
	if err := alone(a); err != nil {
		return err
	}
	for _, dir := range []string{"/tmp", "/var/tmp"} {
		if err := bind(tmp, dir); err != nil {
			return err
		}
	}
	// All may write there too, where Debian's PHP is installed.
	if err := bind(tmp, "/var/lib/php/sessions"); !errors.Is(err, unix.ENOENT) {
		return err
	}
	return nil
}

// alone hides all jails except the account's own.
func alone(a accounts.Account) error {
	if a.Jail == "" {
		return nil
	}
	jail, err := unix.Open(a.Jail, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("jail: %w", err)
	}
	defer func() { _ = unix.Close(jail) }()
	if err := unix.Mount("tmpfs", filepath.Dir(a.Jail), "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=0711,size=64k"); err != nil {
		return fmt.Errorf("jails: %w", err)
	}
	if err := unix.Mkdir(a.Jail, 0o711); err != nil {
		return fmt.Errorf("jail: %w", err)
	}
	return bind(jail, a.Jail)
}

// bind mounts an open directory at another path.
func bind(fd int, dir string) error {
	if err := unix.Mount("/proc/thread-self/fd/"+strconv.Itoa(fd), dir, "", unix.MS_BIND, ""); err != nil {
		return fmt.Errorf("%s: %w", dir, err)
	}
	return nil
}

// Every way to run the command is here, also those that nothing but tests uses: one that came from the embedded
// exec.Cmd would run the program as this process's user, which is root.

// Run is exec.Cmd.Run as the account's user.
func (c *Cmd) Run() error {
	if err := c.Start(); err != nil {
		return err
	}
	return c.Wait()
}

// Output is exec.Cmd.Output as the account's user.
func (c *Cmd) Output() ([]byte, error) {
	if c.Stdout != nil {
		return nil, errors.New("identity: Stdout is set already")
	}
	var out, errs bytes.Buffer
	c.Stdout = &out
	if c.Stderr == nil {
		c.Stderr = &errs
	}
	err := c.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		exit.Stderr = errs.Bytes()
	}
	return out.Bytes(), err
}

// CombinedOutput is exec.Cmd.CombinedOutput as the account's user.
func (c *Cmd) CombinedOutput() ([]byte, error) {
	if c.Stdout != nil || c.Stderr != nil {
		return nil, errors.New("identity: Stdout or Stderr is set already")
	}
	var out bytes.Buffer
	c.Stdout, c.Stderr = &out, &out
	err := c.Run()
	return out.Bytes(), err
}
