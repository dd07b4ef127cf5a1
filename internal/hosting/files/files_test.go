package files_test

import (
	"encoding/base64"
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"stead.dev/stead/internal/port/panel"
)

// TestEachOperationAnswersAsDocumented goes through a small site, one golden answer after the other.
func TestEachOperationAnswersAsDocumented(t *testing.T) {
	t.Parallel()
	const (
		page      = `{"name":"index.html","path":"/public_html/index.html","type":"file","size_bytes":12,"mode":"0644","owner":"anna","mime":"text/html; charset=utf-8","etag":"*","modified_at":"*","link_target":null}`
		css       = `{"name":"css","path":"/public_html/css","type":"directory","size_bytes":null,"mode":"0755","owner":"anna","mime":null,"etag":null,"modified_at":"*","link_target":null}`
		pageAt    = `{"name":"%s","path":"%s","type":"file","size_bytes":12,"mode":"0644","owner":"anna","mime":"text/html; charset=utf-8","etag":"*","modified_at":"*","link_target":null}`
		firstLine = "<h1>\nHi</h1>"
	)
	at := func(path string) string {
		return strings.Replace(strings.Replace(pageAt, "%s", filepath.Base(path), 1), "%s", path, 1)
	}
	steps := []struct {
		method, target, body string
		status               int
		want                 string
	}{
		{"PUT", "/content", `{"path":"/public_html/index.html","content":"<h1>\nHi</h1>"}`, 200, page},
		{"POST", "/directories", `{"path":"public_html/css"}`, 201, css},
		{"POST", "/directories", `{"path":"/public_html/css"}`, 201, css},
		{
			"GET", "/content?path=/public_html/index.html", "", 200,
			`{"path":"/public_html/index.html","encoding":"utf-8","content":"<h1>\nHi</h1>","from_line":1,"total_lines":2,"size_bytes":12,"mime":"text/html; charset=utf-8","etag":"*","modified_at":"*","truncated":false}`,
		},
		{
			"GET", "/content?path=/public_html/index.html&from_line=2&lines=1", "", 200,
			`{"path":"/public_html/index.html","encoding":"utf-8","content":"Hi</h1>","from_line":2,"total_lines":2,"size_bytes":12,"mime":"text/html; charset=utf-8","etag":"*","modified_at":"*","truncated":false}`,
		},
		{"GET", "?path=/public_html", "", 200, `{"data":[` + css + `,` + page + `],"meta":{"page":1,"per_page":20,"total":2,"last_page":1}}`},
		{"GET", "?path=/public_html&page=2&per_page=1", "", 200, `{"data":[` + page + `],"meta":{"page":2,"per_page":1,"total":2,"last_page":2}}`},
		{"POST", "/copy", `{"from":"/public_html/index.html","to":"/public_html/copy.html"}`, 201, at("/public_html/copy.html")},
		{"POST", "/move", `{"from":"/public_html/copy.html","to":"/public_html/css/moved.html"}`, 200, at("/public_html/css/moved.html")},
		{"POST", "/permissions", `{"path":"/public_html/css/moved.html","mode":"0640"}`, 200, strings.Replace(at("/public_html/css/moved.html"), "0644", "0640", 1)},
		{"POST", "/permissions", `{"path":"/public_html/css","mode":"750"}`, 200, strings.Replace(css, "0755", "0750", 1)},
		{"POST", "/permissions", `{"path":"/public_html/css","mode":"644","recursive":true}`, 200, css},
		{
			"GET", "/search?q=MOVED&path=/public_html", "", 200,
			`{"data":[` + strings.TrimSuffix(at("/public_html/css/moved.html"), "}") + `,"line":null,"excerpt":null}],"meta":{"page":1,"per_page":20,"total":1,"last_page":1,"truncated":false}}`,
		},
		{
			"GET", "/search?q=hi%3C&in=content&path=/public_html/css", "", 200,
			`{"data":[` + strings.TrimSuffix(at("/public_html/css/moved.html"), "}") + `,"line":2,"excerpt":"Hi</h1>"}],"meta":{"page":1,"per_page":20,"total":1,"last_page":1,"truncated":false}}`,
		},
		{"GET", "/search?q=h&page=9&path=/public_html", "", 200, `{"data":[],"meta":{"page":9,"per_page":20,"total":2,"last_page":1,"truncated":false}}`},
		{
			"POST", "/archive", `{"operation":"create","paths":["/public_html"],"target":"/site.tar.gz"}`, 201,
			`{"operation":"create","entry":{"name":"site.tar.gz","path":"/site.tar.gz","type":"file","size_bytes":*,"mode":"0644","owner":"anna","mime":"application/gzip","etag":"*","modified_at":"*","link_target":null},"extracted":null}`,
		},
		{
			"POST", "/archive", `{"operation":"extract","paths":["/site.tar.gz"],"target":"/old"}`, 200,
			`{"operation":"extract","entry":null,"extracted":{"files":2,"directories":2,"bytes":24}}`,
		},
		{"DELETE", "?path=/old&recursive=true", "", 200, `{}`},
		{"DELETE", "?path=/site.tar.gz", `{}`, 200, `{}`},
		{"GET", "?path=/old", "", 404, `{"error":"not_found",*`},
	}
	onEachPanel(t, func(t *testing.T, w *world) {
		for _, s := range steps {
			rec := w.do(s.method, url(active, s.target), "owner", s.body)
			got := stable(rec)
			if rec.Code != s.status || !matches(got, s.want) {
				t.Fatalf("%s %s\ngot  %d %s\nwant %d %s", s.method, s.target, rec.Code, got, s.status, s.want)
			}
		}
		if got := w.read("/public_html/css/moved.html"); got != firstLine {
			t.Errorf("the moved file holds %q", got)
		}
	})
}

