package articles

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/i18n"
)

// Draft is an article in one language as somebody writes it in a browser: what its languages have in common, and the text.
type Draft struct {
	Kind        Kind
	Slug        string
	Language    string
	Category    string
	Position    int
	PublishedAt time.Time // of a post; zero: today
	Text        Text      // a zero UpdatedAt is today
}

// Editor is an article as those who write it see it.
type Editor struct {
	Article
	// Version is one more with each change; whoever writes names the one that they have read.
	Version int64
	// Shipped says that the article is as the library brought it, and that a newer library may replace it.
	Shipped bool
}

func editorOf(a Article) Editor { return Editor{a, a.version, a.source == fromLibrary} }

// Sought selects what those who write see.
type Sought struct {
	Kind     Kind   // empty: all
	Language string // empty: all; with Drafts, the language of the draft
	Drafts   bool   // only those with a text that is a draft
	Words    string // a part of the slug or of a title
}

func (w Sought) picks(a Article) bool {
	if w.Kind != "" && a.Kind != w.Kind {
		return false
	}
	words := strings.ToLower(strings.TrimSpace(w.Words))
	found := words == "" || strings.Contains(a.Slug, words)
	draft, written := false, w.Language == ""
	for lang, t := range a.Texts {
		found = found || strings.Contains(strings.ToLower(t.Title), words)
		if w.Language == "" || lang == w.Language {
			written, draft = true, draft || t.Draft
		}
	}
	return found && written && (draft || !w.Drafts)
}

// Written lists the articles that somebody has sought, by kind and slug, seen by readers or not, without their bodies. There are
// some hundreds.
func (s *Service) Written(ctx context.Context, w Sought, limit, offset int) (page []Editor, total int, err error) {
	all, err := listAll(ctx, s.DB, false)
	if err != nil {
		return nil, 0, fmt.Errorf("articles: read all: %w", err)
	}
	page = []Editor{}
	for _, a := range all {
		if !w.picks(a) {
			continue
		}
		if total >= offset && len(page) < limit {
			page = append(page, editorOf(a))
		}
		total++
	}
	return page, total, nil
}

// Edit reads an article with all its texts, drafts too.
func (s *Service) Edit(ctx context.Context, id int64) (Editor, error) {
	a, err := readArticle(ctx, s.DB, id)
	return editorOf(a), err
}

// Preview checks a draft as Create and Save do, and returns it as readers would get it, with its HTML. Nothing is written.
func (s *Service) Preview(ctx context.Context, d Draft) (Text, string, error) {
	a, err := d.checked(ctx, s.DB, s.Clock.Now())
	if err != nil {
		return Text{}, "", err
	}
	html, err := s.HTML(ctx, a.Kind, d.Language, a.Texts[d.Language].Body, "")
	return a.Texts[d.Language], html, err
}

// Create writes a new article in one language, as a draft.
func (s *Service) Create(ctx context.Context, d Draft) (made Editor, err error) {
	err = s.change(ctx, func(ctx context.Context, tx *db.Tx) error {
		a, err := d.checked(ctx, tx, tx.Now)
		if err != nil {
			return err
		}
		switch id, err := findByName(ctx, tx, a.Kind, a.Slug); {
		case err != nil:
			return fmt.Errorf("articles: find %s: %w", name(a), err)
		case id != 0:
			return fault.Invalid("slug", "article_slug_taken")
		}
		t := a.Texts[d.Language]
		t.Draft = true
		a.Texts[d.Language] = t
		made, err = s.write(ctx, tx, a)
		return err
	})
	return made, err
}

// Save writes an article's text in the language of the draft, where version is still that of the article. A text in a new
// language is a draft; another stays what it was. Kind and slug stay too.
func (s *Service) Save(ctx context.Context, id, version int64, d Draft) (Editor, error) {
	return s.edit(ctx, id, version, func(ctx context.Context, tx *db.Tx, before Article) (Article, error) {
		d.Kind, d.Slug = before.Kind, before.Slug
		a, err := d.checked(ctx, tx, tx.Now)
		if err != nil {
			return a, err
		}
		t := a.Texts[d.Language]
		old, written := before.Texts[d.Language]
		t.Draft = !written || old.Draft
		a.Texts = before.Texts
		a.Texts[d.Language] = t
		return a, nil
	})
}

// Show publishes an article's text, or with false makes it a draft again. A text is published as it was read: version is
// still that of the article. Version 0 is any, for taking it back.
func (s *Service) Show(ctx context.Context, id, version int64, language string, published bool) (Editor, error) {
	return s.edit(ctx, id, version, func(_ context.Context, _ *db.Tx, a Article) (Article, error) {
		t, written := a.Texts[language]
		if !written {
			return a, fault.NotFound.New()
		}
		t.Draft = !published
		a.Texts[language] = t
		return a, nil
	})
}

// Remove removes an article's text in a language, and with its last text the article. An article that others lead to is kept.
func (s *Service) Remove(ctx context.Context, id int64, language string) error {
	return s.change(ctx, func(ctx context.Context, tx *db.Tx) error {
		a, err := readArticle(ctx, tx, id)
		if err != nil {
			return err
		}
		if _, written := a.Texts[language]; !written {
			return fault.NotFound.New()
		}
		if delete(a.Texts, language); len(a.Texts) > 0 {
			_, err = s.write(ctx, tx, a)
			return err
		}
		from, err := linkedFrom(ctx, tx, a)
		switch {
		case err != nil:
			return err
		case len(from) > 0:
			return errLinked.With(fault.Fields{"articles": strings.Join(from, ", ")})
		}
		if err := remove(ctx, tx, a.Kind, a.Slug); err != nil {
			return fmt.Errorf("articles: remove %s: %w", name(a), err)
		}
		return nil
	})
}

