package adminer

import (
	"bytes"
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"stead.dev/stead/internal/node/accept"
	"stead.dev/stead/internal/node/accounts"
	"stead.dev/stead/internal/node/daemon"
	"stead.dev/stead/internal/node/databases"
	"stead.dev/stead/internal/node/facility"
	"stead.dev/stead/internal/node/fastcgi"
	"stead.dev/stead/internal/node/php"
	"stead.dev/stead/internal/platform/atomicfile"
	"stead.dev/stead/internal/platform/semaphore"
	"stead.dev/stead/internal/port/panel"
)

// Name is the daemon's name for the supervisor.
const Name = "adminer"

// User is the system's user as whom Adminer runs.
const User = "stead-adminer"

// share is where Debian's package has Adminer.
const share = "/usr/share/adminer"

const (
	children  = 8 // requests that Adminer answers at a time
	ofAccount = 3 // of them, for one account
	memoryMB  = 128
)

//go:embed index.php
var index []byte

// Databases are the machine's databases; see package databases.
type Databases interface {
	Visitable(ref, name string) (panel.DatabaseEngine, error)
	Visit(ctx context.Context, engine panel.DatabaseEngine, program net.Conn, visits databases.Visits) error
}

// Config configures the facility.
type Config struct {
	Dir        string // everything of the facility is below; absolute, of plain letters, short: sockets are below it
	Databases  Databases
	Supervisor daemon.Supervisor
	Now        func() time.Time
	Log        *slog.Logger
	// Address is the address of the machine's own at which browsers reach the gate: scheme, name and port.
	Address func() string
	// WebGroup is the group of the web server's workers; empty is www-data.
	WebGroup string
}

// Driver is the facility. It implements panel.Adminer.
type Driver struct {
	cfg    Config
	visits *visits
	asking semaphore.Keyed[string] // requests, by account

	mu      sync.Mutex
	engines []panel.DatabaseEngine // that PHP can speak to, once it runs
	stop    func()                 // ends gate and doors; nil while they are closed
}

var (
	_ panel.Adminer     = (*Driver)(nil)
	_ facility.Facility = (*Driver)(nil)
	_ facility.Starter  = (*Driver)(nil)
	_ facility.Stopper  = (*Driver)(nil)
)

// Installed reports whether the machine has Adminer, and a PHP to run it.
func Installed() bool {
	_, err := os.Stat(filepath.Join(share, "adminer.php"))
	return err == nil && php.Installed()
}

// New makes the facility; Start must be called before anything else.
func New(cfg Config) *Driver {
	cfg.WebGroup = cmp.Or(cfg.WebGroup, "www-data")
	d := &Driver{cfg: cfg, asking: semaphore.Keyed[string]{Each: ofAccount, All: children}}
	d.visits = newVisits(cfg.Now, d.forget)
	return d
}

func (d *Driver) file(names ...string) string {
	return filepath.Join(append([]string{d.cfg.Dir}, names...)...)
}

// socket is PHP-FPM's.
func (d *Driver) socket() string { return d.file("fpm", "fpm.sock") }

// forget removes what Adminer remembers of a visit.
func (d *Driver) forget(v *visit) {
	if err := os.Remove(d.file("tmp", "sess_"+v.session)); err != nil && !errors.Is(err, fs.ErrNotExist) { //nolint:gosec // G703: the name is random
		d.cfg.Log.Warn("what Adminer remembers of a visitor stays", "error", err)
	}
}

// Capability implements facility.Facility.
func (*Driver) Capability() panel.Capability { return panel.CapAdminer }

// Apply implements facility.Facility: visits of what is gone or suspended end. They would with their next request, too.
func (d *Driver) Apply(_ context.Context, a accounts.Account) error {
	d.visits.endWhere(func(v *visit) bool { return v.ref == a.Ref && d.stands(v) != nil })
	return nil
}

// Remove implements facility.Facility.
func (d *Driver) Remove(_ context.Context, a accounts.Account) error {
	d.visits.endWhere(func(v *visit) bool { return v.ref == a.Ref })
	return nil
}

