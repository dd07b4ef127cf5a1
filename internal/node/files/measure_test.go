package files

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"stead.dev/stead/internal/platform/testkit"
	"stead.dev/stead/internal/port/panel"
)

// telling calls a function when all was read.
type telling struct {
	io.Reader
	ended func()
}

func (r telling) Read(b []byte) (int, error) {
	n, err := r.Reader.Read(b)
	if err == io.EOF {
		r.ended()
	}
	return n, err
}

// A measurement between the last byte of an upload and its rename sees neither the new file nor that its
// room is taken; the account has it nevertheless.
func TestWhatIsBeingWrittenIsCountedWhileItIsMeasured(t *testing.T) {
	d, home := newHome(t)
	_, err := d.Mkdir(t.Context(), ref, "/public_html/dir")
	must(t, err)
	for size := 400 << 10; size < 500<<10; size += 50 << 10 {
		_, err := d.Upload(t.Context(), ref, "/public_html/dir/big", telling{
			Reader: bytes.NewReader(make([]byte, size)), ended: func() { must(t, d.Measure(t.Context(), ref)) },
		}, panel.WriteOptions{})
		must(t, err)
		countsAreRight(t, d, home)
	}
	_, err = d.Copy(t.Context(), ref, "/public_html/dir", "/public_html/other", false)
	must(t, err)
	countsAreRight(t, d, home)
}

func TestMeasuringNeverLosesCount(t *testing.T) {
	d, home := newHome(t)
	stop := make(chan struct{})
	var measuring sync.WaitGroup
	measuring.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			if err := d.Measure(t.Context(), ref); err != nil {
				t.Error(err)
				return
			}
		}
	})
	for i := range 200 {
		_, err := d.Write(t.Context(), ref, "/public_html/a/b/big", make([]byte, 1000*(1+i%100)), panel.WriteOptions{Parents: true})
		must(t, err)
		_, err = d.Copy(t.Context(), ref, "/public_html/a", "/public_html/c", true)
		must(t, err)
		must(t, d.Remove(t.Context(), ref, "/public_html/a", true))
		believed, err := d.Occupied(t.Context(), ref)
		must(t, err)
		counted, err := New(d.resolve).Occupied(t.Context(), ref)
		must(t, err)
		if believed.DiskBytes < counted.DiskBytes || believed.Inodes < counted.Inodes {
			t.Fatalf("believes %+v, counted %+v", believed, counted)
		}
	}
	close(stop)
	measuring.Wait()
	must(t, d.Measure(t.Context(), ref))
	countsAreRight(t, d, home)
}

// What a customer's own programs put under a name of the staging takes room as all else does.
func TestNamesOfTheStagingHideNothing(t *testing.T) {
	d, home := newHome(t)
	_, err := d.Occupied(t.Context(), ref)
	must(t, err)
	for _, dir := range []string{".stead-mine", "tmp/.stead-mine", "public_html/shop/.stead-mine"} {
		must(t, os.MkdirAll(filepath.Join(home, dir, "deeper"), 0o750))
		must(t, os.WriteFile(filepath.Join(home, dir, "deeper/film"), make([]byte, 500<<10), 0o600))
	}
	must(t, d.Measure(t.Context(), ref))
	if used, err := d.Occupied(t.Context(), ref); err != nil || used.DiskBytes != 3*500<<10 || used.Inodes != 14 || !d.Full(ref) {
		t.Errorf("%+v, %v", used, err)
	}
	// It goes with what it is in, and is counted out.
	must(t, d.Remove(t.Context(), ref, "/public_html/shop", true))
	if used, err := d.Occupied(t.Context(), ref); err != nil || used.DiskBytes != 2*500<<10 || used.Inodes != 10 {
		t.Errorf("after removal: %+v, %v", used, err)
	}
}

// flipping is a context that does something when it is asked the second time.
type flipping struct {
	context.Context
	asked int
	flip  func()
}

