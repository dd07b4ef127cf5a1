// Package shell opens terminals of accounts for the browser: a shell as the account's user, under its
// limits, in a pseudo-terminal.
//
// Who may open one is the control plane's affair; that the account has a shell, is not suspended, and has
// not too many terminals is looked at here. A terminal ends when its user leaves, after a time without a word
// from either side, after the longest time that it may take, when the shell is switched off, when the account
// is suspended, and with the agent.
package shell

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"

	"stead.dev/stead/internal/node/accounts"
	"stead.dev/stead/internal/node/facility"
	"stead.dev/stead/internal/node/identity"
	"stead.dev/stead/internal/port/panel"
)

// Config configures the facility; Lookup, Enabled, Log and Session are required.
type Config struct {
	Lookup facility.Lookup
	// Enabled reports whether an account has a shell.
	Enabled func(accounts.Account) bool
	Log     *slog.Logger
	// Session is the program that begins sessions, an absolute path first: see package ssh/session.
	Session []string

	// PerAccount bounds the terminals of an account (zero: 4), All those of the machine (100). Longest bounds the time
	// of one (4 hours), Idle the time without input or output (30 minutes).
	PerAccount, All int
	Longest, Idle   time.Duration
}

// Driver opens terminals.
type Driver struct {
	cfg Config

	mu   sync.Mutex
	open map[*terminal]struct{}
}

var (
	_ panel.Terminal    = (*Driver)(nil)
	_ facility.Facility = (*Driver)(nil)
)

// New opens the facility.
func New(c Config) (*Driver, error) {
	if c.Lookup == nil || c.Enabled == nil || c.Log == nil || len(c.Session) == 0 {
		return nil, errors.New("shell: Lookup, Enabled, Log and Session are needed")
	}
	if c.PerAccount == 0 {
		c.PerAccount = 4
	}
	if c.All == 0 {
		c.All = 100
	}
	if c.Longest == 0 {
		c.Longest = 4 * time.Hour
	}
	if c.Idle == 0 {
		c.Idle = 30 * time.Minute
	}
	return &Driver{cfg: c, open: map[*terminal]struct{}{}}, nil
}

// Capability implements facility.Facility.
func (d *Driver) Capability() panel.Capability { return panel.CapTerminal }

// Apply implements facility.Facility: who has no shell any more loses the terminals.
func (d *Driver) Apply(_ context.Context, a accounts.Account) error {
	if a.Suspended || !d.cfg.Enabled(a) {
		d.End(a)
	}
	return nil
}

// Remove implements facility.Facility.
func (d *Driver) Remove(_ context.Context, a accounts.Account) error {
	d.End(a)
	return nil
}

// End ends the terminals of an account.
func (d *Driver) End(a accounts.Account) {
	d.end(func(t *terminal) bool { return t.account.Name == a.Name })
}

// Close ends all terminals.
func (d *Driver) Close() error {
	d.end(func(*terminal) bool { return true })
	return nil
}

func (d *Driver) end(which func(*terminal) bool) {
	d.mu.Lock()
	var gone []*terminal
	for t := range d.open {
		if which(t) {
			gone = append(gone, t)
		}
	}
	d.mu.Unlock()
	for _, t := range gone {
		t.cancel()
		<-t.ended
	}
}

// terminal is a running shell.
type terminal struct {
	account accounts.Account
	cancel  context.CancelFunc
	screen  *os.File      // the master side
	alarm   *time.Timer   // ends the terminal
	idle    time.Duration // unless there is input or output before
	ended   chan struct{} // closed when the shell has ended
}

// OpenTerminal implements panel.Terminal.
func (d *Driver) OpenTerminal(ctx context.Context, ref string, size panel.TerminalSize, input io.Reader) (_ io.ReadCloser, err error) {
	defer func() { err = panel.Wrap("terminal.open", ref, err) }()
	a, err := d.cfg.Lookup(ref)
	switch {
	case err != nil:
		return nil, err
	case a.Suspended:
		return nil, panel.ErrSuspended
	case !d.cfg.Enabled(a):
		return nil, fmt.Errorf("%w: the shell is switched off", panel.ErrUnsupported)
	case a.User.UID == 0:
		return nil, fmt.Errorf("%w: the account has no user", panel.ErrUnsupported)
	case !size.Valid():
		return nil, fmt.Errorf("%w: terminal of %d by %d", panel.ErrInvalid, size.Columns, size.Rows)
	}
	ctx, cancel := context.WithTimeout(ctx, d.cfg.Longest)
	t := &terminal{account: a, cancel: cancel, ended: make(chan struct{})}
	if err := d.enter(t); err != nil {
		cancel()
		return nil, err
	}
	if err := d.start(ctx, t, size); err != nil {
		cancel()
		d.leave(t)
		close(t.ended)
		return nil, err
	}
	// Ends a terminal whose account was suspended, or lost the shell, between the check and the entry.
	if now, err := d.cfg.Lookup(ref); err != nil || now.Suspended || !d.cfg.Enabled(now) {
		cancel()
	}
	go func() {
		err := panel.ReadTerminalInput(input, t.take)
		if err != nil && ctx.Err() == nil {
			d.cfg.Log.Warn("input of a terminal broke off", "account", ref, "error", err)
		}
		cancel() // nobody uses it any more
	}()
	return t, nil
}

func (d *Driver) enter(t *terminal) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	n := 0
	for other := range d.open {
		if other.account.Name == t.account.Name {
			n++
		}
	}
	if n >= d.cfg.PerAccount || len(d.open) >= d.cfg.All {
		return fmt.Errorf("%w: %d terminals are open", panel.ErrBusy, n)
	}
	d.open[t] = struct{}{}
	return nil
}

