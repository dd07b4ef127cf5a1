package backups

import (
	"archive/tar"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"stead.dev/stead/internal/node/tree"
	"stead.dev/stead/internal/port/panel"
)

// scope selects the entries of a stream for a restore.
type scope struct {
	items []string // clean names; none means all
}

// has reports whether an entry is restored.
func (s scope) has(name string) bool {
	return len(s.items) == 0 || slices.ContainsFunc(s.items, func(item string) bool { return within(item, name) })
}

// leads reports whether the scope may contain something below a directory.
func (s scope) leads(dir string) bool {
	return s.has(dir) || slices.ContainsFunc(s.items, func(item string) bool { return within(dir, item) })
}

// within reports whether name is dir or below it.
func within(dir, name string) bool {
	return dir == "." || name == dir || strings.HasPrefix(name, dir+"/")
}

// kind is the kind of a stream's entry.
type kind byte

const (
	isFile kind = iota + 1
	isDir
	isUnread // existed and could not be read: stays unchanged, with everything below it
)

// contents are the entries of a stream by a checksum of their names: a home may have a million.
type contents struct {
	scope  scope
	beside bool // existing files stay
	kinds  map[[16]byte]kind
	bytes  int64
	found  map[string]bool // items that the stream has
}

func newContents(s scope) *contents {
	return &contents{scope: s, kinds: map[[16]byte]kind{}, found: map[string]bool{}}
}

func key(name string) [16]byte {
	sum := sha256.Sum256([]byte(name))
	return [16]byte(sum[:16])
}

// read adds the entries of a stream, and reads it to its end.
func (c *contents) read(r io.Reader) error {
	return entries(r, func(name string, h *tar.Header, _ io.Reader) error {
		for _, item := range c.scope.items {
			if within(item, name) {
				c.found[item] = true
			}
		}
		if !c.scope.has(name) {
			return nil
		}
		if top, _, _ := strings.Cut(name, "/"); !passing[top] {
			c.bytes += h.Size
		}
		c.kinds[key(name)] = kindOf(h)
		return nil
	})
}

func kindOf(h *tar.Header) kind {
	switch {
	case h.PAXRecords[unreadableRecord] != "":
		return isUnread
	case h.Typeflag == tar.TypeDir:
		return isDir
	default:
		return isFile
	}
}

// entries iterates over a tar of ours. Names are clean and below the root, whatever wrote the tar.
func entries(r io.Reader, each func(name string, h *tar.Header, body io.Reader) error) error {
	t := tar.NewReader(r)
	for {
		h, err := t.Next()
		if errors.Is(err, io.EOF) {
			_, err = io.Copy(io.Discard, r) // to the very end, for the checksum
			return err
		}
		if err != nil {
			var known panel.Kind
			if errors.As(err, &known) {
				return err
			}
			return damaged(err)
		}
		name := path.Clean(h.Name)
		if !filepath.IsLocal(name) || name == "." {
			return damaged(fmt.Errorf("an entry is named %q", h.Name))
		}
		if err := each(name, h, t); err != nil {
			return err
		}
	}
}

// unpacker restores the entries of a stream into a directory.
type unpacker struct {
	ctx   context.Context
	root  *os.Root
	scope scope
	into  string // directory below the root
	plain bool   // links are left out: root reads what is unpacked
	dirs  []dirEnd
}

// dirEnd is what a directory gets after its content.
type dirEnd struct {
	name string
	mode fs.FileMode
	time time.Time
}

// unfinished is the prefix of what a restore has written and not yet renamed.
const unfinished = staging + "restore-"

