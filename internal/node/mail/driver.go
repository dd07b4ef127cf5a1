package mail

import (
	"bytes"
	"cmp"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/big"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"stead.dev/stead/internal/node/accounts"
	"stead.dev/stead/internal/node/daemon"
	"stead.dev/stead/internal/node/facility"
	"stead.dev/stead/internal/panel"
)

// Driver keeps mailboxes by Postfix, Dovecot and OpenDKIM.
type Driver struct {
	book
	cfg Config
	ids ids

	mu       sync.Mutex // of writing tables, and what follows
	written  tables
	verified time.Time
	running  bool // Start has brought the daemons up

	logs        *logReader
	stopLooking func()
}

var (
	_ facility.Facility = (*Driver)(nil)
	_ facility.Starter  = (*Driver)(nil)
	_ facility.Stopper  = (*Driver)(nil)
	_ facility.Counter  = (*Driver)(nil)
	_ panel.Mail        = (*Driver)(nil)
)

// ids are of the users and groups that the daemons have by their packages.
type ids struct {
	postfixUID, postfixGID, dovecotUID, dovecotGID, dkimUID, dkimGID, storeGID int
}

// Names of the daemons for the supervisor.
const (
	daemonPostfix = "mail-postfix"
	daemonDovecot = "mail-dovecot"
	daemonDKIM    = "mail-opendkim"
)

// Open opens the records below cfg.Dir. Nothing runs before Start.
func Open(cfg Config) (*Driver, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	d := &Driver{cfg: cfg}
	var err error
	if d.book, err = openBook(cfg.Dir, cfg.Accounts); err != nil {
		return nil, err
	}
	d.publish, d.measure, d.shut, d.erase = d.write, d.use, d.kick, d.remove
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
		Submission: portOf(c.Submission), Submissions: portOf(c.Submissions), IPv4: c.IPv4, IPv6: c.IPv6,
	}, nil
}

func portOf(listen string) int {
	a, err := netip.ParseAddrPort(listen)
	if err != nil {
		return 0
	}
	return int(a.Port())
}

// Sendmail is the command by which the programs of an account send, for PHP's sendmail_path.
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
func (d *Driver) Start(ctx context.Context) error {
	if err := d.prepare(); err != nil {
		return err
	}
	if err := d.configure(ctx); err != nil {
		return err
	}
	if err := d.write(ctx); err != nil {
		return err
	}
	unread := d.unread().Noted()
	for _, spec := range d.specs() {
		former := d.cfg.Supervisor.PID(spec.Name)
		err := d.cfg.Supervisor.Ensure(ctx, spec)
		// One that a former agent left running has read the former configuration.
		if err == nil && unread && former == d.cfg.Supervisor.PID(spec.Name) {
			err = d.cfg.Supervisor.Reload(ctx, spec.Name)
		}
		if err != nil {
			return fmt.Errorf("mail: %s: %w", spec.Name, err)
		}
	}
	if err := d.unread().Forget(); err != nil {
		return fmt.Errorf("mail: %w", err)
	}
	d.mu.Lock()
	d.running = true
	d.mu.Unlock()
	d.logs, d.stopLooking = startLogs(d), d.startLooking()
	return nil
}

// unread stands while the daemons may not have read their configuration and certificate.
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

// Close ends what the facility does in this process; the daemons go on.
func (d *Driver) Close() error {
	if d.logs != nil {
		d.stopLooking()
		d.logs.stop()
	}
	return nil
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
			Name: daemonDKIM, Command: []string{"/usr/sbin/opendkim", "-f", "-x", d.conf("opendkim.conf")},
			Reload: syscall.SIGUSR1, Ready: dials("unix", d.cfg.socket("dkim/milter")),
		},
		{
			Name: daemonDovecot, Command: []string{"/usr/sbin/dovecot", "-F", "-c", d.conf("dovecot.conf")},
			Stale:  []string{filepath.Join(d.cfg.Dir, "run", "master.pid")},
			Reload: syscall.SIGHUP, Ready: dials("unix", d.cfg.socket("lmtp")),
		},
		{
			// Postfix's first process itself: start-fg would leave it behind when it is told to stop.
			Name: daemonPostfix, Command: []string{"/usr/lib/postfix/sbin/master", "-c", d.conf("postfix"), "-s"},
			Reload: syscall.SIGHUP, Ready: dials("tcp", d.cfg.Submit),
		},
	}
}

