package db

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"strings"
)

// mostKept bounds the statements that a connection keeps. The program has some hundreds, of which few are often used.
const mostKept = 400

// keeper is a connector whose connections keep their prepared statements: SQLite's driver would parse each statement anew,
// which took a quarter of the program's processor time.
type keeper struct{ driver.Connector }

// sqliteConn is what the driver's connections can do, as far as database/sql uses it.
type sqliteConn interface {
	driver.Conn
	driver.ConnBeginTx
	driver.ConnPrepareContext
	driver.ExecerContext
	driver.QueryerContext
	driver.Pinger
	driver.SessionResetter
	driver.Validator
}

type sqliteStmt interface {
	driver.Stmt
	driver.StmtExecContext
	driver.StmtQueryContext
}

// Connect implements driver.Connector.
func (k keeper) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := k.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	whole, ok := conn.(sqliteConn)
	if !ok {
		return nil, errors.Join(fmt.Errorf("db: %T lacks methods that connections need", conn), conn.Close())
	}
	return &keptConn{sqliteConn: whole, kept: map[string]sqliteStmt{}}, nil
}

// keptConn is a connection with its statements. database/sql uses a connection, and the rows that it gave, under one lock.
type keptConn struct {
	sqliteConn
	kept map[string]sqliteStmt // those that are not in use, by their texts
}

// take returns the statement of a text, which belongs to the caller until it is put back: a second user meanwhile gets another.
func (c *keptConn) take(ctx context.Context, query string) (sqliteStmt, error) {
	if s, ok := c.kept[query]; ok {
		delete(c.kept, query)
		return s, nil
	}
	prepared, err := c.PrepareContext(ctx, query)
	if err != nil {
		return nil, err
	}
	s, ok := prepared.(sqliteStmt)
	if !ok {
		return nil, errors.Join(fmt.Errorf("db: %T lacks methods that statements need", prepared), prepared.Close())
	}
	return s, nil
}

// put keeps a statement for the next user. When there are too many, any other goes.
func (c *keptConn) put(query string, s sqliteStmt) error {
	if _, there := c.kept[query]; there {
		return s.Close()
	}
	var err error
	if len(c.kept) >= mostKept {
		for text, other := range c.kept {
			delete(c.kept, text)
			err = other.Close()
			break
		}
	}
	c.kept[query] = s
	return err
}

// script reports whether a text may be more than one statement, as migrations are: such are not kept.
func script(query string) bool { return strings.Contains(query, ";") }

// ExecContext implements driver.ExecerContext.
func (c *keptConn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	if script(query) {
		return c.sqliteConn.ExecContext(ctx, query, args)
	}
	s, err := c.take(ctx, query)
	if err != nil {
		return nil, err
	}
	result, err := s.ExecContext(ctx, args)
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return result, c.put(query, s)
}

// QueryContext implements driver.QueryerContext.
func (c *keptConn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	if script(query) {
		return c.sqliteConn.QueryContext(ctx, query, args)
	}
	s, err := c.take(ctx, query)
	if err != nil {
		return nil, err
	}
	rows, err := s.QueryContext(ctx, args)
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return &keptRows{Rows: rows, conn: c, query: query, stmt: s}, nil
}

// Close closes the statements and the connection.
func (c *keptConn) Close() error {
	var all []error
	for _, s := range c.kept {
		all = append(all, s.Close())
	}
	clear(c.kept)
	return errors.Join(append(all, c.sqliteConn.Close())...)
}

// keptRows gives the statement back when they are closed.
type keptRows struct {
	driver.Rows
	conn  *keptConn
	query string
	stmt  sqliteStmt // nil when they are closed
}

// Close implements driver.Rows.
func (r *keptRows) Close() error {
	if r.stmt == nil {
		return nil
	}
	s := r.stmt
	r.stmt = nil
	if err := r.Rows.Close(); err != nil {
		return errors.Join(err, s.Close())
	}
	return r.conn.put(r.query, s)
}
