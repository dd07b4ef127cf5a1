package webui

import (
	"bytes"
	"context"
	"html/template"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"stead.dev/stead/internal/content/articles"
	"stead.dev/stead/internal/platform/api"
	"stead.dev/stead/internal/platform/contentcoding"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/fulltext"
	"stead.dev/stead/internal/platform/i18n"
	"stead.dev/stead/internal/platform/page"
)

// articleRoutes adds the knowledge base, the blog and the glossary, with their pictures.
func (ui *UI) articleRoutes(mux *http.ServeMux) {
	if ui.Articles == nil {
		return
	}
	addresses := func(k articles.Kind) func(ctx context.Context) ([]address, error) {
		return func(ctx context.Context) ([]address, error) { return ui.articleAddresses(ctx, k) }
	}
	ui.publish(mux, publicKind{api.Content, "/kb", "pages.kb.title", inHeader, addresses(articles.Help)}, map[string]http.HandlerFunc{
		"GET /kb": ui.helpHome, "GET /kb/{slug}": ui.showArticle(articles.Help),
	})
	ui.publish(mux, publicKind{api.Content, "/blog", "pages.blog.title", inHeader, addresses(articles.Post)}, map[string]http.HandlerFunc{
		"GET /blog": ui.blogHome, "GET /blog/{slug}": ui.showArticle(articles.Post), "GET /blog/feed.atom": ui.blogFeed,
	})
	ui.publish(mux, publicKind{api.Content, "/glossary", "pages.glossary.title", inFooter, addresses(articles.Term)}, map[string]http.HandlerFunc{
		"GET /glossary": ui.glossary,
	})
	mux.HandleFunc("GET /media/{name}", ui.picture)
}

// articleAddresses lists the pages of a kind. All terms are on the one page of the glossary.
func (ui *UI) articleAddresses(ctx context.Context, k articles.Kind) ([]address, error) {
	addresses := []address{{path: "/" + string(k)}}
	if k == articles.Term {
		return addresses, nil
	}
	all, err := ui.Articles.Addresses(ctx, k)
	for _, a := range all {
		addresses = append(addresses, address{path: articlePath(a), languages: a.Languages(), updated: lastChange(a)})
	}
	return addresses, err
}

func articlePath(a articles.Article) string { return "/" + string(a.Kind) + "/" + a.Slug }

// lastChange is when an article was updated, else published.
func lastChange(a articles.Article) time.Time {
	if t := a.UpdatedAt(); t.After(a.PublishedAt) {
		return t
	}
	return a.PublishedAt
}

// articleRow is an article in a list.
type articleRow struct {
	Path, Title, Description, Author string
	// Found and Excerpt are the title and a place of the text with what a search has found.
	Found, Excerpt []fulltext.Part
	Lang           string // the language of the row
	PublishedAt    time.Time
}

func rowOf(a articles.Article, lang string) articleRow {
	t, in := a.In(lang)
	return articleRow{Path: articlePath(a), Title: t.Title, Description: t.Description, Author: t.Author, Lang: in, PublishedAt: a.PublishedAt}
}

// categoryLink is a category in the navigation of a list.
type categoryLink struct {
	Slug, Name, Path string
	Count            int
	Current          bool
	// Articles are the first of the category, on the first page of the knowledge base.
	Articles []articleRow
}

// listData is what the lists of articles show.
type listData struct {
	Question, Category   string
	Categories           []categoryLink
	Articles             []articleRow
	Total                int
	Newer, Older         string // paths of the pages before and after this one
	Searched, Overviewed bool
}

// listing reads what the query of a list asks for.
func (ui *UI) listing(r *http.Request, k articles.Kind) (d listData, p page.Params, err error) {
	q := r.URL.Query()
	d.Category, d.Question = q.Get("category"), strings.TrimSpace(q.Get("q"))
	if p, err = pageAsked(r); err != nil {
		return d, p, err
	}
	if len(d.Question) > 400 || strings.ContainsRune(d.Question, 0) {
		return d, p, fault.NotFound.New()
	}
	counts, err := ui.Articles.Counts(r.Context(), k)
	known := d.Category == ""
	for _, c := range counts {
		known = known || c.Slug == d.Category
		d.Categories = append(d.Categories, categoryLink{
			Slug: c.Slug, Name: articles.CategoryName(k, c.Slug).In(i18n.Lang(r.Context())), Count: c.Count,
			Path: "/" + string(k) + "?category=" + c.Slug, Current: c.Slug == d.Category,
		})
	}
	if err == nil && !known {
		err = fault.NotFound.New()
	}
	return d, p, err
}

// title is the name of the list's category, or the given one.
func (d listData) title(name string) string {
	for _, c := range d.Categories {
		if c.Current {
			return c.Name
		}
	}
	return name
}

// path is the address of a page of the list.
func (d listData) path(base string, number int) string {
	q := url.Values{}
	if d.Question != "" {
		q.Set("q", d.Question)
	}
	if d.Category != "" {
		q.Set("category", d.Category)
	}
	if number > 1 {
		q.Set("page", strconv.Itoa(number))
	}
	if len(q) == 0 {
		return base
	}
	return base + "?" + q.Encode()
}

