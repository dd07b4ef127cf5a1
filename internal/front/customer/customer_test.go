package customer

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"stead.dev/stead/internal/platform/clock"
	stead "stead.dev/stead/sdk/go"
	"stead.dev/stead/sdk/go/deploy"
	"stead.dev/stead/sdk/go/oauth"
)

func TestWhatANameStandsFor(t *testing.T) {
	t.Parallel()
	service := func(id int64, domain, label, status string) stead.Service {
		return stead.Service{ID: id, Domain: &domain, Label: label, Status: status}
	}
	all := []stead.Service{
		service(1, "shop.example.com", "Anna's shop", stead.ServiceStatusTerminated),
		service(2, "shop.example.com", "Anna's shop", stead.ServiceStatusActive),
		service(3, "one.example.com", "twin", stead.ServiceStatusActive),
		service(4, "two.example.com", "Twin", stead.ServiceStatusSuspended),
		service(5, "xn--e1afmkfd.example", "shop.example.com", stead.ServiceStatusActive),
		service(6, "gone.example.com", "old", stead.ServiceStatusTerminated),
		{ID: 7, Label: "a server", Status: stead.ServiceStatusActive},
	}
	all = append(all, all[1]) // found by both searches
	for name, want := range map[string]struct {
		ascii string
		id    int64
		key   string
	}{
		"shop.example.com": {"shop.example.com", 2, ""}, // neither the one that has ended, nor the one with this label
		"anna's SHOP":      {"", 2, ""},
		"TWIN":             {"twin", 0, "ambiguous"},
		"пример.example":   {"xn--e1afmkfd.example", 5, ""},
		"gone.example.com": {"gone.example.com", 6, ""},
		"a server":         {"", 7, ""},
		"nothing":          {"nothing", 0, ""},
	} {
		site, err := choose(all, name, want.ascii)
		switch {
		case want.key != "":
			if !stead.HasKey(err, want.key) || !strings.Contains(err.Error(), "3 (one.example.com, active), 4 (two.example.com, suspended)") {
				t.Errorf("%s: %v", name, err)
			}
		case err != nil, want.id == 0 && site != nil, want.id != 0 && (site == nil || site.ID != want.id):
			t.Errorf("%s stands for %+v, %v", name, site, err)
		}
	}
}

func TestTheAddressOfAServer(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"my.example.com": "https://my.example.com", "https://My.Example.com/": "https://my.example.com", "https://example.com:8443/shop/": "https://example.com:8443/shop",
		"http://127.0.0.1:8080": "http://127.0.0.1:8080", "http://[::1]:8080/": "http://[::1]:8080", "http://localhost": "http://localhost",
		"http://my.example.com": "", "ftp://my.example.com": "", "https://user:password@my.example.com": "", "https://my.example.com/?q": "", "": "", "https://": "",
		"http://127.0.0.1.example.com": "",
	} {
		got, err := Address(text)
		var wrong *UsageError
		if got != want || (want == "") != errors.As(err, &wrong) {
			t.Errorf("%q is %q, %v", text, got, err)
		}
	}
}

