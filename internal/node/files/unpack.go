package files

import (
	"archive/tar"
	"archive/zip"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"math"
	"os"
	"path"
	"strings"
	"syscall"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"

	"stead.dev/stead/internal/port/panel"
)

// Bounds of an archive. Deflate packs at most 1032 to 1; web sites come near 10 to 1.
const (
	maxMembers      = 100_000
	maxNames        = 32 << 20 // bytes of all names, kept until the files are written
	maxDirectory    = 16 << 20 // bytes of a zip's own directory, all of which is read into memory
	maxLink         = 1024     // bytes of one link
	maxLinks        = 4 << 20  // bytes of all links, kept until the files are written
	expansionRatio  = 200
	expansionAlways = 64 << 20 // bytes that any archive may unpack to
)

// Extract implements panel.Archives.
func (d *Driver) Extract(ctx context.Context, ref, archive, target string, overwrite bool) (_ panel.Extracted, err error) {
	defer explain(&err, "extract", ref)
	c, err := d.change(ctx, ref)
	if err != nil {
		return panel.Extracted{}, err
	}
	defer c.close()
	c.access = true
	name, err := CleanPath(archive)
	if err != nil {
		return panel.Extracted{}, err
	}
	dir, err := CleanPath(target)
	if err != nil {
		return panel.Extracted{}, err
	}
	f, info, err := c.openFile(name)
	if err != nil {
		return panel.Extracted{}, err
	}
	defer f.Close()
	members, err := openArchive(ctx, f, info.Size())
	if err != nil {
		return panel.Extracted{}, err
	}

	x := extraction{call: c, dir: dir, overwrite: overwrite, most: expansion(info.Size())}
	if err := x.run(members, false); err != nil {
		return panel.Extracted{}, err
	}
	if err := c.mkdirAll(dir); err != nil {
		return panel.Extracted{}, err
	}
	// Check again member by member: the file could have changed meanwhile.
	x = extraction{call: c, dir: dir, overwrite: overwrite, most: expansion(info.Size())}
	err = x.run(members, true)
	return x.done, err
}

