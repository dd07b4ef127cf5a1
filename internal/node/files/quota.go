package files

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"
	"sync"
	"syscall"

	"stead.dev/stead/internal/node/tree"
	"stead.dev/stead/internal/platform/htaccess"
	"stead.dev/stead/internal/port/panel"
)

// meter counts the usage of an account, so that a limit is enforced while bytes arrive instead of by walking the
// account for every write. A walk sets it (Measure); changes made here adjust it.
type meter struct {
	measuring sync.Mutex // one walk at a time

	mu            sync.Mutex
	known         bool
	bytes, inodes int64
	// Usage by changes in progress, which no walk sees, and changes that were put in place so far.
	heldBytes, heldInodes int64
	keptBytes, keptInodes int64
	moved                 int64 // changes that a walk may have seen partially
	measurements          int64
	marks                 uint64 // of the files by which directories are closed, as the last walk saw them
}

func (d *Driver) meter(ref string) *meter {
	d.mu.Lock()
	defer d.mu.Unlock()
	m := d.meters[ref]
	if m == nil {
		m = &meter{}
		d.meters[ref] = m
	}
	return m
}

// Forget drops the data of a deleted account.
func (d *Driver) Forget(ref string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.meters, ref)
}

// Occupied returns the account's usage. It walks the account only the first time.
func (d *Driver) Occupied(ctx context.Context, ref string) (_ panel.Usage, err error) {
	defer explain(&err, "usage", ref)
	c, err := d.enter(ctx, ref)
	if err != nil {
		return panel.Usage{}, err
	}
	defer c.close()
	m, err := c.measured()
	if err != nil {
		return panel.Usage{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return panel.Usage{DiskBytes: m.bytes, Inodes: m.inodes, Limits: c.home.Limits}, nil
}

// Full reports whether the account is above its disk limit, as far as known without a walk.
func (d *Driver) Full(ref string) bool {
	return d.Above(ref) > 0
}

// Above is by how many bytes the account is above its disk limit, as far as known; 0 when it is not.
func (d *Driver) Above(ref string) int64 {
	home, err := d.resolve(ref)
	if err != nil || home.Limits.DiskBytes() == 0 {
		return 0
	}
	m := d.meter(ref)
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.known {
		return 0
	}
	return max(0, m.bytes-home.Limits.DiskBytes())
}

// Measure walks the account and corrects its meter: others, such as the web server's logs, write into the home too.
func (d *Driver) Measure(ctx context.Context, ref string) (err error) {
	defer explain(&err, "measure", ref)
	c, err := d.enter(ctx, ref)
	if err != nil {
		return err
	}
	defer c.close()
	m := d.meter(c.ref)
	m.measuring.Lock()
	defer m.measuring.Unlock()
	return c.measure(m)
}

// measured returns the account's meter, after a first measurement.
func (c *call) measured() (*meter, error) {
	m := c.d.meter(c.ref)
	if m.isKnown() {
		return m, nil // also during a new measurement: nobody waits for that
	}
	m.measuring.Lock()
	defer m.measuring.Unlock()
	if m.isKnown() {
		return m, nil
	}
	return m, c.measure(m)
}

func (m *meter) isKnown() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.known
}

// walks bounds the attempts until nothing changes during a walk.
const walks = 3

func (c *call) measure(m *meter) error {
	for left := walks - 1; ; left-- {
		m.mu.Lock()
		moved, keptBytes, keptInodes := m.moved, m.keptBytes, m.keptInodes
		m.mu.Unlock()
		var t tally
		var err error
		counted := make(chan struct{})
		go func() { // without the account's identity, which may have closed directories to itself
			defer close(counted)
			t, err = c.size()
		}()
		<-counted
		if err != nil {
			return err
		}
		if c.set(m, t.bytes, t.inodes, moved, keptBytes, keptInodes, left == 0) {
			m.mu.Lock()
			changed := m.marks != t.marks || m.measurements == 1 // what was before this process is not known
			m.marks = t.marks
			m.mu.Unlock()
			if changed {
				c.d.accessChanged(c.ref)
			}
			return nil
		}
	}
}

// set stores the result of a walk, or returns false when that may be wrong. It accepts the last walk anyway: the walk
// may have seen a change during it or not, and counting it again errs on the safe side until the next one.
func (c *call) set(m *meter, bytes, inodes, moved, keptBytes, keptInodes int64, last bool) bool {
	defer c.still()() // a rename that the walk saw is counted, too
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.moved != moved && !last {
		return false
	}
	m.bytes, m.inodes = bytes+m.heldBytes, inodes+m.heldInodes
	if m.moved != moved {
		m.bytes += m.keptBytes - keptBytes
		m.inodes += m.keptInodes - keptInodes
	}
	m.known = true
	m.measurements++
	return true
}

// stir records that something was put in place, moved or removed.
func (m *meter) stir() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.moved++
}

// measurement identifies the present measurement.
func (m *meter) measurement() int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.measurements
}

// size counts the home: the bytes of its files, and every name. Of names with the staging prefix it skips only those in
// progress: a customer's own programs can create such names, too.
func (c *call) size() (tally, error) {
	t := tally{call: c}
	err := t.count(c.root)
	return t, err
}

// tally counts a tree that its customer may change at the same time, and nest without limit.
type tally struct {
	*call
	bytes, inodes int64
	marks         uint64 // of the files by which directories are closed
}

