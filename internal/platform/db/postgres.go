package db

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"hash/fnv"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

type postgres struct {
	writer *pgxpool.Pool
	reader *pgxpool.Pool
}

func openPostgres(ctx context.Context, c Config) (engine, error) {
	writer, err := openPool(ctx, c, false)
	if err != nil {
		return nil, err
	}
	reader, err := openPool(ctx, c, true)
	if err != nil {
		writer.Close()
		return nil, err
	}
	return &postgres{writer: writer, reader: reader}, nil
}

func openPool(ctx context.Context, c Config, readOnly bool) (*pgxpool.Pool, error) {
	pc, err := pgxpool.ParseConfig(c.URL)
	if err != nil {
		// The parser's error may repeat the URL with its password.
		return nil, errors.New("db: the database URL cannot be read")
	}
	pc.MaxConns = 12
	if c.MaxConns > 0 {
		pc.MaxConns = int32(min(c.MaxConns, 1000))
	}
	// The data is in memory, or on a disk with fast random access. Without this setting PostgreSQL assumes a rotating
	// disk, and reads a large table completely where an index has the answer.
	pc.ConnConfig.RuntimeParams["random_page_cost"] = "1.1"
	if readOnly {
		pc.ConnConfig.RuntimeParams["default_transaction_read_only"] = "on"
	}
	pc.ConnConfig.Tracer = c.Tracer
	pool, err := pgxpool.NewWithConfig(ctx, pc)
	if err != nil {
		return nil, fmt.Errorf("db: open PostgreSQL: %w", err)
	}
	if err := pool.Ping(ctx); err != nil {
		pool.Close()
		return nil, fmt.Errorf("db: PostgreSQL does not answer: %w", err)
	}
	return pool, nil
}

func (p *postgres) name() string                               { return "postgres" }
func (p *postgres) forUpdate() string                          { return " FOR UPDATE" }
func (p *postgres) pools() (*sql.DB, *pgxpool.Pool)            { return nil, p.writer }
func (p *postgres) lockBefore(string) (release func(), _ bool) { return nil, true }
func (p *postgres) ping(ctx context.Context) error             { return p.reader.Ping(ctx) }

func (p *postgres) close() error {
	p.reader.Close()
	p.writer.Close()
	return nil
}

// exclusive holds a session lock on a connection of its own; the lock ends with the connection, so a killed process
// never leaves it behind.
func (p *postgres) exclusive(ctx context.Context, name string, f func(ctx context.Context) error) error {
	conn, err := p.writer.Acquire(ctx)
	if err != nil {
		return fmt.Errorf("db: connection for the lock %q: %w", name, err)
	}
	defer conn.Release()
	if _, err := conn.Exec(ctx, "SELECT pg_advisory_lock($1)", lockID(name)); err != nil {
		return fmt.Errorf("db: lock %q: %w", name, err)
	}
	defer func() {
		_, _ = conn.Exec(context.WithoutCancel(ctx), "SELECT pg_advisory_unlock($1)", lockID(name))
	}()
	return f(ctx)
}

// retryable reports a serialization failure or a deadlock, after which the engine asks to repeat the transaction.
func (p *postgres) retryable(err error) bool {
	var pe *pgconn.PgError
	return errors.As(err, &pe) && (pe.Code == "40001" || pe.Code == "40P01")
}

func (p *postgres) Query(ctx context.Context, query string, args ...any) (Rows, error) {
	return pgQuery(ctx, p.reader, query, args)
}

func (p *postgres) QueryRow(ctx context.Context, query string, args ...any) Row {
	return pgRow{p.reader.QueryRow(ctx, query, encode(args)...)}
}

func (p *postgres) begin(ctx context.Context) (transaction, error) {
	tx, err := p.writer.Begin(ctx)
	if err != nil {
		return nil, err
	}
	return &pgTx{tx}, nil
}

type pgTx struct{ tx pgx.Tx }

func (t *pgTx) Query(ctx context.Context, query string, args ...any) (Rows, error) {
	return pgQuery(ctx, t.tx, query, args)
}

func (t *pgTx) QueryRow(ctx context.Context, query string, args ...any) Row {
	return pgRow{t.tx.QueryRow(ctx, query, encode(args)...)}
}

func (t *pgTx) exec(ctx context.Context, query string, args []any) (int64, error) {
	tag, err := t.tx.Exec(ctx, query, encode(args)...)
	return tag.RowsAffected(), err
}

func (t *pgTx) tryLock(ctx context.Context, name string) (ok bool, err error) {
	err = t.tx.QueryRow(ctx, "SELECT pg_try_advisory_xact_lock($1)", lockID(name)).Scan(&ok)
	return ok, err
}

// lockID is PostgreSQL's number of a named lock.
func lockID(name string) int64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(name))
	return int64(h.Sum64()) //nolint:gosec // a hash: its sign means nothing
}

func (t *pgTx) commit(ctx context.Context) error   { return t.tx.Commit(ctx) }
func (t *pgTx) rollback(ctx context.Context) error { return t.tx.Rollback(ctx) }
func (t *pgTx) handles() (*sql.Tx, pgx.Tx)         { return nil, t.tx }

type pgQuerier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}

func pgQuery(ctx context.Context, q pgQuerier, query string, args []any) (Rows, error) {
	rows, err := q.Query(ctx, query, encode(args)...)
	if err != nil {
		return nil, err
	}
	return pgRows{rows}, nil
}

type pgRow struct{ row pgx.Row }

func (r pgRow) Scan(dest ...any) error { return scan(r.row.Scan, dest) }

type pgRows struct{ rows pgx.Rows }

func (r pgRows) Scan(dest ...any) error { return scan(r.rows.Scan, dest) }
func (r pgRows) Next() bool             { return r.rows.Next() }
func (r pgRows) Err() error             { return r.rows.Err() }
func (r pgRows) Close()                 { r.rows.Close() }
