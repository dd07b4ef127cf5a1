package ftp

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	ftpserver "github.com/fclairamb/ftpserverlib"
	"github.com/spf13/afero"

	"stead.dev/stead/internal/node/accounts"
	"stead.dev/stead/internal/node/files"
	"stead.dev/stead/internal/node/identity"
	"stead.dev/stead/internal/port/panel"
)

// fileSystem is the home of an FTP account as the library uses it.
type fileSystem struct{ s *session }

var (
	_ afero.Fs                                      = (*fileSystem)(nil)
	_ ftpserver.ClientDriverExtensionFileList       = (*fileSystem)(nil)
	_ ftpserver.ClientDriverExtentionFileTransfer   = (*fileSystem)(nil)
	_ ftpserver.ClientDriverExtensionRemoveDir      = (*fileSystem)(nil)
	_ ftpserver.ClientDriverExtensionSite           = (*fileSystem)(nil)
	_ ftpserver.ClientDriverExtensionAvailableSpace = (*fileSystem)(nil)
)

// Name implements afero.Fs.
func (*fileSystem) Name() string { return "home" }

// location is the root and the name of an operation.
type location struct {
	root *os.Root // the FTP account's home
	name string   // in it
	user user
}

// do runs work on the file that p names, as the account's user.
func (f *fileSystem) do(p string, work func(location) error) error {
	u, err := f.s.user()
	if err != nil {
		return err
	}
	name, err := files.CleanPath(p)
	if err != nil {
		return tell(err)
	}
	err = identity.Do(f.s.account, func() error {
		account, err := os.OpenRoot(f.s.account.Home)
		if err != nil {
			return err
		}
		defer account.Close()
		root, err := u.open(account)
		if err != nil {
			return err
		}
		defer root.Close()
		return work(location{root, name, u})
	})
	return tell(err)
}

// change is do for an operation that changes something.
func (f *fileSystem) change(p string, work func(location) error) error {
	return f.do(p, func(at location) error {
		if at.user.ReadOnly {
			return errReadOnly
		}
		return work(at)
	})
}

// The errors that clients see. The machine's own errors contain paths that they must not learn.
var (
	errReadOnly  = errors.New("this FTP account may only read")
	errForbidden = errors.New("not allowed")
	errNotFound  = errors.New("no such file or directory")
	errExists    = errors.New("exists already")
	errNotEmpty  = errors.New("directory is not empty")
	errFailed    = errors.New("failed")
)

// tell converts err for a client.
func tell(err error) error {
	switch {
	case err == nil, errors.Is(err, errReadOnly), errors.Is(err, errForbidden), errors.Is(err, io.EOF):
		return err
	case errors.Is(err, ftpserver.ErrStorageExceeded), errors.Is(err, panel.ErrDiskFull), errors.Is(err, panel.ErrLimit):
		return ftpserver.ErrStorageExceeded
	}
	switch files.KindOf(err) {
	case panel.ErrNotFound:
		return errNotFound
	case panel.ErrExists:
		return errExists
	case panel.ErrInUse:
		return errNotEmpty
	case panel.ErrDiskFull:
		return ftpserver.ErrStorageExceeded
	case panel.ErrPathNotAllowed:
		return errForbidden
	}
	if errors.Is(err, panel.ErrPathNotAllowed) || errors.Is(err, panel.ErrInvalid) {
		return errForbidden
	}
	return errFailed
}

// needed reports names that hosting needs: they must stay.
func (at location) needed() bool {
	full := at.user.within(at.name)
	return full == "." || at.name == "." || slices.ContainsFunc(accounts.Layout, func(l struct {
		Name string
		Mode uint32
	},
	) bool {
		return l.Name == full
	})
}

// Stat implements afero.Fs.
func (f *fileSystem) Stat(name string) (info os.FileInfo, err error) {
	err = f.do(name, func(at location) (err error) {
		info, err = at.root.Stat(at.name)
		return err
	})
	return info, err
}

