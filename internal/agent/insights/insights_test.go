package insights

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/riverqueue/river"

	"stead.dev/stead/internal/platform/api/apitest"
	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/i18n"
	"stead.dev/stead/internal/platform/outbox"
	"stead.dev/stead/internal/platform/outbox/outboxtest"
	"stead.dev/stead/internal/platform/testkit"
	"stead.dev/stead/internal/platform/throttle"
	"stead.dev/stead/internal/port/llm"
	"stead.dev/stead/internal/port/panel"
)

const cleanPage = `<!doctype html><html lang="en"><head><title>Shop</title><meta name="description" content="We sell tea.">
<meta name="viewport" content="width=device-width, initial-scale=1"><link rel="stylesheet" href="/style.css"></head>
<body><img src="/tea.jpg" alt="A cup of tea"><img src="/line.svg" alt=""><a href="/about.html">About</a> <a href="https://other.example/x">Elsewhere</a>
<form action="/search"><label for="q">Search</label><input id="q" name="q"><label>Size <select><option>S</option></select></label>
<input type="hidden" name="t"><input type="submit"><input aria-label="Code"></form></body></html>`

// seenAs is what an audit would see of a site of one page.
func seenAs(t *testing.T, address, body string, change func(f *facts)) facts {
	t.Helper()
	at, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	f := facts{
		reached: true, complete: true, status: 200, robotsKnown: true, looked: map[string]resource{}, logs: map[string]logFacts{"php": {}, "error": {}},
		now: time.Date(2026, 11, 24, 0, 0, 0, 0, time.UTC), phpVersion: "8.4", phpEnds: new(time.Time),
		pages: []visited{{path: "/", status: 200, bytes: int64(len(body)), compressed: true, html: true, document: parse(body, at)}},
	}
	*f.phpEnds = f.now.AddDate(1, 0, 0)
	if change != nil {
		change(&f)
	}
	return f
}

