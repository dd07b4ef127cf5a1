package remote

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
)

// ListenSocket listens at a socket of this machine that this user alone, and root, can open: its folder, which is made, is closed to
// others. What a process before has left there is replaced.
func ListenSocket(ctx context.Context, socket string) (ln net.Listener, err error) {
	dir := filepath.Dir(socket)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	if err := os.Chmod(dir, 0o700); err != nil { //nolint:gosec // a directory
		return nil, err
	}
	if err := os.Remove(socket); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	err = short(socket, func(name string) error {
		ln, err = (&net.ListenConfig{}).Listen(ctx, "unix", name)
		return err
	})
	if unix, ok := ln.(*net.UnixListener); ok {
		unix.SetUnlinkOnClose(false) // the name may be one of short
	}
	return ln, err
}

func dialSocket(ctx context.Context, socket string) (conn net.Conn, err error) {
	err = short(socket, func(name string) error {
		conn, err = (&net.Dialer{Timeout: dialTimeout}).DialContext(ctx, "unix", name)
		return err
	})
	return conn, err
}

// short calls f with a name of the socket that the kernel takes: of at most 107 bytes.
func short(socket string, f func(name string) error) error {
	const most = 107
	if len(socket) <= most {
		return f(socket)
	}
	dir, err := os.Open(filepath.Dir(socket))
	if err != nil {
		return err
	}
	defer dir.Close()
	return f(fmt.Sprintf("/proc/self/fd/%d/%s", dir.Fd(), filepath.Base(socket)))
}
