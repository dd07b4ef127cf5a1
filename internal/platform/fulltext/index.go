package fulltext

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/i18n"
)

// Index is the index of a section, by the name that its tables begin with. The name is a constant of the section: it
// becomes a part of statements.
type Index string

// Document is what is found.
type Document struct {
	ID                             int64 // unique in the index
	Title, Keywords, Summary, Body string
}

// configurations are the dictionaries of PostgreSQL.
var configurations = map[string]string{i18n.English: "english", i18n.Russian: "russian", i18n.Uzbek: "simple"}

// isPostgres reports the engine: this package is where the two differ.
func isPostgres(q db.Querier) bool { return q.Engine() == "postgres" }

// Replace makes the documents all that the index has in a language.
func (x Index) Replace(ctx context.Context, tx *db.Tx, lang string, documents []Document) error {
	tables := []string{"_fts", "_words"}
	if !isPostgres(tx) {
		tables = append(tables, "_fts_words")
	}
	for _, table := range tables {
		if _, err := tx.Exec(ctx, `DELETE FROM `+string(x)+table+` WHERE lang = $1`, lang); err != nil {
			return fmt.Errorf("fulltext: clear %s: %w", x, err)
		}
	}
	vocabulary := map[string]bool{}
	for _, d := range documents {
		if err := x.insert(ctx, tx, lang, d); err != nil {
			return fmt.Errorf("fulltext: write document %d of %s: %w", d.ID, x, err)
		}
		for _, text := range []string{d.Title, d.Keywords, d.Summary, d.Body} {
			for _, w := range split(text) {
				vocabulary[w.folded] = true
			}
		}
	}
	if err := x.learn(ctx, tx, lang, slices.Sorted(maps.Keys(vocabulary))); err != nil {
		return fmt.Errorf("fulltext: write the words of %s: %w", x, err)
	}
	return nil
}

func (x Index) insert(ctx context.Context, tx *db.Tx, lang string, d Document) error {
	if isPostgres(tx) {
		_, err := tx.Exec(ctx, `INSERT INTO `+string(x)+`_fts (rowid, lang, document) VALUES ($1, $2,
			setweight(to_tsvector(CAST($3 AS regconfig), $4), 'A') || setweight(to_tsvector(CAST($3 AS regconfig), $5), 'B') ||
			setweight(to_tsvector(CAST($3 AS regconfig), $6), 'C') || setweight(to_tsvector(CAST($3 AS regconfig), $7), 'D'))`,
			d.ID, lang, configurations[lang], folded(d.Title), folded(d.Keywords), folded(d.Summary), folded(d.Body))
		return err
	}
	_, err := tx.Exec(ctx, `INSERT INTO `+string(x)+`_fts (rowid, lang, title, keywords, summary, body) VALUES ($1, $2, $3, $4, $5, $6)`,
		d.ID, lang, stems(lang, d.Title), stems(lang, d.Keywords), stems(lang, d.Summary), stems(lang, d.Body))
	return err
}

// learn writes the words that occur.
func (x Index) learn(ctx context.Context, tx *db.Tx, lang string, words []string) error {
	const chunk = 500
	for part := range slices.Chunk(words, chunk) {
		var all, trigrams db.Values
		for _, w := range part {
			all.Add(lang, w, stem(lang, w), latin(w))
			trigrams.Add(lang, w)
		}
		table, args := all.Table(tx)
		if _, err := tx.Exec(ctx, `INSERT INTO `+string(x)+`_words (lang, word, stem, latin) `+table, args...); err != nil {
			return err
		}
		if isPostgres(tx) {
			continue // its trigrams are an index of the table
		}
		table, args = trigrams.Table(tx)
		if _, err := tx.Exec(ctx, `INSERT INTO `+string(x)+`_fts_words (lang, word) `+table, args...); err != nil {
			return err
		}
	}
	return nil
}
