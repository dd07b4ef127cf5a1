// Package page is the list envelope of the specification ("List envelope"):
// an object with data and meta, pages counted from one, per_page 20 unless
// told and capped at 50.
package page

// The limits of per_page.
const (
	DefaultPerPage = 20
	MaxPerPage     = 50
	// MaxPage keeps page*per_page far from overflow; a page past the last one
	// is empty, not an error.
	MaxPage = 1_000_000
)

// Params are the query parameters of every list. Embed it in the operation's
// input. A per_page above the cap is capped, not refused.
type Params struct {
	Page    int `query:"page" minimum:"1" maximum:"1000000" default:"1" doc:"Page, counted from 1."`
	PerPage int `query:"per_page" minimum:"1" default:"20" doc:"Items a page; values above 50 are taken as 50."`
}

// Limit is how many rows to read.
func (p Params) Limit() int {
	if p.PerPage <= 0 {
		return DefaultPerPage
	}
	return min(p.PerPage, MaxPerPage)
}

// Offset is how many rows to skip.
func (p Params) Offset() int {
	return (min(max(p.Page, 1), MaxPage) - 1) * p.Limit()
}

// Meta describes one page of a list.
type Meta struct {
	Page     int `json:"page" doc:"This page, counted from 1."`
	PerPage  int `json:"per_page" doc:"Items a page, at most 50."`
	Total    int `json:"total" doc:"Items on all pages."`
	LastPage int `json:"last_page" doc:"The number of the last page; 1 when there are no items."`
}

// List is the envelope of every list answer.
type List[T any] struct {
	Data []T  `json:"data"`
	Meta Meta `json:"meta"`
}

// Of puts the rows of one page into the envelope; total counts all rows.
func Of[T any](p Params, total int, rows []T) *List[T] {
	if rows == nil {
		rows = []T{}
	}
	return &List[T]{Data: rows, Meta: MetaOf(p, total)}
}

// Map is Of for rows that show converts first.
func Map[R, T any](p Params, total int, rows []R, show func(R) T) *List[T] {
	shown := make([]T, len(rows))
	for i, r := range rows {
		shown[i] = show(r)
	}
	return Of(p, total, shown)
}

// Slice is Map of all rows, of which it takes one page.
func Slice[R, T any](p Params, all []R, show func(R) T) *List[T] {
	from := min(p.Offset(), len(all))
	return Map(p, len(all), all[from:min(from+p.Limit(), len(all))], show)
}

// MetaOf is the meta of one page, for lists whose meta holds more.
func MetaOf(p Params, total int) Meta {
	last := max(1, (total+p.Limit()-1)/p.Limit())
	return Meta{Page: max(p.Page, 1), PerPage: p.Limit(), Total: total, LastPage: last}
}
