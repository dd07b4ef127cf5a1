package db

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"stead.dev/stead/internal/platform/clock"
)

type postgres struct {
	writer *pgxpool.Pool
	reader *pgxpool.Pool
	wait   time.Duration // for a connection
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
	return &postgres{writer: writer, reader: reader, wait: cmp.Or(c.Wait, DefaultWait)}, nil
}

// answerWithin is how long Open waits for an answer, also of a machine that drops what is sent to it.
const answerWithin = 10 * time.Second

func openPool(ctx context.Context, c Config, readOnly bool) (*pgxpool.Pool, error) {
	pc, err := pgxpool.ParseConfig(c.URL)
	if err != nil {
		// The parser's error may repeat the URL with its password.
		return nil, errors.New("db: the database URL cannot be read")
	}
	most := c.MaxConns
	if readOnly {
		most = cmp.Or(c.MaxReaders, c.MaxConns)
	}
	pc.MaxConns = int32(min(cmp.Or(most, DefaultConns), 1000)) //nolint:gosec // it fits
	// The data is in memory, or on a disk with fast random access. Without this setting PostgreSQL assumes a rotating
	// disk, and reads a large table completely where an index has the answer.
	pc.ConnConfig.RuntimeParams["random_page_cost"] = "1.1"
	// The server notices within 15 s that a machine is gone, and gives back what its transactions have locked.
	pc.ConnConfig.RuntimeParams["tcp_keepalives_idle"] = "5"
	pc.ConnConfig.RuntimeParams["tcp_keepalives_interval"] = "5"
	pc.ConnConfig.RuntimeParams["tcp_keepalives_count"] = "2"
	pc.ConnConfig.RuntimeParams["tcp_user_timeout"] = "15000" // for what it has sent to such a machine, of which keep-alives know nothing
	if readOnly {
		pc.ConnConfig.RuntimeParams["default_transaction_read_only"] = "on"
	}
	pc.ConnConfig.Tracer = c.Tracer
	pool, err := pgxpool.NewWithConfig(ctx, pc)
	if err != nil {
		return nil, fmt.Errorf("db: open PostgreSQL: %w", err)
	}
	answer, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	if err := pool.Ping(answer); err != nil {
		pool.Close()
		return nil, fmt.Errorf("db: PostgreSQL does not answer: %w", err)
	}
	return pool, nil
}

func (p *postgres) name() string       { return "postgres" }
func (p *postgres) forUpdate() string  { return " FOR UPDATE" }
func (p *postgres) skipLocked() string { return " FOR UPDATE SKIP LOCKED" }
func (p *postgres) serverTime() string {
	return "CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000000 AS BIGINT)"
}
func (p *postgres) pools() (*sql.DB, *pgxpool.Pool)            { return nil, p.writer }
func (p *postgres) lockBefore(string) (release func(), _ bool) { return nil, true }
func (p *postgres) ping(ctx context.Context) error             { return p.reader.Ping(ctx) }

func (p *postgres) close() error {
	p.reader.Close()
	p.writer.Close()
	return nil
}

// exclusivePoll is how often those who wait for exclusive ask again.
const exclusivePoll = 200 * time.Millisecond

