package files

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"sync"
	"syscall"

	"stead.dev/stead/internal/node/accounts"
	"stead.dev/stead/internal/node/contenttype"
	"stead.dev/stead/internal/node/identity"
	"stead.dev/stead/internal/platform/semaphore"
	"stead.dev/stead/internal/port/panel"
)

// Home is the place of an account's files, and its limits there.
type Home struct {
	Account   string // name of the owner
	User      accounts.User
	Dir       string // on this machine
	Limits    panel.Limits
	Suspended bool
}

// Driver works on the homes of this machine: as the accounts' users when they have one, else with the rights of its own
// process.
type Driver struct {
	resolve func(ref string) (Home, error)

	// swaps serializes, per account, the final check and rename of a change, so that two writers that name the same
	// version do not both succeed.
	swaps [64]sync.Mutex
	seed  maphash.Seed

	calls    semaphore.Keyed[string] // customers' calls in progress, by ref
	searches semaphore.Keyed[string] // searches of content among them
	deploys  semaphore.Keyed[string] // deployments among them

	mu       sync.Mutex
	meters   map[string]*meter // by ref, which unlike a name is never reused
	underWay map[string]bool   // names of staging, which are not reused either

	accessChanged func(ref string) // see OnAccess
}

var (
	_ panel.Files    = (*Driver)(nil)
	_ panel.Archives = (*Driver)(nil)
	_ panel.Deploys  = (*Driver)(nil)
)

// New is a driver for the homes that resolve knows by ref; resolve answers panel.ErrNotFound for others.
func New(resolve func(ref string) (Home, error)) *Driver {
	return &Driver{
		resolve: resolve, seed: maphash.MakeSeed(), calls: semaphore.Keyed[string]{Each: mostCalls},
		searches: semaphore.Keyed[string]{Each: mostSearches, All: mostSearchesAll},
		deploys:  semaphore.Keyed[string]{Each: 1}, meters: map[string]*meter{}, underWay: map[string]bool{},
		accessChanged: func(string) {},
	}
}

// call is one call on one account: its opened home, and the identity of its user.
type call struct {
	context.Context
	d       *Driver
	ref     string
	home    Home
	root    *os.Root
	leave   func()   // returns to the process's identity
	ended   func()   // ends the count of the call; nil for one that is not counted
	asideAt int64    // the measurement that last counted a tree that this call moved aside
	staged  []string // names that are under way
	access  bool     // the call may change which directories are closed to visitors
}

// mostCalls bounds the concurrent calls on one account. A slow upload occupies a thread of its own, for its identity,
// and a process that runs out of threads ends.
const mostCalls = 100

// open is for a customer's call.
func (d *Driver) open(ctx context.Context, ref string) (*call, error) {
	end, ok := d.calls.Acquire(ref)
	if !ok {
		return nil, fmt.Errorf("%w: %d calls at a time", panel.ErrBusy, mostCalls)
	}
	c, err := d.enter(ctx, ref)
	if err != nil {
		end()
		return nil, err
	}
	c.ended = end
	return c, nil
}

// enter opens an account's home.
func (d *Driver) enter(ctx context.Context, ref string) (*call, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	home, err := d.resolve(ref)
	if err != nil {
		return nil, err
	}
	leave, err := identity.Enter(home.identity())
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(home.Dir)
	if err != nil {
		leave()
		return nil, err
	}
	return &call{Context: ctx, d: d, ref: ref, home: home, root: root, leave: leave}, nil
}

func (h Home) identity() accounts.Account {
	return accounts.Account{Record: accounts.Record{Name: h.Account, User: h.User}, Home: h.Dir}
}

// change is open for a call that changes files.
func (d *Driver) change(ctx context.Context, ref string) (*call, error) {
	c, err := d.open(ctx, ref)
	if err == nil && c.home.Suspended {
		c.close()
		return nil, panel.ErrSuspended
	}
	return c, err
}

func (c *call) close() {
	c.settled(c.staged...)
	c.leave()
	c.end()
	if c.access {
		c.d.accessChanged(c.ref)
	}
}

