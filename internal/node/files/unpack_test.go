package files

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/text/encoding/charmap"

	"stead.dev/stead/internal/port/panel"
)

// thing is a member of an archive made for a test.
type thing struct {
	name, content, link string
	mode                fs.FileMode
}

func makeZip(t testing.TB, things ...thing) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, th := range things {
		h := &zip.FileHeader{Name: th.name, Method: zip.Deflate}
		h.SetMode(th.mode)
		f, err := w.CreateHeader(h)
		must(t, err)
		if !strings.HasSuffix(th.name, "/") {
			_, err = f.Write([]byte(th.content + th.link))
			must(t, err)
		}
	}
	must(t, w.Close())
	return b.Bytes()
}

func makeTar(t testing.TB, things ...thing) []byte {
	t.Helper()
	var b bytes.Buffer
	gz := gzip.NewWriter(&b)
	w := tar.NewWriter(gz)
	for _, th := range things {
		h, err := tar.FileInfoHeader(fakeInfo{th}, th.link)
		must(t, err)
		h.Name = th.name
		if th.mode.Type() == fs.ModeIrregular {
			h.Typeflag, h.Linkname, h.Size = tar.TypeLink, th.link, 0
		}
		must(t, w.WriteHeader(h))
		_, err = w.Write([]byte(th.content))
		must(t, err)
	}
	must(t, w.Close())
	must(t, gz.Close())
	return b.Bytes()
}

// extract unpacks archive into /public_html/out of a fresh home.
func extract(t testing.TB, archive []byte) (string, panel.Extracted, error) {
	t.Helper()
	d, home := newHome(t)
	must(t, os.WriteFile(filepath.Join(home, "archive"), archive, 0o600))
	_, listed := d.ListArchive(t.Context(), ref, "/archive", maxMembers)
	got, err := d.Extract(t.Context(), ref, "/archive", "/public_html/out", false)
	if errors.Is(err, panel.ErrPathNotAllowed) != errors.Is(listed, panel.ErrPathNotAllowed) {
		t.Errorf("extracted: %v, listed: %v", err, listed)
	}
	return home, got, err
}

// nothingEscaped holds what must be true after any extraction, whatever was in the archive.
func nothingEscaped(t testing.TB, home string) {
	t.Helper()
	beside, err := os.ReadDir(filepath.Dir(home))
	must(t, err)
	if secret, _ := os.ReadFile(filepath.Join(filepath.Dir(home), "secret")); len(beside) != 2 || string(secret) != "SECRET" {
		t.Fatalf("outside the home: %v, secret %q", beside, secret)
	}
	var total int64
	must(t, filepath.WalkDir(home, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		switch m := info.Mode(); {
		case m&(fs.ModeSetuid|fs.ModeSetgid|fs.ModeSticky|fs.ModeDevice|fs.ModeNamedPipe|fs.ModeSocket) != 0:
			t.Errorf("%s has mode %s", path, m)
		case m.IsRegular():
			total += info.Size()
			if n := info.Sys(); n == nil {
				t.Errorf("%s cannot be told", path)
			}
		}
		return nil
	}))
	if total > 1<<20+1<<18 { // the limit, and the archive that was put there past the meter
		t.Fatalf("%d bytes in an account of 1 MB", total)
	}
	staged, err := filepath.Glob(filepath.Join(home, "tmp", staging+"*"))
	must(t, err)
	if len(staged) != 0 {
		t.Fatalf("left behind: %v", staged)
	}
}

