// Package setup prepares a Debian machine for hosting: what is installed, which of Debian's own daemons
// must not run, the node's settings and its unit. It is a list of steps, each of which looks before it
// acts, so that it may be run again at any time.
//
// The daemons that serve customers are the node's own instances, with configuration and data below its
// directory (package machine). From Debian come only the programs: their services are switched off,
// because they would take the ports.
package setup

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"stead.dev/stead/internal/node/machine"
	"stead.dev/stead/internal/node/mailguard"
	"stead.dev/stead/internal/platform/atomicfile"
)

// Settings configure the preparation of a machine.
type Settings struct {
	DataDir     string // of the node; created when missing
	AgentListen string
	ConfigFile  string // written when it is missing; an operator's is left unchanged
	Program     string // this program's path, for the unit
	IPv4, IPv6  string // for customers' DNS; may be empty
	Nameservers []string
}

// System is the machine. Files are below Root; Run runs commands.
type System struct {
	Root string
	// Run runs a command to its end and returns its output.
	Run func(ctx context.Context, name string, args ...string) (string, error)
}

// Local is the machine that this process runs on.
func Local() System { return System{Root: "/", Run: run} }

// run runs a command with an environment of its own: apt must not ask.
func run(ctx context.Context, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...) //nolint:gosec // the commands of this package; no shell
	cmd.Env = []string{
		"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LANG=C.UTF-8", "HOME=/root",
		"DEBIAN_FRONTEND=noninteractive", "DEBIAN_PRIORITY=critical",
	}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		text := out.String()
		return text, fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, lastLines(text))
	}
	return out.String(), nil
}

func lastLines(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(0, len(lines)-5):], "; ")
}

// Step is one condition of a prepared machine.
type Step struct {
	Name string
	// Missing returns what is not fulfilled yet, a line each; none: there is nothing to do.
	Missing func(ctx context.Context, s System) ([]string, error)
	// Apply fulfils it.
	Apply func(ctx context.Context, s System, missing []string) error
}

// Plan lists all steps, in order.
func Plan(settings Settings) []Step {
	return []Step{
		debian(), packages(), startsAllowed(), daemonsOff(), directories(settings), configuration(settings), unit(settings), mailGuard(settings),
	}
}

// Execute runs the steps and prints what each found and did. With dry it only checks.
func Execute(ctx context.Context, s System, steps []Step, dry bool, out io.Writer) error {
	for _, step := range steps {
		missing, err := step.Missing(ctx, s)
		if err != nil {
			return fmt.Errorf("%s: %w", step.Name, err)
		}
		if len(missing) == 0 {
			_, _ = fmt.Fprintf(out, "ok       %s\n", step.Name)
			continue
		}
		word := "changed "
		if dry {
			word = "would do"
		} else if err := step.Apply(ctx, s, missing); err != nil {
			return fmt.Errorf("%s: %w", step.Name, err)
		}
		_, _ = fmt.Fprintf(out, "%s %s\n", word, step.Name)
		for _, m := range missing {
			_, _ = fmt.Fprintf(out, "           %s\n", m)
		}
		if dry {
			continue
		}
		// Find here what a step has left undone, before customers do.
		if missing, err = step.Missing(ctx, s); err != nil || len(missing) > 0 {
			return errors.Join(fmt.Errorf("%s: still missing: %s", step.Name, strings.Join(missing, ", ")), err)
		}
	}
	return nil
}

func (s System) path(name string) string { return filepath.Join(s.Root, name) }

func (s System) has(name string) bool {
	_, err := os.Stat(s.path(name))
	return err == nil
}

// systemd reports whether systemd runs the machine.
func (s System) systemd() bool { return s.has("/run/systemd/system") }

