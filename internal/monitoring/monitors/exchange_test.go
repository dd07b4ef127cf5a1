package monitors

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"stead.dev/stead/internal/platform/auth"
	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/nodelink"
	"stead.dev/stead/internal/platform/probe"
)

// place is a node in a test.
type place struct {
	t    *testing.T
	s    *Service
	node int64
	name string
}

func (p place) exchange(in nodelink.Checks) nodelink.Work {
	p.t.Helper()
	out, err := p.s.Exchange(p.t.Context(), p.node, p.name, in)
	if err != nil {
		p.t.Fatal(err)
	}
	return out
}

// tasks are what the node is to check.
func (p place) tasks() map[int64]nodelink.Task {
	p.t.Helper()
	found := map[int64]nodelink.Task{}
	for _, part := range p.exchange(nodelink.Checks{}).Parts {
		var list []nodelink.Task
		if err := json.Unmarshal(part.Tasks, &list); err != nil {
			p.t.Fatal(err)
		}
		for _, t := range list {
			found[t.ID] = t
		}
	}
	return found
}

// result is a check of a task that the node made just now.
func (p place) result(t nodelink.Task, ok bool) nodelink.CheckResult {
	now := p.s.Clock.Now()
	r := nodelink.CheckResult{
		ID: t.ID, Revision: t.Revision, ScheduledAt: now.Add(-time.Second), CheckedAt: now,
		Result: probe.Result{OK: ok, HTTPStatus: 200, Response: 20 * time.Millisecond},
	}
	if !ok {
		r.Result.HTTPStatus, r.Result.ErrorKey, r.Result.Detail = 503, probe.KeyStatus, "the answer was 503"
	}
	return r
}

// own is a check of the control plane.
func own(t *testing.T, s *Service, id int64, ok bool) {
	t.Helper()
	r := probe.Result{OK: ok, HTTPStatus: 200, Response: 10 * time.Millisecond}
	if !ok {
		r.ErrorKey = probe.KeyStatus
	}
	now := s.Clock.Now()
	if _, err := s.record(t.Context(), []outcome{{monitorID: id, scheduledAt: now, checkedAt: now, result: r}}); err != nil {
		t.Fatal(err)
	}
}

func (s *Service) shown(t *testing.T, id int64) monitorWire {
	t.Helper()
	m, err := byID(t.Context(), s.DB, id)
	if err != nil {
		t.Fatal(err)
	}
	w, err := s.one(t.Context(), m, nil)
	if err != nil {
		t.Fatal(err)
	}
	return *w
}

