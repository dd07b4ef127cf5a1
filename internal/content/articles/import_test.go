package articles

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/testkit"
)

func TestAnImportIsIdempotentAndExportingReversesIt(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		s := newService(d, clk)
		r := s.mustImport(t, site, false)
		want := []string{"blog/open", "glossary/domain", "kb/first-site", "kb/mail", "media/panel.png"}
		slices.Sort(r.Created)
		if !slices.Equal(r.Created, want) || len(r.Updated)+len(r.Removed)+r.Unchanged > 0 {
			t.Errorf("the first import says %+v", r)
		}
		if r := s.mustImport(t, site, true); r.Unchanged != 5 || len(r.Created)+len(r.Updated)+len(r.Removed) > 0 {
			t.Errorf("the same again says %+v", r)
		}
		files, err := s.Files(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		exported := dir{}
		for name, content := range files {
			exported[name] = string(content)
		}
		if want := site.without("README.md"); !maps.Equal(exported, want) {
			t.Errorf("exported is %q, want %q", exported, want)
		}
		// A change of one file changes one article; without prune, what is missing stays.
		changed := dir{"kb/mail.en.md": strings.Replace(mail, "phone", "telephone", 1)}
		if r := s.mustImport(t, changed, false); !slices.Equal(r.Updated, []string{"kb/mail"}) || len(r.Created)+len(r.Removed) > 0 {
			t.Errorf("a change says %+v", r)
		}
		if r := s.mustImport(t, changed, true); len(r.Removed) != 4 || r.Unchanged != 1 {
			t.Errorf("pruning says %+v", r)
		}
		if files, err := s.Files(t.Context()); err != nil || len(files) != 1 {
			t.Errorf("left are %v, %v", files, err)
		}
	})
}

func TestABadDirectoryIsRefusedWithFileAndLineAndChangesNothing(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		s := newService(d, clk)
		s.mustImport(t, site, false)
		before, err := s.Files(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		bad := func(change, by string) dir { return dir{"kb/mail.en.md": strings.Replace(mail, change, by, 1)} }
		for what, c := range map[string]struct {
			dir  dir
			want string // a problem
		}{
			"no front matter":    {dir{"kb/mail.en.md": "# Mail\n"}, "kb/mail.en.md:1: it begins with front matter"},
			"no end of it":       {dir{"kb/mail.en.md": "---\ntitle: Mail\n"}, "kb/mail.en.md:1: it begins with front matter"},
			"no YAML":            {bad("position: 1", "position: [1"), "kb/mail.en.md:"},
			"colon":              {bad("Mail on your phone", "Mail: on a phone"), "kb/mail.en.md:2: a text with a colon stands in quotes"},
			"wrong type":         {bad("position: 1", "position: first"), "kb/mail.en.md:5: cannot unmarshal"},
			"unknown member":     {bad("position: 1", "positoin: 1"), `kb/mail.en.md:5: "positoin" does not belong`},
			"missing member":     {bad("position: 1\n", ""), "kb/mail.en.md:1: position is missing"},
			"member twice":       {bad("position: 1", "position: 1\nposition: 2"), "kb/mail.en.md:6: position is said twice"},
			"member of a post":   {bad("position: 1", "position: 1\nauthor: me"), `kb/mail.en.md:6: "author" does not belong`},
			"unknown category":   {bad("category: email", "category: mail"), "kb/mail.en.md:4: the category is one of getting-started"},
			"no day":             {bad("2026-01-02", "yesterday"), "kb/mail.en.md:6: updated_at is a day"},
			"empty title":        {bad("Mail on your phone", `""`), "kb/mail.en.md:2: title is empty"},
			"long title":         {bad("Mail on your phone", strings.Repeat("m", 200)), "kb/mail.en.md:2: title has 200 letters"},
			"two lines":          {bad("Mail on your phone", `"Mail\non your phone"`), "kb/mail.en.md:2: title is one line"},
			"no text":            {bad("Enter the address of the server.\n", ""), "kb/mail.en.md:9: it has no text"},
			"HTML":               {bad("Enter", "Enter\n\n<b>bold</b>"), "kb/mail.en.md:11: HTML is not shown"},
			"block of HTML":      {bad("Enter", "<script>\nalert(1)\n</script>\n\nEnter"), "kb/mail.en.md:9: HTML is not shown"},
			"title in the text":  {bad("Enter", "# Mail\n\nEnter"), "kb/mail.en.md:9: the title is in the front matter"},
			"picture unlabelled": {bad("Enter", "![](../media/panel.png) Enter"), "kb/mail.en.md:9: a picture needs a text"},
			"picture elsewhere":  {bad("Enter", "![x](https://example.com/x.png) Enter"), "kb/mail.en.md:9: a picture lies in media"},
			"picture missing":    {bad("Enter", "![x](../media/none.png) Enter"), "kb/mail.en.md:9: there is no media/none.png"},
			"article missing":    {bad("Enter", "Enter\n[this](/kb/none)"), "kb/mail.en.md:10: there is no kb/none"},
			"term missing":       {bad("Enter", "[this](/glossary#none) Enter"), "kb/mail.en.md:9: there is no glossary/none"},
			"script":             {bad("Enter", "[this](javascript:alert(1)) Enter"), `kb/mail.en.md:9: "javascript:alert(1)" is no target`},
			"other host":         {bad("Enter", "[this](//evil.example/) Enter"), "kb/mail.en.md:9:"},
			"no text file":       {dir{"kb/mail.en.md": "---\n\xff"}, "kb/mail.en.md: it is no text in UTF-8"},
			"zero byte":          {bad("Enter", "\x00"), "kb/mail.en.md: it is no text in UTF-8"},
			"no language":        {dir{"kb/mail.md": mail}, "kb/mail.md: a text is named"},
			"other language":     {dir{"kb/mail.de.md": mail}, "kb/mail.de.md: a text is named"},
			"bad slug":           {dir{"kb/Mail.en.md": mail}, "kb/Mail.en.md: a slug is of small"},
			"no Markdown":        {dir{"kb/mail.en.txt": mail}, "kb/mail.en.txt: texts end in .md"},
			"languages disagree": {dir{"kb/mail.ru.md": strings.Replace(mail, "email", "files", 1), "kb/mail.en.md": mail}, "kb/mail.ru.md:4: category differs"},
			"false picture":      {dir{"media/x.png": "<svg>"}, "media/x.png: its content is not what its name says"},
			"no picture":         {dir{"media/x.html": "<b>"}, "media/x.html: pictures are png"},
			"nothing":            {dir{"README.md": "x"}, "there are no texts"},
		} {
			r, err := s.Import(t.Context(), c.dir.with(dir{"blog/new.en.md": post}.unless(what == "nothing")).fs(), true && what != "picture missing")
			var problems Problems
			if !errors.As(err, &problems) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: %+v, %v, want %q", what, r, err, c.want)
			}
		}
		after, err := s.Files(t.Context())
		if err != nil || !maps.EqualFunc(before, after, slices.Equal) {
			t.Errorf("something has changed: %v", err)
		}
	})
}