// end is the part of close that another goroutine than the opening one may do.
func (c *call) end() {
	_ = c.root.Close() // opened for reading names; nothing can be lost
	if c.ended != nil {
		c.ended()
	}
}

// swap waits for the account's other renames and returns the function that ends this one.
func (c *call) swap() (done func()) {
	stirred := c.still()
	return func() {
		c.d.meter(c.ref).stir()
		stirred()
	}
}

// still waits for the account's renames and prevents others until its end.
func (c *call) still() (done func()) {
	mu := &c.d.swaps[maphash.String(c.d.seed, c.ref)%uint64(len(c.d.swaps))]
	mu.Lock()
	return mu.Unlock
}

// explain adds kind, operation and account to a method's error.
func explain(err *error, op, ref string) {
	if *err == nil {
		return
	}
	var known panel.Kind
	if !errors.As(*err, &known) {
		if kind := kindOf(*err); kind != "" {
			*err = fmt.Errorf("%w: %w", kind, *err)
		}
	}
	*err = panel.Wrap("files."+op, ref, *err)
}

// kindOf classifies the operating system's error.
func kindOf(err error) panel.Kind {
	for _, k := range []struct {
		err  error
		kind panel.Kind
	}{
		{errEscapes(), panel.ErrPathNotAllowed},
		{fs.ErrNotExist, panel.ErrNotFound},
		{syscall.ENOTDIR, panel.ErrNotFound}, // a file where the path has a directory
		{syscall.ENOTEMPTY, panel.ErrInUse},
		{fs.ErrExist, panel.ErrExists},
		{fs.ErrPermission, panel.ErrPathNotAllowed},
		{syscall.ENOSPC, panel.ErrDiskFull},
		{syscall.EDQUOT, panel.ErrDiskFull},
		{syscall.ELOOP, panel.ErrPathNotAllowed},
		{syscall.ENAMETOOLONG, panel.ErrInvalid},
		{syscall.EISDIR, panel.ErrInvalid},
		{syscall.EINVAL, panel.ErrInvalid},
		{syscall.EMFILE, panel.ErrBusy},
		{syscall.ENFILE, panel.ErrBusy},
	} {
		if errors.Is(err, k.err) {
			return k.kind
		}
	}
	return ""
}

// List implements panel.Files.
func (d *Driver) List(ctx context.Context, ref, p string, offset, limit int) (_ panel.Listing, err error) {
	defer explain(&err, "list", ref)
	c, err := d.open(ctx, ref)
	if err != nil {
		return panel.Listing{}, err
	}
	defer c.close()
	dir, err := CleanPath(p)
	if err != nil {
		return panel.Listing{}, err
	}
	all, err := c.readDir(dir)
	if err != nil {
		return panel.Listing{}, err
	}
	slices.SortStableFunc(all, func(a, b fs.DirEntry) int {
		switch {
		case a.IsDir() == b.IsDir():
			return 0
		case a.IsDir():
			return -1
		}
		return 1
	})
	l := panel.Listing{Total: len(all)}
	all = all[min(max(offset, 0), len(all)):]
	if limit > 0 {
		all = all[:min(limit, len(all))]
	}
	for _, e := range all {
		entry, err := c.entry(path.Join(dir, e.Name()))
		if errors.Is(err, fs.ErrNotExist) {
			continue // removed meanwhile
		}
		if err != nil {
			return panel.Listing{}, err
		}
		l.Entries = append(l.Entries, entry)
	}
	return l, nil
}

// readDir reads the names in a directory, in order and without those of the staging.
func (c *call) readDir(dir string) ([]fs.DirEntry, error) {
	all, err := readAll(c.root, dir)
	return slices.DeleteFunc(all, func(e fs.DirEntry) bool { return strings.HasPrefix(e.Name(), staging) }), err
}

