package db

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/intx"
)

// ErrNoRows is the error of Row.Scan when the query found nothing.
var ErrNoRows = sql.ErrNoRows

// ErrLocked is the error of InTxLocked when another transaction holds the name.
var ErrLocked = errors.New("db: the lock is held by another transaction")

// Querier reads. *DB and *Tx satisfy it.
type Querier interface {
	reader
	// Engine is "sqlite" or "postgres".
	Engine() string
}

type reader interface {
	Query(ctx context.Context, query string, args ...any) (Rows, error)
	QueryRow(ctx context.Context, query string, args ...any) Row
}

// Row is the one row of a QueryRow; Scan returns ErrNoRows when there is none.
type Row interface {
	Scan(dest ...any) error
}

// Rows must be read to the end or closed; Err is why the reading ended.
type Rows interface {
	Row
	Next() bool
	Err() error
	Close()
}

// Config selects and configures the engine.
type Config struct {
	// URL is postgres://… for PostgreSQL; empty opens SQLite at Path.
	URL string
	// Path is the SQLite file; its folder must exist.
	Path string
	// Clock gives Tx.Now. Required.
	Clock clock.Clock
	// MaxConns bounds the connections of the writing pool, and of the reading one unless MaxReaders does; 0 means the
	// engine's default.
	MaxConns   int
	MaxReaders int
	// Wait bounds how long a caller waits for a connection of a full pool of PostgreSQL; 0 means DefaultWait. The error is
	// then one that Unavailable knows.
	Wait time.Duration
	// Tracer, when set, sees every PostgreSQL query.
	Tracer pgx.QueryTracer
}

// DefaultConns is how many connections each of the two pools of PostgreSQL has at most.
const DefaultConns = 12

// DB is an open database. It reads; InTx writes.
type DB struct {
	engine engine
	clock  clock.Clock
}

// engine is the part that differs between the two databases.
type engine interface {
	reader
	begin(ctx context.Context) (transaction, error)
	// lockBefore takes a named lock before a transaction exists, where the engine's locks are not part of transactions;
	// release is then not nil.
	lockBefore(name string) (release func(), ok bool)
	exclusive(ctx context.Context, name string, f func(ctx context.Context) error) error
	retryable(err error) bool
	close() error
	ping(ctx context.Context) error
	name() string
	forUpdate() string
	skipLocked() string
	serverTime() string
	pools() (writer *sql.DB, pool *pgxpool.Pool)
}

// transaction is an engine's open transaction.
type transaction interface {
	reader
	exec(ctx context.Context, query string, args []any) (int64, error)
	// queue sends a statement no later than the next one that is not queued, and before it.
	queue(ctx context.Context, s statement) error
	// flush sends what is queued.
	flush(ctx context.Context) error
	// unqueue drops what is queued from a statement on, or everything where that is not queued any more.
	unqueue(query string) (found bool)
	// tryLock takes a named lock, or returns ErrLocked.
	tryLock(ctx context.Context, name string) error
	commit(ctx context.Context) error
	rollback(ctx context.Context) error
	handles() (*sql.Tx, pgx.Tx)
}

// Open connects to the database that c names. It does not migrate; see package
// schema.
func Open(ctx context.Context, c Config) (*DB, error) {
	if c.Clock == nil {
		return nil, errors.New("db: a clock is required")
	}
	var (
		e   engine
		err error
	)
	switch {
	case strings.HasPrefix(c.URL, "postgres://"), strings.HasPrefix(c.URL, "postgresql://"):
		e, err = openPostgres(ctx, c)
	case c.URL == "":
		e, err = openSQLite(ctx, c)
	default:
		err = errors.New("db: the database URL must begin with postgres://, or be empty for SQLite")
	}
	if err != nil {
		return nil, err
	}
	return &DB{engine: e, clock: c.Clock}, nil
}

// Close ends all connections.
func (d *DB) Close() error { return d.engine.close() }

// Ping reports whether the database answers.
func (d *DB) Ping(ctx context.Context) error { return d.engine.ping(ctx) }

// Engine is "sqlite" or "postgres", for logs and for choosing job drivers.
func (d *DB) Engine() string { return d.engine.name() }

