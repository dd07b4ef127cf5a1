package testkit

import (
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// DeepTree makes a chain of directories below dir, with a file in each, also more than a path can name.
func DeepTree(t testing.TB, dir string, depth int) {
	t.Helper()
	fd, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	check(t, err)
	name := strings.Repeat("d", 20)
	for range depth {
		check(t, unix.Mkdirat(fd, name, 0o700))
		next, err := unix.Openat(fd, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		check(t, err)
		check(t, unix.Close(fd))
		fd = next
		file, err := unix.Openat(fd, "file", unix.O_WRONLY|unix.O_CREAT|unix.O_CLOEXEC, 0o600)
		check(t, err)
		_, err = unix.Write(file, []byte("abc"))
		check(t, err)
		check(t, unix.Close(file))
	}
	check(t, unix.Close(fd))
}

// FewDescriptors leaves the process this many descriptors more than are open, until the test ends.
func FewDescriptors(t testing.TB, more uint64) {
	t.Helper()
	open, err := os.ReadDir("/proc/self/fd")
	check(t, err)
	var old unix.Rlimit
	check(t, unix.Getrlimit(unix.RLIMIT_NOFILE, &old))
	check(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: uint64(len(open)) + more, Max: old.Max}))
	t.Cleanup(func() { check(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &old)) })
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
