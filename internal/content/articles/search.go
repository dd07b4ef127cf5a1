package articles

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fulltext"
	"stead.dev/stead/internal/platform/i18n"
)

// index finds texts of the knowledge base by the ids of their articles_texts.
const index fulltext.Index = "articles"

// reindex writes the index anew, in every language.
func reindex(ctx context.Context, tx *db.Tx) error {
	for _, lang := range i18n.Supported() {
		texts, err := listIndexed(ctx, tx, lang)
		if err != nil {
			return fmt.Errorf("articles: read texts to index: %w", err)
		}
		if err := index.Replace(ctx, tx, lang, texts); err != nil {
			return err
		}
	}
	return nil
}

// Question is what somebody asks the knowledge base.
type Question struct {
	Text     string
	Category string // empty: all
	Lang     string // the language that is searched; empty: all
}

// Answer is an article that answers a question, as it is found in one language.
type Answer struct {
	Article Article
	Lang    string // the language in which it was found
	Score   float64
	// Title and Excerpt show what was found.
	Title, Excerpt []fulltext.Part
}

const (
	maxAnswers    = 200 // how many a search looks at
	excerptLength = 220 // letters
)

// Search answers a question with a page of articles, the best first, and how many there are, at most maxAnswers.
func (s *Service) Search(ctx context.Context, q Question, limit, offset int) (answers []Answer, total int, err error) {
	langs := i18n.Supported()
	if q.Lang != "" {
		langs = []string{q.Lang}
	}
	now := s.Clock.Now()
	found, results := []match{}, map[string]fulltext.Result{}
	for _, lang := range langs {
		r, err := index.Search(ctx, s.DB, lang, q.Text, maxAnswers)
		if err != nil {
			return nil, 0, err
		}
		results[lang] = r
		matches, err := listMatches(ctx, s.DB, now, q.Category, lang, r.Hits)
		if err != nil {
			return nil, 0, fmt.Errorf("articles: read what was found: %w", err)
		}
		found = append(found, matches...)
	}
	slices.SortStableFunc(found, func(a, b match) int { return cmp.Compare(b.score, a.score) })
	seen := map[int64]bool{}
	found = slices.DeleteFunc(found, func(m match) bool { // its better match in another language came before
		again := seen[m.article]
		seen[m.article] = true
		return again
	})
	total = len(found)
	found = found[min(offset, total):min(offset+limit, total)]
	ids := make([]int64, len(found))
	for i, m := range found {
		ids[i] = m.article
	}
	all, err := listByID(ctx, s.DB, now, ids)
	if err != nil {
		return nil, 0, fmt.Errorf("articles: read what was found: %w", err)
	}
	for _, a := range all {
		m := found[slices.Index(ids, a.ID)]
		text, r := a.Texts[m.lang], results[m.lang]
		answer := Answer{Article: a, Lang: m.lang, Score: m.score, Title: r.Mark(text.Title)}
		var ok bool
		if answer.Excerpt, ok = r.Excerpt(plain(text.Body), excerptLength); !ok {
			answer.Excerpt = r.Mark(text.Description)
		}
		answers = append(answers, answer)
	}
	return answers, total, nil
}

// match is a text that was found.
type match struct {
	article int64
	lang    string
	score   float64
}

// indexed is a text as the index has it.
func indexed(id int64, t Text) fulltext.Document {
	return fulltext.Document{
		ID: id, Title: t.Title, Keywords: strings.Join(t.Keywords, " "), Summary: t.Description, Body: plain(t.Body),
	}
}
