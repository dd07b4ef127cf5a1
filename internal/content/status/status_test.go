package status

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"testing"
	"time"

	"stead.dev/stead/internal/platform/api/apitest"
	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/i18n"
	"stead.dev/stead/internal/platform/jobs"
	"stead.dev/stead/internal/platform/outbox"
	"stead.dev/stead/internal/platform/testkit"
)

// world is what the section has around it.
type world struct {
	*Service
	machines []Machine
	broken   error
	told     []outbox.Event
}

func (w *world) Machines(context.Context) ([]Machine, error) { return w.machines, w.broken }

func (w *world) Audience(context.Context, db.Querier) ([]int64, error) { return []int64{7, 9}, nil }

func (w *world) Emit(_ context.Context, tx *db.Tx, e outbox.Event) error {
	tx.OnCommit(func() { w.told = append(w.told, e) })
	return nil
}

func newWorld(d *db.DB, clk clock.Clock) *world {
	w := &world{machines: []Machine{{Location: "tashkent", Up: true}, {Location: "tashkent", Up: true}, {Location: "almaty", Up: true}}}
	w.Service = New(Config{
		DB: d, Clock: clk, Events: w, Log: slog.New(slog.DiscardHandler), Machines: w, Audience: w, Parts: []string{API, Panel, DNS}, Queue: jobs.Discard{},
	})
	return w
}

func (w *world) levels(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	p := w.Now(t.Context())
	for _, c := range p.Components {
		all[c.Key] = c.Level.String()
	}
	all["whole"] = p.Level.String()
	return all
}

var slow = i18n.Text{"en": "Slow", "ru": "Медленно"}

func TestAnIncidentDisturbsItsComponentsUntilItIsResolved(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		w := newWorld(d, clk)
		if got := w.levels(t); got["whole"] != "operational" || len(got) != 6 {
			t.Fatal(got)
		}
		n, err := w.Open(t.Context(), Incident{Title: slow, Impact: Major, Stage: Investigating, Components: []string{DNS}}, slow)
		if err != nil {
			t.Fatal(err)
		}
		if got := w.levels(t); got[DNS] != "partial_outage" || got[API] != "operational" || got["whole"] != "partial_outage" {
			t.Error(got)
		}
		clk.Advance(time.Minute)
		if _, err := w.Progress(t.Context(), n.ID, Identified, Minor, i18n.Text{"en": "Found"}); err != nil {
			t.Fatal(err)
		}
		if got := w.levels(t); got[DNS] != "degraded" {
			t.Error(got)
		}
		clk.Advance(time.Minute)
		if _, err := w.Resolve(t.Context(), n.ID, i18n.Text{"en": "Mended"}); err != nil {
			t.Fatal(err)
		}
		if got := w.levels(t); got["whole"] != "operational" {
			t.Error(got)
		}
		if _, err := w.Resolve(t.Context(), n.ID, i18n.Text{"en": "Again"}); !errors.Is(err, fault.Conflict) {
			t.Error(err)
		}
		var kinds []string
		for _, e := range w.told {
			kinds = append(kinds, e.Type)
			if o := e.Data.(object); e.SubjectID != n.ID || o.Title != "Slow" || !o.StartedAt.Equal(n.StartedAt) {
				t.Errorf("%+v", e)
			}
		}
		if !slices.Equal(kinds, []string{
			"platform.incident_opened", "platform.incident_opened", "platform.incident_resolved", "platform.incident_resolved",
		}) || w.told[0].AccountID == w.told[1].AccountID {
			t.Error(kinds)
		}
		found := w.Now(t.Context()).Incidents
		if len(found) != 1 || found[0].ResolvedAt == nil || len(found[0].Updates) != 3 || found[0].Updates[0].Body["en"] != "Mended" {
			t.Errorf("%+v", found)
		}
		clk.Advance(91 * 24 * time.Hour)
		if found := w.Now(t.Context()).Incidents; len(found) != 0 {
			t.Errorf("%+v", found)
		}
	})
}

