package admin

import (
	"context"
	"errors"
	"io/fs"
	"strconv"
	"time"

	"stead.dev/stead/internal/content/articles"
	"stead.dev/stead/internal/identity/audit"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/page"
)

// ImportContent takes over the articles and pictures of a directory; with prune, it removes those that the directory does not
// have. The error of a directory with problems names all of them.
func (a *Admin) ImportContent(ctx context.Context, dir fs.FS, prune bool) (articles.Report, error) {
	return a.Articles.Import(a.change(ctx, "content.import", "", subject{kind: "content", state: countContent}), dir, prune)
}

// ExportContent returns the articles and pictures as files, by their paths in the directory that ImportContent reads.
func (a *Admin) ExportContent(ctx context.Context) (map[string][]byte, error) {
	return a.Articles.Files(ctx)
}

func countContent(ctx context.Context, q db.Querier) (any, error) {
	var articles, media int64
	err := q.QueryRow(ctx, `SELECT (SELECT COUNT(*) FROM articles), (SELECT COUNT(*) FROM articles_media)`).Scan(&articles, &media)
	return map[string]int64{"articles": articles, "media": media}, err
}

// Article is an article as those who write it see it.
type Article struct {
	ID          int64                  `json:"id"`
	Kind        string                 `json:"kind" enum:"kb,blog,glossary"`
	Slug        string                 `json:"slug" doc:"Its name in the address."`
	Category    string                 `json:"category" doc:"Empty for terms of the glossary."`
	Position    int                    `json:"position" doc:"Its place among those of its category, in the knowledge base."`
	PublishedAt *time.Time             `json:"published_at" doc:"Of a post: the day on which it appears."`
	Version     int64                  `json:"version" doc:"One more with each change; whoever writes names the one that they have read."`
	Shipped     bool                   `json:"shipped" doc:"It is as Stead brought it, and a newer version of Stead may replace it."`
	Texts       map[string]ArticleText `json:"texts" doc:"By language."`
}

// ArticleText is an article in one language.
type ArticleText struct {
	Title       string    `json:"title" doc:"Of a term: the term."`
	Description string    `json:"description" doc:"Of a term: its short definition."`
	Keywords    []string  `json:"keywords"`
	Author      string    `json:"author" doc:"Of a post."`
	UpdatedAt   time.Time `json:"updated_at" doc:"The day on which it was last reviewed."`
	Draft       bool      `json:"draft" doc:"Readers do not see it."`
	Body        string    `json:"body,omitempty" doc:"Markdown; not in lists."`
	URL         string    `json:"url" doc:"Its page, for readers."`
}

func (a *Admin) articleOf(e articles.Editor, bodies bool) Article {
	w := Article{
		ID: e.ID, Kind: string(e.Kind), Slug: e.Slug, Category: e.Category, Position: e.Position, Version: e.Version, Shipped: e.Shipped,
		Texts: map[string]ArticleText{},
	}
	if !e.PublishedAt.IsZero() {
		w.PublishedAt = &e.PublishedAt
	}
	for lang, t := range e.Texts {
		one := articleTextOf(t)
		one.URL = a.BaseURL + articles.Path(e.Kind, e.Slug, lang)
		if !bodies {
			one.Body = ""
		}
		w.Texts[lang] = one
	}
	return w
}

func articleTextOf(t articles.Text) ArticleText {
	return ArticleText{
		Title: t.Title, Description: t.Description, Keywords: append([]string{}, t.Keywords...), Author: t.Author, UpdatedAt: t.UpdatedAt,
		Draft: t.Draft, Body: t.Body,
	}
}

// ListArticles reads a page of the articles, drafts too, by kind and slug, without their bodies.
func (a *Admin) ListArticles(ctx context.Context, w articles.Sought, p page.Params) (*page.List[Article], error) {
	found, total, err := a.Articles.Written(ctx, w, p.Limit(), p.Offset())
	if err != nil {
		return nil, err
	}
	return page.Map(p, total, found, func(e articles.Editor) Article { return a.articleOf(e, false) }), nil
}

// Article reads an article with its texts.
func (a *Admin) Article(ctx context.Context, id int64) (Article, error) {
	e, err := a.Articles.Edit(ctx, id)
	return a.articleOf(e, true), err
}

// ArticlePreview is a text as readers would get it.
type ArticlePreview struct {
	Title string `json:"title"`
	HTML  string `json:"html" doc:"HTML that is safe to show."`
}

