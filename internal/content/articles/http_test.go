package articles

import (
	"bytes"
	"encoding/json"
	"errors"
	"image"
	"image/gif"
	"image/jpeg"
	"image/png"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"stead.dev/stead/internal/platform/api/apitest"
	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/testkit"
)

type anyItem map[string]any

type anyList struct {
	Data []anyItem `json:"data"`
	Meta struct {
		Total      int       `json:"total"`
		Categories []anyItem `json:"categories"`
	} `json:"meta"`
}

func slugsOf(items []anyItem) (all []string) {
	for _, i := range items {
		slug, _ := i["slug"].(string)
		all = append(all, slug)
	}
	return all
}

func TestTheOperationsAnswerInEveryLanguage(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		s := newService(d, clk)
		s.mustImport(t, site.with(dir{
			"kb/mail.ru.md":         strings.Replace(mail, "Mail on your phone", "Почта на телефоне", 1),
			"glossary/domain.ru.md": strings.Replace(term, "Domain", "Домен", 1),
			"glossary/backup.ru.md": strings.Replace(term, "Domain", "Архив", 1),
			"glossary/backup.en.md": strings.Replace(term, "Domain", "Zip of a site", 1),
			"blog/tip.en.md":        strings.ReplaceAll(strings.ReplaceAll(post, "news", "tips"), "2026-02-01", "2026-01-01"),
		}), false)
		edge := apitest.NewEdge(t, d, clk, apitest.Tokens{}, s.Operations())
		get := func(path string, want int, into any) string {
			t.Helper()
			r := apitest.Call(edge, "", http.MethodGet, path, "")
			if r.Code != want {
				t.Fatalf("%s: %d %s", path, r.Code, r.Body)
			}
			if into != nil {
				if err := json.Unmarshal(r.Body.Bytes(), into); err != nil {
					t.Fatal(path, err)
				}
			}
			return r.Body.String()
		}

		var list anyList
		get("/api/v1/kb", 200, &list)
		if got := slugsOf(list.Data); !slices.Equal(got, []string{"first-site", "mail"}) || list.Meta.Total != 2 {
			t.Errorf("the knowledge base has %v of %d", got, list.Meta.Total)
		}
		if title, _ := list.Data[1]["title"].(map[string]any); title["ru"] != "Почта на телефоне" || title["en"] != "Mail on your phone" {
			t.Errorf("a title is %v", list.Data[1]["title"])
		}
		if len(list.Meta.Categories) != 2 || list.Meta.Categories[0]["slug"] != "getting-started" || list.Meta.Categories[0]["count"] != 1.0 {
			t.Errorf("the categories are %v", list.Meta.Categories)
		}
		get("/api/v1/kb?lang=ru&category=email", 200, &list)
		if len(list.Data) != 1 || list.Data[0]["title"] != "Почта на телефоне" || list.Meta.Categories[1]["name"] != "Почта" {
			t.Errorf("in Russian: %v, %v", list.Data, list.Meta.Categories)
		}
		list = anyList{}
		get("/api/v1/kb?lang=ru&q="+url.QueryEscape("телефон"), 200, &list)
		match, _ := list.Data[0]["match"].(map[string]any)
		if list.Meta.Total != 1 || match["title_html"] != "Почта на <mark>телефоне</mark>" || match["lang"] != "ru" {
			t.Errorf("found is %v", list)
		}
		get("/api/v1/kb?q=%20", 200, &list)
		if list.Meta.Total != 2 {
			t.Errorf("a blank question finds %d", list.Meta.Total)
		}

		var one anyItem
		get("/api/v1/kb/first-site?lang=en", 200, &one)
		rendered, _ := one["body_html"].(string)
		for _, want := range []string{
			`<a href="https://shop.example/glossary?lang=en#domain">the terms</a>`, `<a href="https://shop.example/kb/mail?lang=en">mail</a>`,
			`<img src="https://shop.example/media/panel.png" alt="The panel" loading="lazy">`, `<h2 id="next-step">Next step</h2>`,
		} {
			if !strings.Contains(rendered, want) {
				t.Errorf("%s is not in %s", want, rendered)
			}
		}
		if one["url"] != "https://shop.example/kb/first-site?lang=en" || one["updated_at"] != "2026-01-02T00:00:00Z" {
			t.Errorf("an article is %v", one)
		}
		// There is no Uzbek one: the answer is in a language that there is.
		get("/api/v1/kb/mail?lang=uz", 200, &one)
		if one["title"] != "Mail on your phone" {
			t.Errorf("in Uzbek it is %v", one["title"])
		}

		list = anyList{}
		get("/api/v1/blog", 200, &list)
		if got := slugsOf(list.Data); !slices.Equal(got, []string{"open", "tip"}) {
			t.Errorf("the blog has %v", got)
		}
		get("/api/v1/blog?category=tips", 200, &list)
		if got := slugsOf(list.Data); !slices.Equal(got, []string{"tip"}) {
			t.Errorf("tips are %v", got)
		}
		get("/api/v1/blog/open", 200, &one)
		if author, _ := one["author"].(map[string]any); author["en"] != "The team" || one["published_at"] != "2026-02-01T00:00:00Z" || one["image_url"] != nil {
			t.Errorf("a post is %v", one)
		}

		for lang, want := range map[string][]string{"en": {"domain", "backup"}, "ru": {"backup", "domain"}} {
			list = anyList{}
			get("/api/v1/glossary?lang="+lang, 200, &list)
			if got := slugsOf(list.Data); !slices.Equal(got, want) {
				t.Errorf("the glossary in %s is %v", lang, got)
			}
		}
		if full, _ := list.Data[1]["full_html"].(string); list.Data[1]["short"] != "A name of a site." || !strings.HasPrefix(full, "<p>A name that leads") {
			t.Errorf("a term is %v", list.Data[1])
		}

		for path, status := range map[string]int{
			"/api/v1/kb/none": 404, "/api/v1/blog/mail": 404, "/api/v1/kb/%00": 404, "/api/v1/kb?category=none": 422, "/api/v1/blog?category=dns": 422,
			"/api/v1/kb?q=" + strings.Repeat("x", 300): 422, "/api/v1/kb?q=%00": 422, "/api/v1/glossary?page=1000000": 200,
		} {
			r := apitest.Call(edge, "", http.MethodGet, path, "")
			if r.Code != status {
				t.Errorf("%s: %d %s, want %d", path, r.Code, r.Body, status)
			}
		}
	})
}

