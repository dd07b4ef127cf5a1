package site_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"testing"

	"github.com/riverqueue/river"

	"stead.dev/stead/internal/hosting/site"
	"stead.dev/stead/internal/hosting/site/sitetest"
	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/outbox"
	"stead.dev/stead/internal/platform/testkit"
)

// good is a row of test_goods.
type good struct {
	site.Item
	name string
	size int
}

func (g good) PanelName() string { return g.name }

// shelves is the capability of a panel that has things.
type shelves interface {
	Things(ctx context.Context, ref string) ([]thing, error)
	SetThing(ctx context.Context, ref string, t thing) (thing, error)
	RemoveThing(ctx context.Context, ref, name string) error
}

type shelfPanel struct{ site.Kind[thing, thing] }

func (shelfPanel) Name() string { return "it" }

func (p shelfPanel) Things(ctx context.Context, ref string) ([]thing, error) {
	return p.List(ctx, ref)
}

func (p shelfPanel) SetThing(ctx context.Context, ref string, t thing) (thing, error) {
	return p.Set(ctx, ref, t)
}

func (p shelfPanel) RemoveThing(ctx context.Context, ref, name string) error {
	return p.Remove(ctx, ref, name)
}

type goodsArgs struct{ site.Target }

func (goodsArgs) Kind() string { return "goods.apply" }

// stall is a collection in a table of the test's, and what was told of it.
type stall struct {
	site.Collection[good, shelves, thing]
	panel *fakePanel
	told  []string
}

func (s *stall) note(what string) func(context.Context, *db.Tx, good) error {
	return func(_ context.Context, _ *db.Tx, g good) error {
		s.told = append(s.told, what+" "+g.name)
		return nil
	}
}

// Emit notes what the event says that became of a thing.
func (s *stall) Emit(_ context.Context, _ *db.Tx, e outbox.Event) error {
	data, err := json.Marshal(e.Data)
	s.told = append(s.told, e.Type+" "+string(data))
	return err
}

// enqueuer notes which jobs were inserted.
type enqueuer struct{ s *stall }

func (e enqueuer) Enqueue(_ context.Context, _ *db.Tx, args river.JobArgs, _ *river.InsertOpts) error {
	e.s.told = append(e.s.told, args.Kind())
	return nil
}

func newStall(t *testing.T, d *db.DB) *stall {
	t.Helper()
	exec(t, d, `CREATE TABLE test_goods (id BIGINT, account_id BIGINT, service_id BIGINT, status TEXT, failure_key TEXT, revision BIGINT,
		name TEXT, size BIGINT, activated_at BIGINT, created_at BIGINT)`)
	exec(t, d, `CREATE TABLE test_more (service_id BIGINT)`)
	services := sitetest.New(t, d)
	services.Add(t, site.Site{ServiceID: 7, AccountID: 1, Panel: "it", Ref: "7", Status: "active", Limits: site.Limits{"goods": 2}})
	services.Add(t, site.Site{ServiceID: 8, AccountID: 1, Panel: "bare", Ref: "8", Status: "active"})
	services.Add(t, site.Site{ServiceID: 9, AccountID: 1, Panel: "it", Ref: "9", Status: "terminated"})
	s := &stall{panel: &fakePanel{things: map[string]int{}}}
	s.Collection = site.Collection[good, shelves, thing]{
		Base: site.Base{
			DB: d, Queue: enqueuer{s}, Services: services, Outbox: s,
			Panels: sitetest.Panels{"it": shelfPanel{s.panel.kind(7, nil)}, "bare": sitetest.Bare{}},
		},
		Capability: "things", Limit: "goods", Event: "good",
		Job: func(t site.Target) river.JobArgs { return goodsArgs{t} },
		Table: site.Table[good]{
			Name: "test_goods", Others: []string{"test_more"},
			Rows: db.Map(func(g *good) db.Fields { return g.Fields(db.Fields{"name": &g.name, "size": &g.size}) }),
		},
		On: func(_ context.Context, _ site.Site, p shelves) (site.Kind[good, thing], error) {
			return site.Kind[good, thing]{
				Wish: func(_ context.Context, g good) (thing, error) { return thing{site.Head{Name: g.name}, g.size}, nil },
				Same: func(have, wish thing) bool { return have.size == wish.size },
				List: p.Things, Set: p.SetThing, Remove: p.RemoveThing,
				Name: func(t thing) string { return t.Name },
			}, nil
		},
		Activated: s.note("activated"), Removed: s.note("removed"), Forget: s.note("forget"),
	}
	return s
}

func (s *stall) add(t *testing.T, id, serviceID int64, name string, status site.Status) {
	t.Helper()
	exec(t, s.DB, `INSERT INTO test_goods VALUES ($1, 1, $2, $3, NULL, 1, $4, 5, NULL, 0)`, id, serviceID, status, name)
}