// debian checks that the packages have these names on the machine.
func debian() Step {
	return Step{
		Name: "the machine runs Debian",
		Missing: func(_ context.Context, s System) ([]string, error) {
			release, err := os.ReadFile(s.path("/etc/os-release"))
			if err != nil {
				return nil, fmt.Errorf("what the machine runs is not known: %w", err)
			}
			for line := range strings.Lines(string(release)) {
				if strings.Trim(strings.TrimPrefix(strings.TrimSpace(line), "ID="), `"`) == "debian" {
					return nil, nil
				}
			}
			return nil, errors.New("only Debian is set up by this command; docs/nodes.md says what a node needs elsewhere")
		},
	}
}

// Packages are the packages that the facilities need.
func Packages() []string {
	return []string{
		"ca-certificates", "perl", "procps", "quota", "util-linux", // the machine
		"nginx", "php-fpm", "php-cli", "php-mysql", "php-pgsql", "php-curl", "php-gd", "php-intl", "php-mbstring", "php-xml", "php-zip", // sites
		"mariadb-server", "mariadb-client", "postgresql", "postgresql-client", "adminer", // databases
		"postfix", "postfix-sqlite", "dovecot-core", "dovecot-imapd", "dovecot-pop3d", "dovecot-lmtpd", "dovecot-sieve", "dovecot-managesieved", "dovecot-sqlite", "rspamd", "redis-server", // mail
		"nftables",       // keeps accounts from mail servers
		"openssh-server", // SFTP and shells
		"restic",         // backups
	}
}

// noStart prevents packages from starting their services during the installation (invoke-rc.d(8)).
const noStart = "/usr/sbin/policy-rc.d"

const noStartText = "#!/bin/sh\n# of stead node setup: nothing starts while it installs\nexit 101\n"

func packages() Step {
	return Step{
		Name: "packages are installed",
		Missing: func(ctx context.Context, s System) ([]string, error) {
			var missing []string
			for _, p := range Packages() {
				status, err := s.Run(ctx, "dpkg-query", "--show", "--showformat=${db:Status-Status}", p)
				if err != nil && !strings.Contains(status, "no packages found") {
					return nil, err
				}
				if status != "installed" {
					missing = append(missing, p)
				}
			}
			return missing, nil
		},
		Apply: func(ctx context.Context, s System, missing []string) (err error) {
			if !s.has(noStart) || startsForbidden(s) {
				if err := write(s.path(noStart), noStartText, 0o755); err != nil {
					return err
				}
				defer func() { err = errors.Join(err, os.Remove(s.path(noStart))) }()
			}
			if _, err := s.Run(ctx, "apt-get", "update"); err != nil {
				return err
			}
			_, err = s.Run(ctx, "apt-get", slices.Concat([]string{
				"install", "--yes", "--no-install-recommends", "-o", "Dpkg::Options::=--force-confold",
			}, missing)...)
			return err
		},
	}
}

// startsForbidden reports that a setup was killed during the installation: the file would forbid every later start,
// even of the machine's SSH server after an upgrade.
func startsForbidden(s System) bool {
	text, err := os.ReadFile(s.path(noStart))
	return err == nil && string(text) == noStartText
}

func startsAllowed() Step {
	return Step{
		Name: "services of other packages may start",
		Missing: func(_ context.Context, s System) ([]string, error) {
			if startsForbidden(s) {
				return []string{noStart + " goes, which a setup left that did not come to its end"}, nil
			}
			return nil, nil
		},
		Apply: func(_ context.Context, s System, _ []string) error { return os.Remove(s.path(noStart)) },
	}
}

// daemons are the services of the packages. The machine's own SSH server is not among them: operators use it.
var daemons = []string{
	"nginx.service", "php*-fpm.service", "mariadb.service", "postgresql.service", "postgresql@*.service", "postfix.service",
	"postfix@-.service", "dovecot.service", "dovecot.socket", "rspamd.service", "redis-server.service", "redis-server@*.service",
}

