package databases

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"stead.dev/stead/internal/node/daemon"
	"stead.dev/stead/internal/platform/atomicfile"
	"stead.dev/stead/internal/port/panel"
)

// postgres is the machine's own PostgreSQL server.
type postgres struct {
	Instance
	dir        string
	supervisor daemon.Supervisor
	agent      string // the user of this process

	mu     sync.Mutex                   // guards the identity map
	admin  atomic.Pointer[pgxpool.Pool] // nil until the server has started
	number atomic.Value                 // version, a string
}

func newPostgres(dir string, i Instance, s daemon.Supervisor) *postgres {
	return &postgres{Instance: i, dir: dir, supervisor: s}
}

const (
	postgresName = "postgresql"
	// superuser is the agent's role. Names of customers' roles contain an underscore.
	superuser = "stead"
)

func (p *postgres) data() string   { return filepath.Join(p.dir, "data") }
func (p *postgres) run() string    { return filepath.Join(p.dir, "run") }
func (p *postgres) config() string { return filepath.Join(p.dir, "postgresql.conf") }
func (p *postgres) hba() string    { return filepath.Join(p.dir, "pg_hba.conf") }
func (p *postgres) ident() string  { return filepath.Join(p.dir, "pg_ident.conf") }

func (p *postgres) settings() string {
	return fmt.Sprintf(`# Written by Stead; changes are lost.
data_directory = '%s'
hba_file = '%s'
ident_file = '%s'
listen_addresses = '127.0.0.1'
port = %d
unix_socket_directories = '%s'
unix_socket_permissions = 0700
password_encryption = scram-sha-256
max_connections = %d
shared_buffers = %dMB
temp_file_limit = 2GB
dynamic_shared_memory_type = posix
max_worker_processes = 8
logging_collector = off
log_destination = stderr
log_min_messages = warning
log_min_error_statement = panic
log_statement = none
timezone = 'UTC'
`, p.data(), p.hba(), p.ident(), p.Port, p.run(), p.MaxSessions, p.MemoryMB)
}

// access says who gets in: by the socket, whose directory only root and the server enter, the agent,
// as whoever it is listed for; from the machine everybody by password into the database of its name,
// but the superuser.
const access = `# Written by Stead; changes are lost.
local all all peer map=agent
host all ` + superuser + ` all reject
host sameuser all 127.0.0.1/32 scram-sha-256
host sameuser all ::1/128 scram-sha-256
`

