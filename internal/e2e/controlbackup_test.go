package e2e

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"stead.dev/stead/internal/platform/testkit"
)

const backupPassphrase = "a passphrase that nobody guesses"

// emptyPostgres is a database without tables beside that of a URL.
func emptyPostgres(t *testing.T, beside string) string {
	t.Helper()
	u, err := url.Parse(beside)
	if err != nil {
		t.Fatal(err)
	}
	name := strings.TrimPrefix(u.Path, "/") + "_new"
	run := func(statement string) {
		c, err := pgx.Connect(context.Background(), os.Getenv(testkit.PostgresEnv))
		if err != nil {
			t.Fatal(err)
		}
		_, err = c.Exec(context.Background(), statement)
		if err != nil {
			t.Error(err)
		}
		_ = c.Close(context.Background())
	}
	run("CREATE DATABASE " + name)
	t.Cleanup(func() { run("DROP DATABASE IF EXISTS " + name + " WITH (FORCE)") })
	u.Path = "/" + name
	return u.String()
}

// setting is the value of a variable in the environment of an installation.
func (in *installation) setting(name string) string {
	for _, entry := range in.env {
		if value, ok := strings.CutPrefix(entry, name+"="); ok {
			return value
		}
	}
	return ""
}

// anotherMachine is an installation with nothing.
func (in *installation) anotherMachine(t *testing.T) *installation {
	t.Helper()
	other := newInstallation(t, "STEAD_CONTROL_BACKUP_PASSPHRASE="+backupPassphrase)
	if address := in.setting("STEAD_DATABASE_URL"); address != "" {
		other.env = append(other.env, "STEAD_DATABASE_URL="+emptyPostgres(t, address))
	}
	return other
}

// TestALostMachineIsRestoredFromABackup and has the same money and services; until it is released, it does nothing.
func TestALostMachineIsRestoredFromABackup(t *testing.T) {
	engines(t, func(t *testing.T, in *installation) {
		in.env = append(in.env, "STEAD_CONTROL_BACKUP_PASSPHRASE="+backupPassphrase)
		store := filepath.Join(t.TempDir(), "backups")
		p := in.serve(t, "--demo")
		c := p.signIn(t)
		in.must(t, &struct{}{}, "admin", "wallet", "credit", demoEmail, "100", "--reason", "a test")
		order, _ := c.order(c.plan(), "kept.example.com")
		c.must(http.MethodPost, fmt.Sprintf("/api/v1/orders/%d/pay", order), "{}", &struct{}{})
		testkit.Eventually(t, time.Minute, func() bool { return c.isActive("kept.example.com") }, "the service is active")
		_, balance, held := c.charges()

		var made struct {
			Archive string
			Proven  bool
		}
		in.must(t, &made, "backup", "--to", store)
		if !made.Proven {
			t.Errorf("the first backup is not proven: %+v", made)
		}
		if r, _ := in.doctor(t); r.status("control plane backup") != "ok" {
			t.Errorf("doctor: %+v", r)
		}
		in.must(t, &made, "backup", "--to", store)
		if made.Proven {
			t.Error("the second backup was proven again")
		}
		in.must(t, &struct{}{}, "restore", "--from", store, "--check")
		// What happens now is lost with the machine.
		in.must(t, &struct{}{}, "admin", "wallet", "credit", demoEmail, "1", "--reason", "too late")
		p.kill(t)

		other := in.anotherMachine(t)
		other.refusesBadBackups(t, store, made.Archive)
		var restored struct {
			Archive string
			Kept    []string
		}
		other.must(t, &restored, "restore", "--from", store)
		if restored.Archive != made.Archive || len(restored.Kept) != 0 {
			t.Errorf("restored %+v, want %s", restored, made.Archive)
		}
		settings, err := os.ReadFile(filepath.Join(other.setting("STEAD_DATA_DIR"), "restored-stead.yaml"))
		if err != nil || !strings.Contains(string(settings), backupPassphrase) {
			t.Errorf("its settings: %v\n%s", err, settings)
		}
		if _, stderr, code := other.run(t, "restore", "--from", store); code != 1 || !strings.Contains(stderr, "--replace") {
			t.Errorf("into what is not empty: exit code %d\n%s", code, stderr)
		}

		p = other.serve(t, "--demo")
		c = c.at(p)
		if _, got, gotHeld := c.charges(); got != balance || gotHeld != held {
			t.Errorf("the balance is %d and %d held, want %d and %d", got, gotHeld, balance, held)
		}
		if !c.isActive("kept.example.com") {
			t.Error("the service is not there")
		}
		other.booksAreWhole(t)
		if r, _ := other.doctor(t); r.status("hold") != "warn" {
			t.Errorf("doctor says of the hold: %+v", r)
		}
		body := fmt.Sprintf(`{"plan_id": %d, "domain": "held.example.com"}`, c.plan())
		if status, answer, err := c.call(http.MethodPost, "/api/v1/orders", body, ""); err != nil || status != http.StatusServiceUnavailable || !strings.Contains(string(answer), "maintenance") {
			t.Errorf("an order on hold: %d %v %s", status, err, answer)
		}
		if _, stderr, code := other.run(t, "restore", "--from", store, "--replace"); code != 1 || !strings.Contains(stderr, "stop") {
			t.Errorf("under a running server: exit code %d\n%s", code, stderr)
		}
		other.must(t, &struct{}{}, "admin", "release-hold")
		testkit.Eventually(t, time.Minute, func() bool {
			status, _, err := c.call(http.MethodPost, "/api/v1/orders", body, "")
			return err == nil && status == http.StatusCreated
		}, "orders are taken again")
		if _, _, code := other.run(t, "admin", "release-hold"); code != 3 {
			t.Errorf("released twice: exit code %d", code)
		}
		p.terminate(t)
		p.ends(t)

		// Back again, over what is there now; that is kept.
		other.must(t, &restored, "restore", "--from", store, "--replace")
		if len(restored.Kept) == 0 {
			t.Error("nothing was kept of what was replaced")
		}
		if address := other.setting("STEAD_DATABASE_URL"); address != "" {
			for _, kept := range restored.Kept {
				name := strings.TrimPrefix(kept, "database ")
				t.Cleanup(func() { dropDatabase(t, name) })
			}
		}
		p = other.serve(t, "--demo")
		if _, got, _ := c.at(p).charges(); got != balance {
			t.Errorf("after the second restore the balance is %d, want %d", got, balance)
		}
		p.terminate(t)
		p.ends(t)
	})
}