// stands says why the database of a visit may not be visited any more, or nil.
func (d *Driver) stands(v *visit) error {
	engine, err := d.cfg.Databases.Visitable(v.ref, v.database)
	if err == nil && engine != v.engine { // deleted, and made anew
		err = panel.ErrNotFound
	}
	return err
}

// OpenDatabase implements panel.Adminer.
func (d *Driver) OpenDatabase(_ context.Context, ref, name string) (panel.OpenedDatabase, error) {
	opened, err := d.open(ref, name)
	return opened, panel.Wrap("adminer.open", ref, err)
}

func (d *Driver) open(ref, name string) (panel.OpenedDatabase, error) {
	engine, err := d.cfg.Databases.Visitable(ref, name)
	if err != nil {
		return panel.OpenedDatabase{}, err
	}
	d.mu.Lock()
	running, can := d.stop != nil, slices.ContainsFunc(d.engines, func(e panel.DatabaseEngine) bool { return sameServer(e, engine) })
	d.mu.Unlock()
	switch {
	case !running:
		return panel.OpenedDatabase{}, fmt.Errorf("%w: Adminer does not run", panel.ErrUnreachable)
	case !can:
		return panel.OpenedDatabase{}, fmt.Errorf("%w: PHP lacks the extension for %s", panel.ErrUnsupported, engine)
	}
	v, token, err := d.visits.open(ref, name, engine, d.cfg.Address())
	if err != nil {
		return panel.OpenedDatabase{}, err
	}
	return panel.OpenedDatabase{URL: v.address + Path + openPath + v.id + "/" + token, ExpiresAt: v.expires, EndsAt: v.ends}, nil
}

// Start implements facility.Starter.
func (d *Driver) Start(ctx context.Context) error {
	if err := d.start(ctx); err != nil {
		return fmt.Errorf("adminer: %w", err)
	}
	return nil
}

func (d *Driver) start(ctx context.Context) error {
	uid, gid, err := ensureUser(ctx)
	if err != nil {
		return err
	}
	web, err := user.LookupGroup(d.cfg.WebGroup)
	if err != nil {
		return err
	}
	webGID, err := strconv.Atoi(web.Gid)
	if err != nil {
		return err
	}
	// What a former process remembered ends with it.
	if err := os.RemoveAll(d.file("tmp")); err != nil {
		return err
	}
	for _, dir := range []struct {
		name     string
		mode     fs.FileMode
		uid, gid int
	}{
		{"", 0o711, 0, 0}, {"gate", 0o710, 0, webGID}, {"fpm", 0o700, 0, 0}, {"www", 0o750, 0, gid}, {"sockets", 0o710, 0, gid}, {"tmp", 0o700, uid, gid},
	} {
		path := d.file(dir.name)
		if err := errors.Join(os.MkdirAll(path, dir.mode), os.Chown(path, dir.uid, dir.gid), os.Chmod(path, dir.mode)); err != nil {
			return err
		}
	}
	if err := atomicfile.WriteOwned(d.file("www", "index.php"), index, 0o640, 0, gid); err != nil {
		return err
	}
	engines, err := d.run(ctx, uid, gid)
	if err != nil {
		return err
	}
	stop, err := d.serve(ctx, gid, webGID)
	if err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.engines, d.stop = engines, stop
	return nil
}

// ensureUser makes the user when the machine has none.
func ensureUser(ctx context.Context) (uid, gid int, err error) {
	u, err := user.Lookup(User)
	var unknown user.UnknownUserError
	if errors.As(err, &unknown) {
		out, failed := exec.CommandContext(ctx, "/usr/sbin/useradd", "--system", "--user-group", "--no-create-home", "--home-dir", "/nonexistent",
			"--shell", "/usr/sbin/nologin", "--comment", "Adminer of Stead", User).CombinedOutput()
		if u, err = user.Lookup(User); err != nil { // another process may have made it
			return 0, 0, errors.Join(err, fmt.Errorf("useradd: %w: %s", failed, bytes.TrimSpace(out)))
		}
	}
	if err != nil {
		return 0, 0, err
	}
	if uid, err = strconv.Atoi(u.Uid); err == nil {
		gid, err = strconv.Atoi(u.Gid)
	}
	return uid, gid, err
}