func rowsOf(t *testing.T, s *Service) (n int) {
	t.Helper()
	if err := s.DB.QueryRow(t.Context(), `SELECT COUNT(*) FROM monitors_checks`).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// TestNodesCheckAsRegions: what they are given, what of them counts, and that it counts once.
func TestNodesCheckAsRegions(t *testing.T) {
	databases(t, func(t *testing.T, in database) {
		clk := clock.NewFake(noon)
		s := in.replica(t, clk, nil)
		samarkand, tashkent := place{t, s, 1, "samarkand"}, place{t, s, 2, "tashkent"}
		samarkand.exchange(nodelink.Checks{})
		tashkent.exchange(nodelink.Checks{})
		secret := "s3cret"
		watch := func(w wish) int64 {
			t.Helper()
			rest := w.settings
			w.settings = func(set *settings) {
				set.Target.Type, set.Target.URL, set.IntervalS, set.Retries = probe.HTTP, "https://example.com/", 60, 0
				if rest != nil {
					rest(set)
				}
			}
			m, err := s.create(t.Context(), 1, w)
			if err != nil {
				t.Fatal(err)
			}
			return m.id
		}
		plain := watch(wish{})
		hidden := watch(wish{headers: map[string]*string{"Authorization": &secret}})
		chosen := watch(wish{headers: map[string]*string{"Authorization": &secret}, regions: &[]string{"tashkent"}})
		body := watch(wish{settings: func(set *settings) { set.Target.Method, set.Target.Body = http.MethodPost, "password=1" }})
		beats := watch(wish{settings: func(set *settings) { set.Target.Type = probe.Heartbeat }})
		clk.Advance(3 * time.Second)

		got := samarkand.tasks()
		if _, ok := got[plain]; !ok || len(got) != 1 {
			t.Errorf("samarkand checks %v, want %d", got, plain)
		}
		got = tashkent.tasks()
		if len(got) != 2 || got[chosen].Header.Get("Authorization") != secret {
			t.Errorf("tashkent checks %v, want %d and %d with its header", got, plain, chosen)
		}
		for id, want := range map[int64][]string{
			plain: {home, "samarkand", "tashkent"}, hidden: {home}, chosen: {home, "tashkent"}, body: {home}, beats: {home},
		} {
			if w := s.shown(t, id); !slices.Equal(w.Regions, want) {
				t.Errorf("regions of %d: %v, want %v", id, w.Regions, want)
			}
		}

		// What the node has is not sent again.
		first := samarkand.exchange(nodelink.Checks{})
		versions := []string{}
		for _, p := range first.Parts {
			versions = append(versions, p.Version)
		}
		if again := samarkand.exchange(nodelink.Checks{Versions: versions}); len(again.Parts) != 0 || again.More {
			t.Errorf("%d parts that it has", len(again.Parts))
		}

		// A result counts once, and only where the node checks what the monitor is now.
		task := samarkand.tasks()[plain]
		ok := samarkand.result(task, true)
		stale, foreign, hasty := ok, samarkand.result(nodelink.Task{ID: hidden, Revision: "?"}, false), ok
		stale.Revision = "of other settings"
		stale.ScheduledAt = stale.ScheduledAt.Add(-time.Second)
		hasty.ScheduledAt = hasty.ScheduledAt.Add(time.Millisecond)
		for range 3 {
			samarkand.exchange(nodelink.Checks{Results: []nodelink.CheckResult{stale, foreign, ok, hasty, ok}})
		}
		if n := rowsOf(t, s); n != 1 {
			t.Errorf("%d checks are kept, want 1", n)
		}
		m, err := byID(t.Context(), s.DB, plain)
		if err != nil || m.lastCheckedAt != nil || m.lastResponseMS != nil {
			t.Errorf("a node tells when the control plane has checked: %+v, %v", m, err)
		}
		if w := s.shown(t, plain); w.Status != Pending || len(w.RegionResults) != 1 || w.RegionResults[0].Region != "samarkand" ||
			w.RegionResults[0].Status != "up" || !w.RegionResults[0].Counts {
			t.Errorf("%+v", w)
		}
		own(t, s, plain, true)

		// One node cries, again and again: nobody is alarmed.
		for range 5 {
			clk.Advance(20 * time.Second)
			samarkand.exchange(nodelink.Checks{Results: []nodelink.CheckResult{samarkand.result(task, false)}})
			tashkent.exchange(nodelink.Checks{Results: []nodelink.CheckResult{tashkent.result(task, true)}})
			own(t, s, plain, true)
		}
		if w := s.shown(t, plain); w.Status != Degraded || w.ErrorKey != nil {
			t.Errorf("%s, %v", w.Status, w.ErrorKey)
		}
		// Both do: the outage has their names.
		clk.Advance(20 * time.Second)
		samarkand.exchange(nodelink.Checks{Results: []nodelink.CheckResult{samarkand.result(task, false)}})
		tashkent.exchange(nodelink.Checks{Results: []nodelink.CheckResult{tashkent.result(task, false)}})
		w := s.shown(t, plain)
		if w.Status != Down || w.ErrorKey == nil || *w.ErrorKey != probe.KeyStatus {
			t.Errorf("%s, %v", w.Status, w.ErrorKey)
		}
		clk.Advance(time.Second)
		h, err := s.getOperation(t.Context(), principal(1), &getIn{monitorIn: monitorIn{plain}, Range: lastDay})
		if err != nil || len(h.Outages) != 1 || !slices.Equal(h.Outages[0].Regions, []string{"samarkand", "tashkent"}) || h.Outages[0].ConfirmedBy != 2 ||
			h.Checks[0].Region != "tashkent" || h.Checks[0].Error == nil {
			t.Errorf("%+v, %+v, %v", h.Outages, h.Checks[0], err)
		}
	})
}

// TestWhoChecksForARegion: one node at a time, and another one when it falls silent.
func TestWhoChecksForARegion(t *testing.T) {
	databases(t, func(t *testing.T, in database) {
		clk := clock.NewFake(noon)
		s := in.replica(t, clk, nil)
		fill(t, s, 1, nil)
		one, other := place{t, s, 1, "tashkent"}, place{t, s, 2, "tashkent"}
		task := one.tasks()[1]
		if task.ID == 0 {
			t.Fatal("nothing to check")
		}
		if out := other.exchange(nodelink.Checks{Results: []nodelink.CheckResult{other.result(task, true)}}); !out.Idle || rowsOf(t, s) != 0 {
			t.Errorf("two nodes check for one region: %+v", out)
		}
		clk.Advance(silentAfter + time.Second)
		if out := other.exchange(nodelink.Checks{}); out.Idle {
			t.Error("nobody checks for the region")
		}
		if out := one.exchange(nodelink.Checks{}); !out.Idle {
			t.Error("the one that was silent checks on")
		}
		if out := (place{t, s, 3, home}).exchange(nodelink.Checks{}); out.Idle {
			t.Error("a node whose place is called as the control plane is has no region")
		}
		if names := s.shown(t, 1).Regions; !slices.Equal(names, []string{home, "node-3", "tashkent"}) {
			t.Errorf("regions: %v", names)
		}
		clk.Advance(time.Hour)
		if names := s.shown(t, 1).Regions; !slices.Equal(names, []string{home}) {
			t.Errorf("regions that are silent: %v", names)
		}
	})
}

// TestARegionWithoutNetworkAlarmsNobody, whether it is a node or the control plane itself.
func TestARegionWithoutNetworkAlarmsNobody(t *testing.T) {
	databases(t, func(t *testing.T, in database) {
		clk := clock.NewFake(noon)
		s := in.replica(t, clk, nil)
		const count = 4
		fill(t, s, count, func(set *settings) { set.Retries, set.Quorum = 0, 1 })
		node := place{t, s, 1, "tashkent"}
		tasks := node.tasks()
		if len(tasks) != count {
			t.Fatal(len(tasks))
		}
		announceShare := func(found share) {
			t.Helper()
			err := s.DB.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
				return announce(ctx, tx, s.name, tx.Now.Add(leaseFor), found)
			})
			if err != nil {
				t.Fatal(err)
			}
			s.region.forget()
		}
		round := func(home, far bool) {
			t.Helper()
			clk.Advance(10 * time.Second)
			in := nodelink.Checks{Checked: count}
			if !far {
				in.Failing = count
			}
			if own := (share{0, count}); home {
				announceShare(own)
			} else {
				announceShare(share{count, count})
			}
			for _, task := range tasks {
				in.Results = append(in.Results, node.result(task, far))
			}
			node.exchange(in)
			for id := range tasks {
				own(t, s, id, home)
			}
		}
		all := func(want Status) {
			t.Helper()
			for id := range tasks {
				if w := s.shown(t, id); w.Status != want {
					t.Errorf("%d is %s, want %s: %+v", id, w.Status, want, w.RegionResults)
				}
			}
		}
		round(true, true)
		all(Up)
		for range 5 {
			round(true, false)
		}
		all(Up)
		if r := s.shown(t, 1).RegionResults; len(r) != 2 || !r[0].Counts || r[1].Counts || r[1].Status != "down" {
			t.Errorf("%+v", r)
		}
		round(true, true)
		for range 5 {
			round(false, true)
		}
		all(Up)
		round(true, true)
		round(false, false) // it is theirs
		all(Down)
	})
}

