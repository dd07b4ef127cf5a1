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

// staging marks names of what is being prepared in a home (package files); nobody's content.
const staging = ".stead-"

// passing are what a home has for the moment: a restore would take the newer away for the older.
var passing = map[string]bool{"logs": true, "tmp": true}

// The records of a tar that are beyond its format: extended attributes as all programs write them,
// and what could not be read.
const (
	xattrRecord      = "SCHILY.xattr."
	unreadableRecord = "STEAD.unreadable"
)

// counted is what a stream holds.
type counted struct {
	entries, unreadable, bytes int64
}

// maxName is how many bytes of a name the system takes. Where directories were made one in the other beyond it,
// the names of all would grow with the square of their number.
const maxName = 4096

// packer writes a directory tree into a tar.
type packer struct {
	ctx  context.Context
	root *os.Root
	tar  *tar.Writer
	skip func(name string) bool // of an entry of the tree
	into string                 // prefix of the names in the tar
	most int64                  // bytes that the account may have; zero is no limit
	counted
}

// skipped tells what of a home is no content.
func skipped(name string) bool {
	return passing[name] || strings.HasPrefix(path.Base(name), staging)
}

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

// entry writes what stands at name. What vanished while the tree was read is passed over.
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
		return nil // sockets, pipes and devices have no content to keep
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
	err = attributes(f, h)
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err := p.write(h, nil); err != nil {
		return err
	}
	return p.dir(name)
}

func (p *packer) file(name string, info fs.FileInfo) error {
	// Without O_NONBLOCK the opening of a pipe that took the file's place would wait for a writer.
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
	if p.most > 0 && p.bytes+info.Size() > p.most && hollow(info) {
		return p.unread(h) // no restore would have the room for it, and a customer can make any number of them
	}
	return p.write(h, f)
}

// hollow tells whether a file is mostly holes, which occupy nothing and are read as zeros, or has several names, by each
// of which it is read once more.
func hollow(info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && (st.Blocks*512 < info.Size()/2 || st.Nlink > 1)
}

// gone tells of an entry that was removed or replaced since its directory was read.
func gone(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ELOOP) || errors.Is(err, syscall.ENOTDIR)
}

func (p *packer) unread(h *tar.Header) error {
	h.PAXRecords = map[string]string{unreadableRecord: "1"}
	h.Size = 0
	p.unreadable++
	return p.write(h, nil)
}

// write puts an entry into the tar. A file that shrinks while it is read is filled up with zeros, as
// tar programs do: its length stands before it.
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

// modeBits are the permissions in the form of chmod(2).
func modeBits(m fs.FileMode) int64 {
	bits := int64(m.Perm())
	for flag, bit := range map[fs.FileMode]int64{fs.ModeSetuid: 0o4000, fs.ModeSetgid: 0o2000, fs.ModeSticky: 0o1000} {
		if m&flag != 0 {
			bits |= bit
		}
	}
	return bits
}

// attributes adds the extended attributes that are the user's own.
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

// unsupported passes over that a file system has no extended attributes.
func unsupported(err error) error {
	if errors.Is(err, unix.ENOTSUP) || errors.Is(err, unix.ERANGE) {
		return nil
	}
	return err
}
