package machine

import (
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"stead.dev/stead/internal/node/adminer"
	"stead.dev/stead/internal/port/panel"
	panelnode "stead.dev/stead/internal/port/panel/node"
)

// surfer is a browser.
type surfer struct {
	t      *testing.T
	client *http.Client
	base   *url.URL // where it was led last
}

func newSurfer(t *testing.T) *surfer {
	t.Helper()
	jar, err := cookiejar.New(nil)
	must(t, err)
	return &surfer{t: t, client: &http.Client{Jar: jar, Transport: &http.Transport{DisableKeepAlives: true}}}
}

func (v *surfer) do(method, address string, form url.Values, change func(*http.Request)) (int, string, http.Header) {
	v.t.Helper()
	var body io.Reader
	if form != nil {
		body = strings.NewReader(form.Encode())
	}
	r, err := http.NewRequestWithContext(v.t.Context(), method, address, body)
	must(v.t, err)
	if form != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Origin", r.URL.Scheme+"://"+r.URL.Host)
	}
	if change != nil {
		change(r)
	}
	res, err := v.client.Do(r)
	must(v.t, err)
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	must(v.t, err)
	v.base = res.Request.URL
	return res.StatusCode, string(text), res.Header
}

func (v *surfer) get(address string) (int, string) {
	v.t.Helper()
	status, text, _ := v.do(http.MethodGet, address, nil, nil)
	return status, text
}

var csrf = regexp.MustCompile(`name='token' value='([0-9:]+)'`)

// send fills in a form of Adminer's, at a page of the visit, and sends it.
func (v *surfer) send(page string, form url.Values) string {
	v.t.Helper()
	at := *v.base
	at.RawQuery = "ns=public&" + page
	_, text := v.get(at.String())
	token := csrf.FindStringSubmatch(text)
	if token == nil {
		token = regexp.MustCompile(`name="token" value="([0-9:]+)"`).FindStringSubmatch(text)
	}
	if token == nil {
		v.t.Fatalf("no form: %.2000s", text)
	}
	form.Set("token", token[1])
	_, text, _ = v.do(http.MethodPost, at.String(), form, nil)
	return text
}

// sql runs statements as a person does.
func (v *surfer) sql(statements string) string {
	v.t.Helper()
	return v.send("sql=", url.Values{"query": {statements}, "limit": {""}})
}

func opened(t *testing.T, p panelnode.Panel, ref, name string) string {
	t.Helper()
	o, err := p.OpenDatabase(t.Context(), ref, name)
	must(t, err)
	return o.URL
}