func TestWhatIsNotDeployed(t *testing.T) {
	t.Parallel()
	patterns, err := parseIgnored("# comment\n\n*.log\n/build\ncache/\n!keep.log\ndocs/**/draft-?.md\nsrc/*.[ch]\n\\#odd\n[!a]x\na.b\n**/tmp\n")
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{
		"x.log": true, "deep/down/x.log": true, "keep.log": false, "x.logs": false, "build": true, "sub/build": false, "a.b": true, "aXb": false,
		"cache/": true, "deep/cache/": true, "cache": false, "docs/draft-1.md": true, "docs/a/b/draft-2.md": true, "docs/draft-10.md": false,
		"src/a.c": true, "src/sub/a.c": false, "#odd": true, "bx": true, "ax": false, ".steadignore": true, "sub/.steadignore": false,
		"tmp/": true, "a/tmp/": true, "index.html": false,
	} {
		plain, directory := strings.CutSuffix(name, "/")
		if got := patterns.skip(plain, directory); got != want {
			t.Errorf("%s is left out: %v", name, got)
		}
	}
	for _, text := range []string{"a[b", "a\\", "/", "!"} {
		if _, err := parseIgnored(text); err == nil || !strings.Contains(err.Error(), "line 1") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestAHashIsRememberedWhileTheFileIsTheSame(t *testing.T) {
	t.Parallel()
	folder, cache := t.TempDir(), t.TempDir()
	name := filepath.Join(folder, "index.html")
	write := func(content string, at time.Time) {
		t.Helper()
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(name, at, at); err != nil {
			t.Fatal(err)
		}
	}
	info := func() fs.FileInfo {
		t.Helper()
		i, err := os.Lstat(name)
		if err != nil {
			t.Fatal(err)
		}
		return i
	}
	sum := strings.Repeat("a", 64)
	written := time.Now().Add(-time.Hour)
	write("one", written)
	later := time.Now().Add(time.Minute)
	open := func(now time.Time) *hashes {
		t.Helper()
		h, err := openHashes(cache, folder, now)
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	h := open(time.Now())
	h.Put("index.html", info(), sum)
	if len(h.fresh) != 0 {
		t.Error("a file that was changed just now is remembered")
	}
	h = open(later)
	h.Put("index.html", info(), sum)
	if err := h.save(); err != nil {
		t.Fatal(err)
	}
	if got, ok := open(later).Get("index.html", info()); !ok || got != sum {
		t.Errorf("the same file: %q, %v", got, ok)
	}
	if _, ok := open(later).Get("other.html", info()); ok {
		t.Error("another name has the hash")
	}
	write("two", written) // the same size and time
	if _, ok := open(later).Get("index.html", info()); ok {
		t.Error("a file that was changed and given its former time has the former hash")
	}
	h.forget()
	if open(later).known == nil || len(open(later).known) != 0 {
		t.Error("it was not forgotten")
	}
	if err := os.WriteFile(h.file, []byte("{broken"), 0o600); err != nil {
		t.Fatal(err)
	}
	if len(open(later).known) != 0 {
		t.Error("a broken file is used")
	}
}

func TestValuesOfRecords(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ kind, text, want string }{
		{"A", "192.0.2.7", "192.0.2.7"},
		{"TXT", "v=spf1 -all", "v=spf1 -all"},
		{"MX", "10 mail.example.com", "mail.example.com prio 10"},
		{"SRV", "10 5 443 host", "host prio 10 weight 5 port 443"},
		{"CAA", `0 issue "letsencrypt.org"`, "letsencrypt.org flags 0 tag issue"},
		{"CAA", "0 issue letsencrypt.org; x=1", "letsencrypt.org; x=1 flags 0 tag issue"},
		{"MX", "mail.example.com", ""},
		{"MX", "10 a b", ""},
		{"SRV", "10 5 host", ""},
		{"CAA", "0 issue", ""},
		{"MX", "ten mail", ""},
	} {
		r, err := ParseRecord(c.kind, c.text)
		got := r.Value
		for _, n := range []struct {
			name  string
			value *int64
		}{{"prio", r.Priority}, {"weight", r.Weight}, {"port", r.Port}, {"flags", r.Flags}} {
			if n.value != nil {
				got += fmt.Sprintf(" %s %d", n.name, *n.value)
			}
		}
		if r.Tag != nil {
			got += " tag " + *r.Tag
		}
		if c.want == "" && err == nil || c.want != "" && (err != nil || got != c.want) {
			t.Errorf("%s %q is %q, %v", c.kind, c.text, got, err)
		}
	}
}

func TestHowADeploymentIsTold(t *testing.T) {
	t.Parallel()
	for n, want := range map[int64]string{0: "0 B", 999: "999 B", 1000: "1.0 kB", 96_000: "96.0 kB", 999_400: "999 kB", 999_900: "1.0 MB", 14_100_000: "14.1 MB", 3_000_000_000_000: "3.0 TB"} {
		if got := Bytes(n); got != want {
			t.Errorf("%d is %s, want %s", n, got, want)
		}
	}
	r := deploy.Result{Plan: &stead.FilesPlan{Changed: 3, Added: 1, Gone: 2}, Files: 412, Bytes: 14_100_000, Special: 1}
	if got := Summary(r, false); got != "412 files, 14.1 MB: 3 changed, 1 new, 2 gone (kept; --delete removes); 1 link or special file left out" {
		t.Error(got)
	}
	if got := Summary(r, true); !strings.Contains(got, "2 gone;") {
		t.Error(got)
	}
	var out bytes.Buffer
	bar := NewBar(&out)
	bar.began = func() float64 { return 0.6 }
	for range 3 {
		bar.Progress(48_000, 96_000)
	}
	bar.Progress(0, 0)
	bar.End()
	bar.End()
	if got := out.String(); !strings.HasPrefix(got, "\r██████████░░░░░░░░░░ 48.0 kB of 96.0 kB  0.6 s\x1b[K") || strings.Count(got, "\r") != 2 || !strings.HasSuffix(got, "\n") || strings.Count(got, "\n") != 1 {
		t.Errorf("the bar is %q", got)
	}
}

// server gives tokens, each refresh token once, and has a log.
type server struct {
	*httptest.Server
	mu       sync.Mutex
	refresh  string
	access   string
	asked    int
	revoked  string
	streams  int
	renewing func()
}

func newServer(t *testing.T) *server {
	s := &server{refresh: "r0", access: "a0"}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /oauth/token", func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.asked++
		if r.FormValue("client_id") != clientID || r.FormValue("refresh_token") != s.refresh {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = w.Write([]byte(`{"error": "invalid_grant"}`))
			return
		}
		s.refresh, s.access = s.refresh+"+", s.access+"+"
		if s.renewing != nil {
			s.renewing()
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"access_token": s.access, "refresh_token": s.refresh, "expires_in": 3600})
	})
	mux.HandleFunc("POST /oauth/revoke", func(w http.ResponseWriter, r *http.Request) {
		s.revoked = r.FormValue("token")
		_, _ = w.Write([]byte(`{}`))
	})
	mux.HandleFunc("GET /api/v1/me", func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		if r.Header.Get("Authorization") != "Bearer "+s.access {
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = w.Write([]byte(`{"error": "token_expired"}`))
			return
		}
		_, _ = w.Write([]byte(`{"id": 7, "email": "anna@example.com"}`))
	})
	mux.HandleFunc("GET /api/v1/services/7/logs", func(w http.ResponseWriter, r *http.Request) {
		line := func(n string) string {
			return `{"at": "2026-11-26T10:00:00Z", "message": "line ` + n + `", "cursor": "c` + n + `"}`
		}
		if r.FormValue("follow") == "" {
			_, _ = w.Write([]byte(`{"data": [` + line("2") + `,` + line("1") + `], "meta": {}}`))
			return
		}
		s.streams++ // each stream ends after a line
		w.Header().Set("Content-Type", "text/event-stream")
		next := fmt.Sprint(len(r.FormValue("cursor")) + s.streams)
		_, _ = fmt.Fprintf(w, "id: c%s\ndata: %s\n\n", next, line(next+" after "+r.FormValue("cursor")))
	})
	s.Server = httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s
}