// serve opens gate and doors.
func (d *Driver) serve(ctx context.Context, gid, webGID int) (stop func(), err error) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var closers []func()
	var running sync.WaitGroup
	stop = func() {
		cancel()
		for _, c := range closers {
			c()
		}
		running.Wait()
	}
	defer func() {
		if err != nil {
			stop()
		}
	}()
	gate, err := listen(ctx, Gate(d.cfg.Dir), webGID)
	if err != nil {
		return nil, err
	}
	server := &http.Server{Handler: d.handler(), ReadHeaderTimeout: 10 * time.Second, IdleTimeout: time.Minute, ErrorLog: slog.NewLogLogger(d.cfg.Log.Handler(), slog.LevelDebug)}
	closers = append(closers, func() { _ = server.Close() })
	running.Go(func() {
		if err := server.Serve(gate); err != nil && !errors.Is(err, http.ErrServerClosed) {
			d.cfg.Log.Error("databases cannot be opened in browsers", "error", err)
		}
	})
	for file, engine := range map[string]panel.DatabaseEngine{"mysql.sock": panel.MariaDB, ".s.PGSQL.5432": panel.PostgreSQL} {
		l, err := listen(ctx, d.file("sockets", file), gid)
		if err != nil {
			return nil, err
		}
		closers = append(closers, func() { _ = l.Close() })
		running.Go(func() { d.answerDoor(ctx, l, engine) })
	}
	return stop, nil
}

// answerDoor lets in who comes to a door, until it is closed.
func (d *Driver) answerDoor(ctx context.Context, l net.Listener, engine panel.DatabaseEngine) {
	var running sync.WaitGroup
	defer running.Wait()
	accept.Each(ctx, l.Accept, d.cfg.Log, func(program net.Conn) {
		running.Go(func() {
			if err := d.cfg.Databases.Visit(ctx, engine, program, door{d, engine}); err != nil && ctx.Err() == nil {
				d.cfg.Log.Warn("Adminer was not let in", "engine", engine, "error", err)
			}
		})
	})
}

// Close ends the facility's work in this process, and with it all visits; PHP-FPM keeps running.
func (d *Driver) Close() error {
	d.mu.Lock()
	stop := d.stop
	d.stop = nil
	d.mu.Unlock()
	d.visits.endWhere(func(*visit) bool { return true })
	if stop != nil {
		stop()
	}
	return nil
}

// Stop implements facility.Stopper.
func (d *Driver) Stop(ctx context.Context) error {
	return errors.Join(d.Close(), d.cfg.Supervisor.Stop(ctx, Name))
}

// phpINI has the settings that PHP-FPM's own programs have, too; %s is the directory twice, memory and uploads.
const phpINI = `; Written by Stead; changes are lost.
[PHP]
engine = On
expose_php = Off
enable_dl = Off
disable_functions = exec,passthru,shell_exec,system,proc_open,popen,pcntl_exec,dl,mail,symlink,link,chmod,chown,putenv,fsockopen,pfsockopen,stream_socket_client,stream_socket_server,phpinfo,highlight_file,show_source
cgi.fix_pathinfo = 0
allow_url_fopen = Off
allow_url_include = Off
display_errors = Off
log_errors = On
html_errors = Off
register_argc_argv = Off
variables_order = "GPCS"
request_order = "GP"
default_charset = "UTF-8"
zend.exception_ignore_args = On
ffi.enable = false
max_input_vars = 20000
max_execution_time = 0
open_basedir = ` + share + `/:%[1]s/www/:%[1]s/tmp/
sys_temp_dir = %[1]s/tmp
upload_tmp_dir = %[1]s/tmp
session.save_path = %[1]s/tmp
session.use_cookies = 0
session.use_only_cookies = 1
session.use_strict_mode = 0
session.cache_limiter =
session.gc_maxlifetime = 7200
session.gc_probability = 1
session.gc_divisor = 100
memory_limit = %[2]dM
post_max_size = %[3]d
upload_max_filesize = %[3]d
mysqli.allow_local_infile = 0
mysqli.allow_persistent = 0
pgsql.allow_persistent = 0
`

