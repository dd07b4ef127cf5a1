package schema

import (
	"context"
	"io/fs"
	"testing/fstest"

	"stead.dev/stead/internal/platform/db"
)

// MigrateWith is Migrate with further files.
func MigrateWith(ctx context.Context, d *db.DB, more map[string]string) ([]string, error) {
	all := fstest.MapFS{}
	names, err := fs.Glob(files, "*.sql")
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		text, err := files.ReadFile(name)
		if err != nil {
			return nil, err
		}
		all[name] = &fstest.MapFile{Data: text}
	}
	for name, text := range more {
		all[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return migrate(ctx, d, all)
}
