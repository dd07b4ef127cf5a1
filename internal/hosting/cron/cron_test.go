package cron

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"stead.dev/stead/internal/hosting/site"
	"stead.dev/stead/internal/hosting/site/sitetest"
	"stead.dev/stead/internal/platform/jobs"
	"stead.dev/stead/internal/platform/testkit"
	"stead.dev/stead/internal/port/panel"
	"stead.dev/stead/internal/port/panel/sandbox"
)

const owner, stranger = sitetest.Owner, sitetest.Stranger

// world is the section with services on a machine, whose jobs ran as the test says.
type world struct {
	sitetest.World
	machine *machine
	*Service
}

// machine has cron jobs. It answers no question about their runs while it hangs.
type machine struct {
	sandbox.Panel
	sitetest.Failures
	mu   sync.Mutex
	runs []panel.CronRun
	hang bool
}

func (m *machine) SetCronJob(ctx context.Context, ref string, j panel.CronJob) (panel.CronJob, error) {
	if err := m.Change("cron.set", ref); err != nil {
		return panel.CronJob{}, err
	}
	return m.Panel.SetCronJob(ctx, ref, j)
}

func (m *machine) CronStates(ctx context.Context, ref string) ([]panel.CronState, error) {
	m.mu.Lock()
	hang, runs := m.hang, m.runs
	m.mu.Unlock()
	if hang {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	states, err := m.Panel.CronStates(ctx, ref)
	for i := range states {
		states[i].Runs = runs
	}
	return states, err
}

func (m *machine) change(f func(m *machine)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	f(m)
}

func engines(t *testing.T, f func(t *testing.T, w *world)) {
	t.Helper()
	sitetest.Engines(t, func(base sitetest.World) {
		w := &world{World: base, machine: &machine{Panel: sitetest.Open(base.T, base.Clock.Now, sandbox.Open)}}
		q := sitetest.Queue(base.T, base.DB)
		w.Service = New(Config{Base: w.On(q, w.machine), Clock: base.Clock})
		w.Register(q.Workers())
		w.Mount(w.Operations())
		for id, account := range map[int64]int64{10: owner, 11: stranger} {
			w.Sell(w.machine, site.Site{ServiceID: id, AccountID: account, Limits: site.Limits{"cron_jobs": 3}})
		}
		f(base.T, w)
	})
}

func (w *world) add(body string) (j jobWire) {
	w.T.Helper()
	w.Read(http.StatusCreated, "POST", "/10/cron", body, &j)
	return j
}

func (w *world) update(target, body string) (j jobWire) {
	w.T.Helper()
	w.Read(http.StatusOK, "PATCH", target, body, &j)
	return j
}

func (w *world) shows() []jobWire {
	w.T.Helper()
	return sitetest.List[jobWire](&w.World, "/10/cron")
}

func (w *world) apply() {
	w.T.Helper()
	w.Must(w.Apply(w.T.Context(), owner, 10))
}

func TestAJobIsAddedChangedShownAndDeleted(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		j := w.add(`{"expression":" 30   2 * * * ","timezone":"Europe/Berlin","command":"php cron.php > /dev/null"}`)
		if j.Expression != "30 2 * * *" || j.Preset != nil || !j.Enabled || j.Overlap != "skip" || j.TimeoutSeconds != 3600 || j.Status != site.Pending ||
			j.NextRunAt == nil || j.NextRunAt.Hour() != 1 || j.LastRunAt != nil || j.Running != nil {
			t.Errorf("added: %+v", j)
		}
		w.apply()
		at := w.Clock.Now().Add(-time.Hour)
		w.machine.change(func(m *machine) {
			m.runs = []panel.CronRun{{StartedAt: at, DurationMS: 1500, End: panel.CronExited, ExitCode: 3, Output: "oh"}, {StartedAt: at.Add(-time.Hour)}}
		})
		s := w.shows()[0]
		if s.Status != site.Active || *s.Running || !s.LastRunAt.Equal(at) || *s.LastExitCode != 3 || *s.LastOutput != "oh" || *s.LastDurationMS != 1500 ||
			*s.LastEnd != panel.CronExited || !s.NextRunAt.Equal(*j.NextRunAt) {
			t.Errorf("shown: %+v", s)
		}
		changes := w.machine.Changes()
		w.apply()
		if w.machine.Changes() != changes {
			t.Error("what is as it should be was changed")
		}
		one := fmt.Sprintf("/10/cron/%d", j.ID)
		j = w.update(one, `{"expression":"@daily","enabled":false}`)
		if *j.Preset != "@daily" || j.Expression != "0 0 * * *" || j.Enabled || j.NextRunAt != nil || j.Status != site.Pending || j.Timezone != "Europe/Berlin" {
			t.Errorf("changed: %+v", j)
		}
		w.apply()
		have, err := w.machine.CronJobs(t.Context(), "10")
		if err != nil || len(have) != 1 || have[0].Enabled || have[0].Expression != "@daily" || have[0].Command != "php cron.php > /dev/null" {
			t.Errorf("on the panel: %+v, %v", have, err)
		}
		if j = w.update(one, `{"enabled":false}`); j.Status != site.Active {
			t.Errorf("a change that changes nothing: %+v", j)
		}
		used := map[string]int64{}
		if err := w.Count(t.Context(), w.DB, 10, used); err != nil || used["cron_jobs"] != 1 {
			t.Errorf("count: %v, %v", used, err)
		}
		if r := w.Do("DELETE", one, "own", ""); r.Code != http.StatusOK {
			t.Errorf("%+v", r)
		}
		if r := w.Do("DELETE", one, "own", ""); r.Code != http.StatusNotFound {
			t.Errorf("twice: %+v", r)
		}
		w.apply()
		if have, err := w.machine.CronJobs(t.Context(), "10"); err != nil || len(have) != 0 || len(w.shows()) != 0 {
			t.Errorf("after: %+v, %v", have, err)
		}
	})
}

