package monitors

import (
	"container/heap"
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/page"
	"stead.dev/stead/internal/platform/probe"
	"stead.dev/stead/internal/platform/testkit"
)

// TestAResultThatIsWrittenLatePlansNothingMore: while the database does not answer, results wait, and the monitors are checked
// on. When they are written at last, no monitor is checked twice at a time.
func TestAResultThatIsWrittenLatePlansNothingMore(t *testing.T) {
	clk := clock.NewFake(testkit.Start)
	d := (&Service{Config: Config{Clock: clk}}).newScheduler()
	e := &entry{id: 7, settings: settings{IntervalS: 60}, target: probe.Target{Type: probe.HTTP}, due: clk.Now()}
	d.entries[e.id] = e
	heap.Push(&d.queue, e)
	check := func() outcome {
		t.Helper()
		if len(d.queue) != 1 {
			t.Fatalf("%d checks are due", len(d.queue))
		}
		heap.Pop(&d.queue)
		return outcome{monitorID: e.id, scheduledAt: e.due, checkedAt: clk.Now(), result: probe.Result{OK: true}}
	}
	first := check()
	d.plan([]outcome{first}, nil) // it is not written
	clk.Set(e.due)
	second := check()
	due := e.due
	d.plan([]outcome{first}, nil) // it is, while the next check goes on
	if len(d.queue) != 0 || !e.due.Equal(due) {
		t.Errorf("%d more checks, the one that goes on was due %v", len(d.queue), e.due)
	}
	d.plan([]outcome{second}, nil)
	if len(d.queue) != 1 || e.due.Sub(due) < 30*time.Second {
		t.Errorf("%d checks are due, the next after %v", len(d.queue), e.due.Sub(due))
	}
}

// TestNews: only what changes nothing waits for the results of other checks.
func TestNews(t *testing.T) {
	clk := clock.NewFake(testkit.Start)
	answers := true
	d := (&Service{Config: Config{Clock: clk, Prober: checks(func(context.Context, probe.Target) probe.Result { return probe.Result{OK: answers} })}}).newScheduler()
	e := &entry{id: 7, settings: settings{IntervalS: 60}, target: probe.Target{Type: probe.HTTP}, due: clk.Now()}
	d.entries[e.id] = e
	heap.Push(&d.queue, e)
	for i, c := range []struct{ answers, news bool }{{true, true}, {true, false}, {false, true}, {false, true}, {true, true}, {true, false}} {
		answers = c.answers
		heap.Pop(&d.queue)
		d.check(t.Context(), e)
		o := <-d.results
		if o.news != c.news {
			t.Errorf("check %d, which succeeds: %v, is news: %v", i, c.answers, o.news)
		}
		d.plan([]outcome{o}, nil)
		clk.Set(e.due)
	}
}

// TestChangesOfWhichNoSignalToldAreFoundWithinMinutes: no signal is delivered here, as when more have come than wait.
func TestChangesOfWhichNoSignalToldAreFoundWithinMinutes(t *testing.T) {
	databases(t, func(t *testing.T, in database) {
		synctest.Test(t, func(t *testing.T) {
			passes := func(d time.Duration) {
				time.Sleep(d) // sleeps: no real time passes in a bubble
			}
			var seen sync.Map
			r, other := in.mortal(t, &seen), in.replica(t, clock.System(0), nil) // which hear nothing of each other
			change := func(id int64, w wish) {
				t.Helper()
				if _, err := other.update(t.Context(), 1, id, w); err != nil {
					t.Fatal(err)
				}
			}
			fill(t, r.Service, 4, nil)
			passes(2 * time.Minute)
			rows, _, err := r.list(t.Context(), 1, filter{}, page.Params{})
			if err != nil || len(rows) != 4 {
				t.Fatalf("%d monitors, %v", len(rows), err)
			}
			paused := true
			change(rows[0].id, wish{settings: func(set *settings) { set.Target.URL = "http://127.0.0.1/elsewhere" }})
			change(rows[1].id, wish{paused: &paused})
			if err := other.remove(t.Context(), 1, rows[2].id); err != nil {
				t.Fatal(err)
			}
			if _, err := other.create(t.Context(), 1, wish{settings: func(set *settings) {
				set.Target.Type, set.Target.URL, set.IntervalS = probe.HTTP, "http://127.0.0.1/new", 60
			}}); err != nil {
				t.Fatal(err)
			}
			passes(2 * time.Minute)
			seen.Clear()
			passes(2 * time.Minute)
			var checked []string
			seen.Range(func(url, _ any) bool { checked = append(checked, url.(string)); return true })
			slices.Sort(checked)
			if want := []string{rows[3].settings.Target.URL, "http://127.0.0.1/elsewhere", "http://127.0.0.1/new"}; !slices.Equal(checked, want) {
				t.Errorf("checked are %q, want %q", checked, want)
			}
			r.stop()
			r.gone.Wait()
		})
	})
}

// TestAMonitorThatCannotBeReadIsCheckedOn: the database may fail for a moment.
func TestAMonitorThatCannotBeReadIsCheckedOn(t *testing.T) {
	databases(t, func(t *testing.T, in database) {
		clk := clock.NewFake(testkit.Start)
		s := in.replica(t, clk, nil)
		fill(t, s, 1, nil)
		d := s.newScheduler()
		if err := s.makeShards(t.Context()); err != nil {
			t.Fatal(err)
		}
		held, err := s.renew(t.Context(), share{})
		if err == nil {
			err = d.lead(t.Context(), held)
		}
		if err != nil || len(d.queue) != 1 {
			t.Fatalf("%d are checked, %v", len(d.queue), err)
		}
		id := d.queue[0].id
		_ = s.DB.Close()
		if err := d.refresh(t.Context(), id); err == nil || len(d.queue) != 1 || d.entries[id] == nil {
			t.Errorf("%d are checked, %v", len(d.queue), err)
		}
	})
}

// TestAResultCountsForWhatWasChecked: a check that began before the address changed says nothing about the new one.
func TestAResultCountsForWhatWasChecked(t *testing.T) {
	databases(t, func(t *testing.T, in database) {
		clk := clock.NewFake(testkit.Start)
		s := in.replica(t, clk, nil)
		fill(t, s, 1, nil)
		rows, _, err := s.list(t.Context(), 1, filter{}, page.Params{})
		if err != nil {
			t.Fatal(err)
		}
		id, old := rows[0].id, rows[0].revision()
		if _, err := s.update(t.Context(), 1, id, wish{settings: func(set *settings) { set.Target.URL = "http://127.0.0.1/elsewhere" }}); err != nil {
			t.Fatal(err)
		}
		now, err := s.get(t.Context(), 1, id)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			revision string
			want     Status
		}{{old, Pending}, {now.revision(), Up}} {
			clk.Advance(time.Minute)
			_, err := s.record(t.Context(), []outcome{{monitorID: id, revision: c.revision, scheduledAt: clk.Now(), checkedAt: clk.Now(), result: probe.Result{OK: true}}})
			if m, getErr := s.get(t.Context(), 1, id); err != nil || getErr != nil || m.status != c.want {
				t.Errorf("it is %s, want %s: %v, %v", m.status, c.want, err, getErr)
			}
		}
	})
}
