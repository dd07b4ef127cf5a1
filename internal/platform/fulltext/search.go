package fulltext

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"stead.dev/stead/internal/platform/db"
)

// maxTerms bounds the words of a search that count.
const maxTerms = 12

// term is a word of a search with what stands for it.
type term struct {
	words []string // the word, and what it may be a typing error of
	stems []string // of the words
}

// Hit is a document that was found; a higher score is a better match. Scores compare within a language.
type Hit struct {
	ID    int64
	Score float64
}

// Result is what a search found.
type Result struct {
	Hits  []Hit // the best first
	lang  string
	terms []term
}

// Search finds the documents of a language that match a question, at most limit.
func (x Index) Search(ctx context.Context, q db.Querier, lang, question string, limit int) (Result, error) {
	r := Result{lang: lang, terms: terms(lang, question)}
	if len(r.terms) == 0 {
		return r, nil
	}
	var err error
	if r.Hits, err = x.match(ctx, q, lang, r.terms, true, limit); err != nil || len(r.Hits) > 0 {
		return r, err
	}
	corrected, err := x.correct(ctx, q, lang, r.terms)
	if err != nil {
		return r, err
	}
	if corrected {
		if r.Hits, err = x.match(ctx, q, lang, r.terms, true, limit); err != nil || len(r.Hits) > 0 {
			return r, err
		}
	}
	if len(r.terms) > 1 {
		r.Hits, err = x.match(ctx, q, lang, r.terms, false, limit)
	}
	return r, err
}

// terms are the words of a question that count.
func terms(lang, question string) (all []term) {
	seen := map[string]bool{}
	for _, w := range split(question) {
		if seen[w.folded] || fillers[lang][w.folded] {
			continue
		}
		seen[w.folded] = true
		all = append(all, term{[]string{w.folded}, []string{stem(lang, w.folded)}})
	}
	return all[:min(len(all), maxTerms)]
}

// prefixed reports whether the beginning of a word is enough to find it.
func prefixed(word string) bool { return utf8.RuneCountInString(word) >= 3 }

// match finds the documents with all of the terms, or with any.
func (x Index) match(ctx context.Context, q db.Querier, lang string, terms []term, all bool, limit int) ([]Hit, error) {
	scan := func(row db.Row) (h Hit, err error) { return h, row.Scan(&h.ID, &h.Score) }
	var hits []Hit
	var err error
	if isPostgres(q) {
		hits, err = db.Collect(ctx, q, scan, `SELECT rowid, CAST(ts_rank(CAST('{0.1, 0.3, 0.6, 1.0}' AS real[]), document, query, 1) AS DOUBLE PRECISION) AS score
			FROM `+string(x)+`_fts, to_tsquery(CAST($1 AS regconfig), $2) AS query
			WHERE lang = $3 AND document @@ query ORDER BY score DESC, rowid LIMIT $4`,
			configurations[lang], expression(terms, all, tsquery), lang, limit)
	} else {
		hits, err = db.Collect(ctx, q, scan, `SELECT rowid, -bm25(`+string(x)+`_fts, 0, 10, 5, 3, 1) AS score
			FROM `+string(x)+`_fts WHERE `+string(x)+`_fts MATCH $1 AND lang = $2 ORDER BY score DESC, rowid LIMIT $3`,
			expression(terms, all, fts5), lang, limit)
	}
	if err != nil {
		return nil, fmt.Errorf("fulltext: search %s: %w", x, err)
	}
	return hits, nil
}

// syntax is how an engine writes the expression of a search. Words consist of letters and digits, so nothing that a
// visitor writes becomes a part of the syntax.
type syntax struct {
	and, or string
	word    func(t term, i int) string
}

var (
	// PostgreSQL's dictionary makes the stems, and leaves out words of its own list.
	tsquery = syntax{" & ", " | ", func(t term, i int) string {
		if prefixed(t.words[i]) {
			return t.words[i] + ":*"
		}
		return t.words[i]
	}}
	fts5 = syntax{" AND ", " OR ", func(t term, i int) string {
		if prefixed(t.stems[i]) {
			return `"` + t.stems[i] + `"*`
		}
		return `"` + t.stems[i] + `"`
	}}
)

func expression(terms []term, all bool, s syntax) string {
	parts := make([]string, len(terms))
	for i, t := range terms {
		either := make([]string, len(t.words))
		for j := range t.words {
			either[j] = s.word(t, j)
		}
		parts[i] = "(" + strings.Join(either, s.or) + ")"
	}
	if all {
		return strings.Join(parts, s.and)
	}
	return strings.Join(parts, s.or)
}

// correct adds to each term that no document has the words that it may be a typing error of.
func (x Index) correct(ctx context.Context, q db.Querier, lang string, terms []term) (corrected bool, err error) {
	for i := range terms {
		t := &terms[i]
		if tolerated(t.words[0]) == 0 {
			continue
		}
		var occurs int
		err := q.QueryRow(ctx, `SELECT COUNT(*) FROM `+string(x)+`_words WHERE lang = $1 AND (word = $2 OR stem = $3)`,
			lang, t.words[0], t.stems[0]).Scan(&occurs)
		if err == nil && occurs == 0 {
			var similar []string
			similar, err = x.similar(ctx, q, lang, t.words[0])
			for _, w := range similar {
				t.words, t.stems = append(t.words, w), append(t.stems, stem(lang, w))
				corrected = true
			}
		}
		if err != nil {
			return false, fmt.Errorf("fulltext: words of %s: %w", x, err)
		}
	}
	return corrected, nil
}

// similar finds the words that are nearest to one that does not occur.
func (x Index) similar(ctx context.Context, q db.Querier, lang, word string) ([]string, error) {
	const candidates, most = 100, 3
	scan := func(row db.Row) (w string, err error) { return w, row.Scan(&w) }
	var found []string
	var err error
	if isPostgres(q) {
		var trigrams bool
		err = q.QueryRow(ctx, `SELECT EXISTS (SELECT FROM pg_extension WHERE extname = 'pg_trgm')`).Scan(&trigrams)
		if err != nil || !trigrams {
			return nil, err
		}
		found, err = db.Collect(ctx, q, scan, `SELECT word FROM `+string(x)+`_words WHERE lang = $1 AND latin % $2
			ORDER BY similarity(latin, $2) DESC, word LIMIT $3`, lang, latin(word), candidates)
	} else {
		found, err = db.Collect(ctx, q, scan, `SELECT word FROM `+string(x)+`_fts_words WHERE `+string(x)+`_fts_words MATCH $1 AND lang = $2
			ORDER BY rank LIMIT $3`, trigramsOf(word), lang, candidates)
	}
	if err != nil {
		return nil, err
	}
	tolerable := tolerated(word)
	found = slices.DeleteFunc(found, func(w string) bool { return distance(word, w, tolerable) > tolerable })
	slices.SortStableFunc(found, func(a, b string) int {
		return cmp.Compare(distance(word, a, tolerable), distance(word, b, tolerable))
	})
	return found[:min(len(found), most)], nil
}

// trigramsOf is the expression that finds words with any of the trigrams of a word.
func trigramsOf(word string) string {
	letters := []rune(word)
	var all []string
	for i := 0; i+3 <= len(letters); i++ {
		all = append(all, `"`+string(letters[i:i+3])+`"`)
	}
	return strings.Join(all, " OR ")
}
