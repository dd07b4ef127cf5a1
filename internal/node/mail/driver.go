package mail

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"stead.dev/stead/internal/node/accounts"
	"stead.dev/stead/internal/node/daemon"
	"stead.dev/stead/internal/node/facility"
	"stead.dev/stead/internal/node/keylock"
	"stead.dev/stead/internal/platform/atomicfile"
	"stead.dev/stead/internal/platform/certificate"
	"stead.dev/stead/internal/port/panel"
)

// Driver runs mailboxes by Postfix, Dovecot and rspamd.
type Driver struct {
	book
	cfg Config
	ids ids

	publishing keylock.Locks // of accounts whose files are being written

	mu      sync.Mutex
	running bool                // Start has started the daemons
	files   map[string][]string // of accounts
	next    *pass               // collects changes

	writing          sync.Mutex // serializes passes, with their consequences
	routes           *routes
	dovecot, postfix *database
	domains          map[string]digest // of the domains of Postfix, by account
	reload           map[string]bool   // daemons that must read their files again
	verified         time.Time
	incomplete       bool // a pass has failed

	logs        *logReader
	stopLooking func()
	stopSignin  func()
	stopConfig  func()

	domainsChanged func(ctx context.Context, ref string) error // see FollowDomains
}

var (
	_ facility.Facility = (*Driver)(nil)
	_ facility.Starter  = (*Driver)(nil)
	_ facility.Stopper  = (*Driver)(nil)
	_ facility.Counter  = (*Driver)(nil)
	_ panel.Mail        = (*Driver)(nil)
)

// ids are the users and groups of the daemons' packages.
type ids struct {
	postfixUID, postfixGID, dovecotUID, dovecotGID, rspamdUID, rspamdGID, storeGID int
}

// Names of the daemons for the supervisor.
const (
	daemonPostfix = "mail-postfix"
	daemonDovecot = "mail-dovecot"
	daemonRspamd  = "mail-rspamd"
	daemonRedis   = "mail-redis" // rspamd's memory
)

// Open opens the records below cfg.Dir. Nothing runs before Start.
func Open(cfg Config) (*Driver, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	if _, err := os.Stat(managesieve); err != nil && cfg.Sieve != "" {
		cfg.Log.Warn("mail programs cannot edit filters: the package dovecot-managesieved is not installed")
		cfg.Sieve = ""
	}
	d := &Driver{
		cfg: cfg, domainsChanged: func(context.Context, string) error { return nil }, files: map[string][]string{}, routes: newRoutes(), domains: map[string]digest{}, reload: map[string]bool{},
		dovecot: &database{path: cfg.dovecotDatabase(), schema: dovecotSchema}, postfix: &database{path: cfg.postfixDatabase(), schema: postfixSchema},
	}
	var err error
	if d.book, err = openBook(cfg.Dir, cfg.Accounts); err != nil {
		return nil, err
	}
	d.publish, d.measure, d.shut, d.erase = d.publishAccount, d.use, d.kick, d.remove
	if cfg.Resolver != nil {
		d.leads = cfg.leadsElsewhere
	}
	return d, nil
}

// MailServer implements panel.Mail.
func (d *Driver) MailServer(_ context.Context, ref string) (panel.MailServer, error) {
	if _, err := d.accounts(ref); err != nil {
		return panel.MailServer{}, panel.Wrap("mail.server", ref, err)
	}
	c := d.cfg
	return panel.MailServer{
		Hostname: c.Hostname, IMAP: portOf(c.IMAP), IMAPS: portOf(c.IMAPS), POP3: portOf(c.POP3), POP3S: portOf(c.POP3S),
		Submission: portOf(c.Submission), Submissions: portOf(c.Submissions), Sieve: portOf(c.Sieve), IPv4: c.IPv4, IPv6: c.IPv6,
	}, nil
}

func portOf(listen string) int {
	a, err := netip.ParseAddrPort(listen)
	if err != nil {
		return 0
	}
	return int(a.Port())
}

