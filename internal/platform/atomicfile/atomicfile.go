// Package atomicfile writes files whole: after a crash or a loss of power, a file has its old content or its new one.
// WriteUnsynced alone promises less. LockDir keeps other processes away from a folder.
//
// No function here may be used in a directory that a customer can change: the path of the directory is followed through
// links. What is a customer's is written with the customer's own rights (internal/node/identity).
package atomicfile

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// temporary is the pattern of the names under which files are written. The names are short, whatever the file's is, and
// end in ".tmp": readers of directories skip those, and remove what a crash has left.
const temporary = ".*.tmp"

// unchanged is the owner or group that chown(2) leaves as it is.
const unchanged = -1

// Write replaces a file, or creates it. The mode holds whatever the umask is. Several writers of one file may be at work at
// the same time; the last one wins.
func Write(name string, content []byte, mode fs.FileMode) error {
	return file{name: name, fill: from(content), mode: mode, uid: unchanged, gid: unchanged}.write()
}

// WriteOwned is Write for a file that belongs to somebody else. The file has its owner and mode before it has its name.
func WriteOwned(name string, content []byte, mode fs.FileMode, uid, gid int) error {
	return file{name: name, fill: from(content), mode: mode, uid: uid, gid: gid}.write()
}

// WriteStream is Write for content that is too large for memory. When fill fails, the old file stays.
func WriteStream(name string, mode fs.FileMode, fill func(io.Writer) error) error {
	return file{name: name, fill: fill, mode: mode, uid: unchanged, gid: unchanged}.write()
}

// WriteUnsynced is Write for content that is written often and may be lost: readers find the old content or the new one, but
// after a loss of power the file may be empty.
func WriteUnsynced(name string, content []byte, mode fs.FileMode) error {
	return file{name: name, fill: from(content), mode: mode, uid: unchanged, gid: unchanged, unsynced: true}.write()
}

// Create is Write for a file that must not exist yet: the error is fs.ErrExist when it does. Of several writers at the same
// time one succeeds.
func Create(name string, content []byte, mode fs.FileMode) error {
	return file{name: name, fill: from(content), mode: mode, uid: unchanged, gid: unchanged, isNew: true}.write()
}

func from(content []byte) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := io.Copy(w, bytes.NewReader(content))
		return err
	}
}

// file is a file to be written.
type file struct {
	name     string
	fill     func(io.Writer) error
	mode     fs.FileMode
	uid, gid int
	isNew    bool // the name must not exist
	unsynced bool // nothing is forced to the disk
}

// write fills a temporary file beside the name, forces it to the disk, and gives it the name.
func (w file) write() (err error) {
	dir := filepath.Dir(w.name)
	f, err := os.CreateTemp(dir, temporary) // a new file of mode 0600: O_EXCL follows no link
	if err != nil {
		return err
	}
	defer func() {
		if left := os.Remove(f.Name()); left != nil && !errors.Is(left, fs.ErrNotExist) { // after a rename nothing is left
			err = errors.Join(err, left)
		}
	}()
	err = w.fill(f)
	if err == nil && (w.uid != unchanged || w.gid != unchanged) {
		err = f.Chown(w.uid, w.gid)
	}
	if err == nil {
		err = f.Chmod(w.mode) // after chown, which takes the bits of set-user-ID away
	}
	if err == nil && !w.unsynced {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	publish := os.Rename
	if w.isNew {
		publish = os.Link
	}
	if err := publish(f.Name(), w.name); err != nil || w.unsynced {
		return err
	}
	return SyncDir(dir)
}

// SyncDir makes the names in a directory last through a loss of power.
func SyncDir(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