// programs is the directory of the programs for the server's data, or for new data.
func (p *postgres) programs() (string, error) {
	version, err := os.ReadFile(filepath.Join(p.data(), "PG_VERSION"))
	if err == nil {
		return filepath.Join("/usr/lib/postgresql", strings.TrimSpace(string(version)), "bin"), nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	found, err := filepath.Glob("/usr/lib/postgresql/[0-9]*/bin")
	if err != nil || len(found) == 0 {
		return "", fmt.Errorf("databases: no PostgreSQL is installed")
	}
	slices.SortFunc(found, func(a, b string) int { // 9 before 15: two digits or one, no more
		if len(a) != len(b) {
			return len(a) - len(b)
		}
		return strings.Compare(a, b)
	})
	return found[len(found)-1], nil
}

func (p *postgres) start(ctx context.Context) error {
	who, err := user.Current()
	if err != nil {
		return fmt.Errorf("postgresql: %w", err)
	}
	p.mu.Lock()
	p.agent = who.Username
	p.mu.Unlock()
	if err := ownDir(p.run(), p.User, 0o700); err != nil {
		return fmt.Errorf("postgresql: %w", err)
	}
	unread := daemon.Unread(filepath.Join(p.dir, "unread"))
	for file, content := range map[string]string{p.config(): p.settings(), p.hba(): access} {
		if err := unread.Write(file, content, 0o644); err != nil {
			return fmt.Errorf("postgresql: %w", err)
		}
	}
	if _, err := os.Stat(p.ident()); errors.Is(err, fs.ErrNotExist) {
		if err := p.writeIdentities(p.identities(nil)); err != nil {
			return fmt.Errorf("postgresql: %w", err)
		}
	} else if err := p.protect(p.ident()); err != nil {
		return fmt.Errorf("postgresql: %w", err)
	}
	if err := p.install(ctx); err != nil {
		return fmt.Errorf("postgresql: %w", err)
	}
	programs, err := p.programs()
	if err != nil {
		return err
	}
	if p.admin.Load() == nil {
		c, err := pgxpool.ParseConfig(p.address(superuser, "postgres"))
		if err != nil {
			return fmt.Errorf("postgresql: %w", err)
		}
		c.MaxConns = 4
		admin, err := pgxpool.NewWithConfig(context.WithoutCancel(ctx), c)
		if err != nil {
			return fmt.Errorf("postgresql: %w", err)
		}
		p.admin.Store(admin)
	}
	ran := p.supervisor.PID(postgresName) != 0
	err = p.supervisor.Ensure(ctx, daemon.Spec{
		Name: postgresName, User: p.User, Dir: p.dir,
		Command: []string{filepath.Join(programs, "postgres"), "-D", p.data(), "-c", "config_file=" + p.config()},
		Reload:  syscall.SIGHUP, Stop: syscall.SIGINT, StopTimeout: time.Minute, StartTimeout: 2 * time.Minute, Ready: p.admin.Load().Ping,
	})
	if err == nil && ran && unread.Noted() {
		err = p.supervisor.Restart(ctx, postgresName)
	}
	if err == nil {
		err = unread.Forget()
	}
	if err != nil {
		return err
	}
	return p.secure(ctx)
}

// install creates the server's own tables, in a directory that is renamed when it is complete.
func (p *postgres) install(ctx context.Context) error {
	if _, err := os.Stat(p.data()); err == nil {
		return nil
	}
	fresh := p.data() + ".new"
	if err := os.RemoveAll(fresh); err != nil {
		return err
	}
	if err := ownDir(fresh, p.User, 0o700); err != nil {
		return err
	}
	programs, err := p.programs()
	if err != nil {
		return err
	}
	cmd, err := command(ctx, p.User, fresh, filepath.Join(programs, "initdb"), "-D", fresh, "-U", superuser,
		"--auth-local=peer", "--auth-host=reject", "--encoding=UTF8", "--locale=C.UTF-8", "--data-checksums")
	if err != nil {
		return err
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, lastLine(out))
	}
	if err := os.Rename(fresh, p.data()); err != nil {
		return err
	}
	return atomicfile.SyncDir(p.dir)
}

// secure restricts a new server, and reads the version.
func (p *postgres) secure(ctx context.Context) error {
	version, err := p.strings(ctx, "SELECT current_setting('server_version')")
	if err != nil {
		return err
	}
	number, _, _ := strings.Cut(strings.Join(version, ""), " ")
	p.number.Store(number)
	statements, err := p.strings(ctx, `SELECT format('REVOKE ALL ON DATABASE %I FROM PUBLIC', datname) FROM pg_database
		WHERE datacl IS NULL OR EXISTS (SELECT 1 FROM aclexplode(datacl) WHERE grantee = 0)`)
	if err != nil {
		return err
	}
	if err := p.exec(ctx, statements...); err != nil {
		return err
	}
	return p.identify(ctx)
}

func (p *postgres) stop(ctx context.Context) error {
	if admin := p.admin.Swap(nil); admin != nil {
		admin.Close()
	}
	return p.supervisor.Stop(ctx, postgresName)
}

func (p *postgres) version() string {
	number, _ := p.number.Load().(string) // empty until the server ran
	return number
}

func (p *postgres) port() int { return p.Port }

// pool is the agent's own sessions.
func (p *postgres) pool() (*pgxpool.Pool, error) {
	if admin := p.admin.Load(); admin != nil {
		return admin, nil
	}
	return nil, fmt.Errorf("postgresql: %w: the server was not started", panel.ErrUnreachable)
}

