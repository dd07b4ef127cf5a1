package templates_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/riverqueue/river"

	"stead.dev/stead/internal/content/templates"
	"stead.dev/stead/internal/hosting/site"
	"stead.dev/stead/internal/hosting/site/sitetest"
	"stead.dev/stead/internal/platform/api/apitest"
	"stead.dev/stead/internal/platform/auth"
	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/outbox/outboxtest"
	"stead.dev/stead/internal/platform/testkit"
	"stead.dev/stead/internal/port/panel"
	"stead.dev/stead/internal/port/panel/sandbox"
)

// machine is a panel whose writes fail when the test says so.
type machine struct {
	sandbox.Panel
	failing func(path string) error // may be nil
	writes  int
}

func (m *machine) Write(ctx context.Context, ref, path string, data []byte, opt panel.WriteOptions) (panel.Entry, error) {
	m.writes++
	if m.failing != nil {
		if err := m.failing(path); err != nil {
			return panel.Entry{}, panel.Wrap("files.write", ref, err)
		}
	}
	return m.Panel.Write(ctx, ref, path, data, opt)
}

// queue keeps the jobs that were inserted.
type queue struct{ ids []int64 }

func (q *queue) Enqueue(_ context.Context, _ *db.Tx, args river.JobArgs, _ *river.InsertOpts) error {
	encoded, err := json.Marshal(args)
	if err != nil {
		return err
	}
	var a struct {
		InstallationID int64 `json:"installation_id"`
	}
	err = json.Unmarshal(encoded, &a)
	q.ids = append(q.ids, a.InstallationID)
	return err
}

type world struct {
	t *testing.T
	*templates.Service
	machine *machine
	queue   *queue
	events  *outboxtest.Recorder
	edge    http.Handler
	clk     *clock.Fake
}

func engines(t *testing.T, f func(t *testing.T, w *world)) {
	t.Helper()
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		p, err := sandbox.Open(t.Context(), filepath.Join(t.TempDir(), "panel"), time.Now, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = p.Close() })
		if _, err := p.CreateAccount(t.Context(), panel.AccountSpec{Ref: "s10", Username: "anna", PrimaryDomain: "anna.example.com"}); err != nil {
			t.Fatal(err)
		}
		services := sitetest.New(t, d)
		services.Add(t, site.Site{ServiceID: 10, AccountID: 1, Panel: "it", Ref: "s10", Status: "active"})
		services.Add(t, site.Site{ServiceID: 11, AccountID: 1, Panel: "it", Ref: "s11", Status: "suspended"})
		w := &world{t: t, machine: &machine{Panel: p}, queue: &queue{}, events: &outboxtest.Recorder{}, clk: clk}
		w.Service = templates.New(templates.Config{
			Base:    site.Base{DB: d, Queue: w.queue, Services: services, Panels: sitetest.Panels{"it": w.machine}, Outbox: w.events},
			BaseURL: apitest.BaseURL,
		})
		scopes := []string{"services:read", "services:write"}
		w.edge = apitest.NewEdge(t, d, clk, apitest.Tokens{
			"owner": {AccountID: 1, ApplicationID: 1, Scopes: scopes}, "stranger": {AccountID: 2, ApplicationID: 1, Scopes: auth.Scopes},
			"visit": {AccountID: 1, OnlyService: 10, FirstParty: true, Scopes: scopes},
		}, w.Operations())
		f(t, w)
	})
}

// install asks for a template and answers status and body.
func (w *world) install(token string, service int, body string) (int, map[string]any) {
	w.t.Helper()
	rec := apitest.Call(w.edge, token, "POST", fmt.Sprintf("/api/v1/services/%d/template", service), body)
	var a map[string]any
	if err := json.Unmarshal(rec.Body.Bytes(), &a); err != nil {
		w.t.Fatal(err)
	}
	return rec.Code, a
}

// run does the last job, and answers the installation as it is then.
func (w *world) run() (templates.Installation, error) {
	w.t.Helper()
	err := w.Run(w.t.Context(), w.queue.ids[len(w.queue.ids)-1])
	i, readErr := w.Installed(w.t.Context(), 1, 10)
	if readErr != nil {
		w.t.Fatal(readErr)
	}
	return i, err
}

// read answers what is at a path; the kind of the refusal when nothing is.
func (w *world) read(path string) string {
	c, err := w.machine.Read(w.t.Context(), "s10", path, panel.ReadOptions{})
	if err != nil {
		return string(panel.KindOf(err))
	}
	return string(c.Data)
}

