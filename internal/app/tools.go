package app

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"stead.dev/stead/internal/commerce/catalog"
	"stead.dev/stead/internal/commerce/invoices"
	"stead.dev/stead/internal/commerce/wallet"
	"stead.dev/stead/internal/front/admin"
	"stead.dev/stead/internal/front/doctor"
	"stead.dev/stead/internal/hosting/moves"
	"stead.dev/stead/internal/hosting/nodes"
	"stead.dev/stead/internal/node/adminer"
	"stead.dev/stead/internal/node/databases"
	"stead.dev/stead/internal/node/machine"
	"stead.dev/stead/internal/node/mailguard"
	"stead.dev/stead/internal/platform/api"
	"stead.dev/stead/internal/platform/autohttps"
	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/config"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/nodelink"
	"stead.dev/stead/internal/platform/schema"
	"stead.dev/stead/internal/port/panel"
	"stead.dev/stead/internal/port/panel/remote"
)

// Migrate brings the configured database up to date and returns the migrations that it applied.
func Migrate(ctx context.Context, cfg config.Config) (applied []string, err error) {
	if cfg.SQLite() {
		if err := os.MkdirAll(cfg.DataDir, 0o700); err != nil {
			return nil, err
		}
		release, lockErr := lockDataDir(cfg.DataDir)
		if lockErr != nil {
			return nil, lockErr
		}
		defer func() { err = errors.Join(err, release()) }()
	}
	d, err := openDB(ctx, cfg, clock.System(cfg.ClockOffset), nil)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	applied, err = schema.Migrate(ctx, d)
	return applied, err
}

// Migrations lists all migrations and whether the configured database has them.
func Migrations(ctx context.Context, cfg config.Config) ([]schema.Migration, error) {
	return ofDatabase(ctx, cfg, schema.Status)
}

// PlannedMigrations lists what Migrate would do, and who would wait for it.
func PlannedMigrations(ctx context.Context, cfg config.Config) ([]schema.Planned, error) {
	return ofDatabase(ctx, cfg, schema.Plan)
}

