package files

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"stead.dev/stead/internal/port/panel"
)

const ref = "1"

// newHome is a driver with one account of at most 1 MB and 200 inodes, and its home. Beside the home
// lies a file that nobody may reach.
func newHome(t testing.TB) (*Driver, string) {
	t.Helper()
	dir := t.TempDir()
	home := filepath.Join(dir, "home")
	for _, sub := range []string{"public_html", "logs", "tmp"} {
		if err := os.MkdirAll(filepath.Join(home, sub), 0o750); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "secret"), []byte("SECRET"), 0o600); err != nil {
		t.Fatal(err)
	}
	return New(func(r string) (Home, error) {
		if r != ref {
			return Home{}, panel.ErrNotFound
		}
		return Home{Account: "alice", Dir: home, Limits: panel.Limits{DiskMB: 1, Inodes: 200}}, nil
	}), home
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestCleanPath(t *testing.T) {
	for p, want := range map[string]string{
		"": ".", "/": ".", ".": ".", "//": ".", "/a": "a", "a": "a", "/a/": "a", "/a//b": "a/b", "/a/./b": "a/b", "/a/b/..": "a",
		"/a/..": ".", `/a\..\b`: `a\..\b`, "/...": "...", "/..a": "..a", "/a/.htaccess": "a/.htaccess", "/%2e%2e": "%2e%2e",
	} {
		if got, err := CleanPath(p); got != want || err != nil {
			t.Errorf("CleanPath(%q) = %q, %v; want %q", p, got, err, want)
		}
	}
	for p, kind := range map[string]panel.Kind{
		"..": panel.ErrPathNotAllowed, "/..": panel.ErrPathNotAllowed, "/a/../..": panel.ErrPathNotAllowed,
		"/../home/x": panel.ErrPathNotAllowed, "a/../../a": panel.ErrPathNotAllowed, "/tmp/.stead-x": panel.ErrPathNotAllowed,
		"/a\x00": panel.ErrInvalid, "\xff": panel.ErrInvalid, strings.Repeat("a/", 3000): panel.ErrInvalid, strings.Repeat("a", 256): panel.ErrInvalid,
	} {
		if got, err := CleanPath(p); !errors.Is(err, kind) {
			t.Errorf("CleanPath(%q) = %q, %v; want %s", p, got, err, kind)
		}
	}
}

