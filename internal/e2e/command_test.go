package e2e

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"stead.dev/stead/internal/platform/testkit"
)

type user struct {
	ID          int64  `json:"id"`
	Email       string `json:"email"`
	Admin       bool   `json:"admin"`
	Password    string `json:"password"`
	SuspendedAt *string
}

// heard bounds how long a server takes to apply a change. A second is promised; a machine that runs many tests at once
// gets more.
const heard = time.Minute

// TestNoCommandBeginsAnInstallationByMistake checks that an operator who mistyped the data directory is told, and that nothing is
// made there.
func TestNoCommandBeginsAnInstallationByMistake(t *testing.T) {
	t.Parallel()
	in := newInstallation(t)
	stdout, stderr, code := in.run(t, "admin", "users", "create", "anna@example.com", "--json")
	var told struct{ Error, Message string }
	if err := json.Unmarshal([]byte(stderr), &told); err != nil || code != 1 || stdout != "" || told.Error != "failed" || !strings.Contains(told.Message, "STEAD_DATA_DIR") {
		t.Errorf("exit code %d\n%s%s", code, stdout, stderr)
	}
	for _, setting := range in.env {
		if dir, ok := strings.CutPrefix(setting, "STEAD_DATA_DIR="); ok {
			if left, _ := filepath.Glob(filepath.Join(dir, "*.db")); len(left) > 0 {
				t.Errorf("made %v", left)
			}
		}
	}
	if _, stderr, code = in.run(t, "migrate"); code != 0 {
		t.Fatal(stderr)
	}
	if stdout, stderr, code = in.run(t, "admin", "users", "create", "anna@example.com", "--json"); code != 0 || stderr != "" {
		t.Errorf("after migrate: exit code %d\n%s%s", code, stdout, stderr)
	}
}

