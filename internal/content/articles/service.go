package articles

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"unicode/utf8"

	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/i18n"
	"stead.dev/stead/internal/platform/page"
)

// Config is what the section works with.
type Config struct {
	DB    *db.DB
	Clock clock.Clock
	Log   *slog.Logger
	// BaseURL is the public address of the site, for the links in answers.
	BaseURL string
	// Bring says that the library of articles is brought in at the start.
	Bring bool
}

// Service is the section's use cases.
type Service struct{ Config }

// New makes the section.
func New(c Config) *Service { return &Service{c} }

// Listing selects what readers see of a kind.
type Listing struct {
	Kind     Kind
	Category string // empty: all
	Lang     string // of the reader: terms are in the order of its alphabet
	Bodies   bool   // whether the texts come with their bodies
	page.Params
}

// List reads a page of what readers see, and how much there is in all.
func (s *Service) List(ctx context.Context, l Listing) (all []Article, total int, err error) {
	now := s.Clock.Now()
	if total, err = countVisible(ctx, s.DB, now, l.Kind, l.Category); err == nil {
		all, err = listVisible(ctx, s.DB, now, l.Kind, l.Category, l.Lang, l.Bodies, l.Limit(), l.Offset())
	}
	if err != nil {
		return nil, 0, fmt.Errorf("articles: list %s: %w", l.Kind, err)
	}
	return all, total, nil
}

// Category is a category with the number of visible articles in it.
type Category struct {
	Slug  string
	Count int
}

// Counts lists the categories of a kind that have visible articles, in order.
func (s *Service) Counts(ctx context.Context, k Kind) ([]Category, error) {
	counts, err := countCategories(ctx, s.DB, s.Clock.Now(), k)
	if err != nil {
		return nil, fmt.Errorf("articles: count %s: %w", k, err)
	}
	var all []Category
	for _, c := range categories[k] {
		if counts[c] > 0 {
			all = append(all, Category{c, counts[c]})
		}
	}
	return all, nil
}

// Find reads an article that readers see; fault.NotFound when there is none.
func (s *Service) Find(ctx context.Context, k Kind, slug string) (Article, error) {
	if !slugForm.MatchString(slug) { // PostgreSQL takes no NUL and no invalid UTF-8
		return Article{}, fault.NotFound.New()
	}
	return findVisible(ctx, s.DB, s.Clock.Now(), k, slug)
}

// Picture reads a picture; fault.NotFound when there is none.
func (s *Service) Picture(ctx context.Context, name string) (Media, error) {
	if !utf8.ValidString(name) || strings.ContainsRune(name, 0) { // PostgreSQL takes neither
		return Media{}, fault.NotFound.New()
	}
	return findMedia(ctx, s.DB, name)
}

// lockName is that of the lock under which articles change: one import at a time, also of several processes.
const lockName = "articles"

// change runs f in a transaction under the lock, and brings the index of the search up to date afterwards.
func (s *Service) change(ctx context.Context, f func(ctx context.Context, tx *db.Tx) error) error {
	return s.DB.Exclusive(ctx, lockName, func(ctx context.Context) error {
		return s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
			if err := f(ctx, tx); err != nil {
				return err
			}
			return reindex(ctx, tx)
		})
	})
}

// maxTerms bounds what one page of the glossary shows.
const maxTerms = 1000

// Terms lists the glossary in the order of a language's alphabet.
func (s *Service) Terms(ctx context.Context, lang string) ([]Article, error) {
	all, err := listVisible(ctx, s.DB, s.Clock.Now(), Term, "", lang, true, maxTerms, 0)
	if err != nil {
		return nil, fmt.Errorf("articles: list terms: %w", err)
	}
	return all, nil
}

// maxAddresses bounds what one kind adds to the site map.
const maxAddresses = 5000

// Addresses lists what readers see of a kind for the site map: without bodies.
func (s *Service) Addresses(ctx context.Context, k Kind) ([]Article, error) {
	all, err := listVisible(ctx, s.DB, s.Clock.Now(), k, "", i18n.Fallback, false, maxAddresses, 0)
	if err != nil {
		return nil, fmt.Errorf("articles: list addresses of %s: %w", k, err)
	}
	return all, nil
}
