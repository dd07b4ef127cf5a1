package databases

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"stead.dev/stead/internal/node/accounts"
	"stead.dev/stead/internal/port/panel"
)

// BackupPart implements facility.Backuper.
func (*Driver) BackupPart() panel.BackupPart { return panel.PartDatabases }

// DumpBackup implements facility.Backuper: a file of SQL for each database.
func (d *Driver) DumpBackup(ctx context.Context, a accounts.Account, dir string) (items int64, err error) {
	for _, db := range d.records.Get(a.Name).Databases {
		if db.Ending || !db.Made {
			continue
		}
		if err := d.dumpTo(ctx, a.Ref, db.Name, filepath.Join(dir, db.Name+".sql")); err != nil {
			return 0, err
		}
		items++
	}
	return items, nil
}

func (d *Driver) dumpTo(ctx context.Context, ref, name, file string) (err error) {
	from, err := d.DumpDatabase(ctx, ref, name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, from.Close()) }()
	to, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(to, from)
	return errors.Join(err, to.Close())
}

// LoadBackup implements facility.Backuper. A database is emptied before its dump is run. One that the
// account no longer has is passed over: whether it has it is not a backup's to say.
func (d *Driver) LoadBackup(ctx context.Context, a accounts.Account, dir string, items []string) error {
	for _, db := range d.records.Get(a.Name).Databases {
		if db.Ending || len(items) > 0 && !slices.Contains(items, db.Name) {
			continue
		}
		if err := d.loadFrom(ctx, a, db, filepath.Join(dir, db.Name+".sql")); err != nil {
			return panel.Wrap("databases.restore", a.Ref, fmt.Errorf("%s: %w", db.Name, err))
		}
	}
	return nil
}

func (d *Driver) loadFrom(ctx context.Context, a accounts.Account, db database, file string) error {
	from, err := os.Open(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // it came after the backup
	}
	if err != nil {
		return err
	}
	defer from.Close()
	if err := d.empty(ctx, a, db); err != nil {
		return err
	}
	return d.ImportDatabase(ctx, a.Ref, db.Name, from)
}

// empty recreates a database without content. Its user can write again afterwards, also when the database was full.
func (d *Driver) empty(ctx context.Context, a accounts.Account, db database) error {
	defer d.lock(a.Name)()
	s, ok := d.servers[db.Engine]
	if !ok {
		return fmt.Errorf("%w: no server for %s", panel.ErrUnsupported, db.Engine)
	}
	if err := s.create(ctx, db.Name, db.Charset); err != nil {
		return err
	}
	d.stale(db.Name)
	return d.applyOne(ctx, a, db)
}
