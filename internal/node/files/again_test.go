package files

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"stead.dev/stead/internal/port/panel"
)

const symlink = fs.ModeSymlink | 0o777

// deploy unpacks archive into the account's /public_html/out, over what is there.
func deploy(ctx context.Context, t testing.TB, d *Driver, home string, archive []byte) (panel.Extracted, error) {
	t.Helper()
	must(t, os.WriteFile(filepath.Join(home, "archive"), archive, 0o600))
	return d.Extract(ctx, ref, "/archive", "/public_html/out", true)
}

// countsAreRight compares what the driver believes with what a new one counts.
func countsAreRight(t testing.TB, d *Driver, home string) {
	t.Helper()
	believed, err := d.Occupied(t.Context(), ref)
	must(t, err)
	counted, err := New(d.resolve).Occupied(t.Context(), ref)
	must(t, err)
	if believed != counted {
		t.Fatalf("believes %+v, counted %+v", believed, counted)
	}
	nothingEscaped(t, home)
}

func TestTheSameSiteIsDeployedTwice(t *testing.T) {
	things := []thing{
		{name: "releases/2/index.html", content: "<p>"},
		{name: "current", link: "releases/2", mode: symlink},
		{name: "index.html", link: "current/index.html", mode: symlink},
		{name: "nowhere", link: "not/there", mode: symlink},
	}
	for format, archive := range map[string][]byte{"zip": makeZip(t, things...), "tar.gz": makeTar(t, things...)} {
		d, home := newHome(t)
		must(t, os.WriteFile(filepath.Join(home, "archive"), archive, 0o600))
		for range 3 {
			got, err := deploy(t.Context(), t, d, home, archive)
			if err != nil || got.Files != 4 {
				t.Fatalf("%s: %+v, %v", format, got, err)
			}
			countsAreRight(t, d, home)
		}
		if content, err := os.ReadFile(filepath.Join(home, "public_html/out/index.html")); err != nil || string(content) != "<p>" {
			t.Errorf("%s: through the links: %q, %v", format, content, err)
		}
		if _, err := d.Extract(t.Context(), ref, "/archive", "/public_html/out", false); !errors.Is(err, panel.ErrExists) {
			t.Errorf("%s: without overwrite: %v", format, err)
		}
	}
}

func TestALinkReplacesANameAndNeverWhatIsBehindIt(t *testing.T) {
	d, home := newHome(t)
	out := filepath.Join(home, "public_html/out")
	must(t, os.MkdirAll(filepath.Join(out, "kept"), 0o755))
	must(t, os.WriteFile(filepath.Join(out, "kept/file"), []byte("kept"), 0o600))
	must(t, os.WriteFile(filepath.Join(out, "file"), []byte(strings.Repeat("x", 1000)), 0o600))
	must(t, os.Symlink("kept", filepath.Join(out, "dir-link")))
	must(t, os.Symlink("../../../secret", filepath.Join(out, "leads-out")))
	_, err := d.Occupied(t.Context(), ref)
	must(t, err)
	must(t, os.WriteFile(filepath.Join(home, "archive"), nil, 0o600))
	must(t, d.Measure(t.Context(), ref))

	archive := makeTar(t,
		thing{name: "new", content: "new"},
		thing{name: "file", link: "new", mode: symlink},
		thing{name: "dir-link", link: "new", mode: symlink},
		thing{name: "leads-out", link: "new", mode: symlink},
	)
	must(t, os.WriteFile(filepath.Join(home, "archive"), archive, 0o600))
	must(t, d.Measure(t.Context(), ref))
	_, err = deploy(t.Context(), t, d, home, archive)
	must(t, err)
	for _, name := range []string{"file", "dir-link", "leads-out"} {
		if to, err := os.Readlink(filepath.Join(out, name)); err != nil || to != "new" {
			t.Errorf("%s leads to %q, %v", name, to, err)
		}
	}
	if content, err := os.ReadFile(filepath.Join(out, "kept/file")); err != nil || string(content) != "kept" {
		t.Errorf("behind the old link: %q, %v", content, err)
	}
	countsAreRight(t, d, home)
}

