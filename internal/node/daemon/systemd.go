package daemon

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"stead.dev/stead/internal/platform/atomicfile"
)

// Systemd runs daemons as units, stead-<name>.service, which are enabled: after a reboot they run before the agent
// does.
type Systemd struct {
	units     string // directory of the unit files
	systemctl func(ctx context.Context, args ...string) ([]byte, error)

	mu    sync.Mutex
	specs map[string]Spec
}

var _ Supervisor = (*Systemd)(nil)

// NewSystemd makes the supervisor of a machine with systemd.
func NewSystemd() *Systemd {
	return &Systemd{units: "/etc/systemd/system", systemctl: systemctl, specs: map[string]Spec{}}
}

func systemctl(ctx context.Context, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "systemctl", args...) //nolint:gosec // G204: names of units have a form
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("daemon: systemctl %s: %w: %s", strings.Join(args, " "), err, bytes.TrimSpace(errs.Bytes()))
	}
	return out.Bytes(), nil
}

func unitName(name string) string { return "stead-" + name + ".service" }

// Ensure implements Supervisor.
func (s *Systemd) Ensure(ctx context.Context, spec Spec) error {
	spec, err := spec.complete()
	if err != nil {
		return err
	}
	text, err := unit(spec)
	if err != nil {
		return err
	}
	s.mu.Lock()
	s.specs[spec.Name] = spec
	s.mu.Unlock()
	file := filepath.Join(s.units, unitName(spec.Name))
	action := "start" // has no effect on a running one
	former, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("daemon: %w", err)
	}
	unread := Unread(file + ".unread") // not the name of a unit, so systemd ignores it
	if string(former) != text {
		if running(string(former)) != running(text) {
			if err := unread.Note(); err != nil {
				return err
			}
		}
		if err := atomicfile.Write(file, []byte(text), 0o644); err != nil {
			return fmt.Errorf("daemon: %w", err)
		}
	}
	// Also for a right file: an agent may have been killed after writing it.
	if unread.Noted() {
		action = "restart"
	}
	if _, err := s.systemctl(ctx, "daemon-reload"); err != nil {
		return err
	}
	if _, err := s.systemctl(ctx, "enable", "--quiet", unitName(spec.Name)); err != nil {
		return err
	}
	if _, err := s.systemctl(ctx, action, unitName(spec.Name)); err != nil {
		return err
	}
	if err := unread.Forget(); err != nil {
		return err
	}
	return await(ctx, spec, nil)
}

// unit is the text of a unit file: systemd.service(5), systemd.syntax(7).
func unit(spec Spec) (string, error) {
	var b strings.Builder
	line := func(key, value string) { fmt.Fprintf(&b, "%s=%s\n", key, value) }
	for _, text := range slices.Concat(spec.Command, spec.Env, spec.Stale, []string{spec.Dir, spec.User, spec.PIDFile}) {
		if strings.ContainsAny(text, "\x00\n\r") {
			return "", fmt.Errorf("daemon: %s: %q cannot stand in a unit", spec.Name, text)
		}
	}
	b.WriteString("# Written by stead; changes are overwritten.\n[Unit]\n")
	line("Description", "Stead: "+spec.Name)
	line("After", "network.target")
	line("StartLimitIntervalSec", "0") // systemd never gives it up
	b.WriteString("\n[Service]\n")
	line("Type", "exec")
	args := make([]string, 0, len(spec.Command))
	for _, arg := range spec.words() {
		args = append(args, quote(arg, true))
	}
	for _, file := range spec.Stale {
		b.WriteString(preparation + "+/bin/rm -f " + quote(file, true) + "\n") // as root, whoever runs the daemon
	}
	line("ExecStart", strings.Join(args, " "))
	if spec.PIDFile != "" {
		words := make([]string, 0, 5)
		for _, word := range endWorkers(spec.PIDFile) {
			words = append(words, quote(word, true))
		}
		b.WriteString(aftermath + "-+" + strings.Join(words, " ") + "\n")
	}
	for _, env := range append([]string{"PATH=" + searchPath}, spec.Env...) {
		line("Environment", quote(env, false))
	}
	line("WorkingDirectory", strings.ReplaceAll(spec.Dir, "%", "%%"))
	if spec.User != "" {
		line("User", spec.User)
	}
	if spec.Reload != 0 {
		line("ExecReload", "/bin/kill -"+strconv.Itoa(int(spec.Reload))+" $MAINPID")
	}
	line("KillSignal", unix.SignalName(spec.Stop))
	line("KillMode", "mixed")
	line("TimeoutStopSec", strconv.Itoa(int(spec.StopTimeout/time.Second)))
	line("Restart", "always")
	line("RestartSec", "1")
	line("LimitNOFILE", "65536")
	if spec.HideProcesses {
		line("ProtectProc", "invisible")
	}
	if spec.NoNetwork {
		line("PrivateNetwork", "true")
	}
	if spec.Confine {
		line("NoNewPrivileges", "true")
		if spec.HideProcesses {
			line("TemporaryFileSystem", strings.Join(ownTemporary, " "))
		}
	}
	b.WriteString("\n[Install]\n")
	line("WantedBy", "multi-user.target")
	return b.String(), nil
}

