package files

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"stead.dev/stead/internal/node/tree"
	"stead.dev/stead/internal/platform/htaccess"
	"stead.dev/stead/internal/port/panel"
)

// Move implements panel.Files.
func (d *Driver) Move(ctx context.Context, ref, from, to string, overwrite bool) (_ panel.Entry, err error) {
	defer explain(&err, "move", ref)
	c, err := d.change(ctx, ref)
	if err != nil {
		return panel.Entry{}, err
	}
	defer c.close()
	c.access = true
	src, err := cleanTarget(from)
	if err != nil {
		return panel.Entry{}, err
	}
	dst, err := c.destination(src, to)
	if err != nil {
		return panel.Entry{}, err
	}
	if src != dst {
		if err := c.place(src, dst, overwrite); err != nil {
			return panel.Entry{}, err
		}
	}
	return c.entry(dst)
}

// Copy implements panel.Files.
func (d *Driver) Copy(ctx context.Context, ref, from, to string, overwrite bool) (_ panel.Entry, err error) {
	defer explain(&err, "copy", ref)
	c, err := d.change(ctx, ref)
	if err != nil {
		return panel.Entry{}, err
	}
	defer c.close()
	c.access = true
	src, err := CleanPath(from)
	if err != nil {
		return panel.Entry{}, err
	}
	dst, err := c.destination(src, to)
	if err != nil {
		return panel.Entry{}, err
	}
	if src == dst {
		return panel.Entry{}, fmt.Errorf("%w: onto itself", panel.ErrInvalid)
	}
	if _, err := c.root.Lstat(dst); err == nil && !overwrite {
		return panel.Entry{}, panel.ErrExists // before the work; place checks again
	}
	h, err := c.hold()
	if err != nil {
		return panel.Entry{}, err
	}
	defer h.release()
	staged := c.stagingName()
	err = c.copyTree(src, staged, h)
	if err == nil {
		err = c.place(staged, dst, overwrite)
	}
	if err != nil {
		return panel.Entry{}, errors.Join(err, tree.Remove(c.root, staged, nil))
	}
	h.keep()
	return c.entry(dst)
}

// destination checks that src exists, that its new directory exists, and that neither contains the other.
func (c *call) destination(src, to string) (string, error) {
	if _, err := c.root.Lstat(src); err != nil {
		return "", err
	}
	dst, err := cleanTarget(to)
	if err != nil {
		return "", err
	}
	if src != dst && (within(src, dst) || within(dst, src)) {
		return "", fmt.Errorf("%w: one lies in the other", panel.ErrInvalid)
	}
	return dst, c.parent(dst, false)
}

func (c *call) copyTree(src, dst string, h *hold) error {
	return c.walk(src, func(name string, info fs.FileInfo) error {
		if err := h.grow(0, 1); err != nil {
			return err
		}
		target := dst + strings.TrimPrefix(name, src)
		switch info.Mode().Type() {
		case fs.ModeDir:
			return c.root.Mkdir(target, info.Mode().Perm()|0o700)
		case fs.ModeSymlink:
			link, err := c.root.Readlink(name)
			if err != nil {
				return err
			}
			return c.root.Symlink(link, target)
		case 0:
			f, _, err := c.openFile(name)
			if err != nil {
				return err
			}
			defer f.Close()
			return c.fill(target, f, h, info.Mode().Perm(), false)
		}
		return fmt.Errorf("%w: %s is neither file, directory nor link", panel.ErrInvalid, publicPath(name))
	})
}

// place renames from to to. It replaces an existing object only with overwrite, and subtracts its usage.
func (c *call) place(from, to string, overwrite bool) error {
	aside, err := c.exchange(from, to, overwrite)
	if err != nil || aside == "" {
		return err
	}
	return c.bury(aside) // may take long, so nobody waits for it
}

// exchange does the renames of place and returns the name of the tree that is still to be removed.
func (c *call) exchange(from, to string, overwrite bool) (aside string, err error) {
	defer c.swap()()
	moved, err := c.root.Lstat(from)
	if err != nil {
		return "", err
	}
	old, err := c.root.Lstat(to)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", c.root.Rename(from, to)
	case err != nil:
		return "", err
	case !overwrite:
		return "", panel.ErrExists
	case !moved.IsDir() && !old.IsDir(): // atomically: a reader always finds one of them
		if err := c.root.Rename(from, to); err != nil {
			return "", err
		}
		c.d.meter(c.ref).give(fileSize(old), 1)
		return "", nil
	}
	aside = c.stagingName()
	if err := c.root.Rename(to, aside); err != nil {
		return "", err
	}
	if err := c.root.Rename(from, to); err != nil {
		return "", errors.Join(err, c.root.Rename(aside, to))
	}
	c.asideAt = c.d.meter(c.ref).measurement()
	return aside, nil
}

func fileSize(info fs.FileInfo) int64 {
	if info.Mode().IsRegular() {
		return info.Size()
	}
	return 0
}

// Remove implements panel.Files.
func (d *Driver) Remove(ctx context.Context, ref, p string, recursive bool) (err error) {
	defer explain(&err, "remove", ref)
	c, err := d.change(ctx, ref)
	if err != nil {
		return err
	}
	defer c.close()
	name, err := cleanTarget(p)
	if err != nil {
		return err
	}
	c.access = recursive || path.Base(name) == htaccess.Name
	aside, err := c.detach(name, recursive)
	if err != nil || aside == "" {
		return err
	}
	return c.bury(aside) // may take long, so nobody waits for it
}

// detach removes what can be removed in one step and moves a tree aside: it disappears at once, and its removal
// follows.
func (c *call) detach(name string, recursive bool) (aside string, err error) {
	defer c.swap()()
	info, err := c.root.Lstat(name)
	if err != nil {
		return "", err
	}
	if info.IsDir() && recursive {
		aside = c.stagingName()
		c.asideAt = c.d.meter(c.ref).measurement()
		return aside, c.root.Rename(name, aside)
	}
	if err := c.root.Remove(name); err != nil {
		return "", err
	}
	c.d.meter(c.ref).give(fileSize(info), 1)
	return "", nil
}

// bury removes a tree that was moved aside and subtracts its usage. The change has happened already, so a caller who
// leaves does not stop it.
func (c *call) bury(aside string) error {
	var bytes, inodes int64
	err := tree.Remove(c.root, aside, func(size int64) {
		bytes += size
		inodes++
	})
	c.d.meter(c.ref).giveSince(c.asideAt, bytes, inodes)
	return err
}
