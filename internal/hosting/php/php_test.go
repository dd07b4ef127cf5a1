package php

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"stead.dev/stead/internal/hosting/site"
	"stead.dev/stead/internal/hosting/site/sitetest"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/jobs"
	"stead.dev/stead/internal/platform/testkit"
	"stead.dev/stead/internal/port/panel"
	"stead.dev/stead/internal/port/panel/sandbox"
)

const (
	owner   = sitetest.Owner
	service = 7
)

// machine has settings of PHP, which it does not tell while it fails.
type machine struct {
	sandbox.Panel
	sitetest.Failures
}

func (m *machine) PHPSettings(ctx context.Context, ref string) (panel.PHPState, error) {
	if err := m.Failure("php.get", ref); err != nil {
		return panel.PHPState{}, err
	}
	return m.Panel.PHPSettings(ctx, ref)
}

func (m *machine) SetPHPSettings(ctx context.Context, ref string, s panel.PHPSettings) (panel.PHPState, error) {
	if err := m.Change("php.set", ref); err != nil {
		return panel.PHPState{}, err
	}
	return m.Panel.SetPHPSettings(ctx, ref, s)
}

// world is the section with a service on a machine.
type world struct {
	sitetest.World
	*Service
	machine *machine
	queue   *jobs.Queue
}

func engines(t *testing.T, f func(t *testing.T, w *world)) {
	t.Helper()
	sitetest.Engines(t, func(base sitetest.World) {
		w := &world{World: base, machine: &machine{Panel: sitetest.Open(base.T, base.Clock.Now, sandbox.Open)}, queue: sitetest.Queue(base.T, base.DB)}
		w.Service = New(Config{Base: w.On(w.queue, w.machine), Clock: base.Clock})
		w.Register(w.queue.Workers())
		w.Mount(w.Operations())
		w.Sell(w.machine, site.Site{ServiceID: service, AccountID: owner, Limits: site.Limits{"memory_mb": 512}})
		w.Services.Add(base.T, site.Site{ServiceID: 8, AccountID: owner, Panel: "bare", Ref: "8", Status: "active"})
		w.Services.Add(base.T, site.Site{ServiceID: 9, AccountID: owner, Panel: "it", Status: "provisioning"})
		f(base.T, w)
	})
}

func (w *world) do(method string, id int, token, body string) sitetest.Reply {
	return w.Do(method, fmt.Sprintf("/%d/php", id), token, body)
}

func (w *world) shows() (shown wire) {
	w.T.Helper()
	w.Read(http.StatusOK, "GET", fmt.Sprintf("/%d/php", service), "", &shown)
	return shown
}

func (w *world) change(body string) (shown wire) {
	w.T.Helper()
	w.Read(http.StatusOK, "PATCH", fmt.Sprintf("/%d/php", service), body, &shown)
	return shown
}

func (w *world) apply() {
	w.T.Helper()
	w.Must(w.Apply(w.T.Context(), owner, service))
}

func TestAServiceOfWhichNothingWasSetShowsWhatThePanelHas(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		shown := w.shows()
		if shown.Version != "8.3" || len(shown.Available) != 3 || shown.Status != site.Active || shown.Available[0].EOL == nil ||
			shown.Available[0].Supported || !shown.Available[2].Supported {
			t.Errorf("%+v", shown)
		}
		limit := shown.Options["memory_limit"]
		if limit.Value != "256M" || limit.Max != "512M" || fmt.Sprint(limit.Range) != "[32M 2048M]" || limit.Type != panel.PHPSize {
			t.Errorf("memory_limit: %+v", limit)
		}
		if o := shown.Options["display_errors"]; o.Value != false || o.Max != nil || len(o.Range) != 0 {
			t.Errorf("display_errors: %+v", o)
		}
		if !slices.Contains(shown.Extensions, extensionWire{"imagick", panel.PHPDisabled}) || !slices.Contains(shown.Extensions, extensionWire{"mbstring", panel.PHPBuiltIn}) {
			t.Errorf("extensions: %+v", shown.Extensions)
		}
	})
}

