package databases

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"stead.dev/stead/internal/node/accounts"
	"stead.dev/stead/internal/node/daemon"
	"stead.dev/stead/internal/node/facility"
	"stead.dev/stead/internal/node/record"
	"stead.dev/stead/internal/port/panel"
)

// Config configures the facility.
type Config struct {
	Dir    string // everything of the facility is below
	Lookup facility.Lookup
	Now    func() time.Time
	Log    *slog.Logger

	// The servers that the supervisor runs; nil when the machine does not have one.
	Supervisor daemon.Supervisor
	MariaDB    *Instance
	PostgreSQL *Instance
	// Simulated keeps databases in the records only: all engines exist, nobody can connect.
	Simulated bool
	// Spare is how many bytes of the disk the dumps for a backup leave free; zero: 2 GiB.
	Spare int64
}

// Instance is a server of the machine.
type Instance struct {
	Port     int    // on 127.0.0.1
	User     string // user as whom it runs; empty: "mysql", "postgres"
	MemoryMB int    // for its cache; zero: 128
	// Sessions bounds those of one database's user; zero: 30. MaxSessions bounds all; zero: 500. The users of an
	// account have a quarter of all together, however many databases it has.
	Sessions, MaxSessions int
	// LockWait bounds how long a dump waits for a table that a customer's session has locked; zero: ten minutes.
	LockWait time.Duration
}

func (i Instance) complete(user string) Instance {
	if i.User == "" {
		i.User = user
	}
	if i.MemoryMB == 0 {
		i.MemoryMB = 128
	}
	if i.Sessions == 0 {
		i.Sessions = 30
	}
	if i.MaxSessions == 0 {
		i.MaxSessions = 500
	}
	if i.LockWait == 0 {
		i.LockWait = 10 * time.Minute
	}
	return i
}

// Driver keeps the databases. It implements panel.Databases and facility.Facility.
type Driver struct {
	cfg     Config
	records *record.Store[stored]
	servers map[panel.DatabaseEngine]server

	mu    sync.Mutex
	busy  map[string]*sync.Mutex // by account
	sizes map[string]measured    // by database
	// limiting are the databases whose limit is being applied in the background.
	limiting map[string]bool
	refs     map[string]string  // of the accounts whose databases are watched, by name
	rest     context.CancelFunc // ends the watch; nil while there is none

	watching sync.WaitGroup
}

var (
	_ panel.Databases   = (*Driver)(nil)
	_ facility.Facility = (*Driver)(nil)
	_ facility.Starter  = (*Driver)(nil)
	_ facility.Stopper  = (*Driver)(nil)
	_ facility.Counter  = (*Driver)(nil)
	_ facility.Backuper = (*Driver)(nil)
)

// stored is the record of an account.
type stored struct {
	Databases []database `json:"databases"`
}

type database struct {
	Name      string               `json:"name"`
	Engine    panel.DatabaseEngine `json:"engine"`
	Charset   string               `json:"charset"`
	Verifier  string               `json:"verifier"` // of the user's password
	Version   string               `json:"version"`  // of the password, the caller's
	MaxSizeMB int64                `json:"max_size_mb,omitempty"`
	Made      bool                 `json:"made,omitempty"`   // the server has it, and it belongs to this account
	Ending    bool                 `json:"ending,omitempty"` // it is being removed
}

func (rec stored) find(name string) int {
	return slices.IndexFunc(rec.Databases, func(d database) bool { return d.Name == name })
}

type measured struct {
	bytes int64
	at    time.Time
	full  bool
	hold  hold // what was seen last; measure and look write it
}

// hold is the restriction of a database because of its size.
type hold int

const (
	holdNone   hold = iota
	holdGrowth      // no further growth
	holdAll         // no connections; for servers that cannot reliably refuse growth
)

// login is the wanted state of a database's user.
type login struct {
	name     string
	among    int // databases of its account on the server
	verifier string
	closed   bool // only the agent can connect
	hold     hold
}

