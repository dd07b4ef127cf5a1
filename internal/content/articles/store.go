package articles

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/fulltext"
)

// visible is the condition that readers see an article a at the time $1: it is published, and has a text that is no draft.
const visible = `(a.published_at IS NULL OR a.published_at <= $1)
	AND EXISTS (SELECT 1 FROM articles_texts x WHERE x.article_id = a.id AND NOT x.draft)`

const columns = `a.id, a.kind, a.slug, a.category, a.position, a.published_at, a.source, a.version`

func scanArticle(row db.Row) (a Article, err error) {
	var published *time.Time
	err = row.Scan(&a.ID, &a.Kind, &a.Slug, &a.Category, &a.Position, &published, &a.source, &a.version)
	if published != nil {
		a.PublishedAt = *published
	}
	a.Texts = map[string]Text{}
	return a, err
}

// orders of the lists of each kind. $4 is the reader's language.
var orders = map[Kind]string{
	Help: `CASE a.category` + categoryOrder(Help) + ` END, a.position, a.slug`,
	Post: `a.published_at DESC, a.id DESC`,
	Term: `COALESCE((SELECT t.sort_key FROM articles_texts t WHERE t.article_id = a.id AND t.lang = $4 AND NOT t.draft),
		(SELECT MIN(t.sort_key) FROM articles_texts t WHERE t.article_id = a.id AND NOT t.draft)), a.slug`,
}

// categoryOrder is the body of a CASE that gives each category its place; the categories are constants of ours.
func categoryOrder(k Kind) (cases string) {
	for i, c := range categories[k] {
		cases += fmt.Sprintf(" WHEN '%s' THEN %d", c, i)
	}
	return cases
}

// listVisible reads a page of what readers see of a kind, without the texts' bodies unless asked; category may be empty.
func listVisible(ctx context.Context, q db.Querier, now time.Time, k Kind, category, lang string, bodies bool, limit, offset int) ([]Article, error) {
	all, err := db.Collect(ctx, q, scanArticle, `SELECT `+columns+` FROM articles a
		WHERE a.kind = $2 AND (CAST($3 AS TEXT) = '' OR a.category = $3) AND CAST($4 AS TEXT) <> '' AND `+visible+`
		ORDER BY `+orders[k]+` LIMIT $5 OFFSET $6`, now, k, category, lang, limit, offset)
	if err != nil {
		return nil, err
	}
	return all, readTexts(ctx, q, all, false, bodies)
}

func countVisible(ctx context.Context, q db.Querier, now time.Time, k Kind, category string) (n int, err error) {
	err = q.QueryRow(ctx, `SELECT COUNT(*) FROM articles a WHERE a.kind = $2 AND (CAST($3 AS TEXT) = '' OR a.category = $3) AND `+visible,
		now, k, category).Scan(&n)
	return n, err
}

// countCategories counts what readers see of a kind in each category that has anything.
func countCategories(ctx context.Context, q db.Querier, now time.Time, k Kind) (map[string]int, error) {
	counts := map[string]int{}
	_, err := db.Collect(ctx, q, func(row db.Row) (struct{}, error) {
		var (
			category string
			n        int
		)
		err := row.Scan(&category, &n)
		counts[category] = n
		return struct{}{}, err
	}, `SELECT a.category, COUNT(*) FROM articles a WHERE a.kind = $2 AND `+visible+` GROUP BY a.category`, now, k)
	return counts, err
}

// findVisible reads an article that readers see, with its texts.
func findVisible(ctx context.Context, q db.Querier, now time.Time, k Kind, slug string) (Article, error) {
	return withTexts(ctx, q, false, q.QueryRow(ctx, `SELECT `+columns+` FROM articles a WHERE a.kind = $2 AND a.slug = $3 AND `+visible, now, k, slug))
}

// listByID reads visible articles by their ids, without bodies, in the order of the ids.
func listByID(ctx context.Context, q db.Querier, now time.Time, ids []int64) ([]Article, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	in, args := db.In(q, 2, ids)
	found, err := db.Collect(ctx, q, scanArticle, `SELECT `+columns+` FROM articles a WHERE a.id `+in+` AND `+visible, append([]any{now}, args...)...)
	if err != nil {
		return nil, err
	}
	at := map[int64]Article{}
	for _, a := range found {
		at[a.ID] = a
	}
	var all []Article
	for _, id := range ids {
		if a, ok := at[id]; ok {
			all = append(all, a)
		}
	}
	return all, readTexts(ctx, q, all, false, true)
}

// listAll reads all articles, seen or not, with their texts.
func listAll(ctx context.Context, q db.Querier, bodies bool) ([]Article, error) {
	all, err := db.Collect(ctx, q, scanArticle, `SELECT `+columns+` FROM articles a ORDER BY a.kind, a.slug`)
	if err != nil {
		return nil, err
	}
	return all, readTexts(ctx, q, all, true, bodies)
}

