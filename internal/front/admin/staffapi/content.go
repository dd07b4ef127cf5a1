package staffapi

import (
	"context"
	"net/http"
	"time"

	"stead.dev/stead/internal/content/articles"
	"stead.dev/stead/internal/front/admin"
	"stead.dev/stead/internal/platform/api"
	"stead.dev/stead/internal/platform/page"
)

type articlesIn struct {
	page.Params
	Kind     string `query:"kind" enum:"kb,blog,glossary" doc:"Only those of this kind: knowledge base, blog or glossary."`
	Language string `query:"language" enum:"uz,ru,en" doc:"Only those that are written in it."`
	Drafts   bool   `query:"drafts" doc:"Only those with a text that is a draft."`
	Q        string `query:"q" maxLength:"200" doc:"A part of a title or of the name in the address."`
}

type articleIn struct {
	Article int64 `path:"article" minimum:"1" doc:"Id of the article."`
}

type articleTextIn struct {
	articleIn
	Language string `path:"language" enum:"uz,ru,en" doc:"Language of the text."`
}

// articleBody is what an article's languages have in common, and a text.
type articleBody struct {
	Title       string   `json:"title" minLength:"1" maxLength:"120" doc:"Of a term: the term."`
	Description string   `json:"description" minLength:"1" maxLength:"400" doc:"Of a term: its short definition."`
	Keywords    []string `json:"keywords,omitempty" maxItems:"20" doc:"Words by which the search finds it, each of at most 60 letters."`
	Category    string   `json:"category,omitempty" maxLength:"40" doc:"One of its kind; terms have none."`
	Position    int      `json:"position,omitempty" minimum:"0" maximum:"100000" doc:"Of an article of the knowledge base."`
	Author      string   `json:"author,omitempty" maxLength:"80" doc:"Of a post."`
	PublishedAt string   `json:"published_at,omitempty" format:"date" doc:"Of a post; without it, today."`
	UpdatedAt   string   `json:"updated_at,omitempty" format:"date" doc:"The day on which it was last reviewed; without it, today."`
	Body        string   `json:"body" minLength:"1" maxLength:"200000" doc:"Markdown."`
}

func (b articleBody) draft(language string) articles.Draft {
	day := func(text string) time.Time {
		t, _ := time.Parse(time.DateOnly, text) // its form was checked; empty is today
		return t
	}
	return articles.Draft{
		Language: language, Category: b.Category, Position: b.Position, PublishedAt: day(b.PublishedAt),
		Text: articles.Text{
			Title: b.Title, Description: b.Description, Keywords: b.Keywords, Author: b.Author, UpdatedAt: day(b.UpdatedAt), Body: b.Body,
		},
	}
}

type newArticleIn struct {
	DryRun bool `query:"dry_run" doc:"Only check it, and answer the preview."`
	Body   struct {
		Kind     string `json:"kind" enum:"kb,blog,glossary"`
		Slug     string `json:"slug" minLength:"1" maxLength:"80" doc:"Its name in the address; it is not changed afterwards."`
		Language string `json:"language" enum:"uz,ru,en"`
		articleBody
	}
}

type saveArticleIn struct {
	articleTextIn
	DryRun bool `query:"dry_run" doc:"Only check it, and answer the preview."`
	Body   struct {
		Version int64 `json:"version" minimum:"1" doc:"The version that was read."`
		articleBody
	}
}

type publishArticleIn struct {
	articleTextIn
	Body struct {
		Version int64 `json:"version" minimum:"1" doc:"The version that was read."`
	}
}

type addPictureIn struct {
	Body struct {
		Name    string `json:"name" minLength:"1" maxLength:"80" doc:"Of the file, such as mail-on-a-phone.png."`
		Content []byte `json:"content" contentEncoding:"base64" doc:"Base64 of a PNG, JPEG, GIF or WebP of at most 2 MB and 8,192 pixels a side."`
	}
}

type pictureIn struct {
	Picture string `path:"picture" maxLength:"80" doc:"File name of the picture."`
}

// maxPictureBody is the largest body with a picture of 2 MB in base64.
const maxPictureBody = 3 << 20

