package machine

import (
	"net"
	"net/url"
	"path/filepath"
	"strconv"

	"stead.dev/stead/internal/node"
	"stead.dev/stead/internal/node/accounts"
	"stead.dev/stead/internal/node/adminer"
	"stead.dev/stead/internal/node/cron"
	"stead.dev/stead/internal/node/daemon"
	"stead.dev/stead/internal/node/databases"
	"stead.dev/stead/internal/node/facility"
	"stead.dev/stead/internal/node/logs"
	"stead.dev/stead/internal/node/web/nginx"
	"stead.dev/stead/internal/port/panel"
)

// openDatabases opens the accounts' databases, in the installed servers; none when none is installed.
func openDatabases(cfg Config, n *node.Node, s daemon.Supervisor, sites *nginx.Server) ([]facility.Facility, error) {
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
	if !opensDatabases(cfg) {
		cfg.Log.Warn("without adminer and an address of the machine's own (node_url) no databases are opened in browsers")
		return []facility.Facility{stores}, nil
	}
	return []facility.Facility{stores, adminer.New(adminer.Config{
		Dir: adminerDir(cfg), Databases: stores, Supervisor: s, Now: cfg.Now, Log: cfg.Log, WebGroup: cfg.WebGroup,
		Address: func() string { return ownAddress(cfg, sites) },
	})}, nil
}

// opensDatabases reports whether the machine has what opens databases in browsers, and an address for it.
func opensDatabases(cfg Config) bool {
	u, err := url.Parse(cfg.OriginURL)
	return err == nil && u.Host != "" && adminer.Installed()
}

func adminerDir(cfg Config) string { return filepath.Join(cfg.Dir, "adminer") }

// ownAddress is where browsers reach the machine itself: by HTTPS where it has a certificate of its own name.
func ownAddress(cfg Config, sites *nginx.Server) string {
	good, err := sites.CertifyOwn()
	if err != nil {
		cfg.Log.Error("the certificate of the machine's own name cannot be used", "error", err)
	}
	if good && err == nil {
		if cfg.Ports.HTTPS == 443 {
			return "https://" + sites.OwnName()
		}
		return "https://" + net.JoinHostPort(sites.OwnName(), strconv.Itoa(cfg.Ports.HTTPS))
	}
	u, err := url.Parse(cfg.OriginURL)
	if err != nil {
		return "" // opensDatabases has parsed it
	}
	return u.Scheme + "://" + u.Host
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