// server manages databases and their users. Names are safe in statements: see DatabaseName.
type server interface {
	// start starts the server and returns when it answers.
	start(ctx context.Context) error
	stop(ctx context.Context) error
	version() string
	port() int
	// verifier is the stored form of a password.
	verifier(password string) (string, error)
	// present reports which of the databases exist, by name.
	present(ctx context.Context, names []string) (map[string]bool, error)
	// create creates an empty database, and replaces one of the same name.
	create(ctx context.Context, name, charset string) error
	// apply changes the database's user as needed. It ends sessions with more rights than the user now has, but not
	// those above a lowered number.
	apply(ctx context.Context, l login) error
	// drop removes a database and its user. It is no error when there is none.
	drop(ctx context.Context, name string) error
	// others lists the users and databases with that prefix, other than the named ones.
	others(ctx context.Context, prefix string, but []string) (users, databases []string, err error)
	// dropUser removes a user without a record.
	dropUser(ctx context.Context, name string) error
	// size is the size of a database, in bytes. full is the restriction that it needs.
	size(ctx context.Context, name string, most int64) (bytes int64, full hold, err error)
	dump(ctx context.Context, name string) (io.ReadCloser, error)
	// load runs SQL as the database's user.
	load(ctx context.Context, name string, sql io.Reader) error
	privileges(h hold) []string
}

// New makes the facility; Start must be called before anything else.
func New(cfg Config) (*Driver, error) {
	records, err := record.Open[stored](filepath.Join(cfg.Dir, "records"))
	if err != nil {
		return nil, fmt.Errorf("databases: %w", err)
	}
	// The servers' users traverse it to reach their own directories.
	if err := os.Chmod(cfg.Dir, 0o711); err != nil { //nolint:gosec // to be passed, not listed
		return nil, fmt.Errorf("databases: %w", err)
	}
	d := &Driver{
		cfg: cfg, records: records, servers: map[panel.DatabaseEngine]server{},
		busy: map[string]*sync.Mutex{}, refs: map[string]string{}, sizes: map[string]measured{}, limiting: map[string]bool{},
	}
	if cfg.Simulated {
		d.servers[panel.MySQL], d.servers[panel.MariaDB] = simulated{"10.11.0-simulated", 3306}, simulated{"10.11.0-simulated", 3306}
		d.servers[panel.PostgreSQL] = simulated{"15.0-simulated", 5432}
		return d, nil
	}
	key, err := machineKey(cfg.Dir)
	if err != nil {
		return nil, fmt.Errorf("databases: %w", err)
	}
	if cfg.MariaDB != nil {
		m := newMariaDB(filepath.Join(cfg.Dir, "mariadb"), cfg.MariaDB.complete("mysql"), cfg.Supervisor, key)
		d.servers[panel.MySQL], d.servers[panel.MariaDB] = m, m
	}
	if cfg.PostgreSQL != nil {
		d.servers[panel.PostgreSQL] = newPostgres(filepath.Join(cfg.Dir, "postgresql"), cfg.PostgreSQL.complete("postgres"), cfg.Supervisor)
	}
	return d, nil
}

// each are the servers, each once.
func (d *Driver) each() []server {
	var all []server
	for _, e := range []panel.DatabaseEngine{panel.MariaDB, panel.PostgreSQL} {
		if s, ok := d.servers[e]; ok {
			all = append(all, s)
		}
	}
	return all
}

// Capability implements facility.Facility.
func (*Driver) Capability() panel.Capability { return panel.CapDatabases }

// Start implements facility.Starter.
func (d *Driver) Start(ctx context.Context) error {
	// In parallel, so that one that does not start does not delay the other.
	all := d.each()
	failed := make([]error, len(all))
	var starting sync.WaitGroup
	for i, s := range all {
		starting.Go(func() { failed[i] = s.start(ctx) })
	}
	starting.Wait()
	if err := errors.Join(failed...); err != nil {
		return fmt.Errorf("databases: %w", err)
	}
	d.beginWatch(ctx)
	return nil
}

