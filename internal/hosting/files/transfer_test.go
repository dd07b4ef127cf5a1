package files_test

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"stead.dev/stead/internal/port/panel"
)

func TestUploadStoresFilesInOrder(t *testing.T) {
	t.Parallel()
	onEachPanel(t, func(t *testing.T, w *world) {
		rec := w.upload(t, "", field{"path", "", "/public_html/new"},
			field{"file", "a.txt", "a"}, field{"file", "ö.html", "<b>"})
		const want = `{"entries":[` +
			`{"name":"a.txt","path":"/public_html/new/a.txt","type":"file","size_bytes":1,"mode":"0644","owner":"anna","mime":"text/plain; charset=utf-8","etag":"*","modified_at":"*","link_target":null},` +
			`{"name":"ö.html","path":"/public_html/new/ö.html","type":"file","size_bytes":3,"mode":"0644","owner":"anna","mime":"text/html; charset=utf-8","etag":"*","modified_at":"*","link_target":null}]}`
		if rec.Code != 201 || stable(rec) != want {
			t.Fatalf("%d %s", rec.Code, stable(rec))
		}
		if ct := rec.Header().Get("Content-Type"); ct != "application/json" {
			t.Errorf("Content-Type %s", ct)
		}
		if rec := w.upload(t, "?path=/public_html/new", field{"overwrit", "", "true"}, field{"file", "a.txt", "b"}); rec.Code != 422 || !strings.Contains(rec.Body.String(), "Did you mean overwrite?") {
			t.Errorf("a field that is not known: %d %s", rec.Code, rec.Body)
		}
		if rec := w.upload(t, "?path=/public_html/new", field{"file", "a.txt", "b"}); rec.Code != 422 || key(rec) != "already_exists" {
			t.Errorf("a file that is there: %d %s", rec.Code, rec.Body)
		}
		if rec := w.upload(t, "?path=/public_html/new&overwrite=true", field{"file", "a.txt", "b"}); rec.Code != 201 || w.read("/public_html/new/a.txt") != "b" {
			t.Errorf("overwrite in the query: %d %s", rec.Code, rec.Body)
		}
		if rec := w.upload(t, "?path=/public_html/new", field{"overwrite", "", "true"}, field{"file", "a.txt", "c"}); rec.Code != 201 || w.read("/public_html/new/a.txt") != "c" {
			t.Errorf("overwrite in the form: %d %s", rec.Code, rec.Body)
		}
		rec = w.upload(t, "?path=/public_html/new", field{"file", "first.txt", "1"}, field{"path", "", "/public_html/new/deep"},
			field{"overwrite", "", "true"}, field{"file", "second.txt", "2"}, field{"path", "", "/public_html/new"}, field{"file", "a.txt", "d"})
		if rec.Code != 201 || w.read("/public_html/new/first.txt") != "1" || w.read("/public_html/new/deep/second.txt") != "2" || w.read("/public_html/new/a.txt") != "d" {
			t.Errorf("several directories in one form: %d %s", rec.Code, rec.Body)
		}
		rec = w.upload(t, "?path=/public_html/new", field{"file", "b.txt", "b"}, field{"file", "c.txt", "c"}, field{"file", "a.txt", "e"}, field{"file", "d.txt", "d"})
		if rec.Code != 422 || key(rec) != "already_exists" || !strings.Contains(rec.Body.String(), `"stored":2`) ||
			w.read("/public_html/new/c.txt") != "c" || w.read("/public_html/new/a.txt") != "d" {
			t.Errorf("the third file is there already: %d %s", rec.Code, rec.Body)
		}
		// Directories in the name of a file are the sender's own (RFC 7578, section 4.2).
		if rec := w.upload(t, "?path=/up", field{"file", "../../x/evil.txt", "e"}); rec.Code != 201 || w.read("/up/evil.txt") != "e" {
			t.Errorf("a name with directories: %d %s", rec.Code, rec.Body)
		}
	})
}