func (w *world) put(path, content string) {
	w.t.Helper()
	if _, err := w.machine.Panel.Write(w.t.Context(), "s10", path, []byte(content), panel.WriteOptions{Parents: true}); err != nil {
		w.t.Fatal(err)
	}
}

func TestATemplateIsPutOnAService(t *testing.T) {
	engines(t, func(t *testing.T, w *world) {
		code, a := w.install("owner", 10, `{"template": "restaurant", "language": "ru", "title": "Чайхана <1>"}`)
		if code != http.StatusCreated || a["status"] != "pending" || a["directory"] != "/public_html" {
			t.Fatalf("%d %v", code, a)
		}
		if code, a := w.install("owner", 10, `{"template": "event"}`); code != http.StatusConflict || a["error"] != "job_running" {
			t.Errorf("while the other is on its way: %d %v", code, a)
		}
		for range 2 { // a job may run twice
			i, err := w.run()
			if err != nil || i.Status != templates.Completed || i.KeptIn != "" || i.FinishedAt == nil {
				t.Fatalf("%+v, %v", i, err)
			}
		}
		if told := w.events.Take(); !slices.Equal(told, []string{"template.changed"}) {
			t.Errorf("told of it: %v", told)
		}
		page := w.read("/public_html/index.html")
		if !strings.Contains(page, `<html lang="ru">`) || !strings.Contains(page, "<h1>Чайхана &lt;1&gt;</h1>") ||
			!strings.HasPrefix(w.read("/public_html/style.css"), ":root") || !strings.HasPrefix(w.read("/public_html/favicon.svg"), "<svg") {
			t.Errorf("%.400s", page)
		}
		// The same once more is in nobody's way.
		if code, a := w.install("owner", 10, `{"template": "restaurant", "language": "ru", "title": "Чайхана <1>"}`); code != http.StatusCreated {
			t.Errorf("again: %d %v", code, a)
		}
	})
}

// TestAResellersClientPutsATemplateThere: the visit is to one service.
func TestAResellersClientPutsATemplateThere(t *testing.T) {
	engines(t, func(t *testing.T, w *world) {
		if code, a := w.install("visit", 10, `{"template": "event"}`); code != http.StatusCreated {
			t.Fatalf("%d %v", code, a)
		}
		if i, err := w.run(); err != nil || i.Status != templates.Completed {
			t.Errorf("%+v, %v", i, err)
		}
		if rec := apitest.Call(w.edge, "visit", "GET", "/api/v1/services/10/template", ""); rec.Code != http.StatusOK {
			t.Errorf("%d %s", rec.Code, rec.Body)
		}
		if code, a := w.install("visit", 11, `{"template": "event"}`); code != http.StatusNotFound {
			t.Errorf("on another service: %d %v", code, a)
		}
	})
}

func TestNothingIsOverwrittenUnasked(t *testing.T) {
	engines(t, func(t *testing.T, w *world) {
		w.put("/public_html/index.html", "mine")
		w.put("/public_html/index.php", "<?php // mine")
		code, a := w.install("owner", 10, `{"template": "event"}`)
		if code != http.StatusConflict || a["error"] != "template_files_exist" ||
			fmt.Sprint(a["paths"]) != "[/public_html/index.html /public_html/index.php]" {
			t.Fatalf("%d %v", code, a)
		}
		if code, a = w.install("owner", 10, `{"template": "event", "overwrite": true}`); code != http.StatusCreated {
			t.Fatalf("%d %v", code, a)
		}
		i, err := w.run()
		if err != nil || i.Status != templates.Completed || strings.HasPrefix(i.KeptIn, "/public_html") {
			t.Fatalf("%+v, %v", i, err)
		}
		if w.read(i.KeptIn+"/index.html") != "mine" || w.read(i.KeptIn+"/index.php") != "<?php // mine" || w.read("/public_html/index.php") != "not_found" ||
			!strings.Contains(w.read("/public_html/index.html"), "<!DOCTYPE html>") {
			t.Errorf("kept in %s: %q", i.KeptIn, w.read(i.KeptIn+"/index.html"))
		}
	})
}

// TestWhatComesInTheWayLaterIsNotOverwritten: a file that is made between the request and its job.
func TestWhatComesInTheWayLaterIsNotOverwritten(t *testing.T) {
	engines(t, func(t *testing.T, w *world) {
		if code, a := w.install("owner", 10, `{"template": "event"}`); code != http.StatusCreated {
			t.Fatalf("%d %v", code, a)
		}
		w.put("/public_html/style.css", "mine")
		i, err := w.run()
		if err != nil || i.Status != templates.Failed || i.FailureKey == nil || *i.FailureKey != "template_files_exist" || w.read("/public_html/style.css") != "mine" {
			t.Errorf("%+v, %v", i, err)
		}
	})
}

