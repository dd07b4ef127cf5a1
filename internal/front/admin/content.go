package admin

import (
	"context"
	"io/fs"

	"stead.dev/stead/internal/content/articles"
	"stead.dev/stead/internal/platform/db"
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
