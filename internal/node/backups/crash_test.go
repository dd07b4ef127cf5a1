package backups

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"stead.dev/stead/internal/node/accounts"
	"stead.dev/stead/internal/node/facility"
	"stead.dev/stead/internal/port/panel"
)

// agentEnv makes this program an agent of the test that kills it: directory, uid and store.
const agentEnv = "STEAD_TEST_BACKUP_AGENT"

func TestMain(m *testing.M) {
	if of := os.Getenv(agentEnv); of != "" {
		if err := agent(strings.Split(of, "|")); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// agent takes up what was interrupted, asks for what is wanted, and ends when that has ended.
func agent(of []string) error {
	dir, job := of[0], of[3]
	uid, err := strconv.Atoi(of[1])
	if err != nil {
		return err
	}
	store, err := map[string]func(string) (Store, error){"folder": folder, "restic": repositories}[of[2]](filepath.Join(dir, "store"))
	if err != nil {
		return err
	}
	a := accounts.Account{
		Record: accounts.Record{Ref: "1", Name: "s1", User: accounts.User{Name: "s1", UID: uid, GID: uid}}, Home: filepath.Join(dir, "s1"),
	}
	d, err := New(Config{
		Dir: filepath.Join(dir, "state"), Store: store, Now: time.Now, Log: slog.New(slog.NewTextHandler(os.Stderr, nil)),
		Accounts: func(string) (accounts.Account, error) { return a, nil }, Parts: []facility.Backuper{},
	})
	if err != nil {
		return err
	}
	ctx := context.Background()
	if err := d.Start(ctx); err != nil {
		return err
	}
	var t panel.BackupTask
	if job == "backup" {
		t, err = d.StartBackup(ctx, "1", panel.BackupRequest{ID: "b1", Parts: []panel.BackupPart{panel.PartFiles}})
	} else {
		t, err = d.StartRestore(ctx, "1", panel.RestoreRequest{ID: "r1", Backup: "b1", Parts: []panel.BackupPart{panel.PartFiles}})
	}
	for tick := time.NewTicker(5 * time.Millisecond); err == nil && t.Status == panel.TaskRunning; <-tick.C { // sleeps: between questions of a process that is killed
		t, err = d.BackupTask(ctx, "1", t.ID)
	}
	if err == nil && t.Status != panel.TaskCompleted {
		err = fmt.Errorf("%+v", t)
	}
	return err
}

// TestAKilledAgentIsTakenUp kills the agent, as kill -9 does, again and again in the middle of a
// backup and of a restore. What comes out is byte for byte what went in.
func TestAKilledAgentIsTakenUp(t *testing.T) {
	for name, store := range map[string]func(string) (Store, error){"folder": folder, "restic": repositories} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, store)
			w.must(w.Close())
			w.fill("1")
			random := rand.NewChaCha8([32]byte{1})
			for i := range 60 {
				b := make([]byte, 64<<10)
				_, _ = random.Read(b) // it never fails
				w.put("1", fmt.Sprintf("public_html/images/%d/%d.jpg", i%7, i), string(b), 0o644)
			}
			before := w.tree("1")
			w.killed(name, "backup")
			w.same("a backup changes nothing", before, w.tree("1"))

			home := w.homes["1"].Home
			w.must(os.RemoveAll(filepath.Join(home, "public_html/images/3")))
			w.put("1", "public_html/images/5/5.jpg", "broken", 0o600)
			w.put("1", "public_html/extra/shell.php", "evil", 0o600)
			w.link("1", "/etc", "public_html/images/3")
			w.killed(name, "restore")
			w.same("files", before, w.tree("1"))
		})
	}
}

// killed runs agents, kills each after a longer while, and lets the last one end.
func (w *world) killed(store, job string) {
	w.Helper()
	self, err := os.Executable()
	w.must(err)
	kills := 0
	for patience := 5 * time.Millisecond; ; patience += patience/4 + time.Millisecond {
		cmd := exec.CommandContext(w.Context(), self)
		cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%s|%d|%s|%s", agentEnv, w.dir, w.homes["1"].User.UID, store, job))
		var said strings.Builder
		cmd.Stderr = &said
		w.must(cmd.Start())
		kill := time.AfterFunc(patience, func() { _ = cmd.Process.Kill() })
		err := cmd.Wait()
		kill.Stop()
		if err == nil {
			w.Logf("%s: %d kills", job, kills)
			if kills == 0 {
				w.Errorf("%s was never interrupted", job)
			}
			return
		}
		if cmd.ProcessState.ExitCode() != -1 || patience > time.Minute {
			w.Fatalf("%s: %v: %s", job, err, said.String())
		}
		kills++
	}
}