// Shared reports whether other processes may work on the same database.
func (d *DB) Shared() bool { return d.engine.name() == "postgres" }

// Writer is the SQLite writing pool, for libraries with SQL of their own (migrations, the job queue); nil on
// PostgreSQL.
func (d *DB) Writer() *sql.DB { w, _ := d.engine.pools(); return w }

// Pool is the PostgreSQL writing pool, for the same libraries; nil on SQLite.
func (d *DB) Pool() *pgxpool.Pool { _, p := d.engine.pools(); return p }

// Query reads rows on a read-only connection.
func (d *DB) Query(ctx context.Context, query string, args ...any) (Rows, error) {
	return d.engine.Query(ctx, query, args...)
}

// QueryRow reads one row on a read-only connection.
func (d *DB) QueryRow(ctx context.Context, query string, args ...any) Row {
	return d.engine.QueryRow(ctx, query, args...)
}

// attempts bounds how often a transaction is repeated when the engine asks for it (a deadlock or a serialization
// failure).
const attempts = 8

const rollbackTimeout = 5 * time.Second

// InTx runs f in a transaction and commits when f returns nil. f may run more than once, so it must have no effect
// outside the transaction. It must not open another one: SQLite has a single writer, which would wait for itself, so
// that is refused.
func (d *DB) InTx(ctx context.Context, f func(ctx context.Context, tx *Tx) error) error {
	return d.inTx(ctx, "", f)
}

// InTxLocked is InTx under a named lock, which at most one transaction of all replicas holds, and which ends with the
// transaction, however it ends. It returns ErrLocked at once when the name is taken.
func (d *DB) InTxLocked(ctx context.Context, name string, f func(ctx context.Context, tx *Tx) error) error {
	release, ok := d.engine.lockBefore(name)
	if !ok {
		return ErrLocked
	}
	if release != nil {
		defer release()
	}
	return d.inTx(ctx, name, f)
}

// Exclusive runs f while no other process runs one of the same name; the others wait. f may take long and open
// transactions. SQLite has one process.
func (d *DB) Exclusive(ctx context.Context, name string, f func(ctx context.Context) error) error {
	return d.engine.exclusive(ctx, name, f)
}

var errNested = errors.New("db: a transaction is already open here")

func (d *DB) inTx(ctx context.Context, lock string, f func(ctx context.Context, tx *Tx) error) error {
	if intx.Marked(ctx) {
		return errNested
	}
	ctx = intx.Mark(ctx)
	var err error
	for range attempts {
		var tx *Tx
		tx, err = d.once(ctx, lock, f)
		if err == nil {
			for _, g := range tx.left.onCommit {
				g()
			}
			return nil
		}
		if !d.engine.retryable(err) || ctx.Err() != nil {
			return err
		}
	}
	return fmt.Errorf("db: gave up after %d attempts: %w", attempts, err)
}

func (d *DB) once(ctx context.Context, lock string, f func(ctx context.Context, tx *Tx) error) (_ *Tx, err error) {
	t, err := d.engine.begin(ctx)
	if err != nil {
		return nil, fmt.Errorf("db: begin: %w", err)
	}
	done := false
	defer func() {
		if !done {
			// The end of the context may be the reason for the rollback; a server that no longer answers must not block
			// us.
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), rollbackTimeout)
			defer cancel()
			_ = t.rollback(ctx)
		}
	}()
	now := d.Now()
	tx := &Tx{t: t, engine: d.engine, left: &left{}, Now: now, machine: now}
	if lock != "" {
		if err := t.tryLock(ctx, lock); err != nil {
			return nil, fmt.Errorf("db: lock: %w", err)
		}
	}
	w := witnessOf(ctx)
	if w != nil {
		if err := w.Begun(ctx, tx); err != nil {
			return nil, err
		}
	}
	if err := f(ctx, tx); err != nil {
		return nil, err
	}
	if w != nil {
		if err := w.Ending(ctx, tx); err != nil {
			return nil, err
		}
	}
	if err := tx.end(ctx); err != nil {
		return nil, err
	}
	if err := t.commit(ctx); err != nil {
		return nil, fmt.Errorf("db: commit: %w", err)
	}
	done = true
	return tx, nil
}