// paged sets the links to the pages before and after.
func (d *listData) paged(base string, p page.Params) {
	if p.Page > 1 {
		d.Newer = d.path(base, p.Page-1)
	}
	if p.Offset()+p.Limit() < d.Total {
		d.Older = d.path(base, p.Page+1)
	}
}

// firstOfCategory is how many articles of a category the first page of the knowledge base shows.
const firstOfCategory = 5

func (ui *UI) helpHome(w http.ResponseWriter, r *http.Request) {
	lang := i18n.Lang(r.Context())
	d, p, err := ui.listing(r, articles.Help)
	if err != nil {
		ui.fail(w, r, err)
		return
	}
	switch {
	case d.Question != "":
		d.Searched = true
		var found []articles.Answer
		found, d.Total, err = ui.Articles.Search(r.Context(), articles.Question{Text: d.Question, Category: d.Category, Lang: lang}, p.Limit(), p.Offset())
		for _, f := range found {
			row := rowOf(f.Article, f.Lang)
			row.Found, row.Excerpt = f.Title, f.Excerpt
			d.Articles = append(d.Articles, row)
		}
	case d.Category == "" && p.Page == 1:
		d.Overviewed = true
		for i, c := range d.Categories {
			var first []articles.Article
			first, _, err = ui.Articles.List(r.Context(), articles.Listing{
				Kind: articles.Help, Category: c.Slug, Lang: lang, Params: page.Params{Page: 1, PerPage: firstOfCategory},
			})
			if err != nil {
				break
			}
			for _, a := range first {
				d.Categories[i].Articles = append(d.Categories[i].Articles, rowOf(a, lang))
			}
		}
	default:
		err = ui.list(r.Context(), &d, articles.Help, p)
	}
	if err != nil {
		ui.fail(w, r, err)
		return
	}
	d.paged("/kb", p)
	home := i18n.T(lang, "pages.kb.title", nil)
	ui.renderPublic(w, r, "kb", Meta{
		Title: d.title(home), Description: i18n.T(lang, "pages.kb.lead", nil), Path: d.path("/kb", p.Page), Hidden: d.Searched,
		Data: []any{ui.breadcrumbs(lang, crumb{home, "/kb"})},
	}, d)
}

// list reads a page of a kind into d.
func (ui *UI) list(ctx context.Context, d *listData, k articles.Kind, p page.Params) error {
	lang := i18n.Lang(ctx)
	all, total, err := ui.Articles.List(ctx, articles.Listing{Kind: k, Category: d.Category, Lang: lang, Params: p})
	d.Total = total
	for _, a := range all {
		d.Articles = append(d.Articles, rowOf(a, lang))
	}
	return err
}

func (ui *UI) blogHome(w http.ResponseWriter, r *http.Request) {
	lang := i18n.Lang(r.Context())
	d, p, err := ui.listing(r, articles.Post)
	if err == nil {
		d.Question = ""
		err = ui.list(r.Context(), &d, articles.Post, p)
	}
	if err != nil {
		ui.fail(w, r, err)
		return
	}
	d.paged("/blog", p)
	home := i18n.T(lang, "pages.blog.title", nil)
	ui.renderPublic(w, r, "blog", Meta{
		Title: d.title(home), Description: i18n.T(lang, "pages.blog.lead", nil), Path: d.path("/blog", p.Page), Feed: withLang("/blog/feed.atom", lang),
		Data: []any{ui.breadcrumbs(lang, crumb{home, "/blog"})},
	}, d)
}

func (ui *UI) blogFeed(w http.ResponseWriter, r *http.Request) {
	lang := i18n.Lang(r.Context())
	all, _, err := ui.Articles.List(r.Context(), articles.Listing{Kind: articles.Post, Lang: lang, Bodies: true, Params: page.Params{Page: 1}})
	if err != nil {
		ui.fail(w, r, err)
		return
	}
	f := feed{title: ui.Brand().Name + " · " + i18n.T(lang, "pages.blog.title", nil), path: "/blog/feed.atom", page: "/blog"}
	for _, a := range all {
		t, in := a.In(lang)
		rendered, err := ui.Articles.HTML(r.Context(), a.Kind, in, t.Body, ui.base())
		if err != nil {
			ui.fail(w, r, err)
			return
		}
		f.entries = append(f.entries, feedEntry{
			title: t.Title, path: articlePath(a), author: t.Author, summary: t.Description, html: rendered, published: a.PublishedAt, updated: lastChange(a),
		})
	}
	ui.writeFeed(w, r, f)
}

// articleData is what the page of an article shows.
type articleData struct {
	articleRow
	UpdatedAt      time.Time
	Body           template.HTML
	Home, Category crumb
	More           []articleRow // others of its category
}

