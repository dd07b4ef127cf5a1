package daemon

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"stead.dev/stead/internal/node/record"
)

// Unread names a file that stands while a daemon may run with another configuration than the one that is written: from
// before its first file is changed until it has read all of them. So it reads them also when the agent was killed in
// between, or failed, and the next one finds the files right.
type Unread string

// Note makes the file stand.
func (u Unread) Note() error {
	if err := record.WriteFile(string(u), nil, 0o600); err != nil {
		return fmt.Errorf("daemon: %w", err)
	}
	return nil
}

// Noted tells whether it stands.
func (u Unread) Noted() bool {
	_, err := os.Lstat(string(u))
	return err == nil
}

// Forget takes it away: the daemon has read what is written.
func (u Unread) Forget() error {
	if err := os.Remove(string(u)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("daemon: %w", err)
	}
	return nil
}
