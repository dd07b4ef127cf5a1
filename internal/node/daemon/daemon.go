// Package daemon keeps the daemons of a hosting machine running: by systemd where it runs, else by
// itself.
//
// A daemon outlives the process that started it. Where there is no systemd it is started in a
// session of its own and found again by its process id and start time, so that an agent which is
// killed or upgraded stops no site, and the next one adopts what runs.
package daemon

import (
	"context"
	"syscall"
	"time"
)

// Spec describes a daemon.
type Spec struct {
	// Name is unique on the machine: "nginx", "php8.2-fpm". With systemd the unit is stead-<Name>.
	Name string
	// Command runs it in the foreground: the process that is started is the daemon's first.
	Command []string
	Env     []string // besides PATH
	Dir     string
	// Reload is the signal that makes it read its configuration anew; zero when it cannot.
	Reload syscall.Signal
	// Stop is the signal that ends it; zero is SIGTERM. After StopTimeout (zero: 10 s) it is killed.
	Stop        syscall.Signal
	StopTimeout time.Duration
	// Ready answers nil when the daemon does its work; it is asked until it does, or StartTimeout
	// (zero: 30 s) has passed.
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
