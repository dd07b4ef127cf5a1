package backups

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"stead.dev/stead/internal/platform/testkit"
	"stead.dev/stead/internal/port/panel"
)

// noise is text that does not compress to nothing: in zeros, a byte that was changed may not matter.
func noise(seed byte, n int) string {
	b := make([]byte, n)
	_, err := rand.NewChaCha8([32]byte{seed}).Read(b)
	if err != nil {
		panic(err)
	}
	return base64.StdEncoding.EncodeToString(b)
}

// holding gives an account the content of a part, and returns how to destroy it and how to read it. Records of the platform are
// read from the backup, as their sections take them back.
func (w *world) holding(part panel.BackupPart, text string) (destroy func(), read func() string) {
	if part == panel.PartFiles {
		const name = "public_html/index.php"
		w.put("1", name, text, 0o640)
		return func() { w.put("1", name, "destroyed", 0o640) }, func() string {
			b, err := os.ReadFile(filepath.Join(w.homes["1"].Home, name))
			w.must(err)
			return string(b)
		}
	}
	if part == panel.PartDNS || part == panel.PartCron {
		document, err := json.Marshal(text)
		w.must(err)
		w.documents = map[panel.BackupPart]json.RawMessage{part: document}
		return func() { w.documents = nil }, func() (had string) {
			documents, err := w.BackupDocuments(w.Context(), "1", "b2")
			w.must(err)
			w.must(json.Unmarshal(documents[part], &had))
			return had
		}
	}
	w.notes.of["1"] = map[string]string{"shop": text}
	return func() { w.notes.of["1"] = map[string]string{"shop": "destroyed"} }, func() string { return w.notes.of["1"]["shop"] }
}

// conditions are those of the backups, once none is suspected.
func (w *world) conditions() map[string]panel.Condition {
	w.Helper()
	found := map[string]panel.Condition{}
	testkit.Eventually(w, time.Minute, func() bool {
		clear(found)
		all, err := w.ListBackups(w.Context(), "1")
		w.must(err)
		suspected := false
		for _, b := range all {
			found[b.ID] = b.Condition
			suspected = suspected || b.Condition == panel.Suspected
		}
		return !suspected
	}, "the backups are examined")
	return found
}

// TestAByteThenABackupThenARestore: restic adds to what it has. A backup that shares a damaged pack with an earlier one must
// not count as made.
func TestAByteThenABackupThenARestore(t *testing.T) {
	t.Parallel()
	for _, part := range panel.BackupParts {
		for where, dir := range map[string]string{
			"a pack": "data", "the index": "index", "a snapshot": "snapshots", "the key": "keys", "the configuration": "config",
		} {
			if part != panel.PartFiles && dir != "data" {
				continue // restic's own, the same for all parts
			}
			t.Run(string(part)+", "+where, func(t *testing.T) {
				t.Parallel()
				w := newWorld(t, repositories)
				text := noise(1, 50_000)
				destroy, read := w.holding(part, text)
				w.backUp("1", "b1", part)
				w.flip(filepath.Join(w.dir, "store/1", dir), func(string) bool { return true })
				w.backUp("1", "b2", part)
				destroy()
				r := w.bringBack("1", panel.RestoreRequest{ID: "r1", Backup: "b2", Parts: []panel.BackupPart{part}})
				w.same("restored", panel.TaskCompleted, r.Status)
				w.same("content", text, read())
				got := w.conditions()
				w.same("the backup after the byte", panel.Sound, got["b2"])
				if part == panel.PartFiles && dir != "keys" && got["b1"] != panel.Damaged {
					t.Errorf("the backup before the byte: %q", got["b1"])
				}
				w.must(w.DeleteBackup(t.Context(), "1", "b1"))
				if _, err := os.Stat(filepath.Join(w.dir, "store/1")); !errors.Is(err, fs.ErrNotExist) {
					t.Errorf("a damaged repository that nothing needs is still there: %v", err)
				}
				r = w.bringBack("1", panel.RestoreRequest{ID: "r2", Backup: "b2", Parts: []panel.BackupPart{part}})
				w.same("restored again", panel.TaskCompleted, r.Status)
			})
		}
	}
}

