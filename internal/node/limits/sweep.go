package limits

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"stead.dev/stead/internal/node/cgroup"
)

// User is an account's user, as a sweep needs it.
type User struct {
	Name string // also the name of its cgroup
	Full bool   // the account is above its disk limit
}

// Sweeper looks after processes that others start as accounts' users, such as the workers of PHP: it
// puts them into the accounts' cgroups, and keeps those of full accounts from writing.
//
// A process of a full account may not write into files: its limit on their size (RLIMIT_FSIZE) is
// zero, so that a write fails with SIGXFSZ or EFBIG, while it can read, serve, and remove files to
// make room. The limit is lifted when there is room again.
type Sweeper struct{ groups *cgroup.Controllers }

// NewSweeper makes a sweeper for this machine.
func NewSweeper() *Sweeper { return &Sweeper{groups: cgroup.Machine()} }

// Sweep visits the machine's processes once. It reports which of the users, by number, have any.
func (s *Sweeper) Sweep(users map[int]User) (active map[int]bool, err error) {
	dirs, err := os.ReadDir("/proc")
	if err != nil {
		return nil, fmt.Errorf("limits: %w", err)
	}
	active = map[int]bool{}
	for _, d := range dirs {
		pid, notProcess := strconv.Atoi(d.Name())
		if notProcess != nil {
			continue
		}
		uid := realUser(pid)
		u, ours := users[uid]
		if !ours {
			continue
		}
		active[uid] = true
		failed := s.look(pid, uid, u)
		if failed != nil && !errors.Is(failed, unix.ESRCH) && !errors.Is(failed, fs.ErrNotExist) {
			err = errors.Join(err, failed)
		}
	}
	return active, err
}

// look corrects one process.
func (s *Sweeper) look(pid, uid int, u User) error {
	if !s.groups.Holds(u.Name, pid) {
		if err := s.groups.Add(u.Name, pid); err != nil {
			return err
		}
	}
	held, err := writesNothing(pid)
	if err != nil || held == u.Full {
		return err
	}
	if err := setFileSize(pid, uid, u.Full); err != nil {
		return err
	}
	if u.Full && realUser(pid) != uid {
		// The process ended and another one got its id meanwhile.
		return setFileSize(pid, uid, false)
	}
	return nil
}

// writesNothing parses proc_pid_limits(5). Only this package sets such a limit, perhaps in a former process.
func writesNothing(pid int) (bool, error) {
	limits, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "limits"))
	if err != nil {
		return false, err
	}
	_, rest, found := bytes.Cut(limits, []byte("Max file size"))
	fields := bytes.Fields(rest)
	return found && len(fields) > 0 && string(fields[0]) == "0", nil
}

// setFileSize keeps a process from letting files grow, or lets it again. Root without
// CAP_SYS_RESOURCE, as in some containers, has the user itself change the soft limit: then a program
// that means to can lift it again.
func setFileSize(pid, uid int, full bool) error {
	want, soft := unix.Rlimit{Cur: unix.RLIM_INFINITY, Max: unix.RLIM_INFINITY}, "unlimited:"
	if full {
		want, soft = unix.Rlimit{}, "0:"
	}
	err := unix.Prlimit(pid, unix.RLIMIT_FSIZE, &want, nil)
	if !errors.Is(err, unix.EPERM) {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, "/usr/bin/prlimit", "--pid="+strconv.Itoa(pid), "--fsize="+soft) //nolint:gosec // G204: a number and a word of this function
	cmd.Dir = "/"
	cmd.Env = []string{}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(uid)}} //nolint:gosec // G115: the number of an account's user
	if out, err := cmd.CombinedOutput(); err != nil && realUser(pid) == uid {
		return fmt.Errorf("limits: prlimit of process %d: %w: %s", pid, err, bytes.TrimSpace(out))
	}
	return nil
}

// realUser is as whom a process was started; -1 when it is gone.
func realUser(pid int) int {
	status, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "status"))
	if err != nil {
		return -1
	}
	_, rest, found := bytes.Cut(status, []byte("\nUid:\t"))
	if !found {
		return -1
	}
	id, _, _ := bytes.Cut(rest, []byte("\t"))
	uid, err := strconv.Atoi(string(id))
	if err != nil {
		return -1
	}
	return uid
}
