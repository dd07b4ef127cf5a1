package tree

import (
	"errors"
	"io"
	"os"
	"path"
	"slices"

	"golang.org/x/sys/unix"
)

// Entry is an object that a walk has found.
type Entry struct {
	// Name is the path from the tree's top, or from a directory Whole says nothing of: with the path of each object the
	// work would grow with the square of the depth.
	Name  string
	Whole bool // Name is the path from the top
	Stat  unix.Stat_t

	dir  int    // descriptor of the directory that has it; of itself, at the top
	base string // its name there
}

// IsDir reports whether the object is a directory.
func (e *Entry) IsDir() bool { return e.Stat.Mode&unix.S_IFMT == unix.S_IFDIR }

// IsRegular reports whether the object is a file.
func (e *Entry) IsRegular() bool { return e.Stat.Mode&unix.S_IFMT == unix.S_IFREG }

// named is the number of levels whose names are joined to a path.
const named = 32

// Walk visits root and what is below it, a directory before what is in it, and names in order. It does not enter a
// directory for which visit returns false, and passes over what vanishes or is replaced meanwhile.
func Walk(root *os.Root, visit func(*Entry) (enter bool, err error)) error {
	top, err := root.OpenFile(".", unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return err
	}
	return WalkDir(top, visit)
}

// WalkDir is Walk for an opened directory, which it closes.
func WalkDir(top *os.File, visit func(*Entry) (enter bool, err error)) error {
	w := walk{}
	defer w.close()
	e := Entry{Name: ".", Whole: true, dir: int(top.Fd()), base: "."}
	if err := unix.Fstat(int(top.Fd()), &e.Stat); err != nil {
		return errors.Join(failed("stat", ".", err), top.Close())
	}
	enter, err := visit(&e)
	if err != nil || !enter {
		return errors.Join(err, top.Close())
	}
	if err := w.enter(top, "", &e); err != nil {
		return err
	}
	for len(w.in) > 0 {
		at := &w.in[len(w.in)-1]
		if len(at.todo) == 0 {
			if err := w.leave(); err != nil {
				return err
			}
			continue
		}
		name := at.todo[0]
		at.todo = at.todo[1:]
		dir := int(at.file.Fd())
		e := Entry{Name: path.Join(at.path, name), Whole: len(w.in) <= named, dir: dir, base: name}
		if err := unix.Fstatat(dir, name, &e.Stat, unix.AT_SYMLINK_NOFOLLOW); err != nil {
			if err := changed(failed("stat", name, err)); err != nil {
				return err
			}
			continue
		}
		enter, err := visit(&e)
		if err != nil {
			return err
		}
		if !enter || !e.IsDir() {
			continue
		}
		f, err := open(dir, name)
		if err == nil {
			err = w.enter(f, name, &e)
		}
		if err := changed(err); err != nil {
			return err
		}
	}
	return nil
}

// walk is the way from the top to where a walk is.
type walk struct{ in []level }

// level is a directory that is being walked.
type level struct {
	file     *os.File // nil while many are open below it; never at the top, nor at the last
	name     string   // in the directory above
	path     string   // that the names of its entries are joined to
	dev, ino uint64
	todo     []string
}

// enter goes into a directory, which it closes when it fails.
func (w *walk) enter(f *os.File, name string, e *Entry) error {
	names, err := f.Readdirnames(-1)
	var st unix.Stat_t
	if err == nil {
		err = failed("stat", name, unix.Fstat(int(f.Fd()), &st))
	}
	if err != nil {
		return errors.Join(err, f.Close())
	}
	slices.Sort(names)
	l := level{file: f, name: name, path: e.Name, dev: st.Dev, ino: st.Ino, todo: names}
	if len(w.in)%named == 0 {
		l.path = "."
	}
	w.in = append(w.in, l)
	if far := len(w.in) - 1 - levels; far > 0 && w.in[far].file != nil {
		err = w.in[far].file.Close()
		w.in[far].file = nil
	}
	return err
}

// leave goes back to the directory above.
func (w *walk) leave() error {
	last := len(w.in) - 1
	left := w.in[last].file
	defer left.Close()
	w.in = w.in[:last]
	if last == 0 || w.in[last-1].file != nil {
		return nil
	}
	// Somebody may have moved what the walk is in: it returns to no other directory than it came from.
	up := &w.in[last-1]
	if f, err := open(int(left.Fd()), ".."); err == nil {
		if up.is(f) {
			up.file = f
			return nil
		}
		_ = f.Close()
	}
	return w.descend()
}

// descend opens again what is left of the way. Where somebody has changed it, the walk goes on above.
func (w *walk) descend() error {
	f := w.in[0].file
	for i := 1; i < len(w.in); i++ {
		next, err := open(int(f.Fd()), w.in[i].name)
		if err = changed(err); err != nil {
			return errors.Join(err, w.closeAt(i, f))
		}
		if next == nil || !w.in[i].is(next) {
			if next != nil {
				_ = next.Close()
			}
			w.in = w.in[:i]
			break
		}
		if err := w.closeAt(i, f); err != nil {
			return err
		}
		f = next
	}
	w.in[len(w.in)-1].file = f
	return nil
}

// closeAt closes the directory above level i, unless it is the top.
func (w *walk) closeAt(i int, f io.Closer) error {
	if i == 1 {
		return nil
	}
	return f.Close()
}

func (l *level) is(f *os.File) bool {
	var st unix.Stat_t
	return unix.Fstat(int(f.Fd()), &st) == nil && st.Dev == l.dev && st.Ino == l.ino
}

func (w *walk) close() {
	for _, l := range w.in {
		if l.file != nil {
			_ = l.file.Close() // was read only
		}
	}
}

// changed returns nil for an error that only says that somebody removed or replaced the name since it was read.
func changed(err error) error {
	for _, is := range []error{unix.ENOENT, unix.ENOTDIR, unix.ELOOP} {
		if errors.Is(err, is) {
			return nil
		}
	}
	return err
}