// preparation and aftermath begin the lines of a unit that matter only to the next start and after the next end.
const (
	preparation = "ExecStartPre="
	aftermath   = "ExecStopPost="
)

// running is the part of a unit that matters to a running daemon.
func running(unit string) string {
	var b strings.Builder
	for line := range strings.Lines(unit) {
		if !strings.HasPrefix(line, preparation) && !strings.HasPrefix(line, aftermath) {
			b.WriteString(line)
		}
	}
	return b.String()
}

// endWorkers is the command that ends the rest of a daemon whose first process was killed: its whole session, whose id
// no other process gets while any of it runs. A daemon that ended by itself has removed the file.
func endWorkers(pidFile string) []string {
	return []string{"/bin/sh", "-c", `test -s "$1" && pkill -KILL -s "$(cat "$1")"; rm -f "$1"`, "sh", pidFile}
}

// quote makes text one word of a unit file, without any replacement. Variables occur only in commands.
func quote(text string, command bool) string {
	text = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "%", "%%").Replace(text)
	if command {
		text = strings.ReplaceAll(text, "$", "$$")
	}
	return `"` + text + `"`
}

func (s *Systemd) spec(name string) (Spec, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	spec, ok := s.specs[name]
	if !ok {
		return Spec{}, fmt.Errorf("daemon: %s is not known", name)
	}
	return spec, nil
}

// Reload implements Supervisor.
func (s *Systemd) Reload(ctx context.Context, name string) error {
	spec, err := s.spec(name)
	if err != nil {
		return err
	}
	if spec.Reload == 0 {
		return fmt.Errorf("daemon: %s cannot reload", name)
	}
	if s.PID(name) != 0 {
		if _, err = s.systemctl(ctx, "reload", unitName(name)); err == nil {
			return nil
		}
		if s.PID(name) != 0 {
			return err
		}
	}
	return s.Ensure(ctx, spec)
}

// Restart implements Supervisor.
func (s *Systemd) Restart(ctx context.Context, name string) error {
	spec, err := s.spec(name)
	if err != nil {
		return err
	}
	if _, err := s.systemctl(ctx, "restart", unitName(name)); err != nil {
		return err
	}
	return await(ctx, spec, nil)
}

// Stop implements Supervisor.
func (s *Systemd) Stop(ctx context.Context, name string) error {
	if !nameForm.MatchString(name) {
		return fmt.Errorf("daemon: %q is no name of a daemon", name)
	}
	s.mu.Lock()
	delete(s.specs, name)
	s.mu.Unlock()
	file := filepath.Join(s.units, unitName(name))
	if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if _, err := s.systemctl(ctx, "disable", "--quiet", "--now", unitName(name)); err != nil {
		return err
	}
	if err := os.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("daemon: %w", err)
	}
	_, err := s.systemctl(ctx, "daemon-reload")
	return err
}

// PID implements Supervisor.
func (s *Systemd) PID(name string) int {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	out, err := s.systemctl(ctx, "show", "--property=MainPID", "--value", unitName(name))
	if err != nil {
		return 0
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(out)))
	if err != nil {
		return 0
	}
	return pid
}

// Close implements Supervisor.
func (s *Systemd) Close() error { return nil }