// Tx is an open transaction. It reads and writes.
type Tx struct {
	// Now is the one time of this transaction: UTC, microseconds. See Enter for whose time it is.
	Now time.Time

	machine   time.Time // Now when no account's time was entered
	timeOf    []int64   // the accounts whose time Now is
	t         transaction
	engine    engine
	left      *left
	savepoint int
}

// left is what a transaction leaves to its end.
type left struct {
	onCommit []func()
	atEnd    []ending
}

// ending is work that a transaction does last, on what was gathered under its name.
type ending struct {
	name string
	item any
	f    func(ctx context.Context, items []any) error
}

// Query reads rows inside the transaction. They must be closed before the next statement.
func (tx *Tx) Query(ctx context.Context, query string, args ...any) (Rows, error) {
	return tx.t.Query(ctx, query, args...)
}

// QueryRow reads one row; with a RETURNING clause it may also write.
func (tx *Tx) QueryRow(ctx context.Context, query string, args ...any) Row {
	return tx.t.QueryRow(ctx, query, args...)
}

// Exec writes and returns the number of rows.
func (tx *Tx) Exec(ctx context.Context, query string, args ...any) (int64, error) {
	return tx.t.exec(ctx, query, args)
}

// statement is one that is queued. check may replace its error, or make one of the number of rows; nil takes both as
// they are.
type statement struct {
	query string
	args  []any
	check func(n int64, err error) error
}

// checked returns what a queued statement comes to.
func (s statement) checked(n int64, err error) error {
	if s.check == nil {
		return err
	}
	return s.check(n, err)
}

// Queue writes like Exec, but need not wait for the answer: on PostgreSQL the statement travels with the next one, or with
// the commit, in one round trip. The order of statements stays. check is told how it went; a nil check wants no error. The
// error may come from a later call that uses tx, or from Flush, and tx must then be given up.
func (tx *Tx) Queue(ctx context.Context, check func(n int64, err error) error, query string, args ...any) error {
	return tx.t.queue(ctx, statement{query, args, check})
}

// Flush sends what is queued, and returns the first error of it.
func (tx *Tx) Flush(ctx context.Context) error { return tx.t.flush(ctx) }

// Engine is that of the database.
func (tx *Tx) Engine() string { return tx.engine.name() }

// ForUpdate is the clause that locks the rows of a SELECT until the transaction ends. SQLite has a single writer, so it
// is empty there.
func (tx *Tx) ForUpdate() string { return tx.engine.forUpdate() }

// SkipLocked is ForUpdate that leaves out rows which another transaction has locked.
func (tx *Tx) SkipLocked() string { return tx.engine.skipLocked() }

// ServerTime is the expression for the present time by the clock of the database's server, which is one for all replicas.
func (tx *Tx) ServerTime() string { return tx.engine.serverTime() }

// Now is the time of a transaction that began now.
func (d *DB) Now() time.Time { return d.clock.Now().UTC().Truncate(time.Microsecond) }

// ServerTime reads the clock of the database's server.
func (d *DB) ServerTime(ctx context.Context) (now time.Time, err error) {
	err = d.QueryRow(ctx, `SELECT `+d.engine.serverTime()).Scan(&now)
	return now, err
}

// Enter sets Now to the time of an account until leave is called: of a sandbox with a test clock, or with the zero time
// that of the machine, which everybody else has. Others that share the transaction with the account (an
// Idempotency-Key, other subscribers of an event) need their own time, so leave must always be called.
func (tx *Tx) Enter(accountID int64, now time.Time) (leave func()) {
	return tx.EnterAll([]int64{accountID}, now)
}

// EnterAll is Enter for several accounts that have the same time.
func (tx *Tx) EnterAll(accountIDs []int64, now time.Time) (leave func()) {
	before, accounts := tx.Now, tx.timeOf
	if now.IsZero() {
		now = tx.machine
	}
	tx.Now, tx.timeOf = now.UTC().Truncate(time.Microsecond), accountIDs
	return func() { tx.Now, tx.timeOf = before, accounts }
}