// prepare makes the directories, with whose they are.
func (d *Driver) prepare() (err error) {
	i := &d.ids
	for _, u := range []struct {
		name     string
		uid, gid *int
	}{{"postfix", &i.postfixUID, &i.postfixGID}, {"dovecot", &i.dovecotUID, &i.dovecotGID}, {"opendkim", &i.dkimUID, &i.dkimGID}} {
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
		{filepath.Join(c.Dir, "s", "dkim"), 0o711, i.dkimUID, i.postfixGID},
		{filepath.Join(c.Dir, "dkim"), 0o711, 0, 0},
		{filepath.Join(c.Dir, "dkim", "keys"), 0o700, i.dkimUID, 0},
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

// configure writes the daemons' configuration and has it judged by their own checkers; what is refused
// is taken back.
func (d *Driver) configure(ctx context.Context) error {
	if err := d.certify(); err != nil {
		return err
	}
	files := map[string]string{
		d.conf("postfix", "main.cf"): d.cfg.postfixMain(), d.conf("postfix", "master.cf"): d.cfg.postfixMaster(),
		d.cfg.marked(): markedTable(), d.cfg.unmarked(): unmarkedTable(),
		d.conf("dovecot.conf"): d.cfg.dovecot(), d.conf("opendkim.conf"): d.cfg.opendkim(),
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
			err = place(file, []byte(content), 0o644, 0, 0)
		}
		if err != nil {
			return fmt.Errorf("mail: %w", err)
		}
	}
	// The tables must be there for the checkers; the first are empty.
	for _, name := range []string{tableKeys, tableSigning} {
		if _, err := os.Stat(d.cfg.table(name)); errors.Is(err, fs.ErrNotExist) {
			if err := place(d.cfg.table(name), nil, 0o600, d.ids.dkimUID, 0); err != nil {
				return fmt.Errorf("mail: %w", err)
			}
		}
	}
	checks := [][]string{
		{"/usr/sbin/postfix", "-c", d.conf("postfix"), "check"}, // makes what is missing of the queue, too
		{"/usr/bin/doveconf", "-n", "-c", d.conf("dovecot.conf")},
		{"/usr/sbin/opendkim", "-n", "-x", d.conf("opendkim.conf")},
	}
	for _, check := range checks {
		if err := run(ctx, nil, check...); err != nil {
			for file, old := range before {
				if old != nil {
					err = errors.Join(err, place(file, old, 0o644, 0, 0))
				}
			}
			return fmt.Errorf("mail: %w", err)
		}
	}
	return nil
}

// certify brings the certificate up to date.
func (d *Driver) certify() (err error) {
	chain, key, ok := []byte(nil), []byte(nil), false
	if d.cfg.Certificate != nil {
		chain, key, ok = d.cfg.Certificate(d.cfg.Hostname)
	}
	if ok {
		if _, err := tls.X509KeyPair(chain, key); err != nil {
			// Perhaps only one of them is the new one yet. With these nobody could sign in any more.
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
	// The one that has both comes last: it says that the others are there.
	for _, file := range []struct {
		name    string
		content []byte
	}{{"cert.pem", chain}, {"key.pem", key}, {"chain.pem", both}} {
		if err := place(filepath.Join(dir, file.name), file.content, 0o600, 0, 0); err != nil {
			return fmt.Errorf("mail: %w", err)
		}
	}
	return nil
}

// selfSigned is a certificate for who has no other: mail servers that send here take any, and mail
// programs ask their user.
func selfSigned(host string, now time.Time) (chain, key []byte, err error) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return nil, nil, err
	}
	template := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: host}, DNSNames: []string{host},
		NotBefore: now.Add(-time.Hour), NotAfter: now.AddDate(10, 0, 0),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		return nil, nil, err
	}
	pkcs8, err := x509.MarshalPKCS8PrivateKey(private)
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: pkcs8}), err
}