func TestWhatStaffWriteIsChecked(t *testing.T) {
	t.Parallel()
	w := newWorld(testkit.SQLite(t, clock.NewFake(time.Unix(1_800_000_000, 0))), clock.NewFake(time.Unix(1_800_000_000, 0)))
	good := Incident{Title: slow, Impact: Minor, Stage: Investigating}
	for name, change := range map[string]func(n *Incident){
		"title":    func(n *Incident) { n.Title = nil },
		"language": func(n *Incident) { n.Title = i18n.Text{"en": "Slow", "de": "Langsam"} },
		"impact":   func(n *Incident) { n.Impact = "huge" },
		"stage":    func(n *Incident) { n.Stage = Resolved },
		"key":      func(n *Incident) { n.Components = []string{"node1"} },
	} {
		n := good
		change(&n)
		if _, err := w.Open(t.Context(), n, slow); !errors.Is(err, fault.Validation) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := w.Open(t.Context(), good, nil); !errors.Is(err, fault.Validation) {
		t.Error(err)
	}
	if _, err := w.Resolve(t.Context(), 99, slow); !errors.Is(err, fault.NotFound) {
		t.Error(err)
	}
	if len(w.told) != 0 || len(w.Now(t.Context()).Incidents) != 0 {
		t.Error("something was changed")
	}
}

func TestMaintenanceExpectsWhatIsObserved(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		w := newWorld(d, clk)
		now := clk.Now()
		p, err := w.Schedule(t.Context(), Planned{
			Title: slow, Components: []string{"hosting-almaty"}, StartsAt: now.Add(time.Hour), EndsAt: now.Add(2 * time.Hour),
		})
		if err != nil {
			t.Fatal(err)
		}
		w.machines[2].Up, w.machines[0].Up = false, false
		clk.Advance(time.Minute)
		if got := w.levels(t); got["hosting-almaty"] != "major_outage" || got["hosting-tashkent"] != "partial_outage" || got["whole"] != "partial_outage" {
			t.Error(got)
		}
		clk.Advance(time.Hour)
		if got := w.levels(t); got["hosting-almaty"] != "maintenance" {
			t.Error(got)
		}
		if _, err := w.Cancel(t.Context(), p.ID); err != nil {
			t.Fatal(err)
		}
		if got := w.levels(t); got["hosting-almaty"] != "major_outage" || len(w.Now(t.Context()).Planned) != 0 {
			t.Error(got)
		}
		if _, err := w.Cancel(t.Context(), p.ID); !errors.Is(err, fault.NotFound) {
			t.Error(err)
		}
		w.machines[2].Maintenance = true
		clk.Advance(time.Minute)
		if got := w.levels(t); got["hosting-almaty"] != "maintenance" || got["hosting-tashkent"] != "partial_outage" {
			t.Errorf("a machine that is worked at: %v", got)
		}
		past := Planned{Title: slow, StartsAt: now.Add(-2 * time.Hour), EndsAt: now.Add(-time.Hour)}
		if _, err := w.Schedule(t.Context(), past); !errors.Is(err, fault.Validation) {
			t.Error(err)
		}
	})
}

func TestADayIsAsBadAsItsWorstMoment(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		w := newWorld(d, clk)
		clk.Set(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))
		for _, up := range []bool{true, false, true, true} {
			w.machines[2].Up = up
			if err := w.Record(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		known := func() (all []string) {
			for _, d := range w.Now(t.Context()).days {
				if d.Component == "hosting-almaty" {
					all = append(all, d.Day.UTC().Format(time.DateOnly)+" "+d.Level.String())
				}
			}
			return all
		}
		if got := known(); !slices.Equal(got, []string{"2026-03-01 major_outage"}) {
			t.Error(got)
		}
		clk.Advance(24 * time.Hour)
		if err := w.Record(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := known(); !slices.Equal(got, []string{"2026-03-01 major_outage", "2026-03-02 operational"}) {
			t.Error(got)
		}
		clk.Advance(89 * 24 * time.Hour)
		if err := w.Record(t.Context()); err != nil {
			t.Fatal(err)
		}
		all, err := days(t.Context(), d, time.Unix(0, 0))
		if err != nil || !all[0].Day.Equal(time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC)) {
			t.Error(all, err)
		}
	})
}

