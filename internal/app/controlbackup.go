package app

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"stead.dev/stead/internal/commerce/wallet"
	"stead.dev/stead/internal/front/setup"
	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/config"
	"stead.dev/stead/internal/platform/controlbackup"
	"stead.dev/stead/internal/platform/db"
)

// BackupPlace is where the configuration says that backups of the control plane are.
func BackupPlace(cfg config.Config) controlbackup.Place {
	return controlbackup.Place{To: cfg.ControlBackupTo, S3File: cfg.ControlBackupS3File, S3Region: cfg.ControlBackupS3Region}
}

// BackupKeys are those that the configuration has for them.
func BackupKeys(cfg config.Config) controlbackup.Keys {
	return controlbackup.Keys{Passphrase: cfg.ControlBackupPassphrase.Reveal(), Recipients: cfg.ControlBackupRecipients}
}

// recompute is the ledger check of a database.
func recompute(ctx context.Context, d *db.DB) error {
	return auditLedger(ctx, wallet.New(wallet.Config{DB: d}))
}

// errNoInstallation says that there is nothing to back up.
func errNoInstallation(cfg config.Config) error {
	return errors.New("there is no installation in " + cfg.DataDir + " (data_dir, STEAD_DATA_DIR)")
}

// Backup backs the control plane up, beside its servers. Copies that are not encrypted are made in staging meanwhile; where it
// is empty, in the data directory.
func Backup(ctx context.Context, cfg config.Config, version, staging string) (r controlbackup.Result, err error) {
	if _, err := os.Stat(DatabaseFile(cfg)); cfg.SQLite() && errors.Is(err, fs.ErrNotExist) {
		return r, errNoInstallation(cfg)
	}
	key := []byte(cfg.SecretKey.Reveal())
	if len(key) == 0 {
		if key, err = os.ReadFile(KeyFile(cfg)); err != nil {
			return r, err
		}
	}
	settings, err := cfg.File()
	if err != nil {
		return r, err
	}
	now := clock.System(cfg.ClockOffset)
	d, err := openDB(ctx, cfg, now, nil)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	return controlbackup.Create(ctx, controlbackup.Source{
		DB: d, Address: cfg.DatabaseURL.Reveal(), Key: key, Settings: settings, Version: version, Clock: now, Ledger: recompute,
		Dir: stagingDir(cfg, staging),
	}, BackupPlace(cfg), BackupKeys(cfg))
}

func stagingDir(cfg config.Config, staging string) string {
	if staging != "" {
		return staging
	}
	return cfg.DataDir
}

// Restore restores a backup of the control plane; the newest where name is empty. The installation is on hold afterwards.
func Restore(ctx context.Context, cfg config.Config, keys controlbackup.Keys, name, staging string, replace bool) (r controlbackup.Restored, err error) {
	if err := makeDataDir(cfg); err != nil {
		return r, err
	}
	release, err := lockDataDir(cfg.DataDir)
	if err != nil {
		return r, err
	}
	settings := filepath.Join(cfg.DataDir, "restored-stead.yaml")
	defer func() {
		err = errors.Join(err, giveToOwner(cfg.DataDir, DatabaseFile(cfg), KeyFile(cfg), settings, lockFile(cfg.DataDir)), release())
	}()
	return controlbackup.Restore(ctx, BackupPlace(cfg), keys, name, controlbackup.Target{
		DatabaseFile: DatabaseFile(cfg), Address: cfg.DatabaseURL.Reveal(), KeyFile: KeyFile(cfg), GivenKey: givenKey(cfg),
		SettingsFile: settings, Clock: clock.System(cfg.ClockOffset), Ledger: recompute,
		Dir: stagingDir(cfg, staging), Replace: replace,
	})
}

// giveToOwner makes files that root has made in the data directory belong to the owner of the directory, who runs the server.
func giveToOwner(dataDir string, files ...string) error {
	info, err := os.Stat(dataDir)
	if err != nil || os.Geteuid() != 0 {
		return err
	}
	owner, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return nil
	}
	for _, path := range files {
		if !setup.IsRoots(path) {
			continue
		}
		if err := setup.Give(int(owner.Uid), int(owner.Gid), path); err != nil {
			return err
		}
	}
	return nil
}

func givenKey(cfg config.Config) []byte {
	if cfg.SecretKey == "" {
		return nil
	}
	return []byte(cfg.SecretKey.Reveal())
}

// CheckBackup proves a backup in a scratch database. It changes nothing but the note of the proof.
func CheckBackup(ctx context.Context, cfg config.Config, keys controlbackup.Keys, name, staging string) (r controlbackup.Restored, err error) {
	var present *db.DB
	if _, statErr := os.Stat(DatabaseFile(cfg)); !cfg.SQLite() || statErr == nil {
		// Without the installation a backup can be proven as well.
		if d, err := openDB(ctx, cfg, clock.System(cfg.ClockOffset), nil); err == nil {
			defer func() { _ = d.Close() }()
			if pending, err := pendingMigrations(ctx, d); err == nil && pending == 0 {
				present = d
			}
		}
	}
	if staging == "" {
		if staging = cfg.DataDir; !isDir(staging) {
			staging = os.TempDir()
		}
	}
	return controlbackup.Check(ctx, BackupPlace(cfg), keys, name, staging, cfg.DatabaseURL.Reveal(), recompute, present)
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