func dropDatabase(t *testing.T, name string) {
	t.Helper()
	c, err := pgx.Connect(context.Background(), os.Getenv(testkit.PostgresEnv))
	if err != nil {
		t.Error(err)
		return
	}
	if _, err := c.Exec(context.Background(), "DROP DATABASE IF EXISTS "+pgx.Identifier{name}.Sanitize()); err != nil {
		t.Error(err)
	}
	_ = c.Close(context.Background())
}

// refusesBadBackups tries what cannot be restored: each is told clearly, and leaves nothing.
func (in *installation) refusesBadBackups(t *testing.T, store, archive string) {
	t.Helper()
	copyOf := func(name string, change func(content []byte) []byte) string {
		dir := t.TempDir()
		for _, suffix := range []string{".sbk", ".json"} {
			content, err := os.ReadFile(filepath.Join(store, archive+suffix))
			if err != nil {
				t.Fatal(name, err)
			}
			if suffix == ".sbk" {
				content = change(content)
			}
			if err := os.WriteFile(filepath.Join(dir, archive+suffix), content, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		return dir
	}
	whole := func(content []byte) []byte { return content }
	unfinished := copyOf("unfinished", whole)
	if err := os.Remove(filepath.Join(unfinished, archive+".json")); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		stdin, says string
		args        []string
	}{
		"a wrong passphrase":  {"another passphrase", "passphrase", []string{"--from", store, "--passphrase-stdin"}},
		"a cut archive":       {"", "cut off", []string{"--from", copyOf("cut", func(b []byte) []byte { return b[:len(b)/2] })}},
		"a changed archive":   {"", "damaged", []string{"--from", copyOf("changed", func(b []byte) []byte { b[len(b)/2] ^= 1; return b })}},
		"a longer archive":    {"", "damaged", []string{"--from", copyOf("longer", func(b []byte) []byte { return append(b, 'x') })}},
		"no such backup":      {"", "no backup", []string{"--from", store, "stead-20200101T000000Z-0000"}},
		"an empty store":      {"", "no backup", []string{"--from", t.TempDir()}},
		"one without sidecar": {"", "no backup", []string{"--from", unfinished}},
		"no store":            {"", "STEAD_CONTROL_BACKUP_TO", nil},
	} {
		_, stderr, code := in.runWith(t, c.stdin, append([]string{"restore"}, c.args...)...)
		if code != 1 || !strings.Contains(stderr, c.says) || strings.Count(strings.TrimSpace(stderr), "\n") != 0 {
			t.Errorf("%s: exit code %d\n%s", name, code, stderr)
		}
		for _, file := range []string{"stead.db", "secret.key", "restored-stead.yaml"} {
			if _, err := os.Stat(filepath.Join(in.setting("STEAD_DATA_DIR"), file)); err == nil {
				t.Errorf("%s: it left %s", name, file)
			}
		}
	}
	if left, _ := filepath.Glob(filepath.Join(in.setting("STEAD_DATA_DIR"), "control-backup-*")); len(left) > 0 {
		t.Errorf("copies are left: %v", left)
	}
}

// TestABackupThatCannotBeMadeIsNoBackup: the reasons are told, and the older backups stay.
func TestABackupThatCannotBeMadeIsNoBackup(t *testing.T) {
	t.Parallel()
	in := newInstallation(t)
	if _, stderr, code := in.run(t, "backup", "--to", t.TempDir()); code != 1 || !strings.Contains(stderr, "no installation") {
		t.Errorf("without an installation: exit code %d\n%s", code, stderr)
	}
	p := in.serve(t)
	store := filepath.Join(t.TempDir(), "backups")
	if _, stderr, code := in.run(t, "backup", "--to", store); code != 1 || !strings.Contains(stderr, "passphrase") && !strings.Contains(stderr, "PASSPHRASE") {
		t.Errorf("without a passphrase: exit code %d\n%s", code, stderr)
	}
	in.env = append(in.env, "STEAD_CONTROL_BACKUP_PASSPHRASE="+backupPassphrase)
	var made struct{ Archive string }
	in.must(t, &made, "backup", "--to", store)
	p.terminate(t)
	p.ends(t)
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ to, says string }{
		"no place":           {"", "STEAD_CONTROL_BACKUP_TO"},
		"a file for a store": {filepath.Join(file, "store"), "not a directory"},
		"s3 without keys":    {"s3:https://127.0.0.1:1/bucket", "control_backup_s3_file"},
	} {
		args := []string{"backup"}
		if c.to != "" {
			args = append(args, "--to", c.to)
		}
		if _, stderr, code := in.run(t, args...); code != 1 || !strings.Contains(stderr, c.says) {
			t.Errorf("%s: exit code %d\n%s", name, code, stderr)
		}
	}
	var list struct{ Data []struct{ Archive string } }
	in.must(t, &list, "restore", "--from", store, "--list")
	if len(list.Data) != 1 || list.Data[0].Archive != made.Archive {
		t.Errorf("the store has %+v", list)
	}
}
