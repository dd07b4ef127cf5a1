package backups

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"stead.dev/stead/internal/platform/testkit"
	"stead.dev/stead/internal/port/panel"
)

// machines runs f with two machines that reach the same store, each with its own secrets.
func machines(t *testing.T, f func(t *testing.T, first, second *world)) {
	t.Helper()
	for name, share := range map[string]func(t *testing.T) func(own string) (Store, error){
		"folder": func(t *testing.T) func(own string) (Store, error) {
			shared := filepath.Join(t.TempDir(), "shared")
			return func(string) (Store, error) { return NewFolder(shared) }
		},
		"restic": func(t *testing.T) func(own string) (Store, error) {
			shared := filepath.Join(t.TempDir(), "shared")
			return func(own string) (Store, error) {
				return NewRestic(ResticConfig{Repository: shared, KeyFile: own + ".key", Dir: own + ".own"})
			}
		},
		"s3": func(t *testing.T) func(own string) (Store, error) {
			s3 := testkit.NewS3(t)
			return func(own string) (Store, error) {
				c, err := s3Settings(s3, own)
				if err != nil {
					return nil, err
				}
				return NewRestic(c)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			store := share(t)
			f(t, newWorld(t, store), newWorld(t, store))
		})
	}
}

func (w *world) page(ref string) string {
	w.Helper()
	text, err := os.ReadFile(filepath.Join(w.homes[ref].Home, "public_html", "index.html"))
	w.must(err)
	return string(text)
}

func TestAnotherMachineRestoresABackup(t *testing.T) {
	machines(t, func(t *testing.T, first, second *world) {
		ctx := t.Context()
		first.put("1", "public_html/index.html", "of the first machine", 0o640)
		first.backUp("1", "b1", panel.PartFiles, panel.PartDNS)
		passport, err := first.BackupPassport(ctx, "1", "b1")
		first.must(err)

		for range 2 { // the second time nothing happens
			second.must(second.AdoptBackup(ctx, "1", passport))
		}
		listed, err := second.ListBackups(ctx, "1")
		second.must(err)
		if len(listed) != 1 || listed[0].ID != "b1" {
			t.Fatalf("the second machine has %+v", listed)
		}
		second.bringBack("1", panel.RestoreRequest{ID: "r1", Backup: "b1", Parts: []panel.BackupPart{panel.PartFiles}})
		if got := second.page("1"); got != "of the first machine" {
			t.Errorf("the page is %q", got)
		}

		// Both go on to make backups, and neither spoils what the other has.
		second.put("1", "public_html/index.html", "of the second machine", 0o640)
		second.backUp("1", "b2", panel.PartFiles)
		first.backUp("1", "b3", panel.PartFiles)
		second.must(second.DeleteBackup(ctx, "1", "b1"))
		second.bringBack("1", panel.RestoreRequest{ID: "r2", Backup: "b2", Parts: []panel.BackupPart{panel.PartFiles}})
		if got := second.page("1"); got != "of the second machine" {
			t.Errorf("the page is %q", got)
		}
	})
}

// TestACopyOfAMoveHasTemporaryContent: the logs and the sessions of an account go along to another machine, and a second copy
// takes the place of the first. No other backup has them, and none replaces them.
func TestACopyOfAMoveHasTemporaryContent(t *testing.T) {
	machines(t, func(t *testing.T, first, second *world) {
		files := []string{"logs/shop.log", "logs/shop.log.1", "tmp/sess_1", "public_html/index.html"}
		find := func() (all []string) {
			for _, name := range files {
				text, err := os.ReadFile(filepath.Join(second.homes["1"].Home, name))
				if err == nil {
					all = append(all, string(text))
				}
			}
			return all
		}
		for _, name := range files {
			first.put("1", name, name, 0o640)
		}
		moved := []panel.BackupPart{panel.PartFiles, panel.PartLogs}
		bring := func(id string, parts ...panel.BackupPart) {
			t.Helper()
			first.backUp("1", id, parts...)
			passport, err := first.BackupPassport(t.Context(), "1", id)
			first.must(err)
			second.must(second.AdoptBackup(t.Context(), "1", passport))
			second.bringBack("1", panel.RestoreRequest{ID: "r" + id, Backup: id, Parts: parts})
		}
		bring("b1", panel.PartFiles)
		if got := find(); !slices.Equal(got, files[3:]) {
			t.Errorf("a backup brings %q", got)
		}
		bring("c1", moved...)
		if got := find(); !slices.Equal(got, files) {
			t.Errorf("a move brings %q", got)
		}
		first.must(os.Remove(filepath.Join(first.homes["1"].Home, files[1])))
		bring("c2", moved...)
		if got, want := find(), []string{files[0], files[2], files[3]}; !slices.Equal(got, want) {
			t.Errorf("a second copy brings %q, want %q", got, want)
		}
		bring("b2", panel.PartFiles)
		if got, want := find(), []string{files[0], files[2], files[3]}; !slices.Equal(got, want) {
			t.Errorf("a backup leaves %q, want %q", got, want)
		}
	})
}

