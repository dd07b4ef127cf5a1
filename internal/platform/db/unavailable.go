package db

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"io"
	"net"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/puddle/v2"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// errUnavailable marks the error of a database that does not answer.
type errUnavailable struct{ error }

func (e errUnavailable) Unwrap() error { return e.error }

// Unavailable reports whether err says that the database does not answer at present: it is stopped, restarting, full, or
// busy beyond the time that a statement waits. The same call may succeed later.
func Unavailable(err error) bool {
	var marked errUnavailable
	return errors.As(err, &marked) || outage(err)
}

// Absent reports whether err of Open says that there is no PostgreSQL at the address, or one that starts still: it may be there a
// moment later. One that refuses who asks is there.
func Absent(err error) bool {
	var (
		connect *pgconn.ConnectError
		pe      *pgconn.PgError
	)
	if errors.As(err, &pe) {
		return pe.Code == "57P03" // cannot_connect_now
	}
	return errors.As(err, &connect) || errors.Is(err, context.DeadlineExceeded)
}

// mark marks an error that came from a connection. Only there is an error of the network one of the database.
func mark(err error) error {
	if err == nil || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	var network net.Error
	if !outage(err) && !errors.As(err, &network) && !pgconn.SafeToRetry(err) &&
		!errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, net.ErrClosed) {
		return err
	}
	return errUnavailable{err}
}

// outage knows the errors that only a database has.
func outage(err error) bool {
	var (
		connect *pgconn.ConnectError
		pe      *pgconn.PgError
		se      *sqlite.Error
	)
	switch {
	case err == nil:
		return false
	case errors.As(err, &connect), errors.Is(err, puddle.ErrClosedPool), errors.Is(err, sql.ErrConnDone), errors.Is(err, driver.ErrBadConn):
		return true
	case errors.As(err, &pe):
		return outageCode(pe.Code)
	case errors.As(err, &se):
		switch se.Code() & 0xff {
		case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_FULL, sqlite3.SQLITE_CANTOPEN,
			sqlite3.SQLITE_READONLY, sqlite3.SQLITE_NOMEM, sqlite3.SQLITE_PROTOCOL:
			return true
		}
		return false
	default:
		return strings.HasSuffix(err.Error(), "sql: database is closed") // database/sql does not export it
	}
}

// outageCode judges a code of PostgreSQL (its manual, appendix A).
func outageCode(code string) bool {
	switch code[:min(2, len(code))] {
	case "08", "53", "58": // connection, resources, the system
		return true
	}
	switch code {
	case "57P01", "57P02", "57P03", "57P05", // the server stops, starts, or has ended the session
		"25006",          // it is a standby now
		"55P03", "57014", // a lock or a statement took too long
		"40001", "40P01": // still in conflict after all attempts
		return true
	}
	return false
}
