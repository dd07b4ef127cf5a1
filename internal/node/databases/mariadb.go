package databases

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/go-sql-driver/mysql"

	"stead.dev/stead/internal/node/daemon"
	"stead.dev/stead/internal/platform/atomicfile"
	"stead.dev/stead/internal/port/panel"
)

// mariaDB is the machine's own MariaDB server.
type mariaDB struct {
	Instance
	dir        string
	supervisor daemon.Supervisor
	key        []byte

	admin  atomic.Pointer[sql.DB] // nil until the server has started
	number atomic.Value           // version, a string
}

func newMariaDB(dir string, i Instance, s daemon.Supervisor, key []byte) *mariaDB {
	return &mariaDB{Instance: i, dir: dir, supervisor: s, key: key}
}

const mariaDBName = "mariadb"

func (m *mariaDB) socket() string { return filepath.Join(m.dir, "run", "mariadb.sock") }
func (m *mariaDB) data() string   { return filepath.Join(m.dir, "data") }
func (m *mariaDB) config() string { return filepath.Join(m.dir, "my.cnf") }
func (m *mariaDB) tmp() string    { return filepath.Join(m.dir, "tmp") }

// settings is the server's whole configuration; nothing of /etc is read.
func (m *mariaDB) settings() string {
	return fmt.Sprintf(`# Written by Stead; changes are lost.
[mysqld]
user = %s
datadir = %s
socket = %s
pid-file = %s
bind-address = 127.0.0.1
port = %d
symbolic-links = 0
local_infile = 0
secure_file_priv = %s
event_scheduler = OFF
performance_schema = OFF
character-set-server = utf8mb4
collation-server = utf8mb4_unicode_ci
max_connections = %d
max_allowed_packet = 64M
lock_wait_timeout = %d
innodb_buffer_pool_size = %dM
innodb_log_file_size = 32M
innodb_file_per_table = 1
tmpdir = %s
`, m.User, m.data(), m.socket(), filepath.Join(m.dir, "run", "mariadb.pid"), m.Port, filepath.Join(m.dir, "none"),
		m.MaxSessions, int(m.LockWait.Seconds()), m.MemoryMB, m.tmp())
}

func (m *mariaDB) start(ctx context.Context) error {
	for _, sub := range []struct {
		name string
		mode fs.FileMode
	}{{"run", 0o755}, {"tmp", 0o700}, {"none", 0o700}} {
		if err := ownDir(filepath.Join(m.dir, sub.name), m.User, sub.mode); err != nil {
			return fmt.Errorf("mariadb: %w", err)
		}
	}
	unread := daemon.Unread(filepath.Join(m.dir, "unread"))
	if err := unread.Write(m.config(), m.settings(), 0o644); err != nil {
		return fmt.Errorf("mariadb: %w", err)
	}
	if err := m.install(ctx); err != nil {
		return fmt.Errorf("mariadb: %w", err)
	}
	if m.admin.Load() == nil {
		admin, err := m.open("root", "", "")
		if err != nil {
			return fmt.Errorf("mariadb: %w", err)
		}
		admin.SetMaxOpenConns(4)
		m.admin.Store(admin)
	}
	program, err := find("mariadbd", "/usr/sbin", "/usr/libexec")
	if err != nil {
		return err
	}
	ran := m.supervisor.PID(mariaDBName) != 0
	err = m.supervisor.Ensure(ctx, daemon.Spec{
		Name: mariaDBName, User: m.User, Dir: m.dir, Command: []string{program, "--defaults-file=" + m.config()},
		Stop: syscall.SIGTERM, StopTimeout: time.Minute, StartTimeout: 2 * time.Minute, Ready: m.admin.Load().PingContext,
	})
	if err == nil && ran && unread.Noted() {
		err = m.supervisor.Restart(ctx, mariaDBName)
	}
	if err == nil {
		err = unread.Forget()
	}
	if err != nil {
		return err
	}
	return m.secure(ctx)
}

// install creates the server's own tables, in a directory that is renamed when it is complete.
func (m *mariaDB) install(ctx context.Context) error {
	if _, err := os.Stat(m.data()); err == nil {
		return nil
	}
	fresh := m.data() + ".new"
	if err := os.RemoveAll(fresh); err != nil {
		return err
	}
	if err := ownDir(fresh, m.User, 0o700); err != nil {
		return err
	}
	program, err := find("mariadb-install-db", "/usr/bin")
	if err != nil {
		return err
	}
	// The superuser is root, known by its socket; it has no password. A server removes the temporary tables of
	// others that have the same directory for them, so it is never /tmp.
	cmd := exec.CommandContext(ctx, program, "--no-defaults", "--user="+m.User, "--datadir="+fresh, //nolint:gosec // of Debian, with names of our own
		"--auth-root-authentication-method=socket", "--auth-root-socket-user=root", "--skip-test-db", "--skip-name-resolve")
	cmd.Env = append(cmd.Environ(), "TMPDIR="+m.tmp())
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, lastLine(out))
	}
	if err := os.Rename(fresh, m.data()); err != nil {
		return err
	}
	return atomicfile.SyncDir(m.dir)
}

