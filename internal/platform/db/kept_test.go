package db_test

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"

	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/db"
)

// SQLite's statements are kept by their texts, and used again.
func TestStatementsThatAreUsedAgain(t *testing.T) {
	t.Parallel()
	d, err := db.Open(t.Context(), db.Config{Path: filepath.Join(t.TempDir(), "a.db"), Clock: clock.System(0)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	in := func(f func(ctx context.Context, tx *db.Tx) error) error { return d.InTx(t.Context(), f) }
	err = in(func(ctx context.Context, tx *db.Tx) error {
		_, err := tx.Exec(ctx, `CREATE TABLE notes (id INTEGER PRIMARY KEY, text TEXT); CREATE TABLE others (id INTEGER)`)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	add := func(id int64, text any) error {
		return in(func(ctx context.Context, tx *db.Tx) error {
			_, err := tx.Exec(ctx, `INSERT INTO notes VALUES ($1, $2)`, id, text)
			return err
		})
	}
	for id := int64(1); id <= 3; id++ {
		if err := add(id, fmt.Sprint("text ", id)); err != nil {
			t.Fatal(err)
		}
	}
	t.Run("what was refused says nothing of the next", func(t *testing.T) {
		if err := add(3, "again"); !db.IsUnique(err) {
			t.Errorf("a number twice: %v", err)
		}
		if err := add(4, nil); err != nil {
			t.Error(err)
		}
	})
	t.Run("one is asked while its rows are read", func(t *testing.T) {
		const of = `SELECT id FROM notes WHERE id <= $1 ORDER BY id`
		read := func(ctx context.Context, tx *db.Tx, most int64, each func(id int64) error) error {
			rows, err := tx.Query(ctx, of, most)
			if err != nil {
				return err
			}
			defer rows.Close()
			for rows.Next() {
				var id int64
				if err := rows.Scan(&id); err != nil {
					return err
				}
				if err := each(id); err != nil {
					return err
				}
			}
			return rows.Err()
		}
		for range 2 {
			seen := ""
			err := in(func(ctx context.Context, tx *db.Tx) error {
				return read(ctx, tx, 3, func(outer int64) error {
					return read(ctx, tx, outer, func(inner int64) error {
						seen += fmt.Sprintf("%d%d ", outer, inner)
						return nil
					})
				})
			})
			if err != nil || seen != "11 21 22 31 32 33 " {
				t.Errorf("%q: %v", seen, err)
			}
		}
	})
	t.Run("a table has another column", func(t *testing.T) {
		columns := func() (int, error) {
			n := 0
			err := in(func(ctx context.Context, tx *db.Tx) error {
				rows, err := tx.Query(ctx, `SELECT * FROM notes WHERE id = 1`)
				if err != nil {
					return err
				}
				defer rows.Close()
				for rows.Next() {
					for into := []any{new(any), new(any)}; rows.Scan(into...) != nil; into = append(into, new(any)) {
						if len(into) > 5 {
							return fmt.Errorf("%d columns are too few", len(into))
						}
					}
					n++
				}
				return rows.Err()
			})
			return n, err
		}
		if n, err := columns(); n != 1 || err != nil {
			t.Fatalf("%d rows: %v", n, err)
		}
		err := in(func(ctx context.Context, tx *db.Tx) error {
			_, err := tx.Exec(ctx, `ALTER TABLE notes ADD COLUMN more TEXT DEFAULT 'more'`)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		if n, err := columns(); n != 1 || err != nil {
			t.Errorf("%d rows: %v", n, err)
		}
	})
	t.Run("there are more than are kept", func(t *testing.T) {
		for range 2 {
			for n := range int64(1000) {
				var got int64
				if err := d.QueryRow(t.Context(), fmt.Sprintf(`SELECT $1 + %d`, n), 1).Scan(&got); err != nil || got != n+1 {
					t.Fatalf("%d: %d, %v", n, got, err)
				}
			}
		}
	})
}

func BenchmarkQueryOfSQLite(b *testing.B) {
	d, err := db.Open(b.Context(), db.Config{Path: filepath.Join(b.TempDir(), "a.db"), Clock: clock.System(0)})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = d.Close() })
	err = d.InTx(b.Context(), func(ctx context.Context, tx *db.Tx) error {
		_, err := tx.Exec(ctx, `CREATE TABLE notes (id INTEGER PRIMARY KEY, text TEXT, at INTEGER, kind TEXT, account_id INTEGER)`)
		return err
	})
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		var n int64
		err := d.QueryRow(b.Context(), `SELECT count(*) FROM notes n WHERE n.account_id = $1 AND n.kind = $2 AND n.at > $3
			AND NOT EXISTS (SELECT 1 FROM notes o WHERE o.account_id = n.account_id AND o.at > n.at)`, 1, "kind", 0).Scan(&n)
		if err != nil {
			b.Fatal(err)
		}
	}
}
