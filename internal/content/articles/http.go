package articles

import (
	"context"
	"html"
	"net/http"
	"strings"
	"time"

	"stead.dev/stead/internal/platform/api"
	"stead.dev/stead/internal/platform/auth"
	"stead.dev/stead/internal/platform/fulltext"
	"stead.dev/stead/internal/platform/i18n"
	"stead.dev/stead/internal/platform/page"
)

// Operations of the section (specification, "Content").
func (s *Service) Operations() []api.Route {
	return []api.Route{
		// Specification, "Content": GET /api/v1/blog.
		api.Operation[blogIn, listWire[postWire]]{
			ID: "content.blog", Method: http.MethodGet, Path: "/api/v1/blog", Section: api.Content, Auth: api.Open,
			Summary: "Posts of the blog, the newest first", Handle: s.blog,
			Description: "`meta.categories` counts the posts of each category that has any.",
		},
		// Specification, "Content": GET /api/v1/blog/{slug}.
		api.Operation[oneIn, fullPostWire]{
			ID: "content.post", Method: http.MethodGet, Path: "/api/v1/blog/{slug}", Section: api.Content, Auth: api.Open,
			Description: "The whole post, as Markdown and as HTML that is safe to show. Texts are objects keyed by language, or with " +
				"`lang` one string in that language.",
			Summary: "A post of the blog", Handle: s.post,
		},
		// Specification, "Content": GET /api/v1/kb.
		api.Operation[helpIn, listWire[helpWire]]{
			ID: "content.articles", Method: http.MethodGet, Path: "/api/v1/kb", Section: api.Content, Auth: api.Open,
			Summary: "Articles of the knowledge base", Handle: s.help,
			Description: "Without `q`, the articles in the order of their categories. With `q`, those that match, the best first, " +
				"at most 200: words in any form, beginnings of words and, where nothing matches exactly, words with typing errors. " +
				"`lang` is then also the language that is searched; without it, all are. `meta.categories` counts the articles of " +
				"each category that has any, whether they match or not.",
		},
		// Specification, "Content": GET /api/v1/kb/{slug}.
		api.Operation[oneIn, fullHelpWire]{
			ID: "content.article", Method: http.MethodGet, Path: "/api/v1/kb/{slug}", Section: api.Content, Auth: api.Open,
			Description: "The whole article, as Markdown and as HTML that is safe to show. Texts are objects keyed by language, or with " +
				"`lang` one string in that language.",
			Summary: "An article of the knowledge base", Handle: s.article,
		},
		// Specification, "Content": GET /api/v1/glossary.
		api.Operation[glossaryIn, page.List[termWire]]{
			ID: "content.glossary", Method: http.MethodGet, Path: "/api/v1/glossary", Section: api.Content, Auth: api.Open,
			Summary: "Terms of hosting with a short and a full definition", Handle: s.glossary,
			Description: "In the order of the alphabet of `lang`, else of the language of `Accept-Language`.",
		},
	}
}

// Reader is the query parameter of all operations here. The edge resolves translated texts by it.
type Reader struct {
	Lang string `query:"lang" maxLength:"35" doc:"uz, ru or en: translated texts are then one string in this language, or in another where there is none, instead of an object keyed by language."`
}

type blogIn struct {
	page.Params
	Reader
	Category string `query:"category" enum:"guides,comparison,tips,news" doc:"Only posts of this category."`
}

type helpIn struct {
	page.Params
	Reader
	Category string `query:"category" enum:"getting-started,websites,domains,dns,email,files,databases,security,backups,billing,developers" doc:"Only articles of this category."`
	Q        string `query:"q" maxLength:"200" doc:"What is sought."`
}

type glossaryIn struct {
	page.Params
	Reader
}

type oneIn struct {
	Reader
	Slug string `path:"slug" maxLength:"200" doc:"Name in the address"`
}

// listWire is the envelope with the categories.
type listWire[T any] struct {
	Data []T      `json:"data"`
	Meta metaWire `json:"meta"`
}

type metaWire struct {
	page.Meta
	Categories []categoryWire `json:"categories" doc:"Those that have anything, in order."`
}

