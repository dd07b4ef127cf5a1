package databases

import (
	"context"
	"database/sql"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	_ "github.com/jackc/pgx/v5/stdlib"

	"stead.dev/stead/internal/node/accounts"
	"stead.dev/stead/internal/node/daemon"
	"stead.dev/stead/internal/platform/testkit"
	"stead.dev/stead/internal/port/panel"
)

// machine has both servers for real and accounts without directories.
type machine struct {
	*Driver
	t   *testing.T
	cfg Config

	mu       sync.Mutex
	accounts map[string]accounts.Account
	clock    time.Time
}

// newMachine starts the servers, which all tests of a test function share.
func newMachine(t *testing.T) *machine {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "stead-db") // short: the path of a socket has 107 characters at most
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o711); err != nil {
		t.Fatal(err)
	}
	silent := slog.New(slog.DiscardHandler)
	supervisor, err := daemon.NewProcesses(daemon.Config{Dir: dir + "/daemons", Now: time.Now, Log: silent})
	if err != nil {
		t.Fatal(err)
	}
	m := &machine{t: t, accounts: map[string]accounts.Account{}, clock: time.Now()}
	m.cfg = Config{
		Dir: dir + "/databases", Lookup: m.lookup, Now: m.now, Log: silent, Supervisor: supervisor,
		MariaDB:    &Instance{Port: testkit.Port(t), MemoryMB: 16, MaxSessions: 50},
		PostgreSQL: &Instance{Port: testkit.Port(t), MemoryMB: 16, MaxSessions: 50},
	}
	m.reopen()
	t.Cleanup(func() {
		if err := m.Stop(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
		if err := supervisor.Close(); err != nil {
			t.Error(err)
		}
	})
	return m
}

// reopen is what an agent does that starts anew beside servers that run.
func (m *machine) reopen() {
	m.t.Helper()
	d, err := New(m.cfg)
	if err != nil {
		m.t.Fatal(err)
	}
	m.Driver = d
	m.must(d.Start(m.t.Context()))
}

func (m *machine) now() time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.clock
}

func (m *machine) pass(d time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.clock = m.clock.Add(d)
}

func (m *machine) lookup(ref string) (accounts.Account, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	a, ok := m.accounts[ref]
	if !ok {
		return a, panel.ErrNotFound
	}
	return a, nil
}

// account makes one whose ref is its name.
func (m *machine) account(name string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.accounts[name] = accounts.Account{Record: accounts.Record{Ref: name, Name: name}}
}

// suspend changes the account and has it applied, as the machine does.
func (m *machine) suspend(name string, suspended bool) {
	m.t.Helper()
	m.mu.Lock()
	a := m.accounts[name]
	a.Suspended = suspended
	m.accounts[name] = a
	m.mu.Unlock()
	m.apply(name)
}

func (m *machine) apply(name string) {
	m.t.Helper()
	a, err := m.lookup(name)
	m.must(err)
	m.must(m.Apply(m.t.Context(), a))
}

func (m *machine) must(err error) {
	m.t.Helper()
	if err != nil {
		m.t.Fatal(err)
	}
}

const password = "correct-horse"

// set makes a database of an account with the password of the tests.
func (m *machine) set(account, name string, e panel.DatabaseEngine) panel.Database {
	m.t.Helper()
	d, err := m.SetDatabase(m.t.Context(), account, panel.Database{Name: name, Engine: e, Password: password})
	m.must(err)
	return d
}

// connect is a customer's program: by the network, with a password.
func (m *machine) connect(e panel.DatabaseEngine, user, pass, database string) *sql.DB {
	m.t.Helper()
	var (
		db  *sql.DB
		err error
	)
	if e == panel.PostgreSQL {
		db, err = sql.Open("pgx", fmt.Sprintf("host=127.0.0.1 port=%d user=%s password=%s dbname=%s sslmode=disable",
			m.cfg.PostgreSQL.Port, user, pass, database))
	} else {
		c := mysql.NewConfig()
		c.User, c.Passwd, c.DBName, c.Net, c.Addr = user, pass, database, "tcp", fmt.Sprintf("127.0.0.1:%d", m.cfg.MariaDB.Port)
		c.Logger = &mysql.NopLogger{}
		connector, cannot := mysql.NewConnector(c)
		m.must(cannot)
		db = sql.OpenDB(connector)
	}
	m.must(err)
	m.t.Cleanup(func() { _ = db.Close() })
	return db
}

func (m *machine) own(d panel.Database) *sql.DB {
	return m.connect(d.Engine, d.Name, password, d.Name)
}

// fails answers why a statement fails; it must.
func fails(t *testing.T, db *sql.DB, statement string) string {
	t.Helper()
	_, err := db.ExecContext(t.Context(), statement)
	if err == nil {
		t.Errorf("allowed: %s", statement)
		return ""
	}
	return err.Error()
}

func works(t *testing.T, db *sql.DB, statements ...string) {
	t.Helper()
	for _, s := range statements {
		if _, err := db.ExecContext(t.Context(), s); err != nil {
			t.Errorf("%s: %v", s, err)
		}
	}
}

// column reads a column of text as one string.
func column(t *testing.T, db *sql.DB, query string) string {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), query)
	if err != nil {
		t.Errorf("%s: %v", query, err)
		return ""
	}
	defer rows.Close()
	var all []string
	for rows.Next() {
		var s sql.NullString
		if err := rows.Scan(&s); err != nil {
			t.Error(err)
		}
		all = append(all, s.String)
	}
	if err := rows.Err(); err != nil {
		t.Errorf("%s: %v", query, err)
	}
	return strings.Join(all, " ")
}

// admin does something behind the facility's back.
func (m *machine) admin(e panel.DatabaseEngine, statements ...string) {
	m.t.Helper()
	for _, s := range statements {
		if e == panel.PostgreSQL {
			m.must(m.servers[e].(*postgres).exec(m.t.Context(), s))
		} else {
			m.must(m.servers[e].(*mariaDB).exec(m.t.Context(), s))
		}
	}
}

func (m *machine) dump(account, name string) string {
	m.t.Helper()
	r, err := m.DumpDatabase(m.t.Context(), account, name)
	m.must(err)
	text, err := io.ReadAll(r)
	m.must(err)
	m.must(r.Close())
	return string(text)
}

func (m *machine) load(account, name, script string) error {
	return m.ImportDatabase(m.t.Context(), account, name, strings.NewReader(script))
}

var engines = []panel.DatabaseEngine{panel.MariaDB, panel.PostgreSQL}

// onEngines runs f for each engine on one machine, with accounts of its own.
func onEngines(t *testing.T, f func(t *testing.T, m *machine, e panel.DatabaseEngine)) {
	t.Helper()
	m := newMachine(t)
	for _, e := range engines {
		t.Run(string(e), func(t *testing.T) {
			former := m.t
			m.t = t
			defer func() { m.t = former }()
			f(t, m, e)
			for name, a := range m.accounts {
				m.must(m.Remove(t.Context(), a))
				delete(m.accounts, name)
			}
		})
	}
}
