package tree

import (
	"io/fs"
	"os"
	"path"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Chmod gives an object that a visit of Walk is at its permissions, unless something else has its name meanwhile. Only a visit may
// call it.
func (e *Entry) Chmod(mode fs.FileMode) error {
	f, st, err := find(e.dir, e.base)
	if err != nil {
		return changed(err)
	}
	defer f.Close()
	if st.Dev != e.Stat.Dev || st.Ino != e.Stat.Ino {
		return nil
	}
	return ChmodFile(f, mode)
}

// ChmodFile gives an object that Find has found, and that is no link, its permissions.
func ChmodFile(f *os.File, mode fs.FileMode) error {
	// A descriptor that was opened without reading takes no fchmod, and with a name a link could be followed.
	return failed("chmod", f.Name(), unix.Chmod("/proc/thread-self/fd/"+strconv.Itoa(int(f.Fd())), uint32(mode.Perm())))
}

// Find finds the object at name in root without opening it: it may be closed to its owner. No link is followed, so a link itself is
// found; one on the way is ELOOP.
func Find(root *os.Root, name string) (*os.File, unix.Stat_t, error) {
	at, err := root.OpenFile(".", unix.O_PATH|unix.O_DIRECTORY, 0)
	if err != nil {
		return nil, unix.Stat_t{}, err
	}
	var st unix.Stat_t
	if err := unix.Fstat(int(at.Fd()), &st); err != nil {
		_ = at.Close() // nothing was written
		return nil, st, failed("stat", ".", err)
	}
	if name = path.Clean(name); name == "." {
		return at, st, nil
	}
	for element := range strings.SplitSeq(name, "/") {
		if st.Mode&unix.S_IFMT == unix.S_IFLNK {
			_ = at.Close() // nothing was written
			return nil, st, failed("open", name, unix.ELOOP)
		}
		next, found, err := find(int(at.Fd()), element)
		_ = at.Close() // nothing was written
		if err != nil {
			return nil, st, err
		}
		at, st = next, found
	}
	return at, st, nil
}

// find finds the object called name in a directory.
func find(dir int, name string) (*os.File, unix.Stat_t, error) {
	var st unix.Stat_t
	fd, err := unix.Openat(dir, name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, st, failed("open", name, err)
	}
	f := os.NewFile(uintptr(fd), name)
	if err := unix.Fstat(fd, &st); err != nil {
		_ = f.Close() // nothing was written
		return nil, st, failed("stat", name, err)
	}
	return f, st, nil
}

// Open opens a directory that Find has found for reading its names.
func Open(dir *os.File) (*os.File, error) { return open(int(dir.Fd()), ".") }