type categoryWire struct {
	Slug  string          `json:"slug"`
	Name  i18n.Translated `json:"name"`
	Count int             `json:"count"`
}

// headWire is what articles and posts have in common.
type headWire struct {
	ID          int64           `json:"id"`
	Slug        string          `json:"slug"`
	Category    string          `json:"category"`
	Title       i18n.Translated `json:"title"`
	Description i18n.Translated `json:"description"`
	Languages   []string        `json:"languages" doc:"Those that it is written in."`
	URL         string          `json:"url" doc:"Its page."`
	UpdatedAt   *time.Time      `json:"updated_at" doc:"The day on which it was last reviewed."`
}

// bodyWire is a text in both of its forms.
type bodyWire struct {
	Body     i18n.Translated `json:"body" doc:"Markdown, as it was written."`
	BodyHTML i18n.Translated `json:"body_html" doc:"HTML that is safe to show; links and pictures have whole addresses."`
}

type helpWire struct {
	headWire
	Match *matchWire `json:"match" doc:"Where q was found; null without q."`
}

type matchWire struct {
	Lang        string  `json:"lang" doc:"The language in which it was found."`
	Score       float64 `json:"score" doc:"How well it matches; comparable within one answer."`
	TitleHTML   string  `json:"title_html" doc:"The title as HTML; what was found is in mark elements."`
	ExcerptHTML string  `json:"excerpt_html" doc:"The place in the text, likewise."`
}

type fullHelpWire struct {
	headWire
	bodyWire
}

type postWire struct {
	headWire
	Author      i18n.Translated `json:"author"`
	PublishedAt time.Time       `json:"published_at"`
	ImageURL    *string         `json:"image_url" doc:"Its first picture."`
}

type fullPostWire struct {
	postWire
	bodyWire
}

type termWire struct {
	ID        int64           `json:"id"`
	Slug      string          `json:"slug"`
	Term      i18n.Translated `json:"term"`
	Short     i18n.Translated `json:"short" doc:"The definition in a sentence."`
	Full      i18n.Translated `json:"full" doc:"The whole definition: Markdown, as it was written."`
	FullHTML  i18n.Translated `json:"full_html" doc:"The same as HTML that is safe to show; links have whole addresses."`
	Languages []string        `json:"languages" doc:"Those that it is written in."`
	URL       string          `json:"url" doc:"Its place in the glossary."`
}

func (s *Service) meta(ctx context.Context, k Kind, p page.Params, total int) (metaWire, error) {
	m := metaWire{Meta: page.MetaOf(p, total), Categories: []categoryWire{}}
	counts, err := s.Counts(ctx, k)
	for _, c := range counts {
		m.Categories = append(m.Categories, categoryWire{c.Slug, CategoryName(k, c.Slug).Wire(ctx), c.Count})
	}
	return m, err
}

func (s *Service) blog(ctx context.Context, _ auth.Principal, in *blogIn) (*listWire[postWire], error) {
	all, total, err := s.List(ctx, Listing{Kind: Post, Category: in.Category, Lang: i18n.Lang(ctx), Bodies: true, Params: in.Params})
	if err != nil {
		return nil, err
	}
	answer := &listWire[postWire]{Data: []postWire{}}
	for _, a := range all {
		answer.Data = append(answer.Data, s.wirePost(ctx, a))
	}
	answer.Meta, err = s.meta(ctx, Post, in.Params, total)
	return answer, err
}

func (s *Service) post(ctx context.Context, _ auth.Principal, in *oneIn) (*fullPostWire, error) {
	a, err := s.Find(ctx, Post, in.Slug)
	if err != nil {
		return nil, err
	}
	body, err := s.wireBody(ctx, a)
	return &fullPostWire{s.wirePost(ctx, a), body}, err
}