// secure removes unknown users, and reads the version.
func (m *mariaDB) secure(ctx context.Context) error {
	version, err := m.strings(ctx, "SELECT VERSION()")
	if err != nil {
		return err
	}
	number, _, _ := strings.Cut(strings.Join(version, ""), "-MariaDB")
	m.number.Store(number + "-MariaDB")
	// Tables of another origin may have objects that a present installation does not.
	rows, err := m.strings(ctx, "SELECT CONCAT(QUOTE(User), '@', QUOTE(Host)) FROM mysql.global_priv WHERE User = '' AND Host <> ''")
	if err != nil {
		return fmt.Errorf("mariadb: %w", err)
	}
	for _, anonymous := range rows {
		if err := m.exec(ctx, "DROP USER "+anonymous); err != nil {
			return err
		}
	}
	return nil
}

func (m *mariaDB) stop(ctx context.Context) error {
	var err error
	if admin := m.admin.Swap(nil); admin != nil {
		err = admin.Close()
	}
	return errors.Join(err, m.supervisor.Stop(ctx, mariaDBName))
}

func (m *mariaDB) version() string {
	number, _ := m.number.Load().(string) // empty until the server has run
	return number
}

func (m *mariaDB) port() int { return m.Port }

// pool is the agent's own sessions.
func (m *mariaDB) pool() (*sql.DB, error) {
	if admin := m.admin.Load(); admin != nil {
		return admin, nil
	}
	return nil, fmt.Errorf("mariadb: %w: the server was not started", panel.ErrUnreachable)
}

func (m *mariaDB) verifier(password string) (string, error) { return nativeVerifier(password), nil }

// open connects by the socket.
func (m *mariaDB) open(user, password, database string) (*sql.DB, error) {
	c := mysql.NewConfig()
	c.User, c.Passwd, c.DBName = user, password, database
	c.Net, c.Addr = "unix", m.socket()
	c.AllowNativePasswords, c.AllowAllFiles, c.MultiStatements, c.InterpolateParams = true, false, false, true
	c.MaxAllowedPacket = 64 << 20
	c.Logger = &mysql.NopLogger{}
	connector, err := mysql.NewConnector(c)
	if err != nil {
		return nil, err
	}
	return sql.OpenDB(connector), nil
}

func (m *mariaDB) exec(ctx context.Context, statement string) error {
	admin, err := m.pool()
	if err != nil {
		return err
	}
	if _, err := admin.ExecContext(ctx, statement); err != nil {
		return m.failure(err)
	}
	return nil
}

// failure classifies the failure of the agent's own statement.
func (m *mariaDB) failure(err error) error {
	var e *mysql.MySQLError
	if errors.As(err, &e) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("mariadb: %w", err)
	}
	return fmt.Errorf("mariadb: %w: %w", panel.ErrUnreachable, err)
}

// strings reads a column of text.
func (m *mariaDB) strings(ctx context.Context, query string, args ...any) ([]string, error) {
	admin, err := m.pool()
	if err != nil {
		return nil, err
	}
	rows, err := admin.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, m.failure(err)
	}
	defer rows.Close()
	var all []string
	for rows.Next() {
		var s string
		if err := rows.Scan(&s); err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, rows.Err()
}

func (m *mariaDB) present(ctx context.Context, names []string) (map[string]bool, error) {
	there := map[string]bool{}
	for _, name := range names {
		found, err := m.strings(ctx, "SELECT SCHEMA_NAME FROM information_schema.SCHEMATA WHERE SCHEMA_NAME = ?", name)
		if err != nil {
			return nil, err
		}
		there[name] = len(found) > 0
	}
	return there, nil
}

func (m *mariaDB) create(ctx context.Context, name, charset string) error {
	if err := m.exec(ctx, "DROP DATABASE IF EXISTS `"+name+"`"); err != nil {
		return err
	}
	return m.exec(ctx, "CREATE DATABASE `"+name+"` CHARACTER SET "+charset)
}

// The privileges for a full database: reading, and what frees space. Without the last two the server dumps no trigger
// and no event; they do not allow more writes.
const fullPrivileges = "SELECT, DELETE, DROP, LOCK TABLES, SHOW VIEW, EVENT, TRIGGER"

func (m *mariaDB) privileges(h hold) []string {
	if h == holdNone {
		return []string{"ALL"}
	}
	return strings.Split(fullPrivileges, ", ")
}