func FuzzCleanPath(f *testing.F) {
	for _, seed := range []string{"", "/", "..", "/a/../b", "a//b/./c", "/a\x00b", `\..\`, "/%2e%2e/", "/.stead-x", "/a/../../b", "\xff"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, p string) {
		name, err := CleanPath(p)
		if err != nil {
			return
		}
		if !filepath.IsLocal(name) || filepath.Clean(name) != name || strings.Contains(name, "\x00") {
			t.Fatalf("CleanPath(%q) = %q", p, name)
		}
		if again, err := CleanPath(publicPath(name)); again != name || err != nil {
			t.Fatalf("CleanPath(%q) = %q, but again %q, %v", p, name, again, err)
		}
	})
}

func TestLinksNeverLeadOut(t *testing.T) {
	d, home := newHome(t)
	ctx := t.Context()
	for link, target := range map[string]string{
		"abs": filepath.Join(filepath.Dir(home), "secret"), "up": "../../secret", "updir": "../..", "loop": "loop", "root": "/",
	} {
		must(t, os.Symlink(target, filepath.Join(home, "public_html", link)))
	}
	for _, path := range []string{"/public_html/abs", "/public_html/up", "/public_html/updir/secret", "/public_html/loop", "/public_html/root/etc/passwd"} {
		_, readErr := d.Read(ctx, ref, path, panel.ReadOptions{})
		_, openErr := d.Open(ctx, ref, path)
		_, writeErr := d.Write(ctx, ref, path, []byte("overwritten"), panel.WriteOptions{})
		_, mkdirErr := d.Mkdir(ctx, ref, path+"/new")
		_, zipErr := d.OpenZip(ctx, ref, path)
		for _, err := range []error{readErr, openErr, writeErr, mkdirErr, zipErr} {
			if !errors.Is(err, panel.ErrPathNotAllowed) {
				t.Errorf("%s: %v", path, err)
			}
		}
	}
	for _, path := range []string{"/public_html/updir", "/public_html/root"} {
		_, err := d.List(ctx, ref, path, 0, 0)
		if !errors.Is(err, panel.ErrPathNotAllowed) {
			t.Errorf("list %s: %v", path, err)
		}
		if _, err := d.Extract(ctx, ref, "/public_html/x", path, true); err == nil {
			t.Errorf("extracted to %s", path)
		}
	}
	e, err := d.Stat(ctx, ref, "/public_html/up")
	must(t, err)
	if e.Type != panel.TypeSymlink || e.LinkTarget != "../../secret" || e.SizeBytes != 0 {
		t.Errorf("link described as %+v", e)
	}
	// Search, copy and removal take links for what they are.
	found, err := d.Search(ctx, ref, panel.Query{Path: "/", Text: "SECRET", InContent: true})
	must(t, err)
	if len(found.Matches) != 0 {
		t.Errorf("search followed a link: %+v", found.Matches)
	}
	_, err = d.Copy(ctx, ref, "/public_html", "/copy", false)
	must(t, err)
	must(t, d.Remove(ctx, ref, "/copy", true))
	for _, link := range []string{"abs", "updir", "root"} {
		must(t, d.Remove(ctx, ref, "/public_html/"+link, true))
	}
	if got, err := os.ReadFile(filepath.Join(filepath.Dir(home), "secret")); err != nil || string(got) != "SECRET" {
		t.Errorf("the file outside is %q, %v", got, err)
	}
}

func TestWritingToALinkWritesTheFileBehindIt(t *testing.T) {
	d, home := newHome(t)
	must(t, os.WriteFile(filepath.Join(home, "public_html/real"), []byte("old"), 0o600))
	must(t, os.Symlink("real", filepath.Join(home, "public_html/link")))
	_, err := d.Write(t.Context(), ref, "/public_html/link", []byte("new"), panel.WriteOptions{})
	must(t, err)
	info, err := os.Lstat(filepath.Join(home, "public_html/real"))
	must(t, err)
	if got, _ := os.ReadFile(filepath.Join(home, "public_html/real")); string(got) != "new" || info.Mode().Perm() != 0o600 {
		t.Errorf("real is %q with mode %s", got, info.Mode())
	}
}

func TestPipesBlockNobody(t *testing.T) {
	d, home := newHome(t)
	must(t, syscall.Mkfifo(filepath.Join(home, "public_html/pipe"), 0o666))
	ctx := t.Context()
	if _, err := d.Read(ctx, ref, "/public_html/pipe", panel.ReadOptions{}); !errors.Is(err, panel.ErrInvalid) {
		t.Errorf("read: %v", err)
	}
	if _, err := d.Write(ctx, ref, "/public_html/pipe", nil, panel.WriteOptions{}); !errors.Is(err, panel.ErrInvalid) {
		t.Errorf("write: %v", err)
	}
	if _, err := d.Search(ctx, ref, panel.Query{Text: "x", InContent: true}); err != nil {
		t.Errorf("search: %v", err)
	}
	zip, err := d.OpenZip(ctx, ref, "/public_html")
	must(t, err)
	_, err = io.Copy(io.Discard, zip)
	must(t, errors.Join(err, zip.Close()))
}

// A search of content reads for seconds, so one account cannot start many, and neither can many accounts together.
func TestFewSearchesOfContentRunAtOnce(t *testing.T) {
	d, _ := newHome(t)
	search := func(inContent bool) error {
		_, err := d.Search(t.Context(), ref, panel.Query{Text: "x", InContent: inContent})
		return err
	}
	var ends []func()
	take := func(ref string) {
		end, ok := d.searches.Acquire(ref)
		if !ok {
			t.Fatalf("no room for a search of %s", ref)
		}
		ends = append(ends, end)
	}
	for range mostSearches {
		must(t, search(true))
		take(ref)
	}
	if err := search(true); !errors.Is(err, panel.ErrBusy) {
		t.Errorf("one too many of the account: %v", err)
	}
	must(t, search(false)) // by name
	ends[0]()
	must(t, search(true))
	for n := len(ends) - 1; n < mostSearchesAll; n++ {
		take("another" + strconv.Itoa(n))
	}
	if err := search(true); !errors.Is(err, panel.ErrBusy) {
		t.Errorf("one too many of all: %v", err)
	}
}

func TestSweepRemovesWhatACrashLeft(t *testing.T) {
	d, home := newHome(t)
	must(t, os.MkdirAll(filepath.Join(home, "tmp", staging+"tree/sub"), 0o700))
	must(t, os.WriteFile(filepath.Join(home, "tmp", staging+"file"), make([]byte, 1000), 0o600))
	must(t, os.WriteFile(filepath.Join(home, "tmp/mine"), nil, 0o600))
	l, err := d.List(t.Context(), ref, "/tmp", 0, 0)
	must(t, err)
	if l.Total != 1 {
		t.Errorf("what is under way is listed: %+v", l.Entries)
	}
	must(t, Sweep(home))
	left, err := os.ReadDir(filepath.Join(home, "tmp"))
	must(t, err)
	if len(left) != 1 || left[0].Name() != "mine" {
		t.Errorf("left: %v", left)
	}
}

// TestWhatACustomerPutsInThePlaceOfADirectoryBlocksNobody: every start of the agent sweeps all homes in turn, and a change waits
// for the one before it.
func TestWhatACustomerPutsInThePlaceOfADirectoryBlocksNobody(t *testing.T) {
	d, home := newHome(t)
	must(t, os.RemoveAll(filepath.Join(home, "tmp")))
	must(t, syscall.Mkfifo(filepath.Join(home, "tmp"), 0o666))
	ended := make(chan error, 2)
	go func() { ended <- Sweep(home) }()
	c, err := d.enter(t.Context(), ref)
	must(t, err)
	defer c.close()
	go func() {
		if err := c.syncDir("tmp"); !errors.Is(err, syscall.ENOTDIR) {
			ended <- fmt.Errorf("sync: %w", err)
			return
		}
		ended <- nil
	}()
	for range 2 {
		select {
		case err := <-ended:
			must(t, err)
		case <-time.After(20 * time.Second):
			t.Error("a pipe blocks")
			pipe, err := os.OpenFile(filepath.Join(home, "tmp"), os.O_RDWR, 0) // lets those go on who wait
			must(t, err)
			defer pipe.Close()
			must(t, <-ended)
		}
	}
	for what, put := range map[string]func(string) error{
		"a file":  func(name string) error { return os.WriteFile(name, nil, 0o600) },
		"a link":  func(name string) error { return os.Symlink("/etc", name) },
		"nothing": func(string) error { return nil },
	} {
		must(t, os.RemoveAll(filepath.Join(home, "tmp")))
		must(t, put(filepath.Join(home, "tmp")))
		if err := Sweep(home); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func TestAbandonedZipEnds(t *testing.T) {
	d, home := newHome(t)
	must(t, os.WriteFile(filepath.Join(home, "public_html/x.bin"), make([]byte, 500_000), 0o600))
	ctx, cancel := context.WithCancel(t.Context())
	first, err := d.OpenZip(ctx, ref, "/")
	must(t, err)
	must(t, first.Close()) // the goroutine behind it ends with the pipe
	second, err := d.OpenZip(ctx, ref, "/")
	must(t, err)
	cancel()
	if _, err := io.Copy(io.Discard, second); !errors.Is(err, context.Canceled) {
		t.Errorf("read after the end of the context: %v", err)
	}
}

func TestMeterAgreesWithTheDiskAfterManyChanges(t *testing.T) {
	d, _ := newHome(t)
	ctx := t.Context()
	var wg sync.WaitGroup
	for i := range 6 {
		wg.Go(func() {
			for j := range 15 {
				dir := fmt.Sprintf("/public_html/%d", i)
				_, _ = d.Write(ctx, ref, fmt.Sprintf("%s/%d", dir, j%4), make([]byte, j*9000), panel.WriteOptions{Parents: true})
				_, _ = d.Copy(ctx, ref, dir, fmt.Sprintf("/public_html/copy%d", j%3), true)
				_, _ = d.Move(ctx, ref, fmt.Sprintf("/public_html/copy%d", j%3), fmt.Sprintf("/public_html/moved%d", i), true)
				_ = d.Remove(ctx, ref, dir, j%2 == 0)
			}
		})
	}
	wg.Wait()
	counted, err := d.Occupied(ctx, ref)
	must(t, err)
	d.Forget(ref)
	walked, err := d.Occupied(ctx, ref)
	must(t, err)
	if counted != walked {
		t.Errorf("counted %+v, on disk %+v", counted, walked)
	}
	if walked.DiskBytes > 1<<20 || walked.Inodes > 200 {
		t.Errorf("beyond the limits: %+v", walked)
	}
}

func TestLinesOfAVeryLargeFileAreReadInConstantMemory(t *testing.T) {
	const lines = 3_000_000
	var allocated float64
	r := func() io.Reader { return io.LimitReader(&repeated{text: "line of text\n"}, lines*13) }
	allocated = testing.AllocsPerRun(1, func() {
		c, err := readLines(r(), panel.ReadOptions{FromLine: 2_000_000, Lines: 2})
		if err != nil || c.TotalLines != lines || string(c.Data) != "line of text\nline of text\n" {
			t.Errorf("%d lines, %q, %v", c.TotalLines, c.Data, err)
		}
	})
	if allocated > 50 {
		t.Errorf("%v allocations", allocated)
	}
}

type repeated struct {
	text string
	at   int
}

func (r *repeated) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = r.text[r.at]
		r.at = (r.at + 1) % len(r.text)
	}
	return len(b), nil
}

func TestACustomerMakesAsManyCallsAtOnceAsThreadsAreSpared(t *testing.T) {
	d, _ := newHome(t)
	var slow []*io.PipeWriter
	var uploads sync.WaitGroup
	for i := range mostCalls {
		r, w := io.Pipe()
		slow = append(slow, w)
		uploads.Go(func() {
			if _, err := d.Upload(t.Context(), ref, fmt.Sprintf("/public_html/%d", i), r, panel.WriteOptions{}); err != nil {
				t.Error(err)
			}
		})
		_, err := w.Write([]byte("x")) // it waits for more now
		must(t, err)
	}
	if _, err := d.List(t.Context(), ref, "/", 0, 0); !errors.Is(err, panel.ErrBusy) {
		t.Errorf("one more: %v", err)
	}
	must(t, d.Measure(t.Context(), ref)) // which no customer keeps from being done
	for _, w := range slow {
		must(t, w.Close())
	}
	uploads.Wait()
	for range mostCalls {
		z, err := d.OpenZip(t.Context(), ref, "/public_html")
		must(t, err)
		defer z.Close()
	}
	if _, err := d.OpenZip(t.Context(), ref, "/public_html"); !errors.Is(err, panel.ErrBusy) {
		t.Errorf("one more archive: %v", err)
	}
}