func (p *postgres) verifier(password string) (string, error) { return scramVerifier(password) }

// address is the agent's connection string. It depends on no environment.
func (p *postgres) address(role, database string) string {
	return fmt.Sprintf("host=%s port=%d user=%s dbname=%s sslmode=disable password='' passfile='' application_name=stead",
		p.run(), p.Port, role, database)
}

func (p *postgres) exec(ctx context.Context, statements ...string) error {
	admin, err := p.pool()
	if err != nil {
		return err
	}
	for _, s := range statements {
		// The simple protocol: some of these statements cannot be prepared.
		if _, err := admin.Exec(ctx, s, pgx.QueryExecModeSimpleProtocol); err != nil {
			return p.failure(err)
		}
	}
	return nil
}

// failure classifies the failure of the agent's own statement.
func (p *postgres) failure(err error) error {
	var e *pgconn.PgError
	if errors.As(err, &e) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("postgresql: %w", err)
	}
	return fmt.Errorf("postgresql: %w: %w", panel.ErrUnreachable, err)
}

// strings reads a column of text.
func (p *postgres) strings(ctx context.Context, query string, args ...any) ([]string, error) {
	admin, err := p.pool()
	if err != nil {
		return nil, err
	}
	rows, err := admin.Query(ctx, query, args...)
	if err != nil {
		return nil, p.failure(err)
	}
	all, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return nil, p.failure(err)
	}
	return all, nil
}

func quote(name string) string { return pgx.Identifier{name}.Sanitize() }

func (p *postgres) present(ctx context.Context, names []string) (map[string]bool, error) {
	found, err := p.strings(ctx, "SELECT datname::text FROM pg_database WHERE datname = ANY($1)", names)
	there := map[string]bool{}
	for _, name := range found {
		there[name] = true
	}
	return there, err
}

func (p *postgres) create(ctx context.Context, name, charset string) error {
	locale := "C"
	if charset == "UTF8" {
		locale = "C.UTF-8"
	}
	roles, err := p.strings(ctx, "SELECT rolname::text FROM pg_roles WHERE rolname = $1", name)
	if err != nil {
		return err
	}
	if len(roles) == 0 {
		if err := p.exec(ctx, "CREATE ROLE "+quote(name)+" NOLOGIN"); err != nil {
			return err
		}
	}
	// pg_hba.conf admits nobody else meanwhile either.
	if err := p.exec(ctx, "DROP DATABASE IF EXISTS "+quote(name)+" WITH (FORCE)",
		fmt.Sprintf("CREATE DATABASE %s OWNER %s TEMPLATE template0 ENCODING '%s' LOCALE '%s'", quote(name), superuser, charset, locale),
		"REVOKE ALL ON DATABASE "+quote(name)+" FROM PUBLIC"); err != nil {
		return err
	}
	within, err := pgx.Connect(ctx, p.address(superuser, name))
	if err != nil {
		return p.failure(err)
	}
	_, err = within.Exec(ctx, "ALTER SCHEMA public OWNER TO "+quote(name))
	return errors.Join(err, within.Close(ctx))
}

func (p *postgres) privileges(h hold) []string {
	if h == holdNone {
		return []string{"CONNECT", "CREATE", "TEMPORARY"}
	}
	return []string{"CONNECT"}
}

// found is the server's present state of a role and its database.
type found struct {
	attributes string
	sessions   int
	verifier   string
	members    int // roles that it is a member of, or that are members of it
	owner      string
	acl        []string
	readOnly   bool
}

const noAttributes = "false false false true false false true"