func TestAnOperatorWorksBesideARunningServer(t *testing.T) {
	engines(t, func(t *testing.T, in *installation) {
		p := in.serve(t, "--demo")
		c := p.signIn(t)

		var anna user
		in.must(t, &anna, "admin", "users", "create", "anna@example.com", "--name", "Anna")
		if anna.ID == 0 || len(anna.Password) < 12 || anna.Admin {
			t.Errorf("created %+v", anna)
		}
		stdout, stderr, code := in.runWith(t, "seven-quiet-otters-swim\n", "admin", "users", "set-password", "anna@example.com", "--password-stdin")
		if code != 0 || strings.Contains(stdout+stderr, "seven-quiet-otters-swim") {
			t.Errorf("set-password: exit code %d\n%s%s", code, stdout, stderr)
		}
		in.must(t, &anna, "admin", "users", "grant-admin", strconv.FormatInt(anna.ID, 10))
		if !anna.Admin {
			t.Error("no admin after grant-admin")
		}
		in.must(t, &anna, "admin", "users", "revoke-admin", "anna@example.com")
		if anna.Admin {
			t.Error("admin after revoke-admin")
		}

		var balance struct {
			Cents int64 `json:"balance_usd_cents"`
		}
		in.must(t, &balance, "admin", "wallet", "credit", "anna@example.com", "12.34", "--reason", "welcome")
		if balance.Cents != 1234 {
			t.Errorf("the balance is %d", balance.Cents)
		}
		for name, args := range map[string][]string{
			"no such user":    {"admin", "users", "show", "nobody@example.com"},
			"taken":           {"admin", "users", "create", "anna@example.com"},
			"no such service": {"admin", "services", "show", "999"},
			"no such order":   {"admin", "orders", "refund", "ORD-2026-000999", "--reason", "a test"},
			"no such app":     {"admin", "apps", "disable", "nothing"},
			"no such section": {"admin", "sections", "off", "nothing"},
			"no such coupon":  {"admin", "coupons", "disable", "nothing"},
			"no such plan":    {"admin", "coupons", "create", "SOME", "--percent", "5", "--products", "nothing"},
			"a bad code":      {"admin", "coupons", "create", "x", "--percent", "5"},
			"a bad node":      {"admin", "nodes", "add", "not a name"},
			"no reseller":     {"admin", "resellers", "add-key", "anna@example.com", "--name", "Key"},
			"no sandbox":      {"admin", "clocks", "show", "anna@example.com"},
			"no reason":       {"admin", "wallet", "credit", "anna@example.com", "1", "--reason", " "},
			"too much":        {"admin", "wallet", "credit", "anna@example.com", "90000000000000", "--reason", "welcome"},
		} {
			_, stderr, code := in.run(t, args...)
			if strings.HasPrefix(name, "no such") && !strings.Contains(stderr, strconv.Quote(args[3])) && name != "no such plan" && name != "no such coupon" {
				t.Errorf("%s: does not say what: %s", name, stderr)
			}
			if code != 3 || strings.Count(strings.TrimSpace(stderr), "\n") != 0 {
				t.Errorf("%s: exit code %d\n%s", name, code, stderr)
			}
			for _, inside := range []string{"SQLSTATE", "constraint", "no rows", "<no value>"} {
				if strings.Contains(stderr, inside) {
					t.Errorf("%s: an operator is told %s", name, stderr)
				}
			}
		}
		for name, args := range map[string][]string{
			"unknown command": {"serv"}, "unknown flag": {"serve", "--demos"}, "missing argument": {"admin", "users", "show"},
			"missing reason": {"admin", "wallet", "credit", "anna@example.com", "1"},
			"no amount":      {"admin", "wallet", "credit", "anna@example.com", "twelve", "--reason", "welcome"},
			"no percentage":  {"admin", "resellers", "appoint", "anna@example.com", "--tier", "gold", "--discount", "half"},
			"no date":        {"admin", "coupons", "create", "SOME", "--percent", "5", "--ends", "soon"},
			"no network":     {"admin", "resellers", "add-key", "anna@example.com", "--name", "Key", "--address", "here"},
			"no time":        {"admin", "clocks", "advance", "anna@example.com"},
		} {
			if _, _, code := in.run(t, args...); code != 2 {
				t.Errorf("%s: exit code %d, want 2", name, code)
			}
		}

		reads := func(want int) func() bool {
			return func() bool {
				status, _, err := c.call(http.MethodGet, "/api/v1/orders", "", "")
				return err == nil && status == want
			}
		}
		in.must(t, &struct{}{}, "admin", "sections", "off", "orders")
		testkit.Eventually(t, heard, reads(http.StatusNotFound), "the server has heard that the section is off")
		in.must(t, &struct{}{}, "admin", "sections", "on", "orders")
		testkit.Eventually(t, heard, reads(http.StatusOK), "the server has heard that the section is on")
		in.must(t, &struct{}{}, "admin", "apps", "disable", demoClient)
		testkit.Eventually(t, heard, reads(http.StatusUnauthorized), "the server refuses the application's tokens")
		in.must(t, &struct{}{}, "admin", "apps", "enable", demoClient)
		testkit.Eventually(t, heard, reads(http.StatusOK), "the server accepts them again")
		in.must(t, &anna, "admin", "users", "suspend", demoEmail, "--reason", "a test")
		testkit.Eventually(t, heard, func() bool { return !reads(http.StatusOK)() }, "a suspended customer's token is refused")
		in.must(t, &anna, "admin", "users", "unsuspend", demoEmail)

		var app struct {
			ClientID     string `json:"client_id"`
			ClientSecret string `json:"client_secret"`
		}
		in.must(t, &app, "admin", "apps", "create", "--owner", "anna@example.com", "--name", "Shop",
			"--redirect", "https://shop.example/back", "--confidential")
		if app.ClientID == "" || app.ClientSecret == "" {
			t.Errorf("registered %+v", app)
		}

		exported, _, code := in.run(t, "admin", "catalog", "export")
		if code != 0 {
			t.Fatal("export failed")
		}
		file := filepath.Join(t.TempDir(), "catalog.yaml")
		if err := os.WriteFile(file, []byte(exported), 0o600); err != nil {
			t.Fatal(err)
		}
		var report struct {
			Plans     int      `json:"plans"`
			Withdrawn []string `json:"withdrawn"`
		}
		in.must(t, &report, "admin", "catalog", "import", file)
		if report.Plans == 0 || len(report.Withdrawn) > 0 {
			t.Errorf("importing what was exported: %+v", report)
		}
		for _, args := range [][]string{
			{"admin", "users", "list"},
			{"admin", "apps", "list"},
			{"admin", "sections", "list"},
			{"admin", "services", "list"},
			{"admin", "orders", "list"},
			{"admin", "wallet", "topups"},
			{"admin", "wallet", "show", "anna@example.com"},
			{"migrate", "--status"},
			{"migrate", "--plan"},
		} {
			in.must(t, &struct{}{}, args...)
			if stdout, stderr, code := in.run(t, args...); code != 0 || stdout == "" {
				t.Errorf("%v for people: exit code %d\n%s%s", args, code, stdout, stderr)
			}
		}
		p.terminate(t)
		p.ends(t)
	})
}

