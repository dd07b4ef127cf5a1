package db_test

import (
	"context"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/testkit"
)

// mood is a type of its own, as states are.
type mood string

// TestRowsAreATable reads rows of every kind of value back from the engine.
func TestRowsAreATable(t *testing.T) {
	t.Parallel()
	type row struct {
		n    int64
		few  *int64
		mood mood
		text *string
		is   bool
		at   time.Time
		was  *time.Time
		raw  []byte
	}
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		seven, word, now := int64(7), `"it's" {NULL}, \`, clk.Now().UTC().Truncate(time.Microsecond)
		rows := []row{
			{n: 1, mood: "a", at: now, raw: []byte{0, 255}},
			{n: 1 << 62, few: &seven, mood: "b", text: &word, is: true, at: now.Add(time.Microsecond), was: &now, raw: []byte("NULL")},
		}
		var values db.Values
		if !values.Empty() {
			t.Error("none is not empty")
		}
		for _, r := range rows {
			values.Add(r.n, r.few, r.mood, r.text, r.is, r.at, r.was, r.raw)
		}
		read := func(q db.Querier) {
			table, args := values.Table(q)
			got, err := db.Collect(t.Context(), q, func(r db.Row) (x row, err error) {
				return x, r.Scan(&x.n, &x.few, &x.mood, &x.text, &x.is, &x.at, &x.was, &x.raw)
			}, `WITH given (n, few, mood, text, yes, at, was, raw) AS (`+table+`) SELECT * FROM given`, args...)
			if err != nil || !reflect.DeepEqual(got, rows) || values.Empty() {
				t.Errorf("%+v, %v, want %+v", got, err, rows)
			}
		}
		read(d)
		if err := d.InTx(t.Context(), func(_ context.Context, tx *db.Tx) error {
			read(tx)
			return nil
		}); err != nil {
			t.Error(err)
		}
	})
}

func TestManyRowsAreWrittenInTheirOrder(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, _ *clock.Fake) {
		const many = 2_000
		err := d.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
			var rows db.Values
			for n := range many {
				rows.Add(strings.Repeat("x", n%7), "", tx.Now.Add(time.Duration(n)*time.Microsecond))
			}
			ids, err := db.Inserted(ctx, tx, `INSERT INTO signal_messages (topic, payload, created_at)`, &rows)
			if err != nil {
				return err
			}
			for _, asked := range [][]int64{ids[:1], {ids[3], ids[0], ids[3]}, ids, nil} {
				in, args := db.In(tx, 2, asked)
				var found, outside int
				err := tx.QueryRow(ctx, `SELECT COUNT(*), (SELECT COUNT(*) FROM signal_messages WHERE topic <> $1 AND NOT id `+in+`)
					FROM signal_messages WHERE topic <> $1 AND id `+in, append([]any{"nobody"}, args...)...).Scan(&found, &outside)
				if want := len(asked) - map[bool]int{true: 1}[len(asked) == 3]; err != nil || found != want || outside != many-want {
					t.Errorf("%d of %d are found, %d are not: %v", found, want, outside, err)
				}
			}
			var wrong int
			err = tx.QueryRow(ctx, `SELECT COUNT(*) FROM signal_messages WHERE created_at - $1 <> id - $2 OR length(topic) <> (id - $2) % 7`,
				tx.Now, ids[0]).Scan(&wrong)
			if wrong > 0 || len(ids) != many {
				t.Errorf("%d of %d rows are not in their order", wrong, len(ids))
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
	})
}

// TestAnIDThatWasTakenIsNobodyElses takes ids before and between rows that take theirs themselves.
func TestAnIDThatWasTakenIsNobodyElses(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, _ *clock.Fake) {
		var ids []int64
		for range 3 {
			err := d.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
				taken, err := db.NextIDs(ctx, tx, "signal_messages", 2)
				if err != nil {
					return err
				}
				var rows db.Values
				rows.Add("", "", tx.Now)
				own, err := db.Inserted(ctx, tx, `INSERT INTO signal_messages (topic, payload, created_at)`, &rows)
				if err != nil {
					return err
				}
				ids = append(ids, taken[0], taken[1], own[0])
				_, err = tx.Exec(ctx, `INSERT INTO signal_messages (id, topic, payload, created_at) VALUES ($1, '', '', $3), ($2, '', '', $3)`,
					taken[0], taken[1], tx.Now)
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		if !slices.IsSorted(ids) || len(slices.Compact(ids)) != len(ids) || count(t, d) != len(ids) {
			t.Errorf("%v", ids)
		}
	})
}
