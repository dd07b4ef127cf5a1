package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/mattn/go-isatty"

	"stead.dev/stead/internal/node/upgrade"
	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/config"
	"stead.dev/stead/internal/platform/controlbackup"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/idempotency"
	"stead.dev/stead/internal/platform/jobs"
	"stead.dev/stead/internal/platform/keycheck"
	"stead.dev/stead/internal/platform/observe"
	"stead.dev/stead/internal/platform/outbox"
	"stead.dev/stead/internal/platform/replicas"
	"stead.dev/stead/internal/platform/schema"
	"stead.dev/stead/internal/platform/secret"
	"stead.dev/stead/internal/platform/signal"
	"stead.dev/stead/internal/platform/switches"
)

// Options are the settings that are not configuration. The zero value of each stands for its default.
type Options struct {
	// Version is that of the program.
	Version string
	// Log is the logger; by default it writes JSON lines to standard error, from the configured level up.
	Log *slog.Logger
	// Notices is where the address and the login of a demo are printed; by default nowhere.
	Notices io.Writer
	// Program is the name under which the program was started, for messages that say what to type.
	Program string
	// Upgrade is the program of an agent's process, which the control plane can exchange; nil: it cannot.
	Upgrade *upgrade.Program
	// Clock is the time; by default that of the machine, or of the database where several machines share one, moved by the
	// configured offset.
	Clock clock.Clock
	// Machine is the machine's own clock, where Clock is not given.
	Machine clock.Clock
	// Tracer is told of every PostgreSQL query; by default it writes to the traces.
	Tracer pgx.QueryTracer
}

// core holds the parts that the server and the commands of administration share.
type core struct {
	cfg     config.Config
	version string
	log     *slog.Logger
	clock   clock.Clock
	// machine is the machine's own clock; nil where a test gives the time.
	machine clock.Clock
	// shared is clock, where it is that of the database.
	shared *clock.Shared

	metrics  *observe.Metrics
	traces   *observe.Traces
	db       *db.DB
	box      *secret.Box
	hub      *signal.Hub
	switches *switches.Switches
	answers  *idempotency.Store
	queue    *jobs.Queue
	replica  *replicas.Member
	outbox   *outbox.Outbox
	// ending is closed when a server begins to stop.
	ending chan struct{}
	// schemaVersion is the last migration that the database had at the start.
	schemaVersion int64

	sections

	closers []func(context.Context) error
}

// role tells how a process uses the queue and the schema.
type role int

const (
	server  role = iota // works jobs, applies migrations
	command             // inserts jobs only, beside a server that may be running
)

// newCore builds the parts of the platform and the sections, in the order in which they need each other. After an error,
// what was built before it is closed again.
func newCore(ctx context.Context, cfg config.Config, opts Options, as role) (_ *core, err error) {
	c := &core{cfg: cfg, version: opts.Version, log: opts.Log, clock: opts.Clock, ending: make(chan struct{})}
	defer func() {
		if err != nil {
			err = errors.Join(err, c.close(context.WithoutCancel(ctx)))
		}
	}()
	if c.clock == nil {
		if c.machine = opts.Machine; c.machine == nil {
			c.machine = clock.System(0)
		}
		c.shared = clock.NewShared(c.machine, cfg.ClockOffset)
		c.clock = c.shared
	}
	if c.log == nil {
		c.log = observe.NewLog(os.Stderr, cfg.LogLevel)
		if cfg.Demo && isatty.IsTerminal(os.Stderr.Fd()) {
			c.log = observe.NewConsole(os.Stderr, cfg.LogLevel)
		}
	}
	if c.version == "" {
		c.version = "dev"
	}
	if err := makeDataDir(cfg); err != nil {
		return nil, fmt.Errorf("data directory: %w", err)
	}
	if c.cfg.DataDir, err = filepath.Abs(cfg.DataDir); err != nil {
		return nil, fmt.Errorf("data directory: %w", err)
	}
	c.metrics = observe.NewMetrics(c.version)
	if c.traces, err = observe.NewTraces(ctx, cfg.OTLPEndpoint, "stead", c.version); err != nil {
		return nil, err
	}
	c.onClose(c.traces.Close)

	if as == server && (cfg.SQLite() || cfg.NodeListen != config.Off) {
		release, err := lockDataDir(c.cfg.DataDir)
		if err != nil {
			return nil, err
		}
		c.onClose(func(context.Context) error { return release() })
	}
	if opts.Tracer == nil {
		opts.Tracer = c.traces.QueryTracer()
	}
	if err := c.openDB(ctx, as, opts.Tracer); err != nil {
		return nil, err
	}
	c.onClose(func(context.Context) error { return c.db.Close() })
	if err := c.setClock(ctx); err != nil {
		return nil, err
	}
	if c.box, err = c.openKey(ctx); err != nil {
		return nil, err
	}
	if err := c.migrate(ctx, as); err != nil {
		return nil, err
	}
	if err := keycheck.Check(ctx, c.db, c.box); err != nil {
		return nil, err
	}

	c.hub = signal.NewHub(c.db, c.clock, c.log)
	if c.switches, err = switches.Load(ctx, c.db, c.hub, c.log); err != nil {
		return nil, err
	}
	c.answers = idempotency.NewStore(c.db)
	workers := 0
	if as == server {
		workers = cfg.JobWorkers
	}
	id := secret.Token("replica_", 12)
	c.queue, err = jobs.New(c.db, jobs.Config{
		MaxWorkers:    workers,
		WithoutPanels: withoutPanels(cfg),
		Logger:        slog.New(quiet{c.log.Handler()}),
		Middleware:    observe.JobMiddleware(c.log, c.clock, c.metrics, c.traces.Tracer()),
		ID:            id,
	})
	if err != nil {
		return nil, err
	}
	c.replica = replicas.New(c.db, id, c.version, c.log, c.queue.TakeOver)
	c.outbox = outbox.New(c.db)
	if err := c.build(ctx, as); err != nil {
		return nil, err
	}
	c.register()
	return c, nil
}