// ofDatabase reads of the configured database, if there is one.
func ofDatabase[T any](ctx context.Context, cfg config.Config, read func(context.Context, *db.DB) (T, error)) (found T, err error) {
	if cfg.SQLite() {
		if _, err := os.Stat(DatabaseFile(cfg)); err != nil {
			return found, errors.New("there is no database yet in " + cfg.DataDir + "; run: stead migrate")
		}
	}
	d, err := openDB(ctx, cfg, clock.System(cfg.ClockOffset), nil)
	if err != nil {
		return found, err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	return read(ctx, d)
}

// Examine runs the checks of the doctor on the configured installation.
func Examine(ctx context.Context, cfg config.Config, version string) doctor.Report {
	now := clock.System(cfg.ClockOffset)
	var (
		mailGuard  func(context.Context) error
		hasAdminer func() bool
	)
	if cfg.NodeMachine == config.MachineLinux {
		mailGuard = func(ctx context.Context) error {
			return mailguard.Check(ctx, mailguard.Users{First: machine.FirstUID, Last: machine.LastUID})
		}
		if mariadb, postgresql := databases.Installed(); mariadb || postgresql {
			hasAdminer = adminer.Installed
		}
	}
	var rooms func(context.Context, *db.DB) ([]doctor.Room, error)
	if cfg.Panel == config.PanelNodes {
		rooms = func(ctx context.Context, d *db.DB) ([]doctor.Room, error) {
			return roomOfPlans(ctx, nodes.New(nodes.Config{DB: d, Clock: now}), catalog.New(catalog.Config{DB: d}), d)
		}
	}
	var own func(context.Context, string) (time.Time, error)
	if cfg.TLSACME {
		own = func(ctx context.Context, host string) (time.Time, error) {
			c, err := ownCertificates(cfg, slog.New(slog.DiscardHandler))
			if err != nil {
				return time.Time{}, err
			}
			return autohttps.Expiry(ctx, c, host)
		}
	}
	return doctor.Examine(ctx, doctor.Installation{
		OwnCertificate: own,
		Unfulfillable: func(ctx context.Context, d *db.DB) (all []string, err error) {
			found, err := newAsking(cfg, nodes.New(nodes.Config{DB: d, Clock: now}), catalog.New(catalog.Config{DB: d})).unfulfillable(ctx, d)
			for _, u := range found {
				all = append(all, u.Plan+" ("+strings.Join(u.Missing, ", ")+")")
			}
			return all, err
		},
		Rooms: rooms, NoSandboxes: nowhereSimulated(cfg),
		Config: cfg, Clock: now, Version: version, MailGuard: mailGuard, Adminer: hasAdminer,
		DatabaseFile: DatabaseFile(cfg), KeyFile: KeyFile(cfg), NodeDir: nodeDir(cfg),
		Ledger: func(ctx context.Context, d *db.DB) error {
			return auditLedger(ctx, wallet.New(wallet.Config{DB: d}))
		},
		Invoices: func(ctx context.Context, d *db.DB) error { return invoices.New(invoices.Config{DB: d}).Verify(ctx) },
		Registry: registryReady(cfg),
		Nodes: func(ctx context.Context, d *db.DB) ([]doctor.Node, error) {
			return callNodes(ctx, cfg, nodes.New(nodes.Config{DB: d, Clock: now}))
		},
		Strays: func(ctx context.Context, d *db.DB) (int, error) {
			return countStrays(ctx, cfg, nodes.New(nodes.Config{DB: d, Clock: now}))
		},
	})
}

// roomOfPlans counts for each plan on sale how many more services the nodes can take.
func roomOfPlans(ctx context.Context, n *nodes.Service, c *catalog.Service, d *db.DB) ([]doctor.Room, error) {
	plans, err := c.OnSale(ctx, d)
	if err != nil {
		return nil, err
	}
	needs := make([]nodes.Need, len(plans))
	for i, pl := range plans {
		needs[i] = needOf(pl)
	}
	found, err := n.Room(ctx, needs)
	rooms := make([]doctor.Room, len(found))
	for i, r := range found {
		rooms[i] = doctor.Room{Plan: plans[i].Slug, Services: r.Services, Unbounded: r.Unbounded, Obstacles: r.Obstacles}
	}
	return rooms, err
}

// callNodes calls all nodes that have joined, at the same time, and tells the doctor how they answered.
func callNodes(ctx context.Context, cfg config.Config, s *nodes.Service) ([]doctor.Node, error) {
	all, err := s.List(ctx)
	all = slices.DeleteFunc(all, func(n nodes.Node) bool { return !n.Serves() })
	if err != nil || len(all) == 0 {
		return nil, err
	}
	control, err := controlIdentity(ctx, cfg, s)
	if err != nil {
		return nil, err
	}
	found := make([]doctor.Node, len(all))
	var calls sync.WaitGroup
	for i, n := range all {
		calls.Go(func() { found[i] = callNode(ctx, control, n, s.Clock.Now()) })
	}
	calls.Wait()
	return found, nil
}

// controlIdentity is that with which nodes are called.
func controlIdentity(ctx context.Context, cfg config.Config, s *nodes.Service) (_ *nodelink.Identity, err error) {
	if _, err := os.Stat(KeyFile(cfg)); err != nil && cfg.SecretKey == "" {
		return nil, err // opening it would make a new one
	}
	if s.Box, err = openBox(cfg); err != nil {
		return nil, err
	}
	return s.Identity(ctx)
}

// countStrays counts the accounts about which the machines that answer and the database disagree.
func countStrays(ctx context.Context, cfg config.Config, s *nodes.Service) (int, error) {
	all, err := s.List(ctx)
	all = slices.DeleteFunc(all, func(n nodes.Node) bool { return !n.Serves() })
	if err != nil {
		return 0, err
	}
	var machines []admin.Machine
	add := func(of remote.Config) {
		far := remote.New(of)
		machines = append(machines, admin.Machine{Name: of.Name, Panel: of.Name, Ask: func(ctx context.Context) ([]panel.Resident, error) {
			defer func() { _ = far.Close() }() // frees the connection and cannot fail
			inventory, err := panel.Of[panel.Inventory](far, panel.CapInventory)
			if err != nil {
				return nil, err
			}
			return inventory.Residents(ctx)
		}})
	}
	if cfg.NodeListen != config.Off {
		add(remote.Config{Name: config.PanelNode, Socket: panelSocket(cfg), Timeout: lookUp})
	}
	if len(all) > 0 {
		control, err := controlIdentity(ctx, cfg, s)
		if err != nil {
			return 0, err
		}
		for _, n := range all {
			add(remote.Config{Name: nodes.PanelName(n.ID), Address: n.Address, TLS: control.Client(nodelink.NodeName(n.ID)), Timeout: lookUp})
		}
	}
	c, err := admin.CompareAccounts(ctx, s.DB, machines, moves.New(moves.Config{}).LookedAfter)
	return len(c.Data), err
}

func callNode(ctx context.Context, control *nodelink.Identity, n nodes.Node, now time.Time) doctor.Node {
	found := doctor.Node{
		Name: n.Name, Address: n.Address, Version: n.Version, Silent: n.Shown(now) == nodes.Offline, Maintenance: n.Maintenance,
		DiskFreeMB: n.Capacity.DiskFreeMB, DiskLow: n.LastSeenAt != nil && n.DiskLow(), Closed: n.Closed(now),
		NoAdminer: slices.Contains(n.Capabilities, panel.CapDatabases) && !slices.Contains(n.Capabilities, panel.CapAdminer),
	}
	if n.CertificateEndsAt != nil {
		found.CertificateEnds = *n.CertificateEndsAt
	}
	for _, at := range []*time.Time{n.JoinedAt, n.LastSeenAt} {
		if at != nil && at.After(found.LastSeen) {
			found.LastSeen = *at
		}
	}
	far := remote.New(remote.Config{
		Name: nodes.PanelName(n.ID), Address: n.Address, TLS: control.Client(nodelink.NodeName(n.ID)), Timeout: lookUp,
	})
	defer func() { _ = far.Close() }() // frees the connection and cannot fail
	said, err := far.Node(ctx)
	if err == nil {
		found.Version = said.Version
	}
	found.Unreachable = err
	return found
}

// OpenAPI returns the public OpenAPI document of a server without configuration. The operations need the sections, and these need
// a database: it is made for this call and removed afterwards.
func OpenAPI(ctx context.Context) (doc []byte, err error) {
	return document(ctx, func(a *App) *api.Edge { return a.edge })
}

// StaffOpenAPI returns the OpenAPI document of the operations of staff.
func StaffOpenAPI(ctx context.Context) (doc []byte, err error) {
	return document(ctx, func(a *App) *api.Edge { return a.staff })
}

func document(ctx context.Context, of func(*App) *api.Edge) (doc []byte, err error) {
	dir, err := os.MkdirTemp("", "stead-openapi-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	cfg, err := config.Load(config.Input{CommandLine: map[string]string{"data_dir": filepath.Join(dir, "data")}})
	if err != nil {
		return nil, err
	}
	a := &App{}
	if a.core, err = newCore(ctx, *cfg, Options{Log: slog.New(slog.DiscardHandler)}, command); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, a.close(ctx)) }()
	if a.edge, err = a.newEdge(); err != nil {
		return nil, err
	}
	return openAPI(of(a).OpenAPI())
}

// Administer opens the configured installation for the commands of administration; close ends it. Servers may run at the
// same time.
func Administer(ctx context.Context, cfg config.Config, version string) (_ *admin.Admin, closeFunc func() error, _ error) {
	if cfg.BaseURL == "" {
		// With port 0 only the server knows its address; commands send no links.
		cfg.BaseURL = "http://localhost"
	}
	c, err := newCore(ctx, cfg, Options{Version: version}, command)
	if err != nil {
		return nil, nil, err
	}
	return c.admin, func() error { return c.close(context.WithoutCancel(ctx)) }, nil
}