func daemonsOff() Step {
	return Step{
		Name: "Debian's own services do not take the ports",
		Missing: func(ctx context.Context, s System) ([]string, error) {
			if !s.systemd() {
				return nil, nil // nothing starts them
			}
			var on []string
			out, err := s.Run(ctx, "systemctl", slices.Concat([]string{
				"list-unit-files", "--no-legend", "--no-pager", "--plain",
			}, daemons)...)
			if err != nil && strings.TrimSpace(out) != "" {
				return nil, err
			}
			for line := range strings.Lines(out) {
				fields := strings.Fields(line)
				if len(fields) >= 2 && fields[1] != "masked" && !strings.Contains(fields[0], "@.") {
					on = append(on, fields[0])
				}
			}
			return on, nil
		},
		Apply: func(ctx context.Context, s System, on []string) error {
			if _, err := s.Run(ctx, "systemctl", slices.Concat([]string{"disable", "--now"}, on)...); err != nil {
				return err
			}
			_, err := s.Run(ctx, "systemctl", slices.Concat([]string{"mask"}, on)...)
			return err
		},
	}
}

func directories(settings Settings) Step {
	// Users of accounts traverse it to their homes and list nothing.
	const mode = 0o711
	return Step{
		Name: "the node has its directory",
		Missing: func(_ context.Context, s System) ([]string, error) {
			info, err := os.Stat(s.path(settings.DataDir))
			switch {
			case errors.Is(err, fs.ErrNotExist):
				return []string{settings.DataDir}, nil
			case err != nil:
				return nil, err
			case !info.IsDir():
				return nil, fmt.Errorf("%s is no directory", settings.DataDir)
			case info.Mode().Perm() != mode:
				return []string{fmt.Sprintf("%s with mode %04o", settings.DataDir, mode)}, nil
			}
			return nil, nil
		},
		Apply: func(_ context.Context, s System, _ []string) error {
			if err := os.MkdirAll(s.path(settings.DataDir), mode); err != nil {
				return err
			}
			return os.Chmod(s.path(settings.DataDir), mode)
		},
	}
}

func configuration(settings Settings) Step {
	var b strings.Builder
	b.WriteString("# Settings of stead node; stead config explains them. Written once by stead node setup.\n")
	set := func(key, value string) {
		if value != "" {
			_, _ = fmt.Fprintf(&b, "%s: %q\n", key, value)
		}
	}
	set("data_dir", settings.DataDir)
	set("node_machine", "linux")
	set("node_listen", "off") // nginx serves the sites
	set("agent_listen", settings.AgentListen)
	if settings.IPv4 != "" {
		set("node_url", "http://"+settings.IPv4)
	}
	set("node_ipv4", settings.IPv4)
	set("node_ipv6", settings.IPv6)
	set("nameservers", strings.Join(settings.Nameservers, ","))
	return Step{
		Name: "the node has its settings",
		Missing: func(_ context.Context, s System) ([]string, error) {
			if s.has(settings.ConfigFile) {
				return nil, nil
			}
			return []string{settings.ConfigFile}, nil
		},
		Apply: func(_ context.Context, s System, _ []string) error {
			return write(s.path(settings.ConfigFile), b.String(), 0o600)
		},
	}
}

const unitFile = "/etc/systemd/system/stead-node.service"

// unitText is the agent's unit. KillMode=process: stopping or upgrading an agent stops no customers' daemon.
func unitText(settings Settings) string {
	return `[Unit]
Description=Stead node
After=network-online.target
Wants=network-online.target

[Service]
ExecStart=` + settings.Program + ` --config ` + settings.ConfigFile + ` node
KillMode=process
Restart=always
RestartSec=2
LimitNOFILE=1048576
Delegate=yes

[Install]
WantedBy=multi-user.target
`
}

