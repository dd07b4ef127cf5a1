package ssh

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	gossh "golang.org/x/crypto/ssh"

	"stead.dev/stead/internal/node/accounts"
	"stead.dev/stead/internal/node/daemon"
	"stead.dev/stead/internal/node/facility"
	"stead.dev/stead/internal/platform/atomicfile"
	"stead.dev/stead/internal/port/panel"
)

// Config configures the facility; all but Host and Listen is required.
type Config struct {
	Dir        string // state of the machine; absolute, root's down to it
	Lookup     facility.Lookup
	Supervisor daemon.Supervisor
	Now        func() time.Time
	Log        *slog.Logger

	// Listen is the address on which sshd listens, all when it is empty, and Port its port.
	Listen string
	Port   int
	// Host is the name or address that customers see.
	Host string
	// Session is the program that begins the sessions of a shell: see package session. Its words have no
	// blanks, quotes or backslashes, and everybody may execute it.
	Session []string
	// Off is called when the shell of an account was switched off; it may be nil.
	Off func(accounts.Account)
}

const (
	sshd = "/usr/sbin/sshd"
	unit = "sshd"
	// privsep is the directory of sshd's unprivileged part before a sign-in; the path is built in.
	privsep = "/run/sshd"
)

// Driver is the SSH server of a machine.
type Driver struct {
	*book
	cfg Config
	dir string

	mu     sync.Mutex // of the files of accounts
	log    *tail
	stop   context.CancelFunc
	behind sync.WaitGroup
}

var (
	_ panel.Shell       = (*Driver)(nil)
	_ facility.Facility = (*Driver)(nil)
	_ facility.Starter  = (*Driver)(nil)
	_ facility.Stopper  = (*Driver)(nil)
)

// New opens the facility, and creates its host key when there is none. Start makes it listen.
func New(c Config) (*Driver, error) {
	if c.Dir == "" || c.Lookup == nil || c.Supervisor == nil || c.Now == nil || c.Log == nil || c.Port == 0 || len(c.Session) == 0 {
		return nil, errors.New("ssh: Dir, Lookup, Supervisor, Now, Log, Port and Session are needed")
	}
	if words := strings.Join(c.Session, ""); strings.ContainsAny(words, " \t\n\"'\\$`;&|<>(){}*?[]#~") || !filepath.IsAbs(c.Session[0]) {
		return nil, fmt.Errorf("ssh: %q cannot be the command of a session", c.Session)
	}
	d := &Driver{cfg: c, dir: filepath.Join(c.Dir, "ssh")}
	for name, mode := range map[string]fs.FileMode{"": 0o711, "keys": 0o711, "roots": 0o711} {
		dir := filepath.Join(d.dir, name)
		if err := os.MkdirAll(dir, mode); err != nil {
			return nil, fmt.Errorf("ssh: %w", err)
		}
		if err := os.Chmod(dir, mode); err != nil { // whatever the umask
			return nil, fmt.Errorf("ssh: %w", err)
		}
	}
	var err error
	if d.book, err = openBook(filepath.Join(d.dir, "records"), c.Lookup); err != nil {
		return nil, err
	}
	d.host, d.port, d.apply, d.fresh = c.Host, c.Port, d.Apply, d.readLog
	if d.fingerprint, err = d.hostKey(); err != nil {
		return nil, fmt.Errorf("ssh: host key: %w", err)
	}
	d.log = openTail(d.path("sshd.log"), d.path("sshd.read"))
	return d, nil
}

func (d *Driver) path(name ...string) string {
	return filepath.Join(append([]string{d.dir}, name...)...)
}

// Capability implements facility.Facility.
func (d *Driver) Capability() panel.Capability { return panel.CapShell }

// hostKey creates the machine's key the first time, and returns its fingerprint.
func (d *Driver) hostKey() (string, error) {
	file := d.path("host_ed25519")
	data, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		_, private, err := ed25519.GenerateKey(rand.Reader)
		if err != nil {
			return "", err
		}
		block, err := gossh.MarshalPrivateKey(private, "")
		if err != nil {
			return "", err
		}
		data = pem.EncodeToMemory(block)
		if err := atomicfile.Write(file, data, 0o600); err != nil {
			return "", err
		}
	} else if err != nil {
		return "", err
	}
	signer, err := gossh.ParsePrivateKey(data)
	if err != nil {
		return "", err
	}
	return gossh.FingerprintSHA256(signer.PublicKey()), nil
}