// fpmConf has these arguments: the directory, the numbers of user and group.
const fpmConf = `; Written by Stead; changes are lost.
[global]
pid = %[1]s/fpm/fpm.pid
error_log = %[1]s/fpm/fpm.log
log_level = notice
daemonize = no
process_control_timeout = 5s
rlimit_core = 0

[adminer]
user = %[2]d
group = %[3]d
listen = %[1]s/fpm/fpm.sock
listen.owner = root
listen.group = root
listen.mode = 0600
pm = ondemand
pm.max_children = %[4]d
pm.process_idle_timeout = 30s
pm.max_requests = 500
request_terminate_timeout = 600s
rlimit_core = 0
security.limit_extensions = .php
clear_env = yes
chdir = %[1]s/www
ping.path = /ping
`

// extensions are what Adminer needs of PHP, in the order of their dependences, and the engine that each speaks to.
var extensions = []struct {
	name   string
	engine panel.DatabaseEngine
}{{"mysqlnd", ""}, {"mysqli", panel.MariaDB}, {"pgsql", panel.PostgreSQL}}

// run starts PHP-FPM, and answers the engines that it can speak to.
func (d *Driver) run(ctx context.Context, uid, gid int) ([]panel.DatabaseEngine, error) {
	program, err := php.Newest("/usr/sbin")
	if err != nil {
		return nil, err
	}
	dir, err := php.ExtensionDir(ctx, program)
	if err != nil {
		return nil, err
	}
	var engines []panel.DatabaseEngine
	ini := fmt.Sprintf(phpINI, d.cfg.Dir, memoryMB, mostBody)
	for _, e := range extensions {
		if _, err := os.Stat(filepath.Join(dir, e.name+".so")); err != nil {
			continue
		}
		ini += "extension = " + e.name + "\n"
		if e.engine != "" {
			engines = append(engines, e.engine)
		}
	}
	conf := fmt.Sprintf(fpmConf, d.cfg.Dir, uid, gid, children)
	unread := daemon.Unread(d.file("unread"))
	for name, content := range map[string]string{"php.ini": ini, "php-fpm.conf": conf} {
		if err := unread.Write(d.file("fpm", name), content, 0o600); err != nil {
			return nil, err
		}
	}
	ran := d.cfg.Supervisor.PID(Name) != 0
	err = d.cfg.Supervisor.Ensure(ctx, daemon.Spec{
		Name: Name, Command: []string{program, "--nodaemonize", "--fpm-config", d.file("fpm", "php-fpm.conf"), "-c", d.file("fpm", "php.ini")},
		Env:           []string{"TZ=UTC", "LANG=C.UTF-8", "PHP_INI_SCAN_DIR="},
		HideProcesses: true, Confine: true, NoNetwork: true, PIDFile: d.file("fpm", "fpm.pid"),
		Stale: []string{d.socket()}, Reload: syscall.SIGUSR2, Stop: syscall.SIGQUIT, StopTimeout: 10 * time.Second,
		Ready: d.ping,
	})
	if err == nil && ran && unread.Noted() {
		err = d.cfg.Supervisor.Restart(ctx, Name)
	}
	if err == nil {
		err = unread.Forget()
	}
	return engines, err
}

// ping asks PHP-FPM whether it answers.
func (d *Driver) ping(ctx context.Context) error {
	out, err := fastcgi.Ask(ctx, d.socket(), map[string]string{"SCRIPT_NAME": "/ping", "SCRIPT_FILENAME": "/ping", "REQUEST_METHOD": "GET", "QUERY_STRING": ""}, nil)
	if err != nil {
		return err
	}
	defer out.Close()
	var answer bytes.Buffer
	if _, err := answer.ReadFrom(out); err != nil {
		return err
	}
	if !strings.Contains(answer.String(), "pong") {
		return errors.New("PHP-FPM does not answer")
	}
	return nil
}
