package databases

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"

	"stead.dev/stead/internal/node/accounts"
	"stead.dev/stead/internal/port/panel"
)

// BackupPart implements facility.Backuper.
func (*Driver) BackupPart() panel.BackupPart { return panel.PartDatabases }

// DumpBackup implements facility.Backuper: a file of SQL for each database.
func (d *Driver) DumpBackup(ctx context.Context, a accounts.Account, dir string) (items int64, err error) {
	w := &sparing{spare: cmp.Or(d.cfg.Spare, spare), left: look}
	for _, db := range d.records.Get(a.Name).Databases {
		if db.Ending || !db.Made {
			continue
		}
		if err := d.dumpTo(ctx, a.Ref, db.Name, filepath.Join(dir, db.Name+".sql"), w); err != nil {
			return 0, err
		}
		items++
	}
	return items, nil
}

const (
	spare = 2 << 30  // bytes of the disk that dumps leave free
	look  = 64 << 20 // bytes that are written between two looks at the disk
)

// sparing writes files until the disk has no more than spare bytes free. A compressed database can be a thousand times larger as SQL
// than it is on the disk, and a full disk stops the sites, databases and mailboxes of all accounts.
type sparing struct {
	to    *os.File
	spare int64
	left  int64 // bytes until the next look
}

// Write implements io.Writer.
func (s *sparing) Write(p []byte) (int, error) {
	if s.left -= int64(len(p)); s.left < 0 {
		s.left = look
		var disk unix.Statfs_t
		if err := unix.Fstatfs(int(s.to.Fd()), &disk); err != nil {
			return 0, fmt.Errorf("statfs: %w", err)
		}
		if free := int64(disk.Bavail) * disk.Bsize; free < s.spare { //nolint:gosec // no disk has 2^63 bytes
			return 0, fmt.Errorf("%w: the dumps of an account's databases leave %d MB of the machine's disk free, and there are %d MB",
				panel.ErrDiskFull, s.spare>>20, free>>20)
		}
	}
	return s.to.Write(p)
}

func (d *Driver) dumpTo(ctx context.Context, ref, name, file string, w *sparing) (err error) {
	from, err := d.DumpDatabase(ctx, ref, name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, from.Close()) }()
	to, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	w.to = to
	_, err = io.Copy(w, from)
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