// account names a user in statements.
func (m *mariaDB) account(name string) string { return "`" + name + "`@`localhost`" }

// wanted returns the user and its grants, in the form of SHOW CREATE USER and SHOW GRANTS. The second verifier is of
// the agent's own password.
func (m *mariaDB) wanted(l login) (create string, grant string) {
	own := "mysql_native_password USING '" + nativeVerifier(derive(m.key, l.name)) + "'"
	via := own + " OR " + own // a single one is shown differently
	if !l.closed {
		via = "mysql_native_password USING '" + l.verifier + "' OR " + own
	}
	privileges := "ALL PRIVILEGES"
	if l.hold != holdNone {
		privileges = fullPrivileges
	}
	return fmt.Sprintf("USER %s IDENTIFIED VIA %s"+maxSessions+"%d", m.account(l.name), via, m.sessions(l.among)),
		// The name is a pattern there: an unescaped underscore matches any character.
		fmt.Sprintf("GRANT %s ON `%s`.* TO %s", privileges, strings.ReplaceAll(l.name, "_", `\_`), m.account(l.name))
}

const maxSessions = " WITH MAX_USER_CONNECTIONS "

// bound changes the number of sessions of a user, when only that differs: existing sessions stay.
func (m *mariaDB) bound(ctx context.Context, l login) error {
	now, err := m.strings(ctx, "SHOW CREATE USER "+m.account(l.name))
	var e *mysql.MySQLError
	if errors.As(err, &e) || err == nil && len(now) != 1 {
		return nil // it will be created again
	}
	if err != nil {
		return err
	}
	create, _ := m.wanted(l)
	want, _, _ := strings.Cut("CREATE "+create, maxSessions)
	if have, number, _ := strings.Cut(now[0], maxSessions); have != want || number == strconv.Itoa(m.sessions(l.among)) {
		return nil
	}
	return m.exec(ctx, "ALTER USER "+m.account(l.name)+maxSessions+strconv.Itoa(m.sessions(l.among)))
}

// has reports whether the user and its grants are as wanted.
func (m *mariaDB) has(ctx context.Context, l login) (bool, error) {
	users, err := m.strings(ctx, "SELECT Host FROM mysql.global_priv WHERE User = ?", l.name)
	if err != nil || !slices.Equal(users, []string{"localhost"}) {
		return false, err
	}
	create, grant := m.wanted(l)
	now, err := m.strings(ctx, "SHOW CREATE USER "+m.account(l.name))
	if err != nil {
		return false, err
	}
	// Apart from its own password, the statement that creates it says everything but its grants.
	if len(now) != 1 || now[0] != "CREATE "+create {
		return false, nil
	}
	grants, err := m.strings(ctx, "SHOW GRANTS FOR "+m.account(l.name))
	if err != nil {
		return false, err
	}
	for i, g := range grants {
		grants[i] = strings.ReplaceAll(g, `\\_`, `\_`) // depends on the SQL mode in which they are shown
	}
	return len(grants) == 2 && strings.HasPrefix(grants[0], "GRANT USAGE ON *.* TO "+m.account(l.name)+" ") && grants[1] == grant, nil
}

func (m *mariaDB) apply(ctx context.Context, l login) error {
	ok, err := m.has(ctx, l)
	if err == nil && !ok {
		if err = m.bound(ctx, l); err == nil {
			ok, err = m.has(ctx, l)
		}
	}
	if err != nil || ok {
		return err
	}
	hosts, err := m.strings(ctx, "SELECT QUOTE(Host) FROM mysql.global_priv WHERE User = ? AND Host <> 'localhost'", l.name)
	if err != nil {
		return err
	}
	for _, host := range hosts {
		if err := m.exec(ctx, "DROP USER `"+l.name+"`@"+host); err != nil {
			return err
		}
	}
	create, grant := m.wanted(l)
	// Replacing removes all grants and roles that somebody added.
	if err := m.exec(ctx, "CREATE OR REPLACE "+create); err != nil {
		return err
	}
	if err := m.exec(ctx, grant); err != nil {
		return err
	}
	if err := m.endSessions(ctx, l.name); err != nil {
		return err
	}
	if ok, err = m.has(ctx, l); err != nil || ok {
		return err
	}
	return fmt.Errorf("mariadb: user %s is not as it was made", l.name)
}

// endSessions ends a user's sessions, which still have the former rights.
func (m *mariaDB) endSessions(ctx context.Context, name string) error {
	ids, err := m.strings(ctx, "SELECT ID FROM information_schema.PROCESSLIST WHERE USER = ?", name)
	if err != nil {
		return err
	}
	for _, id := range ids {
		var e *mysql.MySQLError
		const noSuchThread = 1094
		if err := m.exec(ctx, "KILL CONNECTION "+id); err != nil && (!errors.As(err, &e) || e.Number != noSuchThread) {
			return err
		}
	}
	return nil
}

