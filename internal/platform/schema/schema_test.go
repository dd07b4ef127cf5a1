package schema_test

import (
	"context"
	"errors"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/schema"
	"stead.dev/stead/internal/platform/testkit"
)

// platform are the prefixes of the tables of file NNNN_platform.sql: what no section owns.
var platform = []string{"idempotency", "outbox", "section", "keycheck", "replicas", "signal", "throttle", "controlbackup", "hold", "schema"}

var (
	fileName = regexp.MustCompile(`^(\d{4})_([a-z]+)(_[a-z_]+)?\.sql$`)
	changed  = regexp.MustCompile(`(?m)^(?:CREATE (?:\{\{unlogged\}\} )?TABLE|CREATE (?:UNIQUE )?INDEX (?:\{\{online\}\} )?\w+ ON|ALTER TABLE|DROP TABLE|INSERT INTO|UPDATE|DELETE FROM) (\w+)`)
)

// migrations are the names of the files, in the order in which they run.
func migrations(t *testing.T) []string {
	t.Helper()
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ".sql") {
			names = append(names, e.Name())
		}
	}
	return names
}

func TestEachMigrationHasItsOwnNumberAndChangesTheTablesOfItsSection(t *testing.T) {
	numbers := map[string]string{"0001": "a migration of the unreleased versions, by which their databases are known"}
	for _, name := range migrations(t) {
		parts := fileName.FindStringSubmatch(name)
		if parts == nil {
			t.Errorf("%s: a migration is named NNNN_section.sql or NNNN_section_change.sql", name)
			continue
		}
		if other, taken := numbers[parts[1]]; taken {
			t.Errorf("%s: the number is that of %s", name, other)
		}
		numbers[parts[1]] = name
		owners := []string{parts[2]}
		if parts[2] == "platform" {
			owners = platform
		}
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		tables := changed.FindAllStringSubmatch(string(text), -1)
		if len(tables) == 0 {
			t.Errorf("%s changes no table", name)
		}
		for _, m := range tables {
			if !slices.ContainsFunc(owners, func(o string) bool { return m[1] == o || strings.HasPrefix(m[1], o+"_") }) {
				t.Errorf("%s: the table %s is another section's", name, m[1])
			}
		}
	}
}

func TestMigrationsMakeTheSameTablesOnBothEngines(t *testing.T) {
	made := map[string][]string{}
	testkit.Engines(t, func(t *testing.T, d *db.DB, _ *clock.Fake) {
		all, err := schema.Status(t.Context(), d)
		if err != nil {
			t.Fatal(err)
		}
		var applied []string
		for _, m := range all {
			if m.Applied {
				applied = append(applied, m.Name)
			}
		}
		if want := migrations(t); !slices.Equal(applied, want) {
			t.Errorf("applied are %v, want %v", applied, want)
		}
		if again, err := schema.Migrate(t.Context(), d); err != nil || len(again) > 0 {
			t.Errorf("migrating again applied %v, %v", again, err)
		}
		query := `SELECT m.name || '.' || c.name FROM sqlite_master m JOIN pragma_table_info(m.name) c WHERE m.type = 'table'`
		if d.Shared() {
			query = `SELECT table_name || '.' || column_name FROM information_schema.columns WHERE table_schema = current_schema()`
		}
		columns, err := db.Collect(t.Context(), d, func(r db.Row) (name string, err error) { return name, r.Scan(&name) }, query)
		if err != nil {
			t.Fatal(err)
		}
		columns = slices.DeleteFunc(columns, func(c string) bool {
			return strings.HasPrefix(c, "river_") || strings.HasPrefix(c, "goose_") || strings.HasPrefix(c, "sqlite_") ||
				strings.Contains(c, "_fts") // indexes of package fulltext, which each engine has in a form of its own
		})
		slices.Sort(columns)
		made[d.Engine()] = columns
	})
	if len(made["sqlite"]) == 0 || !slices.Equal(made["sqlite"], made["postgres"]) {
		t.Errorf("the columns differ:\nSQLite:     %v\nPostgreSQL: %v", made["sqlite"], made["postgres"])
	}
}

func TestADatabaseOfAnUnreleasedVersionIsRefused(t *testing.T) {
	testkit.Engines(t, func(t *testing.T, d *db.DB, _ *clock.Fake) {
		// Such a database has migrations with numbers that mean other files now.
		err := d.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
			if _, err := tx.Exec(ctx, `DELETE FROM goose_db_version WHERE version_id > 20`); err != nil {
				return err
			}
			_, err := tx.Exec(ctx, `INSERT INTO goose_db_version (version_id, is_applied) VALUES (1, TRUE), (15, TRUE)`)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		if applied, err := schema.Migrate(t.Context(), d); !errors.Is(err, schema.ErrUnreleased) || len(applied) > 0 {
			t.Errorf("migrating applied %v, %v", applied, err)
		}
		if _, err := schema.Status(t.Context(), d); !errors.Is(err, schema.ErrUnreleased) {
			t.Errorf("the status is answered with %v", err)
		}
	})
}

func TestADatabaseOfANewerReleaseIsRefused(t *testing.T) {
	testkit.Engines(t, func(t *testing.T, d *db.DB, _ *clock.Fake) {
		later := map[string]string{"9000_signal_later.sql": "-- +goose Up\nCREATE TABLE signal_later (id BIGINT PRIMARY KEY);"}
		if applied, err := schema.MigrateWith(t.Context(), d, later); err != nil || len(applied) != 1 {
			t.Fatalf("migrating to the newer release applied %v, %v", applied, err)
		}
		refused := func(fits string) {
			t.Helper()
			applied, err := schema.Migrate(t.Context(), d)
			if !errors.Is(err, schema.ErrNewer) || len(applied) > 0 || !strings.Contains(err.Error(), fits) {
				t.Errorf("the older program applied %v, %v; want it refused, and %q named", applied, err, fits)
			}
			if _, err := schema.Status(t.Context(), d); !errors.Is(err, schema.ErrNewer) {
				t.Errorf("the status is answered with %v", err)
			}
		}
		rename := func(statement string) {
			t.Helper()
			err := d.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
				_, err := tx.Exec(ctx, statement)
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		rename(`UPDATE schema_releases SET release = 'v9.1.0' WHERE migration = 9000`)
		refused("by Stead v9.1.0")
		rename(`DELETE FROM schema_releases WHERE migration = 9000`) // it ended before it had noted its name
		refused("by Stead of a newer release")
		if applied, err := schema.MigrateWith(t.Context(), d, later); err != nil || len(applied) > 0 {
			t.Errorf("the newer release again: %v, %v", applied, err)
		}
	})
}
