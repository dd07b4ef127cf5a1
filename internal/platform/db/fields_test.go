package db_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/testkit"
)

type part struct {
	id      int64
	name    string
	count   int
	share   float64
	exists  bool
	madeAt  time.Time
	goneAt  *time.Time
	content []byte
	tags    []string
}

var parts = db.Map(func(p *part) db.Fields {
	return db.Fields{
		"id": &p.id, "name": &p.name, "COALESCE(amount, 7)": &p.count, "amount / 100.0": &p.share, "amount IS NOT NULL": &p.exists,
		"made_at": &p.madeAt, "gone_at": &p.goneAt, "content": &p.content, "tags": db.JSON(&p.tags),
	}
})

func TestRowsAreReadByTheNamesOfTheirColumns(t *testing.T) {
	testkit.Engines(t, func(t *testing.T, d *db.DB, _ *clock.Fake) {
		at := time.Unix(1_800_000_000, 123_000).UTC()
		want := part{id: 3, name: "three", count: 150, share: 1.5, exists: true, madeAt: at, goneAt: &at, content: []byte{0, 1}, tags: []string{"a", "b"}}
		read := func(tags string) ([]part, error) {
			return db.Collect(t.Context(), d, parts.Scan, `SELECT `+parts.Columns()+` FROM (SELECT CAST($1 AS BIGINT) AS id, CAST($2 AS TEXT) AS name,
				CAST($3 AS BIGINT) AS amount, CAST($4 AS BIGINT) AS made_at, CAST($5 AS BIGINT) AS gone_at, `+bytesOf(d, "$6")+` AS content,
				CAST($7 AS TEXT) AS tags) p`, want.id, want.name, want.count, want.madeAt, want.goneAt, want.content, tags)
		}
		rows, err := read(`["a", "b"]`)
		if err != nil || len(rows) != 1 {
			t.Fatalf("%v, %v", rows, err)
		}
		got := rows[0]
		if got.id != want.id || got.name != want.name || got.count != want.count || got.share != want.share || !got.exists ||
			!got.madeAt.Equal(at) || got.goneAt == nil || !got.goneAt.Equal(at) || string(got.content) != string(want.content) ||
			!slices.Equal(got.tags, want.tags) {
			t.Errorf("got %+v, want %+v", got, want)
		}
		if rows, err := read(`["a"`); err == nil || !strings.Contains(err.Error(), "tags") {
			t.Errorf("JSON that is cut off: %v, %v; want an error that names the column", rows, err)
		}
		// One row leaves nothing to the next, neither where that has NULL nor in what the first has answered.
		next, err := read(`["c", "d"]`)
		none, err2 := parts.Scan(d.QueryRow(t.Context(), `SELECT `+parts.Columns()+` FROM (SELECT 1 AS id, 'x' AS name, 7 AS amount, 1 AS made_at,
			CAST(NULL AS BIGINT) AS gone_at, CAST(NULL AS `+map[string]string{"sqlite": "BLOB", "postgres": "BYTEA"}[d.Engine()]+`) AS content,
			CAST(NULL AS TEXT) AS tags) p`))
		if err := errors.Join(err, err2); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got.tags, want.tags) || !slices.Equal(next[0].tags, []string{"c", "d"}) || none.tags != nil || none.content != nil || none.goneAt != nil {
			t.Errorf("rows after each other: %+v, %+v, %+v", got, next, none)
		}
		empty := `SELECT ` + parts.Columns() + ` FROM (SELECT 1 AS id, 'x' AS name, CAST(NULL AS BIGINT) AS amount, 1 AS made_at, CAST(NULL AS BIGINT) AS gone_at,
			CAST(NULL AS TEXT) AS content, CAST(NULL AS TEXT) AS tags) p`
		if _, err := parts.Scan(d.QueryRow(t.Context(), empty+` WHERE 1 = 0`)); !errors.Is(err, db.ErrNoRows) {
			t.Errorf("no row: %v", err)
		}
		if got, err := parts.Scan(d.QueryRow(t.Context(), empty)); err == nil || got.id != 0 {
			t.Errorf("NULL for what cannot be it: %+v, %v", got, err)
		}
	})
}

func bytesOf(d *db.DB, arg string) string {
	if d.Engine() == "postgres" {
		return "CAST(" + arg + " AS BYTEA)"
	}
	return arg
}

// wide is a row in memory, so that the benchmark measures the mapping alone.
type wide struct{ columns [24]int64 }

func (wide) Scan(dest ...any) error {
	for i, d := range dest {
		*d.(*int64) = int64(i)
	}
	return nil
}

// BenchmarkMapping reads a row of 24 columns.
func BenchmarkMapping(b *testing.B) {
	m := db.Map(func(w *wide) db.Fields {
		return db.Fields{
			"a": &w.columns[0], "b": &w.columns[1], "c": &w.columns[2], "d": &w.columns[3], "e": &w.columns[4], "f": &w.columns[5],
			"g": &w.columns[6], "h": &w.columns[7], "i": &w.columns[8], "j": &w.columns[9], "k": &w.columns[10], "l": &w.columns[11],
			"m": &w.columns[12], "n": &w.columns[13], "o": &w.columns[14], "p": &w.columns[15], "q": &w.columns[16], "r": &w.columns[17],
			"s": &w.columns[18], "t": &w.columns[19], "u": &w.columns[20], "v": &w.columns[21], "w": &w.columns[22], "x": &w.columns[23],
		}
	})
	for b.Loop() {
		if _, err := m.Scan(wide{}); err != nil {
			b.Fatal(err)
		}
	}
}

func TestNothingIsNull(t *testing.T) {
	if got := db.OrNull(time.Time{}.In(time.FixedZone("UTC+5", 5*60*60))); got != nil {
		t.Errorf("no time is %v", got)
	}
	if got := db.OrNull(""); got != nil {
		t.Errorf("no text is %q", *got)
	}
	if got := db.OrNull(7); got == nil || *got != 7 {
		t.Errorf("7 is %v", got)
	}
}