func TestHarmfulArchivesWriteNothing(t *testing.T) {
	ok := thing{name: "ok.txt", content: "ok"}
	link := fs.ModeSymlink | 0o777
	for name, c := range map[string]struct {
		things []thing
		kind   panel.Kind
	}{
		"climbing":                {[]thing{ok, {name: "../escaped"}}, panel.ErrPathNotAllowed},
		"climbing deep":           {[]thing{ok, {name: "a/../../../escaped"}}, panel.ErrPathNotAllowed},
		"absolute":                {[]thing{ok, {name: "/etc/escaped"}}, panel.ErrPathNotAllowed},
		"absolute link":           {[]thing{ok, {name: "l", link: "/etc", mode: link}}, panel.ErrPathNotAllowed},
		"climbing link":           {[]thing{ok, {name: "a/l", link: "../../x", mode: link}}, panel.ErrPathNotAllowed},
		"file through link":       {[]thing{ok, {name: "l", link: "ok", mode: link}, {name: "l/x", content: "x"}}, panel.ErrInvalid},
		"file, then link":         {[]thing{ok, {name: "l/x", content: "x"}, {name: "l", link: "ok", mode: link}}, panel.ErrInvalid},
		"twice":                   {[]thing{ok, {name: "./ok.txt", content: "other"}}, panel.ErrInvalid},
		"file below file":         {[]thing{ok, {name: "ok.txt/x", content: "x"}}, panel.ErrInvalid},
		"NUL or nothing":          {[]thing{ok, {name: ".", content: "x"}}, panel.ErrInvalid},
		"reserved":                {[]thing{ok, {name: ".stead-x", content: "x"}}, panel.ErrPathNotAllowed},
		"more than fits":          {[]thing{ok, {name: "big", content: strings.Repeat("x", 1<<20+1)}}, panel.ErrDiskFull},
		"pipe":                    {[]thing{ok, {name: "p", mode: fs.ModeNamedPipe | 0o666}}, panel.ErrInvalid},
		"device":                  {[]thing{ok, {name: "d", mode: fs.ModeDevice | fs.ModeCharDevice | 0o666}}, panel.ErrInvalid},
		"hard link to the system": {[]thing{ok, {name: "h", link: "/etc/passwd", mode: fs.ModeIrregular}}, panel.ErrPathNotAllowed},
		"hard link, climbing":     {[]thing{ok, {name: "h", link: "../../secret", mode: fs.ModeIrregular}}, panel.ErrPathNotAllowed},
		"hard link to a later":    {[]thing{{name: "h", link: "ok.txt", mode: fs.ModeIrregular}, ok}, panel.ErrInvalid},
		"hard link to itself":     {[]thing{ok, {name: "h", link: "h", mode: fs.ModeIrregular}}, panel.ErrInvalid},
		"hard link to a link":     {[]thing{ok, {name: "l", link: "ok.txt", mode: link}, {name: "h", link: "l", mode: fs.ModeIrregular}}, panel.ErrInvalid},
		"hard link to a dir":      {[]thing{ok, {name: "d/x"}, {name: "h", link: "d", mode: fs.ModeIrregular}}, panel.ErrInvalid},
		"hard link to nothing":    {[]thing{ok, {name: "h", link: "nothing", mode: fs.ModeIrregular}}, panel.ErrInvalid},
		"hard link twice":         {[]thing{ok, {name: "h", link: "ok.txt", mode: fs.ModeIrregular}, {name: "h", link: "ok.txt", mode: fs.ModeIrregular}}, panel.ErrInvalid},
		"below a hard link":       {[]thing{ok, {name: "h", link: "ok.txt", mode: fs.ModeIrregular}, {name: "h/x"}}, panel.ErrInvalid},
		"hard links beyond disk":  {[]thing{ok, {name: "half", content: strings.Repeat("x", 1<<19)}, {name: "h", link: "half", mode: fs.ModeIrregular}, {name: "h2", link: "half", mode: fs.ModeIrregular}}, panel.ErrDiskFull},
	} {
		for format, archive := range map[string][]byte{"zip": makeZip(t, c.things...), "tar.gz": makeTar(t, c.things...)} {
			if format == "zip" && strings.HasPrefix(name, "hard link") {
				continue // a zip has none
			}
			home, got, err := extract(t, archive)
			if !errors.Is(err, c.kind) || got != (panel.Extracted{}) {
				t.Errorf("%s (%s): %+v, %v; want %s", name, format, got, err, c.kind)
			}
			if _, err := os.Stat(filepath.Join(home, "public_html/out")); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%s (%s): something was written", name, format)
			}
			nothingEscaped(t, home)
		}
	}
}