// Stop implements facility.Stopper.
func (d *Driver) Stop(ctx context.Context) error {
	err := d.Close()
	for _, s := range d.each() {
		err = errors.Join(err, s.stop(ctx))
	}
	return err
}

// lock waits for other changes of the account's databases and returns the function that ends this one.
func (d *Driver) lock(account string) (unlock func()) {
	d.mu.Lock()
	m, ok := d.busy[account]
	if !ok {
		m = &sync.Mutex{}
		d.busy[account] = m
	}
	d.mu.Unlock()
	m.Lock()
	return m.Unlock
}

// Apply implements facility.Facility.
func (d *Driver) Apply(ctx context.Context, a accounts.Account) error {
	defer d.lock(a.Name)()
	d.mu.Lock()
	d.refs[a.Name] = a.Ref
	d.mu.Unlock()
	var failed error
	for _, db := range d.records.Get(a.Name).Databases {
		if err := d.applyOne(ctx, a, db); err != nil {
			failed = errors.Join(failed, fmt.Errorf("databases: %s: %w", db.Name, err))
		}
	}
	return errors.Join(failed, d.applyOthers(ctx, a))
}

// applyOne makes the server match the record of one database.
func (d *Driver) applyOne(ctx context.Context, a accounts.Account, db database) error {
	s, ok := d.servers[db.Engine]
	if !ok {
		return fmt.Errorf("%w: no server for %s", panel.ErrUnsupported, db.Engine)
	}
	if db.Ending {
		return d.end(ctx, a, s, db.Name)
	}
	there, err := s.present(ctx, []string{db.Name})
	if err != nil {
		return err
	}
	if !db.Made || !there[db.Name] {
		if db.Made {
			d.cfg.Log.Error("a database is gone and is made anew, empty", "account", a.Ref, "database", db.Name)
		}
		if err := s.create(ctx, db.Name, db.Charset); err != nil {
			return err
		}
		if err := d.noteMade(a, db.Name); err != nil {
			return err
		}
	}
	h, err := d.measure(ctx, s, db)
	if err != nil {
		return err
	}
	return s.apply(ctx, login{
		name: db.Name, among: d.records.Get(a.Name).on(s, d.servers), verifier: db.Verifier, closed: a.Suspended || h == holdAll, hold: h,
	})
}

func (d *Driver) noteMade(a accounts.Account, name string) error {
	_, err := d.records.Update(a.Name, func(rec *stored) error {
		if i := rec.find(name); i >= 0 {
			rec.Databases[i].Made = true
		}
		return nil
	})
	return err
}

// end removes a database that is marked as ending, and then the mark.
func (d *Driver) end(ctx context.Context, a accounts.Account, s server, name string) error {
	if err := s.drop(ctx, name); err != nil {
		return err
	}
	d.mu.Lock()
	delete(d.sizes, name)
	d.mu.Unlock()
	_, err := d.records.Update(a.Name, func(rec *stored) error {
		rec.Databases = slices.DeleteFunc(rec.Databases, func(db database) bool { return db.Name == name })
		return nil
	})
	return err
}

// applyOthers removes users with the account's prefix that have no record. Databases without a record are only logged:
// data is never removed because of a record that may be outdated.
func (d *Driver) applyOthers(ctx context.Context, a accounts.Account) error {
	rec := d.records.Get(a.Name)
	var failed error
	for _, s := range d.each() {
		var names []string
		for _, db := range rec.Databases {
			if d.servers[db.Engine] == s {
				names = append(names, db.Name)
			}
		}
		users, dbs, err := s.others(ctx, a.Name+"_", names)
		if err != nil {
			failed = errors.Join(failed, err)
			continue
		}
		for _, u := range users {
			failed = errors.Join(failed, s.dropUser(ctx, u))
		}
		if len(dbs) > 0 {
			d.cfg.Log.Warn("databases that no record knows", "account", a.Ref, "databases", dbs)
		}
	}
	return failed
}

