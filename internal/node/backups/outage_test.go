package backups

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"stead.dev/stead/internal/platform/atomicfile"
	"stead.dev/stead/internal/platform/testkit"
	"stead.dev/stead/internal/port/panel"
)

// restart replaces the store and the driver, as a new process does.
func (w *world) restart(c ResticConfig) *Restic {
	w.Helper()
	var store *Restic
	w.reopen(func() {
		var err error
		store, err = NewRestic(c)
		w.must(err)
		w.store = store
	})
	return store
}

// own lists the files of the store on this machine that name repositories, with their content.
func (w *world) own(s *Restic) map[string]string {
	w.Helper()
	found := map[string]string{}
	for _, kind := range []string{"beginning", "places", "read", lentDir} {
		all, err := os.ReadDir(filepath.Join(s.Dir, kind))
		w.must(err)
		for _, e := range all {
			text, err := os.ReadFile(filepath.Join(s.Dir, kind, e.Name()))
			w.must(err)
			found[kind+"/"+e.Name()] = string(text)
		}
	}
	return found
}

// failsAndChangesNothing deletes, drops and backs up while the store does not answer, and compares what the machine knows.
func (w *world) failsAndChangesNothing(s *Restic) {
	w.Helper()
	before := w.own(s)
	w.refused(w.DeleteBackup(w.Context(), "1", "b1"), panel.ErrUnreachable)
	if err := s.Drop(w.Context(), "1"); !errors.Is(err, panel.ErrUnreachable) {
		w.Errorf("dropped: %v", err)
	}
	_, err := w.StartBackup(w.Context(), "1", panel.BackupRequest{ID: "b2", Parts: []panel.BackupPart{panel.PartFiles}})
	w.must(err)
	w.same("a backup meanwhile", panel.ErrUnreachable, w.ended("1", "b2").Failure)
	w.same("what the machine knows", before, w.own(s))
	w.same("conditions", "", string(w.conditions()["b1"]))
}

// restores checks that an earlier backup is whole, and that another is made beside it.
func (w *world) restores(before map[string]string) {
	w.Helper()
	w.put("1", "public_html/index.php", "destroyed", 0o640)
	r := w.bringBack("1", panel.RestoreRequest{ID: "r1", Backup: "b1", Parts: []panel.BackupPart{panel.PartFiles}})
	w.same("restored", panel.TaskCompleted, r.Status)
	w.same("files", before, w.tree("1"))
	w.backUp("1", "b3", panel.PartFiles)
	s := w.store.(*Restic)
	all, err := s.repositories("1")
	w.must(err)
	if !slices.Equal(all, []repository{{"1", "1"}}) {
		w.Errorf("repositories: %v", all)
	}
}

func TestAnOutageOfS3LosesNoBackup(t *testing.T) {
	t.Parallel()
	for name, cut := range map[string]func(s *Restic, s3 *testkit.S3) (mend func()){
		"other keys": func(s *Restic, _ *testkit.S3) func() {
			write := func(text string) {
				if err := os.WriteFile(s.CredentialsFile, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			write(strings.Replace(testkit.S3Credentials, "test-access-key", "rotated", 1))
			return func() { write(testkit.S3Credentials) }
		},
		"refused": func(_ *Restic, s3 *testkit.S3) func() {
			s3.SetDown(true)
			return func() { s3.SetDown(false) }
		},
		"away": func(s *Restic, s3 *testkit.S3) func() {
			usual := s.Repository
			s.Repository = "s3:http://127.0.0.1:1/bucket/node1"
			return func() { s.Repository = usual }
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s3 := testkit.NewS3(t)
			var c ResticConfig
			w := newWorld(t, func(dir string) (_ Store, err error) {
				c, err = s3Settings(s3, dir)
				if err != nil {
					return nil, err
				}
				return NewRestic(c)
			})
			w.put("1", "public_html/index.php", "whole", 0o640)
			before := w.tree("1")
			w.backUp("1", "b1", panel.PartFiles)
			stored := slices.Sorted(maps.Keys(s3.Objects()))

			s := w.restart(c)
			mend := cut(s, s3)
			w.failsAndChangesNothing(s)
			// A mark that an earlier outage has left.
			w.must(atomicfile.Write(s.own("beginning", "1"), nil, 0o600))
			w.failsAndChangesNothing(s)
			mend()
			w.same("stored", stored, slices.Sorted(maps.Keys(s3.Objects())))
			w.restores(before)

			w.must(w.DeleteBackup(t.Context(), "1", "b1"))
			w.must(s.Drop(t.Context(), "1"))
			for name := range s3.Objects() {
				if strings.Contains(name, "/snapshots/") {
					t.Errorf("%s is left", name)
				}
			}
		})
	}
}

// TestAFolderOutOfReachLosesNoBackup: the account's folder cannot be read for a moment, and the mark beside it can. Rights
// would not keep root out; a link that leads to itself does.
func TestAFolderOutOfReachLosesNoBackup(t *testing.T) {
	t.Parallel()
	w := newWorld(t, repositories)
	w.put("1", "public_html/index.php", "whole", 0o640)
	before := w.tree("1")
	w.backUp("1", "b1", panel.PartFiles)
	s := w.store.(*Restic)
	s = w.restart(s.ResticConfig)
	place := s.location(repository{"1", "1"})

	// Only the configuration, then the whole folder.
	for _, cut := range []string{filepath.Join(place, "config"), place} {
		w.must(os.Rename(cut, cut+".away"))
		w.must(os.Symlink(cut, cut))
		known := w.own(s)
		for range 2 { // the second time with a mark that an earlier outage has left
			w.refused(w.DeleteBackup(t.Context(), "1", "b1"), panel.ErrUnreachable)
			_, err := w.StartBackup(t.Context(), "1", panel.BackupRequest{ID: "b2", Parts: []panel.BackupPart{panel.PartFiles}})
			w.must(err)
			w.same("a backup meanwhile", panel.ErrUnreachable, w.ended("1", "b2").Failure)
			w.same("what the machine knows", known, w.own(s))
			w.must(atomicfile.Write(s.own("beginning", "1"), nil, 0o600))
			known = w.own(s)
		}
		w.must(os.Remove(cut))
		w.must(os.Rename(cut+".away", cut))
		w.must(os.Remove(s.own("beginning", "1")))
	}
	// The mark alone removes nothing.
	w.must(atomicfile.Write(s.own("beginning", "1"), nil, 0o600))
	w.restores(before)

	// A disk that is not mounted is not empty.
	w.must(os.Rename(s.Repository, s.Repository+".away"))
	known := w.own(s)
	if err := s.Drop(t.Context(), "1"); !errors.Is(err, panel.ErrUnreachable) {
		t.Errorf("dropped: %v", err)
	}
	w.same("what the machine knows", known, w.own(s))
	w.must(os.Rename(s.Repository+".away", s.Repository))
	w.must(s.Drop(t.Context(), "1"))
	if _, err := os.Stat(place); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the repository is left: %v", err)
	}
}

