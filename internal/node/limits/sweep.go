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
	// Nothing says that it has also used up the reserve above the limit, which is for small files.
	Nothing bool
	Log     int64 // the size of the log that the account's programs write, in bytes
}

// smallFile is the size up to which a full account may still write files: sessions of PHP, locks.
const smallFile = 64 << 10

// Reserve is how far small files may take an account above its disk limit, in bytes.
func Reserve(limit int64) int64 { return min(max(limit/20, 1<<20), 64<<20) }

// fileSize is the user's limit on the size of files.
func (u User) fileSize() uint64 {
	switch {
	case u.Nothing:
		return 0
	case u.Full:
		return uint64(u.Log)/smallFile*smallFile + smallFile //nolint:gosec // G115: a size
	}
	return unix.RLIM_INFINITY
}

// Sweeper looks after processes that others start as accounts' users, such as the workers of PHP: it
// puts them into the accounts' cgroups, and keeps those of full accounts from writing.
//
// A process of a full account may not let files grow: its limit on their size (RLIMIT_FSIZE) is
// smallFile above the size of its log, so that a session of PHP and a line of that log can still be written, and nothing once
// the reserve for that is used up as well. A larger write fails as EFBIG where SIGXFSZ is ignored, as in everything that the machine starts for accounts, while it can
// read, serve, and remove files to make room. The limit is lifted when there is room again.
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
	now, err := fileSize(pid)
	want := u.fileSize()
	own := now%smallFile != 0 // the process set it itself: those of this package are multiples
	if err != nil || now == want || own && want == unix.RLIM_INFINITY {
		return err
	}
	if err := setFileSize(pid, uid, want); err != nil {
		return err
	}
	if u.Full && realUser(pid) != uid {
		// The process ended and another one got its id meanwhile.
		return setFileSize(pid, uid, unix.RLIM_INFINITY)
	}
	return nil
}

// fileSize parses proc_pid_limits(5).
func fileSize(pid int) (uint64, error) {
	limits, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "limits"))
	if err != nil {
		return 0, err
	}
	_, rest, found := bytes.Cut(limits, []byte("Max file size"))
	fields := bytes.Fields(rest)
	if !found || len(fields) == 0 {
		return unix.RLIM_INFINITY, nil
	}
	most, err := strconv.ParseUint(string(fields[0]), 10, 64)
	if err != nil { // "unlimited"
		return unix.RLIM_INFINITY, nil //nolint:nilerr // it is a word
	}
	return most, nil
}

// setFileSize keeps a process from letting files grow, or lets it again. Root without
// CAP_SYS_RESOURCE, as in some containers, has the user itself change the soft limit: then a program
// that means to can lift it again.
func setFileSize(pid, uid int, most uint64) error {
	want, soft := unix.Rlimit{Cur: most, Max: most}, "unlimited:"
	if most != unix.RLIM_INFINITY {
		soft = strconv.FormatUint(most, 10) + ":"
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