// readArticle reads an article, seen or not, with its texts.
func readArticle(ctx context.Context, q db.Querier, id int64) (Article, error) {
	return withTexts(ctx, q, true, q.QueryRow(ctx, `SELECT `+columns+` FROM articles a WHERE a.id = $1`, id))
}

// withTexts reads the article of a row with its texts.
func withTexts(ctx context.Context, q db.Querier, drafts bool, row db.Row) (Article, error) {
	a, err := scanArticle(row)
	if errors.Is(err, db.ErrNoRows) {
		return a, fault.NotFound.New()
	}
	if err != nil {
		return a, err
	}
	one := []Article{a}
	err = readTexts(ctx, q, one, drafts, true)
	return one[0], err
}

// findByName reads the id of an article, seen or not; 0 when there is none.
func findByName(ctx context.Context, q db.Querier, k Kind, slug string) (id int64, err error) {
	err = q.QueryRow(ctx, `SELECT id FROM articles WHERE kind = $1 AND slug = $2`, k, slug).Scan(&id)
	if errors.Is(err, db.ErrNoRows) {
		err = nil
	}
	return id, err
}

// readTexts gives articles their texts.
func readTexts(ctx context.Context, q db.Querier, all []Article, drafts, bodies bool) error {
	const chunk = 500
	body := "''"
	if bodies {
		body = "body"
	}
	for len(all) > 0 {
		part := all[:min(chunk, len(all))]
		all = all[len(part):]
		at, ids := map[int64]*Article{}, make([]int64, len(part))
		for i := range part {
			at[part[i].ID], ids[i] = &part[i], part[i].ID
		}
		in, args := db.In(q, 2, ids)
		_, err := db.Collect(ctx, q, func(row db.Row) (struct{}, error) {
			var (
				id       int64
				lang     string
				keywords string
				updated  *time.Time
				t        Text
			)
			if err := row.Scan(&id, &lang, &t.Title, &t.Description, &keywords, &t.Author, &updated, &t.Draft, &t.Body); err != nil {
				return struct{}{}, err // such as of a reader who has left
			}
			if err := json.Unmarshal([]byte(keywords), &t.Keywords); err != nil {
				return struct{}{}, err
			}
			if updated != nil {
				t.UpdatedAt = *updated
			}
			at[id].Texts[lang] = t
			return struct{}{}, nil
		}, `SELECT article_id, lang, title, description, keywords, author, updated_at, draft, `+body+` FROM articles_texts
			WHERE (CAST($1 AS BOOLEAN) OR NOT draft) AND article_id `+in, append([]any{drafts}, args...)...)
		if err != nil {
			return err
		}
	}
	return nil
}

// put writes an article whole.
func put(ctx context.Context, tx *db.Tx, a Article) (id int64, err error) {
	err = tx.QueryRow(ctx, `INSERT INTO articles (kind, slug, category, position, published_at, source, version) VALUES ($1, $2, $3, $4, $5, $6, 1)
		ON CONFLICT (kind, slug) DO UPDATE SET category = excluded.category, position = excluded.position,
			published_at = excluded.published_at, source = excluded.source, version = articles.version + 1
		RETURNING id`, a.Kind, a.Slug, a.Category, a.Position, db.OrNull(a.PublishedAt), a.source).Scan(&id)
	if err != nil {
		return 0, err
	}
	if _, err := tx.Exec(ctx, `DELETE FROM articles_texts WHERE article_id = $1`, id); err != nil {
		return 0, err
	}
	for _, lang := range a.Languages() {
		t := a.Texts[lang]
		keywords, err := json.Marshal(append([]string{}, t.Keywords...))
		if err != nil {
			return 0, err
		}
		_, err = tx.Exec(ctx, `INSERT INTO articles_texts (article_id, lang, title, description, keywords, author, updated_at, draft, body, sort_key)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`,
			id, lang, t.Title, t.Description, string(keywords), t.Author, db.OrNull(t.UpdatedAt), t.Draft, t.Body, sortKey(lang, t.Title))
		if err != nil {
			return 0, err
		}
	}
	return id, nil
}

func remove(ctx context.Context, tx *db.Tx, k Kind, slug string) error {
	// The texts go first: SQLite's readers do not follow foreign keys, and nobody need rely on it.
	_, err := tx.Exec(ctx, `DELETE FROM articles_texts WHERE article_id IN (SELECT id FROM articles WHERE kind = $1 AND slug = $2)`, k, slug)
	if err == nil {
		_, err = tx.Exec(ctx, `DELETE FROM articles WHERE kind = $1 AND slug = $2`, k, slug)
	}
	return err
}

// readSources reads who wrote what is there, by its name.
func readSources(ctx context.Context, q db.Querier) (map[string]source, error) {
	sources := map[string]source{}
	_, err := db.Collect(ctx, q, func(row db.Row) (struct{}, error) {
		var (
			name string
			from source
		)
		err := row.Scan(&name, &from)
		sources[name] = from
		return struct{}{}, err
	}, `SELECT kind || '/' || slug, source FROM articles UNION ALL SELECT 'media/' || name, source FROM articles_media`)
	return sources, err
}

