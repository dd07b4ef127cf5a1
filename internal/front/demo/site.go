package demo

import (
	"archive/tar"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// gitDocumentation is a real site that Debian ships: 240 pages, 14 MB.
const gitDocumentation = "/usr/share/doc/git/html"

//go:embed site
var ownSite embed.FS

// openSite returns the site to publish: dir, else the documentation of Git, else the program's own.
func openSite(dir string) (fs.FS, error) {
	for _, d := range []string{dir, gitDocumentation} {
		if d == "" {
			continue
		}
		resolved, err := filepath.EvalSymlinks(d)
		if err == nil {
			var info fs.FileInfo
			if info, err = os.Stat(resolved); err == nil && info.IsDir() {
				return os.DirFS(resolved), nil
			}
		}
		if d == dir {
			return nil, errors.Join(fmt.Errorf("%s is no directory with a web site", dir), err)
		}
	}
	return fs.Sub(ownSite, "site")
}

// asset is one file of the site as it must be served.
type asset struct {
	path string
	size int64
	sum  [sha256.Size]byte
}

// pack writes the site as tar.gz and returns the files that must be served afterwards. It omits hidden files: no server
// should serve them.
func pack(site fs.FS, w io.Writer) ([]asset, error) {
	zipped := gzip.NewWriter(w)
	archive := tar.NewWriter(zipped)
	var assets []asset
	err := fs.WalkDir(site, ".", func(name string, e fs.DirEntry, err error) error {
		switch {
		case err != nil || name == ".":
			return err
		case strings.HasPrefix(e.Name(), ".") && e.IsDir():
			return fs.SkipDir
		case strings.HasPrefix(e.Name(), "."):
			return nil
		}
		a, err := packEntry(site, archive, name, e)
		if a.path != "" {
			assets = append(assets, a)
		}
		return err
	})
	return assets, errors.Join(err, archive.Close(), zipped.Close())
}

func packEntry(site fs.FS, archive *tar.Writer, name string, e fs.DirEntry) (asset, error) {
	h := &tar.Header{Name: name, Mode: 0o644}
	switch e.Type() {
	case fs.ModeDir:
		h.Typeflag, h.Name, h.Mode = tar.TypeDir, name+"/", 0o755
		return asset{}, archive.WriteHeader(h)
	case fs.ModeSymlink:
		target, err := fs.ReadLink(site, name)
		if err != nil {
			return asset{}, err
		}
		h.Typeflag, h.Linkname = tar.TypeSymlink, target
		if err := archive.WriteHeader(h); err != nil {
			return asset{}, err
		}
		// A link is served as its target, when that is a file of the site.
		if info, err := fs.Stat(site, name); err != nil || !info.Mode().IsRegular() {
			return asset{}, nil //nolint:nilerr // a link that leads nowhere is packed, and nobody can fetch it
		}
		content, err := fs.ReadFile(site, name)
		return asset{path: name, size: int64(len(content)), sum: sha256.Sum256(content)}, err
	case 0:
		content, err := fs.ReadFile(site, name)
		if err != nil {
			return asset{}, err
		}
		h.Typeflag, h.Size = tar.TypeReg, int64(len(content))
		if err := archive.WriteHeader(h); err != nil {
			return asset{}, err
		}
		_, err = archive.Write(content)
		return asset{path: name, size: h.Size, sum: sha256.Sum256(content)}, err
	}
	return asset{}, nil // web sites have no devices or sockets
}
