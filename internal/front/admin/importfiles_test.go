package admin

import (
	"context"
	"fmt"
	"testing"

	"stead.dev/stead/internal/hosting/site"
	"stead.dev/stead/internal/port/panel"
)

// crowded is a home whose root has more entries than one page lists, of which one goes while the first page is read.
type crowded struct {
	panel.Files
	asked int
}

func (c *crowded) List(_ context.Context, _, _ string, offset, limit int) (panel.Listing, error) {
	c.asked++
	l := panel.Listing{Total: listedAtOnce + 2}
	for i := offset; i < min(offset+limit, l.Total); i++ {
		if i != 7 {
			l.Entries = append(l.Entries, panel.Entry{Name: fmt.Sprint("f", i), Type: panel.TypeFile})
		}
	}
	return l, nil
}

// TestADirectoryOfManyPagesIsKnownWhole: a file that is not seen would be replaced.
func TestADirectoryOfManyPagesIsKnownWhole(t *testing.T) {
	t.Parallel()
	home := &crowded{}
	s := &sending{bringing: &bringing{on: site.Site{Ref: "7"}}, files: home, seen: map[string]map[string]panel.Entry{}}
	for name, there := range map[string]bool{"f0": true, "f7": false, fmt.Sprint("f", listedAtOnce+1): true, "other": false} {
		e, err := s.entry(t.Context(), name)
		if err != nil || (e.Name == name) != there {
			t.Errorf("%s: %+v, %v", name, e, err)
		}
	}
	if home.asked != 2 {
		t.Errorf("the directory was listed %d times", home.asked)
	}
}
