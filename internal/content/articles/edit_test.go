package articles

import (
	"errors"
	"strings"
	"testing"

	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/testkit"
)

func TestAnArticleIsWrittenInABrowser(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		ctx, s := t.Context(), newService(d, clk)
		s.mustImport(t, site, false)
		draft := Draft{Kind: Help, Slug: "watch", Language: "en", Category: "email", Position: 3, Text: Text{
			Title: "Mail: on a watch", Description: "One by one.", Keywords: []string{"wearable"}, Body: "\n\nSee [mail](/kb/mail).\n",
		}}
		made, err := s.Create(ctx, draft)
		if err != nil || made.Version != 1 || !made.Texts["en"].Draft {
			t.Fatalf("%+v, %v", made, err)
		}
		if _, err := s.Create(ctx, draft); fault.From(err).Invalid["slug"] == nil {
			t.Errorf("the same again: %v", err)
		}
		visible := func() bool {
			_, err := s.Find(ctx, Help, "watch")
			if err != nil && !errors.Is(err, fault.NotFound) {
				t.Fatal(err)
			}
			return err == nil
		}
		if visible() {
			t.Error("readers see a draft")
		}
		// A translation does not publish itself, nor the other text.
		russian := draft
		russian.Language, russian.Text.Title = "ru", "Почта на часах"
		saved, err := s.Save(ctx, made.ID, made.Version, russian)
		if err != nil || saved.Version != 2 || len(saved.Texts) != 2 || !saved.Texts["ru"].Draft {
			t.Fatalf("%+v, %v", saved, err)
		}
		if _, err := s.Save(ctx, made.ID, made.Version, draft); !errors.Is(err, fault.Conflict) {
			t.Errorf("a change of what somebody else has changed: %v", err)
		}
		if _, err := s.Show(ctx, made.ID, made.Version, "en", true); !errors.Is(err, fault.Conflict) {
			t.Errorf("what was not read is published: %v", err)
		}
		if _, err := s.Show(ctx, made.ID, saved.Version, "en", true); err != nil || !visible() {
			t.Errorf("published: %v", err)
		}
		if a, err := s.Find(ctx, Help, "watch"); err != nil || len(a.Texts) != 1 {
			t.Errorf("readers get %+v, %v", a, err)
		}
		if found, _, err := s.Search(ctx, Question{Text: "wearable"}, 10, 0); err != nil || len(found) != 1 {
			t.Errorf("the search finds %+v, %v", found, err)
		}
		// A published text stays published when it is changed, and what is exported is imported again.
		draft.Text.Title = "Mail on any watch"
		if e, err := s.Save(ctx, made.ID, 3, draft); err != nil || e.Texts["en"].Draft || e.Texts["en"].Title != draft.Text.Title {
			t.Errorf("%+v, %v", e, err)
		}
		if again, err := s.Files(ctx); err != nil || !strings.Contains(string(again["kb/watch.en.md"]), "Mail on any watch") {
			t.Errorf("exported: %v", err)
		} else {
			files := dir{}
			for name, content := range again {
				files[name] = string(content)
			}
			if r := s.mustImport(t, files, true); len(r.Created)+len(r.Updated)+len(r.Removed) > 0 {
				t.Errorf("an import of what was exported says %+v", r)
			}
		}
		if _, err := s.Show(ctx, made.ID, 0, "en", false); err != nil || visible() {
			t.Errorf("taken back: %v", err)
		}
		drafts, n, err := s.Written(ctx, Sought{Kind: Help, Drafts: true, Words: "WATCH"}, 10, 0)
		if err != nil || n != 1 || drafts[0].ID != made.ID {
			t.Errorf("drafts are %+v, %v", drafts, err)
		}
		if err := errors.Join(s.Remove(ctx, made.ID, "ru"), s.Remove(ctx, made.ID, "en")); err != nil {
			t.Error(err)
		}
		if err := s.Remove(ctx, made.ID, "en"); !errors.Is(err, fault.NotFound) {
			t.Errorf("removed twice: %v", err)
		}
	})
}

func TestAnArticleThatOthersLeadToStays(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		s := newService(d, clk)
		s.mustImport(t, site, false)
		all, _, err := s.Written(t.Context(), Sought{Words: "domain", Kind: Term}, 10, 0)
		if err != nil || len(all) != 1 {
			t.Fatalf("%+v, %v", all, err)
		}
		var last error
		for _, lang := range all[0].Languages() {
			last = s.Remove(t.Context(), all[0].ID, lang)
		}
		if !errors.Is(last, errLinked) || !strings.Contains(fault.From(last).Fields["articles"].(string), "kb/first-site") {
			t.Errorf("it is removed: %v", last)
		}
	})
}

func TestWhatIsWrongWithATextIsSaidByItsLine(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		s := newService(d, clk)
		for what, c := range map[string]struct {
			change      func(*Draft)
			member, key string
			line        int
		}{
			"HTML":          {func(d *Draft) { d.Text.Body = "\r\nHello\n\n<script>x</script>\n" }, "body", "article_html", 4},
			"heading":       {func(d *Draft) { d.Text.Body = "# Mail" }, "body", "article_heading", 1},
			"alt":           {func(d *Draft) { d.Text.Body = "a\n\n![](../media/a.png)" }, "body", "article_alt", 3},
			"target":        {func(d *Draft) { d.Text.Body = "[a](javascript:alert)" }, "body", "article_target", 1},
			"dangling":      {func(d *Draft) { d.Text.Body = "[a](/kb/nothing)" }, "body", "article_dangling", 1},
			"no text":       {func(d *Draft) { d.Text.Body = " \n" }, "body", "required", 0},
			"two lines":     {func(d *Draft) { d.Text.Title = "a\nb" }, "title", "company_text", 0},
			"blank keyword": {func(d *Draft) { d.Text.Keywords = []string{" "} }, "keywords", "required", 0},
			"category":      {func(d *Draft) { d.Category = "mail" }, "category", "article_category", 0},
			"slug":          {func(d *Draft) { d.Slug = "../etc" }, "slug", "article_slug", 0},
			"post unsigned": {func(d *Draft) { d.Kind, d.Category = Post, "news" }, "author", "required", 0},
		} {
			draft := Draft{Kind: Help, Slug: "watch", Language: "en", Category: "email", Text: Text{Title: "Mail", Description: "It.", Body: "It."}}
			c.change(&draft)
			_, _, err := s.Preview(t.Context(), draft)
			texts := fault.From(err).Invalid[c.member]
			if len(texts) != 1 || texts[0].ID != "invalid."+c.key || c.line > 0 && texts[0].Data["Line"] != c.line {
				t.Errorf("%s: %v %+v", what, err, texts)
			}
		}
		_, html, err := s.Preview(t.Context(), Draft{Kind: Term, Slug: "dns", Language: "en", Category: "left out", Text: Text{Title: "DNS", Description: "Names.", Body: "*All* names."}})
		if err != nil || html != "<p><em>All</em> names.</p>\n" {
			t.Errorf("a term is shown as %q, %v", html, err)
		}
	})
}