// Remove implements facility.Facility.
func (d *Driver) Remove(ctx context.Context, a accounts.Account) error {
	defer d.lock(a.Name)()
	for _, s := range d.each() {
		users, dbs, err := s.others(ctx, a.Name+"_", nil)
		if err != nil {
			return fmt.Errorf("databases: %w", err)
		}
		for _, name := range dbs {
			if err := s.drop(ctx, name); err != nil {
				return fmt.Errorf("databases: %w", err)
			}
		}
		for _, u := range users {
			if err := s.dropUser(ctx, u); err != nil {
				return fmt.Errorf("databases: %w", err)
			}
		}
	}
	// PostgreSQL's identity map is generated from the records.
	for _, db := range d.records.Get(a.Name).Databases {
		if s, ok := d.servers[db.Engine]; ok {
			if err := s.drop(ctx, db.Name); err != nil {
				return fmt.Errorf("databases: %w", err)
			}
		}
	}
	d.mu.Lock()
	delete(d.refs, a.Name)
	maps.DeleteFunc(d.sizes, func(name string, _ measured) bool { return strings.HasPrefix(name, a.Name+"_") })
	d.mu.Unlock()
	return d.records.Delete(a.Name)
}

// remeasure is how old a size may become.
const remeasure = 4 * time.Minute

// measure returns the restriction of a database, by a size that is recent enough.
func (d *Driver) measure(ctx context.Context, s server, db database) (hold, error) {
	d.mu.Lock()
	last, known := d.sizes[db.Name]
	d.mu.Unlock()
	now := d.cfg.Now()
	most := db.MaxSizeMB << 20
	// A size from the future was taken before the machine's clock was set back.
	if known && !last.at.After(now) && now.Sub(last.at) < remeasure && !last.full && (most == 0 || last.bytes <= most) {
		return holdNone, nil
	}
	bytes, h, err := s.size(ctx, db.Name, most)
	if err != nil {
		return holdNone, err
	}
	d.mu.Lock()
	d.sizes[db.Name] = measured{bytes: bytes, at: now, full: h != holdNone, hold: h}
	d.mu.Unlock()
	return h, nil
}

// Count implements facility.Counter. It answers from the sizes that were taken last.
func (d *Driver) Count(_ context.Context, a accounts.Account, into *panel.Usage) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, db := range d.records.Get(a.Name).Databases {
		into.DiskBytes += d.sizes[db.Name].bytes
		into.DatabaseBytes += d.sizes[db.Name].bytes
	}
	return nil
}

// DatabaseEngines implements panel.Databases.
func (d *Driver) DatabaseEngines(context.Context) ([]panel.DatabaseOffer, error) {
	var offers []panel.DatabaseOffer
	for _, e := range []panel.DatabaseEngine{panel.MySQL, panel.MariaDB, panel.PostgreSQL} {
		if s, ok := d.servers[e]; ok {
			offers = append(offers, panel.DatabaseOffer{Engine: e, Version: s.version()})
		}
	}
	return offers, nil
}

// ListDatabases implements panel.Databases.
func (d *Driver) ListDatabases(_ context.Context, ref string) ([]panel.Database, error) {
	a, err := d.cfg.Lookup(ref)
	if err != nil {
		return nil, panel.Wrap("databases.list", ref, err)
	}
	all := []panel.Database{}
	for _, db := range d.records.Get(a.Name).Databases {
		if !db.Ending {
			all = append(all, d.answer(db))
		}
	}
	slices.SortFunc(all, func(x, y panel.Database) int { return strings.Compare(x.Name, y.Name) })
	return all, nil
}