func TestRegionsThatAreNotAllowed(t *testing.T) {
	databases(t, func(t *testing.T, in database) {
		clk := clock.NewFake(noon)
		s := in.replica(t, clk, nil)
		place{t, s, 1, "tashkent"}.exchange(nodelink.Checks{})
		try := func(typ probe.Type, quorum int, names ...string) error {
			_, err := s.create(t.Context(), 1, wish{regions: &names, settings: func(set *settings) {
				set.Target.Type, set.Target.URL, set.Target.Host, set.Quorum = typ, "https://example.com/", "example.com", quorum
			}})
			return err
		}
		for _, good := range []error{try(probe.HTTP, 2, home, "tashkent"), try(probe.Heartbeat, 0, home), try(probe.HTTP, 9)} {
			if good != nil {
				t.Error(good)
			}
		}
		for key, err := range map[string]error{
			"region_not_allowed": try(probe.HTTP, 0, home, "atlantis"), "region_not_allowed ": try(probe.Heartbeat, 0, "tashkent"),
			"region_not_allowed  ": try(probe.Domain, 0, "tashkent"), "validation_failed": try(probe.HTTP, 3, "tashkent"),
		} {
			if refused := new(fault.Error); !errors.As(err, &refused) || refused.Def.Key != strings.TrimSpace(key) {
				t.Errorf("%v, want %s", err, key)
			}
		}
		// A region that has gone stays with those that have chosen it, and is for nobody else.
		clk.Advance(2 * goneAfter)
		kept := []string{"tashkent"}
		if _, err := s.update(t.Context(), 1, 1, wish{regions: &kept}); err != nil {
			t.Error(err)
		}
		if err := try(probe.HTTP, 0, "tashkent"); err == nil {
			t.Error("a region that has gone is chosen")
		}
		all := []string{}
		if m, err := s.update(t.Context(), 1, 1, wish{regions: &all, settings: func(set *settings) { set.Quorum = 0 }}); err != nil || m.settings.Regions != nil {
			t.Errorf("%v, %v", m.settings.Regions, err)
		}
		for _, bad := range []nodelink.Checks{
			{Results: make([]nodelink.CheckResult, nodelink.MostResults+1)},
			{Failing: 2, Checked: 1},
			{Failing: -1},
			{Checked: 1 << 40},
			{Versions: make([]string, 65)},
		} {
			if _, err := s.Exchange(t.Context(), 1, "tashkent", bad); err == nil {
				t.Errorf("taken: %d results, %d of %d", len(bad.Results), bad.Failing, bad.Checked)
			}
		}
	})
}

func principal(account int64) auth.Principal { return auth.Principal{AccountID: account} }