// TestAMarkDoesNotRemoveSnapshots: a repository whose creation seems unfinished has lost its configuration when it has snapshots.
func TestAMarkDoesNotRemoveSnapshots(t *testing.T) {
	t.Parallel()
	w := newWorld(t, repositories)
	w.backUp("1", "b1", panel.PartFiles)
	s := w.store.(*Restic)
	s = w.restart(s.ResticConfig)
	place := s.location(repository{"1", "1"})
	w.must(os.Remove(filepath.Join(place, "config")))
	w.must(os.Remove(s.own("read", "1")))
	w.must(atomicfile.Write(s.own("beginning", "1"), nil, 0o600))
	w.backUp("1", "b2", panel.PartFiles)
	left, err := os.ReadDir(filepath.Join(place, "snapshots"))
	w.must(err)
	w.same("snapshots", 1, len(left))
	w.same("conditions", map[string]panel.Condition{"b1": panel.Damaged, "b2": ""}, w.conditions())
}

// TestACreationThatMadeNothingLeavesNoMark: the store fails between the question and the creation.
func TestACreationThatMadeNothingLeavesNoMark(t *testing.T) {
	t.Parallel()
	w := newWorld(t, repositories)
	s := w.store.(*Restic)
	w.must(os.WriteFile(filepath.Join(w.dir, "restic"), []byte(`#!/bin/sh
[ "$1" != init ] || export RESTIC_REPOSITORY=/proc/nowhere
exec restic "$@"
`), 0o700))
	c := s.ResticConfig
	c.Binary = filepath.Join(w.dir, "restic")
	s = w.restart(c)
	_, err := w.StartBackup(t.Context(), "1", panel.BackupRequest{ID: "b1", Parts: []panel.BackupPart{panel.PartFiles}})
	w.must(err)
	w.same("status", panel.TaskFailed, w.ended("1", "b1").Status)
	if _, err := os.Stat(s.own("beginning", "1")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the mark: %v", err)
	}
}

func TestOnlyWhatIsMissingIsAbsent(t *testing.T) {
	t.Parallel()
	s3 := testkit.NewS3(t)
	dir := t.TempDir()
	c, err := s3Settings(s3, filepath.Join(dir, "s3"))
	if err != nil {
		t.Fatal(err)
	}
	remote, err := NewRestic(c)
	if err != nil {
		t.Fatal(err)
	}
	local, err := NewRestic(ResticConfig{Repository: filepath.Join(dir, "folder"), KeyFile: filepath.Join(dir, "key"), Dir: filepath.Join(dir, "own")})
	if err != nil {
		t.Fatal(err)
	}
	loop := filepath.Join(local.Repository, "loop")
	if err := os.Symlink(loop, loop); err != nil {
		t.Fatal(err)
	}
	ask := func(what string, s *Restic, name string, missing bool) {
		t.Helper()
		err := s.opens(t.Context(), repository{name, name})
		if err == nil || absent(err) != missing || errors.Is(err, panel.ErrUnreachable) == missing {
			t.Errorf("%s: %v", what, err)
		}
	}
	ask("a missing folder", local, "none", true)
	ask("a folder that cannot be read", local, "loop", false)
	ask("a missing object", remote, "none", true)
	s3.SetDown(true)
	ask("refused keys", remote, "none", false)
	remote.Repository = "s3:http://127.0.0.1:1/bucket/node1"
	ask("no server", remote, "none", false)

	question := "\nIs there a repository at the following location?\n/backups/1"
	for text, missing := range map[string]bool{
		"Fatal: unable to open config file: stat /backups/1/config: input/output error":                                          false,
		"Fatal: unable to open config file: stat /backups/1/config: stale NFS file handle":                                       false,
		"Fatal: unable to open config file: Stat: The Access Key Id you provided does not exist in our records.":                 false,
		"Fatal: unable to open config file: Stat: Access Denied.":                                                                false,
		"unable to open cache: mkdir /cache: no such file or directory\nFatal: unable to open config file: Stat: Access Denied.": false,
		"Fatal: repository does not exist: unable to open config file: stat /backups/1/config: no such file or directory":        true,
		"Fatal: repository does not exist: unable to open config file: Stat: The specified key does not exist.":                  true,
	} {
		if absent(errors.New(text+question)) != missing {
			t.Errorf("%s: not %v", text, missing)
		}
	}
}
