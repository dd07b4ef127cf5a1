package atomicfile_test

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"stead.dev/stead/internal/platform/atomicfile"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// expect checks a directory: which files it has, with which content.
func expect(t *testing.T, dir string, want map[string]string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	must(t, err)
	got := map[string]string{}
	for _, e := range entries {
		content, err := os.ReadFile(filepath.Join(dir, e.Name()))
		must(t, err)
		got[e.Name()] = string(content)
	}
	if len(got) != len(want) {
		t.Errorf("the directory has %v, want %v", got, want)
	}
	for name, content := range want {
		if got[name] != content {
			t.Errorf("%s holds %q, want %q", name, got[name], content)
		}
	}
}

func modeOf(t *testing.T, file string) fs.FileMode {
	t.Helper()
	info, err := os.Lstat(file)
	must(t, err)
	return info.Mode()
}

func TestFilesAreReplacedWithTheirMode(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, strings.Repeat("n", 255)) // as long as a name may be
	must(t, atomicfile.Write(file, []byte("old"), 0o600))
	must(t, atomicfile.Write(file, []byte("new"), 0o666)) // more than the umask leaves
	if mode := modeOf(t, file); mode != 0o666 {
		t.Errorf("mode %v", mode)
	}
	expect(t, dir, map[string]string{filepath.Base(file): "new"})
	must(t, atomicfile.WriteUnsynced(file, []byte("newer"), 0o640))
	if mode := modeOf(t, file); mode != 0o640 {
		t.Errorf("unsynced: mode %v", mode)
	}
	expect(t, dir, map[string]string{filepath.Base(file): "newer"})
}

func TestAFailureLeavesTheOldFileAlone(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	must(t, atomicfile.Write(file, []byte("old"), 0o640))
	failed := errors.New("failed")
	err := atomicfile.WriteStream(file, 0o600, func(w io.Writer) error {
		_, err := w.Write([]byte("half of the n"))
		return errors.Join(err, failed)
	})
	if !errors.Is(err, failed) {
		t.Errorf("the error is %v", err)
	}
	if mode := modeOf(t, file); mode != 0o640 {
		t.Errorf("mode %v", mode)
	}
	must(t, os.Mkdir(filepath.Join(dir, "folder"), 0o700))
	if err := atomicfile.Write(filepath.Join(dir, "folder"), []byte("x"), 0o600); err == nil { // the rename fails
		t.Error("a folder is replaced")
	}
	must(t, os.Remove(filepath.Join(dir, "folder")))
	expect(t, dir, map[string]string{"file": "old"})
	if err := atomicfile.Write(filepath.Join(dir, "none", "file"), nil, 0o600); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("without a directory: %v", err)
	}
}

func TestALinkIsReplacedAndNotFollowed(t *testing.T) {
	dir, other := t.TempDir(), filepath.Join(t.TempDir(), "other")
	must(t, os.WriteFile(other, []byte("not to be touched"), 0o600))
	file := filepath.Join(dir, "file")
	must(t, os.Symlink(other, file))
	must(t, atomicfile.Write(file, []byte("new"), 0o600))
	if !modeOf(t, file).IsRegular() {
		t.Error("the link is still there")
	}
	expect(t, dir, map[string]string{"file": "new"})
	expect(t, filepath.Dir(other), map[string]string{"other": "not to be touched"})
}

func TestAFileIsCreatedOnce(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "key")
	var (
		wait    sync.WaitGroup
		mu      sync.Mutex
		created []string
	)
	for i := range 8 {
		wait.Go(func() {
			content := strings.Repeat(string(rune('a'+i)), 100)
			switch err := atomicfile.Create(file, []byte(content), 0o600); {
			case err == nil:
				mu.Lock()
				defer mu.Unlock()
				created = append(created, content)
			case !errors.Is(err, fs.ErrExist):
				t.Error(err)
			}
		})
	}
	wait.Wait()
	if len(created) != 1 {
		t.Fatalf("created %d times", len(created))
	}
	expect(t, dir, map[string]string{"key": created[0]})
}

func TestWritersAtTheSameTimeLeaveAWholeFile(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	var wait sync.WaitGroup
	for i := range 8 {
		wait.Go(func() {
			if err := atomicfile.Write(file, bytes.Repeat([]byte{byte('a' + i)}, 1<<16), 0o600); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	content, err := os.ReadFile(file)
	must(t, err)
	if len(content) != 1<<16 || bytes.Count(content, content[:1]) != len(content) {
		t.Error("the file holds what several have written")
	}
	expect(t, dir, map[string]string{"file": string(content)})
}

func TestOwnersAreGivenBeforeTheName(t *testing.T) {
	uid, gid := os.Getuid(), os.Getgid()
	if uid == 0 { // root alone may give files away
		gid = 12345
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	must(t, atomicfile.WriteOwned(file, []byte("content"), 0o640, uid, gid))
	info, err := os.Lstat(file)
	must(t, err)
	owner := info.Sys().(*syscall.Stat_t)
	if int(owner.Uid) != uid || int(owner.Gid) != gid || info.Mode() != 0o640 {
		t.Errorf("owner %d:%d, mode %v", owner.Uid, owner.Gid, info.Mode())
	}
	expect(t, dir, map[string]string{"file": "content"})
}