// TestADatabaseIsOpenedInABrowser opens databases of both engines by the real Adminer, and tries what nobody may do with it.
func TestADatabaseIsOpenedInABrowser(t *testing.T) {
	m, p, cfg := open(t, func(cfg *Config) { cfg.OriginURL = fmt.Sprintf("http://127.0.0.1:%d", cfg.Ports.HTTP) })
	for _, ref := range []string{"alice", "bob"} {
		_, err := p.CreateAccount(t.Context(), panel.AccountSpec{Ref: ref, Username: ref, PrimaryDomain: ref + ".example"})
		must(t, err)
		for name, engine := range map[string]panel.DatabaseEngine{"shop": panel.MariaDB, "blog": panel.PostgreSQL} {
			_, err := p.SetDatabase(t.Context(), ref, panel.Database{Name: ref + "_" + name, Engine: engine, Password: "a password of " + ref, PasswordVersion: "1"})
			must(t, err)
		}
	}
	for name, secret := range map[string]string{
		"alice_shop": "CREATE TABLE goods (name varchar(50)); INSERT INTO goods VALUES ('a teapot'); CREATE VIEW cheap AS SELECT * FROM goods",
		"alice_blog": "CREATE TABLE goods (name varchar(50)); INSERT INTO goods VALUES ('a teapot'); CREATE VIEW cheap AS SELECT * FROM goods",
		"bob_shop":   "CREATE TABLE letters (name varchar(50))", "bob_blog": "CREATE TABLE letters (name varchar(50))",
	} {
		ref, _, _ := strings.Cut(name, "_")
		must(t, p.ImportDatabase(t.Context(), ref, name, strings.NewReader(secret+";\n")))
	}
	for _, name := range []string{"alice_shop", "alice_blog"} {
		t.Run(name, func(t *testing.T) {
			address := opened(t, p, "alice", name)
			anna := newSurfer(t)
			status, page := anna.get(address)
			if status != 200 || !strings.Contains(page, "goods") || !strings.Contains(page, "cheap") {
				t.Fatalf("%d %.3000s", status, page)
			}
			home := anna.base.String()
			for _, secret := range []string{"a password of alice", anna.base.Query().Get("token")} {
				if secret != "" && strings.Contains(page, secret) {
					t.Errorf("the page has a secret: %s", secret)
				}
			}

			// What is in it can be read, changed, taken home.
			if text := anna.sql("SELECT concat('a', ' tea', 'pot') AS b, name FROM goods"); strings.Count(text, "a teapot") < 2 {
				t.Errorf("select: %.3000s", text)
			}
			text := anna.sql("INSERT INTO goods VALUES ('a kettle')")
			if !strings.Contains(text, "Query executed OK") {
				t.Errorf("insert: %.3000s", text)
			}
			anna.sql("CREATE TABLE made (id int)")
			base, _, _ := strings.Cut(home, "?")
			dump := anna.send("dump=", url.Values{
				"output": {"text"}, "format": {"sql"}, "db_style": {""}, "table_style": {"DROP+CREATE"}, "data_style": {"INSERT"}, "tables[]": {"goods"}, "data[]": {"goods"},
			})
			if !strings.Contains(dump, "a kettle") {
				t.Errorf("dump: %.3000s", dump)
			}

			// What it makes is the database's own user's, so it outlives the visit, and can be dropped with the database.
			who := map[string]string{"alice_shop": "SELECT current_user() AS who", "alice_blog": "SELECT tableowner AS who FROM pg_tables WHERE tablename = 'made'"}[name]
			if text := anna.sql(who); !strings.Contains(text, name) {
				t.Errorf("it is made by somebody else: %.3000s", text)
			}

			// The address works once.
			if status, _ := newSurfer(t).get(address); status != 403 {
				t.Errorf("the address worked twice: %d", status)
			}
			if status, page := newSurfer(t).get(home); status != 403 || strings.Contains(page, "goods") {
				t.Errorf("without the cookie: %d", status)
			}
			status, _, _ = anna.do(http.MethodGet, home, nil, func(r *http.Request) { r.Host = "evil.example" })
			if status == 200 {
				t.Error("another name leads into it")
			}
			status, _, _ = anna.do(http.MethodPost, home, url.Values{"query": {"DROP TABLE goods"}}, func(r *http.Request) { r.Header.Set("Origin", "https://evil.example") })
			if status != 403 {
				t.Errorf("a form of another site's: %d", status)
			}

			// It is that one database, and no other, whatever the browser says.
			other := strings.Replace(name, "alice", "bob", 1)
			for _, q := range []string{
				"server=192.0.2.1&username=root&db=mysql", "pgsql=192.0.2.1&username=stead&db=postgres", "elastic=http%3A%2F%2F192.0.2.1&username=x", "sqlite=&username=&db=%2Fetc%2Fpasswd",
				"mssql=192.0.2.1&username=x", "server=&username=" + other + "&db=" + other, "pgsql=&username=" + other + "&db=" + other,
			} {
				if status, page := anna.get(base + "?" + q); status != 200 || !strings.Contains(page, "goods") || strings.Contains(page, "letters") {
					t.Errorf("%s: %d %.500s", q, status, page)
				}
			}
			_, page, _ = anna.do(http.MethodPost, base, url.Values{"auth[driver]": {"server"}, "auth[server]": {"192.0.2.1"}, "auth[username]": {"root"}, "auth[password]": {"x"}, "auth[db]": {"mysql"}}, nil)
			if !strings.Contains(page, "goods") {
				t.Errorf("another sign-in: %.500s", page)
			}
			for _, statement := range []string{"SELECT * FROM " + other + ".letters", "USE " + other, "SELECT * FROM letters"} {
				if text := anna.sql(statement); !strings.Contains(text, "class='error'") {
					t.Errorf("%s: %.2000s", statement, text)
				}
			}
			if _, page := anna.get(home); strings.Contains(page, other) {
				t.Error("it names a database of another account")
			}

			// A database may be left, and what was begun is over then.
			_, page = anna.get(home)
			token := csrf.FindStringSubmatch(page)
			if token == nil {
				t.Fatalf("no way to leave: %.3000s", page)
			}
			_, page, _ = anna.do(http.MethodPost, home, url.Values{"logout": {"Logout"}, "token": {token[1]}}, nil)
			if status, _ := anna.get(home); status != 403 {
				t.Errorf("it was left: %d %.300s", status, page)
			}
		})
	}

	t.Run("headers", func(t *testing.T) {
		anna := newSurfer(t)
		anna.get(opened(t, p, "alice", "alice_shop"))
		_, _, h := anna.do(http.MethodGet, anna.base.String(), nil, nil)
		for name, want := range map[string]string{
			"X-Frame-Options": "DENY", "Referrer-Policy": "same-origin", "X-Content-Type-Options": "nosniff", "Cache-Control": "no-store",
			"Cross-Origin-Opener-Policy": "same-origin", "Content-Security-Policy": "default-src 'none'; script-src 'nonce-",
		} {
			if got := h.Values(name); len(got) != 1 || !strings.HasPrefix(got[0], want) {
				t.Errorf("%s: %q", name, got)
			}
		}
		for _, c := range anna.client.Jar.Cookies(anna.base) {
			if c.Name == "stead" || strings.Contains(c.Value, "password") {
				t.Errorf("cookie %s", c)
			}
		}
	})

	t.Run("it ends", func(t *testing.T) {
		anna, ben := newSurfer(t), newSurfer(t)
		anna.get(opened(t, p, "alice", "alice_blog"))
		ben.get(opened(t, p, "alice", "alice_shop"))
		unused := opened(t, p, "alice", "alice_shop")
		must(t, p.RemoveDatabase(t.Context(), "alice", "alice_blog"))
		if status, _ := anna.get(anna.base.String()); status != 403 {
			t.Errorf("the database is deleted: %d", status)
		}
		if status, _ := ben.get(ben.base.String()); status != 200 {
			t.Errorf("the other one: %d", status)
		}
		must(t, p.SuspendAccount(t.Context(), "alice"))
		if status, _ := ben.get(ben.base.String()); status != 403 {
			t.Errorf("suspended: %d", status)
		}
		if _, err := p.OpenDatabase(t.Context(), "alice", "alice_shop"); panel.KindOf(err) != panel.ErrSuspended {
			t.Errorf("suspended: %v", err)
		}
		must(t, p.UnsuspendAccount(t.Context(), "alice"))
		for _, address := range []string{unused, ben.base.String()} {
			if status, _ := ben.get(address); status != 403 {
				t.Errorf("a visit has come back with the account: %d", status)
			}
		}
		if _, err := p.OpenDatabase(t.Context(), "alice", "bob_shop"); panel.KindOf(err) != panel.ErrNotFound {
			t.Errorf("another account's: %v", err)
		}
		left, err := filepath.Glob(filepath.Join(cfg.Dir, "adminer", "tmp", "*"))
		must(t, err)
		for _, file := range left {
			text, err := os.ReadFile(file)
			must(t, err)
			if strings.Contains(string(text), "alice") {
				t.Errorf("%s stays: %s", file, text)
			}
		}
	})

	t.Run("no site reaches it", func(t *testing.T) {
		dir := filepath.Join(cfg.Dir, "adminer")
		put(t, p, "bob", "/public_html/index.php", `<?php
foreach (['fpm/fpm.sock', 'sockets/mysql.sock', 'sockets/.s.PGSQL.5432', 'gate/gate.sock'] as $f) {
	$s = @stream_socket_client("unix://`+dir+`/$f", $n, $why, 2);
	echo $f, ' ', $s ? 'OPEN' : 'closed', "\n";
}
echo ini_set('open_basedir', ''), @file_get_contents('`+dir+`/www/index.php') ? 'READ' : 'unread', "\n";`)
		if _, body, _ := get(t, cfg, "bob.example", "/"); strings.Contains(body, "OPEN") || strings.Count(body, "closed") != 4 {
			t.Errorf("%s", body)
		}
		for _, host := range []string{"bob.example", "bob.preview.example"} {
			if status, body, _ := get(t, cfg, host, adminer.Path+"open/x/y"); strings.Contains(body, "Adminer") {
				t.Errorf("%s serves it: %d %s", host, status, body)
			}
		}
	})

	t.Run("it reaches nothing else", func(t *testing.T) {
		pid := m.supervisor.PID(adminer.Name)
		if pid == 0 {
			t.Fatal("it does not run")
		}
		network, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/net", pid))
		must(t, err)
		own, err := os.Readlink("/proc/self/ns/net")
		must(t, err)
		if network == own {
			t.Error("it has the machine's network")
		}
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
		must(t, err)
		if !strings.Contains(string(status), "NoNewPrivs:\t1") {
			t.Error("it may gain rights")
		}
	})
}
