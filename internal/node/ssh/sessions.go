package ssh

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"stead.dev/stead/internal/node/accounts"
)

// process is a process of the machine.
type process struct {
	pid, parent int
}

// endSessions kills the open sessions of a user: sshd's process for each, which runs as the user, and all its
// descendants. Other processes of the user keep running: sites and cron jobs.
func endSessions(ctx context.Context, uid int) error {
	for range 10 { // a process that is being killed may start another
		if err := ctx.Err(); err != nil {
			return err
		}
		doomed, err := sessionsOf(uid)
		if err != nil {
			return fmt.Errorf("ssh: %w", err)
		}
		if len(doomed) == 0 {
			return nil
		}
		for _, pid := range doomed {
			if err := syscall.Kill(pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
				return fmt.Errorf("ssh: %w", err)
			}
		}
	}
	return nil
}

// sessionsOf lists the processes of a user's sessions.
func sessionsOf(uid int) ([]int, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, err
	}
	children := map[int][]int{}
	var roots []int
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		p, owner, ok := look(pid)
		if !ok || owner != uid {
			continue
		}
		children[p.parent] = append(children[p.parent], pid)
		if exe, err := os.Readlink(filepath.Join("/proc", e.Name(), "exe")); err == nil && strings.TrimSuffix(exe, " (deleted)") == sshd {
			roots = append(roots, pid)
		}
	}
	var all []int
	for len(roots) > 0 {
		pid := roots[0]
		roots = append(roots[1:], children[pid]...)
		all = append(all, pid)
	}
	return all, nil
}

// look reads a process; ok is false when it has ended.
func look(pid int) (p process, uid int, ok bool) {
	dir := filepath.Join("/proc", strconv.Itoa(pid))
	info, err := os.Stat(dir)
	if err != nil {
		return p, 0, false
	}
	st, isStat := info.Sys().(*syscall.Stat_t)
	data, err := os.ReadFile(filepath.Join(dir, "stat"))
	if err != nil || !isStat {
		return p, 0, false
	}
	// proc(5): "pid (name) state ppid …", and the name may contain anything.
	fields := strings.Fields(string(data[strings.LastIndexByte(string(data), ')')+1:]))
	if accounts.Ended(fields) {
		return p, 0, false
	}
	parent, err := strconv.Atoi(fields[1])
	return process{pid, parent}, int(st.Uid), err == nil
}