// TestAKilledJobIsDoneAgain: it may end before any of its writes, and the next run finishes it and loses nothing.
func TestAKilledJobIsDoneAgain(t *testing.T) {
	engines(t, func(t *testing.T, w *world) {
		for _, last := range []string{"style.css", "favicon.svg", "index.html"} {
			w.put("/public_html/index.html", "mine before "+last)
			w.put("/public_html/style.css", "my style before "+last)
			if code, a := w.install("owner", 10, `{"template": "portfolio", "overwrite": true}`); code != http.StatusCreated {
				t.Fatalf("%d %v", code, a)
			}
			w.machine.failing = func(path string) error {
				if strings.HasSuffix(path, last) {
					return panel.ErrUnreachable
				}
				return nil
			}
			if i, err := w.run(); err == nil || i.Status != templates.Pending || w.read("/public_html/index.html") != "mine before "+last {
				t.Errorf("%s cannot be written: %+v, %v", last, i, err)
			}
			w.machine.failing = nil
			i, err := w.run()
			if err != nil || i.Status != templates.Completed || w.read(i.KeptIn+"/index.html") != "mine before "+last ||
				w.read(i.KeptIn+"/style.css") != "my style before "+last || !strings.Contains(w.read("/public_html/index.html"), "Aziza") {
				t.Errorf("after %s: %+v, %v, %q", last, i, err, w.read(i.KeptIn+"/style.css"))
			}
		}
	})
}

// TestAFullDiskLeavesTheSiteAsItWas whatever file does not fit.
func TestAFullDiskLeavesTheSiteAsItWas(t *testing.T) {
	engines(t, func(t *testing.T, w *world) {
		for _, last := range []string{"style.css", "favicon.svg", "index.html"} {
			w.put("/public_html/index.html", "mine")
			if code, a := w.install("owner", 10, `{"template": "landing", "overwrite": true}`); code != http.StatusCreated {
				t.Fatalf("%d %v", code, a)
			}
			w.machine.failing = func(path string) error {
				if strings.HasSuffix(path, last) {
					return panel.ErrDiskFull
				}
				return nil
			}
			i, err := w.run()
			if err != nil || i.Status != templates.Failed || i.FailureKey == nil || *i.FailureKey != "disk_full" {
				t.Errorf("%+v, %v", i, err)
			}
			if told := w.events.Take(); !slices.Equal(told, []string{"template.changed"}) {
				t.Errorf("told of it: %v", told)
			}
			home, err := w.machine.List(t.Context(), "s10", "/", 0, 0)
			if err != nil || slices.ContainsFunc(home.Entries, func(e panel.Entry) bool { return strings.HasPrefix(e.Name, "before-template") }) {
				t.Errorf("the home has %v, %v", home.Entries, err)
			}
			if w.read("/public_html/index.html") != "mine" || w.read("/public_html/style.css") != "not_found" || w.read("/public_html/favicon.svg") != "not_found" {
				t.Errorf("%s does not fit, and the site is not as it was", last)
			}
			w.machine.failing = nil
		}
	})
}

// TestAFailureLeavesFilesThatWereThereAsTheTemplateHasThem: another title changes the home page alone, and its failure takes nothing else along,
// also when a first run was killed between its writes.
func TestAFailureLeavesFilesThatWereThereAsTheTemplateHasThem(t *testing.T) {
	engines(t, func(t *testing.T, w *world) {
		if code, a := w.install("owner", 10, `{"template": "landing", "title": "One"}`); code != http.StatusCreated {
			t.Fatalf("%d %v", code, a)
		}
		if i, err := w.run(); err != nil || i.Status != templates.Completed {
			t.Fatalf("%+v, %v", i, err)
		}
		page := w.read("/public_html/index.html")
		if err := w.machine.Remove(t.Context(), "s10", "/public_html/favicon.svg", false); err != nil {
			t.Fatal(err)
		}
		if code, a := w.install("owner", 10, `{"template": "landing", "title": "Another", "overwrite": true}`); code != http.StatusCreated {
			t.Fatalf("%d %v", code, a)
		}
		for _, cause := range []error{panel.ErrUnreachable, panel.ErrDiskFull} { // killed before the home page, then refused for good
			w.machine.failing = func(path string) error {
				if strings.HasSuffix(path, "index.html") {
					return cause
				}
				return nil
			}
			if i, err := w.run(); errors.Is(cause, panel.ErrDiskFull) && (err != nil || i.Status != templates.Failed) {
				t.Fatalf("%+v, %v", i, err)
			}
		}
		if w.read("/public_html/index.html") != page || !strings.HasPrefix(w.read("/public_html/style.css"), ":root") || w.read("/public_html/favicon.svg") != "not_found" {
			t.Errorf("the site is not as it was: style %.40q, icon %.40q", w.read("/public_html/style.css"), w.read("/public_html/favicon.svg"))
		}
	})
}

