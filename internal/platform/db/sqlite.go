package db

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"sync"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

type sqliteEngine struct {
	writer *sql.DB // one connection: SQLite has one writer
	reader *sql.DB // query_only connections

	mu   sync.Mutex
	held map[string]bool // names locked by InTxLocked
}

func openSQLite(ctx context.Context, c Config) (engine, error) {
	if c.Path == "" {
		return nil, errors.New("db: SQLite needs a path")
	}
	if err := private(c.Path); err != nil {
		return nil, err
	}
	writer, err := openFile(ctx, c.Path, "synchronous(FULL)", "journal_mode(WAL)", "foreign_keys(1)")
	if err != nil {
		return nil, err
	}
	writer.SetMaxOpenConns(1)
	reader, err := openFile(ctx, c.Path, "query_only(1)")
	if err != nil {
		_ = writer.Close()
		return nil, err
	}
	readers := 4
	if c.MaxConns > 0 {
		readers = c.MaxConns
	}
	reader.SetMaxOpenConns(readers)
	reader.SetMaxIdleConns(readers)
	return &sqliteEngine{writer: writer, reader: reader, held: map[string]bool{}}, nil
}

// private creates the file for its owner alone, and removes the rights of others from an existing one: it holds
// customers' secrets, and others may be able to list the data directory. SQLite gives its companion files the same
// mode.
func private(path string) error {
	// Closing a second handle of an open file would release SQLite's locks.
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err == nil {
		err = f.Close()
	}
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("db: make SQLite file: %w", err)
	}
	for _, name := range []string{path, path + "-wal", path + "-shm"} {
		info, err := os.Stat(name)
		if err == nil && info.Mode().Perm()&0o007 != 0 {
			err = os.Chmod(name, info.Mode().Perm()&^0o007)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("db: SQLite file: %w", err)
		}
	}
	return nil
}

// busyTimeout is how long one attempt waits while another process writes, such as `stead admin` beside a server. SQLite
// ignores a cancelled context meanwhile, so it is short; InTx retries.
const busyTimeout = "busy_timeout(2000)"

// openFile opens the file with the given pragmas on every connection. BEGIN is IMMEDIATE: a transaction that may write
// takes the write lock at once, so it never fails half way because of another writer. Times, which only River writes as such,
// are in UTC and in a form that SQLite's functions know; the driver's own would compare wrongly with other texts.
func openFile(ctx context.Context, path string, pragmas ...string) (*sql.DB, error) {
	q := url.Values{"_txlock": {"immediate"}, "_time_format": {"sqlite"}, "_timezone": {"UTC"}, "_pragma": append([]string{busyTimeout}, pragmas...)}
	c, err := sqlite.NewConnector("file:" + (&url.URL{Path: path}).EscapedPath() + "?" + q.Encode())
	if err != nil {
		return nil, fmt.Errorf("db: open SQLite: %w", err)
	}
	d := sql.OpenDB(keeper{c})
	if err := d.PingContext(ctx); err != nil {
		_ = d.Close()
		return nil, fmt.Errorf("db: open SQLite file %s: %w", path, err)
	}
	return d, nil
}

func (s *sqliteEngine) name() string       { return "sqlite" }
func (s *sqliteEngine) forUpdate() string  { return "" }
func (s *sqliteEngine) skipLocked() string { return "" }
func (s *sqliteEngine) serverTime() string {
	return "CAST(unixepoch('subsec') * 1000000 AS INTEGER)"
}
func (s *sqliteEngine) pools() (*sql.DB, *pgxpool.Pool) { return s.writer, nil }
func (s *sqliteEngine) ping(ctx context.Context) error  { return s.reader.PingContext(ctx) }
func (s *sqliteEngine) close() error                    { return errors.Join(s.reader.Close(), s.writer.Close()) }

// lockBefore uses a set in memory: the file belongs to one process.
func (s *sqliteEngine) lockBefore(name string) (release func(), ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.held[name] {
		return nil, false
	}
	s.held[name] = true
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.held, name)
	}, true
}

func (s *sqliteEngine) exclusive(ctx context.Context, _ string, f func(ctx context.Context) error) error {
	return f(ctx)
}

func (s *sqliteEngine) retryable(err error) bool {
	var se *sqlite.Error
	return errors.As(err, &se) && se.Code()&0xff == sqlite3.SQLITE_BUSY
}

func (s *sqliteEngine) Query(ctx context.Context, query string, args ...any) (Rows, error) {
	return sqlQuery(ctx, s.reader, query, args)
}

func (s *sqliteEngine) QueryRow(ctx context.Context, query string, args ...any) Row {
	return sqlRow{s.reader.QueryRowContext(ctx, query, encode(args)...)}
}

func (s *sqliteEngine) begin(ctx context.Context) (transaction, error) {
	tx, err := s.writer.BeginTx(ctx, nil)
	if err != nil {
		return nil, mark(err)
	}
	return &sqlTx{tx}, nil
}

type sqlTx struct{ tx *sql.Tx }

func (t *sqlTx) Query(ctx context.Context, query string, args ...any) (Rows, error) {
	return sqlQuery(ctx, t.tx, query, args)
}

func (t *sqlTx) QueryRow(ctx context.Context, query string, args ...any) Row {
	return sqlRow{t.tx.QueryRowContext(ctx, query, encode(args)...)}
}

func (t *sqlTx) exec(ctx context.Context, query string, args []any) (int64, error) {
	res, err := t.tx.ExecContext(ctx, query, encode(args)...)
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}

// queue executes the statement: there are no round trips to save.
func (t *sqlTx) queue(ctx context.Context, s statement) error {
	return s.checked(t.exec(ctx, s.query, s.args))
}

func (t *sqlTx) flush(context.Context) error { return nil }
func (t *sqlTx) unqueue(string) bool         { return false }

// tryLock succeeds always: lockBefore took the name before the transaction.
func (t *sqlTx) tryLock(context.Context, string) error { return nil }
func (t *sqlTx) commit(context.Context) error          { return t.tx.Commit() }
func (t *sqlTx) rollback(context.Context) error        { return t.tx.Rollback() }
func (t *sqlTx) handles() (*sql.Tx, pgx.Tx)            { return t.tx, nil }

type sqlQuerier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

func sqlQuery(ctx context.Context, q sqlQuerier, query string, args []any) (Rows, error) {
	rows, err := q.QueryContext(ctx, query, encode(args)...) //nolint:rowserrcheck // the caller reads them and asks Err
	if err != nil {
		return nil, err
	}
	return sqlRows{rows}, nil
}

type sqlRow struct{ row *sql.Row }

func (r sqlRow) Scan(dest ...any) error { return scan(r.row.Scan, dest) }

type sqlRows struct{ rows *sql.Rows }

func (r sqlRows) Scan(dest ...any) error { return scan(r.rows.Scan, dest) }
func (r sqlRows) Next() bool             { return r.rows.Next() }
func (r sqlRows) Err() error             { return r.rows.Err() }
func (r sqlRows) Close()                 { _ = r.rows.Close() }

// IsUnique reports whether err is a refused duplicate: of a unique index or a primary key.
func IsUnique(err error) bool {
	return violates(err, "23505", sqlite3.SQLITE_CONSTRAINT_UNIQUE, sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY)
}

func violates(err error, sqlState string, codes ...int) bool {
	var pe *pgconn.PgError
	if errors.As(err, &pe) {
		return pe.Code == sqlState
	}
	var se *sqlite.Error
	if errors.As(err, &se) {
		for _, c := range codes {
			if se.Code() == c {
				return true
			}
		}
	}
	return false
}
