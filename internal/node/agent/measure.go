package agent

import (
	"bufio"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"stead.dev/stead/internal/platform/nodelink"
)

// Measure reads the machine's capacity from the kernel. dir holds the homes.
func Measure(dir string, accounts int) (nodelink.Capacity, error) {
	c := nodelink.Capacity{Accounts: accounts, CPUs: runtime.NumCPU()}
	var disk unix.Statfs_t
	if err := unix.Statfs(dir, &disk); err != nil {
		return c, fmt.Errorf("statfs %s: %w", dir, err)
	}
	block := disk.Bsize
	c.DiskMB = int64(disk.Blocks) * block >> 20     //nolint:gosec // no disk has 2^63 blocks
	c.DiskFreeMB = int64(disk.Bavail) * block >> 20 //nolint:gosec // as above
	memory, err := readMemory("/proc/meminfo")
	if err != nil {
		return c, err
	}
	c.MemoryMB, c.MemoryFreeMB = memory["MemTotal"]>>10, memory["MemAvailable"]>>10
	load, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return c, err
	}
	first, _, _ := strings.Cut(string(load), " ")
	if c.Load, err = strconv.ParseFloat(first, 64); err != nil {
		return c, fmt.Errorf("/proc/loadavg: %w", err)
	}
	return c, nil
}

// readMemory parses the kernel's table, in KiB.
func readMemory(file string) (map[string]int64, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	table := map[string]int64{}
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		name, value, ok := strings.Cut(lines.Text(), ":")
		fields := strings.Fields(value)
		if !ok || len(fields) == 0 {
			continue
		}
		if n, err := strconv.ParseInt(fields[0], 10, 64); err == nil {
			table[name] = n
		}
	}
	return table, lines.Err()
}