// ReadDir implements ftpserver.ClientDriverExtensionFileList.
func (f *fileSystem) ReadDir(name string) (list []os.FileInfo, err error) {
	err = f.do(name, func(at location) error {
		dir, err := at.root.OpenFile(at.name, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NONBLOCK, 0)
		if err != nil {
			return err
		}
		defer dir.Close()
		entries, err := dir.ReadDir(-1)
		for _, e := range entries {
			if _, hidden := files.CleanPath(e.Name()); hidden != nil {
				continue
			}
			info, err := e.Info()
			if errors.Is(err, fs.ErrNotExist) {
				continue // removed meanwhile
			}
			if err != nil {
				return err
			}
			list = append(list, info)
		}
		return err
	})
	slices.SortFunc(list, func(a, b os.FileInfo) int { return strings.Compare(a.Name(), b.Name()) })
	return list, err
}

// Mkdir implements afero.Fs.
func (f *fileSystem) Mkdir(name string, _ os.FileMode) error {
	return f.change(name, func(at location) error {
		if err := f.s.d.cfg.Disk.Take(f.s.ctx, f.s.account.Ref, 0, 1); err != nil {
			return err
		}
		err := at.root.Mkdir(at.name, 0o755)
		if err != nil {
			f.s.d.cfg.Disk.Give(f.s.account.Ref, 0, 1)
		}
		return err
	})
}

// Remove implements afero.Fs: it removes a file.
func (f *fileSystem) Remove(name string) error { return f.remove(name, false) }

// RemoveDir implements ftpserver.ClientDriverExtensionRemoveDir: it removes an empty directory.
func (f *fileSystem) RemoveDir(name string) error { return f.remove(name, true) }

func (f *fileSystem) remove(name string, dir bool) error {
	return f.change(name, func(at location) error {
		if at.needed() {
			return errForbidden
		}
		info, err := at.root.Lstat(at.name)
		if err != nil {
			return err
		}
		if info.IsDir() != dir {
			return errForbidden
		}
		if err := at.root.Remove(at.name); err != nil {
			return err
		}
		f.s.gave(freed(info), 1)
		f.s.changed(at.name, dir)
		return nil
	})
}

// freed is the room that an account gets back when a name is removed: nothing for a file with other names.
func freed(info fs.FileInfo) int64 {
	if st, ok := info.Sys().(*syscall.Stat_t); !info.Mode().IsRegular() || (ok && st.Nlink > 1) {
		return 0
	}
	return info.Size()
}

// Rename implements afero.Fs.
func (f *fileSystem) Rename(from, to string) error {
	return f.change(from, func(at location) error {
		target, err := files.CleanPath(to)
		if err != nil {
			return err
		}
		there := location{at.root, target, at.user}
		if at.needed() || there.needed() {
			return errForbidden
		}
		old, err := at.root.Lstat(target)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if err := at.root.Rename(at.name, target); err != nil {
			return err
		}
		if old != nil && target != at.name {
			f.s.gave(freed(old), 1)
		}
		f.s.changed(at.name, false)
		dir := true // with all that may be in it
		if info, err := at.root.Lstat(target); err == nil {
			dir = info.IsDir()
		}
		f.s.changed(target, dir)
		return nil
	})
}

// Chmod implements afero.Fs: permissions, without the bits that change who a program runs as.
func (f *fileSystem) Chmod(name string, mode os.FileMode) error {
	return f.change(name, func(at location) error {
		if at.needed() {
			return errForbidden
		}
		err := at.root.Chmod(at.name, mode.Perm())
		f.s.changed(at.name, false)
		return err
	})
}

// Chtimes implements afero.Fs.
func (f *fileSystem) Chtimes(name string, accessed, modified time.Time) error {
	return f.change(name, func(at location) error { return at.root.Chtimes(at.name, accessed, modified) })
}