// clockInterval is how often a replica looks at the clock of the database.
const clockInterval = 10 * time.Second

// setClock sets the clock by that of the database, where other machines may use the same.
func (c *core) setClock(ctx context.Context) error {
	if c.shared == nil || !c.db.Shared() {
		return nil
	}
	return c.shared.Look(ctx, c.db.ServerTime)
}

// keepTime sets the clock until ctx ends.
func (c *core) keepTime(ctx context.Context) {
	for clock.Sleep(ctx, clockInterval) == nil {
		if err := c.setClock(ctx); err != nil && ctx.Err() == nil {
			c.log.WarnContext(ctx, "the clock of the database is not read", "error", err)
		}
	}
}

// onClose adds a function that close calls; the last added is called first.
func (c *core) onClose(f func(context.Context) error) { c.closers = append(c.closers, f) }

func (c *core) close(ctx context.Context) error {
	var errs []error
	for i := len(c.closers) - 1; i >= 0; i-- {
		errs = append(errs, c.closers[i](ctx))
	}
	c.closers = nil
	return errors.Join(errs...)
}

// makeDataDir makes the data directory. On a machine with Linux users, their homes are below it, so everybody may pass
// through it and only the owner may list it. The files in it have modes of their own.
func makeDataDir(cfg config.Config) error {
	if cfg.NodeMachine != config.MachineLinux || cfg.NodeListen == config.Off {
		return os.MkdirAll(cfg.DataDir, 0o700)
	}
	if err := os.MkdirAll(cfg.DataDir, 0o711); err != nil {
		return err
	}
	return os.Chmod(cfg.DataDir, 0o711) //nolint:gosec // passable, as said above
}

// openKey is openBox beside the database: it makes no new key for one that has sealed values, and notices another's key
// before anything is changed.
func (c *core) openKey(ctx context.Context) (*secret.Box, error) {
	if _, err := os.Stat(KeyFile(c.cfg)); c.cfg.SecretKey == "" && errors.Is(err, fs.ErrNotExist) {
		sealed, err := keycheck.Sealed(ctx, c.db)
		if err != nil {
			return nil, err
		}
		if sealed {
			return nil, fmt.Errorf("%s: %w", KeyFile(c.cfg), keycheck.ErrNoKey)
		}
	}
	box, err := openBox(c.cfg)
	if err != nil {
		return nil, err
	}
	_, err = keycheck.Look(ctx, c.db, box)
	return box, err
}

// openBox reads the key that seals stored secrets.
func openBox(cfg config.Config) (*secret.Box, error) {
	if cfg.SecretKey != "" {
		return secret.ParseKeyset([]byte(cfg.SecretKey.Reveal()))
	}
	return secret.OpenKeyFile(KeyFile(cfg))
}

