package backups

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"stead.dev/stead/internal/node/accounts"
	"stead.dev/stead/internal/node/facility"
	"stead.dev/stead/internal/platform/testkit"
	"stead.dev/stead/internal/port/panel"
)

// world is a machine with two accounts that have Linux users of their own.
type world struct {
	*testing.T
	dir   string
	homes map[string]accounts.Account
	notes *notes
	store Store

	sample    int64                                // Config.Sample
	later     time.Duration                        // how far the driver's clock is ahead
	documents map[panel.BackupPart]json.RawMessage // of each backup
	*Driver
}

const webGID = 60_999

// ids that no package of the machine has given to anybody.
var lastUID atomic.Int64

func init() { lastUID.Store(61_000) }

func newWorld(t *testing.T, store func(dir string) (Store, error)) *world {
	t.Helper()
	// Not t.TempDir: its parents let nobody but root in.
	dir, err := os.MkdirTemp("", "stead-backups-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	w := &world{
		T: t, dir: dir, homes: map[string]accounts.Account{}, notes: &notes{of: map[string]map[string]string{}},
		documents: map[panel.BackupPart]json.RawMessage{panel.PartDNS: json.RawMessage(`{"records":["a"]}`)},
	}
	w.must(os.Chmod(dir, 0o711))
	w.account("1")
	w.account("2")
	w.store, err = store(filepath.Join(dir, "store"))
	w.must(err)
	w.open()
	return w
}

// open starts the driver as a process does that found the directory.
func (w *world) open() {
	w.Helper()
	d, err := New(Config{
		Dir: filepath.Join(w.dir, "state"), Store: w.store, Now: func() time.Time { return time.Now().Add(w.later) }, Log: slog.New(slog.DiscardHandler),
		Parts: []facility.Backuper{w.notes, letters{w.notes}}, Sample: w.sample,
		Accounts: func(ref string) (accounts.Account, error) {
			a, ok := w.homes[ref]
			if !ok {
				return a, fmt.Errorf("%w: account", panel.ErrNotFound)
			}
			return a, nil
		},
	})
	w.must(err)
	w.must(d.Start(w.Context()))
	w.Driver = d
	w.Cleanup(func() { _ = d.Close() })
}

