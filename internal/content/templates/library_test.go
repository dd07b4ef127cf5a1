package templates

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"stead.dev/stead/internal/platform/i18n"
)

func TestEveryTemplateIsWhole(t *testing.T) {
	t.Parallel()
	var ids []int64
	for _, tp := range All() {
		if slices.Contains(ids, tp.ID) || tp.ID < 1 {
			t.Errorf("%s: the id %d is another's, or none", tp.Slug, tp.ID)
		}
		ids = append(ids, tp.ID)
		if tp.Category == "" || len(tp.Tags) == 0 || tp.Updated.IsZero() {
			t.Errorf("%s: %+v", tp.Slug, tp)
		}
		for _, lang := range i18n.Supported() {
			if tp.Name[lang] == "" || tp.Description[lang] == "" {
				t.Errorf("%s has no name or description in %s", tp.Slug, lang)
			}
		}
	}
	for _, slug := range []string{"landing", "shop-window", "restaurant", "portfolio", "event", "coming-soon"} {
		if Find(slug) == nil {
			t.Errorf("there is no template %s", slug)
		}
	}
}

var (
	key      = regexp.MustCompile(`\.T\.([a-z0-9_]+)`)
	loaded   = regexp.MustCompile(`(?i)(src|srcset|poster|action|formaction)=|url\(|@import|<script|<iframe|<form|\son[a-z]+=`)
	href     = regexp.MustCompile(`href="([^"]*)"`)
	anchor   = regexp.MustCompile(`id="([^"]*)"`)
	goodLink = regexp.MustCompile(`^(#[a-z-]+|tel:\+998[0-9]{9}|mailto:[a-z]+@example\.com(\?subject=[^"]*)?|https://t\.me/example|style\.css|favicon\.svg)$`)
)

// TestTheTextsOfATemplateAreThoseOfItsPage: each is in every language, and none is left over.
func TestTheTextsOfATemplateAreThoseOfItsPage(t *testing.T) {
	t.Parallel()
	for _, tp := range All() {
		source, err := library.ReadFile("library/" + tp.Slug + "/page.html")
		if err != nil {
			t.Fatal(err)
		}
		want := map[string]bool{"name": true}
		for _, found := range key.FindAllStringSubmatch(string(source), -1) {
			want[found[1]] = true
		}
		for _, lang := range i18n.Supported() {
			if got := slices.Sorted(maps.Keys(tp.texts[lang])); !slices.Equal(got, slices.Sorted(maps.Keys(want))) {
				t.Errorf("%s in %s: texts %q, want %q", tp.Slug, lang, got, slices.Sorted(maps.Keys(want)))
			}
			for id, text := range tp.texts[lang] {
				if strings.TrimSpace(text) == "" || strings.ContainsAny(text, "<>\"") || strings.Contains(text, "'") {
					t.Errorf("%s in %s: %s is %q", tp.Slug, lang, id, text)
				}
			}
		}
	}
}

// TestASiteLoadsNothingFromElsewhere: no script, no address but its own files, anchors that are there, and ways to
// write to a company that does not exist.
func TestASiteLoadsNothingFromElsewhere(t *testing.T) {
	t.Parallel()
	for _, tp := range All() {
		for _, lang := range i18n.Supported() {
			files, err := tp.Site(lang, "")
			if err != nil {
				t.Fatal(err)
			}
			if last := files[len(files)-1]; last.Name != homeName {
				t.Errorf("%s: %s is written last, want the home page", tp.Slug, last.Name)
			}
			for _, f := range files {
				if found := loaded.FindString(string(f.Content)); found != "" && !strings.Contains(found, "url(") {
					t.Errorf("%s, %s has %q", tp.Slug, f.Name, found)
				}
			}
			page := string(files[len(files)-1].Content)
			if strings.Count(page, styleLink) != 1 || strings.Count(page, iconLink) != 1 {
				t.Errorf("%s does not link its style and its icon in the lines that a preview replaces", tp.Slug)
			}
			if !strings.Contains(page, `<html lang="`+lang+`">`) || strings.Count(page, "<h1") != 1 || !strings.Contains(page, `name="viewport"`) {
				t.Errorf("%s in %s lacks its language, its one heading or its viewport", tp.Slug, lang)
			}
			var anchors []string
			for _, found := range anchor.FindAllStringSubmatch(page, -1) {
				if slices.Contains(anchors, found[1]) {
					t.Errorf("%s has the id %s twice", tp.Slug, found[1])
				}
				anchors = append(anchors, found[1])
			}
			for _, found := range href.FindAllStringSubmatch(page, -1) {
				if !goodLink.MatchString(found[1]) {
					t.Errorf("%s in %s leads to %q", tp.Slug, lang, found[1])
				}
				if to, ok := strings.CutPrefix(found[1], "#"); ok && !slices.Contains(anchors, to) {
					t.Errorf("%s leads to %q, which is not there", tp.Slug, found[1])
				}
			}
		}
	}
}

func TestATitleIsText(t *testing.T) {
	t.Parallel()
	for _, tp := range All() {
		page, err := tp.Page("en", `Café "R" <script>alert(1)</script> & {{.T.name}}`)
		if err != nil {
			t.Fatal(err)
		}
		if got := string(page); strings.Contains(got, "<script") || !strings.Contains(got, "&amp; {{.T.name}}") {
			t.Errorf("%s: %.600s", tp.Slug, got)
		}
	}
	if _, err := Find("landing").Page("de", ""); err == nil {
		t.Error("there is a page in German")
	}
}

// pictured names what a template's thumbnails are pictures of.
func (t *Template) pictured(tb testing.TB) string {
	tb.Helper()
	page, err := t.Preview(thumbnailLanguage)
	if err != nil {
		tb.Fatal(err)
	}
	sum := sha256.Sum256(page)
	return hex.EncodeToString(sum[:16])
}

const sums = "testdata/thumbnails.sum"

func (t *Template) sumLine(tb testing.TB) string { return t.pictured(tb) + "  " + t.Slug }

// TestThumbnailsShowTheirPages: pictures are of the committed pages, and of the sizes that they claim.
func TestThumbnailsShowTheirPages(t *testing.T) {
	t.Parallel()
	noted, err := os.ReadFile(sums)
	if err != nil {
		t.Fatal(err)
	}
	for _, tp := range All() {
		if !slices.Contains(strings.Split(string(noted), "\n"), tp.sumLine(t)) {
			t.Errorf("%s has changed since its thumbnails were made: run make thumbnails", tp.Slug)
		}
		for _, size := range Sizes() {
			var width, height int
			if _, err := fmt.Sscanf(string(size), "%dx%d", &width, &height); err != nil {
				t.Fatal(err)
			}
			picture := tp.thumbnails[size]
			if w, h := webpSize(picture); w != width || h != height || len(picture) > 60<<10 {
				t.Errorf("%s, %s: a picture of %dx%d in %d bytes", tp.Slug, size, w, h, len(picture))
			}
		}
	}
}

// webpSize reads the size of a WebP picture from its extended header (RFC 9649, section 2.7); zeros when it has none.
func webpSize(b []byte) (width, height int) {
	if len(b) < 30 || string(b[:4]) != "RIFF" || string(b[8:16]) != "WEBPVP8X" {
		return 0, 0
	}
	number := func(b []byte) int { return int(b[0]) | int(b[1])<<8 | int(b[2])<<16 }
	return number(b[24:27]) + 1, number(b[27:30]) + 1
}