func TestEachPlantedFaultIsFoundAndNoneOnACleanPage(t *testing.T) {
	t.Parallel()
	with := func(old, by string) string {
		if !strings.Contains(cleanPage, old) {
			t.Fatalf("the clean page has no %q", old)
		}
		return strings.Replace(cleanPage, old, by, 1)
	}
	for name, c := range map[string]struct {
		body   string
		change func(f *facts)
		want   []string // check, severity, subject
	}{
		"clean":          {body: cleanPage},
		"no title":       {body: with("<title>Shop</title>", "<title> </title>"), want: []string{"missing_title medium /"}},
		"title of SVG":   {body: with("<title>Shop</title>", "") + "<svg><title>x</title></svg>", want: []string{"missing_title medium /"}},
		"no description": {body: with(`content="We sell tea."`, `content=""`), want: []string{"missing_description low /"}},
		"no viewport":    {body: with(`name="viewport"`, `name="other"`), want: []string{"missing_viewport medium /"}},
		"no language":    {body: with(` lang="en"`, ""), want: []string{"missing_lang low /"}},
		"no alt":         {body: with(` alt="A cup of tea"`, ""), want: []string{"image_alt low /"}},
		"no label":       {body: with(`<label for="q">Search</label>`, "Search"), want: []string{"field_label low /"}},
		"mixed script":   {body: with("</head>", `<script src="http://cdn.example/a.js"></script></head>`), want: []string{"mixed_content medium /"}},
		"mixed form":     {body: with(`action="/search"`, `action="http://shop.example/s"`), want: []string{"mixed_content medium /"}},
		"hidden":         {body: with("</head>", `<meta name="robots" content="NoIndex, follow"></head>`), want: []string{"noindex high /"}},
		"hidden by header": {
			body: cleanPage, change: func(f *facts) { f.pages[0].headerSays = true },
			want: []string{"noindex high /"},
		},
		"robots":    {body: cleanPage, change: func(f *facts) { f.robots = "User-agent: *\nDisallow: /\n" }, want: []string{"robots_blocks high /robots.txt"}},
		"slow":      {body: cleanPage, change: func(f *facts) { f.pages[0].took = 2 * time.Second }, want: []string{"slow_page medium /"}},
		"very slow": {body: cleanPage, change: func(f *facts) { f.pages[0].took = 5 * time.Second }, want: []string{"slow_page high /"}},
		"heavy":     {body: cleanPage, change: func(f *facts) { f.pages[0].bytes = 600 << 10 }, want: []string{"heavy_page low /"}},
		"packed not": {
			body: cleanPage, change: func(f *facts) { f.pages[0].bytes, f.pages[0].compressed = 20<<10, false },
			want: []string{"no_compression low /"},
		},
		"pictures": {body: cleanPage, change: func(f *facts) {
			f.looked["/a.jpg"] = resource{path: "/a.jpg", status: 200, bytes: 400 << 10, picture: true, from: "/"}
			f.looked["/b.jpg"] = resource{path: "/b.jpg", status: 200, bytes: 2 << 20, picture: true, from: "/"}
			f.looked["/c.jpg"] = resource{path: "/c.jpg", status: 200, bytes: 200 << 10, picture: true, from: "/"}
			f.looked["/d.zip"] = resource{path: "/d.zip", status: 200, bytes: 9 << 20, from: "/"}
		}, want: []string{"large_image medium /b.jpg", "large_image low /a.jpg"}},
		"links": {body: cleanPage, change: func(f *facts) {
			for i, status := range []int{200, 301, 401, 403, 404, 410, 500} {
				subject := fmt.Sprintf("/%d", i)
				f.looked[subject] = resource{path: subject, status: status, from: "/"}
			}
		}, want: []string{"broken_link medium /4", "broken_link medium /5", "broken_link medium /6"}},
		"PHP errors": {
			body: cleanPage, change: func(f *facts) { f.logs["php"] = logFacts{count: 3, samples: []string{"x"}} },
			want: []string{"php_errors medium "},
		},
		"fatal PHP errors": {body: cleanPage, change: func(f *facts) { f.logs["php"] = logFacts{count: 3, fatal: 1} }, want: []string{"php_errors high "}},
		"server errors":    {body: cleanPage, change: func(f *facts) { f.logs["error"] = logFacts{count: 1} }, want: []string{"server_errors medium "}},
		"old PHP":          {body: cleanPage, change: func(f *facts) { *f.phpEnds = f.now.AddDate(0, 0, -2) }, want: []string{"php_version high "}},
		"last day of PHP":  {body: cleanPage, change: func(f *facts) { *f.phpEnds = f.now.Add(-time.Hour) }},
		"rules": {body: cleanPage, change: func(f *facts) {
			f.rules = &ruleFacts{complete: true, files: []ruleFile{
				withoutEffect("/public_html/.htaccess", []byte("SetEnv KEY secret")),
				withoutEffect("/public_html/admin/.htaccess", []byte("AuthType Basic\nRequire valid-user")),
				withoutEffect("/public_html/private/.htaccess", []byte("Require all denied\nSetHandler none")),
			}}
		}, want: []string{"htaccess high /public_html/admin/.htaccess", "htaccess low /public_html/.htaccess", "htaccess low /public_html/private/.htaccess"}},
		"down": {
			change: func(f *facts) { *f = facts{failure: "timeout", complete: true} },
			want:   []string{"site_down critical /"},
		},
		"error page": {body: cleanPage, change: func(f *facts) { f.status, f.pages[0].status = 503, 503 }, want: []string{"site_down critical /"}},
		"not seen":   {change: func(f *facts) { *f = facts{skipped: true} }},
	} {
		r := judge(seenAs(t, "https://shop.example/", c.body, c.change))
		var got []string
		for _, f := range r.Findings {
			got = append(got, fmt.Sprintf("%s %s %s", f.Check, f.Severity, f.Subject))
			if !r.Judged(f.Check, f.Subject) {
				t.Errorf("%s: %s is found and not judged", name, f.Check)
			}
			if _, err := json.Marshal(f.Evidence); err != nil || f.Evidence == nil {
				t.Errorf("%s: evidence %v: %v", name, f.Evidence, err)
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: found %q, want %q", name, got, c.want)
		}
	}
}

// someFiles are a site's, by path.
type someFiles map[string]string

func (s someFiles) Search(_ context.Context, _ string, q panel.Query) (found panel.Found, err error) {
	for _, path := range slices.Sorted(maps.Keys(s)) {
		if ok, err := filepath.Match(q.Text, filepath.Base(path)); err != nil {
			return found, err
		} else if ok && strings.HasPrefix(path, q.Path+"/") {
			found.Matches = append(found.Matches, panel.Match{Entry: panel.Entry{Path: path, Name: filepath.Base(path), Type: panel.TypeFile}})
		}
	}
	return found, nil
}

func (s someFiles) Read(_ context.Context, _, path string, _ panel.ReadOptions) (panel.Content, error) {
	return panel.Content{Data: []byte(s[path])}, nil
}

func TestRulesWithoutEffectAreFoundWithoutTheirSecrets(t *testing.T) {
	t.Parallel()
	got := readRules(t.Context(), someFiles{
		"/public_html/.htaccess": "# all\nSetEnv DB_PASSWORD secret\nHeader set A b\n", "/public_html/private/.htaccess": "Deny from all",
		"/public_html/x.htaccess": "SetEnv A b", "/other/.htaccess": "SetEnv A b",
	}, "1", []string{"/public_html", "/public_html/private"})
	want := &ruleFacts{
		complete: true, read: map[string]bool{"/public_html/.htaccess": true, "/public_html/private/.htaccess": true},
		files: []ruleFile{{path: "/public_html/.htaccess", count: 2, rules: []string{"2: SetEnv", "3: Header"}}},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	if readRules(t.Context(), nil, "1", []string{"/public_html"}) != nil {
		t.Error("what cannot be read is known")
	}
}

// What was not looked at is not judged, so nothing is resolved by a visit that failed.
func TestWhatWasNotSeenIsNotJudged(t *testing.T) {
	t.Parallel()
	whole := seenAs(t, "https://shop.example/", cleanPage, nil)
	part := seenAs(t, "https://shop.example/", cleanPage, func(f *facts) { f.complete = false })
	down := facts{failure: "timeout"}
	for _, c := range []struct {
		f              facts
		check, subject string
		want           bool
	}{
		{whole, "missing_title", "/", true},
		{whole, "missing_title", "/gone", true},
		{whole, "large_image", "/a.jpg", true},
		{whole, "hsts", "", false},
		{part, "missing_title", "/", true},
		{part, "missing_title", "/far", false},
		{part, "broken_link", "/a", false},
		{down, "missing_title", "/", false},
		{down, "broken_link", "/a", false},
		{down, "robots_blocks", "/robots.txt", false},
		{down, "site_down", "/", true},
		{down, "php_errors", "", false},
		{facts{skipped: true}, "site_down", "/", false},
	} {
		if got := judge(c.f).Judged(c.check, c.subject); got != c.want {
			t.Errorf("%s %s: judged %v, want %v", c.check, c.subject, got, c.want)
		}
	}
}

func TestEachCheckHasItsTexts(t *testing.T) {
	t.Parallel()
	for _, c := range checks {
		for _, lang := range i18n.Supported() {
			for _, family := range []string{"insight.title.", "insight.detail.", "insight.fix."} {
				if !i18n.Has(lang, family+c.key) {
					t.Errorf("%s has no %s%s", lang, family, c.key)
				}
			}
		}
	}
}

func TestRobots(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"": false, "User-agent: *\nDisallow:\n": false, "User-agent: *\nDisallow: /admin\n": false, "user-agent: *\ndisallow: / # all\n": true,
		"User-agent: BadBot\nDisallow: /\n": false, "User-agent: BadBot\nUser-agent: *\nDisallow: /\n": true,
		"User-agent: *\nDisallow: /\nAllow: /\n": false, "User-agent: *\nCrawl-delay: 1\n\nUser-agent: BadBot\nDisallow: /": false,
	} {
		if got := blocksAll(text); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}

func TestErrorsInLogsAreCountedAndMasked(t *testing.T) {
	t.Parallel()
	got := errorsIn([]panel.LogLine{
		{Level: "error", Message: "PHP Fatal error:  Uncaught PDOException: mysql://shop:tea-and-sugar@db/shop in /public_html/db.php:7"},
		{Level: "error", Message: "PHP Fatal error:  Uncaught PDOException: mysql://shop:tea-and-sugar@db/shop in /public_html/db.php:8"},
		{Level: "warning", Message: "PHP Warning: Undefined variable"},
		{Level: "error", Message: `open() "/public_html/x.png" failed (2: No such file or directory)`},
		{Level: "error", Message: "upstream timed out"},
	})
	if got.count != 3 || got.fatal != 2 || len(got.samples) != 2 {
		t.Errorf("%+v", got)
	}
	if all := strings.Join(got.samples, "\n"); strings.Contains(all, "tea-and-sugar") || !strings.Contains(all, "PDOException") {
		t.Errorf("examples: %s", all)
	}
}

const owner, serviceID = 1, 7

// hosted is service 7 of account 1.
type hosted struct{ place Place }

func (h *hosted) Exists(_ context.Context, _ db.Querier, accountID, id int64) error {
	if accountID != owner || id != serviceID {
		return fault.NotFound.New()
	}
	return nil
}

func (h *hosted) Place(ctx context.Context, accountID, id int64) (Place, error) {
	return h.place, h.Exists(ctx, nil, accountID, id)
}

// names answers for each host.
type names map[string]string

func (n names) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	a, ok := n[host]
	if !ok {
		return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
	}
	return []netip.Addr{netip.MustParseAddr(a)}, nil
}

// adviser is a model that answers with answer, and notes what it was asked.
type adviser struct {
	answer func(ids []int64) string
	asked  []llm.Request
}

func (a *adviser) Ask(_ context.Context, r llm.Request) (llm.Answer, bool, error) {
	if a.answer == nil {
		return llm.Answer{}, false, nil
	}
	a.asked = append(a.asked, r)
	var data struct{ Insights []struct{ ID int64 } }
	if err := json.Unmarshal([]byte(r.Messages[0].Text), &data); err != nil {
		return llm.Answer{}, true, err
	}
	var ids []int64
	for _, i := range data.Insights {
		ids = append(ids, i.ID)
	}
	return llm.Answer{Text: a.answer(ids)}, true, nil
}

// queue keeps the audits that were enqueued.
type queue struct{ audits []auditArgs }

func (q *queue) Enqueue(_ context.Context, _ *db.Tx, args river.JobArgs, _ *river.InsertOpts) error {
	q.audits = append(q.audits, args.(auditArgs))
	return nil
}

type world struct {
	*Service
	model *adviser
	queue *queue
	t     *testing.T
	told  *outboxtest.Recorder
	sites *hosted
	edge  http.Handler
	clk   *clock.Fake
}

func newWorld(t *testing.T, d *db.DB, clk *clock.Fake, site http.Handler) *world {
	t.Helper()
	server := httptest.NewServer(site)
	t.Cleanup(server.Close)
	w := &world{model: &adviser{}, queue: &queue{}, t: t, told: &outboxtest.Recorder{}, clk: clk, sites: &hosted{place: Place{Visible: true, Site: Site{Host: "shop.example", OriginURL: server.URL, Local: true}}}}
	w.Service = New(Config{
		DB: d, Clock: clk, Events: w.told, Limiter: throttle.New(d, clk), Queue: w.queue,
		Crawler: &Crawler{Resolver: names{}, Clock: clk, HTTPPort: "80", HTTPSPort: "443"},
	})
	w.Connect(Needs{Services: w.sites, Model: w.model})
	w.edge = apitest.NewEdge(t, d, clk, apitest.Tokens{
		"own":   {AccountID: owner, ApplicationID: 1, Scopes: []string{"ai:read", "ai:write"}},
		"other": {AccountID: 2, ApplicationID: 1, Scopes: []string{"ai:read", "ai:write"}},
	}, w.Operations())
	return w
}

func (w *world) call(token, method, path, body string, status int, into any) string {
	w.t.Helper()
	rec := apitest.Call(w.edge, token, method, "/api/v1/services/7/ai/"+path, body, "Accept-Language", "en")
	apitest.Answered(w.t, rec, status, into)
	return rec.Body.String()
}

type answered struct {
	Visited, Complete bool
	Created, Resolved int
	Pages             []struct{ Path string }
	Insights          []shown
	Summary           struct{ Medium int }
}

type shown struct {
	ID                                    int64
	Check, Subject, Status, Severity      string
	Title, Suggestion, FixPrompt, Dismiss string
	Advice                                *string
}

func (a answered) found() (all []string) {
	for _, i := range a.Insights {
		all = append(all, i.Check+" "+i.Subject)
	}
	slices.Sort(all)
	return all
}

// TestAnAuditFindsWhatIsThereAndResolvesWhatIsGone visits a real site with planted faults, then mends them.
func TestAnAuditFindsWhatIsThereAndResolvesWhatIsGone(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		clean := false
		var asked []string
		w := newWorld(t, d, clk, http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			if r.Host != "shop.example" {
				asked = append(asked, r.Host)
			}
			switch r.URL.Path {
			case "/":
				rw.Header().Set("Content-Type", "text/html")
				if clean {
					_, _ = rw.Write([]byte(cleanPage))
					return
				}
				_, _ = rw.Write([]byte(`<html lang="en"><title>Shop</title><meta name="viewport" content="width=device-width"><a href="/about.html">a</a>
					<a href="/lost.html">b</a><img alt="" src="/huge.jpg"><a href="http://169.254.169.254/">c</a>`))
			case "/about.html":
				_, _ = rw.Write([]byte(cleanPage))
			case "/huge.jpg":
				rw.Header().Set("Content-Type", "image/jpeg")
				if r.Method == http.MethodGet {
					_, _ = rw.Write(make([]byte, 2<<20))
				} else {
					rw.WriteHeader(http.StatusMethodNotAllowed)
				}
			case "/robots.txt":
				_, _ = rw.Write([]byte("User-agent: *\nDisallow:\n"))
			case "/lost.html":
				rw.WriteHeader(http.StatusNotFound)
			}
		}))
		var a answered
		w.call("own", "POST", "audit", "", 200, &a)
		want := []string{"broken_link /lost.html", "large_image /huge.jpg", "missing_description /"}
		if got := a.found(); !slices.Equal(got, want) || !a.Visited || !a.Complete || a.Created != 3 || a.Summary.Medium != 2 || len(a.Pages) != 2 {
			t.Fatalf("found %q in %+v, want %q", got, a, want)
		}
		if got := w.told.Take(); !slices.Equal(got, []string{"insight.created", "insight.created", "insight.created"}) {
			t.Errorf("events %q", got)
		}
		if len(asked) > 0 {
			t.Errorf("other hosts were asked for: %q", asked)
		}

		// Again: the same insights, seen again. One is dismissed and stays so.
		var once, twice string
		id := a.Insights[0].ID
		once = w.call("own", "POST", fmt.Sprintf("insights/%d/dismiss", id), `{"reason": "it is meant so"}`, 200, nil)
		clk.Advance(time.Hour)
		twice = w.call("own", "POST", fmt.Sprintf("insights/%d/dismiss", id), "", 200, nil)
		if once != twice || !strings.Contains(once, "it is meant so") {
			t.Errorf("dismissed: %s\nagain: %s", once, twice)
		}
		w.call("own", "POST", "audit", "", 200, &a)
		if a.Created != 0 || a.Resolved != 0 || len(a.Insights) != 2 || len(w.told.Take()) != 0 {
			t.Errorf("again: %+v", a)
		}
		var l struct {
			Data []shown
			Meta struct{ Total int }
		}
		w.call("own", "GET", "insights", "", 200, &l)
		if l.Meta.Total != 3 {
			t.Errorf("%d insights after two audits", l.Meta.Total)
		}
		w.call("own", "GET", "insights?status=dismissed", "", 200, &l)
		if l.Meta.Total != 1 || l.Data[0].ID != id {
			t.Errorf("dismissed: %+v", l)
		}

		clean = true
		w.call("own", "POST", "audit", "", 200, &a)
		if a.Resolved != 3 || len(a.Insights) != 0 {
			t.Errorf("after mending: %+v", a)
		}
		if got := w.told.Take(); !slices.Equal(got, []string{"insight.resolved", "insight.resolved"}) {
			t.Errorf("events %q; nobody is told of what was dismissed", got)
		}
		if body := w.call("own", "POST", fmt.Sprintf("insights/%d/dismiss", id), "", 422, nil); !strings.Contains(body, "insight_already_resolved") {
			t.Error(body)
		}

		clean = false // the faults are back
		w.call("own", "POST", "audit", "", 200, &a)
		w.call("own", "GET", "insights", "", 200, &l)
		if a.Created != 3 || l.Meta.Total != 3 {
			t.Errorf("back: %+v, %d in all", a, l.Meta.Total)
		}

		for _, path := range []string{"insights", "audit", fmt.Sprintf("insights/%d/dismiss", id)} {
			method := "POST"
			if path == "insights" {
				method = "GET"
			}
			w.call("other", method, path, "", 404, nil)
		}
	})
}

