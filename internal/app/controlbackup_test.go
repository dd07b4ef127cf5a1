package app

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"

	"stead.dev/stead/internal/platform/controlbackup"
	"stead.dev/stead/internal/platform/secret"
	"stead.dev/stead/internal/platform/testkit"
)

func TestNoServerStartsOnARestoreThatWasInterrupted(t *testing.T) {
	t.Parallel()
	cfg := testConfig(t, map[string]string{"database_url": testkit.PostgresURL(t)})
	c, err := pgx.Connect(t.Context(), cfg.DatabaseURL.Reveal())
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.Exec(t.Context(), `CREATE TABLE stead_restoring ()`)
	if err = errors.Join(err, c.Close(t.Context())); err != nil {
		t.Fatal(err)
	}
	if _, err := New(t.Context(), cfg, quietly()); !errors.Is(err, controlbackup.ErrUnfinished) {
		t.Errorf("a server starts: %v", err)
	}
	if _, err := Migrate(t.Context(), cfg); !errors.Is(err, controlbackup.ErrUnfinished) {
		t.Errorf("it is migrated: %v", err)
	}
}

func TestARestoreByRootGivesItsFilesToTheOwnerOfTheDataDirectory(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root gives files away")
	}
	cfg := testConfig(t, map[string]string{
		"control_backup_to": filepath.Join(t.TempDir(), "backups"), "control_backup_passphrase": "seven-quiet-otters-swim",
	})
	if _, err := secret.OpenKeyFile(KeyFile(cfg)); err != nil {
		t.Fatal(err)
	}
	if _, err := Backup(t.Context(), cfg, "v1", ""); err != nil {
		t.Fatal(err)
	}
	const owner = 12345
	to := cfg
	to.DataDir = t.TempDir()
	if err := os.Chown(to.DataDir, owner, owner); err != nil {
		t.Fatal(err)
	}
	if _, err := Restore(t.Context(), to, BackupKeys(to), "", "", false); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{DatabaseFile(to), KeyFile(to), lockFile(to.DataDir), filepath.Join(to.DataDir, "restored-stead.yaml")} {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if is, ok := info.Sys().(*syscall.Stat_t); !ok || is.Uid != owner || is.Gid != owner {
			t.Errorf("%s belongs to %+v", path, info.Sys())
		}
	}
}
