package admin

import (
	"context"
	"io/fs"

	"stead.dev/stead/internal/content/articles"
)

// ImportContent takes over the articles and pictures of a directory; with prune, it removes those that the directory does not
// have. The error of a directory with problems names all of them.
func (a *Admin) ImportContent(ctx context.Context, dir fs.FS, prune bool) (articles.Report, error) {
	return a.Articles.Import(ctx, dir, prune)
}

// ExportContent returns the articles and pictures as files, by their paths in the directory that ImportContent reads.
func (a *Admin) ExportContent(ctx context.Context) (map[string][]byte, error) {
	return a.Articles.Files(ctx)
}
