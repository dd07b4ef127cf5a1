// Package testkit gives each test a fresh, migrated database: a SQLite file or a PostgreSQL database of its own.
package testkit

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"golang.org/x/sys/unix"

	"stead.dev/stead/internal/platform/atomicfile"
	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/schema"
)

// PostgresEnv is the environment variable with the URL of a PostgreSQL server on which tests may create databases.
const PostgresEnv = "STEAD_TEST_POSTGRES_URL"

// dataEnv is the environment variable with the folder of SQLite databases, which is in memory where there is room.
// scripts/with-postgres sets it.
const dataEnv = "STEAD_TEST_DATA"

// Start is the time on a test's clock when it begins.
var Start = time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)

// Engines runs f once on each engine.
func Engines(t *testing.T, f func(t *testing.T, d *db.DB, clk *clock.Fake)) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) {
		clk := clock.NewFake(Start)
		f(t, SQLite(t, clk), clk)
	})
	t.Run("postgres", func(t *testing.T) {
		clk := clock.NewFake(Start)
		f(t, Open(t, PostgresURL(t), clk), clk)
	})
}

// template is the content of a migrated SQLite database, read once by each process.
var template = sync.OnceValues(sqliteTemplate)

// PlaceSQLite writes a fresh, migrated SQLite database into the file, which must not be there.
func PlaceSQLite(path string) error {
	content, err := template()
	if err != nil {
		return fmt.Errorf("SQLite template: %w", err)
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	return errors.Join(err, f.Close())
}

// SQLite opens a fresh, migrated SQLite database.
func SQLite(t testing.TB, clk clock.Clock) *db.DB {
	t.Helper()
	path := filepath.Join(DatabaseDir(t), "stead.db")
	if err := PlaceSQLite(path); err != nil {
		t.Fatal(err)
	}
	return open(t, db.Config{Path: path, Clock: clk})
}

// DatabaseDir makes a folder for a SQLite database and removes it when the test ends. It is in memory where there is room,
// so it must not hold files that need a particular file system. For a benchmark it is on the disk, whose time counts.
func DatabaseDir(t testing.TB) string {
	t.Helper()
	parent := os.Getenv(dataEnv)
	if _, ok := t.(*testing.B); ok || parent == "" {
		return t.TempDir()
	}
	dir, err := os.MkdirTemp(parent, "stead-data-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Errorf("remove databases: %v", err)
		}
	})
	return dir
}

// sqliteTemplate is a migrated database. To make one takes longer than most packages' tests: where there is a folder for
// databases, the first process of a run leaves its own there for all others that have the same migrations.
func sqliteTemplate() (content []byte, err error) {
	parent := os.Getenv(dataEnv)
	if parent == "" {
		return makeSQLiteTemplate(parent)
	}
	path := filepath.Join(parent, "stead-template-"+schema.Fingerprint()+".db")
	lock, err := os.OpenFile(path+".lock", os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, lock.Close()) }() // lets the others go on
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX); err != nil {
		return nil, err
	}
	if content, err = os.ReadFile(path); !errors.Is(err, fs.ErrNotExist) {
		return content, err
	}
	if content, err = makeSQLiteTemplate(parent); err != nil {
		return nil, err
	}
	return content, atomicfile.Write(path, content, 0o600)
}

func makeSQLiteTemplate(parent string) ([]byte, error) {
	ctx := context.Background()
	dir, err := os.MkdirTemp(parent, "stead-template-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	path := filepath.Join(dir, "stead.db")
	d, err := db.Open(ctx, db.Config{Path: path, Clock: clock.System(0)})
	if err != nil {
		return nil, err
	}
	if _, err := schema.Migrate(ctx, d); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	// Closing the last connection moves the write-ahead log into the file.
	if err := d.Close(); err != nil {
		return nil, err
	}
	return os.ReadFile(path)
}

// Open opens the database at a PostgreSQL URL and closes it when the test ends.
func Open(t testing.TB, databaseURL string, clk clock.Clock) *db.DB {
	t.Helper()
	return open(t, db.Config{URL: databaseURL, Clock: clk, MaxConns: 10})
}

func open(t testing.TB, c db.Config) *db.DB {
	t.Helper()
	d, err := db.Open(context.Background(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Errorf("close database: %v", err)
		}
	})
	return d
}

var pgTemplate struct {
	sync.Once
	name     string
	strategy string
	err      error
}