// ListArchive implements panel.Archives.
func (d *Driver) ListArchive(ctx context.Context, ref, archive string, limit int) (_ []panel.ArchiveMember, err error) {
	defer explain(&err, "list_archive", ref)
	c, err := d.open(ctx, ref)
	if err != nil {
		return nil, err
	}
	defer c.close()
	name, err := CleanPath(archive)
	if err != nil {
		return nil, err
	}
	f, info, err := c.openFile(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	members, err := openArchive(ctx, f, info.Size())
	if err != nil {
		return nil, err
	}
	x := extraction{call: c, most: expansion(info.Size()), lists: true, seen: map[string]int{}, files: map[string]original{}}
	var all []panel.ArchiveMember
	for m, err := range members {
		if err == nil {
			err = x.Err()
		}
		if err != nil {
			return nil, err
		}
		if m, err = x.judge(m); err != nil {
			return nil, fmt.Errorf("member %q: %w", m.name, err)
		}
		if m.name == "." {
			continue
		}
		one := panel.ArchiveMember{Path: m.name, Type: panel.TypeFile, SizeBytes: m.size}
		switch m.mode.Type() {
		case fs.ModeDir:
			one.Type, one.SizeBytes = panel.TypeDirectory, 0
		case fs.ModeSymlink:
			one.Type, one.SizeBytes = panel.TypeSymlink, 0
		}
		if all = append(all, one); len(all) == limit {
			break
		}
	}
	return all, nil
}

func expansion(size int64) int64 {
	return expansionAlways + expansionRatio*min(size, math.MaxInt64>>10)
}

// member is one entry of an archive, before it is checked.
type member struct {
	name string
	mode fs.FileMode
	size int64
	link string
	same bool // a file with the content of the member that link names: a hard link
	open func() (io.ReadCloser, error)
}

// kinds of members as the extraction remembers them.
const (
	seenDir = iota + 1
	seenFile
)

// extraction is one pass over an archive: the first checks, the second checks and writes.
type extraction struct {
	*call
	dir       string
	overwrite bool
	lists     bool  // what is in the way does not matter
	most      int64 // bytes it may unpack to in all

	seen       map[string]int // clean name in the archive to kind
	files      map[string]original
	bytes      int64
	freed      int64 // bytes of files to be replaced
	inodes     int64 // new names
	nameBytes  int
	linkBytes  int
	links      []member
	madeParent map[string]bool
	done       panel.Extracted
}

// original is a file of the archive, as a later hard link to it needs it.
type original struct {
	size int64
	mode fs.FileMode
}

func (x *extraction) run(members iter.Seq2[member, error], write bool) error {
	x.seen, x.files, x.madeParent = map[string]int{}, map[string]original{}, map[string]bool{}
	h, err := x.hold()
	if err != nil {
		return err
	}
	room, bounded := h.room()
	count := 0
	for m, err := range members {
		if err == nil {
			err = x.Err()
		}
		if err != nil {
			return err
		}
		if count++; count > maxMembers {
			return fmt.Errorf("%w: more than %d members", panel.ErrInvalid, maxMembers)
		}
		if m, err = x.judge(m); err != nil {
			return fmt.Errorf("member %q: %w", m.name, err)
		}
		if !write {
			if bounded && x.bytes-x.freed > room {
				return fmt.Errorf("%w: the archive holds more than fits", panel.ErrDiskFull)
			}
			continue
		}
		if err := x.write(m); err != nil {
			return fmt.Errorf("member %q: %w", m.name, err)
		}
	}
	if !write {
		return x.fits(h)
	}
	// Links come last, so that nothing of the archive is written through its own links.
	for _, m := range x.links {
		if err := x.writeLink(m); err != nil {
			return fmt.Errorf("member %q: %w", m.name, err)
		}
	}
	return nil
}

// fits checks before the first write that the account has the inodes.
func (x *extraction) fits(h *hold) error {
	defer h.release()
	return h.grow(0, x.inodes)
}

// judge refuses a member that may not be unpacked, and returns others with their clean name in the archive.
func (x *extraction) judge(m member) (_ member, err error) {
	if strings.HasPrefix(m.name, "/") {
		return m, fmt.Errorf("%w: absolute", panel.ErrPathNotAllowed)
	}
	name, err := CleanPath(m.name)
	if err != nil {
		return m, err
	}
	if x.nameBytes += len(name); x.nameBytes > maxNames {
		return m, fmt.Errorf("%w: names too long", panel.ErrInvalid)
	}
	m.name = name
	if m.same {
		if m, err = x.copyOf(m); err != nil {
			return m, err
		}
	}
	kind := seenFile
	switch m.mode.Type() {
	case 0:
		if m.size < 0 || m.size > x.most-x.bytes {
			return m, fmt.Errorf("%w: unpacks to more than %d bytes", panel.ErrInvalid, x.most)
		}
		x.bytes += m.size
	case fs.ModeDir:
		kind = seenDir
	case fs.ModeSymlink:
		if x.linkBytes += len(m.link); len(m.link) > maxLink || x.linkBytes > maxLinks {
			return m, fmt.Errorf("%w: links too long", panel.ErrInvalid)
		}
		if m.link == "" || strings.HasPrefix(m.link, "/") {
			return m, fmt.Errorf("%w: link to %q", panel.ErrPathNotAllowed, m.link)
		}
		if _, err := CleanPath(path.Dir(name) + "/" + m.link); err != nil {
			return m, err
		}
	default:
		return m, fmt.Errorf("%w: neither file, directory nor link", panel.ErrInvalid)
	}
	if name == "." && kind != seenDir {
		return m, fmt.Errorf("%w: no name", panel.ErrInvalid)
	}
	if err := x.see(name, kind); err != nil {
		return m, err
	}
	if m.mode.Type() == 0 {
		x.files[name] = original{m.size, m.mode}
	}
	if x.lists {
		return m, nil
	}
	return m, x.meet(path.Join(x.dir, name), kind, m)
}

// copyOf replaces a hard link by an independent copy, counted in full, of an earlier file of the same archive. A second
// name of any other file could be a name of somebody else's file.
func (x *extraction) copyOf(m member) (member, error) {
	if strings.HasPrefix(m.link, "/") {
		return m, fmt.Errorf("%w: hard link to %q", panel.ErrPathNotAllowed, m.link)
	}
	from, err := CleanPath(m.link)
	if err != nil {
		return m, err
	}
	of, ok := x.files[from]
	if !ok {
		return m, fmt.Errorf("%w: hard link to %q, which is no earlier file of the archive", panel.ErrInvalid, m.link)
	}
	m.mode, m.size = of.mode, of.size
	m.open = func() (io.ReadCloser, error) {
		f, _, err := x.openFile(path.Join(x.dir, from))
		return f, err
	}
	return m, nil
}

// see refuses a duplicate name, and a name below one that is not a directory.
func (x *extraction) see(name string, kind int) error {
	if prev := x.seen[name]; prev != 0 && (prev != seenDir || kind != seenDir) {
		return fmt.Errorf("%w: twice in the archive", panel.ErrInvalid)
	}
	x.seen[name] = kind
	for dir := path.Dir(name); dir != "." && x.seen[dir] != seenDir; dir = path.Dir(dir) {
		if x.seen[dir] == seenFile {
			return fmt.Errorf("%w: below a file of the archive", panel.ErrInvalid)
		}
		// Parents are names as well, and one member may bring thousands of new ones.
		if len(x.seen) >= maxMembers {
			return fmt.Errorf("%w: more than %d names", panel.ErrInvalid, maxMembers)
		}
		x.seen[dir] = seenDir
	}
	return nil
}

// meet checks the existing object at the member's name.
func (x *extraction) meet(name string, kind int, m member) error {
	info, err := x.root.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		x.inodes++
		return nil
	}
	if errors.Is(err, syscall.ENOTDIR) {
		return fmt.Errorf("%w: below a file", panel.ErrExists)
	}
	if err != nil {
		return err
	}
	if kind == seenDir {
		if info, err = x.root.Stat(name); err != nil || info.IsDir() {
			return err
		}
		return fmt.Errorf("%w: a file", panel.ErrExists)
	}
	link := m.mode.Type() == fs.ModeSymlink
	switch {
	case !x.overwrite:
		return panel.ErrExists
	case link && replacedByLink(info):
		return nil // what a link frees comes too late for the files
	case link || !info.Mode().IsRegular():
		return panel.ErrExists
	}
	x.freed += info.Size()
	return nil
}