func (p *postgres) found(ctx context.Context, name string) (f found, err error) {
	admin, err := p.pool()
	if err != nil {
		return f, err
	}
	err = admin.QueryRow(ctx, `SELECT
			concat_ws(' ', r.rolsuper::text, r.rolcreaterole::text, r.rolcreatedb::text, r.rolcanlogin::text, r.rolreplication::text,
				r.rolbypassrls::text, (r.rolvaliduntil IS NULL OR r.rolvaliduntil = 'infinity')::text),
			r.rolconnlimit, COALESCE(r.rolpassword, ''),
			(SELECT count(*) FROM pg_auth_members m WHERE m.member = r.oid OR m.roleid = r.oid),
			pg_get_userbyid(d.datdba)::text,
			ARRAY(SELECT a::text FROM unnest(COALESCE(d.datacl, acldefault('d', d.datdba))) a ORDER BY 1),
			EXISTS (SELECT 1 FROM pg_db_role_setting s WHERE s.setdatabase = d.oid AND s.setrole = 0
				AND 'default_transaction_read_only=on' = ANY(s.setconfig))
		FROM pg_authid r JOIN pg_database d ON d.datname = r.rolname WHERE r.rolname = $1`, name).
		Scan(&f.attributes, &f.sessions, &f.verifier, &f.members, &f.owner, &f.acl, &f.readOnly)
	if errors.Is(err, pgx.ErrNoRows) {
		return found{}, nil
	}
	if err != nil {
		return f, p.failure(err)
	}
	return f, nil
}

func (p *postgres) wanted(l login) found {
	f := found{
		attributes: noAttributes, sessions: p.sessions(l.among), verifier: l.verifier, owner: superuser, readOnly: l.hold != holdNone,
		acl: []string{superuser + "=CTc/" + superuser, l.name + "=CTc/" + superuser},
	}
	if l.closed {
		f.verifier = ""
	}
	slices.Sort(f.acl)
	return f
}

func (f found) equal(o found) bool {
	return slices.Equal(f.acl, o.acl) && f.attributes == o.attributes && f.sessions == o.sessions && f.verifier == o.verifier && f.members == o.members &&
		f.owner == o.owner && f.readOnly == o.readOnly
}

func (p *postgres) apply(ctx context.Context, l login) error {
	want := p.wanted(l)
	now, err := p.found(ctx, l.name)
	if err != nil || now.equal(want) {
		return err
	}
	alike := now
	if alike.sessions = want.sessions; alike.equal(want) {
		return p.exec(ctx, fmt.Sprintf("ALTER ROLE %s CONNECTION LIMIT %d", quote(l.name), want.sessions))
	}
	if now.attributes == "" {
		// Recreate the role after somebody dropped it; its objects went with it, or it could not have been dropped.
		roles, err := p.strings(ctx, "SELECT rolname::text FROM pg_roles WHERE rolname = $1", l.name)
		if err != nil {
			return err
		}
		if len(roles) == 0 {
			if err := p.exec(ctx, "CREATE ROLE "+quote(l.name)+" NOLOGIN"); err != nil {
				return err
			}
		}
	}
	password := "NULL"
	if want.verifier != "" {
		password = "'" + want.verifier + "'"
	}
	more, err := p.strings(ctx, `SELECT format('REVOKE %I FROM %I', g.rolname, u.rolname) FROM pg_auth_members m
			JOIN pg_roles g ON g.oid = m.roleid JOIN pg_roles u ON u.oid = m.member WHERE $1 IN (g.rolname, u.rolname)
		UNION ALL SELECT DISTINCT format('REVOKE ALL ON DATABASE %I FROM %s CASCADE', d.datname,
			CASE a.grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(a.grantee)) END)
			FROM pg_database d, aclexplode(d.datacl) a WHERE d.datname = $1 AND a.grantee <> d.datdba`, l.name)
	if err != nil {
		return err
	}
	readOnly := "RESET default_transaction_read_only"
	if want.readOnly {
		readOnly = "SET default_transaction_read_only = on"
	}
	steps := slices.Concat([]string{
		fmt.Sprintf(`ALTER ROLE %s NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION NOBYPASSRLS LOGIN CONNECTION LIMIT %d PASSWORD %s
			VALID UNTIL 'infinity'`, quote(l.name), want.sessions, password),
		fmt.Sprintf("ALTER DATABASE %s OWNER TO %s", quote(l.name), superuser),
	}, more, []string{
		fmt.Sprintf("REVOKE ALL ON DATABASE %s FROM PUBLIC", quote(l.name)),
		fmt.Sprintf("GRANT CONNECT, CREATE, TEMPORARY ON DATABASE %s TO %s", quote(l.name), quote(l.name)),
		fmt.Sprintf("ALTER DATABASE %s %s", quote(l.name), readOnly),
	})
	if err := p.exec(ctx, steps...); err != nil {
		return err
	}
	if err := p.endSessions(ctx, l.name); err != nil {
		return err
	}
	if err := p.admit(ctx, l.name); err != nil {
		return err
	}
	if now, err = p.found(ctx, l.name); err != nil || now.equal(want) {
		return err
	}
	return fmt.Errorf("postgresql: role %s is not as it was made", l.name)
}