func TestASiteThatIsDownResolvesNothing(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		down := false
		w := newWorld(t, d, clk, http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			if down {
				rw.WriteHeader(http.StatusInternalServerError)
				return
			}
			rw.Header().Set("Content-Type", "text/html")
			_, _ = rw.Write([]byte("<html><title>Shop</title>"))
		}))
		var a answered
		w.call("own", "POST", "audit", "", 200, &a)
		before := len(a.Insights)
		down = true
		w.call("own", "POST", "audit", "", 200, &a)
		if before == 0 || a.Created != 1 || a.Insights[0].Check != "site_down" {
			t.Errorf("%d before; %+v", before, a)
		}
		down = false
		w.call("own", "POST", "audit", "", 200, &a)
		if len(a.Insights) != before || a.Resolved != 1 {
			t.Errorf("%d before; %+v", before, a)
		}
	})
}

func TestOneAuditAtATimeAndKilledOnesAreForgotten(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		w := newWorld(t, d, clk, http.NotFoundHandler())
		err := d.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
			_, err := begin(ctx, tx, owner, serviceID, tx.Now.Add(lease))
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		if body := w.call("own", "POST", "audit", "", 409, nil); !strings.Contains(body, "job_running") {
			t.Error(body)
		}
		clk.Advance(lease + time.Second)
		w.call("own", "POST", "audit", "", 200, nil)
		w.call("own", "POST", "audit", "", 200, nil)
		w.sites.place.Refusal = fault.ServiceSuspended.New()
		w.call("own", "POST", "audit", "", 422, nil)
	})
}

