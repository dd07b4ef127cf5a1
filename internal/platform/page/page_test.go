package page_test

import (
	"testing"

	"stead.dev/stead/internal/platform/page"
)

func TestPages(t *testing.T) {
	for _, c := range []struct {
		p             page.Params
		total         int
		limit, offset int
		meta          page.Meta
	}{
		{page.Params{}, 0, 20, 0, page.Meta{Page: 1, PerPage: 20, Total: 0, LastPage: 1}},
		{page.Params{Page: 2, PerPage: 50}, 101, 50, 50, page.Meta{Page: 2, PerPage: 50, Total: 101, LastPage: 3}},
		{page.Params{Page: 1, PerPage: 51}, 100, 50, 0, page.Meta{Page: 1, PerPage: 50, Total: 100, LastPage: 2}},
		{page.Params{Page: 9, PerPage: 1}, 3, 1, 8, page.Meta{Page: 9, PerPage: 1, Total: 3, LastPage: 3}},
	} {
		list := page.Of[int](c.p, c.total, nil)
		if c.p.Limit() != c.limit || c.p.Offset() != c.offset || list.Meta != c.meta || list.Data == nil {
			t.Errorf("%+v: limit %d, offset %d, %+v", c.p, c.p.Limit(), c.p.Offset(), list)
		}
	}
}