// config is sshd_config(5), the same for all accounts.
func (d *Driver) config() string {
	listen := d.cfg.Listen
	if strings.Contains(listen, ":") {
		listen = "[" + listen + "]"
	}
	address := ""
	if listen != "" {
		address = "ListenAddress " + listen + "\n"
	}
	return "# Written by the machine's agent; changes are undone.\nPort " + strconv.Itoa(d.cfg.Port) + "\n" + address +
		"HostKey " + d.path("host_ed25519") + `
PidFile none
UsePAM no
LogLevel INFO

# Keys only, and only those that are in the accounts' files.
AuthenticationMethods publickey
PubkeyAuthentication yes
PasswordAuthentication no
KbdInteractiveAuthentication no
HostbasedAuthentication no
PermitRootLogin no
PermitEmptyPasswords no
AuthorizedKeysFile ` + d.path("keys") + `/%u
StrictModes yes

# What a session may is in those files; what none may is here.
ChrootDirectory ` + d.path("roots") + `/%u
Subsystem sftp internal-sftp -d /home
DisableForwarding yes
AllowTcpForwarding no
AllowStreamLocalForwarding no
AllowAgentForwarding no
X11Forwarding no
GatewayPorts no
PermitTunnel no
PermitUserRC no
PermitUserEnvironment no
AcceptEnv LANG LC_*
PrintMotd no
PrintLastLog no

# Guessers and idlers.
LoginGraceTime 30
MaxAuthTries 6
MaxSessions 10
MaxStartups 50:30:200
PerSourceMaxStartups 20
PerSourceNetBlockSize 32:64
ClientAliveInterval 60
ClientAliveCountMax 3
UseDNS no
`
}

// Start implements facility.Starter. A server that runs already is left alone, unless its configuration is
// another now: then it is started again, which ends no session.
func (d *Driver) Start(ctx context.Context) error {
	if err := makePrivsep(); err != nil {
		return err
	}
	file, want := d.path("sshd_config"), []byte(d.config())
	have, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("ssh: %w", err)
	}
	unread := daemon.Unread(d.path("sshd_config.unread"))
	if !bytes.Equal(have, want) {
		if err := d.check(ctx, want); err != nil {
			return err
		}
		if err := unread.Note(); err != nil {
			return fmt.Errorf("ssh: %w", err)
		}
		if err := atomicfile.Write(file, want, 0o600); err != nil {
			return fmt.Errorf("ssh: %w", err)
		}
	}
	running := d.cfg.Supervisor.PID(unit) != 0
	err = d.cfg.Supervisor.Ensure(ctx, daemon.Spec{
		Name: unit, Command: []string{sshd, "-D", "-f", file, "-E", d.path("sshd.log")}, Dir: "/", Reload: syscall.SIGHUP, Ready: d.ready,
	})
	if err == nil && running && unread.Noted() {
		err = d.cfg.Supervisor.Reload(ctx, unit)
	}
	if err == nil {
		err = unread.Forget()
	}
	if err != nil {
		return fmt.Errorf("ssh: %w", err)
	}
	background, stop := context.WithCancel(context.WithoutCancel(ctx))
	d.stop = stop
	if err := d.listen(background); err != nil {
		return errors.Join(err, d.Close())
	}
	d.behind.Go(func() {
		d.adopt()
		d.follow(background)
	})
	return nil
}

// makePrivsep creates sshd's directory as Debian's package does, which also removes it when the machine's own sshd
// stops.
func makePrivsep() error {
	if err := os.Mkdir(privsep, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("ssh: %w", err)
	}
	return nil
}

// check has sshd validate a configuration.
func (d *Driver) check(ctx context.Context, config []byte) error {
	file := d.path("sshd_config.new")
	if err := atomicfile.Write(file, config, 0o600); err != nil {
		return fmt.Errorf("ssh: %w", err)
	}
	defer func() { _ = os.Remove(file) }()
	if out, err := exec.CommandContext(ctx, sshd, "-t", "-f", file).CombinedOutput(); err != nil { //nolint:gosec // G204: a file of ours
		return fmt.Errorf("ssh: sshd refuses its configuration: %w: %s", err, bytes.TrimSpace(out))
	}
	return nil
}

