// Package upgrade exchanges the program of an agent for a newer one that its control plane sends.
//
// Beside the program lie, each for as long as it is needed:
//
//	<program>.new     what arrives; it is asked for its version before it gets the program's name
//	<program>.former  the program before, which stays there after the upgrade
//	<program>.trial   says that the program is on trial, and whether it was started already
//
// The agent ends in order and becomes the new program: the same process, arguments and environment. That program is on trial until the
// control plane has accepted a report of it. When it ends with an error before, dies, or is not heard in time, the former one gets its
// name back and runs again. Nothing else of the machine is touched: daemons live on, as with every restart of an agent.
package upgrade

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"

	"stead.dev/stead/internal/platform/atomicfile"
	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/release"
	"stead.dev/stead/internal/port/panel"
	"stead.dev/stead/internal/port/panel/remote"
)

const (
	// patience is how long a program on trial has until the control plane must have heard it.
	patience = 90 * time.Second
	// askTimeout bounds the question for a program's version, on a machine that has much to do.
	askTimeout = 20 * time.Second
	// maxSize is far more than any program has.
	maxSize = 1 << 30
)

// Program is the program of an agent's process. It is safe for concurrent use.
type Program struct {
	// Allowed says that the operator of the machine lets the control plane exchange the program.
	Allowed bool

	path     string // of the executable, links resolved
	version  string
	log      *slog.Logger
	patience time.Duration
	owner    func(ctx context.Context, path string) (string, error) // of package managers, the one that owns the file
	become   func(path string, args, environ []string) error        // replaces the process; returns after an error only

	asked context.Context //nolint:containedctx // ends when the process is told to stop
	stop  context.CancelFunc

	taking sync.Mutex // held while a program is taken

	mu       sync.Mutex
	onTrial  bool
	replaced bool // another program has the name now
	late     *time.Timer
}

// Begin looks at the program of this process and, if it was exchanged just now, begins its trial. The context that it returns ends with
// ctx, and when another program is to run: the caller then ends its work and calls End.
func Begin(ctx context.Context, version string, log *slog.Logger) (*Program, context.Context, error) {
	path, err := os.Executable()
	if err == nil {
		path, err = filepath.EvalSymlinks(path)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("upgrade: this program: %w", err)
	}
	p := &Program{path: path, version: version, log: log, patience: patience, owner: packageManager, become: syscall.Exec}
	within, err := p.begin(ctx)
	return p, within, err
}

// trial is the content of <program>.trial.
type trial struct {
	Version string `json:"version"` // of the program on trial
	Started bool   `json:"started"`
}

func (p *Program) fresh() string     { return p.path + ".new" }
func (p *Program) former() string    { return p.path + ".former" }
func (p *Program) trialFile() string { return p.path + ".trial" }

func (p *Program) begin(ctx context.Context) (context.Context, error) {
	within, stop := context.WithCancel(ctx)
	p.asked, p.stop = ctx, stop
	data, err := os.ReadFile(p.trialFile())
	if errors.Is(err, fs.ErrNotExist) {
		return within, nil
	}
	var t trial
	if err == nil {
		err = json.Unmarshal(data, &t)
	}
	if err != nil || t.Version != p.version { // the exchange did not come to its end, or was undone
		return within, os.Remove(p.trialFile())
	}
	p.onTrial = true
	if t.Started {
		p.restore("it ended before the control plane had heard it")
		return within, nil
	}
	if err := p.mark(trial{p.version, true}); err != nil {
		return nil, err
	}
	p.late = time.AfterFunc(p.patience, func() { p.restore("the control plane has not heard it for " + p.patience.String()) })
	return within, nil
}

func (p *Program) mark(t trial) error {
	data, err := json.Marshal(t)
	if err == nil {
		err = atomicfile.Write(p.trialFile(), append(data, '\n'), 0o600)
	}
	if err != nil {
		return fmt.Errorf("upgrade: %w", err)
	}
	return nil
}

// Proven ends the trial of the program: the control plane has heard it.
func (p *Program) Proven() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.onTrial {
		return
	}
	p.onTrial = false
	p.late.Stop()
	if err := os.Remove(p.trialFile()); err != nil {
		p.log.Error("the program was upgraded; its next start takes that back, unless this file is removed", "file", p.trialFile(), "error", err)
		return
	}
	p.log.Info("the program was upgraded", "version", p.version, "former", p.former())
}

// restore gives the name of a program on trial back to the former one.
func (p *Program) restore(why string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.onTrial {
		return
	}
	p.onTrial = false
	if p.late != nil {
		p.late.Stop()
	}
	err := os.Rename(p.former(), p.path)
	if err == nil {
		p.replaced = true
		p.stop()
	}
	// Without the former program, the new one runs on.
	err = errors.Join(err, os.Remove(p.trialFile()))
	p.log.Error("the upgrade of the program is taken back", "version", p.version, "why", why, "error", err)
}

