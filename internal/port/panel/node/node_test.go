package node_test

import (
	"log/slog"
	"slices"
	"testing"
	"time"

	"stead.dev/stead/internal/node/machine"
	"stead.dev/stead/internal/port/panel"
	panelnode "stead.dev/stead/internal/port/panel/node"
	"stead.dev/stead/internal/port/panel/paneltest"
)

// capabilities are those of a machine of directories.
var capabilities = []panel.Capability{
	panel.CapAccounts, panel.CapUsage, panel.CapSites, panel.CapFiles, panel.CapArchives, panel.CapDeploys, panel.CapBackups, panel.CapHandover, panel.CapMoving, panel.CapInventory, panel.CapMovedLogs,
}

func TestSuite(t *testing.T) {
	paneltest.RunSuite(t, capabilities, func(t *testing.T) panel.Panel {
		m, err := machine.Open(t.Context(), machine.Config{
			Kind: machine.Directories, Dir: t.TempDir(), Log: slog.New(slog.DiscardHandler), OriginURL: "http://127.0.0.1:1",
			Now: func() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC) },
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := m.Close(); err != nil {
				t.Error(err)
			}
		})
		return panelnode.New(m.Node)
	})
}

func TestCapabilitiesAreThoseOfTheInterfaces(t *testing.T) {
	own := slices.DeleteFunc(slices.Clone(capabilities), func(c panel.Capability) bool {
		return c == panel.CapBackups || c == panel.CapHandover || c == panel.CapMovedLogs // what a machine lends
	})
	if got := panel.Capabilities(panelnode.Panel{}); !slices.Equal(got, own) {
		t.Errorf("capabilities = %v, want %v", got, own)
	}
}
