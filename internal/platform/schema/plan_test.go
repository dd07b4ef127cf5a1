package schema_test

import (
	"slices"
	"strings"
	"testing"

	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/schema"
	"stead.dev/stead/internal/platform/testkit"
)

// TestThePlanSaysWhoWaits: for what is missing, and it changes nothing.
func TestThePlanSaysWhoWaits(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, _ *clock.Fake) {
		if all, err := schema.Plan(t.Context(), d); err != nil || len(all) != 0 {
			t.Errorf("of a database that is up to date: %v, %v", all, err)
		}
		more := map[string]string{
			"9003_services_more.sql": `-- +goose Up
-- A comment; it is no statement;
CREATE TABLE services_more ( -- more
    id BIGINT PRIMARY KEY
);
CREATE INDEX services_more_id ON services_more (id);
ALTER TABLE catalog_plans ADD COLUMN more BIGINT NOT NULL DEFAULT 0;
CREATE INDEX catalog_plans_more ON catalog_plans (more);
UPDATE catalog_plans SET more = 1;
{{postgres}} ALTER TABLE catalog_plans ALTER COLUMN more TYPE TEXT;
`,
		}
		for name, text := range upgrade {
			more[name] = text
		}
		got, err := schema.PlanWith(t.Context(), d, more)
		if err != nil {
			t.Fatal(err)
		}
		type row struct {
			migration, table string
			waits            schema.Wait
		}
		rows := make([]row, len(got))
		for i, p := range got {
			rows[i] = row{p.Migration, p.Table, p.Waits}
		}
		concurrently, drop := schema.WaitNone, schema.WaitNone
		if d.Pool() == nil {
			concurrently, drop = schema.WaitWriters, schema.WaitMoment // nothing is served meanwhile
		}
		want := []row{
			{"9001_services_note.sql", "services", schema.WaitMoment},
			{"9002_services_noteindex.sql", "", drop},
			{"9002_services_noteindex.sql", "services", concurrently},
			{"9003_services_more.sql", "services_more", schema.WaitNone},
			{"9003_services_more.sql", "services_more", schema.WaitNone},
			{"9003_services_more.sql", "catalog_plans", schema.WaitMoment},
			{"9003_services_more.sql", "catalog_plans", schema.WaitWriters},
			{"9003_services_more.sql", "catalog_plans", schema.WaitRows},
		}
		if d.Pool() != nil {
			want = append(want, row{"9003_services_more.sql", "catalog_plans", schema.WaitAll})
		}
		if !slices.Equal(rows, want) {
			t.Errorf("planned:\n%v\nwant:\n%v", rows, want)
		}
		if all, err := schema.Status(t.Context(), d); err != nil || slices.ContainsFunc(all, func(m schema.Migration) bool { return !m.Applied }) {
			t.Errorf("after it: %v, %v", all, err)
		}
	})
}

// TestEveryStatementOfAMigrationIsKnown: the plan of a first start has none that it must take for the worst.
func TestEveryStatementOfAMigrationIsKnown(t *testing.T) {
	t.Parallel()
	for _, engine := range []string{"sqlite", "postgres"} {
		all, err := schema.Effects(engine)
		if err != nil || len(all) < 100 {
			t.Fatalf("%s: %d statements, %v", engine, len(all), err)
		}
		if _, waits := all["SET lock_timeout = '10min'"]; waits != (engine == "postgres") {
			t.Errorf("%s: an index that is made online waits for those before it: %v", engine, waits)
		}
		for statement, known := range all {
			if !known && !strings.HasPrefix(statement, "DO ") { // a program, which may do anything
				t.Errorf("%s: %.200s", engine, statement)
			}
		}
	}
}