func TestHarmlessArchivesUnpackWithPlainModes(t *testing.T) {
	things := []thing{
		{name: "./", mode: fs.ModeDir | 0o777},
		{name: "dir/", mode: fs.ModeDir | 0o777},
		{name: "dir/run.sh", content: "#!", mode: fs.ModeSetuid | 0o777},
		{name: "dir/page.html", content: "<p>", mode: 0o400},
		{name: "index.html", link: "dir/page.html", mode: fs.ModeSymlink | 0o777},
		{name: "implied/deep/x", content: "x", mode: 0o666},
	}
	for _, archive := range [][]byte{makeZip(t, things...), makeTar(t, things...)} {
		home, got, err := extract(t, archive)
		must(t, err)
		if got.Files != 4 || got.Bytes != 6 {
			t.Errorf("extracted %+v", got)
		}
		out := filepath.Join(home, "public_html/out")
		for name, mode := range map[string]fs.FileMode{
			"dir": fs.ModeDir | 0o755, "dir/run.sh": 0o755, "dir/page.html": 0o644, "implied/deep/x": 0o644,
		} {
			if info, err := os.Lstat(filepath.Join(out, name)); err != nil || info.Mode() != mode {
				t.Errorf("%s: %v, %v", name, info.Mode(), err)
			}
		}
		if content, err := os.ReadFile(filepath.Join(out, "index.html")); err != nil || string(content) != "<p>" {
			t.Errorf("through the link: %q, %v", content, err)
		}
		nothingEscaped(t, home)
	}
}

func TestNamesOfOldWindowsArchivesAreRead(t *testing.T) {
	name, err := charmap.CodePage866.NewEncoder().String(`папка\файл.txt`)
	must(t, err)
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	_, err = w.CreateHeader(&zip.FileHeader{Name: name, NonUTF8: true})
	must(t, err)
	must(t, w.Close())
	home, _, err := extract(t, b.Bytes())
	must(t, err)
	if _, err := os.Stat(filepath.Join(home, "public_html/out/папка/файл.txt")); err != nil {
		t.Error(err)
	}
}

func TestBombsAreRefusedQuickly(t *testing.T) {
	// 2 GB of zeros in one tar member: refused by what it declares.
	var b bytes.Buffer
	gz := gzip.NewWriter(&b)
	w := tar.NewWriter(gz)
	must(t, w.WriteHeader(&tar.Header{Name: "zeros", Size: 2 << 30, Mode: 0o644, Typeflag: tar.TypeReg}))
	must(t, gz.Close())
	home, _, err := extract(t, b.Bytes())
	if !errors.Is(err, panel.ErrInvalid) && !errors.Is(err, panel.ErrDiskFull) {
		t.Errorf("tar bomb: %v", err)
	}
	nothingEscaped(t, home)

	// A zip that declares less than it holds.
	archive := makeZip(t, thing{name: "liar", content: strings.Repeat("x", 5000)})
	for _, sig := range []string{"PK\x01\x02", "PK\x03\x04"} {
		at := bytes.Index(archive, []byte(sig)) + map[string]int{"PK\x01\x02": 24, "PK\x03\x04": 22}[sig]
		binary.LittleEndian.PutUint32(archive[at:], 10)
	}
	home, _, err = extract(t, archive)
	if !errors.Is(err, panel.ErrInvalid) {
		t.Errorf("lying zip: %v", err)
	}
	nothingEscaped(t, home)

	// More members than the account has inodes.
	many := make([]thing, 300)
	for i := range many {
		many[i].name = fmt.Sprintf("%d/%d", i%7, i)
	}
	home, got, err := extract(t, makeZip(t, many...))
	if !errors.Is(err, panel.ErrLimit) || got.Files != 0 {
		t.Errorf("too many members: %+v, %v", got, err)
	}
	nothingEscaped(t, home)

	// Few members that have very many directories above them.
	deep := make([]thing, 70)
	for i := range deep {
		deep[i].name = fmt.Sprintf("%d%s", i, strings.Repeat("/a", 2000))
	}
	home, _, err = extract(t, makeTar(t, deep...))
	if !errors.Is(err, panel.ErrInvalid) || !strings.Contains(fmt.Sprint(err), "names") {
		t.Errorf("too many names: %.200v", err)
	}
	nothingEscaped(t, home)

	// A directory of a zip too large to be read into memory.
	reader := &budget{r: bytes.NewReader(make([]byte, maxDirectory*2)), left: maxDirectory}
	var buf [4096]byte
	for off := int64(0); err == nil || !errors.Is(err, panel.ErrInvalid); off += 4096 {
		if off > maxDirectory {
			t.Fatal("the budget did not end")
		}
		_, err = reader.ReadAt(buf[:], off)
	}
}

