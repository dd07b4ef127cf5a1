package setup

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"stead.dev/stead/internal/platform/config"
)

func TestWhatIsWrittenIsAConfiguration(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "etc", "stead.yaml")
	release, err := Lock(file)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Lock(file); !errors.Is(err, ErrBusy) {
		t.Errorf("while another one is at work: %v", err)
	}
	w, err := Write(file, Answers{
		Domain: "panel.example.com", Company: `The "Best": #1 Hosting`, Country: "uz", Support: "help@example.com", DataDir: "/var/lib/stead",
		Database: "postgres://stead:secret@127.0.0.1/stead", SMTP: "smtp://user:secret@mail.example.com:587", Proxies: "127.0.0.1,::1",
		ACMEEmail: "hostmaster@example.com", BackupTo: "/mnt/backups",
	})
	if err != nil {
		t.Fatal(err)
	}
	c, err := config.Load(config.Input{File: file})
	if err != nil {
		t.Fatal(err)
	}
	if c.BaseURL != "https://panel.example.com" || c.CompanyName != `The "Best": #1 Hosting` || c.CompanyCountry != "UZ" || len(c.TrustedProxies) != 2 ||
		c.DatabaseURL != "postgres://stead:secret@127.0.0.1/stead" || len(c.ControlBackupPassphrase) < 32 || !strings.Contains(c.MailFrom, "no-reply@panel.example.com") {
		t.Errorf("it is %+v", c)
	}
	for _, path := range append(w.Secrets, file) {
		info, err := os.Stat(path)
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v %v", path, info, err)
		}
	}
	content, err := os.ReadFile(file)
	if err != nil || strings.Contains(string(content), "secret@") {
		t.Errorf("secrets are in the file: %v\n%s", err, content)
	}
	if _, err := Write(file, Answers{Domain: "other.example.com"}); !errors.Is(err, ErrExists) {
		t.Errorf("a second time: %v", err)
	}
	if err := errors.Join(w.Remove(), release()); err != nil {
		t.Error(err)
	}
	if release, err = Lock(file); err != nil {
		t.Fatal(err)
	}
	if err := release(); err != nil {
		t.Error(err)
	}
}

func TestWithoutAProxySteadServesHTTPSItself(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "stead.yaml")
	if _, err := Write(file, Answers{Domain: "panel.example.com", Company: "Example", ACMEEmail: "hostmaster@example.com", OwnHTTPS: true}); err != nil {
		t.Fatal(err)
	}
	c, err := config.Load(config.Input{File: file})
	if err != nil {
		t.Fatal(err)
	}
	if !c.TLSACME || c.Listen != ":443" || c.RedirectListen != ":80" {
		t.Errorf("it is %+v", c)
	}
}

func TestASecretThatIsThereIsNotOverwritten(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "smtp-url"), []byte("another"), 0o600); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "stead.yaml")
	if _, err := Write(file, Answers{Domain: "a.example.com", Database: "postgres://x", SMTP: "smtp://x"}); err == nil {
		t.Fatal("no error")
	}
	for _, name := range []string{"stead.yaml", "database-url"} {
		if _, err := os.Stat(filepath.Join(dir, name)); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s is left: %v", name, err)
		}
	}
}

func TestAFolderIsGivenWithAllThatIsInIt(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "a", "b"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/nowhere", filepath.Join(dir, "a", "link")); err != nil {
		t.Fatal(err)
	}
	// To oneself, which everybody may.
	if err := Give(os.Geteuid(), os.Getegid(), dir); err != nil {
		t.Error(err)
	}
	if err := Give(os.Geteuid(), os.Getegid(), filepath.Join(dir, "missing")); err == nil {
		t.Error("what is missing was given")
	}
}
