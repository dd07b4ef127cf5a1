package backups

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// staging is the prefix of temporary names in a home (package files), which have no content to keep.
const staging = ".stead-"

// passing are the temporary directories of a home: a restore would replace newer content by older.
var passing = map[string]bool{"logs": true, "tmp": true}

// The tar records for extended attributes, in the usual form, and for what could not be read.
const (
	xattrRecord      = "SCHILY.xattr."
	unreadableRecord = "STEAD.unreadable"
)

// counted is the content of a stream, in numbers.
type counted struct {
	entries, unreadable, bytes int64
}

// maxName is the longest name that the system accepts, in bytes. With directories nested beyond it, the names would
// grow with the square of their number.
const maxName = 4096

// packer writes a directory tree into a tar.
type packer struct {
	ctx  context.Context
	root *os.Root
	tar  *tar.Writer
	skip func(name string) bool // of an entry of the tree
	into string                 // prefix of the names in the tar
	most int64                  // limit of the account's bytes; zero is no limit
	counted
}

// skipped reports names of a home that are not content.
func skipped(name string) bool { return passing[name] || staged(name) }

// staged reports temporary names of the machine's own.
func staged(name string) bool { return strings.HasPrefix(path.Base(name), staging) }

func (p *packer) dir(dir string) error {
	f, err := p.root.OpenFile(dir, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NOFOLLOW, 0)
	if gone(err) && dir != "." { // since its own entry was written
		return nil
	}
	if err != nil {
		return err
	}
	names, err := f.Readdirnames(-1)
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	slices.Sort(names)
	for _, n := range names {
		name := path.Join(dir, n)
		if p.skip(name) {
			continue
		}
		if err := p.ctx.Err(); err != nil {
			return err
		}
		if len(name) > maxName {
			p.unreadable++
			continue
		}
		if err := p.entry(name); err != nil {
			return fmt.Errorf("%q: %w", name, err)
		}
	}
	return nil
}

// entry writes the object at name. It skips what vanished while the tree was read.
func (p *packer) entry(name string) error {
	info, err := p.root.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	switch info.Mode().Type() {
	case fs.ModeSymlink:
		link, err := p.root.Readlink(name)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.EINVAL) {
			return nil
		}
		if err != nil {
			return err
		}
		return p.write(header(p.into+name, info, link), nil)
	case fs.ModeDir:
		return p.directory(name, info)
	case 0:
		return p.file(name, info)
	default:
		return nil // sockets, pipes and devices have no content
	}
}

