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
	"path"
	"slices"
	"strings"

	"stead.dev/stead/internal/node/contenttype"
	"stead.dev/stead/internal/node/identity"
	"stead.dev/stead/internal/port/panel"
)

// OpenZip implements panel.Archives.
func (d *Driver) OpenZip(ctx context.Context, ref, p string) (_ io.ReadCloser, err error) {
	defer explain(&err, "open_zip", ref)
	c, err := d.open(ctx, ref)
	if err != nil {
		return nil, err
	}
	defer c.leave()
	name, err := CleanPath(p)
	if err == nil {
		// Open it as a directory now, so that the caller learns before the first byte that there is none.
		_, err = c.readDir(name)
	}
	if err != nil {
		c.end()
		return nil, err
	}
	return c.packed(newZip, []string{name}, c.end), nil
}

// CreateArchive implements panel.Archives.
func (d *Driver) CreateArchive(ctx context.Context, ref string, paths []string, target string) (_ panel.Entry, err error) {
	defer explain(&err, "create_archive", ref)
	c, err := d.change(ctx, ref)
	if err != nil {
		return panel.Entry{}, err
	}
	defer c.close()
	dst, err := cleanTarget(target)
	if err != nil {
		return panel.Entry{}, err
	}
	var format func(io.Writer) packer
	switch lower := strings.ToLower(dst); {
	case strings.HasSuffix(lower, ".zip"):
		format = newZip
	case strings.HasSuffix(lower, ".tar.gz"), strings.HasSuffix(lower, ".tgz"):
		format = newTarGz
	default:
		return panel.Entry{}, fmt.Errorf("%w: the target is neither .zip nor .tar.gz", panel.ErrInvalid)
	}
	names, err := c.sources(paths)
	if err != nil {
		return panel.Entry{}, err
	}
	if err := c.parent(dst, false); err != nil {
		return panel.Entry{}, err
	}
	stream := c.packed(format, names, func() {})
	defer stream.Close()
	if err := c.install(dst, stream, newFileMode, panel.WriteOptions{IfAbsent: true}, true); err != nil {
		return panel.Entry{}, err
	}
	return c.entry(dst)
}

// sources are the clean names to pack: each exists, without duplicates and without names below others.
func (c *call) sources(paths []string) ([]string, error) {
	if len(paths) == 0 {
		return nil, fmt.Errorf("%w: nothing to pack", panel.ErrInvalid)
	}
	var names []string
	for _, p := range paths {
		name, err := CleanPath(p)
		if err != nil {
			return nil, err
		}
		if _, err := c.root.Lstat(name); err != nil {
			return nil, err
		}
		if slices.ContainsFunc(names, func(n string) bool { return within(n, name) }) {
			continue
		}
		names = slices.DeleteFunc(names, func(n string) bool { return within(name, n) })
		names = append(names, name)
	}
	return names, nil
}

// packed streams the archive of names. The stream ends with the context, or when it is closed.
func (c *call) packed(format func(io.Writer) packer, names []string, done func()) io.ReadCloser {
	r, w := io.Pipe()
	stop := context.AfterFunc(c, func() { w.CloseWithError(c.Err()) })
	go func() {
		defer done()
		defer stop()
		err := identity.Do(c.home.identity(), func() error {
			p := format(w)
			if err := c.pack(p, names); err != nil {
				return err
			}
			return p.Close()
		})
		explain(&err, "pack", "")
		w.CloseWithError(err)
	}()
	return r
}

func (c *call) pack(p packer, names []string) error {
	base := commonDir(names)
	for _, name := range names {
		err := c.walk(name, func(name string, info fs.FileInfo) error {
			stored := name
			if base != "." {
				stored = strings.TrimPrefix(name, base+"/")
			}
			switch info.Mode().Type() {
			case fs.ModeDir:
				if name == "." {
					return nil
				}
				return p.add(stored, info, "", nil)
			case fs.ModeSymlink:
				link, err := c.root.Readlink(name)
				if err != nil {
					return err
				}
				return p.add(stored, info, link, nil)
			case 0:
				f, info, err := c.openFile(name)
				if errors.Is(err, fs.ErrNotExist) {
					return nil
				}
				if err != nil {
					return err
				}
				defer f.Close()
				return p.add(stored, info, "", patient{c, io.LimitReader(f, info.Size())})
			}
			return nil // devices, sockets and pipes belong to this machine
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// commonDir is the directory that all names are in.
func commonDir(names []string) string {
	dir := path.Dir(names[0])
	for _, name := range names[1:] {
		for dir != "." && !within(dir, path.Dir(name)) {
			dir = path.Dir(dir)
		}
	}
	return dir
}

// packer writes one archive.
type packer interface {
	add(name string, info fs.FileInfo, link string, body io.Reader) error
	io.Closer
}

type zipPacker struct{ *zip.Writer }

func newZip(w io.Writer) packer { return zipPacker{zip.NewWriter(w)} }

func (p zipPacker) add(name string, info fs.FileInfo, link string, body io.Reader) error {
	h := &zip.FileHeader{Name: name, Method: zip.Deflate, Modified: info.ModTime()}
	h.SetMode(info.Mode() & (fs.ModeType | fs.ModePerm))
	switch {
	case info.IsDir():
		h.Name += "/"
		h.Method = zip.Store
	case link != "":
		body = strings.NewReader(link)
	default:
		if t := contenttype.ByName(name); t != contenttype.Unknown && !contenttype.Compressible(t) {
			h.Method = zip.Store
		}
	}
	w, err := p.CreateHeader(h)
	if err != nil || body == nil {
		return err
	}
	_, err = io.Copy(w, body)
	return err
}

type tarPacker struct {
	*tar.Writer
	gz *gzip.Writer
}

func newTarGz(w io.Writer) packer {
	gz := gzip.NewWriter(w)
	return tarPacker{tar.NewWriter(gz), gz}
}

func (p tarPacker) add(name string, info fs.FileInfo, link string, body io.Reader) error {
	h := &tar.Header{
		Typeflag: tar.TypeReg, Name: name, Linkname: link, Size: info.Size(),
		Mode: int64(info.Mode().Perm()), ModTime: info.ModTime(),
	}
	switch {
	case info.IsDir():
		h.Typeflag, h.Size = tar.TypeDir, 0
		h.Name += "/"
	case link != "":
		h.Typeflag, h.Size = tar.TypeSymlink, 0
	}
	if err := p.WriteHeader(h); err != nil || body == nil {
		return err
	}
	n, err := io.Copy(p.Writer, body)
	if err == nil && n < h.Size { // it shrank meanwhile, and its length is already written: fill up with zeros, like other programs
		_, err = io.CopyN(p.Writer, zeros{}, h.Size-n)
	}
	return err
}

type zeros struct{}

func (zeros) Read(b []byte) (int, error) {
	clear(b)
	return len(b), nil
}

func (p tarPacker) Close() error { return errors.Join(p.Writer.Close(), p.gz.Close()) }