func settings(t *testing.T, s *server) Settings {
	t.Helper()
	home := t.TempDir()
	return Settings{Server: s.URL, Version: "test", Clock: clock.System(0), Environ: func(name string) string {
		return map[string]string{"HOME": home}[name]
	}}
}

func keep(t *testing.T, s Settings, token oauth.Token) Store {
	t.Helper()
	store, err := s.Store()
	if err == nil {
		err = store.update(t.Context(), func(all *signIns) error {
			all.Servers[s.Server], all.Current = SignIn{Token: token}, s.Server
			return nil
		})
	}
	if err != nil {
		t.Fatal(err)
	}
	return store
}

// TestCommandsAtTheSameTimeRenewATokenOnce: a refresh token that is used twice ends the sign-in.
func TestCommandsAtTheSameTimeRenewATokenOnce(t *testing.T) {
	t.Parallel()
	for name, token := range map[string]oauth.Token{
		"before it expires":             {Access: "a0", Refresh: "r0", Expires: time.Now().Add(time.Second)},
		"when the server does not take": {Access: "revoked", Refresh: "r0", Expires: time.Now().Add(time.Hour)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := newServer(t)
			s := settings(t, server)
			store := keep(t, s, token)
			var commands sync.WaitGroup
			for range 8 {
				session, err := Open(s) // each command reads the store by itself
				if err != nil {
					t.Fatal(err)
				}
				commands.Go(func() {
					if who, err := session.Who(t.Context()); err != nil || who.Email != "anna@example.com" {
						t.Errorf("%+v, %v", who, err)
					}
				})
			}
			commands.Wait()
			all, err := store.read()
			if err != nil || server.asked != 1 || all.Servers[s.Server].Token.Refresh != "r0+" {
				t.Errorf("renewed %d times; %+v, %v", server.asked, all, err)
			}
		})
	}
}

