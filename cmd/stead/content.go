package main

import (
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"slices"

	"stead.dev/stead/internal/front/admin"
)

// contentCmd are the commands of what a company publishes.
type contentCmd struct {
	Import contentImport `cmd:"" help:"Take over the texts and pictures of a directory; one with problems changes nothing."`
	Export contentExport `cmd:"" help:"Write all texts and pictures to a directory, in the form that import reads."`
}

type contentImport struct {
	Dir   string `arg:"" type:"existingdir" help:"Directory with kb, blog, glossary and media."`
	Prune bool   `help:"Remove the texts and pictures that the directory does not have."`
}

// Run imports a directory.
func (c *contentImport) Run(e *environment) error {
	return e.administer(func(a *admin.Admin) error {
		report, err := a.ImportContent(e.ctx, os.DirFS(c.Dir), c.Prune)
		if err != nil {
			return err
		}
		return e.show(report, func(w io.Writer) {
			list := func(what string, names []string) {
				for _, name := range names {
					row(w, what, name)
				}
			}
			list("created", report.Created)
			list("updated", report.Updated)
			list("removed", report.Removed)
			row(w, "unchanged", report.Unchanged)
		})
	})
}

type contentExport struct {
	Dir string `arg:"" type:"path" help:"Directory; it is made where there is none."`
}

// exported says what an export wrote.
type exported struct {
	Files int `json:"files"`
}

// Run exports to a directory. Names come from the database and lead nowhere else: os.Root refuses others.
func (c *contentExport) Run(e *environment) error {
	return e.administer(func(a *admin.Admin) error {
		files, err := a.ExportContent(e.ctx)
		if err != nil {
			return err
		}
		if err := os.MkdirAll(c.Dir, 0o755); err != nil {
			return err
		}
		root, err := os.OpenRoot(c.Dir)
		if err != nil {
			return err
		}
		defer func() { _ = root.Close() }()
		for _, name := range slices.Sorted(maps.Keys(files)) {
			if err := root.MkdirAll(path.Dir(name), 0o755); err != nil {
				return fmt.Errorf("export %s: %w", name, err)
			}
			if err := root.WriteFile(name, files[name], 0o644); err != nil {
				return fmt.Errorf("export %s: %w", name, err)
			}
		}
		return e.show(exported{len(files)}, func(w io.Writer) { row(w, "files", len(files)) })
	})
}