func (p *packer) directory(name string, info fs.FileInfo) error {
	f, err := p.root.OpenFile(name, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NOFOLLOW, 0)
	if gone(err) {
		return nil
	}
	h := header(p.into+name, info, "")
	if errors.Is(err, fs.ErrPermission) {
		return p.unread(h)
	}
	if err != nil {
		return err
	}
	reachable, err := p.reachable(name, f)
	if err == nil && reachable {
		err = attributes(f, h)
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	if !reachable {
		return p.unread(h)
	}
	if err := p.write(h, nil); err != nil {
		return err
	}
	return p.dir(name)
}

// reachable reports whether the entries of an open directory can be reached by their names: one may be read and not entered (0644).
func (p *packer) reachable(name string, f *os.File) (bool, error) {
	first, err := f.Readdirnames(1)
	if errors.Is(err, io.EOF) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	_, err = p.root.Lstat(path.Join(name, first[0]))
	return !errors.Is(err, fs.ErrPermission), nil
}

func (p *packer) file(name string, info fs.FileInfo) error {
	// Without O_NONBLOCK opening a pipe that replaced the file would wait for a writer.
	f, err := p.root.OpenFile(name, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if gone(err) {
		return nil
	}
	if errors.Is(err, fs.ErrPermission) {
		return p.unread(header(p.into+name, info, ""))
	}
	if err != nil {
		return err
	}
	defer f.Close()
	if info, err = f.Stat(); err != nil || !info.Mode().IsRegular() {
		return err
	}
	h := header(p.into+name, info, "")
	if err := attributes(f, h); err != nil {
		return err
	}
	if p.most > 0 && info.Size() > p.most-p.bytes && hollow(info) {
		return p.unread(h) // no restore would have room for it, and a customer can create any number of them
	}
	return p.write(h, f)
}

// hollow reports a file that is mostly holes, which use no disk and read as zeros, or that has several names, by each
// of which it is read again.
func hollow(info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && (st.Blocks*512 < info.Size()/2 || st.Nlink > 1)
}

// gone reports an entry that was removed or replaced since its directory was read.
func gone(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ELOOP) || errors.Is(err, syscall.ENOTDIR)
}

func (p *packer) unread(h *tar.Header) error {
	h.PAXRecords = map[string]string{unreadableRecord: "1"}
	h.Size = 0
	p.unreadable++
	return p.write(h, nil)
}

// write writes an entry into the tar. It fills up a file that shrinks meanwhile with zeros, as tar programs do: its
// length is already written.
func (p *packer) write(h *tar.Header, body io.Reader) error {
	p.entries++
	if err := p.tar.WriteHeader(h); err != nil {
		return err
	}
	if body == nil || h.Size == 0 {
		return nil
	}
	p.bytes += h.Size
	n, err := io.Copy(p.tar, io.LimitReader(canceled{p.ctx, body}, h.Size))
	if err != nil || n == h.Size {
		return err
	}
	_, err = io.CopyN(p.tar, zeros{}, h.Size-n)
	return err
}

// canceled ends a long read with its context.
type canceled struct {
	ctx context.Context
	r   io.Reader
}

func (c canceled) Read(b []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	return c.r.Read(b)
}

type zeros struct{}

func (zeros) Read(b []byte) (int, error) {
	clear(b)
	return len(b), nil
}

func header(name string, info fs.FileInfo, link string) *tar.Header {
	h := &tar.Header{Format: tar.FormatPAX, Typeflag: tar.TypeReg, Name: name, Linkname: link, Mode: modeBits(info.Mode()), ModTime: info.ModTime()}
	switch {
	case link != "":
		h.Typeflag = tar.TypeSymlink
	case info.IsDir():
		h.Typeflag = tar.TypeDir
		h.Name += "/"
	default:
		h.Size = info.Size()
	}
	return h
}

// modeBits converts permissions to the form of chmod(2).
func modeBits(m fs.FileMode) int64 {
	bits := int64(m.Perm())
	for flag, bit := range map[fs.FileMode]int64{fs.ModeSetuid: 0o4000, fs.ModeSetgid: 0o2000, fs.ModeSticky: 0o1000} {
		if m&flag != 0 {
			bits |= bit
		}
	}
	return bits
}

// attributes adds the user's own extended attributes.
func attributes(f *os.File, h *tar.Header) error {
	fd := int(f.Fd())
	size, err := unix.Flistxattr(fd, nil)
	if err != nil || size == 0 {
		return unsupported(err)
	}
	list := make([]byte, size)
	if size, err = unix.Flistxattr(fd, list); err != nil {
		return unsupported(err)
	}
	for name := range strings.SplitSeq(string(list[:size]), "\x00") {
		if !strings.HasPrefix(name, "user.") || strings.Contains(name, "=") {
			continue
		}
		n, err := unix.Fgetxattr(fd, name, nil)
		if err != nil {
			continue // removed meanwhile
		}
		value := make([]byte, n)
		if n, err = unix.Fgetxattr(fd, name, value); err != nil {
			continue
		}
		if h.PAXRecords == nil {
			h.PAXRecords = map[string]string{}
		}
		h.PAXRecords[xattrRecord+name] = string(value[:n])
	}
	return nil
}

// unsupported ignores that a file system has no extended attributes.
func unsupported(err error) error {
	if errors.Is(err, unix.ENOTSUP) || errors.Is(err, unix.ERANGE) {
		return nil
	}
	return err
}