// PostgresURL makes a fresh, migrated PostgreSQL database, dropped when the test ends, and returns its URL. A test may open
// it several times, as several replicas do.
func PostgresURL(t testing.TB) string {
	t.Helper()
	server := os.Getenv(PostgresEnv)
	if server == "" {
		t.Fatalf("%s is not set: run the tests with `make test`, which starts a PostgreSQL server for them", PostgresEnv)
	}
	ctx := context.Background()
	pgTemplate.Do(func() { pgTemplate.name, pgTemplate.strategy, pgTemplate.err = postgresTemplate(ctx, server) })
	if pgTemplate.err != nil {
		t.Fatalf("PostgreSQL template: %v", pgTemplate.err)
	}
	name := "stead_test_" + strings.ToLower(rand.Text())
	// CREATE DATABASE refuses a template with connections, and another CREATE DATABASE is one.
	deadline := time.Now().Add(20 * time.Second) //nolint:forbidigo // real waiting for a real server
	for {
		err := admin(ctx, server, "CREATE DATABASE "+name+" TEMPLATE "+pgTemplate.name+pgTemplate.strategy)
		if err == nil {
			break
		}
		var pe *pgconn.PgError
		if !errors.As(err, &pe) || pe.Code != "55006" || time.Now().After(deadline) { //nolint:forbidigo // as above
			t.Fatalf("create test database: %v", err)
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Cleanup(func() {
		if err := admin(ctx, server, "DROP DATABASE "+name+" WITH (FORCE)"); err != nil {
			t.Errorf("drop test database: %v", err)
		}
	})
	return withDatabase(server, name)
}

// Outage makes the database of a URL from PostgresURL refuse every connection, and ends those that it has, until the test
// calls end.
func Outage(t testing.TB, url string) (end func()) {
	t.Helper()
	c, err := pgx.ParseConfig(url)
	if err != nil {
		t.Fatal(err)
	}
	run := func(query string) {
		if err := admin(context.Background(), os.Getenv(PostgresEnv), query); err != nil {
			t.Errorf("outage: %v", err)
		}
	}
	run("ALTER DATABASE " + c.Database + " ALLOW_CONNECTIONS false")
	run("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '" + c.Database + "'")
	return func() { run("ALTER DATABASE " + c.Database + " ALLOW_CONNECTIONS true") }
}

// postgresTemplate finds or makes the migrated database of which the databases of tests are copies: one for each version of
// the migrations, shared by the processes of a test run. strategy is how CREATE DATABASE copies it: by files, which is half
// of the work of a copy through the write-ahead log, where the server knows both (from version 15 on).
func postgresTemplate(ctx context.Context, server string) (name, strategy string, err error) {
	name = "stead_template_" + schema.Fingerprint()
	conn, err := pgx.Connect(ctx, server)
	if err != nil {
		return "", "", err
	}
	defer func() { err = errors.Join(err, conn.Close(ctx)) }()
	var version int
	if err := conn.QueryRow(ctx, "SELECT current_setting('server_version_num')::int").Scan(&version); err != nil {
		return "", "", err
	}
	if version >= 150000 {
		strategy = " STRATEGY file_copy"
	}
	const lock = 7_340_221
	if _, err := conn.Exec(ctx, "SELECT pg_advisory_lock($1)", lock); err != nil {
		return "", "", err
	}
	var ready bool
	if err := conn.QueryRow(ctx, "SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1)", name).Scan(&ready); err != nil || ready {
		return name, strategy, err
	}
	building := name + "_building"
	for _, q := range []string{"DROP DATABASE IF EXISTS " + building + " WITH (FORCE)", "CREATE DATABASE " + building} {
		if _, err := conn.Exec(ctx, q); err != nil {
			return "", "", err
		}
	}
	d, err := db.Open(ctx, db.Config{URL: withDatabase(server, building), Clock: clock.System(0)})
	if err != nil {
		return "", "", err
	}
	_, err = schema.Migrate(ctx, d)
	if err := errors.Join(err, d.Close()); err != nil {
		return "", "", err
	}
	_, err = conn.Exec(ctx, fmt.Sprintf("ALTER DATABASE %s RENAME TO %s", building, name))
	return name, strategy, err
}

func admin(ctx context.Context, server, query string) (err error) {
	conn, err := pgx.Connect(ctx, server)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close(ctx)) }()
	_, err = conn.Exec(ctx, query)
	return err
}

func withDatabase(server, name string) string {
	u, err := url.Parse(server)
	if err != nil {
		return server
	}
	u.Path = "/" + name
	return u.String()
}

// patience is the factor by which a busy machine may be slower than a quiet one. A larger factor only makes failing tests
// take longer.
const patience = 5

// Eventually waits until ok returns true. It fails the test after patience times the timeout. The pauses between calls
// grow, because a call is often a request, whose work would slow down what the test waits for.
func Eventually(t testing.TB, timeout time.Duration, ok func() bool, what string) {
	t.Helper()
	timeout *= patience
	deadline := time.Now().Add(timeout) //nolint:forbidigo // real waiting
	const longest = 50 * time.Millisecond
	for pause := 4 * time.Millisecond; !ok(); pause = min(pause*3/2, longest) {
		if time.Now().After(deadline) { //nolint:forbidigo // real waiting
			t.Fatalf("did not happen within %v: %s", timeout, what)
		}
		time.Sleep(pause)
	}
}
