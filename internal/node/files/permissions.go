package files

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"golang.org/x/sys/unix"

	"stead.dev/stead/internal/node/tree"
	"stead.dev/stead/internal/port/panel"
)

// SetPermissions implements panel.Files.
func (d *Driver) SetPermissions(ctx context.Context, ref, p string, perm panel.Permissions) (_ panel.Entry, err error) {
	defer explain(&err, "permissions", ref)
	if !perm.Fit() {
		return panel.Entry{}, fmt.Errorf("%w: modes %o and %o", panel.ErrInvalid, uint32(perm.Files), uint32(perm.Directories))
	}
	c, err := d.change(ctx, ref)
	if err != nil {
		return panel.Entry{}, err
	}
	defer c.close()
	c.access = true // what could not be read may be readable now
	name, err := CleanPath(p)
	if err != nil {
		return panel.Entry{}, err
	}
	if protected[name] && (name != publicHTML || !perm.Recursive) {
		return panel.Entry{}, fmt.Errorf("%w: %q keeps its permissions", panel.ErrPathNotAllowed, p)
	}
	if err := c.setPermissions(name, perm); err != nil {
		return panel.Entry{}, err
	}
	return c.entry(name)
}

func (c *call) setPermissions(name string, perm panel.Permissions) error {
	f, st, err := tree.Find(c.root, name)
	if err != nil {
		return err
	}
	defer f.Close()
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFREG:
		return tree.ChmodFile(f, perm.Files)
	case unix.S_IFDIR:
	case unix.S_IFLNK:
		return fmt.Errorf("%w: a link", panel.ErrPathNotAllowed)
	default:
		return fmt.Errorf("%w: %s is neither file nor directory", panel.ErrInvalid, publicPath(name))
	}
	if !protected[name] {
		if err := tree.ChmodFile(f, perm.Directories); err != nil {
			return err
		}
	}
	if !perm.Recursive {
		return nil
	}
	top, err := tree.Open(f)
	if err != nil {
		return err
	}
	// What is not the account's does not keep the rest from being changed.
	var refused error
	err = tree.WalkDir(top, func(e *tree.Entry) (enter bool, err error) {
		switch {
		case c.Err() != nil:
			return false, c.Err()
		case e.Name == ".":
			return true, nil
		case strings.HasPrefix(path.Base(e.Name), staging):
			return false, nil
		}
		mode := perm.Files
		switch {
		case e.IsDir():
			mode = perm.Directories
		case !e.IsRegular():
			return false, nil
		}
		if fs.FileMode(e.Stat.Mode&0o7777) == mode {
			return true, nil
		}
		if err = e.Chmod(mode); errors.Is(err, fs.ErrPermission) {
			if refused == nil {
				refused = err
			}
			return false, nil
		}
		return true, err
	})
	return errors.Join(err, refused)
}