func TestAChangeIsFollowed(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		w.apply()
		shown := w.change(`{"version":"8.2","options":{"memory_limit":"128M","display_errors":true,"max_input_vars":5000,"date.timezone":"Asia/Tashkent"},
			"extensions":[{"name":"imagick","state":"enabled"},{"name":"mbstring","state":"enabled"}]}`)
		if shown.Status != site.Pending || shown.Version != "8.2" || shown.Options["memory_limit"].Value != "128M" || w.machine.Changes() != 0 {
			t.Errorf("%+v after %d changes of the panel", shown, w.machine.Changes())
		}
		w.apply()
		w.apply()
		if w.machine.Changes() != 1 {
			t.Errorf("%d changes of the panel", w.machine.Changes())
		}
		shown = w.shows()
		if shown.Status != site.Active || shown.Options["display_errors"].Value != true || shown.Options["max_input_vars"].Value != float64(5000) ||
			!slices.Contains(shown.Extensions, extensionWire{"imagick", panel.PHPEnabled}) {
			t.Errorf("%+v", shown)
		}
		if state, err := w.machine.PHPSettings(w.T.Context(), "7"); err != nil || state.Version != "8.2" || state.Option("date.timezone") != "Asia/Tashkent" {
			t.Errorf("%+v, %v", state, err)
		}
		// What is left out stays, null is the default, and what is so already costs nothing.
		shown = w.change(`{"options":{"memory_limit":null}}`)
		if shown.Options["memory_limit"].Value != "256M" || shown.Options["display_errors"].Value != true || shown.Version != "8.2" {
			t.Errorf("%+v", shown)
		}
		w.apply()
		if again := w.change(`{"options":{"display_errors":"on"},"extensions":[{"name":"redis","state":"disabled"}]}`); again.Status != site.Active {
			t.Errorf("the same again: %+v", again)
		}
		// Somebody changed the panel by hand.
		_, err := w.machine.Panel.SetPHPSettings(w.T.Context(), "7", panel.PHPSettings{Version: "8.1"})
		w.Must(err)
		w.apply()
		if state, err := w.machine.PHPSettings(w.T.Context(), "7"); err != nil || state.Version != "8.2" {
			t.Errorf("after the comparison: %+v, %v", state, err)
		}
	})
}

func TestWhatMakesNoSenseIsRefusedAndChangesNothing(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
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
				t.Errorf("%s: %+v, want %s", body, r, want)
			}
		}
		if r := w.do("PATCH", service, "own", `{"options":{"max_input_vars":1}}`); !strings.Contains(r.Body, `"minimum":100`) || !strings.Contains(r.Body, `"option":"max_input_vars"`) {
			t.Errorf("range: %+v", r)
		}
		if shown := w.shows(); shown.Status != site.Active || shown.Version != "8.3" || len(shown.Conflicts) != 0 {
			t.Errorf("after refusals: %+v", shown)
		}
		w.Services.SetStatus(w.T, service, "suspended")
		if r := w.do("PATCH", service, "own", `{"version":"8.2"}`); r.Key() != "service_suspended" {
			t.Errorf("suspended: %+v", r)
		}
		for method, body := range map[string]string{"GET": "", "PATCH": `{}`} {
			if r := w.do(method, service, "other", body); r.Code != 404 {
				t.Errorf("%s of a stranger: %+v", method, r)
			}
			if r := w.do(method, 8, "own", body); r.Key() != "unsupported_operation" {
				t.Errorf("%s without PHP: %+v", method, r)
			}
		}
		if r := w.do("GET", 9, "own", ""); r.Code != 200 { // what its panel offers is known
			t.Errorf("not provisioned: %+v", r)
		}
	})
}

