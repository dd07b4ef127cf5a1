package web

import (
	"bytes"
	"errors"
	"hash/crc32"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"unicode/utf8"

	"stead.dev/stead/internal/node/contenttype"
	"stead.dev/stead/internal/platform/contentcoding"
)

// sitePath turns the path of an address into a name below the document root, and tells whether it
// ended as a directory does. Not ok are paths that no file of a site may have: climbing ones in any
// encoding (the path comes decoded, once), those with a NUL, backslash or broken UTF-8, and hidden
// names (.git, .env, .htaccess), except .well-known.
func sitePath(p string) (name string, dir, ok bool) {
	if len(p) == 0 || len(p) > 4096 || p[0] != '/' || strings.ContainsAny(p, "\x00\\") || !utf8.ValidString(p) {
		return "", false, false
	}
	for seg := range strings.SplitSeq(p, "/") {
		if strings.HasPrefix(seg, ".") && seg != "." && seg != ".well-known" {
			return "", false, false
		}
	}
	dir = strings.HasSuffix(p, "/") || strings.HasSuffix(p, "/.")
	if name = path.Clean(p)[1:]; name == "" {
		name = "."
	}
	return name, dir, true
}

// serveFile answers a request with what stands at its path in the site.
//
// The document root is opened for every request, through a root of the home: that costs two system
// calls, and buys that a deleted account, a document root that is swapped for another, and a link
// in its place that leads out of the home are all seen at once.
func (s *GoServer) serveFile(w http.ResponseWriter, r *http.Request, site *Site) {
	root, err := documentRoot(site)
	if err != nil {
		s.fail(w, r, site, nil, err)
		return
	}
	defer root.Close()
	name, dir, ok := sitePath(r.URL.Path)
	if !ok || IsSource(name) {
		s.fail(w, r, site, root, fs.ErrNotExist)
		return
	}
	if IsClosed(site.Closed, path.Clean(r.URL.Path)) {
		s.fail(w, r, site, root, fs.ErrPermission)
		return
	}
	f, info, err := open(root, name)
	if err == nil && info.IsDir() {
		_ = f.Close() // a directory; nothing was written
		if !dir {
			redirectToDirectory(w, r, name)
			return
		}
		f, info, err = open(root, path.Join(name, "index.html"))
		if errors.Is(err, fs.ErrNotExist) {
			f, info, err = open(root, path.Join(name, "index.htm"))
		}
	} else if err == nil && dir {
		_ = f.Close() // opened for reading
		err = fs.ErrNotExist
	}
	if err == nil && !info.Mode().IsRegular() {
		_ = f.Close() // likewise
		err = fs.ErrNotExist
	}
	if err != nil {
		s.fail(w, r, site, root, err)
		return
	}
	defer f.Close()
	if err := serveContent(w, r, f, info); err != nil {
		s.fail(w, r, site, nil, err)
	}
}

// documentRoot opens the site's directory. "/." refuses anything else: opening a pipe would wait for a writer.
func documentRoot(site *Site) (*os.Root, error) {
	home, err := os.OpenRoot(site.Home)
	if err != nil {
		return nil, err
	}
	defer home.Close()
	return home.OpenRoot(site.DocumentRoot + "/.")
}

// open opens for reading, without blocking on a pipe.
func open(root *os.Root, name string) (*os.File, fs.FileInfo, error) {
	f, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, err
	}
	info, err := f.Stat()
	if err != nil {
		_ = f.Close() // opened for reading
		return nil, nil, err
	}
	return f, info, nil
}

// redirectToDirectory redirects to the address at which relative links work. It builds the address from the clean name,
// as one that begins with two slashes would name another host.
func redirectToDirectory(w http.ResponseWriter, r *http.Request, name string) {
	to := url.URL{Path: "/" + name + "/", RawQuery: r.URL.RawQuery}
	w.Header().Set("Location", to.String())
	w.WriteHeader(http.StatusMovedPermanently)
}

// fail answers when there is nothing to serve. It shows the site's own /404.html, if there is one.
func (s *GoServer) fail(w http.ResponseWriter, r *http.Request, site *Site, root *os.Root, err error) {
	switch {
	case errors.Is(err, fs.ErrPermission):
		page(w, http.StatusForbidden, "node.forbidden")
	case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE), errors.Is(err, syscall.EIO):
		s.log.Error("site cannot be read", "site", site.Domain, "path", r.URL.Path, "error", err)
		page(w, http.StatusInternalServerError, "node.failed")
	case root == nil || !customNotFound(w, root):
		page(w, http.StatusNotFound, "node.not_found")
	}
}

func customNotFound(w http.ResponseWriter, root *os.Root) bool {
	f, info, err := open(root, "404.html")
	if err != nil {
		return false
	}
	defer f.Close()
	if !info.Mode().IsRegular() {
		return false
	}
	w.Header().Set("Content-Type", contenttype.ByName("404.html"))
	w.Header().Set("Content-Length", strconv.FormatInt(info.Size(), 10))
	w.WriteHeader(http.StatusNotFound)
	_, _ = io.CopyN(w, f, info.Size()) // the client left
	return true
}

const (
	// smallFile bounds files that are read into memory and sent with the header in one write; their content is part of
	// their validator.
	smallFile = 64 << 10
	// gzipFrom is the size from which compression pays.
	gzipFrom = 1 << 10
)

var buffers = sync.Pool{New: func() any { return new([smallFile]byte) }}

// serveContent sends a file; the standard library handles conditions and ranges.
func serveContent(w http.ResponseWriter, r *http.Request, f *os.File, info fs.FileInfo) error {
	content, sum := io.ReadSeeker(f), uint32(0)
	if info.Size() <= smallFile {
		buf := buffers.Get().(*[smallFile]byte)
		defer buffers.Put(buf)
		n, err := io.ReadFull(f, buf[:info.Size()])
		if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
			return err
		}
		sum = crc32.Checksum(buf[:n], castagnoli)
		content = bytes.NewReader(buf[:n])
	}
	mediaType := contenttype.ByName(info.Name())
	h := w.Header()
	h.Set("Content-Type", mediaType)
	tag := etag(info, sum)
	if contenttype.Compressible(mediaType) && info.Size() >= gzipFrom {
		h.Add("Vary", "Accept-Encoding")
		// A range refers to the plain file: only that can be resumed.
		if r.Header.Get("Range") == "" && contentcoding.AcceptsGzip(r.Header.Values("Accept-Encoding")) {
			h.Set("ETag", `"`+tag+`-gz"`)
			gz := &gzipWriter{ResponseWriter: w, head: r.Method == http.MethodHead}
			contentcoding.ServeContent(gz, r, "", info.ModTime(), content)
			gz.close()
			return nil
		}
	}
	h.Set("ETag", `"`+tag+`"`)
	contentcoding.ServeContent(w, r, "", info.ModTime(), content)
	return nil
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// etag names a version of a file: its identity, its time of change, and for small files its content, because two writes
// within one tick of the file system's clock have the same times.
func etag(info fs.FileInfo, sum uint32) string {
	b := make([]byte, 0, 80)
	b = strconv.AppendInt(b, info.Size(), 36)
	b = append(b, '-')
	b = strconv.AppendInt(b, info.ModTime().UnixNano(), 36)
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		b = append(b, '-')
		b = strconv.AppendUint(b, st.Ino, 36)
	}
	b = append(b, '-')
	b = strconv.AppendUint(b, uint64(sum), 36)
	return string(b)
}