// Sendmail is the command by which an account's programs send, for PHP's sendmail_path.
func (d *Driver) Sendmail(accounts.Account) string {
	return strings.Join(d.cfg.Program, " ") + " " + SubmitCommand + " " + d.cfg.Dir + " -t -i"
}

// Apply implements facility.Facility.
func (d *Driver) Apply(ctx context.Context, a accounts.Account) error {
	if a.User.UID == 0 {
		return fmt.Errorf("%w: mail needs accounts with a Linux user", panel.ErrUnsupported)
	}
	return d.book.Apply(ctx, a)
}

// Start implements facility.Starter.
func (d *Driver) Start(ctx context.Context) (err error) {
	if err := d.prepare(); err != nil {
		return err
	}
	d.dovecot.gid, d.postfix.gid = d.ids.dovecotGID, d.ids.postfixGID
	// The files that the configuration names must exist before it.
	if err := d.open(ctx); err != nil {
		return err
	}
	if err := d.configure(ctx); err != nil {
		return err
	}
	for _, serves := range []struct {
		stop  *func()
		serve func(context.Context) (func(), error)
	}{{&d.stopSignin, d.serveSignin}, {&d.stopConfig, d.serveSettings}} {
		if *serves.stop != nil {
			continue // since a start that failed after this
		}
		if *serves.stop, err = serves.serve(ctx); err != nil {
			return fmt.Errorf("mail: %w", err)
		}
	}
	d.openFiles(ctx)
	unread := d.unread().Noted()
	for _, spec := range d.specs() {
		former := d.cfg.Supervisor.PID(spec.Name)
		err := d.cfg.Supervisor.Ensure(ctx, spec)
		// A daemon of a former agent has read the former configuration.
		if err == nil && spec.Reload != 0 && (unread || d.reload[spec.Name]) && former == d.cfg.Supervisor.PID(spec.Name) {
			err = d.cfg.Supervisor.Reload(ctx, spec.Name)
		}
		if err != nil {
			return fmt.Errorf("mail: %s: %w", spec.Name, err)
		}
	}
	if err := d.unread().Forget(); err != nil {
		return fmt.Errorf("mail: %w", err)
	}
	clear(d.reload)
	if err := d.sweep(); err != nil {
		return fmt.Errorf("mail: %w", err)
	}
	d.mu.Lock()
	d.running = true
	d.mu.Unlock()
	d.logs, d.stopLooking = startLogs(d), d.startLooking()
	return nil
}

// unread exists while the daemons may not have read their configuration and certificate.
func (d *Driver) unread() daemon.Unread {
	return daemon.Unread(filepath.Join(d.cfg.Dir, "state", "unread"))
}

// Stop implements facility.Stopper.
func (d *Driver) Stop(ctx context.Context) error {
	var err error
	for _, spec := range slices.Backward(d.specs()) {
		err = errors.Join(err, d.cfg.Supervisor.Stop(ctx, spec.Name))
	}
	return errors.Join(err, d.Close())
}

// Close ends the facility's work in this process; the daemons keep running.
func (d *Driver) Close() error {
	for _, stop := range []func(){d.stopSignin, d.stopConfig} {
		if stop != nil {
			stop()
		}
	}
	if d.logs != nil {
		d.stopLooking()
		d.logs.stop()
	}
	d.writing.Lock()
	defer d.writing.Unlock()
	d.incomplete = true
	return errors.Join(d.dovecot.close(), d.postfix.close())
}

func (d *Driver) conf(parts ...string) string {
	return filepath.Join(append([]string{d.cfg.Dir, "conf"}, parts...)...)
}

