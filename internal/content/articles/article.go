package articles

import (
	"regexp"
	"slices"
	"time"

	"stead.dev/stead/internal/platform/i18n"
)

// Kind says what an article is: a text of the knowledge base, a post of the blog, or a term of the glossary.
type Kind string

// The kinds of articles. Each is the name of the directory with its files.
const (
	Help Kind = "kb"
	Post Kind = "blog"
	Term Kind = "glossary"
)

var kinds = []Kind{Help, Post, Term}

// categories of each kind in the order in which they are shown. Terms have none.
var categories = map[Kind][]string{
	Help: {"getting-started", "websites", "domains", "dns", "email", "files", "databases", "security", "backups", "billing", "developers"},
	Post: {"guides", "comparison", "tips", "news"},
}

// CategoryName is the name of a category of a kind in every language.
func CategoryName(k Kind, category string) i18n.Text {
	family := map[Kind]string{Help: "articles.kb.", Post: "articles.blog."}[k]
	name := i18n.Text{}
	for _, lang := range i18n.Supported() {
		name[lang] = i18n.T(lang, family+category, nil)
	}
	return name
}

// source says who wrote an article.
type source string

const (
	fromLibrary source = "library" // as the library brought it
	fromCompany source = "company" // written, or changed, by the company
)

// Article is an article with its texts.
type Article struct {
	ID       int64
	Kind     Kind
	Slug     string
	Category string // empty for terms
	Position int    // place among those of its category
	// PublishedAt is when it becomes visible; zero: at once.
	PublishedAt time.Time
	// Texts are keyed by language.
	Texts map[string]Text

	source  source
	version int64 // one more with each change
}

// Text is an article in one language.
type Text struct {
	Title       string // of a term: the term
	Description string // of a term: its short definition
	Keywords    []string
	Author      string
	UpdatedAt   time.Time // the day on which it was last reviewed; zero: not said
	Draft       bool
	Body        string // Markdown
}

// equal reports whether two articles say the same, whoever wrote them.
func (a Article) equal(b Article) bool {
	if a.Kind != b.Kind || a.Slug != b.Slug || a.Category != b.Category || a.Position != b.Position ||
		!a.PublishedAt.Equal(b.PublishedAt) || len(a.Texts) != len(b.Texts) {
		return false
	}
	for lang, t := range a.Texts {
		if o, ok := b.Texts[lang]; !ok || !t.equal(o) {
			return false
		}
	}
	return true
}

func (t Text) equal(o Text) bool {
	return t.Title == o.Title && t.Description == o.Description && slices.Equal(t.Keywords, o.Keywords) && t.Author == o.Author &&
		t.UpdatedAt.Equal(o.UpdatedAt) && t.Draft == o.Draft && t.Body == o.Body
}

// Languages lists those that the article has a text in, in the order of the supported ones.
func (a Article) Languages() []string {
	var langs []string
	for _, lang := range i18n.Supported() {
		if _, ok := a.Texts[lang]; ok {
			langs = append(langs, lang)
		}
	}
	return langs
}

// In returns the text that a reader of a language gets, and the language that it is in.
func (a Article) In(lang string) (Text, string) {
	for _, l := range append([]string{lang, i18n.Fallback}, i18n.Supported()...) {
		if t, ok := a.Texts[l]; ok {
			return t, l
		}
	}
	return Text{}, lang
}

// UpdatedAt is the day of the newest text; zero when none says one.
func (a Article) UpdatedAt() (newest time.Time) {
	for _, t := range a.Texts {
		if t.UpdatedAt.After(newest) {
			newest = t.UpdatedAt
		}
	}
	return newest
}

// each collects one member of the texts by language.
func (a Article) each(member func(Text) string) i18n.Text {
	out := i18n.Text{}
	for lang, t := range a.Texts {
		out[lang] = member(t)
	}
	return out
}

// slugs of articles, and names of pictures before their extension.
var slugForm = regexp.MustCompile(`^[a-z0-9]+(?:-[a-z0-9]+)*$`)

// The bounds of a text.
const (
	maxSlug        = 80
	maxTitle       = 120 // letters
	maxDescription = 400 // letters
	maxKeywords    = 20
	maxKeyword     = 60      // letters
	maxAuthor      = 80      // letters
	maxBody        = 200_000 // bytes
)