// unless is d, or nothing.
func (d dir) unless(not bool) dir {
	if not {
		return dir{}
	}
	return d
}

func TestDraftsAndPostsBeforeTheirTimeAreSeenByNobody(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		s := newService(d, clk)
		soon := testkit.Start.AddDate(0, 0, 3).Format(time.DateOnly)
		s.mustImport(t, site.with(dir{
			"kb/mail.en.md":   strings.Replace(mail, "position: 1", "position: 1\ndraft: true", 1),
			"kb/mail.ru.md":   strings.Replace(mail, "Mail", "Почта", 1),
			"kb/hidden.en.md": strings.Replace(mail, "position: 1", "position: 1\ndraft: true", 1),
			"blog/soon.en.md": strings.Replace(post, "2026-02-01", soon, 1),
		}), false)
		ctx := context.Background()
		slugs := func(k Kind) (all []string) {
			t.Helper()
			list, total, err := s.List(ctx, Listing{Kind: k, Lang: "en"})
			if err != nil || total != len(list) {
				t.Fatal(total, len(list), err)
			}
			for _, a := range list {
				all = append(all, a.Slug)
			}
			return all
		}
		if got := slugs(Help); !slices.Equal(got, []string{"first-site", "mail"}) {
			t.Errorf("the knowledge base shows %v", got)
		}
		if a, err := s.Find(ctx, Help, "mail"); err != nil || !slices.Equal(a.Languages(), []string{"ru"}) {
			t.Errorf("a draft in English is shown: %v, %v", a.Languages(), err)
		}
		if _, err := s.Find(ctx, Help, "hidden"); err == nil {
			t.Error("a draft is found")
		}
		if found, total, err := s.Search(ctx, Question{Text: "mailboxes"}, 20, 0); err != nil || total != 1 || found[0].Lang != "ru" {
			t.Errorf("the search finds %v, %d, %v", found, total, err)
		}
		if got := slugs(Post); !slices.Equal(got, []string{"open"}) {
			t.Errorf("the blog shows %v", got)
		}
		clk.Advance(4 * 24 * time.Hour)
		if got := slugs(Post); !slices.Equal(got, []string{"soon", "open"}) {
			t.Errorf("later, the blog shows %v", got)
		}
	})
}
