package sitedomains

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"stead.dev/stead/internal/hosting/site"
	"stead.dev/stead/internal/hosting/site/sitetest"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/outbox"
	"stead.dev/stead/internal/platform/outbox/outboxtest"
	"stead.dev/stead/internal/platform/testkit"
	"stead.dev/stead/internal/port/panel"
)

// From the request to the visitor, with everything that is between them: the edge, the queue, the
// embedded node and its web server.
func TestDomainsAreServedForReal(t *testing.T) {
	t.Parallel()
	sitetest.Engines(t, func(base sitetest.World) {
		t := base.T
		n, p := onNode(t)
		w := newWorld(base, p)
		server := httptest.NewServer(n.Handler())
		t.Cleanup(server.Close)
		w.Start(w.queue)
		outboxtest.Relay(t, w.events)
		w.service(owner, 10, "shop.example")
		write := func(path, content string) {
			_, err := p.Write(t.Context(), "10", path, []byte(content), panel.WriteOptions{Parents: true})
			w.Must(err)
		}
		serves := func(host string, status int, want string) {
			t.Helper()
			testkit.Eventually(t, time.Minute, func() bool {
				got, location, body := visit(t, server.URL, host)
				return got == status && (status == 404 || location+body == want)
			}, fmt.Sprintf("%s answers %d %q", host, status, want))
		}
		write("/public_html/index.html", "the shop")
		write("/sites/second.example/index.html", "the second")

		second := w.add(10, "Second.Example", Addon)
		alias := w.add(10, "alias.example", Alias)
		serves("second.example", 200, "the second")
		serves("www.second.example", 200, "the second")
		serves("alias.example", 200, "the shop")

		patch := func(id int64, body string) {
			t.Helper()
			if r := w.Do("PATCH", fmt.Sprintf("/10/domains/%d", id), "own", body); r.Code != 200 {
				t.Fatalf("%s: %+v", body, r)
			}
		}
		patch(alias, `{"redirect_to":"https://elsewhere.example"}`)
		serves("alias.example", 301, "https://elsewhere.example/")
		patch(alias, `{"redirect_to":""}`)
		serves("alias.example", 200, "the shop")

		testkit.Eventually(t, time.Minute, func() bool { return w.shows(10)["second.example"].Status == "active" }, "it is active")
		patch(second, `{"primary":true}`)
		serves("alias.example", 200, "the second") // it shows the primary domain's site
		serves("shop.example", 200, "the shop")

		for _, name := range []string{"shop.example", "alias.example"} {
			if r := w.Do("DELETE", fmt.Sprintf("/10/domains/%d", w.shows(10)[name].ID), "own", ""); r.Code != 200 {
				t.Fatalf("remove %s: %+v", name, r)
			}
			serves(name, 404, "")
		}
		testkit.Eventually(t, time.Minute, func() bool { return len(w.shows(10)) == 1 }, "the rows are gone")
	})
}