func (d *Driver) leave(t *terminal) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.open, t)
}

// start runs the shell in a new pseudo-terminal.
func (d *Driver) start(ctx context.Context, t *terminal, size panel.TerminalSize) error {
	screen, line, err := openPair()
	if err != nil {
		return err
	}
	defer line.Close()
	if err := prepare(line, t.account, size); err != nil {
		return errors.Join(err, screen.Close())
	}
	a := t.account
	words := append(append([]string{}, d.cfg.Session[1:]...), "-", strconv.Itoa(a.Limits.Processes), strconv.Itoa(a.Limits.MemoryMB))
	cmd := identity.Command(ctx, a, d.cfg.Session[0], words...)
	cmd.Env = append(cmd.Env, "TERM=xterm-256color", "STEAD_HOME="+a.Home)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = line, line, line
	cmd.SysProcAttr.Setctty, cmd.SysProcAttr.Ctty = true, 0
	if err := cmd.Start(); err != nil {
		return errors.Join(err, screen.Close())
	}
	t.screen = screen
	t.alarm, t.idle = time.AfterFunc(d.cfg.Idle, t.cancel), d.cfg.Idle
	go func() {
		err := cmd.Wait()
		t.alarm.Stop()
		t.cancel()
		if err := endSession(cmd.Process.Pid); err != nil {
			d.cfg.Log.Warn("what a terminal started cannot be ended", "account", a.Ref, "error", err)
		}
		d.leave(t)
		close(t.ended)
		// A process that left the session may still have the line open; earlier output is read meanwhile.
		time.AfterFunc(lastWords, func() { _ = screen.Close() })
		d.cfg.Log.Info("terminal ended", "account", a.Ref, "with", fmt.Sprint(err))
	}()
	d.cfg.Log.Info("terminal opened", "account", a.Ref)
	return nil
}

// openPair opens a pseudo-terminal. Its master, screen, is in the runtime's poller, so that Close ends a Read that waits:
// a process that left the session may keep the line open for as long as it likes. Nothing may call Fd on screen, which
// would make it blocking, as pty.Open and pty.Setsize do.
func openPair() (screen, line *os.File, err error) {
	master, line, err := pty.Open()
	if err != nil {
		return nil, nil, err
	}
	defer master.Close()
	fd, err := unix.FcntlInt(master.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, nil, errors.Join(err, line.Close())
	}
	if err := unix.SetNonblock(fd, true); err != nil {
		return nil, nil, errors.Join(err, unix.Close(fd), line.Close())
	}
	return os.NewFile(uintptr(fd), master.Name()), line, nil
}

// lastWords is how long the last output of a shell can be read after its end.
const lastWords = time.Second

// endSession kills the rest of a session, whose jobs have process groups of their own.
func endSession(leader int) error {
	for range 10 { // a process that is being killed may start another
		entries, err := os.ReadDir("/proc")
		if err != nil {
			return err
		}
		found := false
		for _, e := range entries {
			pid, err := strconv.Atoi(e.Name())
			if err != nil || sessionOf(pid) != leader {
				continue
			}
			found = true
			if err := syscall.Kill(pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
				return err
			}
		}
		if !found {
			return nil
		}
	}
	return nil
}

// sessionOf is the session of a running process; 0 when there is none.
func sessionOf(pid int) int {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0
	}
	// proc(5): "pid (name) state ppid pgrp session …", and the name may contain anything.
	fields := strings.Fields(string(data[bytes.LastIndexByte(data, ')')+1:]))
	if accounts.Ended(fields) {
		return 0
	}
	id, err := strconv.Atoi(fields[3])
	if err != nil {
		return 0
	}
	return id
}

// prepare gives the line to the user, and sets its size.
func prepare(line *os.File, a accounts.Account, size panel.TerminalSize) error {
	if err := line.Chown(a.User.UID, a.User.GID); err != nil {
		return err
	}
	if err := line.Chmod(0o600); err != nil {
		return err
	}
	return resize(line, size)
}

// resize tells the terminal's programs its size.
func resize(f *os.File, s panel.TerminalSize) error {
	window := unix.Winsize{Row: uint16(s.Rows), Col: uint16(s.Columns)} //nolint:gosec // G115: they are valid
	conn, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	err = conn.Control(func(fd uintptr) { failed = unix.IoctlSetWinsize(int(fd), unix.TIOCSWINSZ, &window) })
	return errors.Join(err, failed)
}

// take handles one input.
func (t *terminal) take(in panel.TerminalInput) error {
	t.alarm.Reset(t.idle)
	if in.Resize != nil {
		if err := resize(t.screen, *in.Resize); err != nil {
			return err
		}
	}
	if len(in.Data) > 0 {
		if _, err := t.screen.Write(in.Data); err != nil {
			return err
		}
	}
	return nil
}

// Read implements io.Reader: what the terminal shows.
func (t *terminal) Read(b []byte) (int, error) {
	n, err := t.screen.Read(b)
	if n > 0 {
		t.alarm.Reset(t.idle)
		return n, nil
	}
	// The kernel returns EIO when no process has the line open any more.
	if errors.Is(err, syscall.EIO) || errors.Is(err, os.ErrClosed) {
		err = io.EOF
	}
	return n, err
}

// Close implements io.Closer: it ends the shell.
func (t *terminal) Close() error {
	t.cancel()
	<-t.ended
	if err := t.screen.Close(); err != nil && !errors.Is(err, os.ErrClosed) {
		return err
	}
	return nil
}