func TestDoctorSaysWhatToDo(t *testing.T) {
	engines(t, func(t *testing.T, in *installation) {
		// Before the first start nothing is wrong, only missing.
		if r, code := in.doctor(t); code != 0 && r.status("database") == "fail" {
			t.Errorf("before the first start: %+v", r)
		}
		p := in.serve(t)
		p.terminate(t)
		p.ends(t)
		r, code := in.doctor(t)
		if code != 0 {
			t.Errorf("exit code %d: %+v", code, r)
		}
		for _, name := range []string{"configuration", "data directory", "key file", "database", "migrations", "ledger", "failed jobs"} {
			if got := r.status(name); got != "ok" {
				t.Errorf("%s is %s: %+v", name, got, r)
			}
		}
		for _, c := range r.Checks {
			if (c.Status == "warn" || c.Status == "fail") && c.Do == "" {
				t.Errorf("%s says nothing to do about: %s", c.Name, c.Found)
			}
		}

		for name, c := range map[string]struct{ env, check, status string }{
			"demo in public":      {"STEAD_DEMO=true", "configuration", "fail"},
			"no encryption":       {"STEAD_DEMO=false", "base URL", "fail"},
			"no mail server":      {"STEAD_SMTP_URL=smtp://127.0.0.1:1", "mail", "fail"},
			"clock set off":       {"STEAD_CLOCK_OFFSET=1h", "clock", "warn"},
			"key that is not one": {"STEAD_SECRET_KEY=hunter2", "key file", "fail"},
		} {
			broken := &installation{env: append([]string{"STEAD_MAIL_FROM=a@example.com", "STEAD_BASE_URL=http://panel.example.com"}, in.env...)}
			broken.env = append(broken.env, c.env)
			r, _ := broken.doctor(t)
			if got := r.status(c.check); got != c.status {
				t.Errorf("%s: %s is %s: %+v", name, c.check, got, r)
			}
			if strings.Contains(strings.ToLower(jsonText(t, r)), "hunter2") {
				t.Errorf("%s: doctor quotes a secret", name)
			}
		}
		unreadable := &installation{env: append([]string{"STEAD_LISTEN_=x"}, in.env...)}
		if r, code := unreadable.doctor(t); code != 1 || r.Worst != "fail" {
			t.Errorf("with a configuration that cannot be read: %d %+v", code, r)
		}
	})
}

func jsonText(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestConfigShowsAllAndNoSecret(t *testing.T) {
	t.Parallel()
	in := newInstallation(t, "STEAD_SMTP_URL=smtp://user:hunter2@mail.example.com:587", "STEAD_MAIL_FROM=a@example.com")
	for _, args := range [][]string{{"config"}, {"config", "--json"}} {
		stdout, stderr, code := in.run(t, args...)
		if code != 0 || !strings.Contains(stdout, "STEAD_BASE_URL") || strings.Contains(stdout+stderr, "hunter2") {
			t.Errorf("%v: exit code %d\n%s%s", args, code, stdout, stderr)
		}
	}
	in.env = append(in.env, "STEAD_LISTEN=nowhere", "STEAD_JOB_WORKERS=none")
	_, stderr, code := in.run(t, "serve")
	if code != 1 || !strings.Contains(stderr, "nowhere") && !strings.Contains(stderr, "none") {
		t.Errorf("a wrong configuration: exit code %d\n%s", code, stderr)
	}
}

func TestMigrateBeforeTheFirstStart(t *testing.T) {
	t.Parallel()
	in := newInstallation(t)
	if _, stderr, code := in.run(t, "migrate", "--status"); code != 1 || !strings.Contains(stderr, "stead migrate") {
		t.Errorf("without a database: exit code %d\n%s", code, stderr)
	}
	var done struct {
		Applied []string `json:"applied"`
	}
	in.must(t, &done, "migrate")
	if len(done.Applied) == 0 {
		t.Error("nothing was applied")
	}
	in.must(t, &done, "migrate")
	if len(done.Applied) != 0 {
		t.Errorf("applied again: %v", done.Applied)
	}
	in.must(t, &struct{}{}, "migrate", "--status")
	var program struct{ Version, Go, Platform string }
	in.must(t, &program, "version")
	if program.Version == "" || program.Go == "" || program.Platform == "" {
		t.Errorf("the program says of itself: %+v", program)
	}
	if stdout, _, code := in.run(t, "openapi"); code != 0 || !strings.HasPrefix(stdout, "{") {
		t.Errorf("openapi: exit code %d", code)
	}
}
