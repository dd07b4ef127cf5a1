package accounts

import (
	"context"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"stead.dev/stead/internal/platform/atomicfile"
)

// OpenDirectories keeps accounts as directories, which needs nothing of the machine: the home is accounts/<name>, as
// Layout says, and the process's own user does everything.
func OpenDirectories(dir string, now func() time.Time, log *slog.Logger) (*Store, error) {
	return open(dir, now, log, func(s *Store) (ground, error) { return directories{s}, nil })
}

// directories is the ground of accounts that are only directories.
type directories struct{ store *Store }

func (d directories) home(rec Record) string { return d.store.own(rec) }

func (directories) taken(string) (bool, error) { return false, nil }

func (directories) reserve(*Record) error { return nil }

func (d directories) build(_ context.Context, rec Record) error {
	home := d.home(rec)
	if err := d.store.discard(home); err != nil {
		return err
	}
	if err := os.Mkdir(home, 0o750); err != nil {
		return err
	}
	for _, l := range Layout {
		if err := os.Mkdir(filepath.Join(home, l.Name), fs.FileMode(l.Mode)); err != nil {
			return err
		}
	}
	if err := atomicfile.SyncDir(home); err != nil {
		return err
	}
	return atomicfile.SyncDir(filepath.Dir(home))
}

func (directories) settle(context.Context, Record) error { return nil }
func (directories) clear(context.Context, Record) error  { return nil }

func (d directories) erase(_ context.Context, rec Record) error { return d.store.discard(d.home(rec)) }