func TestSettingsAreReplacedAndComeBack(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		replace := func(before, after panel.PHPSettings) bool {
			t.Helper()
			ok, err := w.Replace(t.Context(), owner, service, before, after)
			w.Must(err)
			return ok
		}
		before, err := w.Settings(t.Context(), owner, service)
		w.Must(err)
		older := "8.2"
		after, err := w.With(t.Context(), owner, service, &older, map[string]json.RawMessage{"memory_limit": json.RawMessage(`"128M"`)})
		w.Must(err)
		if before.Version != "8.3" || after.Version != "8.2" || after.Options["memory_limit"] != "128M" || w.machine.Changes() != 0 {
			t.Errorf("%+v, %+v", before, after)
		}
		if !replace(before, after) || replace(before, after) {
			t.Error("settings were not replaced, or what is there was not compared")
		}
		if state, err := w.machine.PHPSettings(t.Context(), "7"); err != nil || state.Version != "8.2" || state.Option("memory_limit") != "128M" {
			t.Errorf("the panel: %+v, %v", state, err)
		}
		// Nothing was set before: the version that the panel had chosen comes back all the same.
		if !replace(after, before) {
			t.Error("it cannot be taken back")
		}
		if state, err := w.machine.PHPSettings(t.Context(), "7"); err != nil || state.Version != "8.3" || state.Option("memory_limit") != "256M" {
			t.Errorf("the panel: %+v, %v", state, err)
		}
		unknown := "5.6"
		if _, err := w.With(t.Context(), owner, service, &unknown, nil); !errors.Is(err, ErrVersion) {
			t.Errorf("a version that there is not: %v", err)
		}
		if _, err := w.With(t.Context(), owner, service, nil, map[string]json.RawMessage{"memory_limit": json.RawMessage(`"1G"`)}); !errors.Is(err, ErrRange) {
			t.Errorf("more memory than the plan has: %v", err)
		}
		if _, err := w.Settings(t.Context(), 2, service); !errors.Is(err, fault.NotFound) {
			t.Errorf("a stranger: %v", err)
		}
		// The panel does not answer: the job follows later.
		w.machine.Before(func() { w.machine.Fail(panel.ErrUnreachable) })
		if !replace(before, after) {
			t.Error("settings were not written")
		}
		w.machine.Fail(nil)
		w.apply()
		if state, err := w.machine.PHPSettings(t.Context(), "7"); err != nil || state.Version != "8.2" {
			t.Errorf("after the job: %+v, %v", state, err)
		}
	})
}

func TestConflictsAreTold(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		shown := w.change(`{"options":{"upload_max_filesize":"256M","post_max_size":"128M","memory_limit":"64M"}}`)
		if len(shown.Conflicts) != 2 || shown.Conflicts[0].Message == "" || shown.Conflicts[1].Options[0] != "post_max_size" {
			t.Errorf("%+v", shown.Conflicts)
		}
	})
}

func TestAPanelThatIsNotThere(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		w.machine.Fail(panel.ErrUnreachable)
		if r := w.do("GET", service, "own", ""); r.Key() != "panel_unreachable" {
			t.Errorf("nobody saw it: %+v", r)
		}
		// A version that nobody knows of is judged by the job.
		if r := w.do("PATCH", service, "own", `{"version":"7.4"}`); r.Code != 200 {
			t.Errorf("%+v", r)
		}
		if err := w.Apply(w.T.Context(), owner, service); !errors.Is(err, panel.ErrUnreachable) {
			t.Errorf("apply: %v", err)
		}
		w.machine.Fail(nil)
		w.apply()
		if shown := w.shows(); shown.Status != site.Failed || shown.FailureKey == nil || *shown.FailureKey != "php_version_unavailable" {
			t.Errorf("%+v", shown)
		}
		w.change(`{"version":"8.1"}`)
		w.apply()
		w.machine.Fail(panel.ErrUnreachable)
		if shown := w.shows(); shown.Status != site.Active || shown.Version != "8.1" || len(shown.Extensions) == 0 || len(shown.Available) != 3 {
			t.Errorf("from what is known: %+v", shown)
		}
	})
}

func TestARowEndsWithItsService(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		w.change(`{"version":"8.2"}`)
		w.Services.SetStatus(w.T, service, "terminated")
		w.apply()
		w.apply()
		if r, err := w.of(w.T.Context(), w.DB, owner, service); err != nil || r.stored() {
			t.Errorf("%+v, %v", r, err)
		}
	})
}

func TestTheJobFollows(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		w.Start(w.queue)
		w.change(`{"version":"8.2"}`)
		testkit.Eventually(w.T, time.Minute, func() bool { return w.shows().Status == site.Active }, "the panel has followed")
		if state, err := w.machine.PHPSettings(w.T.Context(), "7"); err != nil || state.Version != "8.2" {
			t.Errorf("%+v, %v", state, err)
		}
	})
}

func TestNoQueryReadsAWholeTable(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) { sitetest.IndexedCollection(w.T, w.DB, w.collection(), owner, service) })
}
