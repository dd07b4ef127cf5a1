package controlbackup

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/schema"
	"stead.dev/stead/internal/platform/secret"
)

// figures are what a copy of a database is compared by.
type figures struct {
	rows        map[string]int64
	ledgerCents int64
}

const ledgerSum = `SELECT CAST(COALESCE(SUM(amount), 0) AS BIGINT) FROM wallet_postings WHERE amount > 0`

// tablesOf lists the tables whose rows are backed up. Those that may be lost in a crash are not.
var tablesOf = map[string]string{
	"sqlite": `SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite~_%' ESCAPE '~' ORDER BY name`,
	"postgres": `SELECT CAST(c.relname AS TEXT) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
		WHERE n.nspname = current_schema() AND c.relkind = 'r' AND c.relpersistence = 'p' ORDER BY c.relname`,
}

// querier is what count asks.
type querier func(ctx context.Context, query string) (db.Rows, error)

func one(ctx context.Context, ask querier, query string) (n int64, err error) {
	rows, err := ask(ctx, query)
	if err != nil {
		return 0, err
	}
	defer rows.Close()
	if rows.Next() {
		err = rows.Scan(&n)
	}
	return n, errors.Join(err, rows.Err())
}

func count(ctx context.Context, engine string, ask querier) (f figures, err error) {
	rows, err := ask(ctx, tablesOf[engine])
	if err != nil {
		return f, err
	}
	defer rows.Close()
	f.rows = map[string]int64{}
	for rows.Next() {
		var table string
		if err := rows.Scan(&table); err != nil {
			return f, err
		}
		f.rows[table] = 0
	}
	if err := rows.Err(); err != nil {
		return f, err
	}
	rows.Close()
	for table := range f.rows {
		if f.rows[table], err = one(ctx, ask, `SELECT COUNT(*) FROM `+pgx.Identifier{table}.Sanitize()); err != nil {
			return f, fmt.Errorf("%s: %w", table, err)
		}
	}
	f.ledgerCents, err = one(ctx, ask, ledgerSum)
	return f, err
}

func asking(d *db.DB) querier {
	return func(ctx context.Context, query string) (db.Rows, error) { return d.Query(ctx, query) }
}

// dump writes a consistent copy of the database into dir, while it is used.
func dump(ctx context.Context, d *db.DB, address, dir string) (entry string, f figures, err error) {
	if d.Shared() {
		f, err = dumpPostgres(ctx, d, address, filepath.Join(dir, filepath.Base(postgresEntry)))
		return postgresEntry, f, err
	}
	file := filepath.Join(dir, filepath.Base(sqliteEntry))
	if _, err := d.Writer().ExecContext(ctx, `VACUUM INTO $1`, file); err != nil {
		return "", f, fmt.Errorf("copy the database: %w", err)
	}
	f, err = countFile(ctx, file)
	return sqliteEntry, f, err
}

// countFile counts a SQLite file that nobody uses.
func countFile(ctx context.Context, file string) (f figures, err error) {
	d, err := db.Open(ctx, db.Config{Path: file, Clock: clock.System(0), MaxConns: 2})
	if err != nil {
		return f, err
	}
	f, err = count(ctx, d.Engine(), asking(d))
	return f, errors.Join(err, d.Close()) // without its write-ahead log
}

func dumpPostgres(ctx context.Context, d *db.DB, address, file string) (f figures, err error) {
	c, err := d.Pool().Acquire(ctx)
	if err != nil {
		return f, err
	}
	defer c.Release()
	tx, err := c.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly})
	if err != nil {
		return f, err
	}
	defer func() { _ = tx.Rollback(context.WithoutCancel(ctx)) }() // it only reads
	var server int
	if err := tx.QueryRow(ctx, `SELECT current_setting('server_version_num')::int / 10000`).Scan(&server); err != nil {
		return f, err
	}
	if err := programOf(ctx, "pg_dump", server); err != nil {
		return f, err
	}
	var snapshot string
	if err := tx.QueryRow(ctx, `SELECT pg_export_snapshot()`).Scan(&snapshot); err != nil {
		return f, err
	}
	// The same snapshot: rows that come meanwhile are in neither.
	ask := func(ctx context.Context, query string) (db.Rows, error) { return tx.Query(ctx, query) } //nolint:sqlclosecheck // count closes them
	if f, err = count(ctx, "postgres", ask); err != nil {
		return f, err
	}
	return f, runPostgres(ctx, address, "pg_dump", "--format=custom", "--compress=0", "--no-owner", "--no-privileges", "--no-unlogged-table-data",
		"--lock-wait-timeout=30s", "--snapshot="+snapshot, "--file="+file)
}