func (ui *UI) showArticle(k articles.Kind) http.HandlerFunc {
	home, label := "/kb", "pages.kb.title"
	if k == articles.Post {
		home, label = "/blog", "pages.blog.title"
	}
	return func(w http.ResponseWriter, r *http.Request) {
		lang := i18n.Lang(r.Context())
		a, err := ui.Articles.Find(r.Context(), k, r.PathValue("slug"))
		if err != nil {
			ui.fail(w, r, err)
			return
		}
		t, in := a.In(lang)
		rendered, err := ui.Articles.HTML(r.Context(), k, in, t.Body, "")
		if err != nil {
			ui.fail(w, r, err)
			return
		}
		others, _, err := ui.Articles.List(r.Context(), articles.Listing{Kind: k, Category: a.Category, Lang: lang, Params: page.Params{Page: 1, PerPage: 6}})
		if err != nil {
			ui.fail(w, r, err)
			return
		}
		d := articleData{
			articleRow: rowOf(a, lang), UpdatedAt: t.UpdatedAt, Body: template.HTML(rendered), //nolint:gosec // sanitised by articles.HTML
			Home:     crumb{i18n.T(lang, label, nil), home},
			Category: crumb{articles.CategoryName(k, a.Category).In(lang), home + "?category=" + a.Category},
		}
		for _, o := range others {
			if o.ID != a.ID && len(d.More) < 5 {
				d.More = append(d.More, rowOf(o, lang))
			}
		}
		m := Meta{
			Title: t.Title, Description: t.Description, Path: articlePath(a), Languages: a.Languages(), Lang: in, Article: true,
			PublishedAt: a.PublishedAt, UpdatedAt: t.UpdatedAt,
		}
		if name := t.Picture(k); name != "" {
			m.Image = articles.MediaPath(name)
		}
		m.Data = []any{ui.articleLD(a, t, in, m), ui.breadcrumbs(lang, d.Home, d.Category, crumb{t.Title, m.Path})}
		ui.renderPublic(w, r, "article", m, d)
	}
}

// articleLD describes an article for JSON-LD.
func (ui *UI) articleLD(a articles.Article, t articles.Text, lang string, m Meta) map[string]any {
	ld := map[string]any{
		"@context": "https://schema.org", "@type": "TechArticle", "headline": t.Title, "description": t.Description, "inLanguage": lang,
		"mainEntityOfPage": ui.base() + withLang(m.Path, lang), "publisher": ui.organization(), "author": ui.organization(),
	}
	if a.Kind == articles.Post {
		ld["@type"], ld["author"] = "BlogPosting", map[string]any{"@type": "Person", "name": t.Author}
	}
	if !a.PublishedAt.IsZero() {
		ld["datePublished"] = a.PublishedAt.UTC().Format(time.DateOnly)
	}
	if !t.UpdatedAt.IsZero() {
		ld["dateModified"] = t.UpdatedAt.UTC().Format(time.DateOnly)
	}
	if m.Image != "" {
		ld["image"] = ui.base() + m.Image
	}
	return ld
}

// termRow is a term of the glossary.
type termRow struct {
	Slug, Term, Short, Lang string
	Full                    template.HTML
}

func (ui *UI) glossary(w http.ResponseWriter, r *http.Request) {
	lang := i18n.Lang(r.Context())
	all, err := ui.Articles.Terms(r.Context(), lang)
	var rows []termRow
	var terms []any
	for _, a := range all {
		t, in := a.In(lang)
		rendered, renderErr := ui.Articles.HTML(r.Context(), a.Kind, in, t.Body, "")
		if renderErr != nil {
			err = renderErr
			break
		}
		rows = append(rows, termRow{a.Slug, t.Title, t.Description, in, template.HTML(rendered)}) //nolint:gosec // sanitised by articles.HTML
		terms = append(terms, map[string]any{"@type": "DefinedTerm", "name": t.Title, "description": t.Description, "inLanguage": in})
	}
	if err != nil {
		ui.fail(w, r, err)
		return
	}
	title := i18n.T(lang, "pages.glossary.title", nil)
	ui.renderPublic(w, r, "glossary", Meta{
		Title: title, Description: i18n.T(lang, "pages.glossary.lead", nil), Path: "/glossary",
		Data: []any{map[string]any{"@context": "https://schema.org", "@type": "DefinedTermSet", "name": title, "hasDefinedTerm": terms}},
	}, rows)
}

// picture serves a picture of an article. Its policy keeps an SVG file from being anything but a picture.
func (ui *UI) picture(w http.ResponseWriter, r *http.Request) {
	m, err := articles.Media{}, error(fault.NotFound.New())
	if ui.enabled(api.Content) {
		m, err = ui.Articles.Picture(r.Context(), r.PathValue("name"))
	}
	if err != nil {
		ui.headers(w)
		ui.fail(w, ui.visit(w, r), err)
		return
	}
	h := w.Header()
	h.Set("Content-Type", m.ContentType())
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; sandbox; frame-ancestors 'none'")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "public, max-age=3600")
	h.Set("ETag", `"`+m.Hash()+`"`)
	contentcoding.ServeContent(w, r, "", time.Time{}, bytes.NewReader(m.Content))
}
