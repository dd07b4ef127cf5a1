package sandbox_test

import (
	"errors"
	"log/slog"
	"testing"
	"time"

	"stead.dev/stead/internal/port/panel"
	"stead.dev/stead/internal/port/panel/paneltest"
	"stead.dev/stead/internal/port/panel/sandbox"
)

func open(t *testing.T) panel.Panel {
	t.Helper()
	now := func() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC) }
	p, err := sandbox.Open(t.Context(), t.TempDir(), now, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p
}

// capabilities are those of a real machine but the terminal, which there is nothing behind, and with
// certificates by an authority of its own.
var capabilities = []panel.Capability{
	panel.CapAccounts, panel.CapUsage, panel.CapSites, panel.CapFiles, panel.CapArchives, panel.CapDeploys, panel.CapCertificates, panel.CapIssuing,
	panel.CapBackups, panel.CapMoving, panel.CapInventory, panel.CapDatabases, panel.CapCron, panel.CapMail, panel.CapFTP, panel.CapShell, panel.CapPHP, panel.CapLogs,
}

func TestSuite(t *testing.T) { paneltest.RunSuite(t, capabilities, open) }

func TestSandboxFailsWhenTheDomainAsksForIt(t *testing.T) {
	accounts := open(t).(panel.Accounts)
	for label, kind := range sandbox.Failures {
		_, err := accounts.CreateAccount(t.Context(), panel.AccountSpec{Ref: "1", PrimaryDomain: label + ".example.com"})
		if !errors.Is(err, kind) {
			t.Errorf("%s: error = %v, want %s", label, err, kind)
		}
		if _, err := accounts.Account(t.Context(), "1"); !errors.Is(err, panel.ErrNotFound) {
			t.Errorf("%s: left an account behind", label)
		}
	}
}
