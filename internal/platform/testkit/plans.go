package testkit

import (
	"context"
	"strings"
	"testing"

	"stead.dev/stead/internal/platform/db"
)

// Indexed fails the test when a query that ask sends to its querier reads a whole table. PostgreSQL prefers to do so for
// tables of few rows, whatever their indexes, so sequential scans are made expensive for it.
func Indexed(t *testing.T, d *db.DB, ask func(q db.Querier) error) {
	t.Helper()
	seen := &recorder{Querier: d}
	if err := ask(seen); err != nil {
		t.Fatal(err)
	}
	if len(seen.queries) == 0 {
		t.Fatal("nothing was asked")
	}
	for _, asked := range seen.queries {
		plan, err := planOf(t.Context(), d, asked)
		if err != nil {
			t.Fatalf("%s\n%v", asked.text, err)
		}
		made := map[string]bool{} // what the query itself makes, and SQLite scans afterwards
		for _, step := range plan {
			for _, how := range []string{"CO-ROUTINE ", "MATERIALIZE "} {
				if name, ok := strings.CutPrefix(step, how); ok {
					made["SCAN "+name] = true
				}
			}
			// SQLite says SCAN table, SCAN table USING INDEX for one in the order of an
			// index, SCAN CONSTANT ROW for no table, and SCAN json_each for a list that is an argument.
			whole := strings.HasPrefix(step, "SCAN ") && !strings.Contains(step, " USING ") && step != "SCAN CONSTANT ROW" &&
				!strings.HasPrefix(step, "SCAN json_each ") && !made[strings.TrimSuffix(step, " LEFT-JOIN")]
			if whole || strings.Contains(step, "Seq Scan on") {
				t.Errorf("a whole table is read (%s) by\n%s", strings.TrimSpace(step), asked.text)
			}
		}
	}
}

type query struct {
	text string
	args []any
}

// recorder records the statements that are sent to its querier.
type recorder struct {
	db.Querier
	queries []query
}

func (r *recorder) Query(ctx context.Context, text string, args ...any) (db.Rows, error) {
	r.queries = append(r.queries, query{text, args})
	return r.Querier.Query(ctx, text, args...)
}

func (r *recorder) QueryRow(ctx context.Context, text string, args ...any) db.Row {
	r.queries = append(r.queries, query{text, args})
	return r.Querier.QueryRow(ctx, text, args...)
}

// planOf returns the engine's plan of a query, one line for each step.
func planOf(ctx context.Context, d *db.DB, asked query) (plan []string, err error) {
	if d.Engine() == "sqlite" {
		return db.Collect(ctx, d, func(r db.Row) (step string, err error) {
			var id, parent, unused int
			err = r.Scan(&id, &parent, &unused, &step)
			return step, err
		}, "EXPLAIN QUERY PLAN "+asked.text, asked.args...)
	}
	err = d.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		if _, err := tx.Exec(ctx, "SET LOCAL enable_seqscan = off"); err != nil {
			return err
		}
		plan, err = db.Collect(ctx, tx, func(r db.Row) (step string, err error) {
			err = r.Scan(&step)
			return step, err
		}, "EXPLAIN "+asked.text, asked.args...)
		return err
	})
	return plan, err
}
