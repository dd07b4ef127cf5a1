package databases

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"testing"
	"time"

	"stead.dev/stead/internal/node/accounts"
	"stead.dev/stead/internal/node/daemon"
	"stead.dev/stead/internal/platform/testkit"
	"stead.dev/stead/internal/port/panel"
)

// A server that does not run is an error of every call, never the end of the agent, and keeps the other
// server from nothing.
func TestAServerThatDoesNotStartIsUnreachable(t *testing.T) {
	dir, err := os.MkdirTemp("/tmp", "stead-db")
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
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	m := &machine{t: t, accounts: map[string]accounts.Account{}, clock: time.Now()}
	m.cfg = Config{
		Dir: dir + "/databases", Lookup: m.lookup, Now: m.now, Log: silent, Supervisor: supervisor,
		MariaDB:    &Instance{Port: taken.Addr().(*net.TCPAddr).Port, MemoryMB: 16, MaxSessions: 50},
		PostgreSQL: &Instance{Port: testkit.Port(t), MemoryMB: 16, MaxSessions: 50},
	}
	m.Driver, err = New(m.cfg)
	m.must(err)
	t.Cleanup(func() {
		if err := errors.Join(m.Stop(t.Context()), supervisor.Close(), taken.Close()); err != nil && !errors.Is(err, net.ErrClosed) {
			t.Error(err)
		}
	})
	m.account("alice")
	a, err := m.lookup("alice")
	m.must(err)
	unreachable := func(e panel.DatabaseEngine) {
		t.Helper()
		name := fmt.Sprintf("alice_%.2s", string(e))
		_, set := m.SetDatabase(t.Context(), "alice", panel.Database{Name: name, Engine: e, Password: password})
		_, listed := m.ListDatabases(t.Context(), "alice")
		m.must(listed)
		_, offered := m.DatabaseEngines(t.Context())
		m.must(offered)
		for call, err := range map[string]error{"set": set, "apply": m.Apply(t.Context(), a), "remove": m.Remove(t.Context(), a)} {
			if panel.KindOf(err) != panel.ErrUnreachable {
				t.Errorf("%s of %s: %v", call, e, err)
			}
		}
	}
	unreachable(panel.MariaDB)
	unreachable(panel.PostgreSQL)

	if err := m.Start(t.Context()); err == nil {
		t.Error("it starts on a port that is taken")
	}
	unreachable(panel.MariaDB)
	if _, err := m.SetDatabase(t.Context(), "alice", panel.Database{Name: "alice_db", Engine: panel.PostgreSQL, Password: password}); err != nil {
		t.Errorf("the other server: %v", err)
	}
	m.must(taken.Close())
	m.must(m.Start(t.Context()))
	m.must(m.Apply(t.Context(), a))
	m.must(m.Remove(t.Context(), a))
}
