package tree

import (
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"

	"stead.dev/stead/internal/platform/testkit"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func opened(t *testing.T, dir string) *os.Root {
	t.Helper()
	root, err := os.OpenRoot(dir)
	must(t, err)
	t.Cleanup(func() { must(t, root.Close()) })
	return root
}

func TestADeepTreeNeedsFewDescriptors(t *testing.T) {
	const depth = 5000
	dir := t.TempDir()
	must(t, os.Mkdir(filepath.Join(dir, "top"), 0o700))
	testkit.DeepTree(t, filepath.Join(dir, "top"), depth)
	root := opened(t, dir)
	testkit.FewDescriptors(t, levels+10)
	var dirs, bytes int64
	must(t, Walk(root, func(e *Entry) (bool, error) {
		if e.IsDir() {
			dirs++
		} else {
			bytes += e.Stat.Size
		}
		return true, nil
	}))
	if dirs != depth+2 || bytes != 3*depth {
		t.Errorf("walked: %d directories, %d bytes", dirs, bytes)
	}
	var removed, objects int64
	must(t, Remove(root, "top", func(n int64) {
		removed += n
		objects++
	}))
	if removed != 3*depth || objects != 2*depth+1 {
		t.Errorf("removed: %d objects, %d bytes", objects, removed)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("%v, %v", left, err)
	}
}

func TestRemoveFollowsNoLink(t *testing.T) {
	dir, other := t.TempDir(), t.TempDir()
	must(t, os.WriteFile(filepath.Join(other, "kept"), nil, 0o600))
	root := opened(t, dir)
	must(t, os.MkdirAll(filepath.Join(dir, "a/b"), 0o700))
	must(t, os.Symlink(other, filepath.Join(dir, "a/b/link")))
	must(t, os.Symlink(other, filepath.Join(dir, "top")))
	// The directory becomes a link after it was found to be one: the first removed object is what is in a/b.
	must(t, os.WriteFile(filepath.Join(dir, "a/a"), nil, 0o600))
	swapped := false
	must(t, Remove(root, "a", func(int64) {
		if !swapped {
			swapped = true
			must(t, os.RemoveAll(filepath.Join(dir, "a/b")))
			must(t, os.Symlink(other, filepath.Join(dir, "a/b")))
		}
	}))
	must(t, Remove(root, "top", nil))
	must(t, Remove(root, "never/there", nil))
	at, err := os.Open(other)
	must(t, err)
	defer at.Close()
	must(t, os.Mkdir(filepath.Join(other, "closed"), 0o500))
	must(t, os.Symlink("closed", filepath.Join(other, "link")))
	if f, err := open(int(at.Fd()), "link"); err == nil {
		must(t, f.Close())
		t.Error("a link is opened")
	}
	if err := grant(int(at.Fd()), "link"); err == nil {
		t.Error("what a link leads to is opened to its owner")
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("%v, %v", left, err)
	}
	if _, err := os.Stat(filepath.Join(other, "kept")); err != nil {
		t.Error(err)
	}
}

// A user removes directories that are closed to their owner, however deep.
func TestClosedDirectoriesAreRemoved(t *testing.T) {
	const nobody = 65534
	dir := t.TempDir()
	name := filepath.Join(dir, "top")
	for range 2 * levels {
		must(t, os.Mkdir(name, 0o700))
		name = filepath.Join(name, "d")
	}
	must(t, os.WriteFile(name, nil, 0))
	for name != dir { // from below, so that each can be reached
		name = filepath.Dir(name)
		must(t, os.Chmod(name, 0))
		if os.Getuid() == 0 {
			must(t, os.Chown(name, nobody, nobody))
		}
	}
	must(t, os.Chmod(dir, 0o700))
	root := opened(t, dir)
	if os.Getuid() == 0 {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		must(t, unix.Setfsuid(nobody))
		defer func() { must(t, unix.Setfsuid(0)) }()
	}
	must(t, Remove(root, "top", nil))
	if left, err := fs.ReadDir(root.FS(), "."); err != nil || len(left) != 0 {
		t.Errorf("%v, %v", left, err)
	}
}

// A walk that cannot go back the way it came continues where the rest of the way still is.
func TestAWalkInATreeThatIsMoved(t *testing.T) {
	dir := t.TempDir()
	name := dir
	for i := range 3 * levels {
		name = filepath.Join(name, strconv.Itoa(i))
	}
	must(t, os.MkdirAll(name, 0o700))
	for _, kept := range []string{"z", "0/z", "0/1/z"} {
		must(t, os.WriteFile(filepath.Join(dir, kept), nil, 0o600))
	}
	root := opened(t, dir)
	var files []string
	must(t, Walk(root, func(e *Entry) (bool, error) {
		if filepath.Base(e.Name) == strconv.Itoa(3*levels-1) {
			must(t, os.Rename(filepath.Join(dir, "0/1/2"), filepath.Join(dir, "0/moved")))
		}
		if !e.IsDir() {
			files = append(files, e.Name)
		}
		return true, nil
	}))
	if !slices.Equal(files, []string{"0/1/z", "0/z", "z"}) {
		t.Errorf("visited: %v", files)
	}
}