// TestAnAccountThatComesBack: the second machine lends the backup that it has made to the first, which has its own still.
func TestAnAccountThatComesBack(t *testing.T) {
	machines(t, func(t *testing.T, first, second *world) {
		ctx := t.Context()
		first.backUp("1", "b1", panel.PartFiles)
		passport, err := first.BackupPassport(ctx, "1", "b1")
		first.must(err)
		second.must(second.AdoptBackup(ctx, "1", passport))
		second.put("1", "public_html/index.html", "newer", 0o640)
		second.backUp("1", "b2", panel.PartFiles)
		for _, id := range []string{"b1", "b2"} {
			back, err := second.BackupPassport(ctx, "1", id)
			second.must(err)
			first.must(first.AdoptBackup(ctx, "1", back))
		}
		for _, id := range []string{"b1", "b2"} {
			first.bringBack("1", panel.RestoreRequest{ID: "r" + id, Backup: id, Parts: []panel.BackupPart{panel.PartFiles}})
		}
		if got := first.page("1"); got != "newer" {
			t.Errorf("the page is %q", got)
		}
		first.backUp("1", "b3", panel.PartFiles)
	})
}

func TestABackupOutOfReachIsNotAdopted(t *testing.T) {
	stores(t, func(t *testing.T, first *world) {
		first.backUp("1", "b1", panel.PartFiles)
		passport, err := first.BackupPassport(t.Context(), "1", "b1")
		first.must(err)
		for name, open := range map[string]func(string) (Store, error){"folder": folder, "restic": repositories} {
			if _, restic := first.store.(*Restic); restic != (name == "restic") {
				continue
			}
			second := newWorld(t, open)
			second.refused(second.AdoptBackup(t.Context(), "1", passport), panel.ErrNotFound)
			if listed, err := second.ListBackups(t.Context(), "1"); err != nil || len(listed) != 0 {
				t.Errorf("the second machine has %+v, %v", listed, err)
			}
		}
	})
}

func TestForgedPassportsAreRefused(t *testing.T) {
	stores(t, func(t *testing.T, w *world) {
		w.backUp("1", "b1", panel.PartFiles)
		data, err := w.BackupPassport(t.Context(), "1", "b1")
		w.must(err)
		for name, forge := range map[string]func(p *passport){
			"another account":  func(p *passport) { p.Task.Ref = "2" },
			"a path as id":     func(p *passport) { p.Task.ID = "../../b1" },
			"no backup":        func(p *passport) { p.Task.Job = restores },
			"unknown part":     func(p *passport) { p.Task.Parts[0].Part = "../x" },
			"option as handle": func(p *passport) { p.Task.Parts[0].Handle = "1/--password-command=touch /tmp/x" },
			"another's place":  func(p *passport) { p.Task.Parts[0].Handle = "2/0123456789abcdef" },
			"path as place":    func(p *passport) { p.Task.Parts[0].Handle = "../1/0123456789abcdef" },
		} {
			var p passport
			w.must(json.Unmarshal(data, &p))
			forge(&p)
			if p.Task.ID == "b1" {
				p.Task.ID = "b9" // b1 is known
			}
			forged, err := json.Marshal(p)
			w.must(err)
			t.Log(name)
			w.refused(w.AdoptBackup(t.Context(), "1", forged), panel.ErrInvalid)
		}
		w.refused(w.AdoptBackup(t.Context(), "1", panel.Passport(`"nonsense"`)), panel.ErrInvalid)
	})
}

func TestBackupsAreKeptApartFromAnotherMachines(t *testing.T) {
	machines(t, func(t *testing.T, first, second *world) {
		first.backUp("1", "b1", panel.PartFiles)
		for range 2 {
			second.must(second.KeepApart(t.Context(), "1"))
		}
		second.backUp("1", "b2", panel.PartFiles)
		first.backUp("1", "b3", panel.PartFiles)
	})
}

// TestWhatIsDisownedStaysInTheStore: a machine that gets an account after all not forgets its backups, and the other one has them
// still, also the ones that the first never heard of.
func TestWhatIsDisownedStaysInTheStore(t *testing.T) {
	machines(t, func(t *testing.T, first, second *world) {
		ctx := t.Context()
		first.put("1", "public_html/index.html", "of the first machine", 0o640)
		first.backUp("1", "b1", panel.PartFiles)
		first.backUp("1", "b2", panel.PartFiles)
		passport, err := first.BackupPassport(ctx, "1", "b2")
		first.must(err)
		for range 2 {
			second.must(second.AdoptBackup(ctx, "1", passport))
			second.refused(second.DisownBackups(ctx, "1"), panel.ErrBusy)
			account := second.homes["1"]
			delete(second.homes, "1")
			second.must(second.Remove(ctx, account))
			for range 2 {
				second.must(second.DisownBackups(ctx, "1"))
			}
			second.homes["1"] = account
			if listed, err := second.ListBackups(ctx, "1"); err != nil || len(listed) != 0 {
				t.Errorf("the second machine has %+v %v", listed, err)
			}
		}
		for _, id := range []string{"b1", "b2"} {
			first.bringBack("1", panel.RestoreRequest{ID: "r" + id, Backup: id, Parts: []panel.BackupPart{panel.PartFiles}})
		}
		first.must(first.DeleteBackup(ctx, "1", "b2"))
		first.bringBack("1", panel.RestoreRequest{ID: "r3", Backup: "b1", Parts: []panel.BackupPart{panel.PartFiles}})
		if got := first.page("1"); got != "of the first machine" {
			t.Errorf("the page is %q", got)
		}
	})
}
