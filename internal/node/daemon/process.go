package daemon

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// process is a process of this machine that cannot be confused with another one: ids are reused, ids with their start
// time are not.
type process struct {
	pid   int
	start uint64 // clock ticks after boot
	boot  string // which boot
}

// stat is the data of proc(5) about a process.
type stat struct {
	pid, parent, session int
	state                byte
	start                uint64
}

// parseStat parses a line of /proc/<pid>/stat. The name in it may contain blanks and brackets.
func parseStat(line string) (stat, error) {
	open, end := strings.IndexByte(line, '('), strings.LastIndexByte(line, ')')
	if open < 1 || end < open {
		return stat{}, fmt.Errorf("daemon: malformed stat %q", line)
	}
	fields := strings.Fields(line[end+1:]) // from the third on
	if len(fields) < 20 {
		return stat{}, fmt.Errorf("daemon: malformed stat %q", line)
	}
	var s stat
	var errs [4]error
	s.pid, errs[0] = strconv.Atoi(strings.TrimSpace(line[:open]))
	s.state = fields[0][0]
	s.parent, errs[1] = strconv.Atoi(fields[1])
	s.session, errs[2] = strconv.Atoi(fields[3])
	s.start, errs[3] = strconv.ParseUint(fields[19], 10, 64)
	return s, errors.Join(errs[:]...)
}

func statOf(pid int) (stat, error) {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return stat{}, err
	}
	return parseStat(string(data))
}

func bootID() string {
	data, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(data))
}

// lives reports whether the process runs; a zombie does not.
func (p process) lives() bool {
	if p.pid <= 1 || p.boot != bootID() {
		return false
	}
	s, err := statOf(p.pid)
	return err == nil && s.start == p.start && s.state != 'Z' && s.state != 'X'
}

// signal sends a signal to the process, and never to another one that got its id.
func (p process) signal(sig syscall.Signal) error {
	if p.pid <= 1 {
		return os.ErrProcessDone
	}
	fd, err := unix.PidfdOpen(p.pid, 0)
	if errors.Is(err, unix.ESRCH) {
		return os.ErrProcessDone
	}
	if err != nil {
		return fmt.Errorf("daemon: pidfd_open: %w", err)
	}
	defer func() { _ = unix.Close(fd) }() // nothing was written
	if !p.lives() {
		return os.ErrProcessDone
	}
	switch err := unix.PidfdSendSignal(fd, sig, nil, 0); {
	case errors.Is(err, unix.ESRCH):
		return os.ErrProcessDone
	case err != nil:
		return fmt.Errorf("daemon: pidfd_send_signal: %w", err)
	}
	return nil
}

// session lists the living processes of the session that the process leads or led. While there are any, the kernel
// gives its id to no other process; when another process has it, there are none, and a session of that id belongs to
// the other one.
func (p process) session() []process {
	if p.pid <= 1 || p.boot != bootID() {
		return nil
	}
	if s, err := statOf(p.pid); err == nil && s.start != p.start {
		return nil
	}
	dirs, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	var all []process
	for _, d := range dirs {
		pid, err := strconv.Atoi(d.Name())
		if err != nil {
			continue
		}
		if s, err := statOf(pid); err == nil && s.session == p.pid && s.start >= p.start && s.state != 'Z' {
			all = append(all, process{pid: pid, start: s.start, boot: p.boot})
		}
	}
	return all
}

// end asks the process to end, and kills it and its children when it does not.
func (p process) end(sig syscall.Signal, patience time.Duration) error {
	if err := p.signal(sig); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	gone := func(within time.Duration) bool {
		over := time.After(within)
		for pause := 2 * time.Millisecond; p.lives(); pause = min(2*pause, 100*time.Millisecond) {
			select {
			case <-over:
				return false
			case <-time.After(pause):
			}
		}
		return true
	}
	gone(patience)
	// Workers whose first process was killed keep running and hold its ports.
	left := p.session()
	for _, one := range left {
		if err := one.signal(syscall.SIGKILL); err != nil && !errors.Is(err, os.ErrProcessDone) {
			return err
		}
	}
	if !gone(10 * time.Second) {
		return fmt.Errorf("daemon: process %d cannot be killed", p.pid)
	}
	return nil
}