// has is what the rows of a service say.
func (s *stall) has(t *testing.T, serviceID int64) (all []string) {
	t.Helper()
	rows, err := s.OfService(t.Context(), s.DB, serviceID)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rows {
		line := r.name + " " + string(r.Status)
		if r.FailureKey != nil {
			line += " " + *r.FailureKey
		}
		all = append(all, line)
	}
	return all
}

func (s *stall) expect(t *testing.T, serviceID int64, rows, told []string) {
	t.Helper()
	if got := s.has(t, serviceID); !slices.Equal(got, rows) {
		t.Errorf("rows = %v, want %v", got, rows)
	}
	if !slices.Equal(s.told, told) {
		t.Errorf("told = %v, want %v", s.told, told)
	}
	s.told = nil
}

func TestOfTwoRunsAtOnceOneTells(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, _ *clock.Fake) {
		s := newStall(t, d)
		s.add(t, 1, 7, "new", site.Pending)
		s.panel.during = func() { // the second run, whole, while the first is at work
			if err := s.Apply(t.Context(), 1, 7); err != nil {
				t.Error(err)
			}
		}
		if err := s.Apply(t.Context(), 1, 7); err != nil {
			t.Fatal(err)
		}
		s.expect(t, 7, []string{"new active"}, []string{"activated new", `good.changed {"id":1,"service_id":7,"status":"active"}`})

		// What changes while the panel is at work is not taken for done.
		exec(t, d, `UPDATE test_goods SET size = 6, revision = 2, status = 'pending'`)
		s.panel.during = func() { exec(t, d, `UPDATE test_goods SET size = 7, revision = 3, status = 'pending'`) }
		if err := s.Apply(t.Context(), 1, 7); err != nil || s.panel.things["new"] != 7 {
			t.Errorf("the panel has %v: %v", s.panel.things, err)
		}
		s.expect(t, 7, []string{"new active"}, []string{`good.changed {"id":1,"service_id":7,"status":"active"}`})
	})
}

func TestAThingGoesWhenThePanelNoLongerHasIt(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, _ *clock.Fake) {
		s := newStall(t, d)
		s.add(t, 1, 7, "old", site.Active)
		s.panel.things["old"] = 5
		for range 2 { // the second time it is on its way out already
			if err := s.Remove(t.Context(), 1, 7, 1); err != nil {
				t.Fatal(err)
			}
		}
		s.expect(t, 7, []string{"old removing"}, []string{"goods.apply"})
		if err := s.Remove(t.Context(), 2, 7, 1); !errors.Is(err, fault.NotFound) {
			t.Errorf("a stranger: %v", err)
		}
		for range 2 { // a job may run twice
			if err := s.Apply(t.Context(), 1, 7); err != nil || len(s.panel.things) != 0 {
				t.Errorf("the panel has %v: %v", s.panel.things, err)
			}
		}
		s.expect(t, 7, nil, []string{"forget old", "removed old", `good.changed {"id":1,"service_id":7,"status":"removed"}`})
	})
}

func TestAPanelWithoutTheCapabilityRefusesAll(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, _ *clock.Fake) {
		s := newStall(t, d)
		s.add(t, 1, 8, "new", site.Pending)
		s.add(t, 2, 8, "old", site.Removing)
		for range 2 { // the second time it says nothing new
			if err := s.Apply(t.Context(), 1, 8); err != nil {
				t.Fatal(err)
			}
		}
		s.expect(t, 8, []string{"new failed unsupported_operation"}, []string{
			`good.changed {"id":1,"service_id":8,"status":"failed"}`,
			"forget old", "removed old", `good.changed {"id":2,"service_id":8,"status":"removed"}`,
		})
	})
}

func TestNothingIsLeftOfAServiceThatHasEnded(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, _ *clock.Fake) {
		s := newStall(t, d)
		s.add(t, 1, 9, "one", site.Active)
		s.add(t, 2, 7, "other's", site.Active)
		exec(t, d, `INSERT INTO test_more VALUES (9), (7)`)
		if err := s.Apply(t.Context(), 1, 9); err != nil {
			t.Fatal(err)
		}
		s.expect(t, 9, nil, []string{"forget one"})
		var left int
		if err := d.QueryRow(t.Context(), `SELECT count(*) FROM test_more`).Scan(&left); err != nil || left != 1 || len(s.has(t, 7)) != 1 {
			t.Errorf("%d rows are left: %v", left, err)
		}
	})
}

func TestThePlanBoundsHowManyThereAre(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, _ *clock.Fake) {
		s := newStall(t, d)
		for id, want := range []error{nil, nil, fault.LimitReached} {
			err := s.Change(t.Context(), 1, 7, func(ctx context.Context, tx *db.Tx, on site.Site) error { return s.Room(ctx, tx, on, 1) })
			if !errors.Is(err, want) {
				t.Errorf("with %d: %v", id, err)
			}
			s.add(t, int64(id), 7, "good"+strconv.Itoa(id), site.Pending)
		}
		count := map[string]int64{}
		if err := s.Count(t.Context(), d, 7, count); err != nil || count["goods"] != 3 {
			t.Errorf("%v, %v", count, err)
		}
	})
}