func (p *postgres) endSessions(ctx context.Context, name string) error {
	admin, err := p.pool()
	if err != nil {
		return err
	}
	_, err = admin.Exec(ctx, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = $1", name)
	if err != nil {
		return p.failure(err)
	}
	return nil
}

// identities lists the roles as which the agent may connect: itself and every customer's. Work on customers' data is
// done as their role.
func (p *postgres) identities(roles []string) string {
	var b strings.Builder
	b.WriteString("# Written by Stead; changes are lost.\n")
	for _, role := range append([]string{superuser}, roles...) {
		for _, who := range slices.Compact([]string{p.agent, p.User}) {
			fmt.Fprintf(&b, "agent \"%s\" %s\n", who, role)
		}
	}
	return b.String()
}

// writeIdentities writes the map, which names all databases of the machine, readable by the server alone.
func (p *postgres) writeIdentities(content string) error {
	c, err := credential(p.User)
	if err != nil {
		return err
	}
	if c == nil {
		return atomicfile.Write(p.ident(), []byte(content), 0o640)
	}
	return atomicfile.WriteOwned(p.ident(), []byte(content), 0o640, 0, int(c.Gid)) // the server's group is no customer's
}

// protect makes a file readable by the server and writable by the agent.
func (p *postgres) protect(file string) error {
	c, err := credential(p.User)
	if err != nil {
		return err
	}
	if c != nil {
		if err := os.Chown(file, 0, int(c.Gid)); err != nil {
			return err
		}
	}
	return os.Chmod(file, 0o640) //nolint:gosec // G302: the server's group is no customer's
}

// identify writes the map again when it does not match the existing roles.
func (p *postgres) identify(ctx context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	roles, err := p.strings(ctx, `SELECT rolname::text FROM pg_roles WHERE rolname LIKE '%\_%' AND rolname NOT LIKE 'pg\_%' ORDER BY 1`)
	if err != nil {
		return err
	}
	roles = slices.DeleteFunc(roles, func(name string) bool { return !safe(name) })
	content := p.identities(roles)
	if now, err := os.ReadFile(p.ident()); err == nil && string(now) == content {
		return nil
	}
	if err := p.writeIdentities(content); err != nil {
		return err
	}
	if err := p.exec(ctx, "SELECT pg_reload_conf()"); err != nil {
		return err
	}
	return nil
}

// admit makes sure that the agent may use the role. The server reads the map some time after the signal, so admit
// retries.
func (p *postgres) admit(ctx context.Context, name string) error {
	if err := p.identify(ctx); err != nil {
		return err
	}
	pause := 5 * time.Millisecond
	for {
		own, err := pgconn.Connect(ctx, p.address(name, name))
		if err == nil {
			return own.Close(ctx)
		}
		const most = time.Second
		if pause > most {
			return fmt.Errorf("postgresql: the agent cannot be %s: %w", name, err)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pause):
		}
		pause *= 2
	}
}

func (p *postgres) drop(ctx context.Context, name string) error {
	if err := p.exec(ctx, "DROP DATABASE IF EXISTS "+quote(name)+" WITH (FORCE)"); err != nil {
		return err
	}
	return p.dropUser(ctx, name)
}

