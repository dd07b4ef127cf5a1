package machine

import (
	"path/filepath"

	"stead.dev/stead/internal/node"
	"stead.dev/stead/internal/node/accounts"
	"stead.dev/stead/internal/node/cron"
	"stead.dev/stead/internal/node/daemon"
	"stead.dev/stead/internal/node/databases"
	"stead.dev/stead/internal/node/facility"
	"stead.dev/stead/internal/node/logs"
	"stead.dev/stead/internal/port/panel"
)

// openDatabases opens the accounts' databases, in the installed servers; none when none is installed.
func openDatabases(cfg Config, n *node.Node, s daemon.Supervisor) ([]facility.Facility, error) {
	c := databases.Config{Dir: filepath.Join(cfg.Dir, "databases"), Lookup: n.Lookup, Supervisor: s, Now: cfg.Now, Log: cfg.Log}
	mariadb, postgresql := databases.Installed()
	if mariadb {
		c.MariaDB = &databases.Instance{Port: cfg.Ports.MariaDB}
	}
	if postgresql {
		c.PostgreSQL = &databases.Instance{Port: cfg.Ports.PostgreSQL}
	}
	if !mariadb && !postgresql {
		cfg.Log.Warn("without mariadb-server and postgresql there are no databases")
		return nil, nil
	}
	stores, err := databases.New(c)
	if err != nil {
		return nil, err
	}
	return []facility.Facility{stores}, nil
}

// openCron opens the accounts' cron jobs.
func openCron(cfg Config, n *node.Node, written *logs.Store) (facility.Facility, error) {
	return cron.New(cron.Config{
		Dir: filepath.Join(cfg.Dir, "cron"), Lookup: n.Lookup, Now: cfg.Now, Log: cfg.Log,
		Tell: func(a accounts.Account, lines ...panel.LogLine) error {
			return written.Append(a.Name, a.User.GID, panel.LogCron, lines...)
		},
	})
}