func TestBadRequestsWriteNothing(t *testing.T) {
	engines(t, func(t *testing.T, w *world) {
		for name, c := range map[string]struct {
			token   string
			service int
			body    string
			status  int
			key     string
		}{
			"a stranger":         {"stranger", 10, `{"template": "event"}`, 404, "not_found"},
			"suspended":          {"owner", 11, `{"template": "event"}`, 422, "service_suspended"},
			"no such template":   {"owner", 10, `{"template": "../event"}`, 422, "validation_failed"},
			"another language":   {"owner", 10, `{"template": "event", "language": "de"}`, 422, "validation_failed"},
			"two lines":          {"owner", 10, `{"template": "event", "title": "a\nb"}`, 422, "validation_failed"},
			"out of the account": {"owner", 10, `{"template": "event", "directory": "/../../etc"}`, 422, "path_not_allowed"},
		} {
			if code, a := w.install(c.token, c.service, c.body); code != c.status || a["error"] != c.key {
				t.Errorf("%s: %d %v, want %d %s", name, code, a, c.status, c.key)
			}
		}
		if len(w.queue.ids) != 0 || w.machine.writes != 0 {
			t.Errorf("%d jobs, %d writes", len(w.queue.ids), w.machine.writes)
		}
	})
}

// get is a request without a token.
func (w *world) get(path string, header ...string) (*http.Response, string) {
	rec := apitest.Call(w.edge, "", "GET", path, "", header...)
	return rec.Result(), rec.Body.String()
}

func TestAPreviewIsInASandbox(t *testing.T) {
	engines(t, func(t *testing.T, w *world) {
		r, body := w.get("/templates/2/preview?lang=uz")
		policy := r.Header.Get("Content-Security-Policy")
		if r.StatusCode != 200 || !strings.HasPrefix(policy, "sandbox; default-src 'none'; style-src 'sha256-") || !strings.Contains(policy, "frame-ancestors *") {
			t.Fatalf("%d, policy %q", r.StatusCode, policy)
		}
		if !strings.Contains(body, `<html lang="uz">`) || strings.Contains(body, "href=\"style.css\"") || len(r.Cookies()) != 0 || r.Header.Get("X-Frame-Options") != "" {
			t.Errorf("%v %.300s", r.Header, body)
		}
		if again, _ := w.get("/templates/2/preview?lang=uz", "If-None-Match", r.Header.Get("ETag")); again.StatusCode != 304 {
			t.Errorf("with its ETag: %d", again.StatusCode)
		}
		for _, size := range []string{"", "?size=400x300", "?size=800x600"} {
			r, body := w.get("/templates/2/thumbnail" + size)
			if r.StatusCode != 200 || r.Header.Get("Content-Type") != "image/webp" || len(body) < 2000 || r.Header.Get("ETag") == "" {
				t.Errorf("%s: %d %v", size, r.StatusCode, r.Header)
			}
		}
		for path, want := range map[string]int{
			"/templates/99/preview": 404, "/templates/99/thumbnail": 404, "/templates/x/preview": 404, "/templates/2/thumbnail?size=1x1": 422,
		} {
			if r, body := w.get(path); r.StatusCode != want {
				t.Errorf("%s: %d %s, want %d", path, r.StatusCode, body, want)
			}
		}
		// Where previews have an origin of their own, the site leads there.
		w.PreviewOrigin = "https://preview.example.net"
		if r, _ := w.get("/templates/2/preview?lang=uz"); r.StatusCode != 302 || r.Header.Get("Location") != "https://preview.example.net/templates/2/preview?lang=uz" {
			t.Errorf("%d to %q", r.StatusCode, r.Header.Get("Location"))
		}
	})
}