func (p *postgres) dropUser(ctx context.Context, name string) error {
	err := p.exec(ctx, "DROP ROLE IF EXISTS "+quote(name))
	var e *pgconn.PgError
	const dependent = "2BP01"
	if errors.As(err, &e) && e.Code == dependent { // it owns something in a database without a record
		err = p.exec(ctx, "ALTER ROLE "+quote(name)+" NOLOGIN PASSWORD NULL")
	}
	if err != nil {
		return err
	}
	if err := p.endSessions(ctx, name); err != nil {
		return err
	}
	return p.identify(ctx)
}

func (p *postgres) others(ctx context.Context, prefix string, but []string) (users, databases []string, err error) {
	users, err = p.strings(ctx, "SELECT rolname::text FROM pg_roles WHERE rolcanlogin AND starts_with(rolname::text, $1)", prefix)
	if err != nil {
		return nil, nil, err
	}
	databases, err = p.strings(ctx, "SELECT datname::text FROM pg_database WHERE starts_with(datname::text, $1)", prefix)
	known := func(name string) bool { return slices.Contains(but, name) || !safe(name) }
	return slices.DeleteFunc(users, known), slices.DeleteFunc(databases, known), err
}

// size also restricts a user at twice the bound: a user can undo that its transactions are read-only, and is then
// refused connections.
func (p *postgres) size(ctx context.Context, name string, most int64) (bytes int64, full hold, err error) {
	admin, err := p.pool()
	if err != nil {
		return 0, holdNone, err
	}
	if err := admin.QueryRow(ctx, "SELECT pg_database_size($1)", name).Scan(&bytes); err != nil {
		return 0, holdNone, p.failure(err)
	}
	switch {
	case most == 0 || bytes <= most:
		return bytes, holdNone, nil
	case bytes <= 2*most:
		return bytes, holdGrowth, nil
	default:
		return bytes, holdAll, nil
	}
}

func (p *postgres) dump(ctx context.Context, name string) (io.ReadCloser, error) {
	programs, err := p.programs()
	if err != nil {
		return nil, err
	}
	return startDump(ctx, p.User, p.dir, "", filepath.Join(programs, "pg_dump"), "--host="+p.run(), fmt.Sprintf("--port=%d", p.Port),
		"--username="+name, "--no-password", "--format=plain", "--no-owner", "--no-privileges", "--no-publications",
		fmt.Sprintf("--lock-wait-timeout=%d", p.LockWait.Milliseconds()), "--no-subscriptions", "--clean", "--if-exists", "--encoding=UTF8", "--dbname="+name)
}

// load runs a script in one transaction, unless it ends the transaction itself.
func (p *postgres) load(ctx context.Context, name string, script io.Reader) (err error) {
	own, err := pgconn.Connect(ctx, p.address(name, name))
	if err != nil {
		return p.failure(err)
	}
	defer func() { _ = own.Close(context.WithoutCancel(ctx)) }() // undoes what is not committed
	statements := newPostgresScript(script)
	refused := func(err error) error {
		var e *pgconn.PgError
		if errors.As(err, &e) {
			return fmt.Errorf("%w: line %d: %s", panel.ErrInvalid, statements.line, e.Message)
		}
		var known panel.Kind
		if errors.As(err, &known) {
			return err
		}
		return p.failure(err)
	}
	run := func(sql string) error {
		// One statement, however the server parses it: the extended protocol accepts no more. Rows are skipped as they
		// come.
		_, err := own.ExecParams(ctx, sql, nil, nil, nil, nil).Close()
		return err
	}
	for {
		if own.TxStatus() == 'I' {
			if err := run("BEGIN"); err != nil {
				return refused(err)
			}
		}
		s, err := statements.next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		if s.copy {
			data, err := statements.data()
			if err != nil {
				return err
			}
			if _, err := own.CopyFrom(ctx, data, s.sql); err != nil {
				return refused(err)
			}
			continue
		}
		if err := run(s.sql); err != nil {
			return refused(err)
		}
	}
	if err := run("COMMIT"); err != nil {
		return refused(err)
	}
	return nil
}