// edit changes an article that has the version.
func (s *Service) edit(
	ctx context.Context, id, version int64, f func(ctx context.Context, tx *db.Tx, before Article) (Article, error),
) (made Editor, err error) {
	err = s.change(ctx, func(ctx context.Context, tx *db.Tx) error {
		a, err := readArticle(ctx, tx, id)
		if err != nil {
			return err
		}
		if version != 0 && a.version != version {
			return fault.Conflict.With(fault.Fields{"version": a.version})
		}
		if a, err = f(ctx, tx, a); err != nil {
			return err
		}
		made, err = s.write(ctx, tx, a)
		return err
	})
	return made, err
}

// write writes an article as the company's.
func (s *Service) write(ctx context.Context, tx *db.Tx, a Article) (Editor, error) {
	a.source = fromCompany
	id, err := put(ctx, tx, a)
	if err != nil {
		return Editor{}, fmt.Errorf("articles: write %s: %w", name(a), err)
	}
	a, err = readArticle(ctx, tx, id)
	return editorOf(a), err
}

// linkedFrom names the articles that lead to one.
func linkedFrom(ctx context.Context, q db.Querier, to Article) ([]string, error) {
	all, err := listAll(ctx, q, true)
	if err != nil {
		return nil, fmt.Errorf("articles: read all: %w", err)
	}
	var from []string
	for _, a := range all {
		if a.ID == to.ID {
			continue
		}
		for lang, t := range a.Texts {
			f := &file{path: filePath(a.Kind, a.Slug, lang), lang: lang, article: a, text: t}
			checkMarkdown(f, &Problems{})
			if slices.ContainsFunc(f.references, func(r reference) bool { return r.media == "" && r.kind == to.Kind && r.slug == to.Slug }) {
				from = append(from, name(a))
				break
			}
		}
	}
	return from, nil
}

// checked is the draft as an article with its one text. It is judged as the file that an export would make of it, so that what
// is written here can be exported and imported.
func (d Draft) checked(ctx context.Context, q db.Querier, now time.Time) (Article, error) {
	today := now.UTC().Truncate(24 * time.Hour)
	t, a := d.Text, Article{Kind: d.Kind, Slug: d.Slug, Category: d.Category, Position: d.Position, PublishedAt: d.PublishedAt}
	if t.UpdatedAt.IsZero() {
		t.UpdatedAt = today
	}
	switch a.Kind {
	case Post:
		a.Position = 0
		if a.PublishedAt.IsZero() {
			a.PublishedAt = today
		}
	case Help:
		a.PublishedAt, t.Author = time.Time{}, ""
	case Term:
		a.Category, a.Position, a.PublishedAt, t.Author = "", 0, time.Time{}, ""
	}
	lines := [][2]string{{"title", t.Title}, {"description", t.Description}}
	if a.Kind == Post {
		lines = append(lines, [2]string{"author", t.Author})
	}
	for _, word := range t.Keywords {
		lines = append(lines, [2]string{"keywords", word})
	}
	for _, l := range lines {
		switch {
		case strings.TrimSpace(l[1]) == "":
			return a, fault.Invalid(l[0], "required")
		case strings.ContainsFunc(l[1], func(c rune) bool { return c < ' ' || c == 0x7f }):
			return a, fault.Invalid(l[0], "company_text")
		}
	}
	switch {
	case !slugForm.MatchString(a.Slug) || len(a.Slug) > maxSlug:
		return a, fault.Invalid("slug", "article_slug")
	case a.Kind != Term && !slices.Contains(categories[a.Kind], a.Category):
		return a, fault.Invalid("category", "article_category")
	case strings.TrimSpace(t.Body) == "":
		return a, fault.Invalid("body", "required")
	case !slices.Contains(i18n.Supported(), d.Language):
		return a, fault.NotFound.New()
	}
	a.Texts = map[string]Text{d.Language: t}
	content, err := renderFile(a, d.Language)
	if err != nil {
		return a, err
	}
	var problems Problems
	f, ok := parseFile(filePath(a.Kind, a.Slug, d.Language), content, &problems)
	if ok {
		there, err := readSources(ctx, q)
		if err != nil {
			return a, fmt.Errorf("articles: read names: %w", err)
		}
		problems = bundle{articles: []Article{a}, files: []*file{f}}.dangling(there)
	}
	if len(problems) > 0 {
		return a, invalidBody(d.Text.Body, f, problems)
	}
	a.Texts = map[string]Text{d.Language: f.text}
	return a, nil
}

// invalidBody says what is wrong with a text, by the lines of its body as it was written.
func invalidBody(body string, f *file, problems Problems) error {
	body = strings.ReplaceAll(body, "\r\n", "\n")
	above := len(body) - len(strings.TrimLeft(body, "\n")) // the file leaves these lines out
	var texts []fault.Text
	for _, p := range problems {
		if p.code == "" || f == nil {
			return fault.Validation.Wrap(problems)
		}
		data := map[string]any{"Line": p.Line - f.bodyLine + 1 + above}
		for k, v := range p.data {
			data[k] = v
		}
		texts = append(texts, fault.Text{ID: "invalid." + p.code, Data: data})
	}
	return &fault.Error{Def: fault.Validation, Invalid: map[string][]fault.Text{"body": texts}}
}