func TestTheListResolvesItsLanguage(t *testing.T) {
	engines(t, func(t *testing.T, w *world) {
		var list struct {
			Data []struct {
				Slug, Engine string
				Name         any
				PreviewURL   string `json:"preview_url"`
				Popularity   int
			}
			Meta struct{ Total int }
		}
		read := func(query string) {
			t.Helper()
			r, body := w.get("/api/v1/templates" + query)
			if err := json.Unmarshal([]byte(body), &list); err != nil || r.StatusCode != 200 {
				t.Fatalf("%s: %d %s", query, r.StatusCode, body)
			}
		}
		read("?lang=ru&category=food")
		if list.Meta.Total != 1 || list.Data[0].Name != "Ресторан" || list.Data[0].PreviewURL != apitest.BaseURL+"/templates/2/preview" {
			t.Errorf("%+v", list)
		}
		if code, a := w.install("owner", 10, `{"template": "restaurant"}`); code != http.StatusCreated {
			t.Fatalf("%d %v", code, a)
		}
		if _, err := w.run(); err != nil {
			t.Fatal(err)
		}
		read("?q=Ресторан")
		if list.Meta.Total != 1 || list.Data[0].Popularity != 1 {
			t.Errorf("%+v", list)
		}
		read("?per_page=4&page=2")
		if list.Meta.Total != 6 || len(list.Data) != 2 {
			t.Errorf("%+v", list)
		}
	})
}

// TestAHiddenTemplateIsAsOneThatIsNotThere for customers, and what was made of it stays.
func TestAHiddenTemplateIsAsOneThatIsNotThere(t *testing.T) {
	engines(t, func(t *testing.T, w *world) {
		const restaurant = 2
		offer := func(id int64, offered bool) templates.Offer {
			t.Helper()
			o, err := w.SetOffered(t.Context(), id, offered)
			if err != nil || o.Offered != offered {
				t.Fatalf("%+v, %v", o, err)
			}
			return o
		}
		listed := func() bool {
			t.Helper()
			_, body := w.get("/api/v1/templates")
			return strings.Contains(body, `"restaurant"`)
		}
		if code, a := w.install("owner", 10, `{"template": "restaurant"}`); code != http.StatusCreated {
			t.Fatalf("%d %v", code, a)
		}
		offer(restaurant, false)
		// Its installation had begun.
		if i, err := w.run(); err != nil || i.Status != templates.Completed {
			t.Fatalf("%+v, %v", i, err)
		}
		if o := offer(restaurant, false); o.Services != 1 { // hiding it twice is hiding it
			t.Errorf("%d services have it, want 1", o.Services)
		}
		if listed() {
			t.Error("it is in the list")
		}
		for _, id := range []int{restaurant, 99} {
			for _, what := range []string{"preview", "thumbnail"} {
				r, body := w.get(fmt.Sprintf("/templates/%d/%s", id, what))
				if r.StatusCode != http.StatusNotFound || !strings.Contains(body, `"not_found"`) {
					t.Errorf("%s of %d: %d %s", what, id, r.StatusCode, body)
				}
			}
		}
		_, unknown := w.install("owner", 10, `{"template": "nothing"}`)
		if code, a := w.install("owner", 10, `{"template": "restaurant"}`); code != http.StatusUnprocessableEntity || fmt.Sprint(a) != fmt.Sprint(unknown) {
			t.Errorf("%d %v, want %v", code, a, unknown)
		}
		rec := apitest.Call(w.edge, "owner", "GET", "/api/v1/services/10/template", "")
		if rec.Code != http.StatusOK || !strings.Contains(rec.Body.String(), `"template":"restaurant"`) {
			t.Errorf("on the service: %d %s", rec.Code, rec.Body)
		}
		all, err := w.Offers(t.Context())
		if err != nil || len(all) != len(templates.All()) || all[1].ID != restaurant || all[1].Offered || !all[0].Offered || all[1].Services != 1 {
			t.Errorf("for staff: %+v, %v", all, err)
		}
		preview, picture := httptest.NewRecorder(), httptest.NewRecorder()
		r := httptest.NewRequestWithContext(t.Context(), "GET", "/", nil)
		err = errors.Join(w.ServePreview(t.Context(), preview, r, restaurant), w.ServeThumbnail(picture, r, restaurant, templates.Small))
		if err != nil || !strings.HasPrefix(preview.Header().Get("Content-Security-Policy"), "sandbox; ") || picture.Body.Len() < 2000 ||
			!strings.HasPrefix(preview.Header().Get("Cache-Control"), "private") {
			t.Errorf("for staff: %v %v", err, preview.Header())
		}
		offer(restaurant, true)
		if !listed() {
			t.Error("it is offered again, and not in the list")
		}
		if r, _ := w.get("/templates/2/preview"); r.StatusCode != http.StatusOK {
			t.Errorf("it is offered again: %d", r.StatusCode)
		}
		if code, a := w.install("owner", 10, `{"template": "restaurant"}`); code != http.StatusCreated {
			t.Errorf("it is offered again: %d %v", code, a)
		}
		if _, err := w.SetOffered(t.Context(), 99, false); !errors.Is(err, fault.NotFound) {
			t.Errorf("one that is not there: %v", err)
		}
	})
}