func TestRequestsThatAreRefused(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		for id, s := range map[int64][2]string{12: {"bare", "active"}, 13: {"it", "suspended"}, 14: {"it", "provisioning"}} {
			w.Services.Add(t, site.Site{ServiceID: id, AccountID: owner, Panel: s[0], Ref: "x", Username: "x", Status: s[1]})
		}
		id := w.add(`{"expression":"@hourly","command":"true"}`).ID
		one := fmt.Sprintf("/10/cron/%d", id)
		before := fmt.Sprintf("%+v", w.shows())
		job := func(expression string) string { return fmt.Sprintf(`{"expression":%q,"command":"x"}`, expression) }
		w.Refused([]sitetest.Refusal{
			{"POST", "/10/cron", "own", job("* * * *"), 422, "cron_expression_invalid"},
			{"POST", "/10/cron", "own", job("* * * * * *"), 422, "cron_expression_invalid"},
			{"POST", "/10/cron", "own", job("0 0 31 2 *"), 422, "cron_expression_invalid"},
			{"POST", "/10/cron", "own", job("TZ=UTC * * * * *"), 422, "cron_expression_invalid"},
			{"POST", "/10/cron", "own", job("@reboot"), 422, "cron_expression_invalid"},
			{"POST", "/10/cron", "own", job("5-1 * * * *"), 422, "cron_expression_invalid"},
			{"POST", "/10/cron", "own", job(" "), 422, "cron_expression_invalid"},
			{"POST", "/10/cron", "own", `{"command":"x"}`, 422, "validation_failed"},
			{"POST", "/10/cron", "own", `{"expression":"@daily"}`, 422, "validation_failed"},
			{"POST", "/10/cron", "own", `{"expression":"@daily","command":"two\nlines"}`, 422, "validation_failed"},
			{"POST", "/10/cron", "own", `{"expression":"@daily","command":"a\u0000b"}`, 422, "validation_failed"},
			{"POST", "/10/cron", "own", `{"expression":"@daily","command":"  "}`, 422, "validation_failed"},
			{"POST", "/10/cron", "own", `{"expression":"@daily","command":"` + strings.Repeat("ж", 3000) + `"}`, 422, "validation_failed"},
			{"POST", "/10/cron", "own", `{"expression":"@daily","command":"x","timezone":"Mars/Base"}`, 422, "validation_failed"},
			{"POST", "/10/cron", "own", `{"expression":"@daily","command":"x","timezone":"Local"}`, 422, "validation_failed"},
			{"POST", "/10/cron", "own", `{"expression":"@daily","command":"x","timezone":"../../etc/passwd"}`, 422, "validation_failed"},
			{"POST", "/10/cron", "own", `{"expression":"@daily","command":"x","overlap":"maybe"}`, 422, "validation_failed"},
			{"POST", "/10/cron", "own", `{"expression":"@daily","command":"x","timeout_seconds":86401}`, 422, "validation_failed"},
			{"POST", "/12/cron", "own", job("@daily"), 422, "unsupported_operation"},
			{"POST", "/13/cron", "own", job("@daily"), 422, "service_suspended"},
			{"POST", "/14/cron", "own", job("@daily"), 422, "service_not_active"},
			{"POST", "/10/cron", "other", job("@daily"), 404, "not_found"},
			{"POST", "/11/cron", "own", job("@daily"), 404, "not_found"},
			{"GET", "/10/cron", "other", "", 404, "not_found"},
			{"PATCH", one, "own", `{"expression":"nonsense"}`, 422, "cron_expression_invalid"},
			{"PATCH", one, "own", `{"timezone":"Nowhere"}`, 422, "validation_failed"},
			{"PATCH", one, "own", `{"command":"a\nb"}`, 422, "validation_failed"},
			{"PATCH", one, "other", `{"enabled":false}`, 404, "not_found"},
			{"PATCH", fmt.Sprintf("/11/cron/%d", id), "other", `{"enabled":false}`, 404, "not_found"},
			{"PATCH", "/10/cron/999", "own", `{"enabled":false}`, 404, "not_found"},
			{"PATCH", fmt.Sprintf("/13/cron/%d", id), "own", `{"enabled":false}`, 422, "service_suspended"},
			{"DELETE", one, "other", "", 404, "not_found"},
			{"DELETE", fmt.Sprintf("/11/cron/%d", id), "other", "", 404, "not_found"},
		}...)
		if after := w.shows(); len(after) != 1 || after[0].Expression != "0 * * * *" || !after[0].Enabled {
			t.Errorf("refused requests changed\n%s\nto\n%+v", before, after)
		}
		// Of many at once the limit holds.
		keys := sitetest.AtOnce(6, func(int) sitetest.Reply { return w.Do("POST", "/10/cron", "own", job("@daily")) })
		if keys["201"] != 2 || keys["422limit_reached"] != 4 {
			t.Errorf("%v", keys)
		}
	})
}

