package db

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// DefaultWait is how long a caller waits for a connection of a full pool, unless Config says otherwise.
const DefaultWait = 5 * time.Second

var errFull = errors.New("db: all connections are in use")

// acquire takes a connection. Of a full pool it waits for one, but not for ever: behind a crowd that waits as long as
// its clients do, nobody would be answered in time.
func acquire(ctx context.Context, pool *pgxpool.Pool, wait time.Duration) (*pgxpool.Conn, error) {
	waiting, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	conn, err := pool.Acquire(waiting)
	if err != nil && ctx.Err() == nil && waiting.Err() != nil {
		return nil, errUnavailable{fmt.Errorf("%w: waited %v for one of %d", errFull, wait, pool.Config().MaxConns)}
	}
	return conn, mark(err)
}

// heldRows give their connection back when they are closed.
type heldRows struct {
	pgx.Rows
	conn *pgxpool.Conn
}

func (r *heldRows) Next() bool {
	more := r.Rows.Next()
	if !more {
		r.Close()
	}
	return more
}

func (r *heldRows) Close() {
	r.Rows.Close()
	r.conn.Release()
}

// read sends a query on a connection of the reading pool.
func (p *postgres) read(ctx context.Context, query string, args []any) (pgx.Rows, error) {
	conn, err := acquire(ctx, p.reader, p.wait)
	if err != nil {
		return nil, err
	}
	rows, err := conn.Query(ctx, query, args...)
	if err != nil {
		conn.Release()
		return nil, mark(err)
	}
	return &heldRows{rows, conn}, nil
}