func TestUploadsThatAreRefused(t *testing.T) {
	t.Parallel()
	w := onNode(t, panel.Limits{})
	many := make([]field, 1001)
	for i := range many {
		many[i] = field{"file", fmt.Sprintf("f%d", i), ""}
	}
	for _, c := range []struct {
		name, query string
		fields      []field
		status      int
		key, about  string
	}{
		{"no file", "?path=/", nil, 422, "validation_failed", `"file":[`},
		{"no directory", "", []field{{"file", "a", "a"}}, 422, "validation_failed", `"path":[`},
		{"the directory after the file", "", []field{{"file", "a", "a"}, {"path", "", "/"}}, 422, "validation_failed", `"path":[`},
		{"a file without a name", "?path=/", []field{{"file", "", "a"}}, 422, "validation_failed", `"file":[`},
		{"a file called ..", "?path=/public_html", []field{{"file", "..", "a"}}, 422, "validation_failed", `"file":[`},
		{"climbing out", "?path=/public_html/../..", []field{{"file", "a", "a"}}, 422, "path_not_allowed", ``},
		{"climbing out by the form", "", []field{{"path", "", "../x"}, {"file", "a", "a"}}, 422, "path_not_allowed", ``},
		{"a directory too long", "", []field{{"path", "", strings.Repeat("d", 5000)}, {"file", "a", "a"}}, 422, "validation_failed", `"path":[`},
		{"overwrite of a strange kind", "?path=/", []field{{"overwrite", "", "perhaps"}, {"file", "a", "a"}}, 422, "validation_failed", `"overwrite":[`},
		{"onto a directory", "?path=/&overwrite=true", []field{{"file", "public_html", "a"}}, 422, "path_not_allowed", ``},
		{"too many", "?path=/many", many, 422, "validation_failed", `"file":["It must have at most 1000 items."]`},
	} {
		rec := w.upload(t, c.query, c.fields...)
		if rec.Code != c.status || key(rec) != c.key || !strings.Contains(rec.Body.String(), c.about) {
			t.Errorf("%s: %d %s", c.name, rec.Code, rec.Body)
		}
	}
	for _, c := range []struct {
		name, contentType, body string
		status                  int
		key                     string
	}{
		{"JSON", "application/json", `{"path":"/"}`, 415, "unsupported_media_type"},
		{"no type", "", `x`, 415, "unsupported_media_type"},
		{"a form of the other kind", "application/x-www-form-urlencoded", `path=/`, 415, "unsupported_media_type"},
		{"no boundary", "multipart/form-data", `x`, 400, "invalid_request"},
		{"no part", "multipart/form-data; boundary=b", `x`, 422, "validation_failed"},
		{"a form cut short", "multipart/form-data; boundary=b", "--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"cut\"\r\n\r\nabc", 400, "invalid_request"},
		{"a header of nonsense", "multipart/form-data; boundary=b", "--b\r\n\xff\x00\r\n\r\nabc\r\n--b--", 400, "invalid_request"},
	} {
		r := httptest.NewRequest("POST", url(active, "/upload?path=/"), strings.NewReader(c.body))
		r.Header.Set("Authorization", "Bearer owner")
		if c.contentType != "" {
			r.Header.Set("Content-Type", c.contentType)
		}
		rec := httptest.NewRecorder()
		w.ServeHTTP(rec, r)
		if rec.Code != c.status || key(rec) != c.key {
			t.Errorf("%s: %d %s", c.name, rec.Code, rec.Body)
		}
	}
	if got := w.read("/cut"); got != string(panel.ErrNotFound) {
		t.Errorf("a part of a file stayed: %q", got)
	}
}

// zeros is an endless text.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = '0'
	}
	return len(p), nil
}

// sendLarge streams one file of size bytes in a form, over a real connection.
func sendLarge(ctx context.Context, server, name string, size int64, stop func(sent int64) error) (*http.Response, error) {
	r, w := io.Pipe()
	form := multipart.NewWriter(w)
	go func() {
		part, err := form.CreateFormFile("file", name)
		for sent := int64(0); err == nil && sent < size; sent += 1 << 20 {
			if err = stop(sent); err == nil {
				_, err = io.CopyN(part, zeros{}, min(1<<20, size-sent))
			}
		}
		if err == nil {
			err = form.Close()
		}
		w.CloseWithError(err)
	}()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, server+url(active, "/upload?path=/"), r)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer owner")
	req.Header.Set("Content-Type", form.FormDataContentType())
	return http.DefaultTransport.RoundTrip(req)
}

