package mail

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"stead.dev/stead/internal/node/backups"
	"stead.dev/stead/internal/node/facility"
	"stead.dev/stead/internal/platform/testkit"
	"stead.dev/stead/internal/port/panel"
)

// mails are the files of the mails of a mailbox, by what is in them.
func (w *world) mails(account, box string) map[string]string {
	w.t.Helper()
	found := map[string]string{}
	for _, dir := range []string{"new", "cur"} {
		files, err := filepath.Glob(filepath.Join(w.cfg.Store, account, box, "Maildir", dir, "*"))
		must(w.t, err)
		for _, f := range files {
			b, err := os.ReadFile(f)
			must(w.t, err)
			name, _, _ := strings.Cut(filepath.Base(f), ":") // flags come and go with who reads
			found[name] = string(b)
		}
	}
	return found
}

// TestMailComesBack backs the mailboxes of a real machine up by a real restic, loses them, and
// restores them byte for byte.
func TestMailComesBack(t *testing.T) {
	w := newWorld(t)
	w.set(alice, box("info@alice.example"))
	w.set(alice, box("sales@alice.example"))
	for _, to := range []string{"info@alice.example", "info@alice.example", "sales@alice.example"} {
		must(t, w.comes("somebody@elsewhere.example", to, "kept"))
	}
	w.has("info@alice.example", "kept", "kept")
	w.has("sales@alice.example", "kept")
	before := w.mails("alice", "alice.example/info")

	dir := t.TempDir()
	store, err := backups.NewRestic(backups.ResticConfig{
		Repository: filepath.Join(dir, "store"), KeyFile: filepath.Join(dir, "key"), Dir: filepath.Join(dir, "own"),
	})
	must(t, err)
	b, err := backups.New(backups.Config{
		Dir: filepath.Join(dir, "state"), Accounts: w.lookup, Store: store, Parts: []facility.Backuper{w.Driver}, Now: time.Now, Log: w.cfg.Log,
	})
	must(t, err)
	t.Cleanup(func() { _ = b.Close() })
	must(t, b.Start(t.Context()))
	ended := func(id string) panel.BackupTask {
		var task panel.BackupTask
		testkit.Eventually(t, time.Minute, func() bool {
			var err error
			task, err = b.BackupTask(t.Context(), alice, id)
			must(t, err)
			return task.Status != panel.TaskRunning
		}, id+" has ended")
		if task.Status != panel.TaskCompleted {
			t.Fatalf("%s: %+v", id, task)
		}
		return task
	}
	_, err = b.StartBackup(t.Context(), alice, panel.BackupRequest{ID: "b1", Parts: []panel.BackupPart{panel.PartMail}})
	must(t, err)
	if made := ended("b1"); made.Parts[0].Count != 2 {
		t.Errorf("mailboxes: %+v", made.Parts)
	}

	// One loses its mail, the other is removed and made again: its mail is gone too.
	must(t, os.RemoveAll(filepath.Join(w.cfg.Store, "alice/alice.example/info/Maildir")))
	must(t, w.comes("somebody@elsewhere.example", "info@alice.example", "since"))
	w.has("info@alice.example", "since")
	must(t, w.RemoveMailbox(t.Context(), alice, "sales@alice.example"))
	w.set(alice, box("sales@alice.example"))
	must(t, w.comes("somebody@elsewhere.example", "sales@alice.example", "since"))
	w.has("sales@alice.example", "since")

	_, err = b.StartRestore(t.Context(), alice, panel.RestoreRequest{
		ID: "r1", Backup: "b1", Parts: []panel.BackupPart{panel.PartMail}, Items: []string{"info@alice.example"},
	})
	must(t, err)
	ended("r1")
	after := w.mails("alice", "alice.example/info")
	if len(after) != len(before) {
		t.Errorf("mails: %d, want %d", len(after), len(before))
	}
	for name, text := range before {
		if after[name] != text {
			t.Errorf("mail %s came back otherwise", name)
		}
	}
	w.has("info@alice.example", "kept", "kept")
	w.has("sales@alice.example", "since")
	must(t, w.comes("somebody@elsewhere.example", "info@alice.example", "and on"))
	w.has("info@alice.example", "kept", "kept", "and on")

	_, err = b.StartRestore(t.Context(), alice, panel.RestoreRequest{ID: "r2", Backup: "b1", Parts: []panel.BackupPart{panel.PartMail}})
	must(t, err)
	ended("r2")
	w.has("info@alice.example", "kept", "kept")
	w.has("sales@alice.example", "kept")
}

// TestACopyOfMailIsNotTheAccounts: what is being backed up takes nothing of the room of an account, which the
// kernel counts by the owner of files; what is restored is the account's again.
func TestACopyOfMailIsNotTheAccounts(t *testing.T) {
	w := newWorld(t)
	w.set(alice, box("info@alice.example"))
	must(t, w.comes("somebody@elsewhere.example", "info@alice.example", "kept"))
	w.has("info@alice.example", "kept")
	a, err := w.lookup(alice)
	must(t, err)
	owned := func(dir string, uid int) (files int) {
		must(t, filepath.WalkDir(dir, func(name string, e fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			info, err := e.Info()
			if err != nil {
				return err
			}
			if st, ok := info.Sys().(*syscall.Stat_t); !ok || int(st.Uid) != uid {
				t.Errorf("%s is of %v, not of %d", name, st.Uid, uid)
			}
			if !e.IsDir() {
				files++
			}
			return nil
		}))
		return files
	}
	dir := t.TempDir()
	_, err = w.DumpBackup(t.Context(), a, dir)
	must(t, err)
	if owned(dir, os.Geteuid()) == 0 {
		t.Error("nothing was copied")
	}
	// An agent that is killed while it restores leaves a part of the mailbox, which the next takes away.
	part := filepath.Join(w.cfg.Store, "alice/alice.example/.stead-info")
	must(t, os.MkdirAll(filepath.Join(part, "Maildir"), 0o700))
	must(t, w.LoadBackup(t.Context(), a, dir, nil))
	if _, err := os.Stat(part); err == nil {
		t.Error("a part of the mailbox is left")
	}
	if owned(filepath.Join(w.cfg.Store, "alice/alice.example/info"), a.User.UID) == 0 {
		t.Error("nothing came back")
	}
	w.has("info@alice.example", "kept")
}
