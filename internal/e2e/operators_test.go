package e2e

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"stead.dev/stead/internal/platform/testkit"
)

// ran is a command that has ended.
type ran struct {
	command, stdout, stderr string
	code                    int
}

// operator is a machine at which somebody types a command.
type operator struct {
	in   *installation
	args []string
}

// atOnce runs commands at the same moment. Those that fail say why on one line.
func atOnce(t *testing.T, operators ...operator) []ran {
	t.Helper()
	all := make([]ran, len(operators))
	var running sync.WaitGroup
	for i, o := range operators {
		running.Go(func() {
			r := ran{command: strings.Join(o.args, " ")}
			r.stdout, r.stderr, r.code = o.in.run(t, o.args...)
			all[i] = r
		})
	}
	running.Wait()
	for _, r := range all {
		t.Logf("%s: exit code %d %s", r.command, r.code, r.stderr)
		if r.code != 0 && strings.Count(strings.TrimSpace(r.stderr), "\n") != 0 {
			t.Errorf("%s: exit code %d\n%s%s", r.command, r.code, r.stdout, r.stderr)
		}
	}
	return all
}

// oneWins fails the test unless exactly one command succeeded, and the others ended with a code and say one of the texts. It returns
// the number of the one.
func oneWins(t *testing.T, all []ran, code int, says ...string) (winner int) {
	t.Helper()
	winner = -1
	for i, r := range all {
		switch {
		case r.code == 0 && winner >= 0:
			t.Fatalf("%s: two succeeded", r.command)
		case r.code == 0:
			winner = i
		case r.code != code || !slices.ContainsFunc(says, func(text string) bool { return strings.Contains(r.stderr, text) }):
			t.Errorf("%s: exit code %d, want %d\n%s", r.command, r.code, code, r.stderr)
		}
	}
	if winner < 0 {
		t.Fatalf("none succeeded: %+v", all)
	}
	return winner
}

// TestTwoOperatorsAtOnce migrate, back up and restore the same installation: each is told clearly, and nothing is damaged.
func TestTwoOperatorsAtOnce(t *testing.T) {
	engines(t, func(t *testing.T, in *installation) {
		in.env = append(in.env, "STEAD_CONTROL_BACKUP_PASSPHRASE="+backupPassphrase)
		migrate := operator{in, []string{"migrate"}}
		for _, r := range atOnce(t, migrate, migrate, migrate) {
			if r.code != 0 && (r.code != 1 || !strings.Contains(r.stderr, "another stead serve")) {
				t.Errorf("migrate: exit code %d\n%s", r.code, r.stderr)
			}
		}
		p := in.serve(t, "--demo")
		in.must(t, &struct{}{}, "admin", "wallet", "credit", demoEmail, "100", "--reason", "a test")
		if r, _ := in.doctor(t); r.status("migrations") != "ok" {
			t.Errorf("doctor: %+v", r)
		}

		store := filepath.Join(t.TempDir(), "backups")
		backUp := operator{in, []string{"backup", "--to", store}}
		for _, r := range atOnce(t, backUp, backUp, backUp) {
			if r.code != 0 {
				t.Errorf("backup: exit code %d\n%s", r.code, r.stderr)
			}
		}
		var list struct{ Data []struct{ Archive string } }
		in.must(t, &list, "restore", "--from", store, "--list")
		if len(list.Data) == 0 { // of those of an hour one is kept
			t.Error("no backup is kept")
		}
		for _, b := range list.Data {
			in.must(t, &struct{}{}, "restore", "--from", store, "--check", b.Archive)
		}
		p.terminate(t)
		p.ends(t)

		// Into the same database: from one data directory with SQLite, and from two machines with PostgreSQL.
		first := in.anotherMachine(t)
		second := first
		if address := first.setting("STEAD_DATABASE_URL"); address != "" {
			second = newInstallation(t, "STEAD_CONTROL_BACKUP_PASSPHRASE="+backupPassphrase, "STEAD_DATABASE_URL="+address)
		}
		restore := []string{"restore", "--from", store}
		both := []operator{{first, restore}, {second, restore}}
		winner := both[oneWins(t, atOnce(t, both...), 1, "another stead", "--replace")].in
		winner.booksAreWhole(t)
		release := operator{winner, []string{"admin", "release-hold"}}
		for _, r := range atOnce(t, release, release) {
			if r.code != 0 && r.code != 3 {
				t.Errorf("%s: exit code %d\n%s", r.command, r.code, r.stderr)
			}
		}
		if r, _ := winner.doctor(t); r.status("hold") == "warn" {
			t.Error("it is still on hold")
		}
		p = winner.serve(t)
		p.terminate(t)
		p.ends(t)
	})
}