func TestEachOperationAnswersAsDocumented(t *testing.T) {
	t.Parallel()
	const (
		primary = `{"id":1,"name":"shop.example","unicode_name":"shop.example","kind":"primary","document_root":"/public_html","redirect_to":null,"force_https":false,"primary":true,"status":"active","failure_key":null,"dns":{"status":"unknown","expected":["192.0.2.1"],"found":[],"checked_at":null},"tls":{"status":"self_signed"},"verification":{"state":"not_required","method":"none","record":null,"nameservers":[],"checked_at":null,"loses_at":null},"displaced_name":null,"created_at":"2026-03-02T09:00:00Z"}`
		addon   = `{"id":2,"name":"xn--bcher-kva.example","unicode_name":"bücher.example","kind":"addon","document_root":"/b","redirect_to":%s,"force_https":false,"primary":false,"status":"%s","failure_key":null,"dns":{"status":"unknown","expected":["192.0.2.1"],"found":[],"checked_at":null},"tls":{"status":"%s"},"verification":{"state":"not_required","method":"none","record":null,"nameservers":[],"checked_at":null,"loses_at":null},"displaced_name":null,"created_at":"2026-03-02T09:00:00Z"}`
		none    = `{"used":null,"limit":-1,"percent":null}`
	)
	list := func(total int, rows ...string) string {
		return fmt.Sprintf(`{"data":[%s],"meta":{"page":1,"per_page":20,"total":%d,"last_page":1}}`, strings.Join(rows, ","), total)
	}
	engines(t, func(t *testing.T, w *world) {
		w.service(owner, 10, "shop.example")
		for _, s := range []struct {
			method, target, body string
			code                 int
			want                 string
		}{
			{"GET", "/10/domains", "", 200, list(1, primary)},
			{"POST", "/10/domains", `{"name":"Bücher.example","kind":"addon","document_root":"b"}`, 201, fmt.Sprintf(addon, "null", "pending", "none")},
			{"PATCH", "/10/domains/2", `{"redirect_to":"https://new.example"}`, 200, fmt.Sprintf(addon, `"https://new.example"`, "pending", "none")},
			{"", "", "", 0, ""}, // the panel follows
			{"GET", "/10/domains", "", 200, list(2, primary, fmt.Sprintf(addon, `"https://new.example"`, "active", "self_signed"))},
			{"PATCH", "/10/domains/2", `{}`, 200, fmt.Sprintf(addon, `"https://new.example"`, "active", "self_signed")},
			{"GET", "/10/usage", "", 200, `{"disk_mb":{"used":0,"limit":100,"percent":0},"inodes":{"used":5,"limit":-1,"percent":null},"bandwidth_gb":{"used":0,"limit":-1,"percent":null}` +
				`,"sites":{"used":2,"limit":3,"percent":66},"domains":{"used":2,"limit":4,"percent":50},"subdomains":{"used":0,"limit":2,"percent":0},` +
				`"databases":{"used":null,"limit":5,"percent":null},"mailboxes":` + none + `,"ftp_accounts":` + none + `,"cron_jobs":` + none + `,"backups":` + none + `}`},
			{"DELETE", "/10/domains/2", "", 200, `{}`},
			{"DELETE", "/10/domains/2", "", 200, `{}`},
			{"GET", "/10/domains", "", 200, list(2, primary, fmt.Sprintf(addon, `"https://new.example"`, "removing", "self_signed"))},
			{"", "", "", 0, ""},
			{"GET", "/10/domains", "", 200, list(1, primary)},
		} {
			if s.method == "" {
				w.Must(w.Apply(t.Context(), owner, 10))
				w.Must(w.Apply(t.Context(), owner, 10)) // a job may run twice
				continue
			}
			if r := w.Do(s.method, s.target, "own", s.body); r.Code != s.code || r.Body != s.want {
				t.Fatalf("%s %s %s\ngot  %d %s\nwant %d %s", s.method, s.target, s.body, r.Code, r.Body, s.code, s.want)
			}
		}
		var told []string
		events, err := w.events.Of(t.Context(), "service", 10)
		w.Must(err)
		for _, e := range events {
			told = append(told, e.Type+" "+string(e.Data))
		}
		want := []string{
			`site_domain.added {"id":2,"service_id":10,"name":"xn--bcher-kva.example","kind":"addon"}`,
			`site_domain.removed {"id":2,"service_id":10,"name":"xn--bcher-kva.example","kind":"addon"}`,
		}
		if !slices.Equal(told, want) {
			t.Errorf("told %s", strings.Join(told, "\n"))
		}
	})
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		w.service(owner, 10, "shop.example")
		w.service(owner, 11, "mine.example")
		w.service(stranger, 20, "victim.example")
		for id, s := range map[int64]site.Site{
			12: {Panel: "bare", Ref: "12", Status: "active"}, 13: {Panel: "it", Ref: "13", Status: "suspended"},
			14: {Panel: "it", Status: "provisioning"}, 15: {Panel: "lost", Ref: "15", Status: "active"},
		} {
			s.ServiceID, s.AccountID = id, owner
			w.Services.Add(t, s)
		}
		addon := w.add(10, "addon.example", Addon)
		alias := w.add(10, "alias.example", Alias)
		sub := w.add(10, "blog.addon.example", Subdomain)
		w.Must(w.Apply(t.Context(), owner, 10))
		pending := w.add(10, "new.shop.example", Subdomain)
		at := func(id int64) string { return fmt.Sprintf("/10/domains/%d", id) }
		before := fmt.Sprint(w.shows(10))
		w.Refused([]sitetest.Refusal{
			{"POST", "/10/domains", "own", `{"name":"localhost","kind":"addon"}`, 422, "domain_invalid"},
			{"POST", "/10/domains", "own", `{"name":"x.example","kind":"primary"}`, 422, "validation_failed"},
			{"POST", "/10/domains", "own", `{"name":"x.example"}`, 422, "validation_failed"},
			{"POST", "/10/domains", "own", `{"name":"x.example","kind":"alias","document_root":"/x"}`, 422, "validation_failed"},
			{"POST", "/10/domains", "own", `{"name":"x.example","kind":"addon","document_root":"../x"}`, 422, "path_not_allowed"},
			{"POST", "/10/domains", "own", `{"name":"x.example","kind":"addon","document_root":"/logs"}`, 422, "path_not_allowed"},
			{"POST", "/10/domains", "own", `{"name":"x.elsewhere.example","kind":"subdomain"}`, 422, "validation_failed"},
			{"POST", "/10/domains", "own", `{"name":"www.stead.test","kind":"addon"}`, 422, "domain_unavailable"},
			{"POST", "/10/domains", "own", `{"name":"mine.example","kind":"addon"}`, 422, "domain_unavailable"},
			{"POST", "/10/domains", "own", `{"name":"victim.example","kind":"alias"}`, 422, "domain_unavailable"},
			{"POST", "/10/domains", "own", `{"name":"login.victim.example","kind":"addon"}`, 422, "domain_unavailable"},
			{"POST", "/10/domains", "own", `{"name":"ALIAS.example","kind":"addon"}`, 422, "already_exists"},
			{"POST", "/10/domains", "own", `{"name":"more.shop.example","kind":"subdomain"}`, 422, "limit_reached"},
			{"POST", "/12/domains", "own", `{"name":"x.example","kind":"addon"}`, 422, "unsupported_operation"},
			{"POST", "/13/domains", "own", `{"name":"x.example","kind":"addon"}`, 422, "service_suspended"},
			{"POST", "/14/domains", "own", `{"name":"x.example","kind":"addon"}`, 422, "service_not_active"},
			{"POST", "/10/domains", "other", `{"name":"x.example","kind":"addon"}`, 404, "not_found"},
			{"POST", "/99/domains", "own", `{"name":"x.example","kind":"addon"}`, 404, "not_found"},
			{"GET", "/10/domains", "other", "", 404, "not_found"},
			{"GET", "/10/usage", "other", "", 404, "not_found"},
			{"GET", "/15/usage", "own", "", 502, "panel_unreachable"},
			{"PATCH", at(1), "other", `{"redirect_to":"https://evil.example"}`, 404, "not_found"},
			{"PATCH", "/11/domains/1", "own", `{"redirect_to":"https://evil.example"}`, 404, "not_found"},
			{"PATCH", "/13/domains/1", "own", `{}`, 422, "service_suspended"},
			{"PATCH", at(addon), "own", `{"primary":false}`, 422, "validation_failed"},
			{"PATCH", at(addon), "own", `{"redirect_to":"ftp://x.example"}`, 422, "validation_failed"},
			{"PATCH", at(addon), "own", `{"redirect_to":"https://www.addon.example/x"}`, 422, "validation_failed"},
			{"PATCH", at(addon), "own", `{"force_https":true}`, 422, "unsupported_operation"},
			{"PATCH", at(addon), "own", `{"document_root":"/"}`, 422, "path_not_allowed"},
			{"PATCH", at(alias), "own", `{"document_root":"/x"}`, 422, "validation_failed"},
			{"PATCH", at(pending), "own", `{"primary":true}`, 409, "job_running"},
			{"DELETE", at(1), "own", "", 422, "in_use"},
			{"DELETE", at(addon), "own", "", 422, "in_use"}, // blog.addon.example is below it
			{"DELETE", at(sub), "other", "", 404, "not_found"},
			{"DELETE", at(999), "own", "", 404, "not_found"},
			{"DELETE", "/13/domains/1", "own", "", 422, "service_suspended"},
		}...)
		if after := fmt.Sprint(w.shows(10)); after != before {
			t.Errorf("refused requests changed\n%s\nto\n%s", before, after)
		}
		if r := w.Do("GET", "/12/usage", "own", ""); r.Code != 200 || !strings.Contains(r.Body, `"disk_mb":{"used":null`) {
			t.Errorf("usage where nobody counts: %+v", r)
		}
		if r := w.Do("GET", "/13/domains", "own", ""); r.Code != 200 {
			t.Errorf("reading a suspended service: %+v", r)
		}
	})
}