func (w *world) account(ref string) {
	w.Helper()
	uid := int(lastUID.Add(1))
	a := accounts.Account{Record: accounts.Record{Ref: ref, Name: "s" + ref, User: accounts.User{Name: "s" + ref, UID: uid, GID: uid}}, Home: filepath.Join(w.dir, "s"+ref)}
	if os.Geteuid() != 0 {
		w.Fatal("this test needs root, to be other users")
	}
	for _, sub := range []string{"", "public_html", "logs", "tmp"} {
		w.must(os.Mkdir(filepath.Join(a.Home, sub), 0o750))
		w.must(os.Chown(filepath.Join(a.Home, sub), uid, uid))
	}
	// As on a machine with a web server, which comes in by its group.
	for _, sub := range []string{"", "public_html"} {
		w.must(os.Chown(filepath.Join(a.Home, sub), uid, webGID))
	}
	w.homes[ref] = a
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// put makes a file as its owner would have it.
func (w *world) put(ref, name, content string, mode fs.FileMode) {
	w.Helper()
	a := w.homes[ref]
	file := filepath.Join(a.Home, name)
	dir := a.Home
	for _, sub := range strings.Split(filepath.Dir(name), "/") {
		dir = filepath.Join(dir, sub)
		if err := os.Mkdir(dir, 0o755); err == nil {
			w.must(os.Chown(dir, a.User.UID, a.User.GID))
		} else if !errors.Is(err, fs.ErrExist) {
			w.Fatal(err)
		}
	}
	w.must(os.WriteFile(file, []byte(content), 0o600))
	w.must(os.Chown(file, a.User.UID, a.User.GID))
	w.must(os.Chmod(file, mode))
}

func (w *world) link(ref, target, name string) {
	w.Helper()
	a := w.homes[ref]
	w.must(os.Symlink(target, filepath.Join(a.Home, name)))
	w.must(os.Lchown(filepath.Join(a.Home, name), a.User.UID, a.User.GID))
}

// tree is everything in a home: type, mode, owner, time, attributes and content.
func (w *world) tree(ref string) map[string]string {
	w.Helper()
	home := w.homes[ref].Home
	found := map[string]string{}
	w.must(filepath.WalkDir(home, func(p string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(home, p)
		if err != nil || name == "." {
			return err
		}
		if passing[strings.SplitN(name, "/", 2)[0]] {
			return nil
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		st := info.Sys().(*syscall.Stat_t)
		line := fmt.Sprintf("%v %d:%d", info.Mode(), st.Uid, st.Gid)
		switch {
		case info.Mode()&fs.ModeSymlink != 0:
			target, err := os.Readlink(p)
			found[name] = line + " -> " + target
			return err
		case info.Mode().IsRegular():
			b, err := os.ReadFile(p)
			if err != nil {
				return err
			}
			line += fmt.Sprintf(" %d %q", info.ModTime().UnixNano(), b)
		case info.IsDir():
			line += fmt.Sprintf(" %d", info.ModTime().UnixNano())
		}
		value := make([]byte, 100)
		if n, err := unix.Getxattr(p, "user.note", value); err == nil {
			line += " " + string(value[:n])
		}
		found[name] = line
		return nil
	}))
	return found
}

func (w *world) same(what string, want, got any) {
	w.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		w.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func (w *world) refused(err error, kind panel.Kind) {
	w.Helper()
	var typed *panel.Error
	if !errors.Is(err, kind) || !errors.As(err, &typed) {
		w.Errorf("error = %v, want %s", err, kind)
	}
}

// ended waits for a task.
func (w *world) ended(ref, id string) panel.BackupTask {
	w.Helper()
	var t panel.BackupTask
	testkit.Eventually(w, time.Minute, func() bool {
		var err error
		t, err = w.BackupTask(w.Context(), ref, id)
		w.must(err)
		return t.Status != panel.TaskRunning
	}, "task "+id+" ended")
	return t
}

func (w *world) backUp(ref, id string, parts ...panel.BackupPart) panel.BackupTask {
	w.Helper()
	_, err := w.StartBackup(w.Context(), ref, panel.BackupRequest{
		ID: id, Parts: parts, Documents: w.documents,
	})
	w.must(err)
	t := w.ended(ref, id)
	if t.Status != panel.TaskCompleted {
		w.Fatalf("backup %s: %+v", id, t)
	}
	return t
}

func (w *world) bringBack(ref string, in panel.RestoreRequest) panel.BackupTask {
	w.Helper()
	_, err := w.StartRestore(w.Context(), ref, in)
	w.must(err)
	return w.ended(ref, in.ID)
}

// notes are a facility in memory: texts by name.
type notes struct {
	of     map[string]map[string]string
	before func() // in a load, once
	refuse error  // what a load answers
}

func (*notes) BackupPart() panel.BackupPart { return panel.PartDatabases }

func (n *notes) DumpBackup(_ context.Context, a accounts.Account, dir string) (int64, error) {
	for name, text := range n.of[a.Ref] {
		if err := os.WriteFile(filepath.Join(dir, name+".sql"), []byte(text), 0o600); err != nil {
			return 0, err
		}
	}
	return int64(len(n.of[a.Ref])), nil
}

func (n *notes) LoadBackup(_ context.Context, a accounts.Account, dir string, items []string) error {
	if n.before != nil {
		n.before()
	}
	if n.refuse != nil {
		return n.refuse
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	loaded := map[string]string{}
	if len(items) > 0 {
		maps.Copy(loaded, n.of[a.Ref])
	}
	for _, e := range entries {
		name := strings.TrimSuffix(e.Name(), ".sql")
		b, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return err
		}
		if len(items) == 0 || slices.Contains(items, name) {
			loaded[name] = string(b)
		}
	}
	n.of[a.Ref] = loaded
	return nil
}

// letters are notes that are mail.
type letters struct{ *notes }

func (letters) BackupPart() panel.BackupPart { return panel.PartMail }

func folder(dir string) (Store, error) { return NewFolder(dir) }

func repositories(dir string) (Store, error) {
	return NewRestic(ResticConfig{Repository: dir, KeyFile: dir + ".key", Dir: dir + ".own"})
}

// stores runs f with each store.
func stores(t *testing.T, f func(t *testing.T, w *world)) {
	t.Helper()
	for name, store := range map[string]func(string) (Store, error){"folder": folder, "restic": repositories} {
		t.Run(name, func(t *testing.T) { f(t, newWorld(t, store)) })
	}
}

// fill gives an account files of all sorts.
func (w *world) fill(ref string) {
	w.Helper()
	w.put(ref, "public_html/index.php", "<?php echo 1;", 0o640)
	w.put(ref, "public_html/wp-content/uploads/a b\nc.bin", strings.Repeat("\x00\xff", 300_000), 0o600)
	w.put(ref, "public_html/empty", "", 0o444)
	w.put(ref, "bin/tool", "#!/bin/sh\n", 0o755)
	w.put(ref, "locked/inner/file", "inside", 0o400)
	w.put(ref, "logs/access.log", "a visit", 0o640)
	w.put(ref, "tmp/session", "passing", 0o600)
	home := w.homes[ref].Home
	w.link(ref, "public_html/index.php", "current")
	w.link(ref, "/etc/passwd", "public_html/outside")
	w.link(ref, "nowhere", "dangling")
	w.must(unix.Setxattr(filepath.Join(home, "public_html/index.php"), "user.note", []byte("mine"), 0))
	old := time.Date(2020, 2, 3, 4, 5, 6, 789, time.UTC)
	w.must(os.Chtimes(filepath.Join(home, "bin/tool"), old, old))
	w.must(os.Chtimes(filepath.Join(home, "public_html/wp-content"), old, old))
	w.must(os.Chmod(filepath.Join(home, "locked"), 0o555))
	w.notes.of[ref] = map[string]string{"shop": "CREATE TABLE a", "blog": "CREATE TABLE b"}
}

func TestWhatIsRestoredIsByteForByteTheSame(t *testing.T) {
	stores(t, func(t *testing.T, w *world) {
		w.fill("1")
		before := w.tree("1")
		made := w.backUp("1", "b1", panel.PartFiles, panel.PartDatabases, panel.PartDNS)
		w.same("databases", int64(2), made.Parts[1].Count)
		home := w.homes["1"].Home

		// What a break-in and its owner do to a site.
		w.must(os.RemoveAll(filepath.Join(home, "public_html/wp-content")))
		w.put("1", "public_html/index.php", "hacked", 0o777)
		w.must(unix.Setxattr(filepath.Join(home, "public_html/index.php"), "user.note", []byte("theirs"), 0))
		w.put("1", "public_html/backdoor/shell.php", "evil", 0o000)
		w.must(os.Chmod(filepath.Join(home, "public_html/backdoor"), 0o000))
		w.must(os.Remove(filepath.Join(home, "bin/tool")))
		w.must(os.Mkdir(filepath.Join(home, "bin/tool"), 0o755))
		w.must(os.Remove(filepath.Join(home, "current")))
		w.put("1", "current/new", "a directory now", 0o600)
		w.put("1", "logs/access.log", "a later visit", 0o640)
		w.notes.of["1"] = map[string]string{"shop": "DROP", "evil": "x"}

		r := w.bringBack("1", panel.RestoreRequest{ID: "r1", Backup: "b1", Parts: []panel.BackupPart{panel.PartFiles, panel.PartDatabases}})
		w.same("status", panel.TaskCompleted, r.Status)
		w.same("files", before, w.tree("1"))
		w.same("databases", map[string]string{"shop": "CREATE TABLE a", "blog": "CREATE TABLE b"}, w.notes.of["1"])
		log, err := os.ReadFile(filepath.Join(home, "logs/access.log"))
		w.must(err)
		w.same("the log goes on", "a later visit", string(log))
		docs, err := w.BackupDocuments(t.Context(), "1", "b1")
		w.must(err)
		w.same("document", `{"records":["a"]}`, string(docs[panel.PartDNS]))

		// Again, onto what is the same.
		r = w.bringBack("1", panel.RestoreRequest{ID: "r2", Backup: "b1", Parts: []panel.BackupPart{panel.PartFiles}})
		w.same("status", panel.TaskCompleted, r.Status)
		w.same("files", before, w.tree("1"))
	})
}

func TestPartsOfABackupAreRestored(t *testing.T) {
	w := newWorld(t, folder)
	w.fill("1")
	w.backUp("1", "b1", panel.PartFiles, panel.PartDatabases)
	w.put("1", "public_html/index.php", "new", 0o600)
	w.put("1", "public_html/wp-content/new", "new", 0o600)
	w.put("1", "bin/new", "new", 0o600)
	w.notes.of["1"] = map[string]string{"shop": "1", "blog": "2"}
	all := []panel.BackupPart{panel.PartFiles, panel.PartDatabases}

	r := w.bringBack("1", panel.RestoreRequest{ID: "r1", Backup: "b1", Parts: []panel.BackupPart{panel.PartFiles}, Items: []string{"/public_html/wp-content"}})
	w.same("status", panel.TaskCompleted, r.Status)
	now := w.tree("1")
	if _, there := now["public_html/wp-content/new"]; there || !strings.Contains(now["public_html/index.php"], "new") || now["bin/new"] == "" {
		t.Errorf("one directory restored: %v", now)
	}
	r = w.bringBack("1", panel.RestoreRequest{ID: "r2", Backup: "b1", Parts: []panel.BackupPart{panel.PartDatabases}, Items: []string{"shop"}})
	w.same("status", panel.TaskCompleted, r.Status)
	w.same("databases", map[string]string{"shop": "CREATE TABLE a", "blog": "2"}, w.notes.of["1"])

	before := w.tree("1")
	r = w.bringBack("1", panel.RestoreRequest{ID: "r3", Backup: "b1", Parts: []panel.BackupPart{panel.PartFiles}, Target: "/restored/yesterday"})
	w.same("status", panel.TaskCompleted, r.Status)
	now = w.tree("1")
	if !strings.Contains(now["restored/yesterday/public_html/index.php"], "php echo 1") {
		t.Errorf("restored beside: %v", slices.Sorted(maps.Keys(now)))
	}
	for name, was := range before {
		w.same(name, was, now[name])
	}
	r = w.bringBack("1", panel.RestoreRequest{ID: "r4", Backup: "b1", Parts: []panel.BackupPart{panel.PartFiles}, Items: []string{"/nothing"}})
	w.same("an item that the backup does not have", panel.ErrNotFound, r.Failure)

	for what, in := range map[string]panel.RestoreRequest{
		"../etc": {Target: "../etc"}, "home": {Target: "/"}, "logs": {Target: "/logs/x"}, "item": {Items: []string{"../x"}}, "log": {Items: []string{"/logs"}},
	} {
		in.ID, in.Backup, in.Parts = "r9", "b1", all
		_, err := w.StartRestore(t.Context(), "1", in)
		t.Log(what)
		w.refused(err, panel.ErrPathNotAllowed)
	}
	_, err := w.StartRestore(t.Context(), "1", panel.RestoreRequest{ID: "r9", Backup: "b1", Parts: []panel.BackupPart{panel.PartMail}})
	w.refused(err, panel.ErrInvalid)
	_, err = w.StartRestore(t.Context(), "2", panel.RestoreRequest{ID: "r9", Backup: "b1", Parts: all})
	w.refused(err, panel.ErrNotFound)
	_, err = w.OpenBackup(t.Context(), "2", "b1")
	w.refused(err, panel.ErrNotFound)
	_, err = w.BackupDocuments(t.Context(), "2", "b1")
	w.refused(err, panel.ErrNotFound)
}

func TestNoLinkLeadsARestoreAway(t *testing.T) {
	w := newWorld(t, folder)
	w.fill("1")
	before := w.tree("1")
	w.backUp("1", "b1", panel.PartFiles)
	home, victim := w.homes["1"].Home, w.homes["2"].Home
	w.put("2", "public_html/index.php", "the neighbour's", 0o666)
	outside := filepath.Join(w.dir, "outside")
	w.must(os.Mkdir(outside, 0o777))
	w.must(os.Chmod(outside, 0o777))
	w.must(os.Chmod(victim, 0o777)) // as open as it gets: only the restore itself keeps off

	w.must(os.RemoveAll(filepath.Join(home, "public_html")))
	w.link("1", filepath.Join(victim, "public_html"), "public_html")
	w.must(os.RemoveAll(filepath.Join(home, "bin")))
	w.link("1", outside, "bin")
	w.must(os.RemoveAll(filepath.Join(home, "locked")))
	w.link("1", "../s2", "locked")
	theirs := w.tree("2")
	r := w.bringBack("1", panel.RestoreRequest{ID: "r1", Backup: "b1", Parts: []panel.BackupPart{panel.PartFiles}})
	w.same("status", panel.TaskCompleted, r.Status)
	w.same("files", before, w.tree("1"))
	w.same("the neighbour's", theirs, w.tree("2"))
	left, err := os.ReadDir(outside)
	w.must(err)
	w.same("outside", 0, len(left))

	w.link("1", outside, "way")
	r = w.bringBack("1", panel.RestoreRequest{ID: "r2", Backup: "b1", Parts: []panel.BackupPart{panel.PartFiles}, Target: "/way/out"})
	left, err = os.ReadDir(outside)
	w.must(err)
	if len(left) != 0 {
		t.Errorf("restored through a link: %+v, %v", r, left)
	}
}

func TestABackupHoldsNothingThatItsOwnerCannotRead(t *testing.T) {
	w := newWorld(t, folder)
	w.put("1", "public_html/a", "mine", 0o600)
	home := w.homes["1"].Home
	w.must(os.WriteFile(filepath.Join(home, "root-only"), []byte("the machine's secret"), 0o600))
	w.must(syscall.Mkfifo(filepath.Join(home, "pipe"), 0o666))
	w.link("1", "/etc/shadow", "shadow")
	made := w.backUp("1", "b1", panel.PartFiles)
	w.same("unreadable", int64(1), made.Parts[0].Unreadable)
	names := w.download("1", "b1")
	if text, there := names["files/root-only"]; there {
		t.Errorf("the backup has what only root may read: %q", text)
	}
	w.same("link", "-> /etc/shadow", names["files/shadow"])
	w.same("file", "mine", names["files/public_html/a"])
	w.bringBack("1", panel.RestoreRequest{ID: "r1", Backup: "b1", Parts: []panel.BackupPart{panel.PartFiles}})
	for _, stays := range []string{"root-only", "pipe"} {
		if _, err := os.Lstat(filepath.Join(home, stays)); err != nil {
			t.Errorf("%s was taken away: %v", stays, err)
		}
	}
}

// download reads a whole archive.
func (w *world) download(ref, id string) map[string]string {
	w.Helper()
	stream, err := w.OpenBackup(w.Context(), ref, id)
	w.must(err)
	defer stream.Close()
	gz, err := gzip.NewReader(stream)
	w.must(err)
	r := tar.NewReader(gz)
	found := map[string]string{}
	for {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return found
		}
		w.must(err)
		b, err := io.ReadAll(r)
		w.must(err)
		found[h.Name] = string(b)
		if h.Typeflag == tar.TypeSymlink {
			found[h.Name] = "-> " + h.Linkname
		}
	}
}

func TestABackupIsDownloadedWhole(t *testing.T) {
	stores(t, func(t *testing.T, w *world) {
		w.fill("1")
		w.backUp("1", "b1", panel.PartFiles, panel.PartDatabases, panel.PartDNS)
		found := w.download("1", "b1")
		w.same("file", "<?php echo 1;", found["files/public_html/index.php"])
		w.same("database", "CREATE TABLE b", found["databases/blog.sql"])
		w.same("records", `{"records":["a"]}`, found["dns/document.json"])
		list, err := w.ListBackups(t.Context(), "1")
		w.must(err)
		if len(list) != 1 || list[0].ID != "b1" || list[0].Bytes < 600_000 || list[0].Storage != "local" {
			t.Errorf("list: %+v", list)
		}
		// A reader that leaves ends the work.
		stream, err := w.OpenBackup(t.Context(), "1", "b1")
		w.must(err)
		w.must(stream.Close())
	})
}

// flip changes one byte in the middle of the largest file below dir that match accepts.
func (w *world) flip(dir string, match func(name string) bool) {
	w.Helper()
	var largest string
	var size int64
	w.must(filepath.WalkDir(dir, func(p string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() || !match(p) {
			return err
		}
		info, err := e.Info()
		if err == nil && info.Size() > size {
			largest, size = p, info.Size()
		}
		return err
	}))
	b, err := os.ReadFile(largest)
	w.must(err)
	b[len(b)/2] ^= 0x40
	w.must(os.Chmod(largest, 0o600))
	w.must(os.WriteFile(largest, b, 0o600))
}

// TestDownloadsThatNobodyReadsAreFew: each is a program of its own.
func TestDownloadsThatNobodyReadsAreFew(t *testing.T) {
	w := newWorld(t, folder)
	for _, ref := range []string{"1", "2"} {
		w.put(ref, "public_html/noise", strings.Repeat("x", 1<<20), 0o600)
		w.backUp(ref, "b1", panel.PartFiles)
	}
	open := func(ref string) io.ReadCloser {
		stream, err := w.OpenBackup(t.Context(), ref, "b1")
		w.must(err)
		return stream
	}
	first := open("1")
	for range downloadsMost - 1 {
		defer open("1").Close()
	}
	_, err := w.OpenBackup(t.Context(), "1", "b1")
	w.refused(err, panel.ErrBusy)
	w.must(open("2").Close())
	w.must(first.Close())
	testkit.Eventually(t, time.Minute, func() bool {
		again, err := w.OpenBackup(t.Context(), "1", "b1")
		if err == nil {
			w.must(again.Close())
		}
		return err == nil
	}, "another is opened when one has ended")
}

func TestADamagedBackupTouchesNothing(t *testing.T) {
	anything := func(string) bool { return true }
	for name, c := range map[string]struct {
		store  func(string) (Store, error)
		damage func(w *world)
	}{
		"folder, a bit": {folder, func(w *world) { w.flip(filepath.Join(w.dir, "store"), anything) }},
		"folder, cut off": {folder, func(w *world) {
			w.must(os.Truncate(filepath.Join(w.dir, "store/1/b1/files.tar.gz"), 700))
		}},
		"folder, gone": {folder, func(w *world) { w.must(os.RemoveAll(filepath.Join(w.dir, "store/1/b1"))) }},
		"restic, a bit of a pack": {repositories, func(w *world) {
			w.flip(filepath.Join(w.dir, "store/1/data"), anything)
		}},
		"restic, no index":    {repositories, func(w *world) { w.must(os.RemoveAll(filepath.Join(w.dir, "store/1/index"))) }},
		"restic, no snapshot": {repositories, func(w *world) { w.must(os.RemoveAll(filepath.Join(w.dir, "store/1/snapshots"))) }},
		"restic, no config":   {repositories, func(w *world) { w.must(os.Remove(filepath.Join(w.dir, "store/1/config"))) }},
		"restic, nothing":     {repositories, func(w *world) { w.must(os.RemoveAll(filepath.Join(w.dir, "store/1"))) }},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, c.store)
			w.fill("1")
			// What is compressed well may be the same after a bit of it was turned: zeros, copied from other zeros.
			noise := make([]byte, 4<<10)
			_, err := rand.NewChaCha8([32]byte{}).Read(noise)
			w.must(err)
			w.put("1", "public_html/noise.bin", string(noise), 0o600)
			w.backUp("1", "b1", panel.PartFiles, panel.PartDatabases)
			w.put("1", "public_html/index.php", "the site as it is", 0o600)
			w.notes.of["1"] = map[string]string{"shop": "as it is"}
			now := w.tree("1")
			c.damage(w)
			_, err = w.StartBackupCheck(t.Context(), "1", panel.CheckRequest{ID: "c1", Backup: "b1"})
			w.must(err)
			w.same("checked", panel.ErrInvalid, w.ended("1", "c1").Failure)
			r := w.bringBack("1", panel.RestoreRequest{ID: "r1", Backup: "b1", Parts: []panel.BackupPart{panel.PartFiles, panel.PartDatabases}})
			w.same("status", panel.TaskFailed, r.Status)
			w.same("failure", panel.ErrInvalid, r.Failure)
			w.same("files", now, w.tree("1"))
			w.same("databases", map[string]string{"shop": "as it is"}, w.notes.of["1"])
			stream, err := w.OpenBackup(t.Context(), "1", "b1")
			w.must(err)
			if _, err := io.Copy(io.Discard, stream); !errors.Is(err, panel.ErrInvalid) {
				t.Errorf("download: %v", err)
			}
			_ = stream.Close()
		})
	}
}

