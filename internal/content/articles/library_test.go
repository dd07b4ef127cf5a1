package articles

import (
	"io/fs"
	"slices"
	"strings"
	"testing"
	"unicode"

	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/i18n"
	"stead.dev/stead/internal/platform/testkit"
)

// TestTheLibraryHasNoProblems holds of each text that ships with Stead: its front matter is valid, it exists in all
// languages and in none as a draft, its links lead somewhere, its pictures exist, and each picture is shown somewhere.
func TestTheLibraryHasNoProblems(t *testing.T) {
	t.Parallel()
	b, problems, err := readBundle(Library())
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range append(problems, b.dangling(nil)...) {
		t.Errorf("library/%s", p)
	}
	if len(b.articles) < 5 {
		t.Errorf("the library has %d articles", len(b.articles))
	}
	for _, a := range b.articles {
		for _, lang := range i18n.Supported() {
			text, there := a.Texts[lang]
			if !there {
				t.Errorf("library/%s is missing", filePath(a.Kind, a.Slug, lang))
			}
			if text.Draft {
				t.Errorf("library/%s is a draft", filePath(a.Kind, a.Slug, lang))
			}
		}
	}
	shown := map[string]bool{}
	for _, f := range b.files {
		for _, r := range f.references {
			shown[r.String()] = true
		}
		checkLanguage(t, f)
	}
	for _, m := range b.media {
		if !shown["media/"+m.Name] {
			t.Errorf("library/media/%s is shown nowhere", m.Name)
		}
	}
}

// checkLanguage finds texts that are not in their language, and the wrong apostrophes in Uzbek ones.
func checkLanguage(t *testing.T, f *file) {
	t.Helper()
	prose := f.text.Title + " " + f.text.Description + " " + plain(f.text.Body)
	cyrillic, letters := 0, 0
	for _, c := range prose {
		if unicode.IsLetter(c) {
			letters++
		}
		if unicode.Is(unicode.Cyrillic, c) {
			cyrillic++
		}
	}
	if russian := cyrillic*2 > letters; russian != (f.lang == i18n.Russian) {
		t.Errorf("library/%s is in another language", f.path)
	}
	if f.lang != i18n.Uzbek {
		return
	}
	// Between letters, the marks of Uzbek are U+02BB (oʻ, gʻ) and U+02BC; in code they may be anything.
	runes := []rune(prose)
	for i := 1; i+1 < len(runes); i++ {
		if strings.ContainsRune("'`‘’", runes[i]) && unicode.IsLetter(runes[i-1]) && unicode.IsLetter(runes[i+1]) {
			t.Errorf("library/%s: %q: write ʻ (U+02BB) in oʻ and gʻ, else ʼ (U+02BC)", f.path, string(runes[max(0, i-12):min(len(runes), i+12)]))
		}
	}
}

func TestTheLibraryIsExportedAsItIsWritten(t *testing.T) {
	t.Parallel()
	d := testkit.SQLite(t, clock.NewFake(testkit.Start))
	s := newService(d, clock.NewFake(testkit.Start))
	if err := s.BringLibrary(t.Context()); err != nil {
		t.Fatal(err)
	}
	before, err := s.Files(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	exported := dir{}
	for name, content := range before {
		exported[name] = string(content)
	}
	if r := s.mustImport(t, exported, true); r.Unchanged == 0 || len(r.Created)+len(r.Updated)+len(r.Removed) > 0 {
		t.Errorf("importing what was exported says %+v", r)
	}
	var lines int
	err = fs.WalkDir(Library(), ".", func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			lines++
		}
		return err
	})
	if err != nil || lines != len(before) {
		t.Errorf("the library has %d files, exported are %d; %v", lines, len(before), err)
	}
}

func TestANewerLibraryLeavesWhatTheCompanyHasChanged(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		s := newService(d, clk)
		read := func(files dir) bundle {
			t.Helper()
			b, problems, err := readBundle(files.fs())
			if err != nil || len(problems) > 0 {
				t.Fatal(problems, err)
			}
			return b
		}
		bring := func(files dir, version string) {
			t.Helper()
			if err := s.bring(t.Context(), read(files), version); err != nil {
				t.Fatal(err)
			}
		}
		text := func(title string) string { return strings.Replace(mail, "Mail on your phone", title, 1) }
		first := dir{"kb/kept.en.md": text("one"), "kb/edited.en.md": text("one"), "kb/removed.en.md": text("one"), "kb/retired.en.md": text("one"), "kb/dropped.en.md": text("one"), "media/a.png": pixel}
		s.mustImport(t, dir{"kb/own.en.md": text("own")}, false) // before the library comes
		bring(first.with(dir{"kb/own.en.md": text("one")}), "v1")
		// The company edits one, and another that the next library does not have, and removes a third.
		s.mustImport(t, dir{
			"kb/edited.en.md": text("ours"), "kb/dropped.en.md": text("ours"), "kb/kept.en.md": text("one"),
			"kb/own.en.md": text("own"), "kb/retired.en.md": text("one"), "media/a.png": pixel,
		}, true)
		next := dir{"kb/own.en.md": text("two"), "kb/kept.en.md": text("two"), "kb/edited.en.md": text("two"), "kb/removed.en.md": text("two"), "kb/new.en.md": text("two"), "media/a.png": otherPixel}
		bring(next, "v2")
		want := map[string]string{"own": "own", "kept": "two", "edited": "ours", "dropped": "ours", "new": "two"}
		all, _, err := s.List(t.Context(), Listing{Kind: Help, Lang: "en"})
		if err != nil || len(all) != len(want) {
			t.Errorf("there are %v, %v, want %v", all, err, want)
		}
		for _, a := range all {
			if got := a.Texts["en"].Title; got != want[a.Slug] {
				t.Errorf("%s says %q, want %q", a.Slug, got, want[a.Slug])
			}
		}
		if m, err := s.Picture(t.Context(), "a.png"); err != nil || string(m.Content) != otherPixel {
			t.Errorf("the picture is %q, %v", m.Content, err)
		}
		// The same version again changes nothing, whatever has happened meanwhile.
		s.mustImport(t, dir{"kb/own.en.md": text("own")}, true)
		bring(next, "v2")
		if all, _, _ := s.List(t.Context(), Listing{Kind: Help, Lang: "en"}); len(all) != 1 {
			t.Errorf("the library came back: %v", all)
		}
		// Nothing that was removed comes back with a later one.
		bring(next, "v3")
		if all, _, _ := s.List(t.Context(), Listing{Kind: Help, Lang: "en"}); len(all) != 1 {
			t.Errorf("the library came back: %v", all)
		}
	})
}

func TestCategoriesHaveNames(t *testing.T) {
	t.Parallel()
	for k, all := range categories {
		for _, c := range all {
			for lang, name := range CategoryName(k, c) {
				if strings.HasPrefix(name, "articles.") {
					t.Errorf("%s/%s has no name in %s", k, c, lang)
				}
			}
		}
	}
	if !slices.Equal(categories[Post], []string{"guides", "comparison", "tips", "news"}) {
		t.Error("the categories of the blog are the specification's")
	}
}
