package files

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"sync/atomic"
	"time"

	"stead.dev/stead/internal/platform/htaccess"
	"stead.dev/stead/internal/port/panel"
)

const newFileMode = 0o644

// Write implements panel.Files.
func (d *Driver) Write(ctx context.Context, ref, p string, data []byte, opt panel.WriteOptions) (_ panel.Entry, err error) {
	defer explain(&err, "write", ref)
	return d.put(ctx, ref, p, bytes.NewReader(data), opt)
}

// Upload implements panel.Files.
func (d *Driver) Upload(ctx context.Context, ref, p string, src io.Reader, opt panel.WriteOptions) (_ panel.Entry, err error) {
	defer explain(&err, "upload", ref)
	return d.put(ctx, ref, p, src, opt)
}

// put writes the whole content to a temporary file and then renames it.
func (d *Driver) put(ctx context.Context, ref, p string, src io.Reader, opt panel.WriteOptions) (panel.Entry, error) {
	c, err := d.change(ctx, ref)
	if err != nil {
		return panel.Entry{}, err
	}
	defer c.close()
	name, err := cleanTarget(p)
	if err != nil {
		return panel.Entry{}, err
	}
	if name, err = follow(c.root, name); err != nil {
		return panel.Entry{}, err
	}
	c.access = path.Base(name) == htaccess.Name
	// Check now, so that nobody uploads gigabytes to be refused, and again at the end.
	old, err := c.replaceable(name, opt)
	if err != nil {
		return panel.Entry{}, err
	}
	if err := c.parent(name, opt.Parents); err != nil {
		return panel.Entry{}, err
	}

	mode := fs.FileMode(newFileMode)
	if old != nil {
		mode = old.Mode().Perm()
	}
	if opt.MaxBytes > 0 {
		src = &capped{r: src, left: opt.MaxBytes}
	}
	if err := c.install(name, src, mode, opt, true); err != nil {
		return panel.Entry{}, err
	}
	return c.entry(name)
}

// install fills a temporary file and renames it to name, if opt still allows it then. A durable one survives a power
// loss after the answer.
func (c *call) install(name string, src io.Reader, mode fs.FileMode, opt panel.WriteOptions, durable bool) error {
	old, err := c.replaceable(name, opt)
	if err != nil {
		return err
	}
	h, err := c.hold()
	if err != nil {
		return err
	}
	defer h.release()
	var taken int64 = 1
	if old != nil {
		h.credit, taken = old.Size(), 0
	}
	if err := h.grow(0, taken); err != nil {
		return err
	}
	staged := c.stagingName()
	defer c.settled(staged)
	if err := c.fill(staged, src, h, mode, durable); err != nil {
		return err
	}

	defer c.swap()()
	old, err = c.replaceable(name, opt)
	if err == nil {
		err = c.root.Rename(staged, name)
	}
	if err != nil {
		return errors.Join(err, c.root.Remove(staged))
	}
	h.keep()
	if old != nil {
		h.meter.give(old.Size(), taken)
	} else {
		h.meter.give(0, taken-1) // removed meanwhile: the name is new after all
	}
	if durable {
		return c.syncDir(path.Dir(name))
	}
	return nil
}

// syncDir makes the names in a directory survive a power loss.
func (c *call) syncDir(dir string) error {
	f, err := openDir(c.root, dir)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// replaceable returns the file at name, nil for none, when opt allows its replacement.
func (c *call) replaceable(name string, opt panel.WriteOptions) (fs.FileInfo, error) {
	info, err := c.root.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if opt.ETag != "" {
			return nil, fmt.Errorf("%w: the file is gone", panel.ErrETagMismatch)
		}
		return nil, nil
	case err != nil:
		return nil, err
	case opt.IfAbsent:
		return nil, panel.ErrExists
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%w: not a file", panel.ErrInvalid)
	case opt.ETag != "" && opt.ETag != etag(info):
		return nil, panel.ErrETagMismatch
	}
	return info, nil
}