func TestOfManyAtOnceTheLimitAndTheNameHold(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		w.service(owner, 10, "one.example")
		w.service(owner, 11, "two.example")
		var (
			wg   sync.WaitGroup
			mu   sync.Mutex
			keys = map[string]int{}
		)
		post := func(kind string, service int, name string) {
			wg.Go(func() {
				r := w.Do("POST", fmt.Sprintf("/%d/domains", service), "own", fmt.Sprintf(`{"name":%q,"kind":"alias"}`, name))
				mu.Lock()
				defer mu.Unlock()
				keys[fmt.Sprint(kind, " ", r.Code, " ", r.Key())]++
			})
		}
		for i := range 8 {
			post("limit", 10, fmt.Sprintf("a%d.example", i))
		}
		wg.Wait()
		for range 4 {
			post("name", 11, "same.example")
			wg.Go(func() { // an order for the same name is paid meanwhile
				err := w.DB.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
					return w.Claim(ctx, tx, stranger, 20, false, "same.example")
				})
				mu.Lock()
				defer mu.Unlock()
				if err != nil && !errors.Is(err, fault.DomainUnavailable) {
					t.Error(err)
				}
				if err == nil {
					keys["claimed"] = 1
				}
			})
		}
		wg.Wait()
		if keys["limit 201 "] != 3 || keys["limit 422 limit_reached"] != 5 {
			t.Errorf("the limit of four domains: %v", keys)
		}
		if keys["name 201 "]+keys["claimed"] != 1 {
			t.Errorf("one name: %v", keys)
		}
	})
}

