// Package identity performs work as the Linux user of an account, so that nothing of a customer's is read, written or
// run as root.
package identity

import (
	"errors"
	"fmt"
	"math"
	"os"
	"runtime"
	"sync"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"stead.dev/stead/internal/node/accounts"
)

// ErrAnother says that Do was called within a Do for another account.
var ErrAnother = errors.New("identity: this is done as another account's user already")

// Do calls f while the file system takes the calling thread for the account's user: its rights are
// the user's and no more, what it makes is the user's, and the kernel counts it against the user's
// quota. f stays on its goroutine: what it starts with go is root again. f starts no processes: they
// would be root's; see Command. An account without a user is served by the process's own.
//
// A descriptor that f opened works everywhere afterwards.
func Do(a accounts.Account, f func() error) error {
	leave, err := Enter(a)
	if err != nil {
		return err
	}
	defer leave()
	return f()
}

// Enter starts what Do does and returns a function that ends it, on the same goroutine and in a defer: for callers that
// open something together with the identity and close both.
func Enter(a accounts.Account) (leave func(), err error) {
	if a.User.UID == 0 {
		return func() {}, nil
	}
	if a.User.UID < 0 || a.User.GID <= 0 || a.User.UID >= math.MaxUint32 || a.User.GID >= math.MaxUint32 {
		return nil, fmt.Errorf("identity: %d:%d is no user", a.User.UID, a.User.GID)
	}
	runtime.LockOSThread() // counts: within another Do the thread stays locked
	switch now := fileSystemUser(); now {
	case 0:
	case a.User.UID:
		return runtime.UnlockOSThread, nil
	default:
		runtime.UnlockOSThread()
		return nil, ErrAnother
	}
	root, err := become(a.User.UID, a.User.GID)
	if err != nil {
		// The thread is in an unknown state. It stays locked, so that it ends with its goroutine and runs nothing else.
		return nil, fmt.Errorf("identity: %w", err)
	}
	return func() {
		if err := root.regain(); err != nil {
			panic("identity: root cannot be regained: " + err.Error())
		}
		runtime.UnlockOSThread()
	}, nil
}

// credentials are the process's own credentials of a thread.
type credentials struct {
	gid    int
	groups []uint32
	caps   [2]unix.CapUserData
}

// own are the process's credentials: those of all its threads outside of Do.
var own = sync.OnceValues(func() (*credentials, error) {
	groups, err := syscall.Getgroups()
	if err != nil {
		return nil, fmt.Errorf("getgroups: %w", err)
	}
	c := &credentials{gid: os.Getegid()}
	for _, g := range groups {
		c.groups = append(c.groups, uint32(g))
	}
	if err := unix.Capget(&unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}, &c.caps[0]); err != nil {
		return nil, fmt.Errorf("capget: %w", err)
	}
	return c, nil
})

// become switches the thread to the user. All system calls are raw: the wrappers of package syscall change all threads
// of the process. The kernel would drop the capabilities that override permissions with the id (capabilities(7),
// "Effect of user ID changes"); become also drops all others, above all CAP_SYS_RESOURCE, which overrides quotas.
func become(uid, gid int) (*credentials, error) {
	root, err := own()
	if err != nil {
		return nil, err
	}
	if err := setGroups([]uint32{uint32(gid)}); err != nil { //nolint:gosec // G115: checked by Do
		return nil, err
	}
	if err := setFileSystemIDs(uid, gid); err != nil {
		return nil, err
	}
	none := root.caps
	none[0].Effective, none[1].Effective = 0, 0
	if err := setCapabilities(none); err != nil {
		return nil, err
	}
	return root, nil
}

// regain restores the thread's own credentials.
func (c *credentials) regain() error {
	if err := setFileSystemIDs(0, c.gid); err != nil {
		return err
	}
	if err := setCapabilities(c.caps); err != nil {
		return err
	}
	return setGroups(c.groups)
}

func setGroups(groups []uint32) error {
	first := unsafe.Pointer(unsafe.SliceData(groups)) //nolint:gosec // G103: the kernel reads as many as it is told
	if _, _, errno := unix.RawSyscall(unix.SYS_SETGROUPS, uintptr(len(groups)), uintptr(first), 0); errno != 0 {
		return fmt.Errorf("setgroups: %w", errno)
	}
	return nil
}

func setCapabilities(caps [2]unix.CapUserData) error {
	if err := unix.Capset(&unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}, &caps[0]); err != nil {
		return fmt.Errorf("capset: %w", err)
	}
	return nil
}

// setFileSystemIDs changes the ids of this thread. The calls return the former id and no error, so it verifies them
// with an invalid id.
func setFileSystemIDs(uid, gid int) error {
	_, _, _ = unix.RawSyscall(unix.SYS_SETFSGID, uintptr(gid), 0, 0)
	if now, _, _ := unix.RawSyscall(unix.SYS_SETFSGID, ^uintptr(0), 0, 0); int(now) != gid {
		return fmt.Errorf("setfsgid: the group is %d, not %d", now, gid)
	}
	_, _, _ = unix.RawSyscall(unix.SYS_SETFSUID, uintptr(uid), 0, 0)
	if now := fileSystemUser(); now != uid {
		return fmt.Errorf("setfsuid: the user is %d, not %d", now, uid)
	}
	return nil
}

func fileSystemUser() int {
	now, _, _ := unix.RawSyscall(unix.SYS_SETFSUID, ^uintptr(0), 0, 0)
	return int(now)
}
