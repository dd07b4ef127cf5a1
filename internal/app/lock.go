package app

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

// ErrDataDirInUse says that another server works in the data directory.
var ErrDataDirInUse = errors.New("another stead serve works in this data directory; stop it, or give this one its own STEAD_DATA_DIR")

// lockDataDir takes the data directory for this process. SQLite and the
// embedded node allow several processes at once no more than one writer's
// truth in memory does. The kernel takes the lock back when the process ends,
// in whatever way, so a killed server never has to be cleaned up after.
func lockDataDir(dir string) (release func() error, err error) {
	f, err := os.OpenFile(filepath.Join(dir, "stead.lock"), os.O_CREATE|os.O_RDWR, 0o600)
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
	// For people who look who holds it; nobody reads it back.
	if err := f.Truncate(0); err == nil {
		_, _ = f.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	}
	return f.Close, nil
}
