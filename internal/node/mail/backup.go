package mail

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"stead.dev/stead/internal/node/accounts"
	"stead.dev/stead/internal/node/facility"
	"stead.dev/stead/internal/node/identity"
	"stead.dev/stead/internal/node/tree"
	"stead.dev/stead/internal/port/panel"
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
		to, err := freshDir(dir, m.Address)
		if err == nil {
			// The copy belongs to root and does not count towards the account's usage.
			c := copying{ctx: ctx, from: from, to: to, as: func(f func() error) error { return identity.Do(a, f) }}
			err = errors.Join(c.tree(".", "."), to.Close())
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
			continue // it is newer than the backup, or was empty then
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

// openBox opens the directory of a mailbox. The account's user cannot reach the store, so root opens it, and its
// content is read as the user.
func (d *Driver) openBox(a accounts.Account, address string) (*os.Root, error) {
	account, err := os.OpenRoot(filepath.Join(d.cfg.Store, a.Name))
	if err != nil {
		return nil, err
	}
	defer func() { _ = account.Close() }() // was read only
	return account.OpenRoot(boxPath(address))
}

func freshDir(dir, name string) (*os.Root, error) {
	made := filepath.Join(dir, name)
	if err := os.Mkdir(made, 0o700); err != nil {
		return nil, err
	}
	return os.OpenRoot(made)
}

// load replaces a mailbox by a copy.
func (d *Driver) load(ctx context.Context, a accounts.Account, s state, address string, from *os.Root) error {
	if err := d.directory(a.Name, s); err != nil {
		return err
	}
	account, err := os.OpenRoot(filepath.Join(d.cfg.Store, a.Name))
	if err != nil {
		return err
	}
	defer func() { _ = account.Close() }() // what was written is synced by its files
	box := boxPath(address)
	err = identity.Do(a, func() error { return account.MkdirAll(path.Dir(box), 0o700) })
	if err != nil {
		return err
	}
	// Root creates the new mailbox and gives it to the user when it is complete: the user may have no room for two.
	fresh := path.Join(path.Dir(box), ".stead-"+path.Base(box))
	err = tree.Remove(account, fresh, nil) // left by an agent that was killed
	if err == nil {
		err = account.Mkdir(fresh, 0o700)
	}
	if err != nil {
		return err
	}
	c := copying{ctx: ctx, from: from, to: account, uid: a.User.UID, gid: a.User.GID, as: func(f func() error) error { return f() }}
	err = c.tree(".", fresh)
	if err == nil {
		err = c.giveDir(fresh)
	}
	if err == nil {
		err = identity.Do(a, func() error {
			if err := tree.Remove(account, box, nil); err != nil {
				return err
			}
			return account.Rename(fresh, box)
		})
	}
	if err != nil {
		return errors.Join(err, tree.Remove(account, fresh, nil))
	}
	return nil
}

// copying copies directories and files, with their permissions and times. It skips what vanishes meanwhile, such as
// mails that are read or moved.
type copying struct {
	ctx      context.Context
	from, to *os.Root
	as       func(func() error) error // runs the opening of a source as a user who may read it
	uid, gid int                      // owner of the copy; 0: root
}

func (c copying) tree(source, target string) error {
	var dir *os.File
	err := c.as(func() (err error) {
		dir, err = c.from.Open(source)
		return err
	})
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
		if err := c.ctx.Err(); err != nil {
			return err
		}
		if strings.HasPrefix(e.Name(), "dovecot.index") || strings.HasPrefix(e.Name(), "dovecot.list.index") {
			continue
		}
		name, as := path.Join(source, e.Name()), path.Join(target, e.Name())
		switch {
		case e.IsDir():
			if err = c.to.Mkdir(as, 0o700); err == nil {
				err = errors.Join(c.tree(name, as), c.giveDir(as))
			}
		case e.Type().IsRegular():
			err = c.file(name, as)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

func (c copying) file(source, target string) error {
	var src *os.File
	err := c.as(func() (err error) {
		src, err = c.from.Open(source)
		return err
	})
	if err != nil {
		return err
	}
	defer func() { _ = src.Close() }() // was read only
	info, err := src.Stat()
	if err != nil {
		return err
	}
	dst, err := c.to.OpenFile(target, os.O_WRONLY|os.O_CREATE|os.O_EXCL, info.Mode().Perm())
	if err != nil {
		return err
	}
	_, err = io.Copy(dst, src)
	if err == nil {
		err = dst.Chmod(info.Mode().Perm())
	}
	if err == nil {
		err = c.give(dst)
	}
	if err = errors.Join(err, dst.Close()); err != nil {
		return err
	}
	return c.to.Chtimes(target, info.ModTime(), info.ModTime())
}

// give gives a created file to the user, by its descriptor: the user may have put something else under its name.
func (c copying) give(made *os.File) error {
	if c.uid == 0 {
		return nil
	}
	return made.Chown(c.uid, c.gid)
}

func (c copying) giveDir(name string) error {
	dir, err := c.to.OpenFile(name, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return err
	}
	return errors.Join(c.give(dir), dir.Close())
}