// readAll reads all names in a directory, in order.
func readAll(root *os.Root, dir string) ([]fs.DirEntry, error) {
	f, err := openDir(root, dir)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	all, err := f.ReadDir(-1)
	slices.SortFunc(all, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return all, err
}

// openDir opens a directory and nothing else: opening a pipe that a customer has put in its place would wait for a writer.
func openDir(root *os.Root, name string) (*os.File, error) {
	return root.OpenFile(name, os.O_RDONLY|syscall.O_DIRECTORY, 0)
}

// Stat implements panel.Files.
func (d *Driver) Stat(ctx context.Context, ref, p string) (_ panel.Entry, err error) {
	defer explain(&err, "stat", ref)
	c, err := d.open(ctx, ref)
	if err != nil {
		return panel.Entry{}, err
	}
	defer c.close()
	name, err := CleanPath(p)
	if err != nil {
		return panel.Entry{}, err
	}
	return c.entry(name)
}

// entry describes the object at name.
func (c *call) entry(name string) (panel.Entry, error) {
	info, err := c.root.Lstat(name)
	if err != nil {
		return panel.Entry{}, err
	}
	e := c.describe(name, info)
	if e.Type == panel.TypeSymlink {
		if e.LinkTarget, err = c.root.Readlink(name); err != nil {
			return panel.Entry{}, err
		}
	}
	return e, nil
}

func (c *call) describe(name string, info fs.FileInfo) panel.Entry {
	e := panel.Entry{
		Name: path.Base(publicPath(name)), Path: publicPath(name), Type: panel.TypeOther,
		Mode: fmt.Sprintf("%04o", info.Mode().Perm()), Owner: c.home.Account, ModifiedAt: info.ModTime().UTC(),
	}
	switch info.Mode().Type() {
	case 0:
		e.Type = panel.TypeFile
		e.SizeBytes = info.Size()
		e.MIME = contenttype.ByName(name)
		e.ETag = etag(info)
	case fs.ModeDir:
		e.Type = panel.TypeDirectory
	case fs.ModeSymlink:
		e.Type = panel.TypeSymlink
	}
	return e
}

// etag names a version of a file. Inode and size are not enough: inodes are reused at once, and file system clocks are
// coarse. So stage gives every written file a distinct time.
func etag(info fs.FileInfo) string {
	var inode uint64
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		inode = st.Ino
	}
	return fmt.Sprintf("%x-%x-%x", info.Size(), info.ModTime().UnixNano(), inode)
}

// openFile opens a plain file and nothing else.
func (c *call) openFile(name string) (*os.File, fs.FileInfo, error) {
	// Without O_NONBLOCK opening a pipe would wait for a writer.
	f, err := c.root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%w: not a file", panel.ErrInvalid)
	}
	if err != nil {
		_ = f.Close() // opened for reading
		return nil, nil, err
	}
	return f, info, nil
}

// Mkdir implements panel.Files.
func (d *Driver) Mkdir(ctx context.Context, ref, p string) (_ panel.Entry, err error) {
	defer explain(&err, "mkdir", ref)
	c, err := d.change(ctx, ref)
	if err != nil {
		return panel.Entry{}, err
	}
	defer c.close()
	name, err := CleanPath(p)
	if err != nil {
		return panel.Entry{}, err
	}
	if err := c.mkdirAll(name); err != nil {
		return panel.Entry{}, err
	}
	return c.entry(name)
}

// mkdirAll creates a directory and its parents, and counts each new one.
func (c *call) mkdirAll(name string) error {
	if info, err := c.root.Stat(name); err == nil {
		if !info.IsDir() {
			return fmt.Errorf("%w: not a directory", panel.ErrExists)
		}
		return nil
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if parent := path.Dir(name); parent != "." {
		if err := c.mkdirAll(parent); err != nil {
			return err
		}
	}
	h, err := c.hold()
	if err != nil {
		return err
	}
	defer h.release()
	if err := h.grow(0, 1); err != nil {
		return err
	}
	switch err := c.root.Mkdir(name, 0o755); {
	case errors.Is(err, fs.ErrExist): // created meanwhile by another call
		return nil
	case err != nil:
		return err
	}
	h.keep()
	return nil
}
