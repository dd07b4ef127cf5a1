// Package cgroup limits the resources of an account's processes: their number, their memory and their processor time.
// It uses cgroups(7) of version 2 when the machine has their controllers there, else those of version 1, and nothing
// when neither can be used, as in a container without rights to them.
package cgroup

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Limits bound a group. Zero means no limit.
type Limits struct {
	CPUPercent int // of one core: 150 is one and a half
	MemoryMB   int // mebibytes; memory above it is not swapped out, which would burden the machine
	Processes  int // threads count too
}

// parent holds all groups of this project.
const parent = "stead"

// Controllers are the cgroup controllers of this machine.
type Controllers struct {
	unified string            // directory of version 2; empty when it is not used
	mounts  map[string]string // of version 1: "pids", "memory", "cpu" and their directories
}

var wanted = []string{"pids", "memory", "cpu"}

// Machine describes this machine, detected once.
var Machine = sync.OnceValue(func() *Controllers {
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return &Controllers{}
	}
	return find(mounts)
})

// find parses proc_pid_mountinfo(5) for hierarchies in which groups can be created.
func find(mountinfo []byte) *Controllers {
	c := &Controllers{mounts: map[string]string{}}
	lines := bufio.NewScanner(bytes.NewReader(mountinfo))
	for lines.Scan() {
		before, after, found := strings.Cut(lines.Text(), " - ")
		fields, rest := strings.Fields(before), strings.Fields(after)
		if !found || len(fields) < 5 || len(rest) < 3 {
			continue
		}
		dir := fields[4]
		switch rest[0] {
		case "cgroup2":
			if c.prepareUnified(dir) {
				c.unified = dir
			}
		case "cgroup":
			for _, name := range strings.Split(rest[2], ",") {
				if slices.Contains(wanted, name) && os.MkdirAll(filepath.Join(dir, parent), 0o755) == nil { //nolint:gosec // G703: the kernel names it
					c.mounts[name] = dir
				}
			}
		}
	}
	if c.unified != "" {
		c.mounts = nil
	}
	return c
}

// prepareUnified delegates the controllers to the groups of this project.
func (c *Controllers) prepareUnified(dir string) bool {
	has, err := os.ReadFile(filepath.Join(dir, "cgroup.controllers")) //nolint:gosec // G703: the kernel names it
	if err != nil {
		return false
	}
	for _, name := range wanted {
		if !slices.Contains(strings.Fields(string(has)), name) {
			return false
		}
	}
	if err := os.MkdirAll(filepath.Join(dir, parent), 0o755); err != nil { //nolint:gosec // G703: the kernel names it
		return false
	}
	for _, at := range []string{dir, filepath.Join(dir, parent)} {
		if err := os.WriteFile(filepath.Join(at, "cgroup.subtree_control"), []byte("+cpu +memory +pids"), 0o644); err != nil { //nolint:gosec // G703: the kernel names it
			return false
		}
	}
	return true
}

// String summarizes the controllers: "v2", "v1: cpu memory pids", "none".
func (c *Controllers) String() string {
	switch {
	case c.unified != "":
		return "v2"
	case len(c.mounts) == 0:
		return "none"
	}
	names := make([]string, 0, len(c.mounts))
	for name := range c.mounts {
		names = append(names, name)
	}
	slices.Sort(names)
	return "v1: " + strings.Join(names, " ")
}

// dirs are the directories of a group, one in each hierarchy.
func (c *Controllers) dirs(name string) []string {
	if c.unified != "" {
		return []string{filepath.Join(c.unified, parent, name)}
	}
	var dirs []string
	for _, controller := range wanted {
		if dir := filepath.Join(c.mounts[controller], parent, name); c.mounts[controller] != "" && !slices.Contains(dirs, dir) {
			dirs = append(dirs, dir)
		}
	}
	return dirs
}

var nameForm = regexp.MustCompile(`^[a-z][a-z0-9_-]{0,63}$`)

const cpuPeriod = 100_000 // microseconds

// Set creates the group when it is missing and sets its limits.
func (c *Controllers) Set(name string, l Limits) error {
	if !nameForm.MatchString(name) {
		return fmt.Errorf("cgroup: %q is no name of a group", name)
	}
	for _, dir := range c.dirs(name) {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return fmt.Errorf("cgroup: %w", err)
		}
	}
	number := func(n int, none string) string {
		if n == 0 {
			return none
		}
		return strconv.Itoa(n)
	}
	if c.unified != "" {
		dir := c.dirs(name)[0]
		cpu := "max " + strconv.Itoa(cpuPeriod)
		if l.CPUPercent > 0 {
			cpu = fmt.Sprintf("%d %d", l.CPUPercent*cpuPeriod/100, cpuPeriod)
		}
		swap := "max"
		if l.MemoryMB > 0 {
			swap = "0"
		}
		return errors.Join(
			write(dir, "pids.max", number(l.Processes, "max")),
			write(dir, "memory.max", number(l.MemoryMB<<20, "max")),
			writeIfThere(dir, "memory.swap.max", swap),
			write(dir, "cpu.max", cpu),
		)
	}
	var err error
	if dir := c.mounts["pids"]; dir != "" {
		err = errors.Join(err, write(filepath.Join(dir, parent, name), "pids.max", number(l.Processes, "max")))
	}
	if dir := c.mounts["memory"]; dir != "" {
		err = errors.Join(err, setMemory(filepath.Join(dir, parent, name), number(l.MemoryMB<<20, "-1")))
	}
	if dir := c.mounts["cpu"]; dir != "" {
		dir = filepath.Join(dir, parent, name)
		err = errors.Join(err,
			write(dir, "cpu.cfs_period_us", strconv.Itoa(cpuPeriod)),
			write(dir, "cpu.cfs_quota_us", number(l.CPUPercent*cpuPeriod/100, "-1")))
	}
	return err
}

