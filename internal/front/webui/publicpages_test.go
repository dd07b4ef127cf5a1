package webui

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/riverqueue/river"

	"stead.dev/stead/internal/content/reviews"
	"stead.dev/stead/internal/content/status"
	"stead.dev/stead/internal/content/templates"
	"stead.dev/stead/internal/identity/account"
	"stead.dev/stead/internal/platform/brand"
	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/i18n"
	"stead.dev/stead/internal/platform/outbox/outboxtest"
	"stead.dev/stead/internal/platform/page"
	"stead.dev/stead/internal/platform/secret"
	"stead.dev/stead/internal/platform/testkit"
	"stead.dev/stead/internal/platform/throttle"
	"stead.dev/stead/internal/port/mailer"
)

// publicSite is the pages of status, templates and reviews.
type publicSite struct {
	t         *testing.T
	mux       *http.ServeMux
	clk       *clock.Fake
	db        *db.DB
	status    *status.Service
	reviews   *reviews.Service
	templates *templates.Service
	sections  *contentSwitch
	asked     int // mails that ask to confirm a subscription
}

// Enqueue counts the jobs that ask.
func (s *publicSite) Enqueue(_ context.Context, _ *db.Tx, args river.JobArgs, _ *river.InsertOpts) error {
	if args.Kind() == "status.ask" {
		s.asked++
	}
	return nil
}

func (*publicSite) Send(context.Context, mailer.Message) error { return nil }

// outsiders is what the sections ask of others.
type outsiders struct{}

func (outsiders) Machines(context.Context) ([]status.Machine, error) {
	return []status.Machine{{Up: true}}, nil
}
func (outsiders) Audience(context.Context, db.Querier) ([]int64, error) { return nil, nil }
func (outsiders) Plan(context.Context, int64) (string, error)           { return "Start", nil }

func newPublicSite(t *testing.T) *publicSite {
	t.Helper()
	clk := clock.NewFake(testkit.Start)
	s := &publicSite{t: t, mux: http.NewServeMux(), clk: clk, db: testkit.SQLite(t, clk), sections: &contentSwitch{}}
	log := slog.New(slog.DiscardHandler)
	box, err := secret.OpenKeyFile(filepath.Join(t.TempDir(), "key"))
	if err != nil {
		t.Fatal(err)
	}
	s.status = status.New(status.Config{
		DB: s.db, Clock: clk, Events: &outboxtest.Recorder{}, Log: log, Machines: outsiders{}, Audience: outsiders{}, Parts: []string{status.API, status.DNS},
		Queue: s, Mailer: s, Box: box, Limiter: throttle.New(s.db, clk), Limits: status.DefaultLimits(), BaseURL: "https://shop.example", Brand: brand.Fixed(brand.Brand{Name: "Shop"}), Letters: &mailer.Writer{Brand: brand.Fixed(brand.Brand{Name: "Shop"}), BaseURL: "https://shop.example"},
	})
	var gallery templates.Config
	gallery.DB = s.db
	s.templates = templates.New(gallery)
	s.reviews = reviews.New(reviews.Config{DB: s.db, Customers: outsiders{}})
	New(Deps{
		Accounts: &account.Service{}, Clock: clk, Log: log, BaseURL: "https://shop.example", Brand: brand.Fixed(brand.Brand{Name: "Shop"}), Language: "en", Sections: s.sections,
		ClientAddr: func(*http.Request) netip.Addr { return netip.MustParseAddr("203.0.113.1") },
		Status:     s.status, Templates: s.templates, Reviews: s.reviews,
	}).Routes(s.mux)
	return s
}