func TestASignInThatHasEnded(t *testing.T) {
	t.Parallel()
	server := newServer(t)
	s := settings(t, server)
	var signIn *SignInError
	if _, err := Open(s); !errors.As(err, &signIn) {
		t.Errorf("nobody has signed in: %v", err)
	}
	for name, token := range map[string]oauth.Token{
		"its refresh token is used": {Access: "x", Refresh: "used", Expires: time.Now()},
		"it cannot be renewed":      {Access: "x"},
	} {
		keep(t, s, token)
		session, err := Open(s)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := session.Who(t.Context()); !errors.As(err, &signIn) || !strings.Contains(err.Error(), "stead login --server "+s.Server) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestSigningInAgainAndOut(t *testing.T) {
	t.Parallel()
	server := newServer(t)
	s := settings(t, server)
	keep(t, s, oauth.Token{Access: "former", Refresh: "former refresh"})
	if who, err := Login(t.Context(), s, ByToken("a0")); err != nil || who.AccountID != 7 || server.revoked != "former refresh" {
		t.Errorf("%+v, %v; revoked %s", who, err, server.revoked)
	}
	if _, err := Login(t.Context(), s, ByToken("wrong")); err == nil {
		t.Error("a wrong token is kept")
	}
	server.revoked = ""
	if _, err := Logout(t.Context(), s, false); err != nil || server.revoked != "" {
		t.Errorf("a token that was given by hand: %v; revoked %q", err, server.revoked)
	}
	store := keep(t, s, oauth.Token{Access: "a0", Refresh: "r0"})
	if _, err := Logout(t.Context(), s, false); err != nil || server.revoked != "r0" {
		t.Errorf("%v; revoked %q", err, server.revoked)
	}
	keep(t, s, oauth.Token{Access: "a0", Refresh: "r0"})
	server.Close()
	if _, err := Logout(t.Context(), s, false); err == nil || !strings.Contains(err.Error(), "--forget") {
		t.Errorf("the server is gone: %v", err)
	}
	if all, err := store.read(); err != nil || len(all.Servers) != 1 {
		t.Errorf("it was forgotten: %+v, %v", all, err)
	}
	if _, err := Logout(t.Context(), s, true); err != nil {
		t.Error(err)
	}
	if all, err := store.read(); err != nil || len(all.Servers) != 0 || all.Current != "" {
		t.Errorf("it was not forgotten: %+v, %v", all, err)
	}
}

func TestATokenOfTheEnvironmentIsSentWhereItBelongs(t *testing.T) {
	t.Parallel()
	s := Settings{Clock: clock.System(0), Environ: func(name string) string { return map[string]string{"STEAD_TOKEN": "secret"}[name] }}
	var wrong *UsageError
	if _, err := Open(s); !errors.As(err, &wrong) {
		t.Errorf("without a server: %v", err)
	}
	s.Server = "http://my.example.com"
	if _, err := Open(s); !errors.As(err, &wrong) {
		t.Errorf("unencrypted: %v", err)
	}
	s.Server = "my.example.com"
	if session, err := Open(s); err != nil || session.Server != "https://my.example.com" {
		t.Errorf("%+v, %v", session, err)
	}
}

func TestALogIsReadAndFollowed(t *testing.T) {
	t.Parallel()
	server := newServer(t)
	s := settings(t, server)
	keep(t, s, oauth.Token{Access: "a0"})
	session, err := Open(s)
	if err != nil {
		t.Fatal(err)
	}
	lines, cursor, err := session.LogLines(t.Context(), 7, Lines{Type: "access", Since: time.Hour, Most: 2})
	if err != nil || len(lines) != 2 || lines[0].Message != "line 1" || cursor != "c2" {
		t.Fatalf("%+v, %q, %v", lines, cursor, err)
	}
	ctx, stop := context.WithCancel(t.Context())
	var told []string
	err = session.Follow(ctx, 7, Lines{Type: "access"}, cursor, func(l stead.LogsLine) error {
		if told = append(told, l.Message); len(told) == 2 {
			stop()
		}
		return nil
	})
	if !errors.Is(err, context.Canceled) || len(told) != 2 || told[0] != "line 3 after c2" || !strings.HasSuffix(told[1], "after c3 after c2") {
		t.Errorf("%q, %v", told, err)
	}
	full := errors.New("the disk is full")
	if err := session.Follow(t.Context(), 7, Lines{}, cursor, func(stead.LogsLine) error { return full }); !errors.Is(err, full) {
		t.Error(err)
	}
}

func TestWhichDatabaseANameStandsFor(t *testing.T) {
	t.Parallel()
	const all = `{"data": [
		{"id": 5, "name": "anna_shop", "status": "active"}, {"id": 6, "name": "anna_5", "status": "active"}, {"id": 7, "name": "anna_11", "status": "active"},
		{"id": 8, "name": "x_anna_blog", "status": "active"}, {"id": 9, "name": "anna_blog", "status": "active"}, {"id": 11, "name": "anna_new", "status": "active"}
	], "meta": {"page": 1, "last_page": 1}}`
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			_, _ = w.Write([]byte(`{"id": 11, "name": "anna_new", "status": "creating"}`))
			return
		}
		_, _ = w.Write([]byte(all))
	}))
	t.Cleanup(server.Close)
	session, err := Settings{Clock: clock.System(0)}.session(server.URL, stead.WithToken("a0"))
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]int64{
		"5": 6, "8": 8, "shop": 5, "anna_shop": 5, "anna_blog": 9, "blog": 9, "12": 0,
	} {
		d, err := session.Database(t.Context(), 7, name)
		if want == 0 && !stead.HasKey(err, stead.KeyNotFound) || want != 0 && (err != nil || d.ID != want) {
			t.Errorf("%s is %+v, %v, want %d", name, d, err, want)
		}
	}
	if d, err := session.CreateDatabase(t.Context(), 7, stead.DatabasesCreateBody{Name: "new"}, true); err != nil || d.ID != 11 {
		t.Errorf("created %+v, %v", d, err)
	}
}

