package e2e

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"stead.dev/stead/internal/platform/testkit"
	stead "stead.dev/stead/sdk/go"
)

// person is a customer at a machine of their own.
type person struct {
	t    *testing.T
	home string
	env  []string
}

// newPerson has a desktop whose browser only writes down what it is to open.
func newPerson(t *testing.T) *person {
	t.Helper()
	home := t.TempDir()
	programs := filepath.Join(home, "bin")
	if err := os.Mkdir(programs, 0o700); err != nil {
		t.Fatal(err)
	}
	browser := "#!/bin/sh\nprintf %s \"$1\" >\"$HOME/opened.new\" && mv \"$HOME/opened.new\" \"$HOME/opened\"\n"
	if err := os.WriteFile(filepath.Join(programs, "xdg-open"), []byte(browser), 0o700); err != nil {
		t.Fatal(err)
	}
	return &person{t, home, []string{"HOME=" + home, "PATH=" + programs + ":" + os.Getenv("PATH"), "DISPLAY=:0"}}
}

// run runs a command to its end, which may not take long.
func (p *person) run(stdin string, args ...string) (stdout, stderr string, code int) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), 3*time.Minute)
	defer cancel()
	var out, errs bytes.Buffer
	c := exec.CommandContext(ctx, binary, args...)
	c.Env, c.Stdin, c.Stdout, c.Stderr = p.env, strings.NewReader(stdin), &out, &errs
	err := c.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		p.t.Fatalf("stead %v: %v", args, err)
	}
	return out.String(), errs.String(), c.ProcessState.ExitCode()
}

// ends runs a command that must end with a code.
func (p *person) ends(code int, args ...string) (stdout, stderr string) {
	p.t.Helper()
	stdout, stderr, got := p.run("", args...)
	if got != code {
		p.t.Errorf("stead %v: exit code %d, want %d\n%s%s", args, got, code, stdout, stderr)
	}
	return stdout, stderr
}

// must runs a command that must succeed and decodes its JSON.
func (p *person) must(into any, args ...string) {
	p.t.Helper()
	stdout, stderr := p.ends(0, append(args, "--json")...)
	if err := json.Unmarshal([]byte(stdout), into); err != nil {
		p.t.Fatalf("stead %v: %v in %s%s", args, err, stdout, stderr)
	}
}

// opened is the address that the browser was told to open.
func (p *person) opened() (address string) {
	p.t.Helper()
	name := filepath.Join(p.home, "opened")
	testkit.Eventually(p.t, time.Minute, func() bool {
		content, err := os.ReadFile(name)
		address = string(content)
		return err == nil
	}, "the browser is opened")
	if err := os.Remove(name); err != nil {
		p.t.Fatal(err)
	}
	return address
}

// login signs in as the demo customer: the command runs while the browser allows, or refuses, what it asks for.
func (p *person) login(server, decision string) (stdout, stderr string, code int) {
	p.t.Helper()
	type outcome struct {
		stdout, stderr string
		code           int
	}
	ended := make(chan outcome, 1)
	go func() {
		var o outcome
		o.stdout, o.stderr, o.code = p.run("", "login", "--server", server)
		ended <- o
	}()
	decide(p.t, server, p.opened(), decision)
	o := <-ended
	return o.stdout, o.stderr, o.code
}

// decide signs in by a browser and answers the question of an application; it returns where the browser ends.
func decide(t *testing.T, server, address, decision string) *http.Response {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	browser := &http.Client{Jar: jar, Timeout: time.Minute}
	post := func(path string, form url.Values) *http.Response {
		t.Helper()
		r, err := browser.PostForm(server+path, form)
		if err != nil && r == nil {
			t.Fatal(err)
		}
		_ = r.Body.Close()
		return r
	}
	post("/login", url.Values{"email": {demoEmail}, "password": {demoPassword}})
	r, err := browser.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	page, err := io.ReadAll(r.Body)
	_ = r.Body.Close()
	if err != nil {
		t.Fatal(err)
	}
	if found := deviceCode.FindSubmatch(page); found != nil {
		return post("/oauth/device", url.Values{"user_code": {string(found[1])}, "decision": {decision}})
	}
	found := consentRequest.FindSubmatch(page)
	if found == nil {
		t.Fatalf("nobody is asked: %s\n%s", r.Status, tail(string(page), 2000))
	}
	return post("/oauth/authorize", url.Values{"request": {html.UnescapeString(string(found[1]))}, "decision": {decision}})
}