// replacedByLink reports whether a link of an archive may replace an object: a name, never a directory.
func replacedByLink(info fs.FileInfo) bool {
	return info.Mode().IsRegular() || info.Mode().Type() == fs.ModeSymlink
}

// write unpacks a checked member. It sets hosting's own permissions, except that a program stays executable.
func (x *extraction) write(m member) error {
	name := path.Join(x.dir, m.name)
	switch m.mode.Type() {
	case fs.ModeDir:
		x.done.Directories++
		return x.mkdirAll(name)
	case fs.ModeSymlink:
		x.links = append(x.links, m)
		return nil
	}
	if dir := path.Dir(name); !x.madeParent[dir] {
		if err := x.mkdirAll(dir); err != nil {
			return err
		}
		x.madeParent[dir] = true
	}
	body, err := m.open()
	if err != nil {
		return broken(err)
	}
	defer body.Close()
	mode := fs.FileMode(newFileMode)
	if m.mode&0o100 != 0 {
		mode = 0o755
	}
	src := &archived{r: body, left: m.size}
	if err := x.install(name, src, mode, panel.WriteOptions{IfAbsent: !x.overwrite}, false); err != nil {
		return err
	}
	x.done.Files++
	x.done.Bytes += m.size
	return nil
}

// writeLink replaces a name by a link atomically, so that a page behind the old one is never missing.
func (x *extraction) writeLink(m member) error {
	name := path.Join(x.dir, m.name)
	if err := x.mkdirAll(path.Dir(name)); err != nil {
		return err
	}
	h, err := x.hold()
	if err != nil {
		return err
	}
	defer h.release()
	defer x.swap()()
	old, err := x.root.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if err := h.grow(0, 1); err != nil {
			return err
		}
	case err != nil:
		return err
	case !x.overwrite || !replacedByLink(old):
		return panel.ErrExists
	}
	staged := x.stagingName()
	defer x.settled(staged)
	if err := x.root.Symlink(m.link, staged); err != nil {
		return err
	}
	if err := x.root.Rename(staged, name); err != nil {
		return errors.Join(err, x.root.Remove(staged))
	}
	h.keep()
	if old != nil {
		h.meter.give(fileSize(old), 0)
	}
	x.done.Files++
	return nil
}

// archived reads a member's content and enforces the checked size. Errors of the archive are the customer's, not the
// machine's.
type archived struct {
	r    io.Reader
	left int64
}

func (a *archived) Read(b []byte) (int, error) {
	n, err := a.r.Read(b)
	a.left -= int64(n)
	switch {
	case a.left < 0, err == io.EOF && a.left > 0:
		return 0, fmt.Errorf("%w: content is not as long as the archive says", panel.ErrInvalid)
	case err != nil && err != io.EOF:
		return n, broken(err)
	}
	return n, err
}

// broken is the error of an archive that cannot be read.
func broken(err error) error {
	var known panel.Kind
	if errors.As(err, &known) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return fmt.Errorf("%w: broken archive: %w", panel.ErrInvalid, err)
}