func TestNothingHarmfulGetsThroughTheMarkdown(t *testing.T) {
	t.Parallel()
	for body, forbidden := range map[string]string{
		"<script>alert(1)</script>":                 "<script",
		"[x](javascript:alert(1))":                  "javascript:",
		"[x](JaVaScRiPt:alert(1))":                  "cript:",
		"[x](data:text/html,hi)":                    "data:",
		"![x](javascript:alert(1))":                 "javascript:",
		"<img src=x onerror=alert(1)>":              "onerror",
		"[x](https://example.com \"\\\" onload=\")": `" onload`,
		"```html onclick=x\nhi\n```":                "onclick",
		"# x {onclick=alert(1)}":                    "onclick=\"",
	} {
		out, err := render(Help, "en", body, "", nil)
		if err != nil || strings.Contains(strings.ToLower(out), forbidden) {
			t.Errorf("%q becomes %q, %v", body, out, err)
		}
	}
	out, err := render(Help, "uz", "## Oʻzbekcha sarlavha\n\n## Заголовок №1\n\n## Заголовок №1\n\n| a | b |\n|:-:|---|\n| 1 | `x` |\n", "", nil)
	for _, want := range []string{`id="ozbekcha-sarlavha"`, `id="заголовок-1"`, `id="заголовок-1-2"`, `<td align="center">1</td>`} {
		if err != nil || !strings.Contains(out, want) {
			t.Errorf("%s is not in %s, %v", want, out, err)
		}
	}
}

// TestPicturesHaveTheirSize reads the sizes of each form, and finds them in the HTML of an article.
func TestPicturesHaveTheirSize(t *testing.T) {
	t.Parallel()
	encoded := func(encode func(w io.Writer, m image.Image) error) string {
		var b bytes.Buffer
		if err := encode(&b, image.NewGray(image.Rect(0, 0, 40, 30))); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	webp := func(chunk, rest string) string { return "RIFF\x00\x00\x00\x00WEBP" + chunk + "\x00\x00\x00\x00" + rest }
	for name, m := range map[string]struct {
		content string
		want    size
	}{
		"a.png":        {encoded(png.Encode), size{40, 30}},
		"a.jpg":        {encoded(func(w io.Writer, m image.Image) error { return jpeg.Encode(w, m, nil) }), size{40, 30}},
		"a.gif":        {encoded(func(w io.Writer, m image.Image) error { return gif.Encode(w, m, nil) }), size{40, 30}},
		"lossy.webp":   {webp("VP8 ", "\x10\x00\x00\x9d\x01\x2a\xc0\x03\x80\x02"), size{960, 640}},
		"whole.webp":   {webp("VP8L", "\x2f\xbf\xc3\x9f\x00\x00\x00\x00\x00\x00"), size{960, 640}},
		"large.webp":   {webp("VP8X", "\x00\x00\x00\x00\xbf\x03\x00\x7f\x02\x00"), size{960, 640}},
		"drawing.svg":  {"<svg/>", size{}},
		"cut.webp":     {"RIFF\x00\x00\x00\x00WEBPVP8 ", size{}},
		"another.webp": {webp("ABCD", strings.Repeat("\x01", 20)), size{}},
		"broken.png":   {"\x89PNG\r\n\x1a\n", size{}},
	} {
		if got := (Media{Name: name, Content: []byte(m.content)}).size(); got != m.want {
			t.Errorf("%s is %v, want %v", name, got, m.want)
		}
	}
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		s := newService(d, clk)
		body := "![a](../media/a.png)\n\n![b](../media/b.svg)\n"
		s.mustImport(t, dir{
			"kb/x.en.md":  mail + "\n" + body,
			"media/a.png": encoded(png.Encode), "media/b.svg": "<svg/>",
		}, false)
		got, err := s.HTML(t.Context(), Help, "en", body, "https://stead.test")
		want := `<p><img src="https://stead.test/media/a.png" alt="a" loading="lazy" width="40" height="30"></p>` + "\n" +
			`<p><img src="https://stead.test/media/b.svg" alt="b" loading="lazy"></p>` + "\n"
		if err != nil || got != want {
			t.Errorf("%s, %v, want %s", got, err, want)
		}
	})
}

// TestAMalformedNameIsNotFound: anybody can ask for one, and PostgreSQL takes neither a NUL nor invalid UTF-8.
func TestAMalformedNameIsNotFound(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		s := newService(d, clk)
		for _, name := range []string{"\xff", "a\x00", "\x00", "A b", ""} {
			if _, err := s.Find(t.Context(), Help, name); !errors.Is(err, fault.NotFound) {
				t.Errorf("the article %q: %v", name, err)
			}
			if _, err := s.Picture(t.Context(), name+".png"); !errors.Is(err, fault.NotFound) {
				t.Errorf("the picture %q: %v", name, err)
			}
		}
	})
}
