package web

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

func now() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC) }

// newSite is a server with one site, shop.example, and the directory of its home.
func newSite(t testing.TB) (*GoServer, string) {
	t.Helper()
	home := t.TempDir()
	for _, dir := range []string{"public_html", "logs"} {
		if err := os.Mkdir(filepath.Join(home, dir), 0o750); err != nil {
			t.Fatal(err)
		}
	}
	s := NewGoServer(now, slog.New(slog.DiscardHandler))
	t.Cleanup(func() { _ = s.Close() })
	apply(t, s, "alice", Site{Domain: "shop.example", Home: home, DocumentRoot: "public_html"})
	return s, home
}

func apply(t testing.TB, s *GoServer, account string, sites ...Site) {
	t.Helper()
	if err := s.Apply(context.Background(), account, sites); err != nil {
		t.Fatal(err)
	}
}

func put(t testing.TB, home, name, content string) {
	t.Helper()
	file := filepath.Join(home, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o750); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(content), 0o640); err != nil {
		t.Fatal(err)
	}
}

// get asks the server; header pairs are name, value.
func get(s *GoServer, method, target string, header ...string) *http.Response {
	r := httptest.NewRequest(method, "http://shop.example/", nil)
	path, query, _ := strings.Cut(target, "?")
	r.URL.RawQuery, r.RequestURI = query, target
	if u, err := r.URL.Parse(path); err == nil && strings.HasPrefix(path, "/") && !strings.HasPrefix(path, "//") {
		r.URL = u
		r.URL.RawQuery = query
	} else {
		r.URL.Path = path
	}
	for i := 0; i < len(header); i += 2 {
		if header[i] == "Host" {
			r.Host = header[i+1]
		}
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w.Result()
}

func body(t testing.TB, res *http.Response) string {
	t.Helper()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestFilesAreServedByteForByteWithTheirType(t *testing.T) {
	s, home := newSite(t)
	content := map[string]string{
		"index.html": "<h1>salom</h1>", "a/index.html": "in a", "app.js": "let a = 1", "p.PNG": "\x89PNG\x00",
		"big.bin": strings.Repeat("0123456789", 10_000), "empty.txt": "", "name with space.txt": "x", "кириллица.txt": "y",
	}
	for name, c := range content {
		put(t, home, "public_html/"+name, c)
	}
	for path, want := range map[string]struct{ file, mediaType string }{
		"/":                        {"index.html", "text/html; charset=utf-8"},
		"/index.html":              {"index.html", "text/html; charset=utf-8"},
		"/a/":                      {"a/index.html", "text/html; charset=utf-8"},
		"//a//index.html":          {"a/index.html", "text/html; charset=utf-8"},
		"/app.js":                  {"app.js", "text/javascript; charset=utf-8"},
		"/p.PNG":                   {"p.PNG", "image/png"},
		"/big.bin":                 {"big.bin", "application/octet-stream"},
		"/empty.txt":               {"empty.txt", "text/plain; charset=utf-8"},
		"/name%20with%20space.txt": {"name with space.txt", "text/plain; charset=utf-8"},
		"/%D0%BA%D0%B8%D1%80%D0%B8%D0%BB%D0%BB%D0%B8%D1%86%D0%B0.txt": {"кириллица.txt", "text/plain; charset=utf-8"},
	} {
		res := get(s, "GET", path)
		if got := body(t, res); res.StatusCode != 200 || got != content[want.file] {
			t.Errorf("GET %s: status %d, %d bytes", path, res.StatusCode, len(got))
		}
		if got := res.Header.Get("Content-Type"); got != want.mediaType {
			t.Errorf("GET %s: type %q, want %q", path, got, want.mediaType)
		}
		if res.Header.Get("X-Content-Type-Options") != "nosniff" || res.Header.Get("ETag") == "" || res.Header.Get("Last-Modified") == "" {
			t.Errorf("GET %s: headers %v", path, res.Header)
		}
		head := get(s, "HEAD", path)
		if head.StatusCode != 200 || head.ContentLength != int64(len(content[want.file])) {
			t.Errorf("HEAD %s: status %d, length %d", path, head.StatusCode, head.ContentLength)
		}
	}
}

func TestConditionsAndRanges(t *testing.T) {
	s, home := newSite(t)
	for _, name := range []string{"/small.bin", "/large.bin"} {
		size := map[string]int{"/small.bin": 1000, "/large.bin": smallFile + 1000}[name]
		content := strings.Repeat("abcdefghij", size/10+1)[:size]
		put(t, home, "public_html"+name, content)
		first := get(s, "GET", name)
		tag, modified := first.Header.Get("ETag"), first.Header.Get("Last-Modified")
		for _, c := range []struct {
			header []string
			status int
			want   string
		}{
			{[]string{"If-None-Match", tag}, 304, ""},
			{[]string{"If-None-Match", `"x", ` + tag}, 304, ""},
			{[]string{"If-None-Match", `"x"`, "If-Modified-Since", modified}, 200, content},
			{[]string{"If-Modified-Since", modified}, 304, ""},
			{[]string{"If-Match", `"x"`}, 412, ""},
			{[]string{"Range", "bytes=10-19"}, 206, "abcdefghij"},
			{[]string{"Range", "items=0-5"}, 200, content},
			{[]string{"Range", "bytes=-5"}, 206, content[size-5:]},
			{[]string{"Range", "bytes=990-", "If-Range", tag}, 206, content[990:]},
			{[]string{"Range", "bytes=990-", "If-Range", `"old"`}, 200, content},
		} {
			res := get(s, "GET", name, c.header...)
			if got := body(t, res); res.StatusCode != c.status || got != c.want {
				t.Errorf("%s %v: status %d, %d bytes; want %d, %d bytes", name, c.header, res.StatusCode, len(got), c.status, len(c.want))
			}
		}
		res := get(s, "GET", name, "Range", "bytes=999999-")
		if res.StatusCode != 416 || res.Header.Get("Content-Range") != fmt.Sprintf("bytes */%d", size) {
			t.Errorf("%s: status %d, Content-Range %q", name, res.StatusCode, res.Header.Get("Content-Range"))
		}
	}
}

func TestValidatorChangesWithEveryWriteInPlace(t *testing.T) {
	s, home := newSite(t)
	file := filepath.Join(home, "public_html/x.txt")
	seen := map[string]bool{}
	for i := range 50 {
		put(t, home, "public_html/x.txt", fmt.Sprintf("%04d", i))
		if err := os.Chtimes(file, now(), now()); err != nil { // as if the clock stood
			t.Fatal(err)
		}
		tag := get(s, "GET", "/x.txt").Header.Get("ETag")
		if seen[tag] {
			t.Fatalf("ETag %s names two contents", tag)
		}
		seen[tag] = true
	}
}

func TestTextIsCompressedForThoseWhoTakeIt(t *testing.T) {
	s, home := newSite(t)
	for _, size := range []int{2000, smallFile * 3} {
		content := strings.Repeat("<p>matn</p>\n", size/12)
		put(t, home, "public_html/t.html", content)
		plain := get(s, "GET", "/t.html")
		packed := get(s, "GET", "/t.html", "Accept-Encoding", "br, gzip;q=0.5")
		if packed.Header.Get("Content-Encoding") != "gzip" || packed.Header.Get("Content-Length") != "" {
			t.Fatalf("headers %v", packed.Header)
		}
		for _, res := range []*http.Response{plain, packed} {
			if res.Header.Get("Vary") != "Accept-Encoding" {
				t.Errorf("Vary = %q", res.Header.Get("Vary"))
			}
		}
		if plain.Header.Get("ETag") == packed.Header.Get("ETag") {
			t.Error("both forms have one ETag")
		}
		gz, err := gzip.NewReader(packed.Body)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(gz); err != nil || string(got) != content {
			t.Errorf("unpacked %d bytes, %v", len(got), err)
		}
		again := get(s, "GET", "/t.html", "Accept-Encoding", "gzip", "If-None-Match", packed.Header.Get("ETag"))
		if again.StatusCode != 304 || again.Header.Get("Content-Encoding") != "" || body(t, again) != "" {
			t.Errorf("status %d, headers %v", again.StatusCode, again.Header)
		}
		part := get(s, "GET", "/t.html", "Accept-Encoding", "gzip", "Range", "bytes=0-2")
		if part.StatusCode != 206 || part.Header.Get("Content-Encoding") != "" || body(t, part) != "<p>" {
			t.Errorf("range of a compressible file: status %d, headers %v", part.StatusCode, part.Header)
		}
		if head := get(s, "HEAD", "/t.html", "Accept-Encoding", "gzip"); head.Header.Get("ETag") != packed.Header.Get("ETag") || body(t, head) != "" {
			t.Errorf("HEAD: headers %v", head.Header)
		}
	}
	put(t, home, "public_html/small.html", "<p>")
	put(t, home, "public_html/photo.jpg", strings.Repeat("x", 5000))
	for _, path := range []string{"/small.html", "/photo.jpg"} {
		if res := get(s, "GET", path, "Accept-Encoding", "gzip"); res.Header.Get("Content-Encoding") != "" {
			t.Errorf("%s was compressed", path)
		}
	}
}

func TestDirectoriesAreNotListed(t *testing.T) {
	s, home := newSite(t)
	put(t, home, "public_html/dir/file.txt", "x")
	put(t, home, "public_html/old/index.htm", "old")
	put(t, home, "public_html/evil.com/x", "x")
	for target, want := range map[string]string{
		"/dir": "/dir/", "/dir?a=b&c": "/dir/?a=b&c", "//evil.com": "/evil.com/", "/dir/../dir": "/dir/",
	} {
		res := get(s, "GET", target)
		if target == "/dir/../dir" {
			if res.StatusCode != 301 && res.StatusCode != 404 {
				t.Errorf("%s: status %d", target, res.StatusCode)
			}
			continue
		}
		if res.StatusCode != 301 || res.Header.Get("Location") != want {
			t.Errorf("%s: status %d to %q", target, res.StatusCode, res.Header.Get("Location"))
		}
	}
	for path, status := range map[string]int{"/dir/": 404, "/old/": 200, "/dir/file.txt/": 404, "/": 404, "/dir/file.txt/x": 404} {
		if res := get(s, "GET", path); res.StatusCode != status || strings.Contains(body(t, res), "file.txt") {
			t.Errorf("%s: status %d, want %d", path, res.StatusCode, status)
		}
	}
}

func TestNotFoundPages(t *testing.T) {
	s, home := newSite(t)
	res := get(s, "GET", "/none")
	if res.StatusCode != 404 || res.Header.Get("Content-Type") != "text/html; charset=utf-8" || body(t, res) == "" {
		t.Errorf("default: status %d", res.StatusCode)
	}
	put(t, home, "public_html/404.html", "bizda yo‘q")
	res = get(s, "GET", "/none")
	if res.StatusCode != 404 || body(t, res) != "bizda yo‘q" || res.Header.Get("ETag") != "" {
		t.Errorf("own page: status %d, headers %v", res.StatusCode, res.Header)
	}
}

func TestOnlyReadingMethods(t *testing.T) {
	s, _ := newSite(t)
	for _, method := range []string{"POST", "PUT", "DELETE", "PATCH", "TRACE", "PROPFIND"} {
		if res := get(s, method, "/"); res.StatusCode != 405 || res.Header.Get("Allow") != allowed {
			t.Errorf("%s: status %d, Allow %q", method, res.StatusCode, res.Header.Get("Allow"))
		}
	}
	for _, target := range []string{"/", "*"} {
		if res := get(s, "OPTIONS", target); res.StatusCode != 204 || res.Header.Get("Allow") != allowed {
			t.Errorf("OPTIONS %s: status %d", target, res.StatusCode)
		}
	}
}

func TestHostsFindTheirSite(t *testing.T) {
	s, home := newSite(t)
	put(t, home, "public_html/index.html", "shop")
	put(t, home, "other/index.html", "other")
	put(t, home, "www/index.html", "own www")
	apply(t, s, "bob",
		Site{Domain: "xn--bcher-kva.example", Aliases: []string{"books.example"}, Home: home, DocumentRoot: "other"},
		Site{Domain: "www.books.example", Home: home, DocumentRoot: "www"})
	for host, want := range map[string]string{
		"shop.example": "shop", "SHOP.Example": "shop", "shop.example:8080": "shop", "shop.example.": "shop",
		"www.shop.example": "shop", "Www.Shop.Example.:80": "shop",
		"xn--bcher-kva.example": "other", "bücher.example": "other", "BÜCHER.example:1": "other", "books.example": "other",
		"www.books.example": "own www",
	} {
		if res := get(s, "GET", "/", "Host", host); body(t, res) != want {
			t.Errorf("Host %q: status %d", host, res.StatusCode)
		}
	}
	for _, host := range []string{
		"", "none.example", "a.shop.example", "www.www.shop.example", "shop.example:x:y", "[::1]:80", "shop.example/", "../alice",
		"shop.example\x00", strings.Repeat("a.", 200), "-.example", "shop.example..", "www.",
	} {
		if res := get(s, "GET", "/", "Host", host); res.StatusCode != 404 || strings.Contains(body(t, res), "shop") {
			t.Errorf("Host %q: status %d", host, res.StatusCode)
		}
	}
}

func TestChangesOfSitesTakeEffectAtOnce(t *testing.T) {
	s, home := newSite(t)
	put(t, home, "public_html/index.html", "shop")
	site := Site{Domain: "shop.example", Home: home, DocumentRoot: "public_html", Suspended: true}
	apply(t, s, "alice", site)
	res := get(s, "GET", "/")
	if res.StatusCode != 503 || res.Header.Get("Retry-After") == "" || strings.Contains(body(t, res), "shop") {
		t.Errorf("suspended: status %d", res.StatusCode)
	}
	site.Suspended, site.Aliases = false, []string{"alias.example"}
	apply(t, s, "alice", site)
	if res := get(s, "GET", "/", "Host", "alias.example"); res.StatusCode != 200 {
		t.Errorf("alias: status %d", res.StatusCode)
	}
	site.Aliases = nil
	apply(t, s, "alice", site)
	if res := get(s, "GET", "/", "Host", "alias.example"); res.StatusCode != 404 {
		t.Errorf("alias removed: status %d", res.StatusCode)
	}
	// The document root may be swapped for another.
	put(t, home, "release2/index.html", "second")
	if err := os.Rename(filepath.Join(home, "public_html"), filepath.Join(home, "release1")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("release2", filepath.Join(home, "public_html")); err != nil {
		t.Fatal(err)
	}
	if got := body(t, get(s, "GET", "/")); got != "second" {
		t.Errorf("after the swap: %q", got)
	}
	apply(t, s, "alice")
	if res := get(s, "GET", "/"); res.StatusCode != 404 {
		t.Errorf("removed: status %d", res.StatusCode)
	}
}

func TestNothingOutsideTheDocumentRootIsServed(t *testing.T) {
	s, home := newSite(t)
	outside := t.TempDir()
	put(t, outside, "secret", "SECRET")
	put(t, home, "secret", "SECRET")
	put(t, home, "public_html/index.html", "ok")
	put(t, home, "public_html/real/ok.txt", "ok")
	for _, hidden := range []string{".env", ".htaccess", ".git/config", "a/.hidden/x"} {
		put(t, home, "public_html/"+hidden, "SECRET")
	}
	put(t, home, "public_html/.well-known/acme-challenge/token", "ok")
	for link, target := range map[string]string{
		"abs": filepath.Join(outside, "secret"), "absdir": outside, "up": "../secret", "updir": "..", "root": "/",
		"far": "../../../../../../../../etc", "inside": "real", "loop": "loop", "self": ".",
	} {
		if err := os.Symlink(target, filepath.Join(home, "public_html", link)); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mkfifo(filepath.Join(home, "public_html/pipe"), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{
		"/../secret", "/%2e%2e/secret", "/%2E%2E%2Fsecret", "/..%2fsecret", "/real/../../secret", "/real/%2e%2e/%2e%2e/secret",
		"/..%5csecret", `/..\secret`, "/%2e%2e%5csecret", "/%252e%252e/secret", "/..%c0%afsecret", "/%c0%ae%c0%ae/secret", "/..;/secret",
		"/index.html%00", "/index.html%00.txt", "/%00", "/....//secret", "/./../secret", "/.%2e/secret", "//../secret",
		"/abs", "/absdir/secret", "/absdir/", "/up", "/updir/secret", "/root/etc/passwd", "/far/passwd", "/loop", "/loop/", "/pipe",
		"/.env", "/.htaccess", "/.git/config", "/.git/", "/a/.hidden/x", "/self/.env", "/%2eenv", "/%2Egit/config", "/.ENV",
		home + "/secret", "/" + strings.Repeat("a/", 3000), "/" + strings.Repeat("a", 300), "secret", "../secret", "*",
	} {
		res := get(s, "GET", path)
		if got := body(t, res); strings.Contains(got, "SECRET") || strings.Contains(got, "root:") || res.StatusCode < 400 || res.StatusCode >= 500 {
			t.Errorf("%q: status %d: %.40q", path, res.StatusCode, got)
		}
	}
	for _, path := range []string{"/inside/ok.txt", "/self/index.html", "/.well-known/acme-challenge/token"} {
		if res := get(s, "GET", path); body(t, res) != "ok" {
			t.Errorf("%q: status %d", path, res.StatusCode)
		}
	}
	// The document root itself may be a link that leads out.
	if err := os.RemoveAll(filepath.Join(home, "public_html")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(home, "public_html")); err != nil {
		t.Fatal(err)
	}
	if res := get(s, "GET", "/secret"); res.StatusCode != 404 {
		t.Errorf("document root out of the home: status %d", res.StatusCode)
	}
	// Or a pipe, which nobody opens for writing.
	pipe := filepath.Join(home, "public_html")
	if err := errors.Join(os.Remove(pipe), syscall.Mkfifo(pipe, 0o666)); err != nil {
		t.Fatal(err)
	}
	answered := make(chan int, 1)
	go func() { answered <- get(s, "GET", "/").StatusCode }()
	select {
	case status := <-answered:
		if status != 404 {
			t.Errorf("a pipe as document root: status %d", status)
		}
	case <-time.After(20 * time.Second):
		t.Error("a pipe as document root blocks")
		if f, err := os.OpenFile(pipe, os.O_RDWR, 0); err == nil { // lets the request end
			defer f.Close()
			<-answered
		}
	}
}

func FuzzSitePath(f *testing.F) {
	for _, seed := range []string{"/", "/a/../b", "/%2e%2e/", "/..", "/.git/x", "/.well-known/x", "//a", "/a/./", "/a\x00", `/a\..`, "/\xff"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, p string) {
		name, _, ok := sitePath(p)
		if !ok {
			return
		}
		if !filepath.IsLocal(name) || strings.ContainsAny(name, "\x00\\") {
			t.Fatalf("sitePath(%q) = %q", p, name)
		}
		for seg := range strings.SplitSeq(name, "/") {
			if name != "." && strings.HasPrefix(seg, ".") && seg != ".well-known" {
				t.Fatalf("sitePath(%q) = %q shows a hidden name", p, name)
			}
		}
	})
}

func TestAccessLogTellsWhatWasServed(t *testing.T) {
	s, home := newSite(t)
	put(t, home, "public_html/a.txt", "12345")
	get(s, "GET", "/a.txt?q=1", "Referer", `http://x/"`+"\n", "User-Agent", "agent\x1b")
	get(s, "HEAD", "/none")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	log, err := os.ReadFile(filepath.Join(home, "logs/shop.example.access.log"))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(string(log), "\n"), "\n")
	want := `192.0.2.1 - - [02/Jan/2026:03:04:05 +0000] "GET /a.txt?q=1 HTTP/1.1" 200 5 "http://x/\x22\x0a" "agent\x1b"`
	if len(lines) != 2 || lines[0] != want {
		t.Errorf("log:\n%s\nwant:\n%s", log, want)
	}
	if !strings.Contains(lines[1], `"HEAD /none HTTP/1.1" 404 0 `) {
		t.Errorf("second line: %s", lines[1])
	}
}

func TestAccessLogRotatesAndFollowsNoLink(t *testing.T) {
	_, home := newSite(t)
	site := &Site{Domain: "shop.example", Home: home, DocumentRoot: "public_html"}
	line := bytes.Repeat([]byte("x"), rotateBytes-10)
	for range rotated + 3 {
		if err := appendLog(site, line); err != nil {
			t.Fatal(err)
		}
	}
	entries, err := os.ReadDir(filepath.Join(home, "logs"))
	if err != nil || len(entries) != rotated+1 {
		t.Errorf("%d logs, %v", len(entries), err)
	}
	victim := filepath.Join(home, "public_html/victim")
	put(t, home, "public_html/victim", "")
	name := filepath.Join(home, site.accessLog())
	if err := os.Remove(name); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("../public_html/victim", name); err != nil {
		t.Fatal(err)
	}
	if err := appendLog(site, []byte("x\n")); err == nil {
		t.Error("a link in place of the log was followed")
	}
	if got, _ := os.ReadFile(victim); len(got) != 0 {
		t.Error("the link's target was written")
	}
}

// What no client library would send.
func TestRawRequests(t *testing.T) {
	s, home := newSite(t)
	put(t, home, "public_html/index.html", "INDEX")
	put(t, home, "secret", "SECRET")
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	srv := HTTPServer(s, slog.New(slog.DiscardHandler))
	go func() { _ = srv.Serve(ln) }() // ends with Close
	defer srv.Close()
	for request, want := range map[string]string{
		"GET / HTTP/1.1\r\nHost: shop.example\r\n\r\n":                                           "200",
		"GET http://shop.example/ HTTP/1.1\r\nHost: other.example\r\n\r\n":                       "200",
		"GET /../secret HTTP/1.1\r\nHost: shop.example\r\n\r\n":                                  "404",
		"GET /..%2f..%2fsecret HTTP/1.1\r\nHost: shop.example\r\n\r\n":                           "404",
		"GET /%00 HTTP/1.1\r\nHost: shop.example\r\n\r\n":                                        "404",
		"GET ../secret HTTP/1.1\r\nHost: shop.example\r\n\r\n":                                   "400",
		"GET /%zz HTTP/1.1\r\nHost: shop.example\r\n\r\n":                                        "400",
		"GET / HTTP/1.1\r\n\r\n":                                                                 "400",
		"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n":                                           "400",
		"GET / HTTP/1.0\r\n\r\n":                                                                 "404",
		"CONNECT shop.example:80 HTTP/1.1\r\nHost: shop.example\r\n\r\n":                         "405",
		"OPTIONS * HTTP/1.1\r\nHost: shop.example\r\n\r\n":                                       "200",
		"GET / HTTP/1.1\r\nHost: shop.example\r\nX: " + strings.Repeat("x", 64<<10) + "\r\n\r\n": "431",
	} {
		conn, err := net.Dial("tcp", ln.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(conn, request); err != nil {
			t.Fatal(err)
		}
		answer := make([]byte, 4096)
		n, err := conn.Read(answer)
		if err != nil {
			t.Errorf("%.60q: %v", request, err)
		}
		if got := string(answer[:n]); !strings.HasPrefix(got[min(9, len(got)):], want) || strings.Contains(got, "SECRET") {
			t.Errorf("%.60q: %.60q, want %s", request, got, want)
		}
		_ = conn.Close()
	}
}

// discard is a ResponseWriter that costs nothing.
type discard struct{ h http.Header }

func (d *discard) Header() http.Header         { return d.h }
func (d *discard) Write(p []byte) (int, error) { return len(p), nil }
func (d *discard) WriteHeader(int)             {}

func BenchmarkServe10KB(b *testing.B) {
	s, home := newSite(b)
	put(b, home, "public_html/page.html", strings.Repeat("0123456789", 1024))
	for name, header := range map[string]string{"plain": "", "gzip": "gzip"} {
		b.Run(name, func(b *testing.B) {
			r := httptest.NewRequest("GET", "http://shop.example/page.html", nil)
			r.Header.Set("Accept-Encoding", header)
			b.SetBytes(10240)
			b.ReportAllocs()
			for b.Loop() {
				s.ServeHTTP(&discard{h: http.Header{}}, r)
			}
		})
	}
	b.Run("over TCP", func(b *testing.B) {
		srv := httptest.NewServer(s)
		defer srv.Close()
		client := srv.Client()
		client.Transport.(*http.Transport).MaxIdleConnsPerHost = 64
		b.SetBytes(10240)
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				req, err := http.NewRequestWithContext(b.Context(), "GET", srv.URL+"/page.html", nil)
				if err != nil {
					b.Fatal(err)
				}
				req.Host = "shop.example"
				req.Header.Set("Accept-Encoding", "identity")
				res, err := client.Do(req)
				if err != nil {
					b.Fatal(err)
				}
				if n, err := io.Copy(io.Discard, res.Body); err != nil || n != 10240 {
					b.Fatal(n, err)
				}
				_ = res.Body.Close()
			}
		})
	})
}