// deviceCode finds the code on the page where a user allows a device.
var deviceCode = regexp.MustCompile(`type="hidden" name="user_code" value="([^"]+)"`)

// TestACustomerWorksByCommands goes through what a customer does, on the built program.
func TestACustomerWorksByCommands(t *testing.T) {
	t.Parallel()
	server := newInstallation(t).serve(t, "--demo")
	shop := server.signIn(t)
	ctx := t.Context()
	order, _ := shop.order(shop.planWith(3), "shop.example.com")
	if _, err := shop.sdk().Orders.Pay(ctx, order); err != nil {
		t.Fatal(err)
	}
	var service stead.Service
	p := newPerson(t)

	t.Run("signing in", func(t *testing.T) {
		p := *p
		p.t = t
		if _, stderr := p.ends(4, "sites"); !strings.Contains(stderr, "stead login --server") {
			t.Errorf("it does not say how to sign in: %s", stderr)
		}
		if _, stderr, code := p.login(server.url, "deny"); code != 3 || !strings.Contains(stderr, "access_denied") {
			t.Errorf("refused in the browser: exit code %d, %s", code, stderr)
		}
		stdout, stderr, code := p.login(server.url+"/", "allow")
		if code != 0 || !strings.Contains(stdout, "Signed in to "+server.url+" as "+demoEmail) {
			t.Fatalf("exit code %d\n%s%s", code, stdout, stderr)
		}
		if strings.Contains(stdout+stderr, "sta_") {
			t.Error("the token is shown")
		}
		kept := filepath.Join(p.home, ".config", "stead", "servers.json")
		if info, err := os.Stat(kept); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("the tokens are kept in %v, error %v", info, err)
		}
		var who struct{ Email, Server string }
		p.must(&who, "whoami")
		if who.Email != demoEmail || who.Server != server.url {
			t.Errorf("whoami: %+v", who)
		}
		if err := os.Chmod(kept, 0o640); err != nil {
			t.Fatal(err)
		}
		if _, stderr := p.ends(1, "whoami"); !strings.Contains(stderr, "chmod 600") {
			t.Errorf("tokens that others can read: %s", stderr)
		}
		if err := os.Chmod(kept, 0o600); err != nil {
			t.Fatal(err)
		}
		p.ends(2, "whoami", "--server", "http://my.example.com")
		p.ends(4, "whoami", "--server", "https://elsewhere.example.com")
	})

	t.Run("sites", func(t *testing.T) {
		p := *p
		p.t = t
		testkit.Eventually(t, heard, func() bool {
			var list []stead.Service
			p.must(&list, "sites", "--status", "active", "-q", "shop.example")
			if len(list) == 1 {
				service = list[0]
			}
			return len(list) == 1
		}, "the service is active")
		if stdout, _ := p.ends(0, "sites", "-q", "nothing has this", "--json"); strings.TrimSpace(stdout) != "[]" {
			t.Errorf("no sites are %q", stdout)
		}
		stdout, _ := p.ends(0, "sites")
		if lines := strings.Split(stdout, "\n"); !strings.HasPrefix(lines[0], "ID ") || !strings.Contains(stdout, "shop.example.com") {
			t.Errorf("the table is\n%s", stdout)
		}
		if stdout, _ := p.ends(0, "sites", "show", "SHOP.example.com"); !strings.Contains(stdout, "/public_html") || !strings.Contains(stdout, "disk") {
			t.Errorf("shown:\n%s", stdout)
		}
		if _, stderr := p.ends(3, "sites", "show", "other.example.com"); !strings.Contains(stderr, `"other.example.com"`) {
			t.Errorf("another's site: %s", stderr)
		}
		p.ends(3, "sites", "show", "999")
		p.ends(2, "sites", "show")
		p.ends(0, "open", "shop.example.com")
		if address := p.opened(); address != "https://shop.example.com" {
			t.Errorf("opened %s", address)
		}
		if stdout, _ := p.ends(0, "open", "shop.example.com", "--panel", "--print"); !strings.HasPrefix(stdout, server.url+"/panel/services/") {
			t.Errorf("the panel is %s", stdout)
		}
		// Two services of one label.
		second, _ := shop.order(shop.plan(), "second.example.com")
		if _, err := shop.sdk().Orders.Pay(ctx, second); err != nil {
			t.Fatal(err)
		}
		for s, err := range shop.sdk().Services.All(ctx, stead.ServicesQuery{}) {
			if err != nil {
				t.Fatal(err)
			}
			label := "twin"
			if s.Domain == nil || !strings.HasSuffix(*s.Domain, ".example.com") {
				continue
			}
			if _, err := shop.sdk().Services.Update(ctx, s.ID, stead.ServicesUpdateBody{Label: &label}); err != nil {
				t.Fatal(err)
			}
		}
		if _, stderr := p.ends(3, "sites", "show", "Twin"); !strings.Contains(stderr, "shop.example.com") || !strings.Contains(stderr, "second.example.com") {
			t.Errorf("two services of one label: %s", stderr)
		}
	})

	t.Run("deploying", func(t *testing.T) {
		p := *p
		p.t = t
		folder := t.TempDir()
		write := func(name, content string) {
			t.Helper()
			name = filepath.Join(folder, name)
			if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(name, []byte(content), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		write("index.html", "<h1>One</h1>")
		write("css/site.css", "h1 { color: red }")
		write("notes/secret.txt", "not for everybody")
		write(".steadignore", "# what stays here\nnotes/\n")
		type result struct {
			Release                                         *int64
			Files, Added, Changed, Unchanged, Removed, Kept int64
			Sent                                            int64 `json:"sent_bytes"`
			Dry                                             bool  `json:"dry_run"`
			URL                                             string
		}
		content := func(path string) string {
			t.Helper()
			f, err := shop.sdk().Files.Read(ctx, service.ID, stead.FilesReadQuery{Path: "/public_html/" + path})
			if stead.HasKey(err, stead.KeyNotFound) {
				return ""
			}
			if err != nil {
				t.Fatal(err)
			}
			return f.Content
		}
		var dry, first, second result
		p.must(&dry, "deploy", folder, "--site", "shop.example.com", "--dry-run")
		if !dry.Dry || dry.Release != nil || dry.Files != 2 || dry.Added+dry.Changed != 2 || dry.Sent != 0 || content("css/site.css") != "" {
			t.Errorf("dry run: %+v", dry)
		}
		p.must(&first, "deploy", folder, "--site", "shop.example.com")
		if first.Release == nil || first.Files != 2 || first.Sent != 29 || first.URL != "https://shop.example.com" || content("notes/secret.txt") != "" {
			t.Fatalf("first: %+v", first)
		}
		write("index.html", "<h1>Two!</h1>")
		if err := os.Remove(filepath.Join(folder, "css/site.css")); err != nil {
			t.Fatal(err)
		}
		p.must(&second, "deploy", folder, "--site", "shop.example.com")
		if second.Sent != 13 || second.Changed != 1 || second.Kept != 1 || content("index.html") != "<h1>Two!</h1>" || content("css/site.css") == "" {
			t.Errorf("second: %+v", second)
		}
		stdout, stderr := p.ends(0, "deploy", folder, "--site", "shop.example.com", "--delete")
		if !strings.Contains(stdout, "1 file, 13 B: 0 changed, 0 new, 1 gone") || !strings.Contains(stdout, "Live: https://shop.example.com  (release") || stderr != "" {
			t.Errorf("third:\n%s%s", stdout, stderr)
		}
		if content("css/site.css") != "" {
			t.Error("what the folder has no more is still there")
		}
		if stdout, _ := p.ends(0, "deploy", "--rollback", "--release", fmt.Sprint(*first.Release), "--site", "shop.example.com"); !strings.Contains(stdout, "brings back release") {
			t.Errorf("rollback: %s", stdout)
		}
		if content("index.html") != "<h1>One</h1>" || content("css/site.css") == "" {
			t.Errorf("after the rollback: %s", content("index.html"))
		}
		var releases []stead.FilesRelease
		p.must(&releases, "sites", "releases", "shop.example.com")
		if len(releases) != 4 {
			t.Errorf("%d releases", len(releases))
		}
		p.ends(2, "deploy", "--site", "shop.example.com")
		p.ends(2, "deploy", folder, "--rollback", "--site", "shop.example.com")
		p.ends(2, "deploy", filepath.Join(folder, "nothing"), "--site", "shop.example.com")
		p.ends(3, "deploy", "--rollback", "--release", "99", "--site", "shop.example.com")
		// A deployment that broke off goes on: what has arrived is not sent again.
		big := []byte(strings.Repeat("big ", 1<<18))
		write("a.bin", string(big)+"a")
		write("b.bin", string(big)+"b")
		arrived := sha256.Sum256(append(big, 'a'))
		if _, err := shop.sdk().Deploys.Contents(ctx, service.ID, stead.UploadFile{Name: hex.EncodeToString(arrived[:]), Content: bytes.NewReader(append(big, 'a'))}); err != nil {
			t.Fatal(err)
		}
		var resumed result
		p.must(&resumed, "deploy", folder, "--site", "shop.example.com")
		if resumed.Sent != int64(len(big)+1) || resumed.Added != 2 {
			t.Errorf("resumed: %+v", resumed)
		}
		for _, name := range []string{"a.bin", "b.bin"} {
			if err := os.Remove(filepath.Join(folder, name)); err != nil {
				t.Fatal(err)
			}
		}
		// A directory where the folder has a file.
		if _, err := shop.sdk().Files.Mkdir(ctx, service.ID, stead.FilesMkdirBody{Path: "/public_html/page.html"}); err != nil {
			t.Fatal(err)
		}
		write("page.html", "a page")
		if _, stderr := p.ends(3, "deploy", folder, "--site", "shop.example.com"); !strings.Contains(stderr, ".steadignore") {
			t.Errorf("a directory in the way: %s", stderr)
		}
		write(".steadignore", "notes/\npage.html\n")
		// A site of another domain of the service has a directory of its own.
		site, err := shop.sdk().Hosting.Domains.Create(ctx, service.ID, stead.HostingCreateBody{Name: "blog.shop.example.com", Kind: "subdomain"})
		if err != nil || site.DocumentRoot == nil {
			t.Fatal(site, err)
		}
		var blog result
		p.must(&blog, "deploy", folder, "--site", "blog.shop.example.com")
		f, err := shop.sdk().Files.Read(ctx, service.ID, stead.FilesReadQuery{Path: *site.DocumentRoot + "/index.html"})
		if err != nil || f.Content != "<h1>Two!</h1>" || blog.URL != "https://blog.shop.example.com" || content("index.html") != "<h1>Two!</h1>" {
			t.Errorf("the other site: %+v, %+v, %v", blog, f, err)
		}
	})

	t.Run("records", func(t *testing.T) {
		p := *p
		p.t = t
		var c struct{ Added, Changed, Unchanged, Deleted int }
		p.must(&c, "dns", "set", "shop.example.com", "api", "a", "192.0.2.7", "192.0.2.8", "--ttl", "600")
		if c.Added != 2 {
			t.Errorf("set: %+v", c)
		}
		p.must(&c, "dns", "set", "shop.example.com", "api", "A", "192.0.2.8", "192.0.2.9")
		if c.Added != 0 || c.Changed != 1 || c.Unchanged != 1 {
			t.Errorf("set again: %+v", c)
		}
		p.must(&c, "dns", "set", "shop.example.com", "@", "MX", "10 mail.example.net")
		p.must(&c, "dns", "set", "shop.example.com", "@", "MX", "10 mail.example.net")
		if c.Unchanged != 1 || c.Added+c.Changed+c.Deleted != 0 {
			t.Errorf("the same MX: %+v", c)
		}
		stdout, _ := p.ends(0, "dns", "list", "shop.example.com")
		if !strings.Contains(stdout, "10 mail.example.net") || !strings.Contains(stdout, "nameservers") {
			t.Errorf("listed:\n%s", stdout)
		}
		p.ends(2, "dns", "set", "shop.example.com", "@", "MX", "mail.example.net")
		if _, stderr := p.ends(3, "dns", "set", "shop.example.com", "api", "A", "not an address"); !strings.Contains(stderr, "dns_record_invalid") {
			t.Errorf("no address: %s", stderr)
		}
		p.must(&c, "dns", "delete", "shop.example.com", "api", "A", "192.0.2.9")
		if c.Deleted != 1 || c.Unchanged != 1 {
			t.Errorf("deleted: %+v", c)
		}
		p.ends(3, "dns", "delete", "shop.example.com", "nothing", "TXT")
		zone, _ := p.ends(0, "dns", "export", "shop.example.com")
		if !strings.Contains(zone, "mail.example.net.") {
			t.Errorf("the zone is\n%s", zone)
		}
		if stdout, stderr, code := p.run("two 300 IN TXT \"hello\"\n", "dns", "import", "shop.example.com", "-"); code != 0 || !strings.Contains(stdout, "added") {
			t.Errorf("import: exit code %d\n%s%s", code, stdout, stderr)
		}
		if _, _, code := p.run("two 300 IN CNAME shop.example.com.\n", "dns", "import", "shop.example.com", "-"); code != 3 {
			t.Errorf("a conflict: exit code %d", code)
		}

		// A zone of another domain of the site.
		if _, err := shop.sdk().Hosting.Domains.Create(ctx, service.ID, stead.HostingCreateBody{Name: "second.example.net", Kind: "addon"}); err != nil {
			t.Fatal(err)
		}
		p.must(&c, "dns", "set", "shop.example.com", "api", "A", "192.0.2.70", "--zone", "second.example.net")
		if c.Added != 1 || c.Changed+c.Deleted != 0 {
			t.Errorf("set in another zone: %+v", c)
		}
		if stdout, stderr, code := p.run("three 300 IN TXT \"there\"\n", "dns", "import", "shop.example.com", "-", "--zone", "second.example.net"); code != 0 {
			t.Errorf("import into another zone: exit code %d\n%s%s", code, stdout, stderr)
		}
		if stdout, _ := p.ends(0, "dns", "list", "shop.example.com", "--zone", "second.example.net", "--type", "A"); !strings.Contains(stdout, "192.0.2.70") {
			t.Errorf("listed of another zone:\n%s", stdout)
		}
		zone, _ = p.ends(0, "dns", "export", "shop.example.com", "--zone", "second.example.net")
		if !strings.Contains(zone, "192.0.2.70") || !strings.Contains(zone, "there") || strings.Contains(zone, "192.0.2.8") {
			t.Errorf("the other zone is\n%s", zone)
		}
		p.must(&c, "dns", "delete", "shop.example.com", "api", "A", "--zone", "second.example.net")
		if c.Deleted != 1 {
			t.Errorf("deleted of another zone: %+v", c)
		}
		if zone, _ := p.ends(0, "dns", "export", "shop.example.com"); !strings.Contains(zone, "192.0.2.8") || strings.Contains(zone, "there") {
			t.Errorf("the zone of the primary domain has become\n%s", zone)
		}
		if _, stderr := p.ends(3, "dns", "list", "shop.example.com", "--zone", "other.example.org"); !strings.Contains(stderr, "dns_record_invalid") {
			t.Errorf("a zone that the site does not have: %s", stderr)
		}
	})

	t.Run("databases, backups and logs", func(t *testing.T) {
		p := *p
		p.t = t
		p.ends(0, "db", "list", "shop.example.com")
		var made, restored stead.Backup
		p.must(&made, "sites", "backup", "shop.example.com", "--note", "before the change", "--parts", "files")
		if made.Status != stead.BackupStatusCompleted {
			t.Errorf("backup: %+v", made)
		}
		if stdout, _ := p.ends(0, "sites", "backups", "shop.example.com"); !strings.Contains(stdout, "before the change") {
			t.Errorf("backups:\n%s", stdout)
		}
		archive := filepath.Join(t.TempDir(), "backup.tar.gz")
		p.ends(0, "sites", "download", "shop.example.com", fmt.Sprint(made.ID), "--to", archive)
		listed, err := exec.CommandContext(ctx, "tar", "-tzf", archive).CombinedOutput()
		if info, _ := os.Stat(archive); err != nil || info == nil || info.Mode().Perm() != 0o600 || !strings.Contains(string(listed), "public_html/index.html") {
			t.Errorf("downloaded: %v, %v\n%s", err, info, listed)
		}
		p.ends(2, "sites", "download", "shop.example.com", fmt.Sprint(made.ID), "--to", archive) // it is there
		if stdout, _ := p.ends(0, "sites", "download", "shop.example.com", fmt.Sprint(made.ID), "--to", "-"); !strings.HasPrefix(stdout, "\x1f\x8b") {
			t.Error("the standard output is no archive")
		}
		p.ends(3, "sites", "download", "shop.example.com", "999", "--to", archive+"2")
		p.ends(2, "sites", "restore", "shop.example.com", fmt.Sprint(made.ID)) // nobody can be asked
		p.must(&restored, "sites", "restore", "shop.example.com", fmt.Sprint(made.ID), "--yes")
		if restored.Restore == nil || restored.Restore.Status != stead.BackupsRestoreStatusCompleted {
			t.Errorf("restore: %+v", restored)
		}
		p.ends(3, "sites", "restore", "shop.example.com", "999", "--yes")

		// This machine keeps no logs. Reading and following them is tested in internal/front/customer.
		if _, stderr := p.ends(3, "logs", "shop.example.com"); !strings.Contains(stderr, "unsupported_operation") {
			t.Errorf("logs: %s", stderr)
		}
	})

	t.Run("signing out", func(t *testing.T) {
		p := *p
		p.t = t
		kept := filepath.Join(p.home, ".config", "stead", "servers.json")
		content, err := os.ReadFile(kept)
		if err != nil {
			t.Fatal(err)
		}
		var file struct {
			Servers map[string]struct {
				Token struct {
					Access string `json:"access_token"`
				}
			}
		}
		if err := json.Unmarshal(content, &file); err != nil {
			t.Fatal(err)
		}
		token := file.Servers[server.url].Token.Access
		ci := &person{t, t.TempDir(), []string{"HOME=/nonexistent", "STEAD_TOKEN=" + token, "STEAD_SERVER=" + server.url}}
		ci.ends(0, "sites")
		(&person{t, ci.home, []string{"HOME=/nonexistent", "STEAD_TOKEN=" + token}}).ends(2, "sites")
		(&person{t, ci.home, []string{"HOME=/nonexistent", "STEAD_TOKEN=wrong", "STEAD_SERVER=" + server.url}}).ends(4, "sites")

		other := newPerson(t)
		if _, stderr, code := other.run(token+"\n", "login", "--server", server.url, "--token-stdin"); code != 0 {
			t.Errorf("a token by standard input: exit code %d, %s", code, stderr)
		}
		if _, _, code := newPerson(t).run("wrong\n", "login", "--server", server.url, "--token-stdin"); code != 4 {
			t.Errorf("a wrong token: exit code %d", code)
		}
		p.ends(0, "logout")
		p.ends(4, "sites")
		testkit.Eventually(t, heard, func() bool {
			_, _, code := ci.run("", "sites")
			return code == 4
		}, "the token is revoked")
		other.ends(4, "sites")
		other.ends(0, "logout")

		// By a browser on another device.
		c := exec.CommandContext(ctx, binary, "login", "--device", "--server", server.url)
		c.Env = other.env
		asked, err := c.StderrPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(asked)
		for lines.Scan() {
			if _, address, ok := strings.Cut(lines.Text(), "Or open both at once: "); ok {
				decide(t, server.url, address, "allow")
				break
			}
		}
		_, _ = io.Copy(io.Discard, asked)
		if err := c.Wait(); err != nil {
			t.Errorf("signing in elsewhere: %v", err)
		}
		other.ends(0, "whoami")
	})
}

// TestTheHelpOfACommandIsFast: the program has the server in it, and does not start it.
func TestTheHelpOfACommandIsFast(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	fastest := time.Hour
	for range 10 {
		began := time.Now()
		if stdout, _ := p.ends(0, "sites", "--help"); !strings.Contains(stdout, "sites backup") {
			t.Fatal(stdout)
		}
		fastest = min(fastest, time.Since(began))
	}
	t.Logf("the fastest of ten: %s", fastest)
	if fastest > time.Second {
		t.Errorf("stead sites --help takes %s", fastest)
	}
}
