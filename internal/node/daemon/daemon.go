// Package daemon keeps the daemons of a hosting machine running: by systemd where it runs, else by
// itself.
//
// A daemon outlives the process that started it. Where there is no systemd it is started in a
// session of its own and found again by its process id and start time, so that an agent which is
// killed or upgraded stops no site, and the next one adopts what runs.
package daemon

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"syscall"
	"time"
)

// Spec describes a daemon.
type Spec struct {
	// Name is unique on the machine: "nginx", "php8.2-fpm-1". With systemd the unit is stead-<Name>.
	Name string
	// Command runs it in the foreground: the process that is started is the daemon's first.
	Command []string
	Env     []string // besides PATH
	Dir     string   // where it runs; empty is the root directory
	User    string   // who runs it; empty is the supervisor's own user
	// HideProcesses has it and what it starts see processes of their own user only, unless they are root's
	// (proc(5), hidepid): for daemons that run what customers write. Where the kernel gives no view of the file
	// system of its own, as in some containers, they see all.
	HideProcesses bool
	// Stale are files by which a run that was cut short, by a loss of power or SIGKILL, keeps the next one from
	// starting: sockets that stand in the way, process ids that are another's by now. They go before each start.
	Stale []string
	// PIDFile is where a daemon notes its first process that starts workers as others, which are put into cgroups of
	// accounts and so are no longer where systemd looks for them: when the first process was killed they have to go before
	// another one can have their sockets. It is one of the Stale files.
	PIDFile string
	// Reload is the signal that makes it read its configuration anew; zero when it cannot.
	Reload syscall.Signal
	// Stop is the signal that ends it; zero is SIGTERM. After StopTimeout (zero: 10 s) it is killed.
	Stop        syscall.Signal
	StopTimeout time.Duration
	// Ready answers nil when the daemon does its work; it is asked until it does, or StartTimeout
	// (zero: 90 s) has passed.
	Ready        func(ctx context.Context) error
	StartTimeout time.Duration
}

// Supervisor keeps daemons running.
type Supervisor interface {
	// Ensure has the daemon run as spec says and returns when it is ready. One that runs already,
	// also from a former process, is left alone. From then on a daemon that ends is started again.
	Ensure(ctx context.Context, spec Spec) error
	// Reload sends a running daemon its reload signal; one that does not run is started.
	Reload(ctx context.Context, name string) error
	// Restart ends and starts a daemon.
	Restart(ctx context.Context, name string) error
	// Stop ends a daemon and no longer keeps it running. One that does not run is no error.
	Stop(ctx context.Context, name string) error
	// PID is the daemon's first process; 0 when it does not run.
	PID(name string) int
	// Close ends the supervision; the daemons go on.
	Close() error
}

// Config is what a supervisor is told.
type Config struct {
	Dir string // where it keeps process ids and what daemons print
	Now func() time.Time
	Log *slog.Logger
}

// New is the supervisor that fits the machine: systemd where it runs, else one of its own.
func New(cfg Config) (Supervisor, error) {
	if _, err := os.Stat("/run/systemd/system"); err == nil { // sd_booted(3)
		return NewSystemd(), nil
	}
	return NewProcesses(cfg)
}

const (
	usualStartTimeout = 90 * time.Second
	usualStopTimeout  = 10 * time.Second
)

// path is that of Debian's daemons.
const searchPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

var nameForm = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,63}$`)

// complete checks a spec and fills in what it leaves out.
func (s Spec) complete() (Spec, error) {
	if !nameForm.MatchString(s.Name) {
		return s, fmt.Errorf("daemon: %q is no name of a daemon", s.Name)
	}
	if len(s.Command) == 0 || !filepath.IsAbs(s.Command[0]) {
		return s, fmt.Errorf("daemon: %s: the command must name its program by an absolute path", s.Name)
	}
	if s.Dir == "" {
		s.Dir = "/"
	}
	if s.PIDFile != "" && !slices.Contains(s.Stale, s.PIDFile) {
		s.Stale = append(slices.Clone(s.Stale), s.PIDFile)
	}
	if s.Stop == 0 {
		s.Stop = syscall.SIGTERM
	}
	if s.StopTimeout == 0 {
		s.StopTimeout = usualStopTimeout
	}
	if s.StartTimeout == 0 {
		s.StartTimeout = usualStartTimeout
	}
	return s, nil
}

// fingerprint tells specs apart that need another process.
func (s Spec) fingerprint() string {
	what := []any{s.Command, s.Env, s.Dir, s.User}
	if s.HideProcesses {
		what = append(what, s.HideProcesses)
	}
	data, err := json.Marshal(what)
	if err != nil {
		panic("daemon: strings cannot be encoded: " + err.Error())
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// await asks ready again and again until it answers nil, over ends, or the time is up. ended, when
// it is not nil, tells that the daemon is gone and asking is of no use.
func await(ctx context.Context, spec Spec, ended <-chan struct{}) error {
	if spec.Ready == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, spec.StartTimeout)
	defer cancel()
	pause := 5 * time.Millisecond
	for {
		once, done := context.WithTimeout(ctx, 5*time.Second)
		err := spec.Ready(once)
		done()
		if err == nil {
			return nil
		}
		select {
		case <-ended:
			return errEnded
		case <-ctx.Done():
			return fmt.Errorf("daemon: %s does not answer: %w", spec.Name, err)
		case <-time.After(pause):
		}
		pause = min(2*pause, 200*time.Millisecond)
	}
}
