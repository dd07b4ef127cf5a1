package webui

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"testing/fstest"

	"stead.dev/stead/internal/content/articles"
	"stead.dev/stead/internal/identity/account"
	"stead.dev/stead/internal/platform/api"
	"stead.dev/stead/internal/platform/brand"
	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/testkit"
)

// contentSwitch is the switch of the section Content.
type contentSwitch struct{ off bool }

func (c *contentSwitch) Enabled(s api.Section) bool { return s != api.Content || !c.off }

func TestPagesForEverybody(t *testing.T) {
	t.Parallel()
	clk := clock.NewFake(testkit.Start)
	d := testkit.SQLite(t, clk)
	log := slog.New(slog.DiscardHandler)
	content := articles.New(articles.Config{DB: d, Clock: clk, Log: log, BaseURL: "https://shop.example"})
	files := fstest.MapFS{}
	for name, text := range map[string]string{
		"kb/mail.en.md":         "---\ntitle: Mail on a phone\ndescription: How it is set up.\ncategory: email\nposition: 1\nupdated_at: 2026-01-02\n---\n\n![App](../media/app.png)\n\nEnter the **server**, see [domains](/glossary#domain).\n",
		"kb/mail.ru.md":         "---\ntitle: Почта на телефоне\ndescription: Как настроить.\ncategory: email\nposition: 1\nupdated_at: 2026-01-02\n---\n\nВведите сервер.\n",
		"blog/open.en.md":       "---\ntitle: We are \"open\" </script>\ndescription: News.\ncategory: news\npublished_at: 2026-02-01\nauthor: Team\n---\n\nWelcome.\n",
		"glossary/domain.en.md": "---\nterm: Domain\nshort: A name.\n---\n\nThe name of a site.\n",
		"media/app.png":         "\x89PNG\r\n\x1a\n\x00\x00\x00\x00IEND\xaeB`\x82",
	} {
		files[name] = &fstest.MapFile{Data: []byte(text)}
	}
	if _, err := content.Import(t.Context(), files, false); err != nil {
		t.Fatal(err)
	}
	sections := &contentSwitch{}
	mux := http.NewServeMux()
	New(Deps{
		Accounts: &account.Service{}, Clock: clk, Log: log, BaseURL: "https://shop.example", Brand: brand.Fixed(brand.Brand{Name: "Shop"}), Language: "en", Sections: sections, Articles: content,
		ClientAddr: func(*http.Request) netip.Addr { return netip.MustParseAddr("203.0.113.1") },
	}).Routes(mux)
	get := func(path string) (int, http.Header, string) {
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
		body, _ := io.ReadAll(w.Body)
		return w.Code, w.Header(), string(body)
	}
	for path, wants := range map[string][]string{
		"/kb?lang=en": {
			`<h1>Knowledge base</h1>`, `<a href="/kb/mail" lang="en">Mail on a phone</a>`, `<link rel="canonical" href="https://shop.example/kb?lang=en">`,
			`hreflang="uz" href="https://shop.example/kb?lang=uz"`, `hreflang="x-default" href="https://shop.example/kb"`, `"@type":"BreadcrumbList"`,
		},
		"/kb?lang=en&q=phones":       {`<mark>phone</mark>`, `<meta name="robots" content="noindex">`, `1 article found`},
		"/kb?lang=en&category=email": {`<h1>Email</h1>`, `https://shop.example/kb?category=email&amp;lang=en`},
		"/kb/mail?lang=ru":           {`<h1>Почта на телефоне</h1>`, `hreflang="en" href="https://shop.example/kb/mail?lang=en"`, `02.01.2026`},
		"/kb/mail?lang=uz": {
			`lang="en">`, `<link rel="canonical" href="https://shop.example/kb/mail?lang=en">`, `<strong>server</strong>`, `href="/glossary?lang=en#domain"`,
			`src="/media/app.png"`, `<meta property="og:image" content="https://shop.example/media/app.png">`,
		},
		"/blog?lang=en":           {`We are &#34;open&#34; &lt;/script&gt;`, `type="application/atom+xml"`},
		"/blog/open?lang=en":      {`"@type":"BlogPosting"`, `<meta property="article:published_time" content="2026-02-01">`},
		"/blog/feed.atom?lang=en": {`<feed xmlns="http://www.w3.org/2005/Atom"`, `https://shop.example/blog/open?lang=en`, `2026-02-01T00:00:00Z`},
		"/glossary?lang=en":       {`id="domain"`, `<strong>A name.</strong>`, `"DefinedTermSet"`},
		"/sitemap.xml":            {`<loc>https://shop.example/kb/mail?lang=ru</loc>`, `<loc>https://shop.example/blog?lang=uz</loc>`, `<lastmod>2026-01-02</lastmod>`},
		"/robots.txt":             {`Sitemap: https://shop.example/sitemap.xml`, `Disallow: /account`},
		"/?lang=en":               {`<a href="/kb">Knowledge base</a>`, `"@type":"Organization"`},
	} {
		code, header, body := get(path)
		if code != http.StatusOK || header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: %d %v", path, code, header)
		}
		for _, want := range wants {
			if !strings.Contains(body, want) {
				t.Errorf("%s: %s is not in\n%s", path, want, body)
			}
		}
	}
	if _, _, body := get("/kb/mail?lang=uz"); strings.Contains(body, `hreflang="uz" href="https`) {
		t.Error("a language is promised that the article does not exist in")
	}
	if _, _, body := get("/sitemap.xml"); strings.Contains(body, "kb/mail?lang=uz") {
		t.Error("the site map has a language that the article does not exist in")
	}
	if _, _, body := get("/blog/open?lang=en"); strings.Count(body, "</script>") != strings.Count(body, "<script") {
		t.Error("a title ends a block of data")
	}
	if code, header, _ := get("/media/app.png"); code != 200 || header.Get("Content-Type") != "image/png" || !strings.Contains(header.Get("Content-Security-Policy"), "sandbox") {
		t.Errorf("the picture: %d %v", code, header)
	}
	for _, path := range []string{"/kb/none", "/blog/none", "/kb?category=none", "/kb?page=0", "/kb?page=x", "/media/none.png", "/kb?q=%00", "/blog?category=email"} {
		if code, _, _ := get(path); code != http.StatusNotFound {
			t.Errorf("%s: %d", path, code)
		}
	}
	sections.off = true
	for _, path := range []string{"/kb", "/kb/mail", "/blog", "/blog/feed.atom", "/glossary", "/media/app.png"} {
		if code, _, _ := get(path); code != http.StatusNotFound {
			t.Errorf("%s, switched off: %d", path, code)
		}
	}
	for _, path := range []string{"/sitemap.xml", "/?lang=en"} {
		if _, _, body := get(path); strings.Contains(body, "/kb") || strings.Contains(body, "/blog") {
			t.Errorf("%s, switched off, has links to it", path)
		}
	}
}
