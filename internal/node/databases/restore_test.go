package databases

import (
	"log/slog"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"stead.dev/stead/internal/node/backups"
	"stead.dev/stead/internal/node/facility"
	"stead.dev/stead/internal/platform/testkit"
	"stead.dev/stead/internal/port/panel"
)

// TestDatabasesComeBack backs a database up by a real restic, drops its tables, and restores it: the
// dump of it is the same again, to the byte.
func TestDatabasesComeBack(t *testing.T) {
	onEngines(t, func(t *testing.T, m *machine, e panel.DatabaseEngine) {
		account := "back" + string(e)
		m.account(account)
		shop, other := m.set(account, account+"_shop", e), m.set(account, account+"_other", e)
		works(t, m.own(shop), "CREATE TABLE things (id INT PRIMARY KEY, name VARCHAR(200))",
			`INSERT INTO things VALUES (1, 'It''s; a "thing"'), (2, 'ўзбек 漢字 😀')`, "CREATE VIEW seen AS SELECT name FROM things")
		works(t, m.own(other), "CREATE TABLE a (id INT)")

		dir := t.TempDir()
		store, err := backups.NewRestic(backups.ResticConfig{
			Repository: filepath.Join(dir, "store"), KeyFile: filepath.Join(dir, "key"), Dir: filepath.Join(dir, "own"),
		})
		m.must(err)
		b, err := backups.New(backups.Config{
			Dir: filepath.Join(dir, "state"), Accounts: m.lookup, Store: store, Parts: []facility.Backuper{m.Driver}, Now: time.Now,
			Log: slog.New(slog.DiscardHandler),
		})
		m.must(err)
		t.Cleanup(func() { _ = b.Close() })
		m.must(b.Start(t.Context()))
		ended := func(id string) panel.BackupTask {
			t.Helper()
			var task panel.BackupTask
			testkit.Eventually(t, time.Minute, func() bool {
				var err error
				task, err = b.BackupTask(t.Context(), account, id)
				m.must(err)
				return task.Status != panel.TaskRunning
			}, id+" has ended")
			if task.Status != panel.TaskCompleted {
				t.Fatalf("%s: %+v", id, task)
			}
			return task
		}
		parts := []panel.BackupPart{panel.PartDatabases}
		// PostgreSQL's dump begins and ends with a word of chance.
		chance := regexp.MustCompile(`(?m)^\\(un)?restrict .*$|^-- Dump completed on .*$`)
		before := chance.ReplaceAllString(m.dump(account, shop.Name), "")
		_, err = b.StartBackup(t.Context(), account, panel.BackupRequest{ID: "b1", Parts: parts})
		m.must(err)
		if made := ended("b1"); made.Parts[0].Count != 2 {
			t.Errorf("databases: %+v", made.Parts)
		}

		works(t, m.own(shop), "DROP VIEW seen", "DROP TABLE things", "CREATE TABLE evil (id INT)")
		works(t, m.own(other), "CREATE TABLE later (id INT)")
		_, err = b.StartRestore(t.Context(), account, panel.RestoreRequest{ID: "r1", Backup: "b1", Parts: parts, Items: []string{shop.Name}})
		m.must(err)
		ended("r1")
		if after := chance.ReplaceAllString(m.dump(account, shop.Name), ""); after != before {
			t.Errorf("dump after the restore\n%s\nwas\n%s", after, before)
		}
		works(t, m.own(other), "DROP TABLE later")
	})
}