func TestAPanelThatFails(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		w.service(owner, 10, "shop.example")
		ctx := t.Context()
		id := w.add(10, "new.example", Addon)
		w.add(10, "other.example", Alias)

		w.machine.fail("new.example", panel.ErrUnreachable)
		if err := w.Apply(ctx, owner, 10); !errors.Is(err, panel.ErrUnreachable) {
			t.Fatalf("the job is not tried again: %v", err)
		}
		if all := w.shows(10); all["new.example"].Status != "pending" || all["other.example"].Status != "active" {
			t.Errorf("one domain's trouble is all domains': %+v", all)
		}
		w.machine.fail("new.example", panel.ErrExists)
		w.Must(w.Apply(ctx, owner, 10))
		if d := w.shows(10)["new.example"]; d.Status != "failed" || d.FailureKey == nil || *d.FailureKey != "domain_unavailable" {
			t.Errorf("refused for good: %+v", d)
		}
		if r := w.Do("PATCH", fmt.Sprintf("/10/domains/%d", id), "own", `{"primary":true}`); r.Key() != "conflict" {
			t.Errorf("a failed domain becomes the primary one: %+v", r)
		}
		w.machine.fail("", nil)
		if r := w.Do("PATCH", fmt.Sprintf("/10/domains/%d", id), "own", `{}`); r.Code != 200 || !strings.Contains(r.Body, `"pending"`) {
			t.Errorf("trying again: %+v", r)
		}
		w.Must(w.Apply(ctx, owner, 10))
		if d := w.shows(10)["new.example"]; d.Status != "active" || d.FailureKey != nil {
			t.Errorf("after trying again: %+v", d)
		}
	})
}

func TestWhatChangesWhileThePanelWorksIsNotLost(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		w.service(owner, 10, "shop.example")
		id := w.add(10, "new.example", Addon)
		w.machine.before = func() { // between the look and the act
			w.Do("PATCH", fmt.Sprintf("/10/domains/%d", id), "own", `{"redirect_to":"https://late.example"}`)
			w.add(10, "late.example", Alias)
		}
		w.Must(w.Apply(t.Context(), owner, 10))
		want := "shop.example=/public_html new.example=/sites/new.example>https://late.example late.example=/public_html"
		if got := w.has(10); got != want {
			t.Errorf("the panel has %s", got)
		}
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				if err := w.Apply(context.WithoutCancel(t.Context()), owner, 10); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if got := w.has(10); got != want {
			t.Errorf("after many runs at once the panel has %s", got)
		}
	})
}

