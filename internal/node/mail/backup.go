package mail

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"stead.dev/stead/internal/node/accounts"
	"stead.dev/stead/internal/node/facility"
	"stead.dev/stead/internal/node/identity"
	"stead.dev/stead/internal/panel"
)

var _ facility.Backuper = (*Driver)(nil)

// BackupPart implements facility.Backuper.
func (*Driver) BackupPart() panel.BackupPart { return panel.PartMail }

// DumpBackup implements facility.Backuper: a directory for each mailbox, named by its address.
// Dovecot's indexes are left out, which it makes anew of the rest.
func (d *Driver) DumpBackup(ctx context.Context, a accounts.Account, dir string) (items int64, err error) {
	for _, m := range d.store.Get(a.Name).Boxes {
		from, err := d.openBox(a, m.Address)
		if errors.Is(err, fs.ErrNotExist) {
			continue // nothing was ever delivered
		}
		if err != nil {
			return items, fmt.Errorf("mail: %w", err)
		}
		to, err := d.userDir(a, dir, m.Address)
		if err == nil {
			err = identity.Do(a, func() error { return copyTree(ctx, from, to, ".", ".") })
			err = errors.Join(err, to.Close())
		}
		if err = errors.Join(err, from.Close()); err != nil {
			return items, fmt.Errorf("mail: backup of %s: %w", m.Address, err)
		}
		items++
	}
	return items, nil
}

// LoadBackup implements facility.Backuper. A mailbox that the account no longer has is passed over:
// whether it has it is not a backup's to say. Sessions of a restored mailbox end.
func (d *Driver) LoadBackup(ctx context.Context, a accounts.Account, dir string, items []string) error {
	s := d.store.Get(a.Name)
	for _, m := range s.Boxes {
		if len(items) > 0 && !slices.Contains(items, m.Address) {
			continue
		}
		from, err := os.OpenRoot(filepath.Join(dir, m.Address))
		if errors.Is(err, fs.ErrNotExist) {
			continue // it came after the backup, or had nothing then
		}
		if err == nil {
			err = errors.Join(d.load(ctx, a, s, m.Address, from), from.Close())
		}
		if err == nil {
			err = d.kick(ctx, m.Address)
		}
		if err != nil {
			return fmt.Errorf("mail: restore of %s: %w", m.Address, err)
		}
	}
	return nil
}

// boxPath is a mailbox's directory below the account's.
func boxPath(address string) string {
	local, domain, _ := strings.Cut(address, "@")
	return path.Join(domain, local)
}

// openBox opens the directory of a mailbox. The store is closed to the account's user, so it is opened
// here, and then read as the user.
func (d *Driver) openBox(a accounts.Account, address string) (*os.Root, error) {
	account, err := os.OpenRoot(filepath.Join(d.cfg.Store, a.Name))
	if err != nil {
		return nil, err
	}
	defer func() { _ = account.Close() }() // was read only
	return account.OpenRoot(boxPath(address))
}

// userDir makes a directory in one of root's in which the account's user may write.
func (d *Driver) userDir(a accounts.Account, dir, name string) (*os.Root, error) {
	made := filepath.Join(dir, name)
	if err := os.Mkdir(made, 0o700); err != nil {
		return nil, err
	}
	if a.User.UID != 0 {
		if err := os.Chown(made, a.User.UID, a.User.GID); err != nil {
			return nil, err
		}
	}
	return os.OpenRoot(made)
}

// load puts a copy of a mailbox in the place of the mailbox.
func (d *Driver) load(ctx context.Context, a accounts.Account, s state, address string, from *os.Root) error {
	if err := d.directory(a.Name, s); err != nil {
		return err
	}
	account, err := os.OpenRoot(filepath.Join(d.cfg.Store, a.Name))
	if err != nil {
		return err
	}
	defer func() { _ = account.Close() }() // what was written is synced by its files
	// The copy is root's: it is given to the user, who then reads it.
	if err := give(a, from); err != nil {
		return err
	}
	return identity.Do(a, func() error {
		box := boxPath(address)
		if err := account.MkdirAll(path.Dir(box), 0o700); err != nil {
			return err
		}
		fresh := path.Join(path.Dir(box), ".stead-"+rand.Text())
		if err := account.Mkdir(fresh, 0o700); err != nil {
			return err
		}
		if err := copyTree(ctx, from, account, ".", fresh); err != nil {
			return errors.Join(err, account.RemoveAll(fresh))
		}
		if err := account.RemoveAll(box); err != nil {
			return errors.Join(err, account.RemoveAll(fresh))
		}
		return account.Rename(fresh, box)
	})
}

// give makes the account's user the owner of a tree.
func give(a accounts.Account, root *os.Root) error {
	if a.User.UID == 0 {
		return nil
	}
	return fs.WalkDir(root.FS(), ".", func(name string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return root.Lchown(name, a.User.UID, a.User.GID)
	})
}

// copyTree copies directories and files, with their permissions and times. What vanishes meanwhile,
// as mails do that are read or moved, is passed over.
func copyTree(ctx context.Context, from, to *os.Root, source, target string) error {
	dir, err := from.Open(source)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	entries, err := dir.ReadDir(-1)
	if err = errors.Join(err, dir.Close()); err != nil {
		return err
	}
	for _, e := range entries {
		if err := ctx.Err(); err != nil {
			return err
		}
		if strings.HasPrefix(e.Name(), "dovecot.index") || strings.HasPrefix(e.Name(), "dovecot.list.index") {
			continue
		}
		name, as := path.Join(source, e.Name()), path.Join(target, e.Name())
		switch {
		case e.IsDir():
			if err = to.Mkdir(as, 0o700); err == nil {
				err = copyTree(ctx, from, to, name, as)
			}
		case e.Type().IsRegular():
			err = copyFile(from, to, name, as)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

func copyFile(from, to *os.Root, source, target string) error {
	src, err := from.Open(source)
	if err != nil {
		return err
	}
	defer func() { _ = src.Close() }() // was read only
	info, err := src.Stat()
	if err != nil {
		return err
	}
	dst, err := to.OpenFile(target, os.O_WRONLY|os.O_CREATE|os.O_EXCL, info.Mode().Perm())
	if err != nil {
		return err
	}
	_, err = io.Copy(dst, src)
	if err == nil {
		err = dst.Chmod(info.Mode().Perm())
	}
	if err = errors.Join(err, dst.Close()); err != nil {
		return err
	}
	return to.Chtimes(target, info.ModTime(), info.ModTime())
}
