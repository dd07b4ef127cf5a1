package e2e

import (
	"bufio"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"os/exec"
	osuser "os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/creack/pty"

	"stead.dev/stead/internal/platform/testkit"
)

// TestInitMakesAnInstallationThatTheDoctorFindsInOrder and whose first administrator signs in by the link, which is good once.
func TestInitMakesAnInstallationThatTheDoctorFindsInOrder(t *testing.T) {
	engines(t, func(t *testing.T, in *installation) {
		dir := t.TempDir()
		file, data := filepath.Join(dir, "etc", "stead.yaml"), in.setting("STEAD_DATA_DIR")
		database := in.setting("STEAD_DATABASE_URL")
		bare := &installation{env: []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir}}
		args := []string{
			"--config", file, "init", "--domain", "panel.example.com", "--company", "Example Hosting", "--admin", "owner@example.com",
			"--country", "uz", "--data-dir", data, "--user", "nobody-here", "--backup-to", filepath.Join(dir, "backups"),
		}
		if database != "" {
			bare.env = append(bare.env, "STEAD_DATABASE_URL="+database)
		}
		if _, stderr, code := bare.run(t, "--config", file, "init", "--domain", "panel.example.com"); code != 2 || !strings.Contains(stderr, "--company, --admin") {
			t.Errorf("without the required ones: exit code %d\n%s", code, stderr)
		}
		if _, stderr, code := bare.run(t, append(args, "--acme", "no address")...); code != 1 || !strings.Contains(stderr, "acme_email") {
			t.Errorf("a wrong answer: exit code %d\n%s", code, stderr)
		}
		var done struct {
			Link    string
			Written struct{ Config string }
			Doctor  report
		}
		bare.must(t, &done, args...)
		for _, c := range done.Doctor.Checks {
			if c.Status == "fail" {
				t.Errorf("doctor: %+v", c)
			}
		}
		if _, stderr, code := bare.run(t, args...); code != 1 || !strings.Contains(stderr, "configuration already") {
			t.Errorf("a second time: exit code %d\n%s", code, stderr)
		}
		if content, err := os.ReadFile(file); err != nil || database != "" && strings.Contains(string(content), database) {
			t.Errorf("the file: %v\n%s", err, content)
		}
		link, err := url.Parse(done.Link)
		if err != nil || link.Host != "panel.example.com" {
			t.Fatalf("the link is %q, %v", done.Link, err)
		}
		listen := testkit.Address(t)
		served := &installation{env: append(bare.env, "STEAD_CONFIG="+file, "STEAD_LISTEN="+listen, "STEAD_BASE_URL=http://"+listen,
			"STEAD_NODE_LISTEN=127.0.0.1:0", "STEAD_OPS_LISTEN=127.0.0.1:0", "STEAD_DNS_LISTEN=127.0.0.1:0")}
		p := served.serve(t)
		jar, err := cookiejar.New(nil)
		if err != nil {
			t.Fatal(err)
		}
		client := &http.Client{Jar: jar}
		local := url.URL{Scheme: "http", Host: listen, Path: link.Path}
		for round, want := range []bool{true, false} {
			r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, local.String(), nil)
			if err != nil {
				t.Fatal(err)
			}
			answer, err := client.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			_ = answer.Body.Close()
			if got := answer.StatusCode == http.StatusOK; got != want {
				t.Errorf("round %d: the link answers %d", round, answer.StatusCode)
			}
			if round == 0 {
				form := url.Values{"password": {"seven-quiet-otters-swim"}}
				answer, err := client.PostForm(local.String(), form)
				if err != nil {
					t.Fatal(err)
				}
				_ = answer.Body.Close()
				if answer.StatusCode >= http.StatusBadRequest {
					t.Errorf("the password: %d", answer.StatusCode)
				}
			}
		}
		p.terminate(t)
		p.ends(t)
	})
}