// A domain that leads elsewhere, to another machine or into a private network, is never called.
func TestOnlyTheServicesOwnServerIsCalled(t *testing.T) {
	t.Parallel()
	calls := 0
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { calls++ }))
	t.Cleanup(server.Close)
	_, port, err := net.SplitHostPort(server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		leads   string
		expects []string
		allowed bool
	}{
		"elsewhere":          {"127.0.0.1", []string{"192.0.2.1"}, true},
		"private":            {"127.0.0.1", []string{"127.0.0.1"}, false},
		"nothing is known":   {"127.0.0.1", nil, true},
		"no address":         {"", nil, true},
		"metadata of clouds": {"169.254.169.254", []string{"169.254.169.254"}, true},
	} {
		crawler := &Crawler{Resolver: names{"shop.example": c.leads}, Clock: clock.System(0), HTTPPort: port, HTTPSPort: port, AllowLoopback: c.allowed}
		if c.leads == "" {
			crawler.Resolver = names{}
		}
		if f := crawler.crawl(t.Context(), Site{Host: "shop.example", Addresses: c.expects}); !f.skipped {
			t.Errorf("%s: %+v", name, f)
		}
	}
	if calls > 0 {
		t.Errorf("%d calls", calls)
	}
	crawler := &Crawler{Resolver: names{"shop.example": "127.0.0.1"}, Clock: clock.System(0), HTTPPort: port, HTTPSPort: "1", AllowLoopback: true}
	if f := crawler.crawl(t.Context(), Site{Host: "shop.example", Addresses: []string{"127.0.0.1"}}); !f.reached || calls == 0 {
		t.Errorf("the service's own: %+v", f)
	}
}

