// Package daemon keeps the daemons of a hosting machine running: by systemd where it runs, else by itself.
//
// A daemon outlives the process that started it. Without systemd it runs in a session of its own and is found again by
// its process id and start time. So stopping or upgrading an agent stops no site, and the next agent adopts the running
// daemons.
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
	// Command runs it in the foreground: the started process is the daemon's first.
	Command []string
	Env     []string // besides PATH
	Dir     string   // working directory; empty is the root directory
	User    string   // user as whom it runs; empty is the supervisor's own user
	// HideProcesses lets it and its children see processes of their own user only, unless they are root's (proc(5),
	// hidepid): for daemons that run customers' programs. Where the kernel allows no separate view of the file system,
	// as in some containers, they see all.
	HideProcesses bool
	// Confine keeps it and its children to what it is: no program that they run gets other rights (no_new_privs), a write
	// beyond a limit on the size of files fails instead of ending the process (SIGXFSZ is ignored), and, where
	// HideProcesses has a separate view, /tmp, /var/tmp and /dev/shm are its own and only root's to write into.
	Confine bool
	// NoNetwork gives it a network of its own that leads nowhere: it reaches sockets in the file system alone. Where the
	// kernel allows none, as in some containers, it has the machine's.
	NoNetwork bool
	// Stale are files of an interrupted run, after a power loss or SIGKILL, that would prevent the next start: sockets
	// in the way, process ids that another process has by now. They are removed before each start.
	Stale []string
	// PIDFile is the file in which a daemon records its first process. It is for daemons whose workers are moved into
	// cgroups of accounts, where systemd does not look for them: when the first process was killed, they must end
	// before another one can use their sockets. It is one of the Stale files.
	PIDFile string
	// Reload is the signal that makes it read its configuration again; zero when it cannot.
	Reload syscall.Signal
	// Stop is the signal that ends it; zero is SIGTERM. After StopTimeout (zero: 10 s) it is killed.
	Stop        syscall.Signal
	StopTimeout time.Duration
	// Ready returns nil when the daemon works; it is polled until then, or until StartTimeout (zero: 90 s) has passed.
	Ready        func(ctx context.Context) error
	StartTimeout time.Duration
}

// Supervisor keeps daemons running.
type Supervisor interface {
	// Ensure makes the daemon run as spec says and returns when it is ready. It does not touch a running one, also from
	// a former process. From then on a daemon that ends is started again.
	Ensure(ctx context.Context, spec Spec) error
	// Reload sends a running daemon its reload signal; it starts one that does not run.
	Reload(ctx context.Context, name string) error
	// Restart ends and starts a daemon.
	Restart(ctx context.Context, name string) error
	// Stop ends a daemon and no longer keeps it running. It is no error when it does not run.
	Stop(ctx context.Context, name string) error
	// PID is the daemon's first process; 0 when it does not run.
	PID(name string) int
	// Close ends the supervision; the daemons keep running.
	Close() error
}

// Config configures a supervisor.
type Config struct {
	Dir string // directory for process ids and the daemons' output
	Now func() time.Time
	Log *slog.Logger
}

// New returns the supervisor for the machine: systemd where it runs, else one of its own.
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

// complete checks a spec and fills in its defaults.
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

// fingerprint differs for specs that need a new process.
func (s Spec) fingerprint() string {
	what := []any{s.Command, s.Env, s.Dir, s.User}
	if s.HideProcesses {
		what = append(what, s.HideProcesses)
	}
	if s.NoNetwork {
		what = append(what, "no network")
	}
	data, err := json.Marshal(what)
	if err != nil {
		panic("daemon: strings cannot be encoded: " + err.Error())
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// await polls ready until it returns nil, ctx ends, or the time is up. ended, when it is not nil, is closed when the
// daemon has ended and polling is useless.
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
