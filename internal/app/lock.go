package app

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

// ErrDataDirInUse means that another server, or a command that may not run beside one, uses the data directory.
var ErrDataDirInUse = errors.New("another stead serve, migrate or restore works in this data directory; wait for a command to end, stop a server, " +
	"or give this one its own STEAD_DATA_DIR")

func lockFile(dir string) string { return filepath.Join(dir, "stead.lock") }

// lockDataDir locks the data directory for this process: two servers must not write to one SQLite database and one embedded
// node. The kernel releases the lock when the process ends, however it ends, so nothing has to be cleaned up after a killed
// server.
func lockDataDir(dir string) (release func() error, err error) {
	f, err := os.OpenFile(lockFile(dir), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("data directory: %w", err)
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		_ = f.Close()
		if errors.Is(err, unix.EWOULDBLOCK) {
			return nil, fmt.Errorf("data directory %s: %w", dir, ErrDataDirInUse)
		}
		return nil, fmt.Errorf("data directory %s cannot be locked: %w", dir, err)
	}
	// For people who look for the holder; no program reads it.
	if err := f.Truncate(0); err == nil {
		_, _ = f.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	}
	return f.Close, nil
}