// TestAMachineLeadsNoAuditToThisOne: the origin is what a hosting machine says, which may be in the hands of somebody else.
func TestAMachineLeadsNoAuditToThisOne(t *testing.T) {
	t.Parallel()
	var calls atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { calls.Add(1) }))
	t.Cleanup(server.Close)
	crawler := &Crawler{Resolver: names{}, Clock: clock.System(0)}
	for _, origin := range []string{server.URL, strings.Replace(server.URL, "127.0.0.1", "localhost", 1), "http://169.254.0.1"} {
		if f := crawler.crawl(t.Context(), Site{Host: "shop.example", OriginURL: origin}); f.reached || f.failure != "blocked_target" {
			t.Errorf("%s: %+v", origin, f)
		}
	}
	if n := calls.Load(); n > 0 {
		t.Errorf("%d calls", n)
	}
}

// TestASiteWithoutAnEndCostsABoundedNumberOfRequests visits a site each of whose pages has links to ten new ones.
func TestASiteWithoutAnEndCostsABoundedNumberOfRequests(t *testing.T) {
	t.Parallel()
	var n int
	requests := make(chan struct{}, 1000)
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		requests <- struct{}{}
		rw.Header().Set("Content-Type", "text/html")
		for i := range 30 {
			_, _ = fmt.Fprintf(rw, `<a href="%s/%d">x</a><img alt="" src="%[1]s/%[2]d.jpg">`, strings.TrimSuffix(r.URL.Path, "/"), i)
		}
	}))
	t.Cleanup(server.Close)
	crawler := &Crawler{Resolver: names{}, Clock: clock.System(0)}
	f := crawler.crawl(t.Context(), Site{Host: "shop.example", OriginURL: server.URL, Local: true})
	if n = len(requests); n > mostRequests || len(f.pages) != mostPages || f.complete {
		t.Errorf("%d requests, %d pages, complete %v", n, len(f.pages), f.complete)
	}
}