// matches compares with a text in which "*," stands for anything up to the next comma, and a final
// * for anything at all.
func matches(got, want string) bool {
	for {
		before, after, wild := strings.Cut(want, ":*,")
		if !wild {
			break
		}
		if !strings.HasPrefix(got, before+":") {
			return false
		}
		_, rest, ok := strings.Cut(got[len(before):], ",")
		if !ok {
			return false
		}
		got, want = rest, after
	}
	if prefix, wild := strings.CutSuffix(want, ",*"); wild {
		return strings.HasPrefix(got, prefix)
	}
	return got == want
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	big := strings.Repeat("x", 2<<20+1)
	steps := []struct {
		name, token, method, target, body string
		service, status                   int
		key, contains                     string
	}{
		{name: "no scope", token: "profile", method: "GET", target: "", status: 403, key: "insufficient_scope", contains: `"scope":"services:read"`},
		{name: "reading is not writing", token: "reader", method: "POST", target: "/directories", body: `{"path":"/x"}`, status: 403, key: "insufficient_scope"},
		{name: "the agent's scope reads", token: "agent", method: "GET", target: "", status: 200},
		{name: "the agent's scope writes", token: "agent", method: "POST", target: "/directories", body: `{"path":"/by-agent"}`, status: 201},
		{name: "a sandbox application writes nothing", token: "sandbox", method: "POST", target: "/directories", body: `{"path":"/x"}`, status: 403, key: "sandbox_read_only"},
		{name: "another account's service", token: "stranger", method: "GET", target: "", status: 404, key: "not_found"},
		{name: "another account's upload", token: "stranger", method: "POST", target: "/upload?path=/", status: 404, key: "not_found"},
		{name: "no such service", method: "GET", service: 99, target: "", status: 404, key: "not_found"},
		{name: "a word for a service", method: "GET", service: -1, target: "", status: 404, key: "not_found"},
		{name: "past due is still online", method: "GET", service: pastDue, target: "", status: 200},
		{name: "suspended", method: "GET", service: suspended, target: "", status: 422, key: "service_suspended"},
		{name: "not provisioned yet", method: "POST", service: provisioning, target: "/upload?path=/", status: 422, key: "service_not_active"},
		{name: "a panel without files", method: "GET", service: onBarePanel, target: "", status: 422, key: "unsupported_operation"},
		{name: "a panel without archives", method: "POST", service: onBrokenPanel, target: "/archive", body: `{"operation":"extract","paths":["/a.zip"]}`, status: 422, key: "unsupported_operation"},
		{name: "a panel that is gone", method: "GET", service: onLostPanel, target: "", status: 502, key: "panel_unreachable"},

		{name: "climbing out", method: "GET", target: "?path=../../etc", status: 422, key: "path_not_allowed"},
		{name: "climbing out, encoded", method: "GET", target: "?path=%2e%2e%2f%2e%2e%2fetc", status: 422, key: "path_not_allowed"},
		{name: "climbing out and back", method: "GET", target: "/content?path=/../anna/public_html/a.txt", status: 422, key: "path_not_allowed"},
		{name: "an absolute path is the home's", method: "GET", target: "/content?path=/etc/passwd", status: 404, key: "not_found"},
		{name: "backslashes are letters", method: "GET", target: `/content?path=..%5c..%5cetc%5cpasswd`, status: 404, key: "not_found"},
		{name: "a NUL in the query", method: "GET", target: "/content?path=/a%00.txt", status: 422, key: "validation_failed"},
		{name: "a NUL in the body", method: "POST", target: "/directories", body: `{"path":"/a\u0000b"}`, status: 422, key: "validation_failed"},
		{name: "a NUL in the path of a content", method: "PUT", target: "/content", body: `{"path":"/a\u0000b","content":""}`, status: 422, key: "validation_failed", contains: `"path":[`},
		{name: "bad UTF-8", method: "GET", target: "/content?path=%ff", status: 422, key: "validation_failed"},
		{name: "a name too long", method: "POST", target: "/directories", body: `{"path":"/` + strings.Repeat("n", 256) + `"}`, status: 422, key: "validation_failed", contains: `"path":[`},
		{name: "a path too long", method: "POST", target: "/directories", body: `{"path":"` + strings.Repeat("/n", 3000) + `"}`, status: 422, key: "validation_failed"},
		{name: "through a link that leads out", method: "GET", target: "/content?path=/public_html/out/passwd", status: 422, key: "path_not_allowed"},
		{name: "listing a link that leads out", method: "GET", target: "?path=/public_html/out", status: 422, key: "path_not_allowed"},
		{name: "downloading a link that leads out", method: "GET", target: "/download?path=/public_html/secret", status: 422, key: "path_not_allowed"},
		{name: "writing through a link that leads out", method: "PUT", target: "/content", body: `{"path":"/public_html/secret","content":"x"}`, status: 422, key: "path_not_allowed"},
		{name: "the platform's own names", method: "POST", target: "/directories", body: `{"path":"/.stead-x"}`, status: 422, key: "path_not_allowed"},

		{name: "no path", method: "GET", target: "/content", status: 422, key: "validation_failed", contains: `"errors":{"path":["This member is required."]}`},
		{name: "no such file", method: "GET", target: "/content?path=/none", status: 404, key: "not_found"},
		{name: "a file as a directory", method: "GET", target: "?path=/public_html/a.txt", status: 404, key: "not_found"},
		{name: "a directory as a file", method: "GET", target: "/content?path=/public_html", status: 422, key: "validation_failed"},
		{name: "lines of what has none", method: "GET", target: "/content?path=/public_html/b.bin&lines=2", status: 422, key: "file_not_text"},
		{name: "line zero", method: "GET", target: "/content?path=/public_html/a.txt&from_line=0", status: 422, key: "validation_failed"},
		{name: "another version", method: "PUT", target: "/content", body: `{"path":"/public_html/a.txt","content":"x","etag":"1-2-3"}`, status: 409, key: "etag_mismatch"},
		{name: "a version of what is not there", method: "PUT", target: "/content", body: `{"path":"/public_html/none.txt","content":"x","etag":"1-2-3"}`, status: 409, key: "etag_mismatch"},
		{name: "an unknown encoding", method: "PUT", target: "/content", body: `{"path":"/x","content":"","encoding":"latin1"}`, status: 422, key: "validation_failed", contains: `"encoding":[`},
		{name: "bad base64", method: "PUT", target: "/content", body: `{"path":"/x","content":"%%%","encoding":"base64"}`, status: 422, key: "validation_failed", contains: `"content":[`},
		{name: "a content too large", method: "PUT", target: "/content", body: `{"path":"/x","content":"` + big + `"}`, status: 422, key: "file_too_large", contains: `"limit_bytes":2097152`},
		{name: "a body too large", method: "PUT", target: "/content", body: `{"path":"/x","content":"` + big + big + big + `"}`, status: 413, key: "payload_too_large"},
		{name: "a file in place of a directory", method: "POST", target: "/directories", body: `{"path":"/public_html/a.txt"}`, status: 422, key: "already_exists"},
		{name: "moving onto another", method: "POST", target: "/move", body: `{"from":"/public_html/a.txt","to":"/public_html/b.bin"}`, status: 422, key: "already_exists"},
		{name: "moving into itself", method: "POST", target: "/move", body: `{"from":"/d","to":"/d/e"}`, status: 422, key: "validation_failed", contains: `"to":[`},
		{name: "moving nothing", method: "POST", target: "/move", body: `{"from":"/none","to":"/some"}`, status: 404, key: "not_found"},
		{name: "moving what hosting needs", method: "POST", target: "/move", body: `{"from":"/public_html","to":"/x"}`, status: 422, key: "path_not_allowed"},
		{name: "copying onto another", method: "POST", target: "/copy", body: `{"from":"/public_html/a.txt","to":"/public_html/b.bin"}`, status: 422, key: "already_exists"},
		{name: "no octal permissions", method: "POST", target: "/permissions", body: `{"path":"/public_html/a.txt","mode":"648"}`, status: 422, key: "validation_failed", contains: `"mode":["Permissions are three octal`},
		{name: "permissions in letters", method: "POST", target: "/permissions", body: `{"path":"/public_html/a.txt","mode":"rw-r--r--"}`, status: 422, key: "validation_failed", contains: `"mode":["Permissions are three octal`},
		{name: "a program of its owner", method: "POST", target: "/permissions", body: `{"path":"/public_html/a.txt","mode":"4755"}`, status: 422, key: "validation_failed", contains: `"mode":["This is not allowed`},
		{name: "a sticky directory", method: "POST", target: "/permissions", body: `{"path":"/d","mode":"1755"}`, status: 422, key: "validation_failed", contains: `"mode":["This is not allowed`},
		{name: "writing by everybody", method: "POST", target: "/permissions", body: `{"path":"/public_html/a.txt","mode":"777"}`, status: 422, key: "validation_failed", contains: `"mode":["This is not allowed`},
		{name: "a file closed to its owner", method: "POST", target: "/permissions", body: `{"path":"/public_html/a.txt","mode":"044"}`, status: 422, key: "validation_failed", contains: `"mode":["The owner must`},
		{name: "a directory that nobody opens", method: "POST", target: "/permissions", body: `{"path":"/d","mode":"644"}`, status: 422, key: "validation_failed", contains: `"mode":["The owner must`},
		{name: "directories that nobody opens", method: "POST", target: "/permissions", body: `{"path":"/d","mode":"644","recursive":true,"directory_mode":"644"}`, status: 422, key: "validation_failed", contains: `"directory_mode":["The owner must`},
		{name: "directories that everybody writes to", method: "POST", target: "/permissions", body: `{"path":"/d","mode":"644","recursive":true,"directory_mode":"777"}`, status: 422, key: "validation_failed", contains: `"directory_mode":["This is not allowed`},
		{name: "two modes for one", method: "POST", target: "/permissions", body: `{"path":"/d","mode":"755","directory_mode":"755"}`, status: 422, key: "validation_failed", contains: `"directory_mode":["This is for`},
		{name: "permissions of a link", method: "POST", target: "/permissions", body: `{"path":"/public_html/secret","mode":"644"}`, status: 422, key: "validation_failed", contains: `"path":["A symbolic link`},
		{name: "permissions behind a link", method: "POST", target: "/permissions", body: `{"path":"/public_html/out/passwd","mode":"644"}`, status: 422, key: "path_not_allowed"},
		{name: "permissions of what hosting needs", method: "POST", target: "/permissions", body: `{"path":"/public_html","mode":"700"}`, status: 422, key: "path_not_allowed"},
		{name: "permissions of the home", method: "POST", target: "/permissions", body: `{"path":"/","mode":"755","recursive":true}`, status: 422, key: "path_not_allowed"},
		{name: "permissions of nothing", method: "POST", target: "/permissions", body: `{"path":"/none","mode":"644"}`, status: 404, key: "not_found"},
		{name: "permissions of another's", token: "stranger", method: "POST", target: "/permissions", body: `{"path":"/public_html/a.txt","mode":"600"}`, status: 404, key: "not_found"},
		{name: "permissions by a reader", token: "reader", method: "POST", target: "/permissions", body: `{"path":"/public_html/a.txt","mode":"600"}`, status: 403, key: "insufficient_scope"},
		{name: "permissions of a suspended site", method: "POST", service: suspended, target: "/permissions", body: `{"path":"/public_html/a.txt","mode":"600"}`, status: 422, key: "service_suspended"},
		{name: "deleting what is not empty", method: "DELETE", target: "?path=/d", status: 422, key: "in_use"},
		{name: "deleting the home", method: "DELETE", target: "?path=/&recursive=true", status: 422, key: "path_not_allowed"},
		{name: "deleting nothing named", method: "DELETE", target: "", status: 422, key: "validation_failed"},
		{name: "deleting what is not there", method: "DELETE", target: "?path=/none", status: 404, key: "not_found"},
		{name: "searching nothing", method: "GET", target: "/search?q=", status: 422, key: "validation_failed"},
		{name: "searching elsewhere", method: "GET", target: "/search?q=x&in=database", status: 422, key: "validation_failed"},
		{name: "a pattern that is none", method: "GET", target: "/search?q=%5Ba", status: 422, key: "validation_failed", contains: `"q":[`},
		{name: "an archive of no format", method: "POST", target: "/archive", body: `{"operation":"create","paths":["/d"],"target":"/d.rar"}`, status: 422, key: "validation_failed", contains: `"target":[`},
		{name: "an archive of nothing", method: "POST", target: "/archive", body: `{"operation":"create","paths":[],"target":"/d.zip"}`, status: 422, key: "validation_failed"},
		{name: "an archive over another file", method: "POST", target: "/archive", body: `{"operation":"create","paths":["/d"],"target":"/public_html/a.zip"}`, status: 422, key: "already_exists"},
		{name: "extracting two", method: "POST", target: "/archive", body: `{"operation":"extract","paths":["/a.zip","/b.zip"]}`, status: 422, key: "validation_failed", contains: `"paths":[`},
		{name: "extracting what is no archive", method: "POST", target: "/archive", body: `{"operation":"extract","paths":["/public_html/a.zip"]}`, status: 422, key: "validation_failed", contains: `"paths":["This archive cannot be extracted`},
		{name: "repacking", method: "POST", target: "/archive", body: `{"operation":"repack","paths":["/a.zip"]}`, status: 422, key: "validation_failed"},
		{name: "downloading nothing", method: "GET", target: "/download?path=/none", status: 404, key: "not_found"},
	}
	onEachPanel(t, func(t *testing.T, w *world) {
		w.put(t, "/public_html/a.txt", "a")
		w.put(t, "/public_html/b.bin", "\x00\x01")
		w.put(t, "/public_html/a.zip", "this is no archive")
		w.put(t, "/d/e.txt", "e")
		plantLinksOut(t, w)
		for _, s := range steps {
			t.Run(s.name, func(t *testing.T) {
				target := url(active, s.target)
				switch {
				case s.service > 0:
					target = url(s.service, s.target)
				case s.service < 0:
					target = "/api/v1/services/mine/files"
				}
				token := s.token
				if token == "" {
					token = "owner"
				}
				rec := w.do(s.method, target, token, s.body)
				if rec.Code != s.status || key(rec) != s.key || !strings.Contains(rec.Body.String(), s.contains) {
					t.Fatalf("got %d %.300s; want %d %s with %s", rec.Code, rec.Body, s.status, s.key, s.contains)
				}
			})
		}
		if got := w.read("/public_html/a.txt"); got != "a" {
			t.Errorf("a refused change left %q", got)
		}
		for path, want := range map[string]string{"/public_html/a.txt": "0644", "/d": "0755", "/d/e.txt": "0644"} {
			if e, err := w.panel.(panel.Files).Stat(t.Context(), "s10", path); err != nil || e.Mode != want {
				t.Errorf("a refused change left %s with the mode %s, %v", path, e.Mode, err)
			}
		}
	})
}

