package schema

import (
	"context"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strings"

	"github.com/pressly/goose/v3"

	"stead.dev/stead/internal/platform/db"
)

// Wait is who waits for a statement of a migration.
type Wait string

// Who waits for a statement, from nobody to everybody. On SQLite a migration runs while no server does.
const (
	WaitNone    Wait = "nobody"
	WaitMoment  Wait = "everybody for a moment" // the lock of the table is held for no longer than a change of its description
	WaitRows    Wait = "writers of its rows"
	WaitWriters Wait = "writers while all rows are read"
	WaitAll     Wait = "everybody while all rows are read"
)

// Planned is a statement of a migration that is missing.
type Planned struct {
	Migration string `json:"migration"`
	Statement string `json:"statement"` // on one line, without comments
	Table     string `json:"table"`     // that it changes; empty: none
	Rows      int64  `json:"rows"`      // that the table has now
	Waits     Wait   `json:"waits"`
}

// Plan lists what Migrate would do, and who would wait for it. It changes nothing.
func Plan(ctx context.Context, d *db.DB) ([]Planned, error) { return plan(ctx, d, files) }

func plan(ctx context.Context, d *db.DB, from fs.FS) ([]Planned, error) {
	states, err := statesOf(ctx, d, from)
	if err != nil {
		return nil, err
	}
	all := []Planned{}
	var made []string // tables that the plan makes
	for _, state := range states {
		if state.State == goose.StateApplied {
			continue
		}
		text, err := fs.ReadFile(engineFS{words[d.Engine()], from}, state.Source.Path)
		if err != nil {
			return nil, fmt.Errorf("schema: plan: %w", err)
		}
		for _, statement := range statements(string(text)) {
			if strings.Contains(statement, "SET lock_timeout") { // or RESET
				continue
			}
			does := Planned{Migration: state.Source.Path, Statement: statement}
			does.Table, does.Waits = effect(statement)
			if strings.HasPrefix(statement, "CREATE ") && strings.Contains(statement, " TABLE ") {
				made = append(made, does.Table)
			}
			if does.Table != "" && !slices.Contains(made, does.Table) {
				if does.Rows, err = countRows(ctx, d, does.Table); err != nil {
					return nil, err
				}
			}
			if slices.Contains(made, does.Table) {
				does.Waits = WaitNone
			}
			all = append(all, does)
		}
	}
	return all, nil
}

func countRows(ctx context.Context, q db.Querier, table string) (rows int64, err error) {
	if err := q.QueryRow(ctx, `SELECT COUNT(*) FROM `+table).Scan(&rows); err != nil {
		return 0, fmt.Errorf("schema: rows of %s: %w", table, err)
	}
	return rows, nil
}

var (
	comments = regexp.MustCompile(`--[^\n]*`)
	spaces   = regexp.MustCompile(`\s+`)
	ends     = regexp.MustCompile(`;[ \t]*(\n|$)`)
	// blocks are statements with semicolons of their own, such as functions.
	blocks = regexp.MustCompile(`(?s)-- \+goose StatementBegin\n(.*?)-- \+goose StatementEnd\n?`)
)

// statements are those of a migration, each on one line.
func statements(text string) (all []string) {
	add := func(text string) {
		one := strings.TrimSpace(spaces.ReplaceAllString(comments.ReplaceAllString(text, ""), " "))
		if one = strings.TrimSuffix(one, ";"); one != "" {
			all = append(all, one)
		}
	}
	split := func(text string) {
		// Comments go first: one may have a semicolon at the end of its line.
		for _, part := range ends.Split(comments.ReplaceAllString(text, ""), -1) {
			add(part)
		}
	}
	at := 0
	for _, block := range blocks.FindAllStringSubmatchIndex(text, -1) {
		split(text[at:block[0]])
		add(text[block[2]:block[3]])
		at = block[1]
	}
	split(text[at:])
	return all
}

// effects are the statements of migrations, by how they begin: the table that each changes, and who waits for it on PostgreSQL. The
// first that fits counts.
var effects = []struct {
	statement *regexp.Regexp // with the table, if there is one, as its group
	waits     Wait
}{
	{regexp.MustCompile(`^CREATE (?:UNLOGGED |VIRTUAL )?TABLE (?:IF NOT EXISTS )?([a-z_]+)`), WaitNone},
	{regexp.MustCompile(`^CREATE (?:UNIQUE )?INDEX CONCURRENTLY .* ON ([a-z_]+)`), WaitNone},
	{regexp.MustCompile(`^CREATE (?:UNIQUE )?INDEX .* ON ([a-z_]+)`), WaitWriters},
	{regexp.MustCompile(`^(?:SET|RESET) lock_timeout`), WaitNone},
	{regexp.MustCompile(`^DROP INDEX CONCURRENTLY `), WaitNone},
	{regexp.MustCompile(`^DROP INDEX `), WaitMoment},
	{regexp.MustCompile(`^ALTER TABLE ([a-z_]+) (?:ADD|DROP|RENAME) COLUMN `), WaitMoment},
	{regexp.MustCompile(`^ALTER TABLE ([a-z_]+) (?:RENAME|DROP|ALTER COLUMN [a-z_]+ (?:SET|DROP) DEFAULT)`), WaitMoment},
	{regexp.MustCompile(`^ALTER TABLE ([a-z_]+) ADD CONSTRAINT .* NOT VALID$`), WaitMoment},
	{regexp.MustCompile(`^ALTER TABLE ([a-z_]+) `), WaitAll},
	{regexp.MustCompile(`^DROP TABLE (?:IF EXISTS )?([a-z_]+)`), WaitMoment},
	{regexp.MustCompile(`^(?:UPDATE|DELETE FROM|INSERT INTO) ([a-z_]+)`), WaitRows},
	{regexp.MustCompile(`^CREATE TRIGGER .* ON ([a-z_]+)`), WaitMoment},
	{regexp.MustCompile(`^CREATE (?:OR REPLACE )?(?:FUNCTION|VIEW|EXTENSION|SEQUENCE)|^COMMENT |^SELECT `), WaitNone},
}

// effect is the table that a statement changes, and who waits for it. What is not known is taken for the worst.
func effect(statement string) (table string, waits Wait) {
	for _, e := range effects {
		found := e.statement.FindStringSubmatch(statement)
		if found == nil {
			continue
		}
		if len(found) > 1 {
			table = found[1]
		}
		return table, e.waits
	}
	return "", WaitAll
}
