package panel

import (
	"context"
	"fmt"
	"io"
	"regexp"
	"strings"
	"time"
)

// CapDatabases is the capability Databases.
const CapDatabases Capability = "databases"

// DatabaseEngine is the kind of server that keeps a database.
type DatabaseEngine string

// The engines. A machine with MariaDB also serves MySQL by it: both use the same protocol.
const (
	MySQL      DatabaseEngine = "mysql"
	MariaDB    DatabaseEngine = "mariadb"
	PostgreSQL DatabaseEngine = "postgresql"
)

// DatabaseOffer is an engine that the panel has.
type DatabaseOffer struct {
	Engine  DatabaseEngine `json:"engine"`
	Version string         `json:"version"` // of the server that serves it: "10.11.14-MariaDB", "15.12"
}

// Database is a database of an account and its one user, who has the database's name.
type Database struct {
	// Name is unique on the machine: see DatabaseName.
	Name    string         `json:"name"`
	Engine  DatabaseEngine `json:"engine"`  // fixed when the database is created
	Charset string         `json:"charset"` // see DatabaseCharsets; empty: the engine's first; fixed as well
	// Password of the user. It is never returned; empty keeps the present one.
	Password string `json:"password,omitempty"`
	// PasswordVersion is the caller's name for the password, at most 64 bytes. The panel stores and returns it, so that
	// the caller can compare it with the version that should be in effect. A password with the present version is not
	// set again.
	PasswordVersion string `json:"password_version"`
	// MaxSizeMB bounds the database in mebibytes; zero is no bound. A larger database accepts no more data until it is
	// smaller.
	MaxSizeMB int64 `json:"max_size_mb"`

	// The following is reported, never set.
	Version   string         `json:"version"`
	Host      string         `json:"host"` // where programs of the account reach it
	Port      int            `json:"port"`
	Users     []DatabaseUser `json:"users"`
	SizeBytes int64          `json:"size_bytes"`
	SizedAt   time.Time      `json:"sized_at"` // when the size was taken; zero: not yet
	// Full says that the database is larger than MaxSizeMB and accepts no more data.
	Full bool `json:"full"`
}

// DatabaseUser is a user of a database.
type DatabaseUser struct {
	Name       string   `json:"name"`
	Host       string   `json:"host"` // from where: "localhost"
	Privileges []string `json:"privileges"`
}

// Databases manages databases of accounts. Only the database's own user and the machine can access one, and that user
// cannot access another.
type Databases interface {
	// DatabaseEngines lists the engines of the panel.
	DatabaseEngines(ctx context.Context) ([]DatabaseOffer, error)
	// ListDatabases lists the account's by name.
	ListDatabases(ctx context.Context, ref string) ([]Database, error)
	// SetDatabase makes the database and its user, or changes the password and the bound of the one
	// that is there. ErrInvalid: the name is none of the account's (DatabaseName), a new database
	// has no password, or the engine or charset is another than that of the database that is there.
	// ErrUnsupported: the panel does not have the engine. ErrSuspended: the account is.
	SetDatabase(ctx context.Context, ref string, d Database) (Database, error)
	// RemoveDatabase deletes the database, its content and its user. ErrNotFound: there is none.
	RemoveDatabase(ctx context.Context, ref, name string) error
	// DumpDatabase answers the database as SQL, of one moment. ImportDatabase of it brings every
	// table that it has back to that moment. A failure in the middle is an error of Read; a dump
	// that reads to io.EOF is whole. It works for a suspended account too. The caller closes it.
	DumpDatabase(ctx context.Context, ref, name string) (io.ReadCloser, error)
	// ImportDatabase runs SQL, such as a dump, as the database's own user and with no more rights
	// than that; what the SQL does not touch stays. ErrInvalid: the server refused a statement, or
	// the text is no SQL for the engine; with PostgreSQL nothing has changed then, with MariaDB,
	// where definitions know no transaction, what came before it has.
	ImportDatabase(ctx context.Context, ref, name string, sql io.Reader) error
}

// CapAdminer is the capability Adminer.
const CapAdminer Capability = "adminer"

// Adminer opens databases in browsers, by the program of that name on the machine itself.
type Adminer interface {
	// OpenDatabase answers an address on the machine at which a browser is signed in to that one database. It works
	// once, and for a short time; what it begins ends by itself, and with the database, and when the account is
	// suspended. ErrNotFound: there is no such database. ErrSuspended: the account is. ErrUnsupported: the machine cannot
	// open databases of that engine. ErrBusy: as many are open as may be.
	OpenDatabase(ctx context.Context, ref, name string) (OpenedDatabase, error)
}

// OpenedDatabase is where a database can be seen.
type OpenedDatabase struct {
	URL       string    `json:"url"`        // a secret until it has been used
	ExpiresAt time.Time `json:"expires_at"` // of the address
	EndsAt    time.Time `json:"ends_at"`    // of what it begins
}

// DatabaseCharsets are the character sets of an engine, the one for new databases first; nil for an
// engine that does not exist.
func DatabaseCharsets(e DatabaseEngine) []string {
	switch e {
	case MySQL, MariaDB:
		return []string{"utf8mb4", "utf8mb3", "latin1", "ascii", "binary"}
	case PostgreSQL:
		return []string{"UTF8", "LATIN1", "SQL_ASCII"}
	default:
		return nil
	}
}

// databaseOwnName is the part of a database's name that its owner chooses.
var databaseOwnName = regexp.MustCompile(`^[a-z0-9][a-z0-9_]{0,23}$`)

// DatabaseName is the name on the machine of what the account with the user name calls own: the two
// with an underscore in between, at most 57 characters. User names have no underscore, so no name is
// of two accounts. An own name that begins with the user name already is not given it again.
// ErrInvalid: own is not 1 to 24 of a-z, 0-9 and the underscore, which is not the first, or the name is a
// server's own.
func DatabaseName(username, own string) (string, error) {
	own = strings.TrimPrefix(own, username+"_")
	name := username + "_" + own
	if username == "" || !databaseOwnName.MatchString(own) || serversOwn(name) {
		return "", fmt.Errorf("%w: database name %q", ErrInvalid, own)
	}
	return name, nil
}

// serversOwn reports names that servers reserve for themselves.
func serversOwn(name string) bool {
	return name == "information_schema" || name == "performance_schema" || strings.HasPrefix(name, "pg_")
}