func TestARollbackNamesItsRelease(t *testing.T) {
	t.Parallel()
	deployed := func(id int64) stead.FilesRelease { return stead.FilesRelease{ID: id} }
	restored := func(id, of int64) stead.FilesRelease { return stead.FilesRelease{ID: id, Restores: &of} }
	for name, c := range map[string]struct {
		releases []stead.FilesRelease // the last first
		want     int64                // 0: the server chooses
	}{
		"nothing was deployed":               {nil, 0},
		"the first":                          {[]stead.FilesRelease{deployed(1)}, 0},
		"after deployments":                  {[]stead.FilesRelease{deployed(3), deployed(2), deployed(1)}, 2},
		"after a rollback":                   {[]stead.FilesRelease{restored(4, 2), deployed(3), deployed(2), deployed(1)}, 1},
		"after two":                          {[]stead.FilesRelease{restored(5, 4), restored(4, 2), deployed(3), deployed(2), deployed(1)}, 1},
		"to what was there before the first": {[]stead.FilesRelease{restored(2, 0), deployed(1)}, 0},
		"to the first":                       {[]stead.FilesRelease{restored(3, 1), deployed(2), deployed(1)}, 0},
		"to one that is kept no more":        {[]stead.FilesRelease{restored(13, 3), deployed(12), deployed(11)}, 0},
		"of a deployment after a rollback":   {[]stead.FilesRelease{deployed(5), restored(4, 2), deployed(3), deployed(2)}, 3},
	} {
		if got := before(c.releases); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
	var asked []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			_, _ = w.Write([]byte(`{"data": [{"id": 2}, {"id": 1}], "meta": {"page": 1, "last_page": 1}}`))
			return
		}
		body, _ := io.ReadAll(r.Body)
		asked = append(asked, string(body))
		_, _ = w.Write([]byte(`{"id": 3, "restores": 1}`))
	}))
	t.Cleanup(server.Close)
	session, err := Settings{Clock: clock.System(0)}.session(server.URL, stead.WithToken("a0"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := session.Rollback(t.Context(), &Site{Service: stead.Service{ID: 7}}, 0); err != nil || len(asked) != 1 || asked[0] != `{"release":1}` {
		t.Errorf("asked for %q, %v", asked, err)
	}
}

// TestARenewedTokenIsKeptByACommandThatEnds: the server has replaced the former one then.
func TestARenewedTokenIsKeptByACommandThatEnds(t *testing.T) {
	t.Parallel()
	server := newServer(t)
	ctx, end := context.WithCancel(t.Context())
	server.renewing = func() {
		end()
		<-time.After(50 * time.Millisecond) // sleeps: so that a command that heeds it has ended
	}
	s := settings(t, server)
	store := keep(t, s, oauth.Token{Access: "a0", Refresh: "r0", Expires: time.Now()})
	session, err := Open(s)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := session.Who(ctx); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if all, err := store.read(); err != nil || all.Servers[s.Server].Token.Refresh != "r0+" {
		t.Errorf("kept %+v, %v", all, err)
	}
}