func (t *tally) count(root *os.Root) error {
	return tree.Walk(root, func(e *tree.Entry) (bool, error) {
		if err := t.Err(); err != nil {
			return false, err
		}
		if e.Whole && t.d.isUnderWay(e.Name) {
			return false, nil
		}
		t.inodes++
		if e.IsRegular() {
			t.bytes += e.Stat.Size
		}
		if !e.IsDir() && path.Base(e.Name) == htaccess.Name {
			t.marks += mark(e)
		}
		return true, nil
	})
}

// changed returns nil for an error that only says that somebody removed or replaced the name since it was read, so that
// no customer can prevent the rest from being counted.
func changed(err error) error {
	for _, is := range []error{fs.ErrNotExist, syscall.ENOTDIR, syscall.ELOOP, errEscapes()} {
		if errors.Is(err, is) {
			return nil
		}
	}
	return err
}

// errDeep ends a walk at a directory whose path no call could name: with the paths of all that is below, memory would
// grow with the square of the depth.
var errDeep = fmt.Errorf("%w: directories nested too deeply", panel.ErrInvalid)

// walk visits name and, in directories, everything below, following no links. It skips what vanishes meanwhile and what
// is being prepared, unless name itself is that. A directory below maxPath is errDeep, unless visit skips it.
func (c *call) walk(name string, visit func(name string, info fs.FileInfo) error) error {
	if err := c.Err(); err != nil {
		return err
	}
	info, err := c.root.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	switch err := visit(name, info); {
	case errors.Is(err, fs.SkipDir):
		return nil
	case err != nil:
		return err
	case !info.IsDir():
		return nil
	case len(name) > maxPath:
		return errDeep
	}
	entries, err := c.readDir(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := c.walk(path.Join(name, e.Name()), visit); err != nil {
			return err
		}
	}
	return nil
}

// Sweep removes the partial changes of a dead process from a home. It must run before the account accepts changes.
func Sweep(home string) error {
	root, err := os.OpenRoot(home)
	if err != nil {
		return err
	}
	defer root.Close()
	dir, err := openDir(root, tmpDir)
	if err != nil {
		return changed(err) // the customer has removed it, or put something else there
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	for _, name := range names {
		if strings.HasPrefix(name, staging) {
			err = errors.Join(err, tree.Remove(root, tmpDir+"/"+name, nil))
		}
	}
	return err
}

// hold is room reserved for a change in progress: kept when the change is in place, released when it is not.
type hold struct {
	meter         *meter
	limits        panel.Limits
	credit        int64 // bytes that the change will free, so that a full account can still save a file
	bytes, inodes int64
	kept          bool
}

func (c *call) hold() (*hold, error) {
	m, err := c.measured()
	return &hold{meter: m, limits: c.home.Limits}, err
}

// grow reserves room, all or none.
func (h *hold) grow(bytes, inodes int64) error {
	m := h.meter
	m.mu.Lock()
	defer m.mu.Unlock()
	// An account may be above its limits, after a change to a smaller plan: only growth is refused.
	if most := h.limits.DiskBytes(); most > 0 && bytes > 0 && m.bytes+bytes-h.credit > most {
		return fmt.Errorf("%w: %d MB", panel.ErrDiskFull, h.limits.DiskMB)
	}
	if most := h.limits.Inodes; most > 0 && inodes > 0 && m.inodes+inodes > most {
		return fmt.Errorf("%w: %d inodes", panel.ErrLimit, most)
	}
	m.bytes += bytes
	m.inodes += inodes
	m.heldBytes += bytes
	m.heldInodes += inodes
	h.bytes += bytes
	h.inodes += inodes
	return nil
}

// room is how many bytes can still be reserved, and whether there is a bound.
func (h *hold) room() (bytes int64, bounded bool) {
	h.meter.mu.Lock()
	defer h.meter.mu.Unlock()
	most := h.limits.DiskBytes()
	return max(most-h.meter.bytes, 0), most > 0
}

// keep assigns the reserved room to the account.
func (h *hold) keep() {
	m := h.meter
	m.mu.Lock()
	defer m.mu.Unlock()
	m.heldBytes -= h.bytes
	m.heldInodes -= h.inodes
	m.keptBytes += h.bytes
	m.keptInodes += h.inodes
	m.moved++
	h.kept = true
}

// release releases what was not kept.
func (h *hold) release() {
	if h.kept {
		return
	}
	m := h.meter
	m.mu.Lock()
	defer m.mu.Unlock()
	m.heldBytes -= h.bytes
	m.heldInodes -= h.inodes
	m.bytes = max(m.bytes-h.bytes, 0)
	m.inodes = max(m.inodes-h.inodes, 0)
	h.bytes, h.inodes = 0, 0
}

// give subtracts removed usage.
func (m *meter) give(bytes, inodes int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.bytes = max(m.bytes-bytes, 0)
	m.inodes = max(m.inodes-inodes, 0)
	m.moved++
}

// giveSince subtracts what was moved to where no walk sees it, unless a measurement has done so already.
func (m *meter) giveSince(measurement, bytes, inodes int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.measurements == measurement {
		m.bytes = max(m.bytes-bytes, 0)
		m.inodes = max(m.inodes-inodes, 0)
	}
}