// setMemory limits memory, and memory and swap together. The first must not exceed the second: when both rise, only the
// second attempt can set the first.
func setMemory(dir, most string) (err error) {
	for range 2 {
		err = errors.Join(write(dir, "memory.limit_in_bytes", most), writeIfThere(dir, "memory.memsw.limit_in_bytes", most))
		if err == nil {
			break
		}
	}
	return err
}

// writeIfThere is write for a file that kernels without swap accounting do not have.
func writeIfThere(dir, file, value string) error {
	if _, err := os.Stat(filepath.Join(dir, file)); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return write(dir, file, value)
}

// write sets a value unless it is set already.
func write(dir, file, value string) error {
	file = filepath.Join(dir, file)
	if have, err := os.ReadFile(file); err == nil && strings.TrimSpace(string(have)) == value {
		return nil
	}
	if err := os.WriteFile(file, []byte(value), 0o644); err != nil {
		return fmt.Errorf("cgroup: %w", err)
	}
	return nil
}

// Remove removes the group. Killed processes leave it a moment later.
func (c *Controllers) Remove(name string) error {
	if !nameForm.MatchString(name) {
		return fmt.Errorf("cgroup: %q is no name of a group", name)
	}
	for _, dir := range c.dirs(name) {
		for pause := time.Millisecond; ; pause *= 2 {
			err := unix.Rmdir(dir)
			if err == nil || errors.Is(err, fs.ErrNotExist) {
				break
			}
			if !errors.Is(err, unix.EBUSY) || pause > time.Second {
				return fmt.Errorf("cgroup: %s: %w", dir, err)
			}
			time.Sleep(pause)
		}
	}
	return nil
}

// Add moves a process into the group; it is no error when the process has ended.
func (c *Controllers) Add(name string, pid int) error {
	for _, dir := range c.dirs(name) {
		err := os.WriteFile(filepath.Join(dir, "cgroup.procs"), []byte(strconv.Itoa(pid)), 0o644)
		if err != nil && !errors.Is(err, unix.ESRCH) {
			return fmt.Errorf("cgroup: %w", err)
		}
	}
	return nil
}

// Holds reports whether a process is in the group; true also when there are no groups.
func (c *Controllers) Holds(name string, pid int) bool {
	of, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cgroup")
	if err != nil {
		return true // the process has ended
	}
	group := "/" + parent + "/" + name
	for line := range strings.Lines(string(of)) { // hierarchy:controllers:group
		fields := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(fields) != 3 || strings.HasSuffix(fields[2], group) {
			continue
		}
		if fields[1] == "" && c.unified != "" {
			return false
		}
		for _, controller := range strings.Split(fields[1], ",") {
			if c.mounts[controller] != "" {
				return false
			}
		}
	}
	return true
}

// Members are the processes of the group.
func (c *Controllers) Members(name string) ([]int, error) {
	var pids []int
	for _, dir := range c.dirs(name) {
		data, err := os.ReadFile(filepath.Join(dir, "cgroup.procs"))
		if err != nil {
			return nil, fmt.Errorf("cgroup: %w", err)
		}
		for _, field := range strings.Fields(string(data)) {
			if pid, err := strconv.Atoi(field); err == nil && !slices.Contains(pids, pid) {
				pids = append(pids, pid)
			}
		}
	}
	return pids, nil
}

// Enter prepares the calling thread for starting a process that is in the group from its first
// instruction on. With version 2 it answers the group's directory, open, for
// syscall.SysProcAttr.CgroupFD; otherwise the thread itself is in the group when it returns, so it
// must be one that ends after that. nil, nil: there is nothing to be opened.
func (c *Controllers) Enter(name string) (*os.File, error) {
	if c.unified != "" {
		f, err := os.Open(c.dirs(name)[0])
		if errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
		return f, err
	}
	for _, dir := range c.dirs(name) {
		err := os.WriteFile(filepath.Join(dir, "tasks"), []byte(strconv.Itoa(unix.Gettid())), 0o644)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("cgroup: %w", err)
		}
	}
	return nil, nil
}