var majorVersion = regexp.MustCompile(`\(PostgreSQL\) (\d+)`)

// programOf refuses a client of PostgreSQL that does not suit the server.
func programOf(ctx context.Context, name string, server int) error {
	out, err := exec.CommandContext(ctx, name, "--version").Output()
	if err != nil {
		return fmt.Errorf("%s cannot be run: install PostgreSQL's client programs of version %d (Debian: postgresql-client-%d): %w", name, server, server, err)
	}
	m := majorVersion.FindSubmatch(out)
	if m == nil {
		return fmt.Errorf("%s --version says %q", name, out)
	}
	client, err := strconv.Atoi(string(m[1]))
	if err != nil {
		return err
	}
	return suits(name, client, server)
}

// transactionTimeout is the first version of PostgreSQL that has the setting transaction_timeout. Its clients set it in every restore.
const transactionTimeout = 17

// suits refuses a client that is older than the server, because it would not know what to dump, and one that restores by
// settings which the server has not.
func suits(name string, client, server int) error {
	if client >= server && (client < transactionTimeout || server >= transactionTimeout) {
		return nil
	}
	why := "it does not know all that the server has"
	if client > server {
		why = "servers before 17 refuse what clients from 17 on restore"
	}
	return fmt.Errorf("%s is of version %d and the server of version %d: %s. Install the client programs of version %d "+
		"(Debian: postgresql-client-%d), and let PATH find them before others (/usr/lib/postgresql/%d/bin)", name, client, server, why, server, server, server)
}

// mayRestore refuses a server into which the present pg_restore cannot restore.
func mayRestore(ctx context.Context, address string) error {
	server, err := serverVersion(ctx, address)
	if err != nil {
		return err
	}
	return programOf(ctx, "pg_restore", server)
}

// libpq are the parameters of an address that PostgreSQL's own programs know, of those that ours may have.
var libpq = []string{"host", "port", "sslmode", "sslrootcert", "sslcert", "sslkey", "connect_timeout", "target_session_attrs", "options"}

// runPostgres runs one of PostgreSQL's programs on the database of an address. Its password is in no list of processes.
func runPostgres(ctx context.Context, address, program string, args ...string) error {
	u, err := url.Parse(address)
	if err != nil {
		return errors.New("the database URL cannot be read") // the cause repeats it
	}
	var password []string
	if u.User != nil {
		if said, ok := u.User.Password(); ok {
			password = []string{"PGPASSWORD=" + said}
		}
		u.User = url.User(u.User.Username())
	}
	query := u.Query()
	maps.DeleteFunc(query, func(name string, _ []string) bool { return !slices.Contains(libpq, name) })
	u.RawQuery = query.Encode()
	c := exec.CommandContext(ctx, program, append([]string{"--dbname=" + u.String(), "--no-password"}, args...)...) //nolint:gosec // ours
	c.Env = append(c.Environ(), password...)
	said, err := c.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w: %s", program, err, lastLines(said))
	}
	return nil
}

func lastLines(said []byte) string {
	const most = 600
	text := strings.TrimSpace(string(said))
	if len(text) > most {
		text = "… " + text[len(text)-most:]
	}
	return strings.Join(strings.Fields(text), " ")
}

// Ledger recomputes the money of a database; an error says what does not add up.
type Ledger func(ctx context.Context, d *db.DB) error

