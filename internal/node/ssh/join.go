package ssh

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"

	"golang.org/x/sys/unix"

	"stead.dev/stead/internal/node/accept"
	"stead.dev/stead/internal/node/cgroup"
	"stead.dev/stead/internal/node/ssh/session"
)

// socket is where a new session asks to be moved into its account's cgroup: only root can do that. The session sends
// nothing; the kernel identifies it.
func (d *Driver) socket() string { return d.path("join") }

// listen serves sessions until ctx ends. A session without an answer, because the agent is down, continues: it has its
// own limits, and the next agent moves it.
func (d *Driver) listen(ctx context.Context) error {
	if err := os.Remove(d.socket()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("ssh: %w", err)
	}
	ln, err := net.ListenUnix("unix", &net.UnixAddr{Name: d.socket(), Net: "unix"})
	if err != nil {
		return fmt.Errorf("ssh: %w", err)
	}
	if err := os.Chmod(d.socket(), 0o666); err != nil { //nolint:gosec // G302: everybody may ask, each for itself
		return errors.Join(fmt.Errorf("ssh: %w", err), ln.Close())
	}
	d.behind.Go(func() {
		<-ctx.Done()
		_ = ln.Close() // ends the loop below
	})
	d.behind.Go(func() {
		accept.Each(ctx, ln.AcceptUnix, d.cfg.Log, func(c *net.UnixConn) {
			if err := d.join(c); err != nil {
				d.cfg.Log.Warn("session cannot be put into its cgroup", "error", err)
			}
			_ = c.Close() // the session continues
		})
	})
	return nil
}

func (d *Driver) join(c *net.UnixConn) error {
	raw, err := c.SyscallConn()
	if err != nil {
		return err
	}
	var who *unix.Ucred
	controlErr := raw.Control(func(fd uintptr) { who, err = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED) })
	if err := errors.Join(controlErr, err); err != nil {
		return err
	}
	user, ok := d.userByID(int(who.Uid))
	if !ok {
		return fmt.Errorf("process %d of user %d is no session", who.Pid, who.Uid)
	}
	if err := cgroup.Machine().Add(user, int(who.Pid)); err != nil {
		return err
	}
	if cgroup.Machine().String() == "none" {
		return nil
	}
	_, err = c.Write([]byte{session.Bounded})
	return err
}

// userByID returns the Linux user of an account that may have sessions.
func (d *Driver) userByID(uid int) (string, bool) {
	for _, e := range d.records.All() {
		if a, err := d.lookup(e.Ref); err == nil && a.User.UID == uid {
			return a.User.Name, true
		}
	}
	return "", false
}

// adopt moves sessions into cgroups that began while no agent ran.
func (d *Driver) adopt() {
	for _, e := range d.records.All() {
		a, err := d.lookup(e.Ref)
		if err != nil || !e.Shell {
			continue
		}
		pids, err := sessionsOf(a.User.UID)
		for _, pid := range pids {
			err = errors.Join(err, cgroup.Machine().Add(a.User.Name, pid))
		}
		if err != nil {
			d.cfg.Log.Warn("sessions cannot be put into their cgroup", "account", a.Ref, "error", err)
		}
	}
}
