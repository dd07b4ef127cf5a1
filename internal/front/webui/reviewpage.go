package webui

import (
	"context"
	"net/http"
	"strconv"
	"strings"

	"stead.dev/stead/internal/content/reviews"
	"stead.dev/stead/internal/platform/api"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/i18n"
	"stead.dev/stead/internal/platform/page"
)

// reviewRoutes adds what customers say.
func (ui *UI) reviewRoutes(mux *http.ServeMux) {
	if ui.Reviews == nil {
		return
	}
	addresses := func(context.Context) ([]address, error) { return []address{{path: "/reviews"}}, nil }
	ui.publish(mux, publicKind{api.Content, "/reviews", "pages.reviews.title", inFooter, addresses}, map[string]http.HandlerFunc{
		"GET /reviews": ui.showReviews,
	})
}

// reviewsData is what the page "reviews" shows.
type reviewsData struct {
	Reviews      []reviews.Review
	Average      string // such as "4.67"; empty without reviews
	Count        int
	Distribution []stars // five first
	HasSamples   bool
	Newer, Older string
}

// stars is how many reviews gave so many stars.
type stars struct{ Stars, Count int }

// Lines are the paragraphs of a review.
func (reviewsData) Lines(body string) []string { return strings.Split(body, "\n") }

// Shown draws a number of stars. Programs that read pages aloud get the number beside it.
func (reviewsData) Shown(n int) string { return strings.Repeat("★", n) + strings.Repeat("☆", 5-n) }

func (ui *UI) showReviews(w http.ResponseWriter, r *http.Request) {
	lang := i18n.Lang(r.Context())
	p, err := pageAsked(r)
	if err != nil {
		ui.fail(w, r, err)
		return
	}
	all, rating, err := ui.Reviews.Published(r.Context(), p)
	if err != nil {
		ui.fail(w, r, err)
		return
	}
	genuine, err := ui.Reviews.RealRating(r.Context())
	if err != nil {
		ui.fail(w, r, err)
		return
	}
	d := reviewsData{Reviews: all, Count: rating.Count, HasSamples: genuine.Count < rating.Count}
	if rating.Count > 0 {
		d.Average = strconv.FormatFloat(rating.Average(), 'f', -1, 64)
	}
	for n := 5; n > 0; n-- {
		d.Distribution = append(d.Distribution, stars{n, rating.Distribution[n-1]})
	}
	d.Newer, d.Older = pagesAround("/reviews", p, rating.Count)
	title := i18n.T(lang, "pages.reviews.title", nil)
	m := Meta{Title: title, Description: i18n.T(lang, "pages.reviews.lead", nil), Path: numbered("/reviews", p.Page), Data: []any{ui.breadcrumbs(lang, crumb{title, "/reviews"})}}
	if genuine.Count > 0 {
		m.Data = append(m.Data, ui.ratingData(all, genuine))
	}
	ui.renderPublic(w, r, "reviews", m, d)
}

// ratingData describes reviews for JSON-LD. Samples are none.
func (ui *UI) ratingData(all []reviews.Review, rating reviews.Rating) map[string]any {
	var list []any
	for _, one := range all {
		if one.Sample {
			continue
		}
		list = append(list, map[string]any{
			"@type": "Review", "name": one.Title, "reviewBody": one.Body, "inLanguage": one.Locale, "datePublished": one.CreatedAt.UTC().Format("2006-01-02"),
			"author":       map[string]any{"@type": "Person", "name": one.Author},
			"reviewRating": map[string]any{"@type": "Rating", "ratingValue": one.Rating, "bestRating": 5, "worstRating": 1},
		})
	}
	about := ui.organization()
	about["@context"] = "https://schema.org"
	about["aggregateRating"] = map[string]any{
		"@type": "AggregateRating", "ratingValue": rating.Average(), "reviewCount": rating.Count, "bestRating": 5, "worstRating": 1,
	}
	if len(list) > 0 {
		about["review"] = list
	}
	return about
}

// pageAsked reads ?page=.
func pageAsked(r *http.Request) (p page.Params, err error) {
	p.Page = 1
	if text := r.URL.Query().Get("page"); text != "" {
		if p.Page, err = strconv.Atoi(text); err != nil || p.Page < 1 || p.Page > page.MaxPage {
			return p, fault.NotFound.New()
		}
	}
	return p, nil
}

// numbered is the address of a page of a list.
func numbered(path string, n int) string {
	if n <= 1 {
		return path
	}
	return path + "?page=" + strconv.Itoa(n)
}

// pagesAround are the addresses of the pages before and after one; empty where there is none.
func pagesAround(path string, p page.Params, total int) (before, after string) {
	if p.Page > 1 {
		before = numbered(path, p.Page-1)
	}
	if p.Offset()+p.Limit() < total {
		after = numbered(path, p.Page+1)
	}
	return before, after
}