// openArchive detects the format by the first bytes and returns the members, which can be iterated more than once.
func openArchive(ctx context.Context, f *os.File, size int64) (iter.Seq2[member, error], error) {
	var magic [4]byte
	if _, err := f.ReadAt(magic[:], 0); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	switch {
	case magic[0] == 0x1f && magic[1] == 0x8b:
		return func(yield func(member, error) bool) { tarMembers(ctx, f, size, yield) }, nil
	case magic[0] == 'P' && magic[1] == 'K':
		bounded := &budget{r: f, left: maxDirectory}
		archive, err := zip.NewReader(bounded, size)
		if err != nil && !errors.Is(err, zip.ErrInsecurePath) { // the extraction checks names
			return nil, broken(err)
		}
		bounded.left = math.MaxInt64
		return func(yield func(member, error) bool) { zipMembers(archive, yield) }, nil
	}
	return nil, fmt.Errorf("%w: neither zip nor tar.gz", panel.ErrInvalid)
}

// budget bounds the bytes read to list a zip. The number of members in its trailer cannot be trusted, and the reader of
// the standard library reads as long as there are members.
type budget struct {
	r    io.ReaderAt
	left int64
}

func (b *budget) ReadAt(p []byte, off int64) (int, error) {
	if b.left -= int64(len(p)); b.left < 0 {
		return 0, fmt.Errorf("%w: too many members", panel.ErrInvalid)
	}
	return b.r.ReadAt(p, off)
}

func zipMembers(archive *zip.Reader, yield func(member, error) bool) {
	for _, f := range archive.File {
		m := member{name: f.Name, mode: f.Mode(), open: f.Open, size: math.MaxInt64}
		if f.UncompressedSize64 < math.MaxInt64 {
			m.size = int64(f.UncompressedSize64)
		}
		if f.NonUTF8 && !utf8.ValidString(m.name) {
			// Windows archives have names in the machine's old code page; here the Russian one.
			if name, err := charmap.CodePage866.NewDecoder().String(m.name); err == nil {
				m.name = name
			}
		}
		m.name = strings.ReplaceAll(m.name, `\`, "/") // likewise
		if strings.HasSuffix(m.name, "/") && m.mode.IsRegular() {
			m.mode = fs.ModeDir | m.mode.Perm()
		}
		var err error
		if m.mode.Type() == fs.ModeSymlink {
			m.link, err = zipLink(f)
		}
		const encrypted = 1
		if f.Flags&encrypted != 0 || m.mode.IsRegular() && f.Method != zip.Store && f.Method != zip.Deflate {
			err = fmt.Errorf("%w: %q is encrypted, or packed in a way that is not read here", panel.ErrInvalid, m.name)
		}
		if !yield(m, err) {
			return
		}
	}
}

// zipLink reads the target of a link, which a zip stores as content.
func zipLink(f *zip.File) (string, error) {
	if f.UncompressedSize64 > maxLink {
		return "", fmt.Errorf("%w: link of %q too long", panel.ErrInvalid, f.Name)
	}
	r, err := f.Open()
	if err != nil {
		return "", broken(err)
	}
	defer r.Close()
	target, err := io.ReadAll(io.LimitReader(r, maxLink))
	if err != nil {
		return "", broken(err)
	}
	return string(target), nil
}

func tarMembers(ctx context.Context, f *os.File, size int64, yield func(member, error) bool) {
	gz, err := gzip.NewReader(patient{ctx, io.NewSectionReader(f, 0, size)})
	if err != nil {
		yield(member{}, broken(err))
		return
	}
	// The headers count too: an archive of headers only is a bomb as well.
	stream := &swelling{r: gz, left: expansion(size) + 2048*maxMembers}
	archive := tar.NewReader(stream)
	for {
		h, err := archive.Next()
		switch {
		case err == io.EOF:
			// Read on to the checksum at the very end; padding after it does not matter.
			if _, err := io.Copy(io.Discard, stream); err != nil && !errors.Is(err, gzip.ErrHeader) {
				yield(member{}, broken(err))
			}
			return
		case errors.Is(err, tar.ErrInsecurePath): // the extraction checks names itself
		case err != nil:
			yield(member{}, broken(err))
			return
		}
		if h.Typeflag == tar.TypeXGlobalHeader {
			continue
		}
		m := member{name: h.Name, mode: h.FileInfo().Mode(), size: h.Size, link: h.Linkname}
		m.open = func() (io.ReadCloser, error) { return io.NopCloser(archive), nil }
		if h.Typeflag == tar.TypeLink {
			m.same = true
		}
		if !yield(m, nil) {
			return
		}
	}
}

// swelling ends a stream that unpacks to more than a reasonable archive.
type swelling struct {
	r    io.Reader
	left int64
}

func (s *swelling) Read(b []byte) (int, error) {
	n, err := s.r.Read(b)
	if s.left -= int64(n); s.left < 0 {
		return 0, fmt.Errorf("%w: unpacks to too much", panel.ErrInvalid)
	}
	return n, err
}