func TestBrokenArchivesAreInvalid(t *testing.T) {
	whole := map[string][]byte{
		"zip":    makeZip(t, thing{name: "a", content: strings.Repeat("abc", 1000)}),
		"tar.gz": makeTar(t, thing{name: "a", content: strings.Repeat("abc", 1000)}),
	}
	for format, archive := range whole {
		for _, cut := range []int{3, 20, len(archive) / 2, len(archive) - 9} {
			home, _, err := extract(t, archive[:cut])
			if !errors.Is(err, panel.ErrInvalid) {
				t.Errorf("%s cut to %d: %v", format, cut, err)
			}
			nothingEscaped(t, home)
		}
	}
}

func FuzzExtractZip(f *testing.F) {
	f.Add(makeZip(f, thing{name: "a/b", content: "x"}, thing{name: "l", link: "a", mode: fs.ModeSymlink | 0o777}))
	f.Add(makeZip(f, thing{name: "../x", content: "x"}))
	f.Add(makeZip(f, thing{name: `..\x`, content: "x"}, thing{name: "d/", mode: fs.ModeDir | 0o755}))
	f.Fuzz(fuzzExtract)
}

func FuzzExtractTar(f *testing.F) {
	f.Add(makeTar(f, thing{name: "a/b", content: "x"}, thing{name: "l", link: "a", mode: fs.ModeSymlink | 0o777}))
	f.Add(makeTar(f, thing{name: "../x", content: "x"}))
	f.Add(makeTar(f, thing{name: "h", link: "../../secret", mode: fs.ModeIrregular}))
	f.Fuzz(fuzzExtract)
}

func fuzzExtract(t *testing.T, archive []byte) {
	if len(archive) > 1<<18 {
		return
	}
	home, _, err := extract(t, archive)
	if err != nil && panel.KindOf(err) == panel.ErrInternal {
		t.Errorf("an archive of a customer is no failure of ours: %v", err)
	}
	nothingEscaped(t, home)
}

// fakeInfo describes a thing to the tar package.
type fakeInfo struct{ thing }

func (f fakeInfo) Name() string       { return f.name }
func (f fakeInfo) Size() int64        { return int64(len(f.content)) }
func (f fakeInfo) Mode() fs.FileMode  { return tarMode(f.mode) }
func (f fakeInfo) ModTime() time.Time { return time.Unix(0, 0) }
func (f fakeInfo) IsDir() bool        { return f.mode.IsDir() }
func (f fakeInfo) Sys() any           { return nil }

// tarMode lets a hard link pass for a file, until its type is set.
func tarMode(m fs.FileMode) fs.FileMode { return m &^ fs.ModeIrregular }

// TestWhatCannotBeUnpackedIsToldBeforeTheFirstFile: zips with passwords, and those that Windows makes of very large files.
func TestWhatCannotBeUnpackedIsToldBeforeTheFirstFile(t *testing.T) {
	for name, h := range map[string]zip.FileHeader{
		"a password":  {Name: "b.txt", Method: zip.Deflate, Flags: 1},
		"deflate64":   {Name: "b.txt", Method: 9},
		"a directory": {Name: "b/", Flags: 1},
	} {
		var b bytes.Buffer
		w := zip.NewWriter(&b)
		first, err := w.Create("a.txt")
		must(t, err)
		_, err = first.Write([]byte("a"))
		must(t, err)
		h.CompressedSize64, h.UncompressedSize64 = 1, 1
		if strings.HasSuffix(h.Name, "/") {
			h.CompressedSize64, h.UncompressedSize64 = 0, 0
		}
		raw, err := w.CreateRaw(&h)
		must(t, err)
		_, err = raw.Write(make([]byte, h.CompressedSize64))
		must(t, err)
		must(t, w.Close())
		home, _, err := extract(t, b.Bytes())
		if panel.KindOf(err) != panel.ErrInvalid {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := os.Stat(filepath.Join(home, "public_html", "out")); err == nil {
			t.Errorf("%s: something was written", name)
		}
	}
}

// TestAFileThatShrinksIsPackedAllTheSame: what a site writes anew while it is packed.
func TestAFileThatShrinksIsPackedAllTheSame(t *testing.T) {
	var b bytes.Buffer
	p := newTarGz(&b)
	for _, name := range []string{"first", "second"} {
		must(t, p.add(name, fakeInfo{thing{name: name, content: "0123456789"}}, "", strings.NewReader("012")))
	}
	must(t, p.Close())
	_, got, err := extract(t, b.Bytes())
	if err != nil || got.Files != 2 || got.Bytes != 20 {
		t.Errorf("%+v, %v", got, err)
	}
}
