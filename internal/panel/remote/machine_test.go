package remote_test

import (
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"stead.dev/stead/internal/node/cron"
	"stead.dev/stead/internal/node/daemon"
	"stead.dev/stead/internal/node/databases"
	"stead.dev/stead/internal/node/facility"
	"stead.dev/stead/internal/node/nodetest"
	panelnode "stead.dev/stead/internal/panel/node"
	"stead.dev/stead/internal/panel/paneltest"
)

// TestAMachineOfItsOwn holds that what real users and real servers do is the same from afar: commands,
// and databases that go out and come back as streams.
func TestAMachineOfItsOwn(t *testing.T) {
	n := nodetest.Node(t, func(dir string, s daemon.Supervisor, lookup facility.Lookup) ([]facility.Facility, error) {
		silent := slog.New(slog.DiscardHandler)
		stores, err := databases.New(databases.Config{
			Dir: filepath.Join(dir, "databases"), Lookup: lookup, Supervisor: s, Now: time.Now, Log: silent,
			MariaDB:    &databases.Instance{Port: nodetest.Port(t), MemoryMB: 16},
			PostgreSQL: &databases.Instance{Port: nodetest.Port(t), MemoryMB: 16},
		})
		if err != nil {
			return nil, err
		}
		jobs, err := cron.New(cron.Config{Dir: filepath.Join(dir, "cron"), Lookup: lookup, Now: time.Now, Log: silent})
		if err != nil {
			return nil, err
		}
		t.Cleanup(func() {
			if err := jobs.Stop(t.Context()); err != nil {
				t.Error(err)
			}
		})
		return []facility.Facility{stores, jobs}, nil
	}, nil)
	far := connect(t, panelnode.New(n))
	t.Run("databases", func(t *testing.T) { paneltest.Databases(t, far) })
	for _, ref := range n.Refs() {
		if err := far.DeleteAccount(t.Context(), ref); err != nil {
			t.Fatal(err)
		}
	}
	t.Run("cron", func(t *testing.T) { paneltest.Cron(t, far) })
}