// verifyEvery is how long tables are trusted to be as they were written.
const verifyEvery = time.Minute

// write makes the tables as the records say. Tables that Dovecot reads come first: Postfix never accepts
// what Dovecot does not know yet.
func (d *Driver) write(ctx context.Context) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	t := d.cfg.render(d.store.All())
	now := d.cfg.Now()
	if d.verified.Add(verifyEvery).After(now) && !now.Before(d.verified) && t.same(d.written) {
		return nil
	}
	if err := d.put(ctx, t); err != nil {
		return fmt.Errorf("mail: tables: %w", err)
	}
	d.written, d.verified = t, now
	if !d.running {
		return nil
	}
	if err := d.certify(); err != nil || !d.unread().Noted() {
		return err
	}
	err := errors.Join(d.cfg.Supervisor.Reload(ctx, daemonDovecot), d.cfg.Supervisor.Reload(ctx, daemonPostfix))
	if err == nil {
		err = d.unread().Forget()
	}
	return err
}

func (d *Driver) put(ctx context.Context, t tables) error {
	dir := d.cfg.Dir
	signing := false
	for domain, k := range t.keys {
		changed, err := replace(filepath.Join(dir, "dkim", "keys", domain), []byte(k), 0o600, d.ids.dkimUID, 0)
		if err != nil {
			return err
		}
		signing = signing || changed
	}
	for uid, s := range t.submits {
		content, err := s.file()
		if err == nil {
			_, err = replace(filepath.Join(dir, "submit", strconv.Itoa(uid)), content, 0o640, 0, s.gid)
		}
		if err != nil {
			return err
		}
	}
	if err := d.putReplies(ctx, t.replies); err != nil {
		return err
	}
	for account, s := range d.store.All() {
		if len(s.Boxes) == 0 {
			continue
		}
		if err := d.directory(account, s); err != nil {
			return err
		}
	}
	users := false
	for _, name := range []string{tableUsers, tableCatchAll, tableIMAP, tablePOP3, tableSMTP, tableLimits} {
		changed, err := replace(d.cfg.table(name), []byte(t.files[name]), 0o640, 0, d.ids.dovecotGID)
		if err != nil {
			return err
		}
		users = users || changed
	}
	for _, name := range []string{tableKeys, tableSigning} {
		changed, err := replace(d.cfg.table(name), []byte(t.files[name]), 0o600, d.ids.dkimUID, 0)
		if err != nil {
			return err
		}
		signing = signing || changed
	}
	if signing && d.running {
		if err := d.cfg.Supervisor.Reload(ctx, daemonDKIM); err != nil {
			return err
		}
	}
	if users && d.running {
		if err := settle(ctx); err != nil {
			return err
		}
	}
	if err := d.putPostfix(ctx, t); err != nil {
		return err
	}
	return errors.Join(
		sweep(filepath.Join(dir, "dkim", "keys"), func(name string) bool { _, ok := t.keys[name]; return ok }),
		sweep(filepath.Join(dir, "submit"), func(name string) bool {
			for uid := range t.submits {
				if name == strconv.Itoa(uid) {
					return true
				}
			}
			return false
		}),
		sweep(filepath.Join(dir, "replies"), func(name string) bool {
			_, ok := t.replies[strings.TrimSuffix(strings.TrimSuffix(name, ".svbin"), ".sieve")]
			return ok
		}),
	)
}

// settle waits until Dovecot looks at its files anew: it does so once in a second.
func settle(ctx context.Context) error {
	const granularity = time.Second + 50*time.Millisecond
	return wait(ctx, granularity)
}

func wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// putPostfix replaces the tables of Postfix that changed: each in one step, by a new file, which
// Postfix's processes take for a reason to look anew.
func (d *Driver) putPostfix(ctx context.Context, t tables) error {
	var changed []string
	args := []string{"/usr/sbin/postmap", "-c", d.conf("postfix")}
	for _, name := range postfixTables {
		file := d.cfg.table(name)
		old, err := os.ReadFile(file)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		_, missing := os.Stat(file + ".db")
		if err == nil && missing == nil && string(old) == t.files[name] {
			continue
		}
		if err := place(file+".new", []byte(t.files[name]), 0o640, 0, d.ids.postfixGID); err != nil {
			return err
		}
		if err := os.Remove(file + ".new.db"); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		changed = append(changed, file)
		args = append(args, "hash:"+file+".new")
	}
	if len(changed) == 0 {
		return nil
	}
	if err := run(ctx, nil, args...); err != nil {
		return err
	}
	for _, file := range changed {
		err := os.Chown(file+".new.db", 0, d.ids.postfixGID)
		if err == nil {
			err = os.Chmod(file+".new.db", 0o640) //nolint:gosec // Postfix reads it by its group
		}
		if err == nil {
			err = os.Rename(file+".new.db", file+".db")
		}
		// The text comes last: it says that the table is made.
		if err == nil {
			err = os.Rename(file+".new", file)
		}
		if err != nil {
			return err
		}
	}
	// Who resolves addresses looks at the domains every ten seconds only; until then mail for a new one
	// would be refused.
	if d.running && (slices.Contains(changed, d.cfg.table(tableDomains)) || slices.Contains(changed, d.cfg.table(tableElsewhere))) {
		return d.cfg.Supervisor.Reload(ctx, daemonPostfix)
	}
	return nil
}

// putReplies writes the scripts that changed, compiled by Sieve's own compiler, which is their check.
func (d *Driver) putReplies(ctx context.Context, replies map[string]reply) error {
	for address, r := range replies {
		file := filepath.Join(d.cfg.Dir, "replies", address)
		old, err := os.ReadFile(file + ".sieve")
		_, compiled := os.Stat(file + ".svbin")
		if err == nil && compiled == nil && string(old) == r.script {
			continue
		}
		if err := place(file+".new.sieve", []byte(r.script), 0o640, 0, r.gid); err != nil {
			return err
		}
		compile := func(script string) error {
			return run(ctx, nil, "/usr/bin/sievec", "-c", d.conf("dovecot.conf"), script)
		}
		if err := compile(file + ".new.sieve"); err != nil {
			return errors.Join(err, os.Remove(file+".new.sieve"))
		}
		// What was compiled counts only when it is younger than the script, in seconds, and says the name
		// of the script; so it is compiled again in its place.
		made := d.cfg.Now().Add(-time.Minute)
		err = os.Chtimes(file+".new.sieve", made, made)
		if err == nil {
			err = os.Rename(file+".new.sieve", file+".sieve")
		}
		if err == nil {
			err = compile(file + ".sieve")
		}
		if err == nil {
			err = os.Chown(file+".svbin", 0, r.gid)
		}
		if err == nil {
			err = os.Chmod(file+".svbin", 0o640) //nolint:gosec // the account reads it by its group
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// same tells whether two sets of tables are alike.
func (t tables) same(o tables) bool {
	return maps.Equal(t.files, o.files) && maps.Equal(t.keys, o.keys) && maps.Equal(t.replies, o.replies) && maps.Equal(t.submits, o.submits)
}

// place writes a file whole, with its owner, before it has its name.
func place(file string, content []byte, mode fs.FileMode, uid, gid int) error {
	tmp := file + ".tmp"
	f, err := os.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	err = f.Chown(uid, gid)
	if err == nil {
		err = f.Chmod(mode)
	}
	if err == nil {
		_, err = f.Write(content)
	}
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return os.Rename(tmp, file)
}

// replace places a file unless it is so already.
func replace(file string, content []byte, mode fs.FileMode, uid, gid int) (changed bool, err error) {
	old, err := os.ReadFile(file)
	if err == nil && bytes.Equal(old, content) {
		return false, nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	return true, place(file, content, mode, uid, gid)
}

// sweep removes the files of a directory that nobody wants.
func sweep(dir string, wanted func(name string) bool) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if !wanted(e.Name()) {
			err = errors.Join(err, os.Remove(filepath.Join(dir, e.Name())))
		}
	}
	return err
}

// commandTimeout bounds the daemons' tools.
const commandTimeout = time.Minute

// run runs a tool; what it says is in the error.
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