func (d *Driver) specs() []daemon.Spec {
	dials := func(network, address string) func(context.Context) error {
		return func(ctx context.Context) error {
			conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
			if err != nil {
				return err
			}
			return conn.Close()
		}
	}
	return []daemon.Spec{
		{
			Name: daemonRedis, Command: []string{"/usr/bin/redis-server", d.conf("redis.conf")}, User: rspamdUser,
			Stale: []string{d.cfg.redisSocket()}, Ready: dials("unix", d.cfg.redisSocket()),
		},
		{
			// Its first process reads the keys of the configuration as root; what looks at messages is rspamdUser.
			Name: daemonRspamd, Command: append([]string{"/usr/bin/rspamd", "-f", "-u", rspamdUser, "-g", rspamdUser, "-c", d.conf("rspamd.conf")}, d.cfg.rspamdVariables()...),
			Stale:  []string{d.cfg.milter(), d.cfg.socket("learn"), d.cfg.rspamdPID()},
			Reload: syscall.SIGHUP, Ready: dials("unix", d.cfg.milter()), StartTimeout: rspamdStarts,
		},
		{
			Name: daemonDovecot, Command: []string{"/usr/sbin/dovecot", "-F", "-c", d.conf("dovecot.conf")},
			Stale:  []string{filepath.Join(d.cfg.Dir, "run", "master.pid")},
			Reload: syscall.SIGHUP, Ready: func(ctx context.Context) error {
				// Without the second one Postfix's submission server ends, and is not started again for a minute.
				return cmp.Or(dials("unix", d.cfg.socket("lmtp"))(ctx), dials("unix", d.cfg.socket("auth"))(ctx))
			},
		},
		{
			// Postfix's first process itself: start-fg would leave it behind when it is stopped.
			Name: daemonPostfix, Command: []string{"/usr/lib/postfix/sbin/master", "-c", d.conf("postfix"), "-s"},
			Reload: syscall.SIGHUP, Ready: dials("tcp", d.cfg.Submit),
		},
	}
}

// managesieve is the program by which mail programs edit filters.
const managesieve = "/usr/lib/dovecot/managesieve"

// rspamdStarts bounds rspamd's start: the first one of a machine compiles its patterns.
const rspamdStarts = 5 * time.Minute

// sqliteModules are the SQLite modules of Postfix and Dovecot, and their Debian packages.
var sqliteModules = [][2]string{
	{"/usr/lib/postfix/postfix-sqlite.so", "postfix-sqlite"}, {"/usr/lib/dovecot/modules/libdriver_sqlite.so", "dovecot-sqlite"},
}

// prepare creates the directories with their owners.
func (d *Driver) prepare() (err error) {
	for _, module := range sqliteModules {
		if _, err := os.Stat(module[0]); err != nil {
			return fmt.Errorf("mail: the package %s is needed: %w", module[1], err)
		}
	}
	i := &d.ids
	for _, u := range []struct {
		name     string
		uid, gid *int
	}{{"postfix", &i.postfixUID, &i.postfixGID}, {"dovecot", &i.dovecotUID, &i.dovecotGID}, {rspamdUser, &i.rspamdUID, &i.rspamdGID}} {
		if *u.uid, *u.gid, err = userIDs(u.name); err != nil {
			return fmt.Errorf("mail: %w", err)
		}
	}
	if i.storeGID, err = groupID(storeGroup); err != nil {
		return fmt.Errorf("mail: %w", err)
	}
	c := d.cfg
	for _, dir := range []struct {
		path     string
		mode     fs.FileMode
		uid, gid int
	}{
		{c.Dir, 0o711, 0, 0},
		{filepath.Join(c.Dir, "accounts"), 0o700, 0, 0},
		{d.conf(), 0o755, 0, 0},
		{d.conf("postfix"), 0o755, 0, 0},
		{filepath.Join(c.Dir, "tables"), 0o711, 0, 0},
		{filepath.Join(c.Dir, "tls"), 0o700, 0, 0},
		{filepath.Join(c.Dir, "log"), 0o711, 0, 0},
		{filepath.Join(c.Dir, "run"), 0o755, 0, 0},
		{filepath.Join(c.Dir, "state"), 0o755, 0, 0},
		{c.queue(), 0o755, 0, 0},
		{filepath.Join(c.Dir, "data"), 0o700, i.postfixUID, 0},
		{filepath.Join(c.Dir, "s"), 0o711, 0, 0},
		{c.rspamdLocal(), 0o755, 0, 0},
		{filepath.Join(c.rspamdLocal(), "local.d"), 0o755, 0, 0},
		{c.rspamdState(), 0o700, i.rspamdUID, i.rspamdGID},
		{c.redisDir(), 0o700, i.rspamdUID, i.rspamdGID},
		{c.sieveDir(), 0o755, 0, 0},
		{c.sieveBin(), 0o755, 0, 0},
		{filepath.Join(c.Dir, "dkim"), 0o711, 0, 0},
		{c.keysDir(), 0o750, 0, i.rspamdGID},
		{c.loginsDir(), 0o750, 0, i.rspamdGID},
		{filepath.Join(c.Dir, "replies"), 0o711, 0, 0},
		{filepath.Join(c.Dir, "submit"), 0o711, 0, 0},
		{filepath.Join(c.Dir, "sent"), 0o700, i.dovecotUID, 0},
		{c.Store, 0o710, 0, i.storeGID},
	} {
		err := os.MkdirAll(dir.path, 0o700)
		if err == nil {
			err = os.Chown(dir.path, dir.uid, dir.gid)
		}
		if err == nil {
			err = os.Chmod(dir.path, dir.mode)
		}
		if err != nil {
			return fmt.Errorf("mail: %w", err)
		}
	}
	return nil
}

