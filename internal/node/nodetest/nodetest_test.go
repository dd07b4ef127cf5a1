package nodetest_test

import (
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"testing"

	"stead.dev/stead/internal/node/accounts"
	"stead.dev/stead/internal/node/identity"
	"stead.dev/stead/internal/node/nodetest"
	"stead.dev/stead/internal/port/panel"
)

func TestAccountOfATestIsARealUser(t *testing.T) {
	m := nodetest.New(t)
	a := m.Account("alice", panel.Limits{})
	u, err := user.Lookup(a.User.Name)
	if err != nil || u.HomeDir != a.Jail {
		t.Fatalf("user %+v, %v", u, err)
	}
	cmd := identity.Command(t.Context(), a, "/bin/sh", "-c", "id -un; pwd; touch made")
	out, err := cmd.CombinedOutput()
	if want := a.User.Name + "\n" + a.Home + "\n"; err != nil || string(out) != want {
		t.Errorf("%q, %v; want %q", out, err, want)
	}
	info, err := os.Stat(filepath.Join(a.Home, "made"))
	if err != nil || info.Size() != 0 {
		t.Error(err)
	}
	a = m.Update("alice", func(r *accounts.Record) { r.Suspended = true })
	if out, err := exec.CommandContext(t.Context(), "su", "-s", "/bin/sh", "-c", "true", a.User.Name).CombinedOutput(); err == nil {
		t.Errorf("a suspended account logs in: %s", out)
	}
}