// plantLinksOut does what a customer with a shell could: links that lead out of the home.
func plantLinksOut(t *testing.T, w *world) {
	t.Helper()
	f, err := w.panel.(panel.Files).Open(t.Context(), "s10", "/public_html/a.txt")
	if err != nil {
		t.Fatal(err)
	}
	named, ok := f.(interface{ Name() string })
	if !ok {
		t.Fatal("the file has no name on this machine")
	}
	dir := filepath.Dir(named.Name())
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	for link, target := range map[string]string{"out": "/etc", "secret": "../../../../../../../../etc/passwd"} {
		if err := os.Symlink(target, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
}

func TestEveryKindOfFailureHasItsKey(t *testing.T) {
	t.Parallel()
	w := onNode(t, panel.Limits{})
	for kind, want := range map[panel.Kind]struct {
		status int
		key    string
	}{
		panel.ErrNotFound:       {404, "not_found"},
		panel.ErrExists:         {422, "already_exists"},
		panel.ErrSuspended:      {422, "service_suspended"},
		panel.ErrInUse:          {422, "in_use"},
		panel.ErrLimit:          {422, "limit_reached"},
		panel.ErrDiskFull:       {422, "disk_full"},
		panel.ErrUnreachable:    {502, "panel_unreachable"},
		panel.ErrBusy:           {503, "panel_busy"},
		panel.ErrPathNotAllowed: {422, "path_not_allowed"},
		panel.ErrETagMismatch:   {409, "etag_mismatch"},
		panel.ErrFileTooLarge:   {422, "file_too_large"},
		panel.ErrNotText:        {422, "file_not_text"},
		panel.ErrInvalid:        {422, "validation_failed"},
		panel.ErrUnsupported:    {422, "unsupported_operation"},
		panel.ErrInternal:       {500, "internal_error"},
		"a kind of tomorrow":    {500, "internal_error"},
	} {
		rec := w.do("GET", url(onBrokenPanel, "?path="+strings.ReplaceAll(string(kind), " ", "+")), "owner", "")
		if rec.Code != want.status || key(rec) != want.key {
			t.Errorf("%s: %d %s, want %d %s", kind, rec.Code, rec.Body, want.status, want.key)
		}
		if strings.Contains(rec.Body.String(), "panel-account-14") {
			t.Errorf("%s: the panel's words were sent: %s", kind, rec.Body)
		}
	}
}

func TestOfTwoEditorsTheSecondIsToldToReadAgain(t *testing.T) {
	t.Parallel()
	onEachPanel(t, func(t *testing.T, w *world) {
		w.put(t, "/public_html/a.txt", "first")
		var c struct{ ETag string }
		if err := json.Unmarshal(w.do("GET", url(active, "/content?path=/public_html/a.txt"), "owner", "").Body.Bytes(), &c); err != nil || c.ETag == "" {
			t.Fatal(err, c)
		}
		body := func(content string) string {
			return `{"path":"/public_html/a.txt","content":"` + content + `","etag":"` + c.ETag + `"}`
		}
		if rec := w.do("PUT", url(active, "/content"), "owner", body("second")); rec.Code != 200 {
			t.Fatalf("%d %s", rec.Code, rec.Body)
		}
		if rec := w.do("PUT", url(active, "/content"), "owner", body("third")); rec.Code != 409 || key(rec) != "etag_mismatch" {
			t.Fatalf("%d %s", rec.Code, rec.Body)
		}
		// The header says the same as the member, as a download names the version.
		write := func(content string, header ...string) (int, string) {
			rec := w.do("PUT", url(active, "/content"), "owner", `{"path":"/public_html/a.txt","content":"`+content+`"}`, header...)
			return rec.Code, key(rec)
		}
		etag := w.do("GET", url(active, "/download?path=/public_html/a.txt"), "owner", "").Header().Get("ETag")
		for _, c := range []struct {
			name, header, value string
			status              int
			key                 string
		}{
			{"an old version", "If-Match", strconv.Quote(c.ETag), 409, "etag_mismatch"},
			{"a weak one", "If-Match", "W/" + etag, 422, "validation_failed"},
			{"several", "If-Match", etag + `, "x"`, 422, "validation_failed"},
			{"only a new file", "If-None-Match", "*", 422, "already_exists"},
			{"another condition", "If-None-Match", etag, 422, "validation_failed"},
		} {
			if status, key := write("third", c.header, c.value); status != c.status || key != c.key {
				t.Errorf("%s: %d %s", c.name, status, key)
			}
		}
		if rec := w.do("DELETE", url(active, "?path=/public_html/a.txt"), "owner", "", "If-Match", etag); rec.Code != 422 {
			t.Errorf("a condition that nobody judges: %d %s", rec.Code, rec.Body)
		}
		if got := w.read("/public_html/a.txt"); got != "second" {
			t.Errorf("the file holds %q", got)
		}
		if status, key := write("third", "If-Match", etag); status != 200 || w.read("/public_html/a.txt") != "third" {
			t.Errorf("the present version: %d %s", status, key)
		}
	})
}

func TestAnyBytesComeBackAsTheyWere(t *testing.T) {
	t.Parallel()
	w := onNode(t, panel.Limits{})
	for name, data := range map[string]string{
		"empty": "", "NUL": "a\x00b", "not UTF-8": "\xff\xfe", "escapes": "\"\\\u2028</script>\t\r\n", "4-byte": "😀",
	} {
		body, _ := json.Marshal(map[string]string{
			"path": "/x", "content": base64.StdEncoding.EncodeToString([]byte(data)), "encoding": "base64",
		})
		if rec := w.do("PUT", url(active, "/content"), "owner", string(body)); rec.Code != 200 {
			t.Fatalf("%s: %d %s", name, rec.Code, rec.Body)
		}
		var c struct{ Encoding, Content string }
		if err := json.Unmarshal(w.do("GET", url(active, "/content?path=/x"), "owner", "").Body.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		got := []byte(c.Content)
		if c.Encoding == "base64" {
			got, _ = base64.StdEncoding.DecodeString(c.Content)
		}
		if string(got) != data {
			t.Errorf("%s: %q came back as %q", name, data, got)
		}
	}
	if rec := w.do("PUT", url(active, "/content"), "owner", `{"path":"/x","content":"a\u0000b"}`); rec.Code != 200 || w.read("/x") != "a\x00b" {
		t.Errorf("NUL as text: %d %s", rec.Code, rec.Body)
	}
}

func TestALongTextIsCutAndSaysSo(t *testing.T) {
	t.Parallel()
	w := onNode(t, panel.Limits{})
	line := strings.Repeat("x", 1023) + "\n"
	if rec := w.upload(t, "?path=/", field{"file", "long.txt", strings.Repeat(line, 3<<10)}); rec.Code != 201 {
		t.Fatalf("%d %s", rec.Code, rec.Body)
	}
	var c struct {
		Content    string
		TotalLines int `json:"total_lines"`
		FromLine   int `json:"from_line"`
		Truncated  bool
	}
	get := func(query string) {
		t.Helper()
		rec := w.do("GET", url(active, "/content?path=/long.txt"+query), "owner", "")
		if err := json.Unmarshal(rec.Body.Bytes(), &c); err != nil || rec.Code != 200 {
			t.Fatal(err, rec.Code)
		}
	}
	if get(""); len(c.Content) != 2<<20 || !c.Truncated || c.TotalLines != 3<<10 {
		t.Errorf("whole: %d bytes, truncated %v, %d lines", len(c.Content), c.Truncated, c.TotalLines)
	}
	if get("&from_line=3000&lines=10"); len(c.Content) != 10<<10 || c.Truncated || c.FromLine != 3000 {
		t.Errorf("part: %d bytes, truncated %v, from %d", len(c.Content), c.Truncated, c.FromLine)
	}
	if rec := w.upload(t, "?path=/", field{"file", "long.bin", strings.Repeat("\x00", 3<<20)}); rec.Code != 201 {
		t.Fatalf("%d %s", rec.Code, rec.Body)
	}
	if rec := w.do("GET", url(active, "/content?path=/long.bin"), "owner", ""); rec.Code != 422 || key(rec) != "file_too_large" {
		t.Errorf("binary: %d %.100s", rec.Code, rec.Body)
	}
}

func TestThePlanBoundsTheFiles(t *testing.T) {
	t.Parallel()
	w := onNode(t, panel.Limits{DiskMB: 1, Inodes: 20})
	if rec := w.upload(t, "?path=/", field{"file", "big", strings.Repeat("x", 2<<20)}); rec.Code != 422 || key(rec) != "disk_full" {
		t.Errorf("disk: %d %s", rec.Code, rec.Body)
	}
	if rec := w.do("POST", url(active, "/directories"), "owner", `{"path":"`+strings.Repeat("/d", 30)+`"}`); rec.Code != 422 || key(rec) != "limit_reached" {
		t.Errorf("inodes: %d %s", rec.Code, rec.Body)
	}
	if got := w.read("/big"); got != string(panel.ErrNotFound) {
		t.Errorf("a part of the file stayed: %.20q", got)
	}
}