// PreviewArticle checks a text and shows it, and writes nothing.
func (a *Admin) PreviewArticle(ctx context.Context, d articles.Draft) (*ArticlePreview, error) {
	t, html, err := a.Articles.Preview(ctx, d)
	return &ArticlePreview{t.Title, html}, err
}

// CreateArticle writes a new article in one language, as a draft.
func (a *Admin) CreateArticle(ctx context.Context, d articles.Draft) (Article, error) {
	s := newRowOf("article", "articles", articleColumns)
	s.state = articleState(`(SELECT MAX(id) FROM articles)`, d.Language)
	e, err := a.Articles.Create(a.change(ctx, "article.create", "", s), d)
	return a.articleOf(e, true), err
}

// SaveArticle writes an article's text in a language, where nobody has changed the article since that version.
func (a *Admin) SaveArticle(ctx context.Context, id, version int64, d articles.Draft) (Article, error) {
	e, err := a.Articles.Save(a.change(ctx, "article.save", "", articleSubject(id, d.Language)), id, version, d)
	return a.articleOf(e, true), err
}

// ShowArticle publishes an article's text as it has been read, or makes it a draft again.
func (a *Admin) ShowArticle(ctx context.Context, id, version int64, language string, published bool) (Article, error) {
	action := "article.withdraw"
	if published {
		action = "article.publish"
	}
	e, err := a.Articles.Show(a.change(ctx, action, "", articleSubject(id, language)), id, version, language, published)
	return a.articleOf(e, true), err
}

// RemoveArticle removes an article's text in a language, and with the last one the article.
func (a *Admin) RemoveArticle(ctx context.Context, id int64, language string) error {
	return a.Articles.Remove(a.change(ctx, "article.remove", "", articleSubject(id, language)), id, language)
}

// ArticlePicture is a picture that articles can show.
type ArticlePicture struct {
	Name   string `json:"name"`
	Path   string `json:"path" doc:"What a text names it by, and where it is served."`
	Width  int    `json:"width" doc:"In pixels; 0 where it is not known, as of drawings."`
	Height int    `json:"height"`
	Bytes  int64  `json:"bytes"`
}

func pictureOf(p articles.Picture) ArticlePicture {
	return ArticlePicture{p.Name, articles.MediaPath(p.Name), p.Width, p.Height, p.Bytes}
}

// ArticlePictures lists the pictures that articles can show.
func (a *Admin) ArticlePictures(ctx context.Context) ([]ArticlePicture, error) {
	found, err := a.Articles.Pictures(ctx)
	all := make([]ArticlePicture, len(found))
	for i, p := range found {
		all[i] = pictureOf(p)
	}
	return all, err
}

// pictureSubject is a picture of articles; the audit log keeps its sizes.
func pictureSubject(name string) subject {
	return rowOf("article_picture", "articles_media", "name, width, height, source", "name", name)
}

// AddArticlePicture keeps a new picture.
func (a *Admin) AddArticlePicture(ctx context.Context, name string, content []byte) (ArticlePicture, error) {
	p, err := a.Articles.AddPicture(a.change(ctx, "article_picture.add", "", pictureSubject(name)), name, content)
	return pictureOf(p), err
}

// RemoveArticlePicture removes a picture that no article shows.
func (a *Admin) RemoveArticlePicture(ctx context.Context, name string) error {
	return a.Articles.RemovePicture(a.change(ctx, "article_picture.remove", "", pictureSubject(name)), name)
}

const articleColumns = "kind, slug, category, position, published_at, source, version"

// articleSubject is an article with its text in a language.
func articleSubject(id int64, language string) subject {
	return subject{kind: "article", key: strconv.FormatInt(id, 10), state: articleState(strconv.FormatInt(id, 10), language)}
}

// articleState reads an article, whose id is an expression of ours, with its text in a language.
func articleState(id, language string) audit.State {
	article := columnsOf("articles", articleColumns, "id = "+id)
	text := columnsOf("articles_texts", "lang, title, description, keywords, author, updated_at, draft, body", "article_id = "+id+" AND lang = $1", language)
	return func(ctx context.Context, q db.Querier) (any, error) {
		whole, err := article(ctx, q)
		if err != nil {
			return nil, err
		}
		written, err := text(ctx, q)
		if errors.Is(err, fault.NotFound) {
			written, err = nil, nil
		}
		return map[string]any{"article": whole, "text": written}, err
	}
}