// TestAServerThatRefusesADumpDamagesNoBackup: ErrInvalid of a restore says that the backup is damaged, which
// is then offered no more.
func TestAServerThatRefusesADumpDamagesNoBackup(t *testing.T) {
	w := newWorld(t, folder)
	w.fill("1")
	w.backUp("1", "b1", panel.PartFiles, panel.PartDatabases)
	w.notes.refuse = fmt.Errorf("%w: line 7: unknown collation", panel.ErrInvalid)
	r := w.bringBack("1", panel.RestoreRequest{ID: "r1", Backup: "b1", Parts: []panel.BackupPart{panel.PartDatabases}})
	w.same("status", panel.TaskFailed, r.Status)
	w.same("failure", panel.ErrInternal, r.Failure)
	w.notes.refuse = nil
	r = w.bringBack("1", panel.RestoreRequest{ID: "r2", Backup: "b1", Parts: []panel.BackupPart{panel.PartDatabases}})
	w.same("later", panel.TaskCompleted, r.Status)
}

// TestARepositoryIsReadByHand runs what docs/backups.md tells operators.
func TestARepositoryIsReadByHand(t *testing.T) {
	w := newWorld(t, repositories)
	w.put("1", "public_html/index.php", "by hand", 0o640)
	w.backUp("1", "b1", panel.PartFiles)
	docs, err := os.ReadFile("../../../docs/backups.md")
	w.must(err)
	_, script, _ := strings.Cut(string(docs), "export RESTIC_REPOSITORY=")
	script, _, _ = strings.Cut("export RESTIC_REPOSITORY="+script, "```")
	target := t.TempDir()
	script = strings.NewReplacer(
		"/mnt/backups/1042", filepath.Join(w.dir, "store/1"), "1042", "1", "< key", "< "+filepath.Join(w.dir, "store.key"), "/tmp/restored", target,
	).Replace(script)
	cmd := exec.CommandContext(t.Context(), "bash", "-euo", "pipefail", "-c", script)
	cmd.Env = append(os.Environ(), "RESTIC_CACHE_DIR="+t.TempDir())
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s\n%v: %s", script, err, out)
	}
	b, err := os.ReadFile(filepath.Join(target, "public_html/index.php"))
	w.must(err)
	w.same("file", "by hand", string(b))
}