// InTimeOf reports whether the time of the account was entered.
func (tx *Tx) InTimeOf(accountID int64) bool { return slices.Contains(tx.timeOf, accountID) }

// OnCommit runs f after the commit, in this process only. It is for making messages arrive faster, never for effects
// that must not be lost.
func (tx *Tx) OnCommit(f func()) { tx.left.onCommit = append(tx.left.onCommit, f) }

// AtEnd runs f in this transaction when everything else in it is done, just before it commits; an error of f undoes
// it all. It is for rows that every transaction wants, such as counters: their locks are taken last, are held
// shortest, and in the order of the names, so that nobody waits for each other in a circle.
func (tx *Tx) AtEnd(name string, f func(ctx context.Context) error) {
	Gather(tx, name, f, func(ctx context.Context, all []func(context.Context) error) error {
		for _, f := range all {
			if err := f(ctx); err != nil {
				return err
			}
		}
		return nil
	})
}

// Gather leaves item to the end of the transaction (see AtEnd), where f has all that was gathered under the name, in the
// order in which it came: what a transaction does many times is then written once. All who use a name give the same f.
func Gather[T any](tx *Tx, name string, item T, f func(ctx context.Context, items []T) error) {
	tx.left.atEnd = append(tx.left.atEnd, ending{name, item, func(ctx context.Context, items []any) error {
		all := make([]T, len(items))
		for i, item := range items {
			all[i] = item.(T) //nolint:forcetypeassert // the name is one caller's
		}
		return f(ctx, all)
	}})
}

// end runs what was left to the end, and what that leaves to the end in turn: always what has the first name.
func (tx *Tx) end(ctx context.Context) error {
	for len(tx.left.atEnd) > 0 {
		first := slices.MinFunc(tx.left.atEnd, func(a, b ending) int { return strings.Compare(a.name, b.name) })
		var items []any
		tx.left.atEnd = slices.DeleteFunc(tx.left.atEnd, func(e ending) bool {
			mine := e.name == first.name
			if mine {
				items = append(items, e.item)
			}
			return mine
		})
		if err := first.f(ctx, items); err != nil {
			return err
		}
	}
	return nil
}

// Savepoint runs f and undoes its writes when it fails; the transaction itself continues and may still commit.
func (tx *Tx) Savepoint(ctx context.Context, f func(ctx context.Context) error) error {
	commits, endings := len(tx.left.onCommit), len(tx.left.atEnd)
	err := tx.savepointed(ctx, f)
	if err != nil {
		tx.left.onCommit, tx.left.atEnd = tx.left.onCommit[:commits], tx.left.atEnd[:endings]
	}
	return err
}

func (tx *Tx) savepointed(ctx context.Context, f func(ctx context.Context) error) error {
	tx.savepoint++
	name := fmt.Sprintf("sp%d", tx.savepoint)
	begin := "SAVEPOINT " + name
	if err := tx.Queue(ctx, nil, begin); err != nil {
		return fmt.Errorf("db: begin a savepoint: %w", err)
	}
	err := f(ctx)
	if err == nil {
		err = tx.Flush(ctx) // what f has queued fails here or not at all
	}
	if err != nil {
		if tx.t.unqueue(begin) {
			return err // nothing of it was sent
		}
		if _, rbErr := tx.Exec(ctx, "ROLLBACK TO SAVEPOINT "+name); rbErr != nil {
			return errors.Join(err, fmt.Errorf("db: roll back to a savepoint: %w", rbErr))
		}
		return err
	}
	if err := tx.Queue(ctx, nil, "RELEASE SAVEPOINT "+name); err != nil {
		return fmt.Errorf("db: release a savepoint: %w", err)
	}
	return nil
}

// Handles are the driver's own transactions, for the job queue; one of the two is nil.
func (tx *Tx) Handles() (*sql.Tx, pgx.Tx) {
	return tx.t.handles()
}

// Collect reads all rows of a query through scan.
func Collect[T any](ctx context.Context, q Querier, scan func(Row) (T, error), query string, args ...any) ([]T, error) {
	rows, err := q.Query(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	out := []T{}
	for rows.Next() {
		v, err := scan(rows)
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, rows.Err()
}
