package databases

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"regexp"
	"strconv"
	"syscall"
)

var safeName = regexp.MustCompile(`^[a-z0-9_]{1,63}$`)

// safe reports whether a name from a server may be in a statement.
func safe(name string) bool { return safeName.MatchString(name) }

// find is the absolute path of a program.
func find(program string, dirs ...string) (string, error) {
	for _, dir := range dirs {
		path := filepath.Join(dir, program)
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			return path, nil
		}
	}
	return "", fmt.Errorf("databases: %s is not installed", program)
}

// Installed reports which servers' programs the machine has.
func Installed() (mariadb, postgresql bool) {
	_, err := find("mariadbd", "/usr/sbin", "/usr/libexec")
	programs, _ := filepath.Glob("/usr/lib/postgresql/[0-9]*/bin/postgres") // the pattern is well formed
	return err == nil, len(programs) > 0
}

// credential is the user as whom a server runs; nil when this process is that user, or is not root and cannot switch.
func credential(name string) (*syscall.Credential, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	u, err := user.Lookup(name)
	if err != nil {
		return nil, err
	}
	uid, err := strconv.ParseUint(u.Uid, 10, 32)
	if err != nil {
		return nil, err
	}
	gid, err := strconv.ParseUint(u.Gid, 10, 32)
	if err != nil {
		return nil, err
	}
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid), Groups: []uint32{uint32(gid)}}, nil
}

// ownDir makes a directory of a server's user.
func ownDir(dir, owner string, mode fs.FileMode) error {
	above := filepath.Dir(dir)
	if err := os.MkdirAll(above, 0o711); err != nil {
		return err
	}
	if err := os.Chmod(above, 0o711); err != nil { //nolint:gosec // to be passed by the server, whatever the umask
		return err
	}
	if err := os.Mkdir(dir, mode); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	c, err := credential(owner)
	if err != nil {
		return err
	}
	if c != nil {
		if err := os.Lchown(dir, int(c.Uid), int(c.Gid)); err != nil {
			return err
		}
	}
	return os.Chmod(dir, mode)
}

// command runs a program as a server's user, without this process's environment.
func command(ctx context.Context, as, dir, program string, args ...string) (*exec.Cmd, error) {
	c, err := credential(as)
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, program, args...) //nolint:gosec // of Debian, with names that are safe
	cmd.Dir = dir
	cmd.Env = []string{"PATH=/usr/bin:/bin", "LC_ALL=C.UTF-8", "HOME=" + dir}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: c}
	return cmd, nil
}

// dumping is a running program whose output is read.
type dumping struct {
	cmd    *exec.Cmd
	out    io.ReadCloser
	said   bytes.Buffer // on standard error
	cancel context.CancelFunc
	ended  bool
	err    error
}

// startDump starts a program and returns its output. The program reads options from descriptor 3; empty for none.
func startDump(ctx context.Context, as, dir, options, program string, args ...string) (_ io.ReadCloser, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer func() {
		if err != nil {
			cancel()
		}
	}()
	cmd, err := command(ctx, as, dir, program, args...)
	if err != nil {
		return nil, err
	}
	d := &dumping{cmd: cmd, cancel: cancel}
	cmd.Stderr = &limited{to: &d.said, left: 4 << 10}
	if options != "" {
		r, w, err := os.Pipe()
		if err != nil {
			return nil, err
		}
		defer r.Close()
		// The message is far shorter than a pipe's buffer.
		if _, err := w.WriteString(options); err != nil {
			return nil, errors.Join(err, w.Close())
		}
		if err := w.Close(); err != nil {
			return nil, err
		}
		// The program opens it by its name, as its user.
		if c := cmd.SysProcAttr.Credential; c != nil {
			if err := r.Chown(int(c.Uid), int(c.Gid)); err != nil {
				return nil, err
			}
		}
		cmd.ExtraFiles = []*os.File{r}
	}
	if d.out, err = cmd.StdoutPipe(); err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return d, nil
}

// Read returns io.EOF only when the program has reported success.
func (d *dumping) Read(p []byte) (int, error) {
	if d.ended {
		return 0, d.err
	}
	n, err := d.out.Read(p)
	if err == nil {
		return n, nil
	}
	d.ended = true
	d.err = io.EOF
	if failed := d.cmd.Wait(); failed != nil {
		d.err = fmt.Errorf("databases: dump: %w: %s", failed, lastLine(d.said.Bytes()))
	} else if !errors.Is(err, io.EOF) {
		d.err = err
	}
	d.cancel()
	return n, d.err
}

// Close ends the program when it still runs.
func (d *dumping) Close() error {
	d.cancel()
	if !d.ended {
		d.ended, d.err = true, fs.ErrClosed
		_ = d.cmd.Wait() // ended by us
	}
	return nil
}

// limited keeps the beginning of what is written.
type limited struct {
	to   *bytes.Buffer
	left int
}

func (l *limited) Write(p []byte) (int, error) {
	n := min(len(p), l.left)
	l.to.Write(p[:n])
	l.left -= n
	return len(p), nil
}