// TestTwoOperatorsBeginAnInstallation at once: one has it, with all that belongs to it, and the other one is told.
func TestTwoOperatorsBeginAnInstallation(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	in := &installation{env: []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir}}
	begin := func(domain string) operator {
		return operator{in, []string{
			"--config", filepath.Join(dir, "etc", "stead.yaml"), "init", "--domain", domain, "--company", "Example Hosting", "--admin", "owner@" + domain,
			"--data-dir", filepath.Join(dir, "data"), "--user", "nobody-here", "--backup-to", filepath.Join(dir, "backups"),
		}}
	}
	domains := []string{"one.example.com", "two.example.com"}
	winner := domains[oneWins(t, atOnce(t, begin(domains[0]), begin(domains[1])), 1, "another stead init", "configuration already")]
	content, err := os.ReadFile(filepath.Join(dir, "etc", "stead.yaml"))
	if err != nil || !strings.Contains(string(content), winner) {
		t.Errorf("the configuration is not that of %s: %v\n%s", winner, err, content)
	}
	if _, err := os.Stat(filepath.Join(dir, "etc", "control-backup-passphrase")); err != nil {
		t.Error(err)
	}
	var users struct{ Data []user }
	in.must(t, &users, "--config", filepath.Join(dir, "etc", "stead.yaml"), "admin", "users", "list")
	if len(users.Data) != 1 || users.Data[0].Email != "owner@"+winner {
		t.Errorf("the users are %+v", users.Data)
	}
}

// TestTwoOperatorsMoveTheSameServices by move and by evacuate at once: each service moves once.
func TestTwoOperatorsMoveTheSameServices(t *testing.T) {
	t.Parallel()
	in, _, c, node := newShopOfNodes(t)
	node("node1")
	plan, domains := c.plan(), []string{"first.example.com", "second.example.com"}
	for _, domain := range domains {
		order, _ := c.order(plan, domain)
		c.must(http.MethodPost, fmt.Sprintf("/api/v1/orders/%d/pay", order), "{}", &struct{}{})
		testkit.Eventually(t, time.Minute, func() bool { return c.isActive(domain) }, domain+" is active")
	}
	node("node2")
	move := operator{in, []string{"admin", "services", "move", fmt.Sprint(in.on(t, "node1")[domains[0]].ID), "--to", "node2", "--now", "--reason", "a test"}}
	evacuate := operator{in, []string{"admin", "nodes", "evacuate", "node1", "--to", "node2", "--now", "--reason", "a test"}}
	for _, r := range atOnce(t, move, evacuate, move, evacuate, move) {
		if r.code != 0 && (r.code != 3 || !strings.Contains(r.stderr, "move_running")) {
			t.Errorf("%s: exit code %d\n%s", r.command, r.code, r.stderr)
		}
	}
	type moving struct {
		ServiceID int64 `json:"service_id"`
		State     string
		ErrorKey  *string `json:"error_key"`
	}
	var moves struct{ Data []moving }
	testkit.Eventually(t, 2*time.Minute, func() bool {
		moves.Data = nil
		in.must(t, &moves, "admin", "moves", "list")
		return !slices.ContainsFunc(moves.Data, func(m moving) bool { return m.State == "running" })
	}, "the moves have ended")
	if len(moves.Data) != 2 || moves.Data[0].ServiceID == moves.Data[1].ServiceID || moves.Data[0].State != "moved" || moves.Data[1].State != "moved" {
		t.Errorf("the moves are %+v", moves.Data)
	}
	if on := in.on(t, "node2"); len(on) != 2 || len(in.on(t, "node1")) != 0 {
		t.Errorf("on node2 is %+v", on)
	}
	c.backUp(in.on(t, "node2")[domains[0]].ID) // life goes on
}