// savedArticle answers a change: the article, or of a dry run the preview.
type savedArticle struct {
	Article *admin.Article        `json:"article" doc:"Null after a dry run."`
	Preview *admin.ArticlePreview `json:"preview" doc:"Null but for a dry run."`
}

func saved(a admin.Article, err error) (*savedArticle, error) {
	if err != nil {
		return nil, err
	}
	return &savedArticle{Article: &a}, nil
}

// content are the operations about what the company publishes to read.
func (s *Service) content() []api.Route {
	a := s.Admin
	try := func(ctx context.Context, d articles.Draft) (*savedArticle, error) {
		shown, err := a.PreviewArticle(ctx, d)
		if err != nil {
			return nil, err
		}
		return &savedArticle{Preview: shown}, nil
	}
	const text = "/articles/{article}/{language}"
	add := change("articles.add_picture", http.MethodPost, "/article-pictures", "Add a picture for articles", care,
		func(ctx context.Context, in *addPictureIn) (*admin.ArticlePicture, error) {
			return pointer(a.AddArticlePicture(ctx, in.Body.Name, in.Body.Content))
		})
	add.MaxBody = maxPictureBody
	return []api.Route{
		read("articles.list", "/articles", "Articles of the knowledge base, posts and terms, as those who write them see them", everyone,
			func(ctx context.Context, in *articlesIn) (*page.List[admin.Article], error) {
				return a.ListArticles(ctx, articles.Sought{Kind: articles.Kind(in.Kind), Language: in.Language, Drafts: in.Drafts, Words: in.Q}, in.Params)
			}),
		read("articles.get", "/articles/{article}", "An article with its texts", everyone, func(ctx context.Context, in *articleIn) (*admin.Article, error) {
			return pointer(a.Article(ctx, in.Article))
		}),
		change("articles.create", http.MethodPost, "/articles", "Write a new article", care, func(ctx context.Context, in *newArticleIn) (*savedArticle, error) {
			d := in.Body.draft(in.Body.Language)
			d.Kind, d.Slug = articles.Kind(in.Body.Kind), in.Body.Slug
			if in.DryRun {
				return try(ctx, d)
			}
			return saved(a.CreateArticle(ctx, d))
		}),
		change("articles.save", http.MethodPut, text, "Write an article's text in a language", care, func(ctx context.Context, in *saveArticleIn) (*savedArticle, error) {
			d := in.Body.draft(in.Language)
			if !in.DryRun {
				return saved(a.SaveArticle(ctx, in.Article, in.Body.Version, d))
			}
			before, err := a.Article(ctx, in.Article)
			if err != nil {
				return nil, err
			}
			d.Kind, d.Slug = articles.Kind(before.Kind), before.Slug
			return try(ctx, d)
		}),
		change("articles.publish", http.MethodPost, text+"/publish", "Show an article's text to readers", care,
			func(ctx context.Context, in *publishArticleIn) (*admin.Article, error) {
				return pointer(a.ShowArticle(ctx, in.Article, in.Body.Version, in.Language, true))
			}),
		change("articles.withdraw", http.MethodPost, text+"/withdraw", "Take an article's text back from readers", care,
			func(ctx context.Context, in *articleTextIn) (*admin.Article, error) {
				return pointer(a.ShowArticle(ctx, in.Article, 0, in.Language, false))
			}),
		change("articles.remove", http.MethodDelete, text, "Remove an article's text in a language", care, func(ctx context.Context, in *articleTextIn) (*api.Empty, error) {
			return nil, a.RemoveArticle(ctx, in.Article, in.Language)
		}),
		read("articles.pictures", "/article-pictures", "The pictures that articles can show", everyone,
			func(ctx context.Context, _ *struct{}) (*list[admin.ArticlePicture], error) {
				return listed(a.ArticlePictures(ctx))
			}),
		add,
		change("articles.remove_picture", http.MethodDelete, "/article-pictures/{picture}", "Remove a picture", care,
			func(ctx context.Context, in *pictureIn) (*api.Empty, error) {
				return nil, a.RemoveArticlePicture(ctx, in.Picture)
			}),
	}
}