// TestVeryDeepDirectoriesAreNoHindranceToARestore: they came after the backup, and one of them is closed to its
// owner.
func TestVeryDeepDirectoriesAreNoHindranceToARestore(t *testing.T) {
	w := newWorld(t, folder)
	w.fill("1")
	w.backUp("1", "b1", panel.PartFiles)
	before := w.tree("1")
	uid := w.homes["1"].User.UID
	root, err := os.OpenRoot(filepath.Join(w.homes["1"].Home, "public_html"))
	w.must(err)
	for i := range 400 {
		w.must(root.Mkdir("d", 0o700))
		below, err := root.OpenRoot("d")
		w.must(err)
		w.must(root.WriteFile("f", []byte("x"), 0o600))
		w.must(root.Lchown("f", uid, uid))
		w.must(root.Lchown("d", uid, uid))
		if i%100 == 31 {
			w.must(root.Chmod("d", 0))
		}
		w.must(root.Close())
		root = below
	}
	w.must(root.Close())
	beside := w.bringBack("1", panel.RestoreRequest{ID: "r1", Backup: "b1", Parts: []panel.BackupPart{panel.PartFiles}, Target: "public_html/old"})
	w.same("beside", panel.TaskCompleted, beside.Status)
	r := w.bringBack("1", panel.RestoreRequest{ID: "r2", Backup: "b1", Parts: []panel.BackupPart{panel.PartFiles}})
	w.same("status", panel.TaskCompleted, r.Status)
	w.same("files", before, w.tree("1"))
}