// KeyFile is the path of the key that seals stored secrets.
func KeyFile(cfg config.Config) string { return filepath.Join(cfg.DataDir, "secret.key") }

// databaseStart is how long a server waits for a database that does not answer yet: machines and containers start in any order, and
// a network takes a moment.
const databaseStart = 30 * time.Second

// openDB opens the database. A server that finds none waits for it.
func (c *core) openDB(ctx context.Context, as role, t pgx.QueryTracer) (err error) {
	for began := c.clock.Now(); ; {
		if c.db, err = openDB(ctx, c.cfg, c.clock, t); err == nil || as != server || !db.Absent(err) || c.clock.Now().Sub(began) > databaseStart {
			return err
		}
		c.log.WarnContext(ctx, "waiting for the database", "at_most", databaseStart, "error", err)
		if err := clock.Sleep(ctx, time.Second); err != nil {
			return err
		}
	}
}

func openDB(ctx context.Context, cfg config.Config, c clock.Clock, t pgx.QueryTracer) (*db.DB, error) {
	d, err := db.Open(ctx, db.Config{
		URL: cfg.DatabaseURL.Reveal(), Path: DatabaseFile(cfg), Clock: c, Tracer: t,
		MaxConns: cfg.DatabaseConnections, MaxReaders: cfg.DatabaseReaders, Wait: cfg.DatabaseWait,
	})
	if err != nil {
		return nil, err
	}
	if err := controlbackup.CheckFinished(ctx, d); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return d, nil
}

// DatabaseFile is the path of the embedded database.
func DatabaseFile(cfg config.Config) string { return filepath.Join(cfg.DataDir, "stead.db") }

// ErrMigrationsPending means that the database is older than this program and that a server, or a command that migrates it, is using it.
var ErrMigrationsPending = errors.New("the database is of an older version and another stead serve or migrate is using it: " +
	"wait for the command to end, or restart the server with this version first")

// migrate brings the database up to date. A command does not migrate a SQLite database that a server is using: on
// PostgreSQL migrations wait for each other, on SQLite they cannot.
func (c *core) migrate(ctx context.Context, as role) error {
	if as == command {
		pending, err := pendingMigrations(ctx, c.db)
		if err != nil || pending == 0 {
			return err
		}
		if c.cfg.SQLite() {
			release, err := lockDataDir(c.cfg.DataDir)
			if errors.Is(err, ErrDataDirInUse) {
				return ErrMigrationsPending
			}
			if err != nil {
				return err
			}
			defer func() { _ = release() }()
		}
	}
	applied, err := schema.Migrate(ctx, c.db)
	if len(applied) > 0 {
		c.log.InfoContext(ctx, "database migrated", "applied", applied)
	}
	if err != nil {
		return err
	}
	return c.db.QueryRow(ctx, `SELECT MAX(version_id) FROM goose_db_version`).Scan(&c.schemaVersion)
}

// migrated reports whether the database has at least the migrations that it had when this process started.
func (c *core) migrated(ctx context.Context) bool {
	var version int64
	err := c.db.QueryRow(ctx, `SELECT COALESCE(MAX(version_id), 0) FROM goose_db_version WHERE is_applied`).Scan(&version)
	return err == nil && version >= c.schemaVersion
}

func pendingMigrations(ctx context.Context, d *db.DB) (int, error) {
	all, err := schema.Status(ctx, d)
	if err != nil {
		return 0, err
	}
	n := 0
	for _, m := range all {
		if !m.Applied {
			n++
		}
	}
	return n, nil
}

// quiet drops River's messages below the level of warnings: every job writes a line of its own.
type quiet struct{ slog.Handler }

// Enabled implements slog.Handler.
func (q quiet) Enabled(ctx context.Context, l slog.Level) bool {
	return l >= slog.LevelWarn && q.Handler.Enabled(ctx, l)
}

// WithAttrs implements slog.Handler.
func (q quiet) WithAttrs(attrs []slog.Attr) slog.Handler { return quiet{q.Handler.WithAttrs(attrs)} }

// WithGroup implements slog.Handler.
func (q quiet) WithGroup(name string) slog.Handler { return quiet{q.Handler.WithGroup(name)} }