// TestKnownDamageBeginsANewRepository: also where a new backup reads nothing back but what is new.
func TestKnownDamageBeginsANewRepository(t *testing.T) {
	t.Parallel()
	for name, find := range map[string]func(w *world){
		"by a check": func(w *world) {
			_, err := w.StartBackupCheck(w.Context(), "1", panel.CheckRequest{ID: "c1", Backup: "b2"})
			w.must(err)
			w.same("checked", panel.ErrInvalid, w.ended("1", "c1").Failure)
		},
		"by the check of another backup": func(w *world) {
			_, err := w.StartBackupCheck(w.Context(), "1", panel.CheckRequest{ID: "c1", Backup: "b3", Thorough: true})
			w.must(err)
			w.same("checked", panel.TaskCompleted, w.ended("1", "c1").Status)
		},
		"by a restore": func(w *world) {
			r := w.bringBack("1", panel.RestoreRequest{ID: "r1", Backup: "b2", Parts: []panel.BackupPart{panel.PartFiles}})
			w.same("restored", panel.ErrInvalid, r.Failure)
		},
		"by a download": func(w *world) {
			stream, err := w.OpenBackup(w.Context(), "1", "b2")
			w.must(err)
			defer stream.Close()
			if _, err := io.Copy(io.Discard, stream); !errors.Is(err, panel.ErrInvalid) {
				w.Errorf("downloaded: %v", err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, repositories)
			w.reopen(func() { w.sample = -1 })
			w.put("1", "public_html/index.php", noise(1, 50_000), 0o640)
			w.notes.of["1"] = map[string]string{"shop": noise(2, 500)}
			w.backUp("1", "b1", panel.PartDatabases)
			w.backUp("1", "b2", panel.PartFiles)
			w.flip(filepath.Join(w.dir, "store/1/data"), func(string) bool { return true })
			w.backUp("1", "b3", panel.PartDatabases)
			if strings.Contains(name, "another") {
				// As three weeks later.
				w.must(os.Remove(filepath.Join(w.dir, "store.own/read/1")))
			}
			find(w)
			w.backUp("1", "b4", panel.PartFiles)
			w.same("conditions", map[string]panel.Condition{"b1": "", "b2": panel.Damaged, "b3": "", "b4": ""}, w.conditions())
			for _, id := range []string{"b1", "b4"} {
				_, err := w.StartBackupCheck(t.Context(), "1", panel.CheckRequest{ID: "c-" + id, Backup: id})
				w.must(err)
				w.same("check of "+id, panel.TaskCompleted, w.ended("1", "c-"+id).Status)
			}
		})
	}
}

// reopen is a restart of the agent with other settings.
func (w *world) reopen(change func()) {
	w.Helper()
	w.must(w.Close())
	change()
	w.open()
}

// spoiling damages what it stores, so many times.
type spoiling struct {
	*Restic
	left  int
	spoil func()
}

func (s *spoiling) Save(ctx context.Context, ref, id string, part panel.BackupPart, r io.Reader) (string, error) {
	handle, err := s.Restic.Save(ctx, ref, id, part, r)
	if s.left > 0 && err == nil {
		s.left--
		s.spoil()
	}
	return handle, err
}

// TestNewDataIsReadBack: a disk that writes something else is noticed before a backup counts as made.
func TestNewDataIsReadBack(t *testing.T) {
	t.Parallel()
	var store *spoiling
	w := newWorld(t, func(dir string) (Store, error) {
		s, err := repositories(dir)
		if err != nil {
			return nil, err
		}
		store = &spoiling{Restic: s.(*Restic)}
		return store, nil
	})
	w.reopen(func() { w.sample = -1 })
	store.spoil = func() {
		newest, err := store.present("1")
		w.must(err)
		w.flip(filepath.Join(store.location(newest), "data"), func(string) bool { return true })
	}
	w.put("1", "public_html/index.php", noise(1, 50_000), 0o640)
	store.left = 1
	w.backUp("1", "b1", panel.PartFiles)
	r := w.bringBack("1", panel.RestoreRequest{ID: "r1", Backup: "b1", Parts: []panel.BackupPart{panel.PartFiles}})
	w.same("restored", panel.TaskCompleted, r.Status)

	w.put("1", "public_html/index.php", noise(2, 50_000), 0o640)
	store.left = 2
	_, err := w.StartBackup(t.Context(), "1", panel.BackupRequest{ID: "b2", Parts: []panel.BackupPart{panel.PartFiles}})
	w.must(err)
	w.same("a store that damages everything", panel.ErrInvalid, w.ended("1", "b2").Failure)
}

