package daemon

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Processes keeps daemons running where there is no systemd. Below its directory are, for each:
//
//	<name>.pid    the process: its line of /proc/<pid>/stat, the boot, and what spec it runs
//	<name>.lock   held while one is being started
//	<name>.log    what it printed; up to 3 older ones beside it
//
// A daemon is started by a shell that writes the process file itself and then becomes the daemon.
// So there is no moment at which an agent could be killed and leave a daemon that nobody knows.
type Processes struct {
	cfg Config

	ctx    context.Context // ends with the supervision
	cancel context.CancelFunc
	work   sync.WaitGroup

	mu     sync.Mutex
	all    map[string]*supervised
	closed bool
}

var _ Supervisor = (*Processes)(nil)

var errEnded = errors.New("daemon: it ended")

// supervised is a supervised daemon.
type supervised struct {
	changing sync.Mutex // serializes changes

	mu     sync.Mutex
	spec   Spec
	now    process
	ended  chan struct{} // closed when now has ended
	how    string        // how it ended, if it was a child of this process
	wanted bool          // false: its end is no failure
	since  time.Time     // when it was started
	failed int           // consecutive times that it ended soon after its start
}

// NewProcesses makes a supervisor with its files in cfg.Dir, which it creates when missing.
func NewProcesses(cfg Config) (*Processes, error) {
	if cfg.Now == nil || cfg.Log == nil || !filepath.IsAbs(cfg.Dir) {
		return nil, errors.New("daemon: Now, Log and an absolute Dir are needed")
	}
	if err := os.MkdirAll(cfg.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("daemon: %w", err)
	}
	heedHangups()
	p := &Processes{cfg: cfg, all: map[string]*supervised{}}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	p.work.Go(p.rotate)
	return p, nil
}

// heedHangups makes children receive SIGHUP, by which daemons reload, when this process was started with it ignored
// (nohup(1)): a child inherits that, and a shell cannot even trap it. A signal that is caught here has its default
// action in the child.
var heedHangups = sync.OnceFunc(func() {
	if signal.Ignored(syscall.SIGHUP) {
		signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP)
	}
})

// Close implements Supervisor.
func (p *Processes) Close() error {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.cancel()
	p.work.Wait()
	return nil
}

func (p *Processes) file(name, kind string) string { return filepath.Join(p.cfg.Dir, name+kind) }

// daemon returns the daemon of that name; nil when it is unknown and create is false.
func (p *Processes) daemon(name string, create bool) *supervised {
	p.mu.Lock()
	defer p.mu.Unlock()
	sup := p.all[name]
	if sup == nil && create {
		sup = &supervised{}
		p.all[name] = sup
	}
	return sup
}

// Ensure implements Supervisor.
func (p *Processes) Ensure(ctx context.Context, spec Spec) error {
	spec, err := spec.complete()
	if err != nil {
		return err
	}
	sup := p.daemon(spec.Name, true)
	sup.changing.Lock()
	defer sup.changing.Unlock()
	return p.ensure(ctx, sup, spec)
}

func (p *Processes) ensure(ctx context.Context, sup *supervised, spec Spec) error {
	if err := p.ctx.Err(); err != nil {
		return fmt.Errorf("daemon: the supervisor is closed: %w", err)
	}
	lock, err := p.lock(ctx, spec.Name)
	if err != nil {
		return err
	}
	defer func() { _ = lock.Close() }() // the started process holds the lock until it has become the daemon

	former, runs := p.read(spec.Name)
	if former.lives() && runs == spec.fingerprint() {
		if sup.running() != former {
			p.keep(sup, spec, former, nil)
		} else {
			sup.mu.Lock()
			sup.spec = spec // signals and Ready may differ
			sup.mu.Unlock()
		}
		err := await(ctx, spec, sup.end())
		if err == nil || ctx.Err() != nil {
			return err
		}
		p.cfg.Log.Warn("daemon runs but does not answer: it is started anew", "daemon", spec.Name, "error", err)
	}
	if err := p.end(sup, spec, former); err != nil {
		return err
	}
	var last error
	for try := range startTries { // a port that is still in use is free a moment later
		if err := p.start(sup, spec, lock); err != nil {
			return err
		}
		if last = await(ctx, spec, sup.end()); !errors.Is(last, errEnded) {
			break
		}
		last = fmt.Errorf("daemon: %s ended (%s): %s", spec.Name, sup.result(), p.tail(spec.Name))
		if try == startTries-1 || ctx.Err() != nil || p.pause(200*time.Millisecond<<try) != nil {
			break
		}
		p.cfg.Log.Warn("daemon ended before it was ready and is started again", "daemon", spec.Name, "error", last)
	}
	if last != nil {
		last = errors.Join(last, p.end(sup, spec, sup.running()))
	}
	return last
}

