package mail

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"stead.dev/stead/internal/node/daemon"
	"stead.dev/stead/internal/node/facility"
	"stead.dev/stead/internal/node/nodetest"
	"stead.dev/stead/internal/platform/testkit"
	panelnode "stead.dev/stead/internal/port/panel/node"
	"stead.dev/stead/internal/port/panel/paneltest"
)

// The port's contract, on a machine with real users.
func TestContract(t *testing.T) {
	n := nodetest.Node(t, func(dir string, s daemon.Supervisor, lookup facility.Lookup) ([]facility.Facility, error) {
		self, err := os.Executable()
		if err != nil {
			return nil, err
		}
		d, err := Open(Config{
			Dir: filepath.Join(dir, "m"), Store: filepath.Join(dir, "mailboxes"), Hostname: "mx.stead.test", SMTP: testkit.Address(t), IMAPS: testkit.Address(t),
			Submit: testkit.Address(t), Program: []string{self}, Accounts: lookup, Supervisor: s, Now: time.Now, Log: nodetest.Log(t),
			suffixes: suffixes(t, dir),
		})
		return []facility.Facility{d}, err
	}, nil)
	paneltest.Mailboxes(t, panelnode.New(n))
}
