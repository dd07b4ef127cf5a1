package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"text/tabwriter"

	"stead.dev/stead/internal/app"
	"stead.dev/stead/internal/front/doctor"
	"stead.dev/stead/internal/platform/config"
	"stead.dev/stead/internal/platform/release"
)

type serveCmd struct {
	Demo bool `help:"Make a demo catalog, customer and application, and offer the demo payment gateway."`
}

// Run serves until the process is told to stop.
func (c *serveCmd) Run(e *environment) error {
	flags := map[string]string{}
	if c.Demo {
		flags["demo"] = "true"
	}
	cfg, err := e.load(flags)
	if err != nil {
		return err
	}
	a, err := app.New(e.ctx, cfg, app.Options{Version: e.version, Notices: e.stdout, Program: os.Args[0]})
	if err != nil {
		return err
	}
	return errors.Join(a.Run(e.ctx), a.Close())
}

type migrateCmd struct {
	Status bool `help:"Only list the migrations; exit code 1 when some are missing." xor:"only"`
	Plan   bool `help:"Only say what would be done, and who would wait for it." xor:"only"`
}

// Run migrates, or lists the migrations.
func (c *migrateCmd) Run(e *environment) error {
	cfg, err := e.load(nil)
	if err != nil {
		return err
	}
	switch {
	case c.Status:
		return e.migrations(cfg)
	case c.Plan:
		return e.planned(cfg)
	}
	applied, err := app.Migrate(e.ctx, cfg)
	if err != nil {
		return err
	}
	if e.json {
		return e.printJSON(map[string]any{"applied": append([]string{}, applied...)})
	}
	for _, name := range applied {
		_, _ = fmt.Fprintln(e.stdout, "applied", name)
	}
	_, _ = fmt.Fprintln(e.stdout, "the database is up to date")
	return nil
}

// shownStatement is how much of a statement a line shows.
const shownStatement = 60

func (e *environment) planned(cfg config.Config) error {
	all, err := app.PlannedMigrations(e.ctx, cfg)
	if err != nil {
		return err
	}
	return e.show(map[string]any{"planned": all}, func(w io.Writer) {
		if len(all) == 0 {
			_, _ = fmt.Fprintln(w, "nothing: the database is up to date")
			return
		}
		if cfg.SQLite() {
			_, _ = fmt.Fprintln(w, "SQLite: the server is stopped meanwhile, so nobody is served.")
		}
		row(w, "MIGRATION", "STATEMENT", "ROWS NOW", "WAITS")
		for _, p := range all {
			statement := p.Statement
			if len(statement) > shownStatement {
				statement = statement[:shownStatement] + "…"
			}
			row(w, p.Migration, statement, p.Rows, p.Waits)
		}
	})
}

func (e *environment) migrations(cfg config.Config) error {
	all, err := app.Migrations(e.ctx, cfg)
	if err != nil {
		return err
	}
	missing := false
	for _, m := range all {
		missing = missing || !m.Applied
	}
	if e.json {
		err = e.printJSON(map[string]any{"migrations": all})
	} else {
		table := tabwriter.NewWriter(e.stdout, 0, 8, 2, ' ', 0)
		for _, m := range all {
			state := "applied"
			if !m.Applied {
				state = "MISSING"
			}
			_, _ = fmt.Fprintf(table, "%s\t%s\n", state, m.Name)
		}
		err = table.Flush()
	}
	if err == nil && missing {
		return exitError(exitFailed)
	}
	return err
}

type doctorCmd struct{}

// Run examines the installation; exit code 1 when something is wrong.
func (doctorCmd) Run(e *environment) error {
	var report doctor.Report
	cfg, err := config.Load(config.Input{File: e.configFile, Environ: e.environ})
	if err != nil {
		report = doctor.Unreadable(err)
	} else {
		report = app.Examine(e.ctx, *cfg, e.version)
	}
	if e.json {
		err = e.printJSON(report)
	} else {
		err = report.Write(e.stdout)
	}
	if err == nil && report.Worst == doctor.Fail {
		return exitError(exitFailed)
	}
	return err
}

type configCmd struct{}

// Run shows all settings.
func (configCmd) Run(e *environment) error {
	cfg, err := e.load(nil)
	if err != nil {
		return err
	}
	if e.json {
		return e.printJSON(cfg.Describe())
	}
	return config.WriteTable(e.stdout, cfg.Describe())
}

type openAPICmd struct {
	Staff bool `help:"The document of the operations of staff instead."`
}

// Run prints the document of a server without configuration.
func (c openAPICmd) Run(e *environment) error {
	of := app.OpenAPI
	if c.Staff {
		of = app.StaffOpenAPI
	}
	doc, err := of(e.ctx)
	if err != nil {
		return err
	}
	_, err = e.stdout.Write(doc)
	return err
}

type versionCmd struct{}

// Run prints the version.
func (versionCmd) Run(e *environment) error {
	i := release.Read()
	return e.show(i, func(w io.Writer) {
		row(w, "version", i.Version)
		if i.Commit != "" {
			modified := ""
			if i.Modified {
				modified = ", modified"
			}
			row(w, "commit", i.Commit+modified)
			row(w, "date", i.Date)
		}
		row(w, "built with", i.Go+" for "+i.Platform)
	})
}
