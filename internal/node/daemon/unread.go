package daemon

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"stead.dev/stead/internal/platform/atomicfile"
)

// Unread names a file that exists while a daemon may run with another configuration than the written one: from before
// the first change of a file until the daemon has read all of them. So it reads them also after an agent was killed or
// failed in between, and the next one finds the files right.
type Unread string

// Note creates the file.
func (u Unread) Note() error {
	if err := atomicfile.Write(string(u), nil, 0o600); err != nil {
		return fmt.Errorf("daemon: %w", err)
	}
	return nil
}

// Noted reports whether it exists.
func (u Unread) Noted() bool {
	_, err := os.Lstat(string(u))
	return err == nil
}

// Write writes a file of the configuration, unless it is the same already; the daemon has yet to read it then.
func (u Unread) Write(file, content string, mode fs.FileMode) error {
	if now, err := os.ReadFile(file); err == nil && string(now) == content {
		return nil
	}
	if err := u.Note(); err != nil {
		return err
	}
	if err := atomicfile.Write(file, []byte(content), mode); err != nil {
		return fmt.Errorf("daemon: %w", err)
	}
	return nil
}

// Forget removes it: the daemon has read the written configuration.
func (u Unread) Forget() error {
	if err := os.Remove(string(u)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("daemon: %w", err)
	}
	return nil
}
