package backups

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// removing removes something while a tar is written.
type removing struct{ once func() }

func (r removing) Write(b []byte) (int, error) {
	r.once()
	return len(b), nil
}

// TestADirectoryThatGoesIsPassedOver removes one between its own entry in the stream and those of what is in it:
// sites do so with what they cache, and the stream may have waited for the store.
func TestADirectoryThatGoesIsPassedOver(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"cache/page", "index.php"} {
		file := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte("x"), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	w := tar.NewWriter(removing{func() { _ = os.RemoveAll(filepath.Join(dir, "cache")) }})
	p := &packer{ctx: t.Context(), root: root, tar: w, skip: skipped}
	if err := p.dir("."); err != nil || p.entries != 2 {
		t.Errorf("%d entries, %v", p.entries, err)
	}
}

// TestNamesThatNobodyCanSpeakAreNotBackedUp: a customer's program can make directories in each other without
// end, whose names would fill the stream and could not be read back.
func TestNamesThatNobodyCanSpeakAreNotBackedUp(t *testing.T) {
	root, err := os.OpenRoot(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	const fit = maxName / 251
	if err := root.MkdirAll(strings.Repeat(strings.Repeat("d", 250)+"/", fit+3), 0o700); err != nil {
		t.Fatal(err)
	}
	p := &packer{ctx: t.Context(), root: root, tar: tar.NewWriter(io.Discard), skip: skipped}
	if err := p.dir("."); err != nil || p.entries != fit || p.unreadable != 1 {
		t.Errorf("%d entries, %d unreadable, %v", p.entries, p.unreadable, err)
	}
}

// TestAFileOfHolesOccupiesNoBackup: a customer makes one of any size with one call, and reading it takes hours.
func TestAFileOfHolesOccupiesNoBackup(t *testing.T) {
	dir := t.TempDir()
	for name, size := range map[string]int64{"holes": 1 << 40, "small": 1 << 16} {
		file := filepath.Join(dir, name)
		if err := errors.Join(os.WriteFile(file, []byte("x"), 0o600), os.Truncate(file, size)); err != nil {
			t.Fatal(err)
		}
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	p := &packer{ctx: ctx, root: root, tar: tar.NewWriter(io.Discard), skip: skipped, most: 1 << 20}
	if err := p.dir("."); err != nil || p.entries != 2 || p.unreadable != 1 || p.bytes != 1<<16 {
		t.Errorf("%d entries, %d unreadable, %d bytes, %v", p.entries, p.unreadable, p.bytes, err)
	}
}

// TestManyFilesOfHolesOccupyNoBackup: nor does one file of many names, which occupies its size once.
func TestManyFilesOfHolesOccupyNoBackup(t *testing.T) {
	dir := t.TempDir()
	full := filepath.Join(dir, "names-0")
	err := os.WriteFile(full, make([]byte, 1<<19), 0o600)
	for i := range 20 {
		holes := filepath.Join(dir, fmt.Sprint("holes-", i))
		err = errors.Join(err, os.WriteFile(holes, nil, 0o600), os.Truncate(holes, 1<<19), os.Link(full, filepath.Join(dir, fmt.Sprint("names-", i+1))))
	}
	if err := errors.Join(err, os.WriteFile(filepath.Join(dir, "own"), make([]byte, 1<<19), 0o600)); err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	p := &packer{ctx: t.Context(), root: root, tar: tar.NewWriter(io.Discard), skip: skipped, most: 1 << 20}
	// Two of all those that occupy less than they say, and the file that does not.
	if err := p.dir("."); err != nil || p.entries != 42 || p.unreadable != 39 || p.bytes != 3<<19 {
		t.Errorf("%d entries, %d unreadable, %d bytes, %v", p.entries, p.unreadable, p.bytes, err)
	}
}

// TestAFileOfTheGreatestSizeOccupiesNoBackup: where the file system allows it, its size and what comes before it are more than a
// number can say.
func TestAFileOfTheGreatestSizeOccupiesNoBackup(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "holes")
	if err := errors.Join(os.WriteFile(file, nil, 0o600), os.Truncate(file, 1<<20)); err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	// Few file systems have such files: here it is the rest that is large.
	const before = math.MaxInt64 - 1<<19
	p := &packer{ctx: t.Context(), root: root, tar: tar.NewWriter(io.Discard), skip: skipped, most: 1 << 20, counted: counted{bytes: before}}
	if err := p.dir("."); err != nil || p.unreadable != 1 || p.bytes != before {
		t.Errorf("%d unreadable, %d bytes, %v", p.unreadable, p.bytes, err)
	}
}
