package php

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"stead.dev/stead/internal/hosting/site"
	"stead.dev/stead/internal/hosting/site/sitetest"
	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/jobs"
	"stead.dev/stead/internal/platform/testkit"
	"stead.dev/stead/internal/port/panel"
	"stead.dev/stead/internal/port/panel/sandbox"
)

const (
	owner    = 1
	stranger = 2
	service  = 7
)

// machine is a panel that fails when it is told to, and counts its changes.
type machine struct {
	sandbox.Panel
	mu      sync.Mutex
	failure error
	changes int
}

func (m *machine) fail(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.failure = err
}

func (m *machine) failed() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.failure
}

func (m *machine) PHPSettings(ctx context.Context, ref string) (panel.PHPState, error) {
	if err := m.failed(); err != nil {
		return panel.PHPState{}, panel.Wrap("php.get", ref, err)
	}
	return m.Panel.PHPSettings(ctx, ref)
}

func (m *machine) SetPHPSettings(ctx context.Context, ref string, s panel.PHPSettings) (panel.PHPState, error) {
	m.mu.Lock()
	m.changes++
	m.mu.Unlock()
	return m.Panel.SetPHPSettings(ctx, ref, s)
}

// world is the section with a service on the sandbox panel.
type world struct {
	*testing.T
	*Service
	db       *db.DB
	services sitetest.Services
	machine  *machine
	queue    *jobs.Queue
	sitetest.Edge
}

func engines(t *testing.T, f func(w *world)) {
	t.Helper()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) { f(newWorld(t, d, clk)) })
}

