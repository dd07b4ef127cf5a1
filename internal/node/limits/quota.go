package limits

import (
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Quota is the kernel's own accounting of users' usage on a file system: quotactl(2). Where the file system has it, it
// enforces an account's limits for every process at once.
type Quota struct{ dir *os.File }

// The constants of linux/quota.h and linux/dqblk_xfs.h, which golang.org/x/sys does not have.
const (
	getQuota  = 0x800007<<8 | userQuota
	setQuota  = 0x800008<<8 | userQuota
	userQuota = 0

	blockLimits = 1
	inodeLimits = 4
	quotaBlock  = 1024 // bytes
)

// dqblk is struct if_dqblk.
type dqblk struct {
	blocksHard, blocksSoft, space  uint64
	inodesHard, inodesSoft, inodes uint64
	blocksTime, inodesTime         uint64
	valid                          uint32
}

// OpenQuota returns the quota of dir's file system; nil when it has none that is switched on (mount option usrquota, or
// the ext4 feature "quota").
func OpenQuota(dir string) (*Quota, error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, fmt.Errorf("limits: %w", err)
	}
	q := &Quota{dir: f}
	if _, _, err := q.Usage(0); err != nil {
		return nil, f.Close()
	}
	return q, nil
}

// Close releases the quota interface; the limits stay.
func (q *Quota) Close() error { return q.dir.Close() }

func (q *Quota) call(cmd int, uid int, d *dqblk) error {
	_, _, errno := unix.Syscall6(unix.SYS_QUOTACTL_FD, q.dir.Fd(), uintptr(cmd), uintptr(uid), uintptr(unsafe.Pointer(d)), 0, 0) //nolint:gosec // G103: the struct that the call fills or reads
	if errno != 0 {
		return fmt.Errorf("limits: quotactl: %w", errno)
	}
	return nil
}

// Usage is the usage of a user.
func (q *Quota) Usage(uid int) (bytes, inodes int64, err error) {
	var d dqblk
	err = q.call(getQuota, uid, &d)
	return int64(d.space), int64(d.inodes), err //nolint:gosec // G115: of a file system
}

// Set limits the usage of a user; zero is no limit.
func (q *Quota) Set(uid int, bytes, inodes int64) error {
	var now dqblk
	if err := q.call(getQuota, uid, &now); err != nil {
		return err
	}
	want := dqblk{
		blocksHard: uint64((bytes + quotaBlock - 1) / quotaBlock), inodesHard: uint64(inodes), //nolint:gosec // G115: limits are not negative
		valid: blockLimits | inodeLimits,
	}
	if now.blocksHard == want.blocksHard && now.inodesHard == want.inodesHard {
		return nil
	}
	return q.call(setQuota, uid, &want)
}