func TestDriftIsRepaired(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		w.service(owner, 10, "shop.example")
		w.add(10, "alias.example", Alias)
		ctx := t.Context()
		w.Must(w.Apply(ctx, owner, 10))
		want := w.has(10)
		changes := w.machine.changes
		w.Must(w.Apply(ctx, owner, 10))
		if w.machine.changes != changes {
			t.Error("what is as it should be was changed")
		}
		// Somebody works on the panel by hand.
		w.Must(w.machine.RemoveDomain(ctx, "10", "alias.example"))
		for _, d := range []panel.Domain{{Name: "foreign.example", Primary: true}, {Name: "shop.example", DocumentRoot: "/elsewhere", RedirectTo: "https://evil.example"}} {
			_, err := w.machine.fullPanel.SetDomain(ctx, "10", d)
			w.Must(err)
		}
		w.Start(w.queue)
		outboxtest.Relay(t, w.events)
		w.Must(w.Reconcile(ctx)) // not due yet
		w.Clock.Advance(reconcileEvery)
		w.Must(w.Reconcile(ctx))
		w.Must(w.Reconcile(ctx))
		testkit.Eventually(t, time.Minute, func() bool { return w.has(10) == want }, "the panel is as it should be: "+w.has(10))
	})
}

func TestAPrimaryDomainIsSwapped(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		w.service(owner, 10, "old.example")
		alias := w.add(10, "new.example", Alias)
		ctx := t.Context()
		w.Must(w.Apply(ctx, owner, 10))
		if r := w.Do("PATCH", fmt.Sprintf("/10/domains/%d", alias), "own", `{"primary":true}`); r.Code != 200 || !strings.Contains(r.Body, `"kind":"primary"`) {
			t.Fatalf("%+v", r)
		}
		var known string
		w.Must(w.DB.QueryRow(ctx, `SELECT domain FROM test_services WHERE id = 10`).Scan(&known))
		if known != "new.example" {
			t.Errorf("the service is known by %s", known)
		}
		// The former goes before the panel has followed.
		if r := w.Do("DELETE", fmt.Sprintf("/10/domains/%d", w.shows(10)["old.example"].ID), "own", ""); r.Code != 200 {
			t.Fatalf("%+v", r)
		}
		w.Must(w.Apply(ctx, owner, 10))
		if got := w.has(10); got != "new.example=/public_html" {
			t.Errorf("the panel has %s", got)
		}
		if all := w.shows(10); len(all) != 1 || all["new.example"].Kind != "primary" || all["new.example"].Status != "active" {
			t.Errorf("shown: %+v", all)
		}
	})
}

// TestAnAccountServesItsDomainFromTheFirst: whoever hears of a new service works with its domain before the panel was compared.
func TestAnAccountServesItsDomainFromTheFirst(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		on := w.site(owner, 30, "new.example")
		on.Panel, on.Ref, on.Status = "it", "30", "active"
		w.Services.Add(t, on)
		w.Tx(func(ctx context.Context, tx *db.Tx) error { return w.Claim(ctx, tx, owner, 30, false, "new.example") })
		served := func() bool {
			t.Helper()
			all, err := w.Hosted(t.Context(), w.DB, owner, 30)
			w.Must(err)
			return all[0].Served
		}
		if served() {
			t.Error("it is served before there is an account")
		}
		for range 2 {
			w.Tx(func(ctx context.Context, tx *db.Tx) error { return w.Serve(ctx, tx, 30) })
		}
		if s := w.shows(30)["new.example"].Status; !served() || s != "pending" {
			t.Errorf("served %v, %s", served(), s)
		}
	})
}