func TestAPanelThatFailsAndServicesThatEnd(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		j := w.add(`{"expression":"@hourly","command":"true"}`)
		w.machine.Fail(panel.ErrUnreachable)
		if err := w.Apply(t.Context(), owner, 10); !errors.Is(err, panel.ErrUnreachable) {
			t.Errorf("the job is not tried again: %v", err)
		}
		w.machine.Fail(panel.ErrLimit)
		w.apply()
		if s := w.shows()[0]; s.Status != site.Failed || *s.FailureKey != "limit_reached" || s.NextRunAt != nil {
			t.Errorf("%+v", s)
		}
		w.machine.Fail(nil)
		if again := w.update(fmt.Sprintf("/10/cron/%d", j.ID), `{}`); again.Status != site.Pending {
			t.Errorf("trying again: %+v", again)
		}
		w.apply()
		// A panel that hangs does not hold up the list for long.
		w.machine.change(func(m *machine) { m.hang = true })
		if s := w.shows()[0]; s.Status != site.Active || s.Running != nil || s.NextRunAt == nil {
			t.Errorf("%+v", s)
		}
		w.machine.change(func(m *machine) { m.hang = false })
		// Drift: what nobody wants goes, what differs is put right.
		for _, drift := range []panel.CronJob{{ID: "999", Expression: "@daily", Command: "evil"}, {ID: fmt.Sprint(j.ID), Expression: "@daily", Command: "changed"}} {
			if _, err := w.machine.Panel.SetCronJob(t.Context(), "10", drift); err != nil {
				t.Fatal(err)
			}
		}
		w.apply()
		have, err := w.machine.CronJobs(t.Context(), "10")
		if err != nil || len(have) != 1 || have[0].Command != "true" || !have[0].Enabled {
			t.Errorf("%+v, %v", have, err)
		}
		w.Services.SetStatus(t, 10, "suspended")
		w.apply()
		if s := w.shows()[0]; s.NextRunAt != nil {
			t.Errorf("suspended: %+v", s)
		}
		w.Services.SetStatus(t, 10, "terminated")
		w.apply()
		if all := w.shows(); len(all) != 0 {
			t.Errorf("after the end: %+v", all)
		}
	})
}

func TestJobsHaveThePanelFollow(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		w.Start(w.Queue.(*jobs.Queue))
		w.add(`{"expression":"@hourly","command":"true"}`)
		testkit.Eventually(t, time.Minute, func() bool { return w.shows()[0].Status == site.Active }, "the job is active")
	})
}

func TestJobsComeBackFromABackup(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		if document := w.Exported(w, 10); document != "" {
			t.Errorf("of no jobs: %s", document)
		}
		stays := w.add(`{"expression":"@hourly","command":"stays"}`)
		goes := w.add(`{"expression":"1 2 * * 3","timezone":"Asia/Tashkent","command":"comes back","enabled":false,"overlap":"allow","timeout_seconds":60}`)
		document := w.Exported(w, 10)
		w.Do("DELETE", fmt.Sprintf("/10/cron/%d", goes.ID), "own", "")
		w.add(`{"expression":"@daily","command":"came since"}`)
		w.apply()
		for range 2 {
			w.Must(w.Reimport(w, 10, document))
			w.apply()
		}
		all := w.shows()
		if len(all) != 2 || all[0].ID != stays.ID || all[1].Command != "comes back" || all[1].Enabled || all[1].Timezone != "Asia/Tashkent" ||
			all[1].TimeoutSeconds != 60 || w.Exported(w, 10) != document {
			t.Errorf("after: %+v", all)
		}
		for _, bad := range []string{
			`{`, `[{"expression":"never","command":"x"}]`, `[{"expression":"@daily","command":"a\nb"}]`,
			"[" + strings.Repeat(`{"expression":"@daily","command":"x"},`, 3) + `{"expression":"@daily","command":"x"}]`,
		} {
			if err := w.Reimport(w, 10, bad); err == nil {
				t.Errorf("taken: %s", bad)
			}
		}
		if w.Exported(w, 10) != document {
			t.Error("a document that was refused changed something")
		}
	})
}

func TestNoQueryReadsAWholeTable(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) { sitetest.IndexedCollection(t, w.DB, w.collection(), owner, 10) })
}
