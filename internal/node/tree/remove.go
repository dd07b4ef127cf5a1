// Package tree walks and removes trees of directories whose owner may change them at the same time, and nest them
// without limit. Descriptors and stack are bounded whatever the depth, and no link is followed below the tree's top.
package tree

import (
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path"
	"strconv"

	"golang.org/x/sys/unix"
)

// levels of directories are open at a time.
const levels = 16

// Remove removes name in root, with all that is in it when it is a directory, also directories that are closed to their
// owner. What cannot be removed stays, without keeping the rest from being removed; the first such error is returned.
// A name that is not there is removed. removed, unless nil, hears of each object, with its size when it is a file.
//
// Directories below a certain depth are moved to the top of the tree before they are emptied, so that an interrupted
// removal leaves a tree of another form.
func Remove(root *os.Root, name string, removed func(bytes int64)) error {
	above, err := root.OpenFile(path.Dir(name), unix.O_PATH|unix.O_DIRECTORY, 0)
	if err != nil {
		return gone(err)
	}
	defer above.Close()
	r := remover{removed: removed}
	if r.removed == nil {
		r.removed = func(int64) {}
	}
	return r.remove(int(above.Fd()), path.Base(name), 0)
}

// remover removes one tree.
type remover struct {
	removed func(bytes int64)
	top     int // descriptor of the tree's first directory
	some    int // counts what was removed or moved to the top
}

// remove removes the object called name in the directory dir, which is that many levels below the top.
func (r *remover) remove(dir int, name string, level int) error {
	var st unix.Stat_t
	if err := unix.Fstatat(dir, name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return gone(failed("stat", name, err))
	}
	flags, bytes := 0, int64(0)
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFDIR:
		if level == levels {
			return r.raise(dir, name)
		}
		if err := r.empty(dir, name, level); err != nil {
			return gone(err)
		}
		flags = unix.AT_REMOVEDIR
	case unix.S_IFREG:
		bytes = st.Size
	}
	if err := unix.Unlinkat(dir, name, flags); err != nil {
		return gone(failed("unlink", name, err))
	}
	r.some++
	r.removed(bytes)
	return nil
}

// raise moves a directory to the top of the tree, where it is removed later.
func (r *remover) raise(dir int, name string) error {
	to := ".deep-" + rand.Text()
	err := unix.Renameat(dir, name, r.top, to)
	if errors.Is(err, unix.EACCES) { // writing to the directory, too, must be allowed
		if err = grant(dir, name); err == nil {
			err = unix.Renameat(dir, name, r.top, to)
		}
	}
	if err != nil {
		return gone(failed("rename", name, err))
	}
	r.some++
	return nil
}

// empty removes what is in a directory.
func (r *remover) empty(dir int, name string, level int) error {
	f, err := open(dir, name)
	if errors.Is(err, fs.ErrPermission) {
		if grant(dir, name) == nil {
			f, err = open(dir, name)
		}
	}
	if err != nil {
		return err
	}
	defer f.Close()
	fd := int(f.Fd())
	if level == 0 {
		r.top = fd
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err == nil && st.Mode&0o300 != 0o300 {
		_ = unix.Fchmod(fd, 0o700) // where it fails, so does what needs it
	}
	for {
		names, err := f.Readdirnames(-1)
		if err != nil {
			return err
		}
		before := r.some
		var first error
		for _, n := range names {
			if err := r.remove(fd, n, level+1); err != nil && first == nil {
				first = err
			}
		}
		// Others may have put something in meanwhile, and the top gets what is deep.
		if len(names) == 0 || r.some == before {
			return first
		}
		if _, err := f.Seek(0, 0); err != nil {
			return err
		}
	}
}

// open opens a directory for reading its names, and no link to one.
func open(dir int, name string) (*os.File, error) {
	fd, err := unix.Openat(dir, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, failed("open", name, err)
	}
	return os.NewFile(uintptr(fd), name), nil
}

// grant opens a directory to its owner. The way by a descriptor keeps it from following a link.
func grant(dir int, name string) error {
	fd, err := unix.Openat(dir, name, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return failed("open", name, err)
	}
	defer func() { _ = unix.Close(fd) }()
	return failed("chmod", name, unix.Chmod("/proc/thread-self/fd/"+strconv.Itoa(fd), 0o700))
}

func failed(op, name string, err error) error {
	if err == nil {
		return nil
	}
	return &fs.PathError{Op: op, Path: name, Err: err}
}

// gone returns nil for an error that says that an object is not there.
func gone(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