func TestDomainsFollowTheirService(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		w.service(owner, 10, "shop.example")
		ctx := t.Context()
		w.add(10, "alias.example", Alias)
		status := func(status, event string) {
			w.Services.SetStatus(t, 10, status)
			w.Tx(func(ctx context.Context, tx *db.Tx) error {
				return w.events.Emit(ctx, tx, outbox.Event{Type: event, AccountID: owner, Subject: "service", SubjectID: 10, Data: struct{}{}})
			})
		}
		status("suspended", "service.suspended")
		w.Must(w.Apply(ctx, owner, 10))
		if d := w.shows(10)["alias.example"]; d.Status != "pending" {
			t.Errorf("while suspended: %+v", d)
		}
		w.Start(w.queue)
		outboxtest.Relay(t, w.events)
		status("active", "service.unsuspended")
		testkit.Eventually(t, time.Minute, func() bool { return w.shows(10)["alias.example"].Status == "active" }, "the panel follows after the suspension")
		status("terminated", "service.terminated")
		testkit.Eventually(t, time.Minute, func() bool {
			return w.Check(ctx, w.DB, stranger, "alias.example") == nil
		}, "the names of an ended service are free")
		w.Tx(func(ctx context.Context, tx *db.Tx) error {
			return errors.Join(w.Claim(ctx, tx, stranger, 20, false, "shop.example"), w.Claim(ctx, tx, stranger, 20, false, "shop.example"))
		})
	})
}

func TestTheDNSIsLookedAtByAJobNowAndThen(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		w.dns.answers = map[string]string{
			"shop.example": "192.0.2.1", "elsewhere.example": "198.51.100.9 192.0.2.1 ::ffff:198.51.100.9", "silent.example": "?",
		}
		w.service(owner, 10, "shop.example")
		for _, name := range []string{"elsewhere.example", "silent.example", "missing.example"} {
			w.add(10, name, Alias)
		}
		w.shows(10)
		if w.dns.asked != 0 {
			t.Fatal("a request asked the DNS")
		}
		w.Must(w.CheckDNS(t.Context()))
		w.Must(w.CheckDNS(t.Context()))
		if w.dns.asked != 4 {
			t.Errorf("asked %d times for four names", w.dns.asked)
		}
		for name, want := range map[string]string{
			"shop.example": "pointed [192.0.2.1]", "elsewhere.example": "not_pointed [192.0.2.1 198.51.100.9]",
			"silent.example": "unknown []", "missing.example": "not_pointed []",
		} {
			d := w.shows(10)[name].DNS
			if got := fmt.Sprint(d.Status, " ", d.Found); got != want || d.CheckedAt == nil || !d.CheckedAt.Equal(w.Clock.Now()) {
				t.Errorf("%s: %s at %v, want %s", name, got, d.CheckedAt, want)
			}
		}
		w.Clock.Advance(dnsInterval)
		w.Must(w.CheckDNS(t.Context()))
		if w.dns.asked != 8 {
			t.Errorf("asked %d times after a while", w.dns.asked)
		}
		w.Clock.Advance(dnsYoung)
		w.Must(w.CheckDNS(t.Context()))
		w.Clock.Advance(dnsInterval)
		w.Must(w.CheckDNS(t.Context()))
		if w.dns.asked != 12 {
			t.Errorf("asked %d times for names that are no longer young", w.dns.asked)
		}
		if r := w.Do("GET", "/10/domains?per_page=1&page=4", "own", ""); r.Code != http.StatusOK || !strings.Contains(r.Body, `"missing.example"`) {
			t.Errorf("the last page: %+v", r)
		}
	})
}

// crowd answers when so many ask at once.
type crowd struct {
	want int
	mu   sync.Mutex
	all  chan struct{}
	here int
}

func (c *crowd) LookupNetIP(context.Context, string, string) ([]netip.Addr, error) {
	c.mu.Lock()
	if c.here++; c.here == c.want {
		close(c.all)
	}
	c.mu.Unlock()
	select {
	case <-c.all:
		return []netip.Addr{netip.MustParseAddr("192.0.2.1")}, nil
	case <-time.After(time.Minute):
		return nil, errors.New("asked one after the other")
	}
}

// Names whose servers do not answer are waited for together.
func TestABatchOfNamesIsLookedUpAtOnce(t *testing.T) {
	s := New(Config{Resolver: &crowd{want: dnsBatch, all: make(chan struct{})}})
	for _, p := range s.lookUp(t.Context(), make([]dueName, dnsBatch)) {
		if !p.known {
			t.Fatal("some were not asked for with the others")
		}
	}
}
