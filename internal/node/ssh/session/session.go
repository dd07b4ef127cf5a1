// Package session begins a customer's session on a hosting machine, as the customer's user: it takes the
// limits of the account on itself, and becomes the shell.
//
// sshd and the web terminal run it. It is no barrier that a customer could be let through by an argument:
// who it runs as, and what that user may, is the kernel's; what is here narrows it further, for itself and
// all that it starts, and none of it can be taken back:
//
//   - Landlock: of the machine's files it reads programs and their configuration, and writes only below
//     the account's home (where the kernel has it: Linux 5.13 and later);
//   - limits of processes, memory of one process, open files, and no core dumps.
package session

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/landlock-lsm/go-landlock/landlock"
	"golang.org/x/sys/unix"
)

// Word is the argument that makes the program begin a session.
const Word = "ssh-session"

const (
	agent      = "-"
	shell      = "/bin/bash"
	sftpServer = "/usr/lib/openssh/sftp-server"
	limiter    = "/usr/bin/prlimit"
)

// Main begins the session. args are the words after Word: the socket of the agent, or "-" for a session that the agent
// itself began, the maximum number of processes, and the maximum memory of one of them in mebibytes; 0 is no limit. It
// returns only when it fails. environ is the process's.
func Main(args, environ []string) error {
	if os.Geteuid() == 0 || os.Getuid() == 0 {
		return errors.New("session: not for root")
	}
	socket, processes, memory, err := parse(args)
	if err != nil {
		return err
	}
	bounded := join(socket)
	// passwd has the account's jail, which contains the home.
	home := filepath.Join(valueOf(environ, "HOME"), "home")
	if given := valueOf(environ, homeVariable); given != "" {
		home = given // from the web terminal, which sets the whole environment itself
	}
	if !filepath.IsAbs(home) {
		return fmt.Errorf("session: %q is no home", home)
	}
	if err := os.Chdir(home); err != nil {
		return fmt.Errorf("session: %w", err)
	}
	if bounded {
		memory = 0 // the cgroup limits all processes together, as the plan says
	}
	if err := confine(home, socket == agent); err != nil {
		return err
	}
	program, words := become(valueOf(environ, "SSH_ORIGINAL_COMMAND"), home)
	if program, words, err = below(memory, program, words); err != nil {
		return err
	}
	if err := limit(processes); err != nil {
		return err
	}
	if err := unix.Exec(program, words, environment(environ, home)); err != nil {
		return fmt.Errorf("session: %s: %w", program, err)
	}
	return nil
}

// homeVariable is how the web terminal passes the home.
const homeVariable = "STEAD_HOME"

func valueOf(environ []string, name string) string {
	for _, v := range environ {
		if value, ok := strings.CutPrefix(v, name+"="); ok {
			return value
		}
	}
	return ""
}

func parse(args []string) (socket string, processes, memory uint64, err error) {
	if len(args) != 3 {
		return "", 0, 0, errors.New("session: wants a socket and the account's limits")
	}
	if processes, err = strconv.ParseUint(args[1], 10, 32); err == nil {
		memory, err = strconv.ParseUint(args[2], 10, 32)
	}
	if err != nil {
		return "", 0, 0, fmt.Errorf("session: %w", err)
	}
	return args[0], processes, memory, nil
}