// ready reports that sshd sends its greeting.
func (d *Driver) ready(ctx context.Context) error {
	host := d.cfg.Listen
	if ip := net.ParseIP(host); host == "" || (ip != nil && ip.IsUnspecified()) {
		host = "localhost"
	}
	c, err := new(net.Dialer).DialContext(ctx, "tcp", net.JoinHostPort(host, strconv.Itoa(d.cfg.Port)))
	if err != nil {
		return err
	}
	defer c.Close()
	if deadline, ok := ctx.Deadline(); ok {
		if err := c.SetDeadline(deadline); err != nil {
			return err
		}
	}
	greeting := make([]byte, 8)
	if _, err := c.Read(greeting); err != nil {
		return err
	}
	if !bytes.HasPrefix(greeting, []byte("SSH-2.0")) {
		return fmt.Errorf("%q is no greeting of SSH", greeting)
	}
	return nil
}

// Stop implements facility.Stopper.
func (d *Driver) Stop(ctx context.Context) error {
	return errors.Join(d.Close(), d.cfg.Supervisor.Stop(ctx, unit))
}

// Close ends the reading of the log; sshd and its sessions keep running.
func (d *Driver) Close() error {
	if d.stop != nil {
		d.stop()
		d.behind.Wait()
		d.stop = nil
	}
	return nil
}

// Apply implements facility.Facility.
func (d *Driver) Apply(ctx context.Context, a accounts.Account) error {
	if a.User.UID == 0 || a.Jail == "" {
		return fmt.Errorf("%w: account %s has no user", panel.ErrUnsupported, a.Ref)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	e := d.records.Get(a.Name)
	keys, options, root := e.Keys, `restrict,command="internal-sftp -d /home"`, a.Jail
	if e.Shell {
		options = `restrict,pty,command="` + strings.Join(d.words(a), " ") + `"`
		root = "/"
	}
	if a.Suspended {
		keys = nil
	}
	content, err := lines(keys, options)
	if err != nil {
		return err
	}
	// Of key file and root, remove the one first that refuses sign-ins.
	had := d.rootOf(a)
	steps := []func() error{
		func() error { return d.setKeys(a, content) },
		func() error { return d.setRoot(a, root) },
	}
	if root != "/" {
		steps[0], steps[1] = steps[1], steps[0]
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return fmt.Errorf("ssh: %w", err)
		}
	}
	if had == "/" && root != "/" {
		if d.cfg.Off != nil {
			d.cfg.Off(a)
		}
		return endSessions(ctx, a.User.UID)
	}
	return nil
}

// words are the arguments of the session program: the socket for joining its cgroup, and the account's limits.
func (d *Driver) words(a accounts.Account) []string {
	return append(slices.Clone(d.cfg.Session), d.socket(), strconv.Itoa(a.Limits.Processes), strconv.Itoa(a.Limits.MemoryMB))
}

// setKeys writes the account's keys, readable by its user: sshd reads them as that user.
func (d *Driver) setKeys(a accounts.Account, content string) error {
	file := d.path("keys", a.User.Name)
	have, err := os.ReadFile(file)
	if err == nil && string(have) == content && readable(file, a.User.GID) {
		return nil
	}
	if err := atomicfile.Write(file, []byte(content), 0o600); err != nil {
		return err
	}
	if err := os.Chown(file, 0, a.User.GID); err != nil {
		return err
	}
	return os.Chmod(file, keysMode)
}

const keysMode = 0o640

// readable reports whether a file of keys was given to the account's group: an agent may have been killed before.
func readable(file string, gid int) bool {
	info, err := os.Lstat(file)
	if err != nil || info.Mode() != keysMode {
		return false
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && st.Uid == 0 && int(st.Gid) == gid
}

func (d *Driver) rootOf(a accounts.Account) string {
	target, err := os.Readlink(d.path("roots", a.User.Name))
	if err != nil {
		return ""
	}
	return target
}

func (d *Driver) setRoot(a accounts.Account, target string) error {
	if d.rootOf(a) == target {
		return nil
	}
	link := d.path("roots", a.User.Name)
	if err := os.Remove(link + ".new"); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.Symlink(target, link+".new"); err != nil {
		return err
	}
	return os.Rename(link+".new", link)
}

// Remove implements facility.Facility.
func (d *Driver) Remove(_ context.Context, a accounts.Account) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, dir := range []string{"keys", "roots"} {
		if a.User.Name == "" {
			break
		}
		if err := os.Remove(d.path(dir, a.User.Name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("ssh: %w", err)
		}
	}
	return d.records.Delete(a.Name)
}