// TestBackupsOfAnAbandonedRepositoryAreReadInTheirTime: those that are whole can be restored, so their damage must become known too.
func TestBackupsOfAnAbandonedRepositoryAreReadInTheirTime(t *testing.T) {
	t.Parallel()
	w := newWorld(t, repositories)
	w.reopen(func() { w.sample = -1 })
	w.put("1", "public_html/index.php", noise(1, 50_000), 0o640)
	w.notes.of["1"] = map[string]string{"shop": noise(2, 20_000)}
	w.backUp("1", "b1", panel.PartFiles)
	before := map[string]bool{}
	w.must(filepath.WalkDir(filepath.Join(w.dir, "store/1/data"), func(p string, _ fs.DirEntry, err error) error {
		before[p] = true
		return err
	}))
	w.backUp("1", "b2", panel.PartDatabases)
	w.flip(filepath.Join(w.dir, "store/1/data"), func(p string) bool { return before[p] })
	_, err := w.StartBackupCheck(t.Context(), "1", panel.CheckRequest{ID: "c1", Backup: "b1"})
	w.must(err)
	w.same("the damage is found", panel.ErrInvalid, w.ended("1", "c1").Failure)
	w.same("conditions", map[string]panel.Condition{"b1": panel.Damaged, "b2": ""}, w.conditions())
	w.backUp("1", "b3", panel.PartFiles) // in a new repository

	check := func(id string) {
		t.Helper()
		_, err := w.StartBackupCheck(t.Context(), "1", panel.CheckRequest{ID: id, Backup: "b3", Thorough: true})
		w.must(err)
		w.same(id, panel.TaskCompleted, w.ended("1", id).Status)
	}
	// The abandoned one is damaged further, where b2 needs it.
	w.flip(filepath.Join(w.dir, "store/1/data"), func(p string) bool { return !before[p] })
	check("c2")
	w.same("read lately", map[string]panel.Condition{"b1": panel.Damaged, "b2": "", "b3": ""}, w.conditions())
	w.reopen(func() { w.later = readEvery + time.Hour })
	check("c3")
	w.same("read in its time", map[string]panel.Condition{"b1": panel.Damaged, "b2": panel.Damaged, "b3": ""}, w.conditions())
	// What is known to be damaged is not found again.
	w.reopen(func() { w.later += readEvery + time.Hour })
	check("c4")
	if at, err := w.suspectedAt("1"); err != nil || !at.IsZero() {
		t.Errorf("suspected once more: %v, %v", at, err)
	}
}

// TestADiskThatIsNotMountedIsNoDamage: nothing is written in its place, and nothing is marked.
func TestADiskThatIsNotMountedIsNoDamage(t *testing.T) {
	t.Parallel()
	w := newWorld(t, repositories)
	w.put("1", "public_html/index.php", noise(1, 5_000), 0o640)
	w.backUp("1", "b1", panel.PartFiles)
	disk := filepath.Join(w.dir, "store")
	w.must(os.Rename(disk, disk+".away"))
	w.must(os.Mkdir(disk, 0o700))
	_, err := w.StartBackupCheck(t.Context(), "1", panel.CheckRequest{ID: "c1", Backup: "b1"})
	w.must(err)
	w.same("checked", panel.ErrUnreachable, w.ended("1", "c1").Failure)
	_, err = w.StartBackup(t.Context(), "1", panel.BackupRequest{ID: "b2", Parts: []panel.BackupPart{panel.PartFiles}})
	w.must(err)
	w.same("made", panel.ErrUnreachable, w.ended("1", "b2").Failure)
	left, err := os.ReadDir(disk)
	w.must(err)
	w.same("written in its place", 0, len(left))
	w.must(os.Remove(disk))
	w.must(os.Rename(disk+".away", disk))
	w.same("conditions", map[string]panel.Condition{"b1": ""}, w.conditions())
	w.backUp("1", "b3", panel.PartFiles)
}

func TestAllPacksAreReadInTheirTime(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	day := func(n int) time.Time { return now.AddDate(0, 0, -n) }
	all := []pack{{"a", 10, day(2)}, {"b", 10, day(30)}, {"c", 10, time.Time{}}, {"d", 10, day(22)}, {"e", 10, day(5)}}
	for name, c := range map[string]struct {
		how  Reading
		want string
	}{
		"a backup reads what is new":         {Reading{Now: now}, "c"},
		"and a sample, the oldest first":     {Reading{Now: now, Most: 25}, "cbd"},
		"a check reads what is due":          {Reading{Now: now, Before: day(21)}, "cbd"},
		"and some more":                      {Reading{Now: now, Before: day(21), Most: 10}, "cbde"},
		"where there is a suspicion, it all": {Reading{Now: now, Before: now}, "cbdea"},
	} {
		var got string
		for _, p := range duePacks(all, c.how) {
			got += p.id
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