// exclusive holds a session lock on a connection of its own; the lock ends with the connection, so a killed process
// never leaves it behind.
func (p *postgres) exclusive(ctx context.Context, name string, f func(ctx context.Context) error) error {
	conn, err := p.writer.Acquire(ctx)
	if err != nil {
		return fmt.Errorf("db: connection for the lock %q: %w", name, mark(err))
	}
	defer conn.Release()
	for locked := false; !locked; {
		// A statement that waits would keep a snapshot, for which CREATE INDEX CONCURRENTLY under this lock waits in turn.
		if err := conn.QueryRow(ctx, "SELECT pg_try_advisory_lock($1)", lockID(name)).Scan(&locked); err != nil {
			return fmt.Errorf("db: lock %q: %w", name, mark(err))
		}
		if !locked {
			if err := clock.Sleep(ctx, exclusivePoll); err != nil {
				return fmt.Errorf("db: lock %q: %w", name, err)
			}
		}
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
	rows, err := p.read(ctx, query, encode(args))
	if err != nil {
		return nil, err
	}
	return pgRows{rows}, nil
}

func (p *postgres) QueryRow(ctx context.Context, query string, args ...any) Row {
	rows, err := p.read(ctx, query, encode(args))
	return pgRow{firstRow{rows, err}}
}

// begin takes a connection. BEGIN is sent with the first statement.
func (p *postgres) begin(ctx context.Context) (transaction, error) {
	conn, err := acquire(ctx, p.writer, p.wait)
	if err != nil {
		return nil, err
	}
	return &pgTx{conn: conn, queued: []statement{{query: "BEGIN"}}}, nil
}

// pgTx sends what is queued and the next statement in one round trip.
type pgTx struct {
	conn   *pgxpool.Conn
	queued []statement
}

func (t *pgTx) queue(_ context.Context, s statement) error {
	t.queued = append(t.queued, s)
	return nil
}

func (t *pgTx) unqueue(query string) (found bool) {
	n := slices.IndexFunc(t.queued, func(s statement) bool { return s.query == query })
	t.queued = t.queued[:max(n, 0)]
	return n >= 0
}

// send sends what is queued, and next behind it, in one round trip, and returns the answer to next. It must be closed.
func (t *pgTx) send(ctx context.Context, next ...statement) (pgx.BatchResults, error) {
	queued, batch := t.queued, &pgx.Batch{}
	for _, s := range slices.Concat(queued, next) {
		batch.Queue(s.query, encode(s.args)...)
	}
	t.queued = nil
	answers := t.conn.SendBatch(ctx, batch)
	for _, s := range queued {
		tag, err := answers.Exec()
		if err := s.checked(tag.RowsAffected(), err); err != nil {
			_ = answers.Close() // what stands behind a statement that failed has failed with it
			return nil, mark(err)
		}
	}
	return answers, nil
}

func (t *pgTx) flush(ctx context.Context) error {
	if len(t.queued) == 0 {
		return nil
	}
	answers, err := t.send(ctx)
	if err != nil {
		return err
	}
	return mark(answers.Close())
}

func (t *pgTx) rows(ctx context.Context, query string, args []any) (pgx.Rows, error) {
	if len(t.queued) == 0 {
		rows, err := t.conn.Query(ctx, query, args...)
		return rows, mark(err)
	}
	answers, err := t.send(ctx, statement{query: query, args: args})
	if err != nil {
		return nil, err
	}
	rows, err := answers.Query()
	if err != nil {
		_ = answers.Close() // it says the same
		return nil, mark(err)
	}
	return &batchRows{rows, answers}, nil
}

func (t *pgTx) do(ctx context.Context, query string, args []any) (pgconn.CommandTag, error) {
	if len(t.queued) == 0 {
		tag, err := t.conn.Exec(ctx, query, args...)
		return tag, mark(err)
	}
	answers, err := t.send(ctx, statement{query: query, args: args})
	if err != nil {
		return pgconn.CommandTag{}, err
	}
	tag, err := answers.Exec()
	return tag, mark(cmp.Or(err, answers.Close()))
}

func (t *pgTx) Query(ctx context.Context, query string, args ...any) (Rows, error) {
	rows, err := t.rows(ctx, query, encode(args))
	if err != nil {
		return nil, err
	}
	return pgRows{rows}, nil
}

func (t *pgTx) QueryRow(ctx context.Context, query string, args ...any) Row {
	rows, err := t.rows(ctx, query, encode(args))
	return pgRow{firstRow{rows, err}}
}

func (t *pgTx) exec(ctx context.Context, query string, args []any) (int64, error) {
	tag, err := t.do(ctx, query, encode(args))
	return tag.RowsAffected(), err
}

func (t *pgTx) tryLock(ctx context.Context, name string) error {
	n, err := t.exec(ctx, "SELECT 1 WHERE pg_try_advisory_xact_lock($1)", []any{lockID(name)})
	if err == nil && n == 0 {
		err = ErrLocked
	}
	return err
}

// lockID is PostgreSQL's number of a named lock.
func lockID(name string) int64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(name))
	return int64(h.Sum64()) //nolint:gosec // a hash: its sign means nothing
}

// commit sends COMMIT with what is queued, unless that has yet to be checked.
func (t *pgTx) commit(ctx context.Context) error {
	if slices.ContainsFunc(t.queued, func(s statement) bool { return s.check != nil }) {
		if err := t.flush(ctx); err != nil {
			return err
		}
	}
	tag, err := t.do(ctx, "COMMIT", nil)
	if err == nil && tag.String() != "COMMIT" {
		err = pgx.ErrTxCommitRollback // a statement had failed
	}
	if err == nil {
		t.conn.Release()
	}
	return err
}

func (t *pgTx) rollback(ctx context.Context) (err error) {
	if t.conn.Conn().PgConn().TxStatus() != 'I' {
		_, err = t.conn.Exec(ctx, "ROLLBACK")
	}
	t.conn.Release() // which closes a connection that is not idle
	return err
}

func (t *pgTx) handles() (*sql.Tx, pgx.Tx) { return nil, driverTx{t: t} }

// driverTx is the transaction as the job queue uses it to insert jobs, for which these methods are enough.
type driverTx struct {
	pgx.Tx // nil
	t      *pgTx
}

func (d driverTx) Conn() *pgx.Conn { return d.t.conn.Conn() }

func (d driverTx) Exec(ctx context.Context, query string, args ...any) (pgconn.CommandTag, error) {
	return d.t.do(ctx, query, args)
}

func (d driverTx) Query(ctx context.Context, query string, args ...any) (pgx.Rows, error) {
	return d.t.rows(ctx, query, args)
}

func (d driverTx) QueryRow(ctx context.Context, query string, args ...any) pgx.Row {
	rows, err := d.t.rows(ctx, query, args)
	return firstRow{rows, err}
}

// batchRows are the rows of the last statement of a batch.
type batchRows struct {
	pgx.Rows
	answers pgx.BatchResults
}

func (r *batchRows) Next() bool {
	more := r.Rows.Next()
	if !more {
		r.Close()
	}
	return more
}

func (r *batchRows) Close() {
	r.Rows.Close()
	_ = r.answers.Close() // an error of the rows is theirs
}

// firstRow is the first of some rows.
type firstRow struct {
	rows pgx.Rows
	err  error
}

func (r firstRow) Scan(dest ...any) error {
	if r.err != nil {
		return r.err
	}
	defer r.rows.Close()
	if !r.rows.Next() {
		return cmp.Or(mark(r.rows.Err()), pgx.ErrNoRows)
	}
	if err := r.rows.Scan(dest...); err != nil {
		return err
	}
	r.rows.Close()
	return mark(r.rows.Err())
}

type pgRow struct{ row pgx.Row }

func (r pgRow) Scan(dest ...any) error { return scan(r.row.Scan, dest) }

type pgRows struct{ rows pgx.Rows }

func (r pgRows) Scan(dest ...any) error { return scan(r.rows.Scan, dest) }
func (r pgRows) Next() bool             { return r.rows.Next() }
func (r pgRows) Err() error             { return mark(r.rows.Err()) }
func (r pgRows) Close()                 { r.rows.Close() }