// TestInitAsksAtATerminal for what no flag says, again for what it needs, and takes a name for what may stay open; where there is
// no terminal, it asks nobody.
func TestInitAsksAtATerminal(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "stead.yaml")
	in := &installation{env: []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir}}
	args := []string{"--config", file, "init", "--domain", "panel.example.com", "--data-dir", filepath.Join(dir, "data"), "--user", "nobody-here"}
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = null.Close() }()
	deaf := exec.Command(in.binary(), args...)
	deaf.Env, deaf.Stdin = in.env, null
	if said, err := deaf.CombinedOutput(); deaf.ProcessState.ExitCode() != 2 || !strings.Contains(string(said), "--company, --admin") {
		t.Errorf("without a terminal: %v\n%s", err, said)
	}

	c := exec.Command(in.binary(), args...)
	c.Env = in.env
	screen, err := pty.Start(c)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = screen.Close() }()
	shown := bufio.NewReader(screen)
	var said strings.Builder
	answer := func(question, line string) {
		t.Helper()
		for !strings.HasSuffix(said.String(), "]: ") {
			b, err := shown.ReadByte()
			if err != nil {
				t.Fatalf("%s: %v after\n%s", question, err, said.String())
			}
			said.WriteByte(b)
		}
		if !strings.Contains(said.String(), question) {
			t.Fatalf("asked\n%s\nwant %s", said.String(), question)
		}
		said.Reset()
		if _, err := io.WriteString(screen, line+"\n"); err != nil {
			t.Fatal(err)
		}
	}
	answer("Name of the company [required]", "")
	answer("Name of the company [required]", "Example Hosting")
	answer("first administrator [required]", "owner@example.com")
	answer("Country", "uz")
	for _, question := range []string{"Address where customers find help", "PostgreSQL", "Mail server", "Let's Encrypt", "proxy that ends TLS", "Where backups go"} {
		answer(question, "")
	}
	rest, _ := io.ReadAll(shown) // a terminal that is left is an error of its own
	if err := c.Wait(); err != nil || !strings.Contains(string(rest), "https://panel.example.com/") {
		t.Errorf("init: %v\n%s", err, rest)
	}
	written, err := os.ReadFile(file)
	if err != nil || !strings.Contains(string(written), "Example Hosting") || !strings.Contains(string(written), "127.0.0.1") {
		t.Errorf("%v\n%s", err, written)
	}
}

// TestAnInitThatFailsLeavesNothingThatTheNextOneCannotUse, nor the service's user.
func TestAnInitThatFailsLeavesNothingThatTheNextOneCannotUse(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file, data := filepath.Join(dir, "stead.yaml"), filepath.Join(dir, "data")
	args := func(admin string) []string {
		return []string{
			"--config", file, "init", "--domain", "panel.example.com", "--company", "Example Hosting", "--admin", admin, "--data-dir", data, "--user", "nobody",
		}
	}
	in := &installation{env: []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir}}
	if _, stderr, code := in.run(t, args("you")...); code != 2 || !strings.Contains(stderr, "--admin") {
		t.Errorf("no address: exit code %d\n%s", code, stderr)
	}
	if _, err := os.Stat(data); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("with a wrong address something was begun: %v", err)
	}
	key := filepath.Join(data, "secret.key")
	if err := errors.Join(os.Mkdir(data, 0o700), os.WriteFile(key, []byte("no key"), 0o600)); err != nil {
		t.Fatal(err)
	}
	if _, stderr, code := in.run(t, args("owner@example.com")...); code != 1 || !strings.Contains(stderr, "could not be begun") {
		t.Errorf("with a wrong key: exit code %d\n%s", code, stderr)
	}
	check := func(when string, names ...string) {
		t.Helper()
		nobody, err := osuser.Lookup("nobody")
		if err != nil || os.Geteuid() != 0 {
			t.Skip("only root gives files away", err)
		}
		for _, name := range names {
			info, err := os.Stat(filepath.Join(data, name))
			if err != nil {
				t.Fatal(when, err)
			}
			if is, ok := info.Sys().(*syscall.Stat_t); !ok || strconv.Itoa(int(is.Uid)) != nobody.Uid {
				t.Errorf("%s: %s is not the user's", when, info.Name())
			}
		}
	}
	if _, err := os.Stat(file); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the configuration was kept: %v", err)
	}
	check("after a failure", "", "stead.db")
	// As a run leaves it that was killed.
	if err := os.Remove(key); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(filepath.Join(data, "stead.db"), 0, 0); err != nil && os.Geteuid() == 0 {
		t.Fatal(err)
	}
	in.must(t, &struct{}{}, args("owner@example.com")...)
	check("after the next attempt", "", "stead.db", "secret.key", "mail")
}