func (d *Driver) answer(db database) panel.Database {
	d.mu.Lock()
	size := d.sizes[db.Name]
	d.mu.Unlock()
	out := panel.Database{
		Name: db.Name, Engine: db.Engine, Charset: db.Charset, MaxSizeMB: db.MaxSizeMB, PasswordVersion: db.Version,
		SizeBytes: size.bytes, SizedAt: size.at, Full: size.full,
	}
	if !db.Made {
		out.PasswordVersion = "" // nobody can connect yet
	}
	s, ok := d.servers[db.Engine]
	if !ok {
		return out
	}
	h := holdNone
	if size.full {
		h = holdGrowth
	}
	out.Version, out.Host, out.Port = s.version(), "127.0.0.1", s.port()
	out.Users = []panel.DatabaseUser{{Name: db.Name, Host: "localhost", Privileges: s.privileges(h)}}
	return out
}

// SetDatabase implements panel.Databases.
func (d *Driver) SetDatabase(ctx context.Context, ref string, in panel.Database) (panel.Database, error) {
	out, err := d.set(ctx, ref, in)
	return out, panel.Wrap("databases.set", ref, err)
}

const (
	passwordBytes = 256
	versionBytes  = 64
)

func (d *Driver) set(ctx context.Context, ref string, in panel.Database) (panel.Database, error) {
	a, s, err := d.writable(ref, in.Name, in.Engine)
	if err != nil {
		return panel.Database{}, err
	}
	d.mu.Lock()
	d.refs[a.Name] = a.Ref
	d.mu.Unlock()
	charsets := panel.DatabaseCharsets(in.Engine)
	if in.Charset == "" {
		in.Charset = charsets[0]
	}
	if !slices.Contains(charsets, in.Charset) || in.MaxSizeMB < 0 || in.MaxSizeMB > 1<<30 ||
		len(in.Password) > passwordBytes || len(in.PasswordVersion) > versionBytes {
		return panel.Database{}, fmt.Errorf("%w: charset %q, at most %d MB", panel.ErrInvalid, in.Charset, in.MaxSizeMB)
	}
	verifier := ""
	if in.Password != "" {
		if verifier, err = s.verifier(in.Password); err != nil {
			return panel.Database{}, err
		}
	}
	defer d.lock(a.Name)()
	rec, err := d.records.Update(a.Name, func(rec *stored) error {
		i := rec.find(in.Name)
		switch {
		case i < 0 && verifier == "":
			return fmt.Errorf("%w: a new database needs a password", panel.ErrInvalid)
		case i < 0:
			rec.Databases = append(rec.Databases, database{Name: in.Name, Engine: in.Engine, Charset: in.Charset})
			i = len(rec.Databases) - 1
		case rec.Databases[i].Ending:
			return fmt.Errorf("%w: %s is being removed", panel.ErrBusy, in.Name)
		case rec.Databases[i].Engine != in.Engine || rec.Databases[i].Charset != in.Charset:
			return fmt.Errorf("%w: %s stays with its engine and charset", panel.ErrInvalid, in.Name)
		}
		if db := &rec.Databases[i]; verifier != "" && (db.Verifier == "" || in.PasswordVersion == "" || db.Version != in.PasswordVersion) {
			db.Verifier, db.Version = verifier, in.PasswordVersion
		}
		rec.Databases[i].MaxSizeMB = in.MaxSizeMB
		return nil
	})
	if err != nil {
		return panel.Database{}, err
	}
	db := rec.Databases[rec.find(in.Name)]
	if err := d.applyOne(ctx, a, db); err != nil {
		return panel.Database{}, err
	}
	if !db.Made { // the others share the account's sessions with it
		if err := d.applyRest(ctx, a, db); err != nil {
			return panel.Database{}, err
		}
	}
	db.Made = true
	return d.answer(db), nil
}