// TestADirectoryThatCannotBeEnteredHindersNoBackup: its names can be read, and nothing behind them.
func TestADirectoryThatCannotBeEnteredHindersNoBackup(t *testing.T) {
	w := newWorld(t, folder)
	w.put("1", "public_html/a", "mine", 0o600)
	w.put("1", "public_html/closed/b", "mine, too", 0o600)
	w.put("1", "public_html/closes/below/c", "as it was", 0o600)
	w.put("1", "public_html/empty/d", "", 0o600)
	home := w.homes["1"].Home
	w.must(os.Remove(filepath.Join(home, "public_html/empty/d")))
	for _, closed := range []string{"closed", "empty"} {
		w.must(os.Chmod(filepath.Join(home, "public_html", closed), 0o644))
	}
	before := w.tree("1")
	made := w.backUp("1", "b1", panel.PartFiles)
	w.same("unreadable", int64(1), made.Parts[0].Unreadable)
	names := w.download("1", "b1")
	w.same("file", "mine", names["files/public_html/a"])
	if text, there := names["files/public_html/closed/b"]; there {
		t.Errorf("the backup has what cannot be reached: %q", text)
	}
	if _, there := names["files/public_html/empty/"]; !there {
		t.Error("the backup lacks an empty directory")
	}
	// What is closed later does not keep a restore from what the backup has, whole or in part.
	for i, items := range [][]string{nil, {"/public_html/closes/below"}} {
		w.must(os.WriteFile(filepath.Join(home, "public_html/closes/below/c"), []byte("changed"), 0o600))
		w.put("1", "public_html/closes/new", "to go with the rest", 0o600)
		closes := filepath.Join(home, "public_html/closes")
		w.must(os.Chmod(closes, 0o644))
		r := w.bringBack("1", panel.RestoreRequest{ID: fmt.Sprint("r", i), Backup: "b1", Parts: []panel.BackupPart{panel.PartFiles}, Items: items})
		w.same("status", panel.TaskCompleted, r.Status)
		if items != nil {
			w.must(os.Remove(filepath.Join(closes, "new")))
			w.must(os.Chmod(closes, 0o755))
		}
		after := w.tree("1")
		for name, want := range before {
			if name != "public_html/closes" || items == nil { // above an item, its time changes
				w.same(name, want, after[name])
			}
		}
		w.same("number", len(before), len(after))
	}
}