func unit(settings Settings) Step {
	text := unitText(settings)
	return Step{
		Name: "systemd runs the node's agent",
		Missing: func(ctx context.Context, s System) ([]string, error) {
			if !s.systemd() {
				return nil, nil
			}
			have, err := os.ReadFile(s.path(unitFile))
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return nil, err
			}
			if string(have) != text {
				return []string{unitFile}, nil
			}
			if state, err := s.Run(ctx, "systemctl", "is-enabled", "stead-node.service"); err != nil || strings.TrimSpace(state) != "enabled" {
				return []string{"stead-node.service is enabled"}, nil //nolint:nilerr // what is not enabled answers with an error
			}
			return nil, nil
		},
		Apply: func(ctx context.Context, s System, _ []string) error {
			if err := write(s.path(unitFile), text, 0o644); err != nil {
				return err
			}
			if _, err := s.Run(ctx, "systemctl", "daemon-reload"); err != nil {
				return err
			}
			_, err := s.Run(ctx, "systemctl", "enable", "stead-node.service")
			return err
		},
	}
}

// users are the users of accounts.
var users = mailguard.Users{First: machine.FirstUID, Last: machine.LastUID}

const guardUnitFile = "/etc/systemd/system/stead-mailguard.service"

// guardUnitText is the unit that sets the rules when the machine starts, after those of the machine's own and before
// anything of a customer's runs.
func guardUnitText(rules string) string {
	return `[Unit]
Description=Stead: accounts reach no mail servers
After=nftables.service
Wants=network-pre.target
Before=network-pre.target

[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=` + mailguard.Program + ` -f ` + rules + `

[Install]
WantedBy=multi-user.target
`
}

// mailGuard comes last: a machine that cannot have it hosts sites, without mail.
func mailGuard(settings Settings) Step {
	file := filepath.Join(settings.DataDir, "mailguard.nft")
	files := func(s System) map[string]string {
		all := map[string]string{file: mailguard.Rules(users)}
		if s.systemd() {
			all[guardUnitFile] = guardUnitText(file)
		}
		return all
	}
	return Step{
		Name: "accounts reach no mail servers but this machine's",
		Missing: func(ctx context.Context, s System) ([]string, error) {
			var missing []string
			for name, text := range files(s) {
				if have, err := os.ReadFile(s.path(name)); err != nil || string(have) != text {
					missing = append(missing, name)
				}
			}
			slices.Sort(missing)
			if s.systemd() {
				if state, err := s.Run(ctx, "systemctl", "is-enabled", filepath.Base(guardUnitFile)); err != nil || strings.TrimSpace(state) != "enabled" {
					missing = append(missing, filepath.Base(guardUnitFile)+" is enabled")
				}
			}
			if out, err := s.Run(ctx, mailguard.Program, "list", "table", "inet", mailguard.Table); err != nil || !mailguard.Loaded(out, users) {
				missing = append(missing, "the rules are loaded")
			}
			return missing, nil
		},
		Apply: func(ctx context.Context, s System, _ []string) error {
			for name, text := range files(s) {
				if err := write(s.path(name), text, 0o644); err != nil {
					return err
				}
			}
			if s.systemd() {
				if _, err := s.Run(ctx, "systemctl", "daemon-reload"); err != nil {
					return err
				}
				if _, err := s.Run(ctx, "systemctl", "enable", filepath.Base(guardUnitFile)); err != nil {
					return err
				}
			}
			if _, err := s.Run(ctx, mailguard.Program, "-f", s.path(file)); err != nil {
				return fmt.Errorf("this machine will offer no mail: %w", err)
			}
			return nil
		},
	}
}

// Next explains the next steps for becoming a node.
func Next(s System, settings Settings) string {
	start := settings.Program + " --config " + settings.ConfigFile + " node"
	if s.systemd() {
		start = "systemctl start stead-node"
	}
	return "next: run what stead admin nodes add prints, with --config " + settings.ConfigFile + " before node, then: " + start
}

// write replaces a file and creates its parent folders.
func write(file, text string, mode fs.FileMode) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	return atomicfile.Write(file, []byte(text), mode)
}