func newWorld(t *testing.T, d *db.DB, clk *clock.Fake) *world {
	t.Helper()
	p, q := sitetest.Open(t, clk.Now, sandbox.Open), sitetest.Queue(t, d)
	w := &world{T: t, db: d, services: sitetest.New(t, d), machine: &machine{Panel: p}, queue: q}
	w.Service = New(Config{DB: d, Clock: clk, Queue: q, Services: w.services, Panels: sitetest.Panels{"it": w.machine, "bare": sitetest.Bare{}}})
	w.Register(q.Workers())
	_, err := p.CreateAccount(t.Context(), panel.AccountSpec{Ref: fmt.Sprint(service), PrimaryDomain: "shop.example"})
	must(t, err)
	w.services.Add(t, site.Site{
		ServiceID: service, AccountID: owner, Panel: "it", Ref: fmt.Sprint(service), Status: "active", Limits: json.RawMessage(`{"memory_mb":512}`),
	})
	w.services.Add(t, site.Site{ServiceID: 8, AccountID: owner, Panel: "bare", Ref: "8", Status: "active"})
	w.services.Add(t, site.Site{ServiceID: 9, AccountID: owner, Panel: "it", Status: "provisioning"})
	w.Edge = sitetest.NewEdge(t, d, clk, w.Operations())
	return w
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (w *world) do(method string, id int, token, body string) sitetest.Reply {
	return w.Do(method, fmt.Sprintf("/%d/php", id), token, body)
}

func (w *world) shows() wire {
	w.Helper()
	r := w.do("GET", service, "own", "")
	var shown wire
	if err := json.Unmarshal([]byte(r.Body), &shown); err != nil || r.Code != 200 {
		w.Fatalf("get: %+v", r)
	}
	return shown
}

func (w *world) change(body string) wire {
	w.Helper()
	r := w.do("PATCH", service, "own", body)
	var shown wire
	if err := json.Unmarshal([]byte(r.Body), &shown); err != nil || r.Code != 200 {
		w.Fatalf("%s: %+v", body, r)
	}
	return shown
}

func (w *world) apply() {
	w.Helper()
	must(w.T, w.Apply(w.Context(), owner, service))
}

func TestAServiceOfWhichNothingWasSetShowsWhatThePanelHas(t *testing.T) {
	t.Parallel()
	engines(t, func(w *world) {
		shown := w.shows()
		if shown.Version != "8.3" || len(shown.Available) != 3 || shown.Status != site.Active || shown.Available[0].EOL == nil ||
			shown.Available[0].Supported || !shown.Available[2].Supported {
			w.Errorf("%+v", shown)
		}
		limit := shown.Options["memory_limit"]
		if limit.Value != "256M" || limit.Max != "512M" || fmt.Sprint(limit.Range) != "[32M 2048M]" || limit.Type != panel.PHPSize {
			w.Errorf("memory_limit: %+v", limit)
		}
		if o := shown.Options["display_errors"]; o.Value != false || o.Max != nil || len(o.Range) != 0 {
			w.Errorf("display_errors: %+v", o)
		}
		if !slices.Contains(shown.Extensions, extensionWire{"imagick", panel.PHPDisabled}) || !slices.Contains(shown.Extensions, extensionWire{"mbstring", panel.PHPBuiltIn}) {
			w.Errorf("extensions: %+v", shown.Extensions)
		}
	})
}

func TestAChangeIsFollowed(t *testing.T) {
	t.Parallel()
	engines(t, func(w *world) {
		w.apply()
		shown := w.change(`{"version":"8.2","options":{"memory_limit":"128M","display_errors":true,"max_input_vars":5000,"date.timezone":"Asia/Tashkent"},
			"extensions":[{"name":"imagick","state":"enabled"},{"name":"mbstring","state":"enabled"}]}`)
		if shown.Status != site.Pending || shown.Version != "8.2" || shown.Options["memory_limit"].Value != "128M" || w.machine.changes != 0 {
			w.Errorf("%+v after %d changes of the panel", shown, w.machine.changes)
		}
		w.apply()
		w.apply()
		if w.machine.changes != 1 {
			w.Errorf("%d changes of the panel", w.machine.changes)
		}
		shown = w.shows()
		if shown.Status != site.Active || shown.Options["display_errors"].Value != true || shown.Options["max_input_vars"].Value != float64(5000) ||
			!slices.Contains(shown.Extensions, extensionWire{"imagick", panel.PHPEnabled}) {
			w.Errorf("%+v", shown)
		}
		if state, err := w.machine.PHPSettings(w.Context(), "7"); err != nil || state.Version != "8.2" || state.Option("date.timezone") != "Asia/Tashkent" {
			w.Errorf("%+v, %v", state, err)
		}
		// What is left out stays, null is the default, and what is so already costs nothing.
		shown = w.change(`{"options":{"memory_limit":null}}`)
		if shown.Options["memory_limit"].Value != "256M" || shown.Options["display_errors"].Value != true || shown.Version != "8.2" {
			w.Errorf("%+v", shown)
		}
		w.apply()
		if again := w.change(`{"options":{"display_errors":"on"},"extensions":[{"name":"redis","state":"disabled"}]}`); again.Status != site.Active {
			w.Errorf("the same again: %+v", again)
		}
		// Somebody changed the panel by hand.
		_, err := w.machine.Panel.SetPHPSettings(w.Context(), "7", panel.PHPSettings{Version: "8.1"})
		must(w.T, err)
		w.apply()
		if state, err := w.machine.PHPSettings(w.Context(), "7"); err != nil || state.Version != "8.2" {
			w.Errorf("after the comparison: %+v, %v", state, err)
		}
	})
}

func TestWhatMakesNoSenseIsRefusedAndChangesNothing(t *testing.T) {
	t.Parallel()
	engines(t, func(w *world) {
		w.apply()
		for body, want := range map[string]string{
			`{"version":"5.6"}`:                                             "php_version_unavailable",
			`{"version":"eight"}`:                                           "validation_failed",
			`{"options":{"memory_limit":"1G"}}`:                             "php_option_out_of_range", // beyond the plan
			`{"options":{"memory_limit":"-1"}}`:                             "php_option_out_of_range",
			`{"options":{"memory_limit":{}}}`:                               "php_option_out_of_range",
			`{"options":{"max_execution_time":0}}`:                          "php_option_out_of_range",
			`{"options":{"max_execution_time":1e3}}`:                        "php_option_out_of_range",
			`{"options":{"display_errors":"maybe"}}`:                        "php_option_out_of_range",
			`{"options":{"error_reporting":"E_ALL"}}`:                       "php_option_out_of_range",
			`{"options":{"date.timezone":"UTC\nuser = root"}}`:              "php_option_out_of_range",
			`{"options":{"open_basedir":"/"}}`:                              "validation_failed",
			`{"options":{"disable_functions":null}}`:                        "validation_failed",
			`{"extensions":[{"name":"ffi","state":"enabled"}]}`:             "validation_failed",
			`{"extensions":[{"name":"mbstring","state":"disabled"}]}`:       "validation_failed",
			`{"extensions":[{"name":"imagick","state":"built_in"}]}`:        "validation_failed",
			`{"extensions":[{"name":"../../evil","state":"enabled"}]}`:      "validation_failed",
			`{"options":[]}`:                                                "validation_failed",
			`{"version":"8.2","options":{"upload_max_filesize":"600000M"}}`: "php_option_out_of_range",
			`{"options":`: "malformed_json",
		} {
			if r := w.do("PATCH", service, "own", body); r.Key() != want {
				w.Errorf("%s: %+v, want %s", body, r, want)
			}
		}
		if r := w.do("PATCH", service, "own", `{"options":{"max_input_vars":1}}`); !strings.Contains(r.Body, `"minimum":100`) || !strings.Contains(r.Body, `"option":"max_input_vars"`) {
			w.Errorf("range: %+v", r)
		}
		if shown := w.shows(); shown.Status != site.Active || shown.Version != "8.3" || len(shown.Conflicts) != 0 {
			w.Errorf("after refusals: %+v", shown)
		}
		w.services.SetStatus(w.T, service, "suspended")
		if r := w.do("PATCH", service, "own", `{"version":"8.2"}`); r.Key() != "service_suspended" {
			w.Errorf("suspended: %+v", r)
		}
		for method, body := range map[string]string{"GET": "", "PATCH": `{}`} {
			if r := w.do(method, service, "other", body); r.Code != 404 {
				w.Errorf("%s of a stranger: %+v", method, r)
			}
			if r := w.do(method, 8, "own", body); r.Key() != "unsupported_operation" {
				w.Errorf("%s without PHP: %+v", method, r)
			}
		}
		if r := w.do("GET", 9, "own", ""); r.Code != 200 { // what its panel offers is known
			w.Errorf("not provisioned: %+v", r)
		}
	})
}

func TestConflictsAreTold(t *testing.T) {
	t.Parallel()
	engines(t, func(w *world) {
		shown := w.change(`{"options":{"upload_max_filesize":"256M","post_max_size":"128M","memory_limit":"64M"}}`)
		if len(shown.Conflicts) != 2 || shown.Conflicts[0].Message == "" || shown.Conflicts[1].Options[0] != "post_max_size" {
			w.Errorf("%+v", shown.Conflicts)
		}
	})
}

func TestAPanelThatIsNotThere(t *testing.T) {
	t.Parallel()
	engines(t, func(w *world) {
		w.machine.fail(panel.ErrUnreachable)
		if r := w.do("GET", service, "own", ""); r.Key() != "panel_unreachable" {
			w.Errorf("nobody saw it: %+v", r)
		}
		// A version that nobody knows of is judged by the job.
		if r := w.do("PATCH", service, "own", `{"version":"7.4"}`); r.Code != 200 {
			w.Errorf("%+v", r)
		}
		if err := w.Apply(w.Context(), owner, service); !errors.Is(err, panel.ErrUnreachable) {
			w.Errorf("apply: %v", err)
		}
		w.machine.fail(nil)
		w.apply()
		if shown := w.shows(); shown.Status != site.Failed || shown.FailureKey == nil || *shown.FailureKey != "php_version_unavailable" {
			w.Errorf("%+v", shown)
		}
		w.change(`{"version":"8.1"}`)
		w.apply()
		w.machine.fail(panel.ErrUnreachable)
		if shown := w.shows(); shown.Status != site.Active || shown.Version != "8.1" || len(shown.Extensions) == 0 || len(shown.Available) != 3 {
			w.Errorf("from what is known: %+v", shown)
		}
	})
}

func TestARowEndsWithItsService(t *testing.T) {
	t.Parallel()
	engines(t, func(w *world) {
		w.change(`{"version":"8.2"}`)
		w.services.SetStatus(w.T, service, "terminated")
		w.apply()
		w.apply()
		if r, err := w.of(w.Context(), w.db, owner, service); err != nil || r.stored() {
			w.Errorf("%+v, %v", r, err)
		}
	})
}

func TestTheJobFollows(t *testing.T) {
	t.Parallel()
	engines(t, func(w *world) {
		must(w.T, w.queue.Start(context.Background()))
		defer func() {
			ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
			defer cancel()
			must(w.T, w.queue.Stop(ctx))
		}()
		w.change(`{"version":"8.2"}`)
		testkit.Eventually(w.T, time.Minute, func() bool { return w.shows().Status == site.Active }, "the panel has followed")
		if state, err := w.machine.PHPSettings(w.Context(), "7"); err != nil || state.Version != "8.2" {
			w.Errorf("%+v, %v", state, err)
		}
	})
}

func TestNoQueryReadsAWholeTable(t *testing.T) {
	t.Parallel()
	engines(t, func(w *world) { sitetest.IndexedCollection(w.T, w.db, w.collection(), owner, service) })
}