// prove compares a restored database with its manifest, brings it up to date and recomputes its ledger.
func prove(ctx context.Context, d *db.DB, m Manifest, ledger Ledger) error {
	if !d.Shared() {
		var verdict string
		if err := d.QueryRow(ctx, `PRAGMA integrity_check(1)`).Scan(&verdict); err != nil || verdict != "ok" {
			return fmt.Errorf("the restored database is damaged: %s %w", verdict, err)
		}
	}
	f, err := count(ctx, d.Engine(), asking(d))
	if err != nil {
		return fmt.Errorf("count the rows of the restored database: %w", err)
	}
	for _, table := range slices.Sorted(maps.Keys(m.Rows)) {
		if f.rows[table] != m.Rows[table] {
			return fmt.Errorf("the restored table %s has %d rows, the manifest says %d", table, f.rows[table], m.Rows[table])
		}
	}
	if f.ledgerCents != m.LedgerCents {
		return fmt.Errorf("the postings of the restored ledger sum up to %d cents, the manifest says %d", f.ledgerCents, m.LedgerCents)
	}
	if _, err := schema.Migrate(ctx, d); err != nil {
		return fmt.Errorf("bring the restored database up to date: %w", err)
	}
	if err := ledger(ctx, d); err != nil {
		return fmt.Errorf("the ledger of the restored database: %w", err)
	}
	return nil
}

// ErrMayNotCreate says that a trial of PostgreSQL is not possible.
var ErrMayNotCreate = errors.New("the database user may not create databases: let it (ALTER ROLE … CREATEDB)")

// scratch makes a database of PostgreSQL beside that of the address, restored from a dump; drop removes it.
func scratch(ctx context.Context, address, prefix, dumpFile string) (scratchAddress string, drop func() error, err error) {
	if err := mayRestore(ctx, address); err != nil {
		return "", nil, err
	}
	name := prefix + strings.ToLower(strings.ReplaceAll(secret.Token("", 8), "-", "_"))
	if err := execute(ctx, address, `CREATE DATABASE `+pgx.Identifier{name}.Sanitize()); err != nil {
		var pe *pgconn.PgError
		if errors.As(err, &pe) && pe.Code == "42501" {
			return "", nil, ErrMayNotCreate
		}
		return "", nil, fmt.Errorf("make a scratch database: %w", err)
	}
	drop = func() error {
		return execute(context.WithoutCancel(ctx), address, `DROP DATABASE IF EXISTS `+pgx.Identifier{name}.Sanitize())
	}
	scratchAddress, err = withDatabase(address, name)
	if err == nil {
		err = load(ctx, scratchAddress, dumpFile)
	}
	if err != nil {
		return "", nil, errors.Join(err, drop())
	}
	return scratchAddress, drop, nil
}

// load restores a dump into an empty database: all of it, or nothing.
func load(ctx context.Context, address, dumpFile string) error {
	return runPostgres(ctx, address, "pg_restore", "--exit-on-error", "--single-transaction", "--no-owner", "--no-privileges", dumpFile)
}

// ErrUnfinished refuses a database into which a restore was interrupted.
var ErrUnfinished = errors.New("a restore into this database was interrupted, so it may be incomplete: run stead restore again, which begins anew")

// CheckFinished returns ErrUnfinished for a database that a restore has not finished. Restores of SQLite put a finished file in
// its place.
func CheckFinished(ctx context.Context, d *db.DB) error {
	if !d.Shared() {
		return nil
	}
	n, err := one(ctx, asking(d), `SELECT COUNT(*) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
		WHERE n.nspname = current_schema() AND c.relname = 'stead_restoring'`)
	if err == nil && n > 0 {
		err = ErrUnfinished
	}
	return err
}