// join asks the agent to move this process into the account's cgroup, and reports whether that limits its memory.
// Without an agent the session continues: nobody's work depends on a running agent.
func join(socket string) bool {
	if socket == agent {
		return true // it began there
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	c, err := new(net.Dialer).DialContext(ctx, "unix", socket)
	if err != nil {
		return false
	}
	defer c.Close()
	timer := time.AfterFunc(patience, func() { _ = c.Close() })
	defer timer.Stop()
	answer := make([]byte, 1)
	n, err := c.Read(answer)
	return err == nil && n == 1 && answer[0] == Bounded
}

// Bounded is the agent's answer: the cgroup limits the memory of the session.
const Bounded = 'b'

// patience bounds the wait for the agent.
const patience = 2 * time.Second

// become returns the session's program and its arguments.
func become(command, home string) (program string, words []string) {
	first, _, _ := strings.Cut(command, " ")
	switch {
	case command == "":
		return shell, []string{"-bash"} // a login shell
	case first == "internal-sftp" || first == sftpServer:
		return sftpServer, []string{"sftp-server", "-d", home}
	default:
		return shell, []string{"bash", "-c", command}
	}
}

// environment is the session's environment: the given one with the home.
func environment(environ []string, home string) []string {
	set := map[string]string{
		"HOME": home, "TMPDIR": filepath.Join(home, "tmp"), "SHELL": shell, "PATH": "/usr/local/bin:/usr/bin:/bin",
	}
	var env []string
	for _, v := range environ {
		name, _, _ := strings.Cut(v, "=")
		if _, ours := set[name]; !ours && name != homeVariable {
			env = append(env, v)
		}
	}
	for name, v := range set {
		env = append(env, name+"="+v)
	}
	return env
}

// below has the program begin with a limit of memory in mebibytes; 0 is none. This process cannot take it on itself: it has
// more address space than an account may have already, and its threads ask for more at any time.
func below(memory uint64, program string, words []string) (string, []string, error) {
	if memory == 0 {
		return program, words, nil
	}
	var now unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_AS, &now); err != nil {
		return "", nil, fmt.Errorf("session: %w", err)
	}
	if words[0] == "-bash" { // a name that only exec can give
		words = []string{shell, "--login"}
	} else {
		words = append([]string{program}, words[1:]...)
	}
	most := strconv.FormatUint(min(memory<<20, now.Max), 10)
	return limiter, append([]string{"prlimit", "--as=" + most + ":" + most}, words...), nil
}

// limit sets the kernel's other limits of the session.
func limit(processes uint64) error {
	set := []struct {
		resource int
		most     uint64
	}{
		{unix.RLIMIT_CORE, 0}, {unix.RLIMIT_NOFILE, 4096}, {unix.RLIMIT_NPROC, processes},
	}
	for _, l := range set {
		if l.most == 0 && l.resource != unix.RLIMIT_CORE {
			continue
		}
		var now unix.Rlimit
		if err := unix.Getrlimit(l.resource, &now); err != nil {
			return fmt.Errorf("session: %w", err)
		}
		most := min(l.most, now.Max)
		if err := unix.Setrlimit(l.resource, &unix.Rlimit{Cur: most, Max: most}); err != nil {
			return fmt.Errorf("session: limit %d: %w", l.resource, err)
		}
	}
	unix.Umask(0o022)
	return nil
}

// confine hides the files that a session does not need. own says that it has a mount namespace of its own, in which
// /tmp is the home's and /dev/shm its own. Otherwise both are the machine's: memory there is outside of every quota, and what one
// account leaves others could read.
func confine(home string, own bool) error {
	var rules []landlock.Rule
	read := func(paths ...string) { rules = append(rules, landlock.RODirs(paths...).IgnoreIfMissing()) }
	// From /proc nothing about other users' processes.
	read("/usr", "/bin", "/sbin", "/lib", "/lib64", "/etc", "/opt", "/proc/self", "/proc/sys", "/sys/devices/system/cpu", "/run/mysqld", "/run/systemd/resolve", "/var/lib/dpkg")
	rules = append(rules,
		landlock.ROFiles("/proc/cpuinfo", "/proc/meminfo", "/proc/stat", "/proc/loadavg", "/proc/uptime", "/proc/version", "/proc/filesystems").IgnoreIfMissing(),
		landlock.RWDirs(home).WithRefer(),
		landlock.RWDirs("/dev/pts").WithIoctlDev().IgnoreIfMissing(),
		landlock.RWFiles("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty", "/dev/ptmx").WithIoctlDev().IgnoreIfMissing(),
	)
	if own {
		rules = append(rules, landlock.RWDirs("/tmp", "/var/tmp", "/dev/shm").IgnoreIfMissing())
		read("/proc") // it shows nothing of others then
	}
	if err := landlock.V5.BestEffort().RestrictPaths(rules...); err != nil {
		return fmt.Errorf("session: %w", err)
	}
	return nil
}