// startTries bounds the attempts to start a daemon that ends before it is ready.
const startTries = 4

// pause waits, or returns an error when the supervision ends.
func (p *Processes) pause(d time.Duration) error {
	select {
	case <-p.ctx.Done():
		return p.ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// lock waits until no process starts the daemon.
func (p *Processes) lock(ctx context.Context, name string) (*os.File, error) {
	f, err := os.OpenFile(p.file(name, ".lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("daemon: %w", err)
	}
	for pause := time.Millisecond; ; pause = min(2*pause, 50*time.Millisecond) {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return f, nil
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR) {
			return nil, errors.Join(fmt.Errorf("daemon: %w", err), f.Close())
		}
		select {
		case <-ctx.Done():
			return nil, errors.Join(ctx.Err(), f.Close())
		case <-time.After(pause):
		}
	}
}

// read returns the process of the file and the fingerprint of its spec; zero when there is none.
func (p *Processes) read(name string) (process, string) {
	data, err := os.ReadFile(p.file(name, ".pid"))
	if err != nil {
		return process{}, ""
	}
	lines := strings.Split(string(data), "\n")
	if len(lines) < 3 {
		return process{}, ""
	}
	s, err := parseStat(lines[0])
	if err != nil {
		return process{}, ""
	}
	return process{pid: s.pid, start: s.start, boot: lines[1]}, lines[2]
}

// launch writes the process file by descriptor 4, releases the lock, which is descriptor 3, and becomes the daemon.
const launch = `read -r line </proc/$$/stat && printf '%s\n%s\n%s\n' "$line" "$1" "$2" >&4 && shift 2 && exec "$@" 3>&- 4>&-`

// hide runs before launch in a mount namespace of the daemon's own.
const hide = `mount -t proc -o nosuid,nodev,noexec,hidepid=2 proc /proc || echo 'processes of others are not hidden' >&2; `

// ownMounts and ownNetwork report whether the kernel lets this process create namespaces of mounts, and of the network.
var (
	ownMounts  = sync.OnceValue(func() bool { return mayUnshare(syscall.CLONE_NEWNS) })
	ownNetwork = sync.OnceValue(func() bool { return mayUnshare(syscall.CLONE_NEWNET) })
)

func mayUnshare(namespace uintptr) bool {
	try := exec.Command("/bin/true") //nolint:noctx // it ends at once
	try.SysProcAttr = &syscall.SysProcAttr{Unshareflags: namespace}
	return try.Run() == nil
}

// start runs and supervises the daemon. The caller holds the lock, and has ended the former one.
func (p *Processes) start(sup *supervised, spec Spec, lock *os.File) error {
	for _, file := range spec.Stale {
		if err := os.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("daemon: %w", err)
		}
	}
	out, err := os.OpenFile(p.file(spec.Name, ".log"), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return fmt.Errorf("daemon: %w", err)
	}
	defer func() { _ = out.Close() }()
	pid, err := os.OpenFile(p.file(spec.Name, ".pid"), os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return fmt.Errorf("daemon: %w", err)
	}
	defer func() { _ = pid.Close() }()

	boot := bootID()
	program := launch
	if spec.HideProcesses && ownMounts() {
		program = hide + launch
		if spec.Confine {
			program = hide + ownTemporaryMounts() + launch
		}
	}
	args := append([]string{"-c", program, "stead", boot, spec.fingerprint()}, spec.words()...)
	cmd := exec.Command("/bin/sh", args...) //nolint:noctx,gosec // it outlives this process; G204: to run what it is told is its purpose
	cmd.Dir = spec.Dir
	cmd.Env = append([]string{"PATH=" + searchPath}, spec.Env...)
	cmd.Stdout, cmd.Stderr = out, out
	cmd.ExtraFiles = []*os.File{lock, pid}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if program != launch {
		cmd.SysProcAttr.Unshareflags = syscall.CLONE_NEWNS // its mounts are private then
	}
	if spec.NoNetwork && ownNetwork() {
		cmd.SysProcAttr.Unshareflags |= syscall.CLONE_NEWNET
	}
	if spec.User != "" {
		if cmd.SysProcAttr.Credential, err = credential(spec.User); err != nil {
			return err
		}
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("daemon: %s: %w", spec.Name, err)
	}
	// Nobody has waited for it, so the id is still its own.
	s, err := statOf(cmd.Process.Pid)
	if err != nil {
		return errors.Join(fmt.Errorf("daemon: %s: %w", spec.Name, err), cmd.Process.Kill(), cmd.Wait())
	}
	p.keep(sup, spec, process{pid: cmd.Process.Pid, start: s.start, boot: boot}, cmd)
	return nil
}

func credential(name string) (*syscall.Credential, error) {
	u, err := user.Lookup(name)
	if err != nil {
		return nil, fmt.Errorf("daemon: %w", err)
	}
	ids, err := u.GroupIds()
	if err != nil {
		return nil, fmt.Errorf("daemon: %w", err)
	}
	var all []uint32
	for _, text := range append([]string{u.Uid, u.Gid}, ids...) {
		id, err := strconv.ParseUint(text, 10, 32)
		if err != nil {
			return nil, fmt.Errorf("daemon: %w", err)
		}
		all = append(all, uint32(id))
	}
	return &syscall.Credential{Uid: all[0], Gid: all[1], Groups: all[2:]}, nil
}

// keep supervises a running process: the child cmd or, with nil, one that another agent started.
func (p *Processes) keep(sup *supervised, spec Spec, proc process, cmd *exec.Cmd) {
	ended := make(chan struct{})
	sup.mu.Lock()
	sup.spec, sup.now, sup.ended, sup.how, sup.wanted, sup.since = spec, proc, ended, "", true, p.cfg.Now()
	sup.mu.Unlock()
	if cmd != nil {
		// Close does not wait for it: it ends with the daemon.
		go func() {
			err := cmd.Wait()
			p.cfg.Log.Debug("daemon ended", "daemon", spec.Name, "result", err)
			sup.mu.Lock()
			if sup.now == proc {
				sup.how = cmd.ProcessState.String()
			}
			sup.mu.Unlock()
			close(ended)
		}()
	} else {
		p.work.Go(func() { p.poll(proc, ended) })
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.closed {
		p.work.Go(func() { p.watch(sup, proc, ended) })
	}
}

// poll closes ended when a process that is not a child of this one has ended.
func (p *Processes) poll(proc process, ended chan struct{}) {
	for proc.lives() {
		if p.pause(250*time.Millisecond) != nil {
			return
		}
	}
	close(ended)
}

// A daemon that ran for this long is started again at once; one that keeps ending, after pauses that grow to
// longestPause.
const (
	longEnough   = time.Minute
	longestPause = 30 * time.Second
)

// watch starts the daemon again when proc ends unexpectedly.
func (p *Processes) watch(sup *supervised, proc process, ended <-chan struct{}) {
	select {
	case <-p.ctx.Done():
		return
	case <-ended:
	}
	for {
		sup.mu.Lock()
		if !sup.wanted || sup.now != proc {
			sup.mu.Unlock()
			return
		}
		spec := sup.spec
		if p.cfg.Now().Sub(sup.since) >= longEnough {
			sup.failed = 0
		}
		pause := min(100*time.Millisecond<<min(sup.failed, 16), longestPause)
		sup.failed++
		sup.mu.Unlock()
		p.cfg.Log.Error("daemon ended and is started again", "daemon", spec.Name, "pause", pause, "printed", p.tail(spec.Name))
		if p.pause(pause) != nil {
			return
		}
		if p.again(sup, proc) {
			return
		}
	}
}

// again starts the daemon to replace proc, which has ended. It reports whether the watcher of proc has nothing left to
// do.
func (p *Processes) again(sup *supervised, proc process) bool {
	sup.changing.Lock()
	defer sup.changing.Unlock()
	sup.mu.Lock()
	spec, wanted := sup.spec, sup.wanted && sup.now == proc
	sup.mu.Unlock()
	if !wanted {
		return true
	}
	lock, err := p.lock(p.ctx, spec.Name)
	if err == nil {
		defer func() { _ = lock.Close() }()
		err = proc.end(syscall.SIGKILL, 0) // what it left behind
	}
	if err == nil {
		err = p.start(sup, spec, lock)
	}
	if err != nil {
		p.cfg.Log.Error("daemon cannot be started again", "daemon", spec.Name, "error", err)
	}
	return err == nil
}

// end ends the process and its supervision.
func (p *Processes) end(sup *supervised, spec Spec, proc process) error {
	sup.mu.Lock()
	sup.wanted = false
	ended := sup.ended
	known := sup.now == proc
	sup.mu.Unlock()
	if err := proc.end(spec.Stop, spec.StopTimeout); err != nil {
		return err
	}
	if known && ended != nil {
		select {
		case <-ended: // wait, so that no zombie is left
		case <-p.ctx.Done():
		}
	}
	if err := os.Remove(p.file(spec.Name, ".pid")); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("daemon: %w", err)
	}
	return nil
}

func (sup *supervised) running() process {
	sup.mu.Lock()
	defer sup.mu.Unlock()
	return sup.now
}

// result describes how the daemon ended last.
func (sup *supervised) result() string {
	sup.mu.Lock()
	defer sup.mu.Unlock()
	if sup.how == "" {
		return "nobody knows how"
	}
	return sup.how
}

func (sup *supervised) end() <-chan struct{} {
	sup.mu.Lock()
	defer sup.mu.Unlock()
	return sup.ended
}

func (p *Processes) known(name string) (*supervised, error) {
	sup := p.daemon(name, false)
	if sup == nil {
		return nil, fmt.Errorf("daemon: %s is not known", name)
	}
	sup.mu.Lock()
	defer sup.mu.Unlock()
	if sup.spec.Name == "" {
		return nil, fmt.Errorf("daemon: %s is not known", name)
	}
	return sup, nil
}

// Reload implements Supervisor.
func (p *Processes) Reload(ctx context.Context, name string) error {
	sup, err := p.known(name)
	if err != nil {
		return err
	}
	sup.changing.Lock()
	defer sup.changing.Unlock()
	sup.mu.Lock()
	spec, proc := sup.spec, sup.now
	sup.mu.Unlock()
	if !proc.lives() {
		return p.ensure(ctx, sup, spec)
	}
	if spec.Reload == 0 {
		return fmt.Errorf("daemon: %s cannot reload", name)
	}
	err = proc.signal(spec.Reload)
	if errors.Is(err, os.ErrProcessDone) {
		return p.ensure(ctx, sup, spec)
	}
	return err
}

// Restart implements Supervisor.
func (p *Processes) Restart(ctx context.Context, name string) error {
	sup, err := p.known(name)
	if err != nil {
		return err
	}
	sup.changing.Lock()
	defer sup.changing.Unlock()
	sup.mu.Lock()
	spec, proc := sup.spec, sup.now
	sup.mu.Unlock()
	if err := p.end(sup, spec, proc); err != nil {
		return err
	}
	return p.ensure(ctx, sup, spec)
}

// Stop implements Supervisor. It also ends what a former agent started and this one was never told of.
func (p *Processes) Stop(ctx context.Context, name string) error {
	if !nameForm.MatchString(name) {
		return fmt.Errorf("daemon: %q is no name of a daemon", name)
	}
	sup := p.daemon(name, true)
	sup.changing.Lock()
	defer sup.changing.Unlock()
	lock, err := p.lock(ctx, name)
	if err != nil {
		return err
	}
	defer func() { _ = lock.Close() }()
	sup.mu.Lock()
	spec, proc := sup.spec, sup.now
	sup.mu.Unlock()
	if proc == (process{}) {
		proc, _ = p.read(name)
		spec = Spec{Name: name, Command: []string{"/"}}
		if spec, err = spec.complete(); err != nil {
			return err
		}
	}
	if err := p.end(sup, spec, proc); err != nil {
		return err
	}
	sup.mu.Lock()
	defer sup.mu.Unlock()
	sup.spec, sup.now, sup.ended = Spec{}, process{}, nil
	return nil
}

// PID implements Supervisor. A daemon that a former agent started counts also before Ensure.
func (p *Processes) PID(name string) int {
	if !nameForm.MatchString(name) {
		return 0
	}
	var proc process
	if sup := p.daemon(name, false); sup != nil {
		proc = sup.running()
	}
	if proc == (process{}) {
		proc, _ = p.read(name)
	}
	if !proc.lives() {
		return 0
	}
	return proc.pid
}

// How much of a daemon's output is kept: the present file, and older ones.
const (
	logSize  = 8 << 20
	oldLogs  = 3
	logPause = 15 * time.Second
)

// tail is the end of the daemon's output, for the error about its end.
func (p *Processes) tail(name string) string {
	f, err := os.Open(p.file(name, ".log"))
	if err != nil {
		return ""
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return ""
	}
	from := max(info.Size()-1000, 0)
	text := make([]byte, info.Size()-from)
	n, _ := f.ReadAt(text, from) // as much as there is
	return string(bytes.TrimSpace(text[:n]))
}

// rotate keeps the logs from filling the disk.
func (p *Processes) rotate() {
	for p.pause(logPause) == nil {
		logs, err := filepath.Glob(p.file("*", ".log"))
		if err != nil {
			return
		}
		for _, log := range logs {
			if err := rotate(log); err != nil {
				p.cfg.Log.Warn("what a daemon printed cannot be rotated", slog.String("log", log), slog.Any("error", err))
			}
		}
	}
}

// rotate copies a full log and truncates it: the daemon has it open, and appends. Output in between may be lost, as
// with copytruncate of logrotate(8).
func rotate(log string) error {
	info, err := os.Stat(log)
	if err != nil || info.Size() < logSize {
		return err
	}
	for n := oldLogs - 1; n > 0; n-- {
		err := os.Rename(log+"."+strconv.Itoa(n), log+"."+strconv.Itoa(n+1))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	data, err := os.ReadFile(log)
	if err != nil {
		return err
	}
	if err := os.WriteFile(log+".1", data, 0o600); err != nil { //nolint:gosec // G703: it is in the supervisor's directory
		return err
	}
	return os.Truncate(log, 0)
}

// Running lists the living daemons that were started below dir, whoever supervises them.
func Running(dir string) []string {
	p := &Processes{cfg: Config{Dir: dir}}
	files, err := filepath.Glob(p.file("*", ".pid"))
	if err != nil {
		return nil
	}
	var names []string
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".pid")
		if proc, _ := p.read(name); proc.lives() {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}