// Site implements ftpserver.ClientDriverExtensionSite: of SITE's commands only CHMOD is for customers.
func (*fileSystem) Site(param string) *ftpserver.AnswerCommand {
	if words := strings.SplitN(param, " ", 3); len(words) == 3 && strings.EqualFold(words[0], "CHMOD") {
		return nil // the library does it by Chmod
	}
	return &ftpserver.AnswerCommand{Code: ftpserver.StatusCommandNotImplemented, Message: "SITE CHMOD mode path"}
}

// GetAvailableSpace implements ftpserver.ClientDriverExtensionAvailableSpace. What the account may still take
// is told by the refusal of it.
func (*fileSystem) GetAvailableSpace(string) (int64, error) { return 0, errForbidden }

// The library does not use the rest of afero.Fs.

// Create implements afero.Fs.
func (*fileSystem) Create(string) (afero.File, error) { return nil, errForbidden }

// Open implements afero.Fs.
func (*fileSystem) Open(string) (afero.File, error) { return nil, errForbidden }

// OpenFile implements afero.Fs.
func (*fileSystem) OpenFile(string, int, os.FileMode) (afero.File, error) { return nil, errForbidden }

// MkdirAll implements afero.Fs.
func (*fileSystem) MkdirAll(string, os.FileMode) error { return errForbidden }

// RemoveAll implements afero.Fs.
func (*fileSystem) RemoveAll(string) error { return errForbidden }

// Chown implements afero.Fs.
func (*fileSystem) Chown(string, int, int) error { return errForbidden }

// GetHandle implements ftpserver.ClientDriverExtentionFileTransfer.
func (f *fileSystem) GetHandle(name string, flags int, _ int64) (ftpserver.FileTransfer, error) {
	open := f.read
	if flags&os.O_WRONLY != 0 {
		open = func(name string) (*transfer, error) { return f.write(name, flags) }
	}
	t, err := open(name)
	if err != nil {
		return nil, err
	}
	return t, nil
}

// read opens a plain file, and nothing else: without O_NONBLOCK opening a pipe would wait.
func (f *fileSystem) read(name string) (t *transfer, err error) {
	err = f.do(name, func(at location) error {
		file, err := at.root.OpenFile(at.name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
		if err != nil {
			return err
		}
		info, err := file.Stat()
		if err == nil && !info.Mode().IsRegular() {
			err = errForbidden
		}
		if err != nil {
			_ = file.Close() // opened for reading
			return err
		}
		t = &transfer{file: file, s: f.s}
		return nil
	})
	return t, err
}

// write opens a file for writing from the start, from the client's offset, or from its end.
func (f *fileSystem) write(name string, flags int) (t *transfer, err error) {
	err = f.change(name, func(at location) error {
		if at.needed() {
			return errForbidden
		}
		var err error
		t, err = f.create(at, flags)
		return err
	})
	return t, err
}

func (f *fileSystem) create(at location, flags int) (*transfer, error) {
	t := &transfer{name: at.name, s: f.s, writes: true, most: at.user.QuotaMB << 20}
	// A new name costs an inode; O_EXCL tells whether it is new.
	if err := f.s.took(0, 1, t.most); err != nil {
		return nil, err
	}
	const plain = os.O_WRONLY | syscall.O_NONBLOCK
	file, err := at.root.OpenFile(at.name, plain|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		f.s.gave(0, 1)
		if errors.Is(err, fs.ErrExist) {
			file, err = at.root.OpenFile(at.name, plain, 0)
		}
		if err != nil {
			return nil, err
		}
	}
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errForbidden
	}
	if err == nil && flags&os.O_TRUNC != 0 {
		if err = file.Truncate(0); err == nil {
			f.s.gave(info.Size(), 0)
		}
	} else if err == nil {
		t.size = info.Size()
	}
	if err == nil && flags&os.O_APPEND != 0 {
		t.at, err = file.Seek(0, io.SeekEnd)
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	t.file = file
	return t, nil
}