// parent makes sure that the directory of name exists.
func (c *call) parent(name string, create bool) error {
	dir := path.Dir(name)
	if create {
		return c.mkdirAll(dir)
	}
	info, err := c.root.Stat(dir)
	if err == nil && !info.IsDir() {
		err = fmt.Errorf("%w: %s is not a directory", panel.ErrNotFound, publicPath(dir))
	}
	return err
}

// stagingName is a new name that no customer can use. Nothing there is measured until settled.
func (c *call) stagingName() string {
	_ = c.root.Mkdir(tmpDir, 0o700) // it is missing only when somebody removed it from outside
	name := tmpDir + "/" + staging + rand.Text()
	c.staged = append(c.staged, name)
	c.d.mu.Lock()
	defer c.d.mu.Unlock()
	c.d.underWay[name] = true
	return name
}

// isUnderWay reports whether a name in a home comes from stagingName.
func (d *Driver) isUnderWay(name string) bool {
	if !strings.HasPrefix(name, tmpDir+"/"+staging) {
		return false
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.underWay[name]
}

// settled ends the use of names from stagingName.
func (c *call) settled(names ...string) {
	c.d.mu.Lock()
	defer c.d.mu.Unlock()
	for _, name := range names {
		delete(c.d.underWay, name)
	}
}

// fill writes a new file, reserving room as the bytes come. It removes a file that could not be filled.
func (c *call) fill(name string, src io.Reader, h *hold, mode fs.FileMode, durable bool) (err error) {
	f, err := c.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer func() {
		if err = errors.Join(err, f.Close()); err != nil {
			_ = c.root.Remove(name) // the next start sweeps it
		}
	}()
	if _, err := io.CopyBuffer(metered{f, h}, gathered{patient{c, src}}, make([]byte, 128<<10)); err != nil {
		return err
	}
	if err := f.Chmod(mode); err != nil {
		return err
	}
	info, err := f.Stat()
	if err != nil {
		return err
	}
	stamp := distinct(info.ModTime())
	if err := c.root.Chtimes(name, stamp, stamp); err != nil {
		return err
	}
	if durable {
		return f.Sync()
	}
	return nil
}

var stamps atomic.Int64

// distinct moves a time within its millisecond to one that no recently written file has, so that two versions of a file
// always differ in their etag.
func distinct(t time.Time) time.Time {
	return t.Truncate(time.Millisecond).Add(time.Duration(stamps.Add(1) % int64(time.Millisecond)))
}

// metered writes as long as the hold can grow. It hides the file's own ReadFrom on purpose: that would write first and
// count after.
type metered struct {
	w io.Writer
	h *hold
}

func (m metered) Write(p []byte) (int, error) {
	if err := m.h.grow(int64(len(p)), 0); err != nil {
		return 0, err
	}
	return m.w.Write(p)
}

// gathered reads until there is as much as was requested, or no more, so that small pieces are neither counted nor
// written one by one. An error is the reader's own: a truncated stream never passes for a whole one.
type gathered struct{ r io.Reader }

func (g gathered) Read(b []byte) (n int, err error) {
	for n < len(b) && err == nil {
		var more int
		more, err = g.r.Read(b[n:])
		n += more
	}
	return n, err
}

// patient reads until the context ends.
type patient struct {
	ctx context.Context
	r   io.Reader
}

func (p patient) Read(b []byte) (int, error) {
	if err := p.ctx.Err(); err != nil {
		return 0, err
	}
	return p.r.Read(b)
}

// capped reads up to a limit and returns ErrFileTooLarge beyond it.
type capped struct {
	r    io.Reader
	left int64
}

func (c *capped) Read(b []byte) (int, error) {
	if int64(len(b)) > c.left+1 {
		b = b[:c.left+1] // one more byte distinguishes the end of the file from more content
	}
	n, err := c.r.Read(b)
	if c.left -= int64(n); c.left < 0 {
		return 0, panel.ErrFileTooLarge
	}
	return n, err
}