func TestALinkReplacesNoDirectoryAndAFileNoLink(t *testing.T) {
	d, home := newHome(t)
	out := filepath.Join(home, "public_html/out")
	must(t, os.MkdirAll(filepath.Join(out, "full"), 0o755))
	must(t, os.MkdirAll(filepath.Join(out, "empty"), 0o755))
	must(t, os.WriteFile(filepath.Join(out, "full/file"), []byte("kept"), 0o600))
	must(t, os.Symlink("full/file", filepath.Join(out, "link")))
	for _, th := range []thing{
		{name: "full", link: "ok", mode: symlink},
		{name: "empty", link: "ok", mode: symlink},
		{name: "link", content: "written through"},
		{name: "link/below", content: "x"},
		{name: "full/file/below", link: "ok", mode: symlink},
	} {
		got, err := deploy(t.Context(), t, d, home, makeTar(t, thing{name: "ok", content: "ok"}, th))
		if !errors.Is(err, panel.ErrExists) || got != (panel.Extracted{}) {
			t.Errorf("%s: %+v, %v", th.name, got, err)
		}
		if _, err := os.Lstat(filepath.Join(out, "ok")); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: something was written", th.name)
		}
	}
	if content, err := os.ReadFile(filepath.Join(out, "full/file")); err != nil || string(content) != "kept" {
		t.Errorf("%q, %v", content, err)
	}
	nothingEscaped(t, home)
}

func TestHardLinksAreUnpackedAsCopies(t *testing.T) {
	d, home := newHome(t)
	archive := makeTar(t,
		thing{name: "./bin/", mode: fs.ModeDir | 0o755},
		thing{name: "./bin/run", content: "#!run", mode: 0o755},
		thing{name: "./bin/also", link: "./bin/run", mode: fs.ModeIrregular},
		thing{name: "deep/third", link: "bin/also", mode: fs.ModeIrregular},
	)
	for range 2 {
		got, err := deploy(t.Context(), t, d, home, archive)
		if err != nil || got.Files != 3 || got.Bytes != 15 {
			t.Fatalf("%+v, %v", got, err)
		}
	}
	out := filepath.Join(home, "public_html/out")
	must(t, os.WriteFile(filepath.Join(out, "bin/run"), []byte("other"), 0o600))
	for _, name := range []string{"bin/also", "deep/third"} {
		content, err := os.ReadFile(filepath.Join(out, name))
		if err != nil || string(content) != "#!run" {
			t.Errorf("%s: %q, %v", name, content, err)
		}
		if info, err := os.Stat(filepath.Join(out, name)); err != nil || info.Mode() != 0o755 {
			t.Errorf("%s: %v, %v", name, info.Mode(), err)
		}
	}
	countsAreRight(t, d, home)
}

// A few bytes of archive may not become gigabytes by naming one file again and again.
func TestHardLinksCountAgainstTheRatio(t *testing.T) {
	dir := t.TempDir()
	must(t, os.MkdirAll(filepath.Join(dir, "tmp"), 0o750))
	d := New(func(string) (Home, error) { return Home{Account: "alice", Dir: dir}, nil }) // no limits of a plan
	things := []thing{{name: "zeros", content: strings.Repeat("\x00", 1<<20)}}
	for i := range 200 {
		things = append(things, thing{name: "again/" + strings.Repeat("x", i+1), link: "zeros", mode: fs.ModeIrregular})
	}
	must(t, os.WriteFile(filepath.Join(dir, "archive"), makeTar(t, things...), 0o600))
	got, err := d.Extract(t.Context(), ref, "/archive", "/out", false)
	if !errors.Is(err, panel.ErrInvalid) || got != (panel.Extracted{}) {
		t.Errorf("%+v, %v", got, err)
	}
}

// endsAfter is a context that ends when it has been asked so many times.
type endsAfter struct {
	context.Context
	left int
}

func (c *endsAfter) Err() error {
	if c.left--; c.left < 0 {
		return context.DeadlineExceeded
	}
	return nil
}

func TestAnInterruptedExtractionLeavesWholeFilesOnly(t *testing.T) {
	whole := strings.Repeat("x", 200<<10)
	archive := makeTar(t,
		thing{name: "a/one", content: whole}, thing{name: "b/two", content: whole},
		thing{name: "b/same", link: "b/two", mode: fs.ModeIrregular}, thing{name: "l", link: "a/one", mode: symlink},
	)
	for asked := 1; ; asked++ {
		d, home := newHome(t)
		must(t, os.WriteFile(filepath.Join(home, "archive"), archive, 0o600))
		_, err := d.Occupied(t.Context(), ref)
		must(t, err)
		_, err = deploy(&endsAfter{t.Context(), asked}, t, d, home, archive)
		countsAreRight(t, d, home)
		for _, name := range []string{"a/one", "b/two", "b/same"} {
			content, err := os.ReadFile(filepath.Join(home, "public_html/out", name))
			if err == nil && string(content) != whole {
				t.Fatalf("ended after %d: %s has %d bytes", asked, name, len(content))
			}
		}
		if err == nil {
			if asked < 10 {
				t.Fatalf("only %d questions: the extraction hardly listens", asked)
			}
			return
		}
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("ended after %d: %v", asked, err)
		}
		_, err = deploy(t.Context(), t, d, home, archive)
		must(t, err)
		countsAreRight(t, d, home)
	}
}
