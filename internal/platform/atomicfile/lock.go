package atomicfile

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// ErrLocked means that another process has locked a folder.
var ErrLocked = errors.New("it is locked by another process")

// LockDir locks a folder for this process until release is called; the kernel releases it with the process. It returns ErrLocked
// while another one has it.
func LockDir(dir string) (release func() error, err error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		err = ErrLocked
	}
	if err != nil {
		return nil, errors.Join(&os.PathError{Op: "lock", Path: dir, Err: err}, f.Close())
	}
	return f.Close, nil
}