func TestAnUploadOf200MBNeedsNoMemory(t *testing.T) {
	w := onNode(t, panel.Limits{})
	server := httptest.NewServer(w)
	defer server.Close()
	const size = 200 << 20
	var before, now runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	var peak atomic.Uint64
	res, err := sendLarge(t.Context(), server.URL, "large", size, func(sent int64) error {
		if sent%(32<<20) == 0 {
			runtime.ReadMemStats(&now)
			peak.Store(max(peak.Load(), now.HeapInuse))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	body, _ := io.ReadAll(res.Body)
	_ = res.Body.Close()
	if res.StatusCode != http.StatusCreated || !bytes.Contains(body, []byte(`"size_bytes":209715200`)) {
		t.Fatalf("%d %s", res.StatusCode, body)
	}
	if grown := int64(peak.Load()) - int64(before.HeapInuse); grown > 24<<20 {
		t.Errorf("the heap grew by %d MiB during an upload of 200 MiB", grown>>20)
	}
	e, err := w.panel.(panel.Files).Stat(t.Context(), "s10", "/large")
	if err != nil || e.SizeBytes != size {
		t.Errorf("stored %d bytes, %v", e.SizeBytes, err)
	}
}

func TestAnUploadThatEndsEarlyLeavesNothing(t *testing.T) {
	t.Parallel()
	w := onNode(t, panel.Limits{})
	server := httptest.NewServer(w)
	defer server.Close()
	gone := errors.New("the client leaves")
	res, err := sendLarge(t.Context(), server.URL, "half", 64<<20, func(sent int64) error {
		if sent == 8<<20 {
			return gone
		}
		return nil
	})
	if err == nil {
		_ = res.Body.Close()
	}
	server.Close() // waits for the handler
	if got := w.read("/half"); got != string(panel.ErrNotFound) {
		t.Errorf("a part of the file stayed: %.20q", got)
	}
}

func TestAnUploadIsBounded(t *testing.T) {
	t.Parallel()
	w := onNode(t, panel.Limits{})
	r := httptest.NewRequest("POST", url(active, "/upload?path=/"), io.MultiReader(
		strings.NewReader("--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"junk\"\r\n\r\n"), zeros{}))
	r.Header.Set("Authorization", "Bearer owner")
	r.Header.Set("Content-Type", "multipart/form-data; boundary=b")
	rec := httptest.NewRecorder()
	w.ServeHTTP(rec, r)
	if rec.Code != http.StatusRequestEntityTooLarge || key(rec) != "payload_too_large" {
		t.Errorf("%d %s", rec.Code, rec.Body)
	}
}

func TestDownload(t *testing.T) {
	t.Parallel()
	onEachPanel(t, func(t *testing.T, w *world) {
		w.put(t, "/public_html/hello.html", "<script>hello</script>")
		target := url(active, "/download?path=/public_html/hello.html")
		rec := w.do("GET", target, "reader", "")
		h := rec.Header()
		if rec.Code != 200 || rec.Body.String() != "<script>hello</script>" {
			t.Fatalf("%d %s", rec.Code, rec.Body)
		}
		for name, want := range map[string]string{
			"Content-Type": "text/html; charset=utf-8", "Content-Disposition": `attachment; filename="hello.html"`,
			"Content-Length": "22", "Accept-Ranges": "bytes", "X-Content-Type-Options": "nosniff",
			"Content-Security-Policy": "sandbox; default-src 'none'", "Cache-Control": "private, no-cache",
		} {
			if got := h.Get(name); got != want {
				t.Errorf("%s: %q, want %q", name, got, want)
			}
		}
		tag := h.Get("ETag")
		if rec := w.do("GET", target, "owner", "", "If-None-Match", tag); rec.Code != 304 || rec.Body.Len() > 0 {
			t.Errorf("If-None-Match: %d", rec.Code)
		}
		if rec := w.do("GET", target, "owner", "", "Range", "bytes=8-12"); rec.Code != 206 || rec.Body.String() != "hello" || rec.Header().Get("Content-Range") != "bytes 8-12/22" {
			t.Errorf("Range: %d %q", rec.Code, rec.Body)
		}
		if rec := w.do("GET", target, "owner", "", "Range", "bytes=8-12", "If-Range", `"another"`); rec.Code != 200 || rec.Body.Len() != 22 {
			t.Errorf("If-Range: %d %q", rec.Code, rec.Body)
		}
		if rec := w.do("GET", target, "owner", "", "Range", "items=0-5"); rec.Code != 200 || rec.Body.Len() != 22 {
			t.Errorf("a range of another unit: %d %q", rec.Code, rec.Body)
		}
		if rec := w.do("GET", target, "owner", "", "Range", "bytes=90-"); rec.Code != 416 || key(rec) != "range_not_satisfiable" || rec.Header().Get("Content-Range") != "bytes */22" {
			t.Errorf("a range beyond the end: %d %v %s", rec.Code, rec.Header(), rec.Body)
		}
		if rec := w.do("HEAD", target, "owner", ""); rec.Code != 200 || rec.Header().Get("Content-Length") != "22" {
			t.Errorf("HEAD: %d", rec.Code)
		}
	})
}

func TestNamesOfDownloads(t *testing.T) {
	t.Parallel()
	w := onNode(t, panel.Limits{})
	for name, want := range map[string]string{
		`plain.txt`:      `attachment; filename="plain.txt"`,
		`two words.txt`:  `attachment; filename="two words.txt"`,
		`so'z`:           `attachment; filename="so'z"`,
		`naïve — €.txt`:  `attachment; filename="na_ve _ _.txt"; filename*=UTF-8''na%C3%AFve%20%E2%80%94%20%E2%82%AC.txt`,
		`a"b\c%41.txt`:   `attachment; filename="a_b_c_41.txt"; filename*=UTF-8''a%22b%5Cc%2541.txt`,
		"line\r\nX: 1.t": `attachment; filename="line__X: 1.t"; filename*=UTF-8''line%0D%0AX%3A%201.t`,
	} {
		w.put(t, "/names/"+name, "x")
		r := httptest.NewRequest("GET", url(active, "/download"), nil)
		q := r.URL.Query()
		q.Set("path", "/names/"+name)
		r.URL.RawQuery = q.Encode()
		r.Header.Set("Authorization", "Bearer owner")
		rec := httptest.NewRecorder()
		w.ServeHTTP(rec, r)
		got := rec.Header().Get("Content-Disposition")
		if rec.Code != 200 || got != want {
			t.Errorf("%q: %d %s\nwant %s", name, rec.Code, got, want)
		}
		if _, params, err := mime.ParseMediaType(got); err != nil || strings.Contains(want, "*=") && params["filename"] != name {
			t.Errorf("%q is read as %q, %v", name, params["filename"], err)
		}
	}
}

func TestADirectoryComesAsZip(t *testing.T) {
	t.Parallel()
	onEachPanel(t, func(t *testing.T, w *world) {
		want := map[string]string{"index.html": "<h1>", "img/a.png": "PNG", "img/b.txt": strings.Repeat("b", 100_000)}
		for name, content := range want {
			w.put(t, "/public_html/"+name, content)
		}
		rec := w.do("GET", url(active, "/download?path=/public_html"), "owner", "")
		if rec.Code != 200 || rec.Header().Get("Content-Type") != "application/zip" ||
			rec.Header().Get("Content-Disposition") != `attachment; filename="public_html.zip"` {
			t.Fatalf("%d %v", rec.Code, rec.Header())
		}
		archive, err := zip.NewReader(bytes.NewReader(rec.Body.Bytes()), int64(rec.Body.Len()))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range archive.File {
			_, name, _ := strings.Cut(f.Name, "/")
			if f.FileInfo().IsDir() {
				continue
			}
			r, err := f.Open()
			if err != nil {
				t.Fatal(err)
			}
			got, err := io.ReadAll(r)
			if err != nil || string(got) != want[name] {
				t.Errorf("%s: %d bytes, %v", f.Name, len(got), err)
			}
			delete(want, name)
		}
		if len(want) > 0 {
			t.Errorf("missing in the archive: %d files", len(want))
		}
		if rec := w.do("GET", url(active, "/download?path=/"), "owner", ""); rec.Header().Get("Content-Disposition") != `attachment; filename="files.zip"` {
			t.Errorf("the home: %d %v", rec.Code, rec.Header())
		}
		if rec := w.do("HEAD", url(active, "/download?path=/"), "owner", ""); rec.Code != 200 || rec.Body.Len() > 0 {
			t.Errorf("HEAD: %d, %d bytes", rec.Code, rec.Body.Len())
		}
	})
}