// End ends the work of the process, which has ended with err. When another program is to run, the process becomes that program, with
// these arguments and this environment, and End does not return.
func (p *Program) End(err error, args, environ []string) error {
	defer p.stop()
	if err != nil && p.asked.Err() == nil {
		p.restore(err.Error())
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.onTrial { // it was told to stop, which is no failure
		p.onTrial = false
		p.late.Stop()
		err = errors.Join(err, p.mark(trial{p.version, false}))
	}
	if !p.replaced || p.asked.Err() != nil {
		return err
	}
	if err != nil {
		p.log.Error("the agent ended for another program", "error", err)
	}
	return fmt.Errorf("upgrade: run %s: %w", p.path, p.become(p.path, args, environ))
}

// refuse explains why a program is not taken.
func refuse(kind panel.Kind, format string, args ...any) error {
	return &panel.Error{Kind: kind, Op: "upgrade", Err: fmt.Errorf(format, args...)}
}

// Take exchanges the program for the one that is described, whose content is src, and ends the context of Begin.
func (p *Program) Take(ctx context.Context, want remote.Program, src io.Reader) (err error) {
	if !p.taking.TryLock() {
		return refuse(panel.ErrBusy, "another program is being taken")
	}
	defer p.taking.Unlock()
	if err := p.check(ctx, want); err != nil {
		return err
	}
	defer func() {
		if left := os.Remove(p.fresh()); left != nil && !errors.Is(left, fs.ErrNotExist) { // after the exchange nothing is left
			err = errors.Join(err, left)
		}
	}()
	if err := p.receive(want, src); err != nil {
		return err
	}
	if err := p.try(ctx, want); err != nil {
		return err
	}
	return p.exchange(want.Version)
}

func (p *Program) check(ctx context.Context, want remote.Program) error {
	p.mu.Lock()
	changing := p.onTrial || p.replaced
	p.mu.Unlock()
	platform := runtime.GOOS + "/" + runtime.GOARCH
	switch {
	case !p.Allowed:
		return refuse(remote.ErrUpgradeOff, "STEAD_NODE_UPGRADES is not set on the machine")
	case changing:
		return refuse(panel.ErrBusy, "the program is being exchanged")
	case want.Platform != platform:
		return refuse(remote.ErrUpgradePlatform, "the machine is of %s, the program is for %s", platform, want.Platform)
	case !release.Newer(want.Version, p.version):
		return refuse(remote.ErrUpgradeNotNewer, "the machine runs %s, the program is %s", p.version, want.Version)
	case want.Size <= 0 || want.Size > maxSize:
		return refuse(panel.ErrInvalid, "a program of %d bytes", want.Size)
	}
	owner, err := p.owner(ctx, p.path)
	if err == nil && owner != "" {
		err = refuse(remote.ErrUpgradePackaged, "%s says that a package owns %s", owner, p.path)
	}
	return err
}

// receive writes what arrives beside the program.
func (p *Program) receive(want remote.Program, src io.Reader) (err error) {
	if err := os.Remove(p.fresh()); err != nil && !errors.Is(err, fs.ErrNotExist) { // of an upgrade that was cut off
		return refuse(remote.ErrUpgradePackaged, "the folder of the program cannot be changed: %w", err)
	}
	f, err := os.OpenFile(p.fresh(), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o700) //nolint:gosec // a program
	if err != nil {
		return refuse(remote.ErrUpgradePackaged, "the folder of the program cannot be changed: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	sum := sha256.New()
	n, err := io.Copy(io.MultiWriter(f, sum), io.LimitReader(src, want.Size+1))
	switch {
	case err != nil:
		return refuse(remote.ErrUpgradeBroken, "it did not arrive whole: %w", err)
	case n != want.Size || hex.EncodeToString(sum.Sum(nil)) != want.SHA256:
		return refuse(remote.ErrUpgradeBroken, "%d bytes arrived, which are not the %d that were announced", n, want.Size)
	}
	return errors.Join(f.Chmod(0o755), f.Sync()) // users of accounts run it, too
}

// try has the new program say what it is.
func (p *Program) try(ctx context.Context, want remote.Program) error {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	var out []byte
	var err error
	for range 20 {
		cmd := exec.CommandContext(ctx, p.fresh(), "version", "--json") //nolint:gosec // its sum is the one that was announced
		cmd.Env, cmd.WaitDelay = []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin"}, time.Second
		out, err = cmd.Output()
		// Another process that is being started may have the file open for writing, until it becomes its program.
		if !errors.Is(err, syscall.ETXTBSY) || clock.Sleep(ctx, 50*time.Millisecond) != nil {
			break
		}
	}
	var said struct{ Version, Platform string }
	if err == nil {
		err = json.Unmarshal(out, &said)
	}
	switch {
	case err != nil:
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			err = fmt.Errorf("%w: %.300s", err, strings.TrimSpace(string(exit.Stderr)))
		}
		return refuse(remote.ErrUpgradeBroken, "it does not say what it is: %w", err)
	case said.Version != want.Version || said.Platform != want.Platform:
		return refuse(remote.ErrUpgradeBroken, "it says that it is %s for %s", said.Version, said.Platform)
	}
	return nil
}

// exchange gives the new program the name. At each moment there is a whole program of that name.
func (p *Program) exchange(version string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := os.Remove(p.former()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("upgrade: %w", err)
	}
	if err := os.Link(p.path, p.former()); err != nil {
		return fmt.Errorf("upgrade: %w", err)
	}
	if err := p.mark(trial{Version: version}); err != nil { // it syncs the folder, and the former program's name with it
		return err
	}
	if err := os.Rename(p.fresh(), p.path); err != nil {
		return errors.Join(fmt.Errorf("upgrade: %w", err), os.Remove(p.trialFile()))
	}
	p.log.Info("the program is exchanged, and the agent ends for the new one", "version", p.version, "new", version)
	p.replaced = true
	p.stop()
	return nil
}

// packageManager names the package manager that owns a file; empty: none does.
func packageManager(ctx context.Context, path string) (string, error) {
	for _, command := range [][]string{{"dpkg-query", "--search", path}, {"rpm", "--query", "--file", path}} {
		program, err := exec.LookPath(command[0])
		if err != nil {
			continue
		}
		err = exec.CommandContext(ctx, program, command[1:]...).Run() //nolint:gosec // a fixed question
		var exit *exec.ExitError
		switch {
		case err == nil:
			return command[0], nil
		case !errors.As(err, &exit) || exit.ExitCode() != 1: // 1: no package has it
			return "", fmt.Errorf("upgrade: %s: %w", command[0], err)
		}
	}
	return "", nil
}