func TestTheStatusIsServedWithoutTheDatabase(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		w := newWorld(d, clk)
		if _, err := w.Open(t.Context(), Incident{Title: slow, Impact: Minor, Stage: Investigating, Components: []string{DNS}}, slow); err != nil {
			t.Fatal(err)
		}
		edge := apitest.NewEdge(t, d, clk, apitest.Tokens{}, w.Operations())
		get := func(query string) (got struct {
			Status     string     `json:"status"`
			CheckedAt  *time.Time `json:"checked_at"`
			Components []struct {
				Key, Status string
				Name        any
				History     []dayWire
			}
			Incidents []struct {
				Title   any
				Updates []any
			}
		},
		) {
			t.Helper()
			r := apitest.Call(edge, "", http.MethodGet, "/api/v1/status"+query, "")
			if r.Code != http.StatusOK {
				t.Fatal(r.Code, r.Body)
			}
			if err := json.Unmarshal(r.Body.Bytes(), &got); err != nil {
				t.Fatal(err)
			}
			return got
		}
		got := get("?lang=ru")
		if got.Status != "degraded" || got.Components[2].Name != "Серверы имён" || got.Components[4].Name != "Хостинг: tashkent" ||
			got.Incidents[0].Title != "Медленно" || len(got.Incidents[0].Updates) != 1 || len(got.Components[2].History) != 1 {
			t.Errorf("%+v", got)
		}
		checked := *got.CheckedAt
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
		clk.Advance(time.Minute)
		got = get("")
		if !got.CheckedAt.Equal(checked) || got.Status != "partial_outage" || got.Components[0].Status != "major_outage" || got.Components[2].Status != "degraded" {
			t.Errorf("%+v", got)
		}
		w.Service = newWorld(d, clk).Service // one that has seen nothing
		edge = apitest.NewEdge(t, d, clk, apitest.Tokens{}, w.Operations())
		if got = get(""); got.CheckedAt != nil || got.Components[0].Status != "major_outage" || len(got.Components) != 3 {
			t.Errorf("%+v", got)
		}
	})
}

// TestMaintenanceThatWasAnnouncedIsTold: of the location and of all hosting, not before it was announced, and not after it was
// called off.
func TestMaintenanceThatWasAnnouncedIsTold(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		w := newWorld(d, clk)
		now := clk.Now()
		plan := func(from, to time.Duration, keys ...string) Planned {
			t.Helper()
			p, err := w.Schedule(t.Context(), Planned{Title: slow, Components: keys, StartsAt: now.Add(from), EndsAt: now.Add(to)})
			if err != nil {
				t.Fatal(err)
			}
			return p
		}
		plan(-time.Hour, time.Hour, "hosting-tashkent") // it had begun when it was announced
		plan(2*time.Hour, 3*time.Hour)                  // everything
		plan(4*time.Hour, 5*time.Hour, DNS)
		plan(4*time.Hour, 5*time.Hour, "hosting-almaty")
		stopped := plan(6*time.Hour, 8*time.Hour, "hosting-tashkent")
		never := plan(9*time.Hour, 10*time.Hour, "hosting-tashkent")
		plan(20*time.Hour, 21*time.Hour)
		if _, err := w.Cancel(t.Context(), never.ID); err != nil {
			t.Fatal(err)
		}
		clk.Advance(7 * time.Hour)
		if _, err := w.Cancel(t.Context(), stopped.ID); err != nil {
			t.Fatal(err)
		}
		got, err := w.Announced(t.Context(), d, "tashkent", now.Add(-24*time.Hour), now.Add(20*time.Hour))
		want := []Stretch{
			{now, now.Add(time.Hour)}, {now.Add(2 * time.Hour), now.Add(3 * time.Hour)}, {now.Add(6 * time.Hour), now.Add(7 * time.Hour)},
		}
		if err != nil || !slices.EqualFunc(got, want, func(a, b Stretch) bool { return a.Start.Equal(b.Start) && a.End.Equal(b.End) }) {
			t.Errorf("%v %v, want %v", err, got, want)
		}
	})
}