func (s *publicSite) get(path string) (int, string) {
	s.t.Helper()
	w := httptest.NewRecorder()
	s.mux.ServeHTTP(w, httptest.NewRequestWithContext(s.t.Context(), http.MethodGet, path, nil))
	body, err := io.ReadAll(w.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return w.Code, string(body)
}

// has asks for a page and looks for texts in it.
func (s *publicSite) has(path string, wants ...string) string {
	s.t.Helper()
	code, body := s.get(path)
	if code != http.StatusOK {
		s.t.Fatalf("%s: %d %s", path, code, body)
	}
	for _, want := range wants {
		if !strings.Contains(body, want) {
			s.t.Errorf("%s: %s is not in\n%s", path, want, body)
		}
	}
	for _, data := range regexp.MustCompile(`(?s)<script type="application/ld\+json">(.*?)</script>`).FindAllStringSubmatch(body, -1) {
		if !json.Valid([]byte(data[1])) {
			s.t.Errorf("%s: no JSON: %s", path, data[1])
		}
	}
	return body
}

// shared are what every public page has for those who find and share it.
func shared(path, lang string) []string {
	return []string{
		`<link rel="canonical" href="https://shop.example` + path + `?lang=` + lang + `">`, `hreflang="uz" href="https://shop.example` + path + `?lang=uz">`,
		`hreflang="x-default" href="https://shop.example` + path + `">`, `<meta name="description" content="`, `<meta property="og:title" content="`,
		`<script type="application/ld+json">`, `<a href="/status"`, `<a href="/reviews"`, `<a href="/templates"`,
	}
}

func TestThePageOfTheStatus(t *testing.T) {
	t.Parallel()
	s := newPublicSite(t)
	if err := s.status.Record(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.has("/status?lang=en", append(shared("/status", "en"),
		`Everything works`, `No trouble on the 1 day that has been recorded`, `There were none.`, `type="application/atom+xml"`)...)
	s.clk.Advance(24 * time.Hour)
	n, err := s.status.Open(t.Context(), status.Incident{
		Title: i18n.Text{"en": "Slow <names>", "ru": "Медленно"}, Impact: status.Major, Stage: status.Investigating, Components: []string{status.DNS},
	}, i18n.Text{"en": "We look."})
	if err != nil {
		t.Fatal(err)
	}
	starts := s.clk.Now().Add(time.Hour)
	if _, err := s.status.Schedule(t.Context(), status.Planned{Title: i18n.Text{"en": "New disks"}, StartsAt: starts, EndsAt: starts.Add(time.Hour)}); err != nil {
		t.Fatal(err)
	}
	s.has("/status?lang=en", `id="incident-1"`, `Slow &lt;names&gt;`, `Investigating`, `We look.`, `Concerns: Name servers`, `Partly out of order`,
		`1 day with trouble`, `Some of our services are out of order`, `New disks`, `Concerns everything`)
	s.has("/status?lang=ru", `Медленно`, `Выясняем причину`, `We look.`)
	s.has("/status/feed.atom?lang=en", `<id>https://shop.example/status?lang=en#incident-1</id>`, `Slow &lt;names&gt;`, `<summary>Investigating: We look.</summary>`, `New disks`)
	if _, err := s.status.Resolve(t.Context(), n.ID, i18n.Text{"en": "Mended."}); err != nil {
		t.Fatal(err)
	}
	if body := s.has("/status?lang=en", `Mended.`, `Resolved`, `Everything works`); strings.Contains(body, "Going on now") {
		t.Error("an incident that is over goes on")
	}
	s.has("/sitemap.xml", `https://shop.example/status?lang=uz`, `https://shop.example/templates/landing?lang=ru`, `https://shop.example/reviews?lang=en`)
	// The page is there without a database too.
	if err := s.db.Close(); err != nil {
		t.Fatal(err)
	}
	s.clk.Advance(time.Minute)
	s.has("/status?lang=en", `Mended.`, `Out of order`, `As of `)
	s.sections.off = true
	for _, path := range []string{"/status", "/status/feed.atom", "/templates", "/templates/landing", "/reviews"} {
		if code, _ := s.get(path); code != http.StatusNotFound {
			t.Errorf("%s, switched off: %d", path, code)
		}
	}
}

func TestThePagesOfTemplates(t *testing.T) {
	t.Parallel()
	s := newPublicSite(t)
	home := s.has("/templates?lang=ru", append(shared("/templates", "ru"), `"@type":"ItemList"`, `/thumbnail?size=400x300`)...)
	for _, template := range templates.All() {
		if !strings.Contains(home, `<a href="/templates/`+template.Slug+`">`+template.Name["ru"]+`</a>`) {
			t.Errorf("%s is not in the gallery", template.Slug)
		}
		path := "/templates/" + template.Slug
		s.has(path+"?lang=en", append(shared(path, "en"), `<h1>`+template.Name["en"]+`</h1>`, `/preview?lang=en"`, `"template": "`+template.Slug+`"`, `og:image`)...)
	}
	if code, _ := s.get("/templates/none"); code != http.StatusNotFound {
		t.Errorf("a template that there is not: %d", code)
	}
	// What staff hide is gone, also when that is all of them.
	hide := func(template *templates.Template) {
		t.Helper()
		if _, err := s.templates.SetOffered(t.Context(), template.ID, false); err != nil {
			t.Fatal(err)
		}
		if code, _ := s.get("/templates/" + template.Slug); code != http.StatusNotFound {
			t.Errorf("%s is hidden: %d", template.Slug, code)
		}
		for _, path := range []string{"/templates", "/sitemap.xml"} {
			if body := s.has(path); strings.Contains(body, "/templates/"+template.Slug) {
				t.Errorf("%s has %s, which is hidden", path, template.Slug)
			}
		}
	}
	all := templates.All()
	for _, template := range all[1:] {
		hide(template)
	}
	if body := s.has("/templates/" + all[0].Slug + "?lang=en"); strings.Contains(body, "Other templates") {
		t.Error("there are other templates")
	}
	hide(all[0])
	s.has("/templates?lang=en", "There are no templates at the moment.")
}

func TestThePageOfReviews(t *testing.T) {
	t.Parallel()
	s := newPublicSite(t)
	s.has("/reviews?lang=en", append(shared("/reviews", "en"), `Nobody has written anything yet.`)...)
	if err := s.db.InTx(t.Context(), s.reviews.SeedDemo); err != nil {
		t.Fatal(err)
	}
	if body := s.has("/reviews?lang=en", `reviews that are marked as samples`, `4.67 of 5`, `3 reviews`); strings.Contains(body, "AggregateRating") {
		t.Error("search engines are told of samples")
	}
	text := reviews.Text{Author: "Anna <b>", Rating: 4, Title: "Good </script>", Body: "It is quick.\nAnd it is quiet here.", Locale: "en"}
	r, _, err := s.reviews.Write(t.Context(), 7, text)
	if err != nil {
		t.Fatal(err)
	}
	if body := s.has("/reviews?lang=en"); strings.Contains(body, "It is quick") {
		t.Error("a review is shown that outsiders has approved")
	}
	if _, err := s.reviews.Decide(t.Context(), reviews.Decision{ID: r.ID, Version: r.Version, Approve: true}); err != nil {
		t.Fatal(err)
	}
	body := s.has("/reviews?lang=en", `4.5 of 5`, `Anna &lt;b&gt;`, `<p>It is quick.</p>`, `4 stars of 5`, `"ratingValue":4,"reviewCount":1`, `"@type":"Review"`, ` · Start`)
	if strings.Count(body, "</script>") != strings.Count(body, "<script") || strings.Count(body, `"reviewBody"`) != 1 {
		t.Errorf("the block of data: %s", body)
	}
	for _, path := range []string{"/reviews?page=0", "/reviews?page=x", "/reviews?page=99999999"} {
		if code, _ := s.get(path); code != http.StatusNotFound {
			t.Errorf("%s: %d", path, code)
		}
	}
	if before, after := pagesAround("/reviews", page.Params{Page: 2}, 41); before != "/reviews" || after != "/reviews?page=3" {
		t.Errorf("around the second page: %q %q", before, after)
	}
}

func (s *publicSite) post(path string, fields url.Values, site string) (int, string) {
	r := httptest.NewRequestWithContext(s.t.Context(), http.MethodPost, path, strings.NewReader(fields.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if site != "" {
		r.Header.Set("Sec-Fetch-Site", site)
	}
	w := httptest.NewRecorder()
	s.mux.ServeHTTP(w, r)
	return w.Code, w.Body.String()
}

func TestASubscriptionBeginsAndEndsByItsLink(t *testing.T) {
	t.Parallel()
	s := newPublicSite(t)
	for _, bad := range []string{"", "anna", "a@b\nc", strings.Repeat("x", 300) + "@example.com"} {
		if code, body := s.post("/status/subscribe", url.Values{"email": {bad}}, "same-origin"); code != http.StatusUnprocessableEntity || !strings.Contains(body, "aria-invalid") {
			t.Errorf("%q: %d", bad, code)
		}
	}
	if code, _ := s.post("/status/subscribe", url.Values{"email": {"anna@example.com"}}, "cross-site"); code != http.StatusForbidden || s.asked != 0 {
		t.Errorf("from another site: %d, %d mails", code, s.asked)
	}
	if code, _ := s.post("/status/subscribe", url.Values{"email": {"anna@example.com"}}, "same-origin"); code != http.StatusSeeOther || s.asked != 1 {
		t.Fatalf("%d, %d mails", code, s.asked)
	}
	const token = "known"
	err := s.db.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
		_, err := tx.Exec(ctx, `UPDATE status_subscribers SET token_hash = $1`, secret.Hash(token))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // looking changes nothing
		s.has("/status/subscription/"+token+"?lang=en", "anna@example.com", "Yes, subscribe", `content="width=device-width`)
	}
	if code, body := s.post("/status/subscription/"+token, nil, "same-origin"); code != http.StatusOK || !strings.Contains(body, "gets mails") {
		t.Errorf("confirmed: %d %s", code, body)
	}
	s.has("/status/unsubscribe/"+token+"?lang=en", "Unsubscribe")
	// A mail program sends no cookie and no origin, also while the section is off.
	s.sections.off = true
	if code, body := s.post("/status/unsubscribe/"+token, url.Values{"List-Unsubscribe": {"One-Click"}}, ""); code != http.StatusOK || !strings.Contains(body, "your address is deleted") {
		t.Errorf("ended: %d %s", code, body)
	}
	if code, _ := s.get("/status/subscription/" + token); code != http.StatusNotFound {
		t.Errorf("after it: %d", code)
	}
}