func (c *flipping) Err() error {
	if c.asked++; c.asked == 2 {
		c.flip()
	}
	return nil
}

// A customer can nest directories without limit: each Move puts a chain below another.
func TestADeepTreeIsMeasuredAndRemoved(t *testing.T) {
	const depth = 3000
	d, home := newHome(t)
	dir := filepath.Join(home, "public_html/deep")
	must(t, os.Mkdir(dir, 0o750))
	must(t, d.Measure(t.Context(), ref))
	before, err := d.Occupied(t.Context(), ref)
	must(t, err)
	testkit.DeepTree(t, dir, depth)
	testkit.FewDescriptors(t, 40)
	zip, err := d.OpenZip(t.Context(), ref, "/public_html")
	must(t, err)
	if _, err := io.Copy(io.Discard, zip); !errors.Is(err, panel.ErrInvalid) {
		t.Errorf("archived: %v", err)
	}
	must(t, zip.Close())
	must(t, os.WriteFile(filepath.Join(home, "public_html/zz"), nil, 0o600))
	if found, err := d.Search(t.Context(), ref, panel.Query{Text: "zz"}); err != nil || len(found.Matches) != 1 || !found.Truncated {
		t.Errorf("found: %+v, %v", found, err)
	}
	must(t, os.Remove(filepath.Join(home, "public_html/zz")))
	must(t, d.Measure(t.Context(), ref))
	if used, err := d.Occupied(t.Context(), ref); err != nil || used.Inodes != before.Inodes+2*depth {
		t.Errorf("measured: %+v, %v", used, err)
	}
	must(t, d.Remove(t.Context(), ref, "/public_html/deep", true))
	if used, err := d.Occupied(t.Context(), ref); err != nil || used.Inodes != before.Inodes-1 || used.DiskBytes != before.DiskBytes {
		t.Errorf("after removal: %+v, %v", used, err)
	}
	if left, err := os.ReadDir(filepath.Join(home, tmpDir)); err != nil || len(left) != 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

// A customer who replaces directories by links while they are counted would never be found to have too much.
func TestWhatIsReplacedMeanwhileKeepsNothingFromBeingCounted(t *testing.T) {
	d, home := newHome(t)
	must(t, os.WriteFile(filepath.Join(home, "public_html/film"), make([]byte, 2<<20), 0o600))
	dir := filepath.Join(home, "a")
	must(t, os.MkdirAll(filepath.Join(dir, "b/c"), 0o750))
	for asked, with := range []func() error{
		func() error { return os.Symlink("/", dir) },
		func() error { return os.Symlink("a", dir) },
		func() error { return os.WriteFile(dir, nil, 0o600) },
	} {
		must(t, os.RemoveAll(dir))
		must(t, os.MkdirAll(filepath.Join(dir, "b/c"), 0o750))
		// Entries are counted in order: the home, a, b, c.
		ctx := &flipping{Context: t.Context(), asked: -2, flip: func() { must(t, errors.Join(os.RemoveAll(dir), with())) }}
		must(t, d.Measure(ctx, ref))
		if !d.Full(ref) || ctx.asked < 3 {
			t.Errorf("%d: not counted", asked)
		}
		d.Forget(ref)
	}
}

// The work of counting grows with the number of directories, however deep they are in each other.
func TestVeryDeepDirectoriesAreCounted(t *testing.T) {
	d, home := newHome(t)
	const deep = 3_000
	root, err := os.OpenRoot(home)
	must(t, err)
	for range deep {
		must(t, root.Mkdir("d", 0o750))
		below, err := root.OpenRoot("d")
		must(t, errors.Join(err, root.Close()))
		root = below
	}
	must(t, root.WriteFile("film", make([]byte, 2<<20), 0o600))
	must(t, root.Close())
	used, err := d.Occupied(t.Context(), ref)
	if err != nil || used.Inodes != 4+deep+1 || !d.Full(ref) {
		t.Errorf("%+v, %v", used, err)
	}
}