// writable returns the account, if it accepts changes, and the server of an engine.
func (d *Driver) writable(ref, name string, engine panel.DatabaseEngine) (accounts.Account, server, error) {
	a, err := d.cfg.Lookup(ref)
	if err != nil {
		return a, nil, err
	}
	if a.Suspended {
		return a, nil, panel.ErrSuspended
	}
	if full, err := panel.DatabaseName(a.Name, name); err != nil || full != name {
		return a, nil, fmt.Errorf("%w: database name %q", panel.ErrInvalid, name)
	}
	if panel.DatabaseCharsets(engine) == nil {
		return a, nil, fmt.Errorf("%w: engine %q", panel.ErrInvalid, engine)
	}
	s, ok := d.servers[engine]
	if !ok {
		return a, nil, fmt.Errorf("%w: no %s here", panel.ErrUnsupported, engine)
	}
	return a, s, nil
}

// RemoveDatabase implements panel.Databases.
func (d *Driver) RemoveDatabase(ctx context.Context, ref, name string) error {
	return panel.Wrap("databases.remove", ref, d.removeDatabase(ctx, ref, name))
}

func (d *Driver) removeDatabase(ctx context.Context, ref, name string) error {
	a, err := d.cfg.Lookup(ref)
	if err != nil {
		return err
	}
	defer d.lock(a.Name)()
	rec := d.records.Get(a.Name)
	i := rec.find(name)
	if i < 0 {
		return fmt.Errorf("%w: database %q", panel.ErrNotFound, name)
	}
	s, ok := d.servers[rec.Databases[i].Engine]
	if !ok {
		return fmt.Errorf("%w: no server for %s", panel.ErrUnsupported, rec.Databases[i].Engine)
	}
	if _, err := d.records.Update(a.Name, func(rec *stored) error {
		rec.Databases[i].Ending = true
		return nil
	}); err != nil {
		return err
	}
	return d.end(ctx, a, s, name)
}

// find is a database that the account has, and its server.
func (d *Driver) find(ref, name string) (accounts.Account, database, server, error) {
	a, err := d.cfg.Lookup(ref)
	if err != nil {
		return a, database{}, nil, err
	}
	rec := d.records.Get(a.Name)
	i := rec.find(name)
	if i < 0 || rec.Databases[i].Ending || !rec.Databases[i].Made {
		return a, database{}, nil, fmt.Errorf("%w: database %q", panel.ErrNotFound, name)
	}
	s, ok := d.servers[rec.Databases[i].Engine]
	if !ok {
		return a, database{}, nil, fmt.Errorf("%w: no server for %s", panel.ErrUnsupported, rec.Databases[i].Engine)
	}
	return a, rec.Databases[i], s, nil
}

// DumpDatabase implements panel.Databases.
func (d *Driver) DumpDatabase(ctx context.Context, ref, name string) (io.ReadCloser, error) {
	_, _, s, err := d.find(ref, name)
	if err != nil {
		return nil, panel.Wrap("databases.dump", ref, err)
	}
	r, err := s.dump(ctx, name)
	return r, panel.Wrap("databases.dump", ref, err)
}

// ImportDatabase implements panel.Databases.
func (d *Driver) ImportDatabase(ctx context.Context, ref, name string, sql io.Reader) error {
	a, db, s, err := d.find(ref, name)
	if err == nil && a.Suspended {
		err = panel.ErrSuspended
	}
	if err == nil {
		err = s.load(ctx, name, sql)
		d.stale(name)
		if settled := d.settle(context.WithoutCancel(ctx), ref, db); err == nil {
			err = settled
		}
	}
	return panel.Wrap("databases.import", ref, err)
}

// stale has the size measured again at the next occasion.
func (d *Driver) stale(name string) {
	d.mu.Lock()
	delete(d.sizes, name)
	d.mu.Unlock()
}

// settle measures a database after a write, and restricts it when it has become too large.
func (d *Driver) settle(ctx context.Context, ref string, db database) error {
	a, err := d.cfg.Lookup(ref)
	if err != nil {
		return err
	}
	defer d.lock(a.Name)()
	rec := d.records.Get(a.Name)
	i := rec.find(db.Name)
	if i < 0 {
		return fmt.Errorf("%w: database %q", panel.ErrNotFound, db.Name)
	}
	return d.applyOne(ctx, a, rec.Databases[i])
}