// Statements around a restore into an empty database. Its user may be unable to make another database, so what an interrupted
// restore left is dropped from this one; extensions stay.
const (
	markUnfinished = `CREATE TABLE IF NOT EXISTS stead_restoring ();`
	markFinished   = `DROP TABLE stead_restoring;`
	dropRestored   = `DO $$ DECLARE r record; BEGIN
		FOR r IN SELECT relname FROM pg_class WHERE relnamespace = current_schema()::regnamespace AND relkind IN ('r', 'p') AND relname <> 'stead_restoring' LOOP
			EXECUTE format('DROP TABLE IF EXISTS %I CASCADE', r.relname);
		END LOOP;
		FOR r IN SELECT oid::regprocedure AS name FROM pg_proc p WHERE pronamespace = current_schema()::regnamespace
			AND NOT EXISTS (SELECT 1 FROM pg_depend WHERE objid = p.oid AND deptype = 'e') LOOP
			EXECUTE format('DROP ROUTINE %s CASCADE', r.name);
		END LOOP;
		FOR r IN SELECT typname FROM pg_type t WHERE typnamespace = current_schema()::regnamespace AND typtype IN ('e', 'd')
			AND NOT EXISTS (SELECT 1 FROM pg_depend WHERE objid = t.oid AND deptype = 'e') LOOP
			EXECUTE format('DROP TYPE %I CASCADE', r.typname);
		END LOOP;
	END $$;`
)

// restoreLock is the advisory lock of PostgreSQL that a restore into an empty database holds: the first bytes of "restored".
const restoreLock int64 = 0x726573746f726564

// onlyRestore keeps other restores away from the database of an address until release is called; PostgreSQL releases it with the
// connection. It returns ErrAtWork while another one has it.
func onlyRestore(ctx context.Context, address string) (release func() error, err error) {
	c, err := pgx.Connect(ctx, address)
	if err != nil {
		return nil, errors.New("PostgreSQL cannot be reached") // the cause may repeat the address
	}
	release = sync.OnceValue(func() error { return c.Close(context.WithoutCancel(ctx)) })
	var got bool
	if err := c.QueryRow(ctx, `SELECT pg_try_advisory_lock($1)`, restoreLock).Scan(&got); err != nil {
		return nil, errors.Join(err, release())
	}
	if !got {
		return nil, errors.Join(ErrAtWork, release())
	}
	return release, nil
}

func execute(ctx context.Context, address, statement string) error {
	c, err := pgx.Connect(ctx, address)
	if err != nil {
		return errors.New("PostgreSQL cannot be reached") // the cause may repeat the address
	}
	_, err = c.Exec(ctx, statement)
	return errors.Join(err, c.Close(context.WithoutCancel(ctx)))
}

func withDatabase(address, name string) (string, error) {
	u, err := url.Parse(address)
	if err != nil {
		return "", errors.New("the database URL cannot be read")
	}
	u.Path = "/" + name
	return u.String(), nil
}

func databaseOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return strings.TrimPrefix(u.Path, "/")
}

func serverVersion(ctx context.Context, address string) (n int, err error) {
	c, err := pgx.Connect(ctx, address)
	if err != nil {
		return 0, errors.New("PostgreSQL cannot be reached") // the cause may repeat the address
	}
	err = c.QueryRow(ctx, `SELECT current_setting('server_version_num')::int / 10000`).Scan(&n)
	return n, errors.Join(err, c.Close(context.WithoutCancel(ctx)))
}

// exchange gives the database made the name of that of address, which is kept under another. Both renamings are one
// transaction.
func exchange(ctx context.Context, address, made, suffix string) (kept string, err error) {
	name := databaseOf(address)
	kept = strings.ToLower(strings.NewReplacer(".", "_", "-", "_").Replace(name + suffix))
	var c *pgx.Conn
	for _, other := range []string{"postgres", "template1"} { // a database cannot be renamed by who is connected to it
		from, err := withDatabase(address, other)
		if err != nil {
			return "", err
		}
		if c, err = pgx.Connect(ctx, from); err == nil {
			break
		}
	}
	if c == nil {
		return "", errors.New("neither of the databases postgres and template1 can be connected to, from which databases are renamed")
	}
	defer func() { err = errors.Join(err, c.Close(context.WithoutCancel(ctx))) }()
	return kept, pgx.BeginFunc(ctx, c, func(tx pgx.Tx) error {
		for _, names := range [][2]string{{name, kept}, {databaseOf(made), name}} {
			_, err := tx.Exec(ctx, `ALTER DATABASE `+pgx.Identifier{names[0]}.Sanitize()+` RENAME TO `+pgx.Identifier{names[1]}.Sanitize())
			if err != nil {
				return fmt.Errorf("rename the database %s: %w", names[0], err)
			}
		}
		return nil
	})
}
