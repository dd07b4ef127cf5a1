package schema

import (
	"context"
	"io/fs"
	"testing/fstest"

	"stead.dev/stead/internal/platform/db"
)

// MigrateWith is Migrate with further files.
func MigrateWith(ctx context.Context, d *db.DB, more map[string]string) ([]string, error) {
	all, err := with(more)
	if err != nil {
		return nil, err
	}
	return migrate(ctx, d, all)
}

// PlanWith is Plan with further files.
func PlanWith(ctx context.Context, d *db.DB, more map[string]string) ([]Planned, error) {
	all, err := with(more)
	if err != nil {
		return nil, err
	}
	return plan(ctx, d, all)
}

// Effects tells of each statement of the migrations of an engine whether the plan knows it.
func Effects(engine string) (map[string]bool, error) {
	names, err := fs.Glob(files, "*.sql")
	if err != nil {
		return nil, err
	}
	known := map[string]bool{}
	for _, name := range names {
		text, err := fs.ReadFile(engineFS{words[engine], files}, name)
		if err != nil {
			return nil, err
		}
		for _, statement := range statements(string(text)) {
			_, waits := effect(statement)
			known[statement] = waits != WaitAll
		}
	}
	return known, nil
}

// with is the migrations with further files.
func with(more map[string]string) (fs.FS, error) {
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
	return all, nil
}
