package demo

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path"
	"strings"

	"golang.org/x/sync/errgroup"
)

// visitors is the number of concurrent fetches of the site.
const visitors = 4

// compareSite fetches every file and compares it with what was packed.
func (d *demonstration) compareSite(ctx context.Context) error {
	if len(d.assets) == 0 {
		return errors.New("the site has no files")
	}
	var bytes int64
	began := now()
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(visitors)
	for _, a := range d.assets {
		bytes += a.size
		group.Go(func() error {
			got, err := d.origin.get(ctx, "/"+a.path)
			switch {
			case err != nil:
				return err
			case got.status != http.StatusOK:
				return fmt.Errorf("/%s answered %d", a.path, got.status)
			case sha256.Sum256(got.body) != a.sum:
				return fmt.Errorf("/%s came with %d bytes that differ from the %d published", a.path, len(got.body), a.size)
			}
			return checkType(a.path, got.header.Get("Content-Type"))
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	d.report.note("%d files, %d bytes, each as it was published, in %s", len(d.assets), bytes, round(now().Sub(began)))
	return nil
}

// types are the content types of files for which browsers must not guess.
var types = map[string]string{
	".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".txt": "text/plain", ".svg": "image/svg+xml",
	".png": "image/png", ".jpg": "image/jpeg", ".gif": "image/gif", ".json": "application/json", ".gz": "application/gzip",
}

func checkType(name, got string) error {
	want := types[path.Ext(name)]
	if want == "" && got != "" || strings.HasPrefix(got, want) && want != "" {
		return nil
	}
	return fmt.Errorf("/%s came as %q, not %q", name, got, want)
}

// check is one request for the site and the expected answer.
type check struct {
	what   string
	path   string
	header []string
	right  func(served) bool
}

func (d *demonstration) run(ctx context.Context, checks []check) error {
	for _, c := range checks {
		got, err := d.origin.get(ctx, c.path, c.header...)
		if err != nil {
			return err
		}
		if !c.right(got) {
			return fmt.Errorf("%s: GET %s %v answered %d %v with %d bytes", c.what, c.path, c.header, got.status, got.header, len(got.body))
		}
		d.report.note("%-34s %d", c.what, got.status)
	}
	return nil
}

// checkHTTP requests one page in all the ways of browsers and caches.
func (d *demonstration) checkHTTP(ctx context.Context) error {
	target := "/" + d.largestText()
	whole, err := d.origin.get(ctx, target)
	if err != nil {
		return err
	}
	size := len(whole.body)
	etag, modified := whole.header.Get("ETag"), whole.header.Get("Last-Modified")
	if whole.status != http.StatusOK || etag == "" || modified == "" || size < 200 {
		return fmt.Errorf("%s answered %d with ETag %q, Last-Modified %q and %d bytes", target, whole.status, etag, modified, size)
	}
	if _, err := d.writeFile(ctx, documentRoot+"/unlisted/private-name.txt", "in a directory without an index\n"); err != nil {
		return err
	}
	unchanged := func(s served) bool { return s.status == http.StatusNotModified && len(s.body) == 0 }
	page := func(s served) bool { return strings.HasPrefix(s.header.Get("Content-Type"), "text/html") }
	return d.run(ctx, []check{
		{"unchanged by ETag", target, []string{"If-None-Match", etag}, unchanged},
		{"unchanged by date", target, []string{"If-Modified-Since", modified}, unchanged},
		{"another version", target, []string{"If-None-Match", `"another"`}, func(s served) bool {
			return s.status == http.StatusOK && len(s.body) == size
		}},
		{"a range", target, []string{"Range", "bytes=100-199"}, func(s served) bool {
			return s.status == http.StatusPartialContent && bytes.Equal(s.body, whole.body[100:200]) &&
				s.header.Get("Content-Range") == fmt.Sprintf("bytes 100-199/%d", size)
		}},
		{"the last bytes", target, []string{"Range", "bytes=-50"}, func(s served) bool {
			return s.status == http.StatusPartialContent && bytes.Equal(s.body, whole.body[size-50:])
		}},
		{"a range beyond the end", target, []string{"Range", fmt.Sprintf("bytes=%d-", size)}, func(s served) bool {
			return s.status == http.StatusRequestedRangeNotSatisfiable
		}},
		{"compressed", target, []string{"Accept-Encoding", "gzip"}, func(s served) bool {
			return s.status == http.StatusOK && s.header.Get("Content-Encoding") == "gzip" && len(s.body) < size &&
				strings.Contains(s.header.Get("Vary"), "Accept-Encoding") && bytes.Equal(gunzip(s.body), whole.body)
		}},
		{"a page that is not there", "/no-such-page-" + randomName(), nil, func(s served) bool {
			return s.status == http.StatusNotFound && page(s)
		}},
		{"a directory without its slash", "/unlisted", nil, func(s served) bool {
			return s.status == http.StatusMovedPermanently && s.header.Get("Location") == "/unlisted/"
		}},
		{"no directory listing", "/unlisted/", nil, func(s served) bool {
			return s.status >= http.StatusForbidden && s.status <= http.StatusNotFound && !bytes.Contains(s.body, []byte("private-name"))
		}},
	})
}

// largestText is a file that is worth compressing.
func (d *demonstration) largestText() string {
	best := asset{}
	for _, a := range d.assets {
		if ext := path.Ext(a.path); (ext == ".html" || ext == ".css" || ext == ".txt") && a.size > best.size {
			best = a
		}
	}
	return best.path
}

func gunzip(b []byte) []byte {
	r, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		return nil
	}
	plain, err := io.ReadAll(io.LimitReader(r, maxAnswer))
	if err != nil {
		return nil
	}
	return plain
}

// escapes are requests for a file outside of every site.
var escapes = []string{
	"/../../../../../../etc/passwd",
	"/%2e%2e/%2e%2e/%2e%2e/%2e%2e/%2e%2e/%2e%2e/etc/passwd",
	"/..%2f..%2f..%2f..%2f..%2f..%2fetc/passwd",
	"/%252e%252e/%252e%252e/%252e%252e/etc/passwd",
	`/..%5c..%5c..%5c..%5cetc%5cpasswd`,
	"/unlisted/../../../../../../etc/passwd",
	"/./%2e%2e/logs/",
	"/%00/etc/passwd",
}

// checkEscapes tries to read files outside of the site: by addresses, by the interface, and by links in an archive.
func (d *demonstration) checkEscapes(ctx context.Context) error {
	for _, target := range escapes {
		got, err := d.origin.raw(ctx, d.domain, target)
		if err != nil {
			return err
		}
		if got.status < http.StatusBadRequest || bytes.Contains(got.body, []byte("root:")) {
			return fmt.Errorf("%s answered %d: %s", target, got.status, shorten(string(got.body), 100))
		}
		d.report.note("%-60s %d", target, got.status)
	}
	stranger, err := d.origin.raw(ctx, "nobody-"+randomName()+".test", "/")
	if err != nil {
		return err
	}
	if stranger.status != http.StatusNotFound {
		return fmt.Errorf("a domain that nobody has answered %d", stranger.status)
	}

	_, err = d.call(ctx, http.MethodGet, d.files("/content?path=..%2F..%2Fetc%2Fpasswd"), nil, nil)
	if err := expect(err, "path_not_allowed", "reading above the home"); err != nil {
		return err
	}
	for _, harm := range []struct {
		what   string
		member tar.Header
	}{
		{"an absolute link", tar.Header{Typeflag: tar.TypeSymlink, Name: "passwd", Linkname: "/etc/passwd"}},
		{"a climbing link", tar.Header{Typeflag: tar.TypeSymlink, Name: "passwd", Linkname: "../../../../../../etc/passwd"}},
		{"a climbing name", tar.Header{Typeflag: tar.TypeReg, Name: "../../../../escaped.txt", Mode: 0o644}},
	} {
		if err := d.extractHarm(ctx, harm.what, harm.member); err != nil {
			return err
		}
	}
	return nil
}

// extractHarm uploads an archive that no node may unpack.
func (d *demonstration) extractHarm(ctx context.Context, what string, member tar.Header) error {
	var b bytes.Buffer
	zipped := gzip.NewWriter(&b)
	archive := tar.NewWriter(zipped)
	if err := errors.Join(archive.WriteHeader(&member), archive.Close(), zipped.Close()); err != nil {
		return err
	}
	name := "harm-" + randomName() + ".tar.gz"
	if err := d.uploadArchive(ctx, name, b.Bytes()); err != nil {
		return err
	}
	_, err := d.call(ctx, http.MethodPost, d.files("/archive"), map[string]any{
		"operation": "extract", "paths": []string{"/" + name}, "target": documentRoot,
	}, nil)
	if err := expect(err, "path_not_allowed", "extracting "+what); err != nil {
		return err
	}
	_, err = d.call(ctx, http.MethodDelete, d.files("?path=/"+name), nil, nil)
	return err
}
