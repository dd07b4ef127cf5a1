package databases

import (
	"context"
	"errors"

	"stead.dev/stead/internal/node/accounts"
	"stead.dev/stead/internal/port/panel"
)

// sessions is the number of sessions of each of an account's databases.
func (i Instance) sessions(databases int) int {
	return max(min(i.Sessions, i.MaxSessions/4/max(databases, 1)), 1)
}

// on counts the databases on a server.
func (rec stored) on(s server, servers map[panel.DatabaseEngine]server) (n int) {
	for _, db := range rec.Databases {
		if servers[db.Engine] == s {
			n++
		}
	}
	return n
}

// applyRest is applyOne for the account's other databases on the same server.
func (d *Driver) applyRest(ctx context.Context, a accounts.Account, but database) error {
	var failed error
	for _, db := range d.records.Get(a.Name).Databases {
		if db.Made && !db.Ending && db.Name != but.Name && d.servers[db.Engine] == d.servers[but.Engine] {
			failed = errors.Join(failed, d.applyOne(ctx, a, db))
		}
	}
	return failed
}