func (s *Service) help(ctx context.Context, _ auth.Principal, in *helpIn) (*listWire[helpWire], error) {
	answer := &listWire[helpWire]{Data: []helpWire{}}
	var total int
	if strings.TrimSpace(in.Q) == "" {
		all, n, err := s.List(ctx, Listing{Kind: Help, Category: in.Category, Lang: i18n.Lang(ctx), Params: in.Params})
		if err != nil {
			return nil, err
		}
		total = n
		for _, a := range all {
			answer.Data = append(answer.Data, helpWire{headWire: s.wireHead(ctx, a)})
		}
	} else {
		q := Question{Text: in.Q, Category: in.Category}
		q.Lang, _ = i18n.Lookup(in.Lang)
		found, n, err := s.Search(ctx, q, in.Limit(), in.Offset())
		if err != nil {
			return nil, err
		}
		total = n
		for _, f := range found {
			answer.Data = append(answer.Data, helpWire{s.wireHead(ctx, f.Article), &matchWire{
				Lang: f.Lang, Score: f.Score, TitleHTML: markedHTML(f.Title), ExcerptHTML: markedHTML(f.Excerpt),
			}})
		}
	}
	var err error
	answer.Meta, err = s.meta(ctx, Help, in.Params, total)
	return answer, err
}

func (s *Service) article(ctx context.Context, _ auth.Principal, in *oneIn) (*fullHelpWire, error) {
	a, err := s.Find(ctx, Help, in.Slug)
	if err != nil {
		return nil, err
	}
	body, err := s.wireBody(ctx, a)
	return &fullHelpWire{s.wireHead(ctx, a), body}, err
}

func (s *Service) glossary(ctx context.Context, _ auth.Principal, in *glossaryIn) (*page.List[termWire], error) {
	all, total, err := s.List(ctx, Listing{Kind: Term, Lang: i18n.Lang(ctx), Bodies: true, Params: in.Params})
	if err != nil {
		return nil, err
	}
	terms := make([]termWire, len(all))
	for i, a := range all {
		head := s.wireHead(ctx, a)
		body, err := s.wireBody(ctx, a)
		if err != nil {
			return nil, err
		}
		terms[i] = termWire{
			ID: head.ID, Slug: head.Slug, Term: head.Title, Short: head.Description, Full: body.Body, FullHTML: body.BodyHTML,
			Languages: head.Languages, URL: head.URL,
		}
	}
	return page.Of(in.Params, total, terms), nil
}

func (s *Service) wireHead(ctx context.Context, a Article) headWire {
	w := headWire{
		ID: a.ID, Slug: a.Slug, Category: a.Category, Languages: a.Languages(),
		Title:       a.each(func(t Text) string { return t.Title }).Wire(ctx),
		Description: a.each(func(t Text) string { return t.Description }).Wire(ctx),
	}
	_, lang := a.In(i18n.Lang(ctx))
	w.URL = s.BaseURL + Path(a.Kind, a.Slug, lang)
	if day := a.UpdatedAt(); !day.IsZero() {
		w.UpdatedAt = &day
	}
	return w
}

func (s *Service) wirePost(ctx context.Context, a Article) postWire {
	w := postWire{headWire: s.wireHead(ctx, a), Author: a.each(func(t Text) string { return t.Author }).Wire(ctx), PublishedAt: a.PublishedAt}
	text, _ := a.In(i18n.Lang(ctx))
	if name := text.Picture(a.Kind); name != "" {
		url := s.BaseURL + MediaPath(name)
		w.ImageURL = &url
	}
	return w
}

func (s *Service) wireBody(ctx context.Context, a Article) (w bodyWire, err error) {
	rendered := i18n.Text{}
	for lang, t := range a.Texts {
		if rendered[lang], err = s.HTML(ctx, a.Kind, lang, t.Body, s.BaseURL); err != nil {
			return w, err
		}
	}
	return bodyWire{a.each(func(t Text) string { return t.Body }).Wire(ctx), rendered.Wire(ctx)}, nil
}

// markedHTML writes parts as HTML, with mark elements around what was found.
func markedHTML(parts []fulltext.Part) string {
	var b strings.Builder
	for _, p := range parts {
		if p.Match {
			b.WriteString("<mark>" + html.EscapeString(p.Text) + "</mark>")
		} else {
			b.WriteString(html.EscapeString(p.Text))
		}
	}
	return b.String()
}