// removeOthers removes, in the scope, what the stream does not have, and the rest of an interrupted restore. It leaves
// what is not content: temporary directories, pipes, sockets.
func removeOthers(ctx context.Context, root *os.Root, c *contents, dir string) error {
	names, err := readNames(root, dir)
	if err != nil {
		return err
	}
	for _, n := range names {
		name := path.Join(dir, n)
		left := strings.HasPrefix(n, unfinished)
		kept := staged(name) || passing[name] && c.kinds[key(name)] == 0 // only the copies of moves have temporary directories
		if !left && (kept || !c.scope.leads(name)) {
			continue
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		info, err := root.Lstat(name)
		if errors.Is(err, fs.ErrPermission) { // a directory that can be read and not entered
			if err = open(root, dir); err == nil {
				info, err = root.Lstat(name)
			}
		}
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		k, there := c.kinds[key(name)]
		switch {
		case left:
			err = removeAll(root, name)
		case k == isUnread, info.Mode().Type()&^(fs.ModeDir|fs.ModeSymlink) != 0:
		case !there && !c.beside && c.scope.has(name):
			err = removeAll(root, name)
		case info.IsDir() && k != isFile && len(name) <= maxName:
			err = removeOthers(ctx, root, c, name)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// readNames lists a directory after making it accessible to its owner.
func readNames(root *os.Root, dir string) ([]string, error) {
	f, err := root.OpenFile(dir, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NOFOLLOW, 0)
	if errors.Is(err, fs.ErrPermission) && dir != "." {
		if err = root.Chmod(dir, 0o700); err == nil {
			f, err = root.OpenFile(dir, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NOFOLLOW, 0)
		}
	}
	if err != nil {
		return nil, err
	}
	names, err := f.Readdirnames(-1)
	return names, errors.Join(err, f.Close())
}

// removeAll removes a tree, also one whose directories are closed to their owner.
func removeAll(root *os.Root, name string) error {
	err := tree.Remove(root, name, nil)
	if !errors.Is(err, fs.ErrPermission) {
		return err
	}
	if err := open(root, path.Dir(name)); err != nil {
		return err
	}
	return tree.Remove(root, name, nil)
}

// open lets the owner of a directory change its content.
func open(root *os.Root, dir string) error {
	if dir == "." {
		return nil
	}
	info, err := root.Lstat(dir)
	if err != nil || !info.IsDir() || info.Mode().Perm()&0o300 == 0o300 {
		return err
	}
	return root.Chmod(dir, info.Mode()|0o700)
}

// unpack writes the selected entries of a stream.
func (u *unpacker) unpack(r io.Reader) error {
	err := entries(r, func(name string, h *tar.Header, body io.Reader) error {
		if err := u.ctx.Err(); err != nil {
			return err
		}
		if !u.scope.has(name) || kindOf(h) == isUnread || u.plain && h.Typeflag == tar.TypeSymlink {
			return nil
		}
		if err := u.entry(path.Join(u.into, name), h, body); err != nil {
			return fmt.Errorf("%q: %w", name, err)
		}
		return nil
	})
	if err != nil {
		return err
	}
	// Only now: a directory may be closed to its owner, and every entry changes its time.
	for _, d := range slices.Backward(u.dirs) {
		err := u.root.Chmod(d.name, d.mode)
		if err == nil {
			err = u.root.Chtimes(d.name, d.time, d.time)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return u.sync()
}

// sync makes the writes durable before success is reported.
func (u *unpacker) sync() error {
	f, err := u.root.Open(".")
	if err != nil {
		return err
	}
	defer f.Close()
	return unix.Syncfs(int(f.Fd()))
}

func (u *unpacker) entry(name string, h *tar.Header, body io.Reader) error {
	if err := u.parents(path.Dir(name)); err != nil {
		return err
	}
	switch h.Typeflag {
	case tar.TypeDir:
		return u.directory(name, h)
	case tar.TypeReg:
		return u.file(name, h, body)
	case tar.TypeSymlink:
		return u.replace(name, func(tmp string) error { return u.root.Symlink(h.Linkname, tmp) })
	default:
		return damaged(fmt.Errorf("an entry of type %q", h.Typeflag))
	}
}

// parents creates directories that the stream does not contain: above the target, and above items.
func (u *unpacker) parents(dir string) error {
	if dir == "." {
		return nil
	}
	info, err := u.root.Lstat(dir)
	if err == nil && info.IsDir() {
		return open(u.root, dir)
	}
	// Where the directory above cannot be entered, it is opened first.
	if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrPermission) {
		return err
	}
	if err := u.parents(path.Dir(dir)); err != nil {
		return err
	}
	return u.makeDir(dir)
}

// makeDir creates a directory, and replaces whatever exists: a link would lead its entries elsewhere.
func (u *unpacker) makeDir(name string) error {
	info, err := u.root.Lstat(name)
	switch {
	case err == nil && info.IsDir():
		return open(u.root, name)
	case err == nil:
		if err := u.root.Remove(name); err != nil {
			return err
		}
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	if err := u.root.Mkdir(name, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return u.root.Chmod(name, 0o755)
}

func (u *unpacker) directory(name string, h *tar.Header) error {
	if err := u.makeDir(name); err != nil {
		return err
	}
	f, err := u.root.OpenFile(name, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NOFOLLOW, 0)
	if errors.Is(err, fs.ErrPermission) {
		if err = u.root.Chmod(name, 0o700); err == nil {
			f, err = u.root.OpenFile(name, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NOFOLLOW, 0)
		}
	}
	if err != nil {
		return err
	}
	if err := errors.Join(setAttributes(f, h), f.Close()); err != nil {
		return err
	}
	u.dirs = append(u.dirs, dirEnd{name, fileMode(h.Mode), h.ModTime})
	return nil
}

func (u *unpacker) file(name string, h *tar.Header, body io.Reader) error {
	return u.replace(name, func(tmp string) error {
		f, err := u.root.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_EXCL|syscall.O_NOFOLLOW, 0o600)
		if err != nil {
			return err
		}
		_, err = io.Copy(f, canceled{u.ctx, body})
		if err == nil {
			err = setAttributes(f, h)
		}
		if err == nil {
			err = f.Chmod(fileMode(h.Mode))
		}
		if err == nil {
			err = setTime(f, h.ModTime)
		}
		return errors.Join(err, f.Close())
	})
}

// replace lets put create a temporary name, and renames it to name: a visitor finds the old or the new.
func (u *unpacker) replace(name string, put func(tmp string) error) error {
	tmp := path.Join(path.Dir(name), unfinished+rand.Text())
	err := put(tmp)
	if err == nil {
		var info fs.FileInfo
		if info, err = u.root.Lstat(name); err == nil && info.IsDir() {
			err = removeAll(u.root, name)
		}
		if err == nil || errors.Is(err, fs.ErrNotExist) {
			err = u.root.Rename(tmp, name)
		}
	}
	if err != nil {
		if gone := u.root.Remove(tmp); gone != nil && !errors.Is(gone, fs.ErrNotExist) {
			err = errors.Join(err, gone)
		}
	}
	return err
}

// setTime uses the descriptor: the name may be another file by now.
func setTime(f *os.File, t time.Time) error {
	ts := unix.NsecToTimeval(t.UnixNano())
	at := []unix.Timespec{unix.NsecToTimespec(t.UnixNano()), unix.NsecToTimespec(t.UnixNano())}
	err := unix.UtimesNanoAt(int(f.Fd()), "", at, unix.AT_EMPTY_PATH)
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.EINVAL) || errors.Is(err, unix.EPERM) { // before Linux 5.8
		return unix.Futimes(int(f.Fd()), []unix.Timeval{ts, ts})
	}
	return err
}

// setAttributes sets the user's extended attributes to those of the entry.
func setAttributes(f *os.File, h *tar.Header) error {
	now := &tar.Header{}
	if err := attributes(f, now); err != nil {
		return err
	}
	for name := range now.PAXRecords {
		if _, kept := h.PAXRecords[name]; !kept {
			if err := unix.Fremovexattr(int(f.Fd()), strings.TrimPrefix(name, xattrRecord)); err != nil {
				return err
			}
		}
	}
	for name, value := range h.PAXRecords {
		attribute, ok := strings.CutPrefix(name, xattrRecord)
		if !ok {
			continue
		}
		if err := unix.Fsetxattr(int(f.Fd()), attribute, []byte(value), 0); err != nil && !errors.Is(err, unix.ENOTSUP) {
			return err
		}
	}
	return nil
}

// fileMode is the inverse of modeBits.
func fileMode(bits int64) fs.FileMode {
	m := fs.FileMode(bits) & fs.ModePerm //nolint:gosec // masked
	for flag, bit := range map[fs.FileMode]int64{fs.ModeSetuid: 0o4000, fs.ModeSetgid: 0o2000, fs.ModeSticky: 0o1000} {
		if bits&bit != 0 {
			m |= flag
		}
	}
	return m
}