func TestWhatIsOverGoesAway(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		w := newWorld(t, d, clk, http.NotFoundHandler())
		report := Report{
			Findings: []Finding{{Check: "a", Severity: Low, Kind: SEO}, {Check: "b", Severity: High, Kind: SEO}},
			Judged:   func(string, string) bool { return true },
		}
		statuses := func() (all []Status) {
			var rows []insight
			err := d.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) (err error) {
				rows, err = lockOfService(ctx, tx, owner, serviceID)
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range rows {
				all = append(all, r.status)
			}
			return all
		}
		tell := func(f func(ctx context.Context, tx *db.Tx) error) {
			if err := d.InTx(t.Context(), f); err != nil {
				t.Fatal(err)
			}
		}
		tell(func(ctx context.Context, tx *db.Tx) error {
			_, _, err := w.Report(ctx, tx, owner, serviceID, report)
			return err
		})
		tell(func(ctx context.Context, tx *db.Tx) error {
			return w.Terminated(ctx, tx, outbox.Stored{SubjectID: serviceID})
		})
		if got := statuses(); !slices.Equal(got, []Status{Expired, Expired}) {
			t.Errorf("after the end of the service: %q", got)
		}
		tell(func(ctx context.Context, tx *db.Tx) error {
			_, _, err := w.Report(ctx, tx, owner, serviceID, report)
			return err
		})
		clk.Advance(unseenFor + time.Hour)
		if err := w.Clean(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := statuses(); !slices.Equal(got, []Status{Expired, Expired}) {
			t.Errorf("unseen for long: %q", got)
		}
		clk.Advance(keptFor)
		if err := w.Clean(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := statuses(); len(got) != 0 {
			t.Errorf("long after: %q", got)
		}
		tell(func(ctx context.Context, tx *db.Tx) error {
			_, _, err := w.Report(ctx, tx, owner, serviceID, report)
			return err
		})
		tell(func(ctx context.Context, tx *db.Tx) error { return w.closed(ctx, tx, owner) })
		if got := statuses(); len(got) != 0 {
			t.Errorf("after closing: %q", got)
		}
	})
}