// configure writes the daemons' configuration and has their own checkers validate it; a refused one is reverted.
func (d *Driver) configure(ctx context.Context) error {
	if err := d.certify(); err != nil {
		return err
	}
	files := map[string]string{
		d.conf("postfix", "main.cf"): d.cfg.postfixMain(), d.conf("postfix", "master.cf"): d.cfg.postfixMaster(),
		d.cfg.marked(): markedTable(), d.cfg.unmarked(): unmarkedTable(), d.cfg.silent(): silentTable(), d.cfg.received(): d.cfg.receivedTable(),
		d.conf("dovecot.conf"): d.cfg.dovecot(), d.cfg.dovecotQueries(): d.cfg.dovecotSQL(), d.conf("rspamd.conf"): d.cfg.rspamd(), d.cfg.rspamdRulesFile(): rspamdRules,
	}
	secret, err := d.signinSecret()
	if err != nil {
		return fmt.Errorf("mail: %w", err)
	}
	files[d.cfg.dovecotSigninFile()] = d.cfg.dovecotSignin(secret)
	files[d.conf("redis.conf")] = d.cfg.redis()
	for name, content := range d.cfg.rspamdModules() {
		files[filepath.Join(d.cfg.rspamdLocal(), "local.d", name+".conf")] = content
	}
	put := func(file string, content []byte) error {
		if file == d.cfg.dovecotSigninFile() { // it has a secret
			return atomicfile.WriteOwned(file, content, 0o600, 0, 0)
		}
		if file == d.cfg.dovecotQueries() { // nobody else needs it
			return atomicfile.WriteOwned(file, content, 0o640, 0, d.ids.dovecotGID)
		}
		return atomicfile.WriteOwned(file, content, 0o644, 0, 0)
	}
	before := map[string][]byte{}
	for file, content := range files {
		old, err := os.ReadFile(file)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("mail: %w", err)
		}
		if string(old) == content {
			continue
		}
		before[file] = old
		if err = d.unread().Note(); err == nil {
			err = put(file, []byte(content))
		}
		if err != nil {
			return fmt.Errorf("mail: %w", err)
		}
	}
	checks := [][]string{
		{"/usr/sbin/postfix", "-c", d.conf("postfix"), "check"}, // also creates missing parts of the queue
		{"/usr/bin/doveconf", "-n", "-c", d.conf("dovecot.conf")},
		append(append([]string{"/usr/bin/rspamadm"}, d.cfg.rspamdVariables()...), "configtest", "-q", "-c", d.conf("rspamd.conf")),
	}
	for _, check := range checks {
		if err := run(ctx, nil, check...); err != nil {
			for file, old := range before {
				if old != nil {
					err = errors.Join(err, put(file, old))
				}
			}
			return fmt.Errorf("mail: %w", err)
		}
	}
	if err := d.compileScripts(ctx); err != nil {
		return fmt.Errorf("mail: %w", err)
	}
	return nil
}