func findMedia(ctx context.Context, q db.Querier, name string) (m Media, err error) {
	m.Name = name
	err = q.QueryRow(ctx, `SELECT content, source FROM articles_media WHERE name = $1`, name).Scan(&m.Content, &m.source)
	if errors.Is(err, db.ErrNoRows) {
		err = fault.NotFound.New()
	}
	return m, err
}

func listMedia(ctx context.Context, q db.Querier) ([]Media, error) {
	return db.Collect(ctx, q, func(row db.Row) (m Media, err error) {
		return m, row.Scan(&m.Name, &m.Content, &m.source)
	}, `SELECT name, content, source FROM articles_media ORDER BY name`)
}

// listPictures lists the pictures without their content.
func listPictures(ctx context.Context, q db.Querier) ([]Picture, error) {
	return db.Collect(ctx, q, func(row db.Row) (p Picture, err error) {
		return p, row.Scan(&p.Name, &p.Width, &p.Height, &p.Bytes)
	}, `SELECT name, width, height, length(content) FROM articles_media ORDER BY name`)
}

func putMedia(ctx context.Context, tx *db.Tx, m Media) error {
	size := m.size()
	_, err := tx.Exec(ctx, `INSERT INTO articles_media (name, content, width, height, source) VALUES ($1, $2, $3, $4, $5)
		ON CONFLICT (name) DO UPDATE SET content = excluded.content, width = excluded.width, height = excluded.height, source = excluded.source`,
		m.Name, m.Content, size.width, size.height, m.source)
	return err
}

// mediaSizes reads how large the named pictures are.
func mediaSizes(ctx context.Context, q db.Querier, names []string) (map[string]size, error) {
	sizes := map[string]size{}
	in, args := db.In(q, 1, names)
	_, err := db.Collect(ctx, q, func(row db.Row) (struct{}, error) {
		var name string
		var one size
		err := row.Scan(&name, &one.width, &one.height)
		sizes[name] = one
		return struct{}{}, err
	}, `SELECT name, width, height FROM articles_media WHERE name `+in, args...)
	return sizes, err
}

func removeMedia(ctx context.Context, tx *db.Tx, name string) error {
	_, err := tx.Exec(ctx, `DELETE FROM articles_media WHERE name = $1`, name)
	return err
}

// broughtByLibrary reads what the library has brought, with its version.
func broughtByLibrary(ctx context.Context, q db.Querier) (map[string]string, error) {
	versions := map[string]string{}
	_, err := db.Collect(ctx, q, func(row db.Row) (struct{}, error) {
		var name, version string
		err := row.Scan(&name, &version)
		versions[name] = version
		return struct{}{}, err
	}, `SELECT name, version FROM articles_library`)
	return versions, err
}

func noteBrought(ctx context.Context, tx *db.Tx, name, version string) error {
	_, err := tx.Exec(ctx, `INSERT INTO articles_library (name, version) VALUES ($1, $2)
		ON CONFLICT (name) DO UPDATE SET version = excluded.version`, name, version)
	return err
}

// listIndexed reads the texts of the knowledge base in a language that are no drafts.
func listIndexed(ctx context.Context, q db.Querier, lang string) ([]fulltext.Document, error) {
	return db.Collect(ctx, q, func(row db.Row) (fulltext.Document, error) {
		var (
			id       int64
			t        Text
			keywords string
		)
		err := row.Scan(&id, &t.Title, &t.Description, &keywords, &t.Body)
		if err == nil {
			err = json.Unmarshal([]byte(keywords), &t.Keywords)
		}
		return indexed(id, t), err
	}, `SELECT t.id, t.title, t.description, t.keywords, t.body FROM articles_texts t JOIN articles a ON a.id = t.article_id
		WHERE a.kind = 'kb' AND t.lang = $1 AND NOT t.draft ORDER BY t.id`, lang)
}

// listMatches finds the articles of texts that a search has found, as far as readers see them.
func listMatches(ctx context.Context, q db.Querier, now time.Time, category, lang string, hits []fulltext.Hit) ([]match, error) {
	if len(hits) == 0 {
		return nil, nil
	}
	ids, scores := make([]int64, len(hits)), map[int64]float64{}
	for i, h := range hits {
		ids[i], scores[h.ID] = h.ID, h.Score
	}
	in, args := db.In(q, 3, ids)
	found, err := db.Collect(ctx, q, func(row db.Row) (match, error) {
		m, id := match{lang: lang}, int64(0)
		err := row.Scan(&id, &m.article)
		m.score = scores[id]
		return m, err
	}, `SELECT t.id, a.id FROM articles_texts t JOIN articles a ON a.id = t.article_id
		WHERE (CAST($2 AS TEXT) = '' OR a.category = $2) AND t.id `+in+` AND `+visible, append([]any{now, category}, args...)...)
	slices.SortFunc(found, func(a, b match) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.article, b.article))
	})
	return found, err
}