func (m *mariaDB) drop(ctx context.Context, name string) error {
	if err := m.dropUser(ctx, name); err != nil {
		return err
	}
	return m.exec(ctx, "DROP DATABASE IF EXISTS `"+name+"`")
}

func (m *mariaDB) dropUser(ctx context.Context, name string) error {
	accounts, err := m.strings(ctx, "SELECT CONCAT(QUOTE(User), '@', QUOTE(Host)) FROM mysql.global_priv WHERE User = ?", name)
	if err != nil {
		return err
	}
	for _, a := range accounts {
		if err := m.exec(ctx, "DROP USER "+a); err != nil {
			return err
		}
	}
	return m.endSessions(ctx, name)
}

func (m *mariaDB) others(ctx context.Context, prefix string, but []string) (users, databases []string, err error) {
	users, err = m.strings(ctx, "SELECT DISTINCT User FROM mysql.global_priv WHERE LEFT(User, ?) = ?", len(prefix), prefix)
	if err != nil {
		return nil, nil, err
	}
	databases, err = m.strings(ctx, "SELECT SCHEMA_NAME FROM information_schema.SCHEMATA WHERE LEFT(SCHEMA_NAME, ?) = ?", len(prefix), prefix)
	known := func(name string) bool { return slices.Contains(but, name) || !safe(name) }
	return slices.DeleteFunc(users, known), slices.DeleteFunc(databases, known), err
}

// size counts what the files of the database occupy; its directory is flat. Whether it is full is
// another question: files do not shrink when rows are deleted, so then the server is asked how much is
// in use. Only of a database that is too large, because it opens all its tables for the answer.
func (m *mariaDB) size(ctx context.Context, name string, most int64) (int64, hold, error) {
	files, err := os.ReadDir(filepath.Join(m.data(), name))
	if err != nil {
		return 0, holdNone, err
	}
	var occupied int64
	for _, f := range files {
		if info, err := f.Info(); err == nil { // a table may have gone meanwhile
			if s, ok := info.Sys().(*syscall.Stat_t); ok {
				occupied += s.Blocks * 512
			}
		}
	}
	if most == 0 || occupied <= most {
		return occupied, holdNone, nil
	}
	admin, err := m.pool()
	if err != nil {
		return 0, holdNone, err
	}
	var used int64
	err = admin.QueryRowContext(ctx, `SELECT COALESCE(SUM(DATA_LENGTH + INDEX_LENGTH), 0) FROM information_schema.TABLES
		WHERE TABLE_SCHEMA = ?`, name).Scan(&used)
	if err != nil {
		return 0, holdNone, m.failure(err)
	}
	if used <= most {
		return occupied, holdNone, nil
	}
	return occupied, holdGrowth, nil
}

// dump runs Debian's program as the server's user. It passes the agent's password by a pipe: process arguments are
// visible to everybody.
func (m *mariaDB) dump(ctx context.Context, name string) (io.ReadCloser, error) {
	program, err := find("mariadb-dump", "/usr/bin")
	if err != nil {
		return nil, err
	}
	options := fmt.Sprintf("[client]\nuser=%s\npassword=%s\nsocket=%s\n", name, derive(m.key, name), m.socket())
	return startDump(ctx, m.User, m.dir, options, program, "--defaults-file=/dev/fd/3",
		"--single-transaction", "--quick", "--routines", "--triggers", "--events", "--hex-blob", "--no-tablespaces",
		"--default-character-set=utf8mb4", "--max-allowed-packet=64M", "--add-drop-table", "--", name)
}

// load runs the statements of a script one after the other.
func (m *mariaDB) load(ctx context.Context, name string, script io.Reader) error {
	own, err := m.open(name, derive(m.key, name), name)
	if err != nil {
		return err
	}
	defer own.Close()
	session, err := own.Conn(ctx)
	if err != nil {
		return m.failure(err)
	}
	defer session.Close()
	statements := newMySQLScript(script)
	for {
		statement, err := statements.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if _, err := session.ExecContext(ctx, statement); err != nil {
			var e *mysql.MySQLError
			const empty = 1065 // a comment for another version
			if errors.As(err, &e) && e.Number == empty {
				continue
			}
			if e != nil {
				return fmt.Errorf("%w: line %d: %s", panel.ErrInvalid, statements.line, e.Message)
			}
			return m.failure(err)
		}
	}
}

// lastLine is the last line of a program's output.
func lastLine(out []byte) string {
	lines := bytes.Split(bytes.TrimSpace(out), []byte("\n"))
	return string(lines[len(lines)-1])
}