// certify updates the certificate.
func (d *Driver) certify() (err error) {
	chain, key, ok := []byte(nil), []byte(nil), false
	if d.cfg.Certificate != nil {
		chain, key, ok = d.cfg.Certificate(d.cfg.Hostname)
	}
	if ok {
		if _, err := tls.X509KeyPair(chain, key); err != nil {
			// Perhaps only one of the two files is new yet. With this pair nobody could sign in any more.
			d.cfg.Log.Warn("the certificate of mail cannot be used", "error", err)
			ok = false
		}
	}
	dir := filepath.Join(d.cfg.Dir, "tls")
	if !ok {
		if _, err := os.Stat(filepath.Join(dir, "chain.pem")); err == nil {
			return nil
		}
		if chain, key, err = selfSigned(d.cfg.Hostname, d.cfg.Now()); err != nil {
			return fmt.Errorf("mail: %w", err)
		}
	}
	both := slices.Concat(key, chain)
	if old, err := os.ReadFile(filepath.Join(dir, "chain.pem")); err == nil && bytes.Equal(old, both) {
		return nil
	}
	if err := d.unread().Note(); err != nil {
		return fmt.Errorf("mail: %w", err)
	}
	// The file with both comes last: it says that the others are complete.
	for _, file := range []struct {
		name    string
		content []byte
	}{{"cert.pem", chain}, {"key.pem", key}, {"chain.pem", both}} {
		if err := atomicfile.WriteOwned(filepath.Join(dir, file.name), file.content, 0o600, 0, 0); err != nil {
			return fmt.Errorf("mail: %w", err)
		}
	}
	return nil
}

// selfSignedFor is the life of the self-signed certificate.
const selfSignedFor = 10 * 365 * 24 * time.Hour

// selfSigned makes a certificate for a machine without another: sending mail servers accept any, and mail programs ask
// their user.
func selfSigned(host string, now time.Time) (chain, key []byte, err error) {
	b, err := certificate.SelfSign(host, []string{host}, now, selfSignedFor)
	if err != nil {
		return nil, nil, err
	}
	text, err := b.KeyPEM()
	return []byte(b.ChainPEM()), []byte(text), err
}

// replace writes a file unless it has that content, mode and owner already.
func replace(file string, content []byte, mode fs.FileMode, uid, gid int) (changed bool, err error) {
	old, err := os.ReadFile(file)
	if err == nil && bytes.Equal(old, content) {
		info, err := os.Lstat(file)
		if err != nil {
			return false, err
		}
		st, ok := info.Sys().(*syscall.Stat_t)
		if ok && info.Mode() == mode && int(st.Uid) == uid && int(st.Gid) == gid {
			return false, nil
		}
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	return true, atomicfile.WriteOwned(file, content, mode, uid, gid)
}

// commandTimeout bounds the daemons' tools.
const commandTimeout = time.Minute

// run runs a tool; its output is in the error.
func run(ctx context.Context, stdin []byte, args ...string) error {
	_, err := output(ctx, stdin, args...)
	return err
}

func output(ctx context.Context, stdin []byte, args ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, commandTimeout)
	defer cancel()
	var out, said bytes.Buffer
	cmd := exec.CommandContext(ctx, args[0], args[1:]...) //nolint:gosec // tools of the daemons, no shell
	cmd.Env = []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LANG=C.UTF-8", "HOME=/nonexistent"}
	cmd.Dir, cmd.Stdin, cmd.Stdout, cmd.Stderr = "/", bytes.NewReader(stdin), &out, &said
	if err := cmd.Run(); err != nil {
		const most = 2000
		text := strings.TrimSpace(cmp.Or(said.String(), out.String()))
		return nil, fmt.Errorf("%s: %w: %s", filepath.Base(args[0]), err, text[:min(len(text), most)])
	}
	return out.Bytes(), nil
}
