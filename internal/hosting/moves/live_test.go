package moves

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/labels"
	"stead.dev/stead/internal/platform/page"
	"stead.dev/stead/internal/platform/testkit"
	"stead.dev/stead/internal/port/panel"
)

// visit asks a machine for the front page of the service.
func (w *world) visit(name string) (int, string) {
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	r.Host = "shop.test"
	answer := httptest.NewRecorder()
	w.machines[name].Handler().ServeHTTP(answer, r)
	return answer.Code, answer.Body.String()
}

func (w *world) move(to string) Move {
	w.T.Helper()
	m, err := w.Move(w.T.Context(), 7, Target{Node: to}, false)
	w.must(err)
	return m
}

func (w *world) writable(name string) error {
	_, err := w.at(name).Write(w.T.Context(), ref, "/public_html/new.html", []byte("x"), panel.WriteOptions{})
	return err
}

// TestAServiceMovesWhileItLives is the whole life of a move: what is written until the hold comes along, visitors are always
// answered, and nothing can be written to a place that does not count.
func TestAServiceMovesWhileItLives(t *testing.T) {
	engines(t, func(w *world) {
		w.write(first, "before the move")
		id := w.move("second").ID
		w.until(id, Hold)
		w.write(first, "while it was copied")
		m := w.until(id, Commit)
		if status, page := w.visit(first); status != http.StatusOK || page != "while it was copied" {
			t.Errorf("held, it is answered %d %q", status, page)
		}
		if err := w.writable(first); !errors.Is(err, panel.ErrSuspended) {
			t.Errorf("held, it is written: %v", err)
		}
		if status, _ := w.visit(second); status != http.StatusServiceUnavailable {
			t.Errorf("before it has moved, the other machine answers %d", status)
		}
		if s, _ := w.service(); !s.Moving || s.Panel != first {
			t.Errorf("before it has moved: %+v", s)
		}
		told := func(step Step, want int) {
			t.Helper()
			w.until(id, step)
			if left, err := w.Left(t.Context(), w.db, first); err != nil || len(left) != want {
				t.Errorf("at %s the machine is told %v %v", step, left, err)
			}
		}
		told(Fill, 0)
		told(Open, 0)
		told(Leave, 0) // it would refuse mail for good, not knowing where it belongs
		m = w.until(m.ID, Leave)
		if m.FailureKey != nil || m.OpenedAt == nil || m.BackupID != nil {
			t.Errorf("the move: %+v", m)
		}
		w.served(second, 1)
		if status, page := w.visit(second); status != http.StatusOK || page != "while it was copied" {
			t.Errorf("it is answered %d %q", status, page)
		}
		w.must(w.writable(second))
		if err := w.writable(first); !errors.Is(err, panel.ErrSuspended) {
			t.Errorf("where it was it is written: %v", err)
		}
		told(Keep, 1)
		former := func() []string {
			all, err := w.Former(t.Context(), w.db, 7)
			w.must(err)
			return all
		}
		if want := []string{"former 7 since " + m.CommittedAt.Format(time.RFC3339)}; !slices.Equal(former(), want) {
			t.Errorf("it is passed on from %q, want %q", former(), want)
		}
		if err := w.writable(first); !errors.Is(err, panel.ErrNotFound) {
			t.Errorf("where it was it is written: %v", err)
		}
		for _, name := range []string{first, second} {
			if left, err := w.at(name).ListBackups(t.Context(), ref); len(left) != 0 {
				t.Errorf("copies are left on %s: %v %v", name, left, err)
			}
		}

		// And back, once what was left is gone.
		if _, err := w.Move(t.Context(), 7, Target{Node: "first"}, true); !errors.Is(err, fault.OutOfStock) {
			t.Errorf("back to where its files lie: %v", err)
		}
		w.clock.Advance(keptAfter + time.Hour)
		now := w.clock.Now()
		w.newest = &now
		w.until(id, Closed)
		if all := former(); all != nil {
			t.Errorf("nothing is left on %q", all)
		}
		id = w.move("first").ID
		w.until(id, Keep)
		w.served(first, 2)
		w.must(w.writable(first))
	})
}

// TestAPlannedMoveWaitsForTheDNS: it begins when caches have forgotten the former TTL, or the most that it may wait is over, and the
// TTL is what it was in the end.
func TestAPlannedMoveWaitsForTheDNS(t *testing.T) {
	engines(t, func(w *world) {
		w.write(first, "before the move")
		w.Wait = time.Hour
		waits := func(id int64, want time.Duration) {
			t.Helper()
			step := func(next ...Step) {
				t.Helper()
				_, err := w.Step(t.Context(), id)
				w.must(err)
				m, err := w.Get(t.Context(), id)
				w.must(err)
				if !slices.Contains(next, m.Step) || !w.lowered {
					t.Errorf("it is at %s, want %v; the TTL is low: %v", m.Step, next, w.lowered)
				}
			}
			step(Lower)
			step(Lower)
			w.clock.Advance(want - time.Second)
			step(Lower)
			w.clock.Advance(time.Second)
			step(Save, Plan)
		}
		w.kept = 90 * time.Second
		m := w.move("second")
		if m.Step != Lower || m.To != second {
			t.Errorf("begun: %+v", m)
		}
		waits(m.ID, w.kept)
		_, err := w.Cancel(t.Context(), m.ID)
		w.must(err)
		w.until(m.ID, Closed)
		if w.lowered {
			t.Error("of a move that was called off the TTL stays low")
		}
		w.Wait = time.Minute
		all, err := w.Evacuate(t.Context(), "first", Target{}, false)
		w.must(err)
		waits(all[0].ID, w.Wait)
		w.until(all[0].ID, Leave)
		w.served(second, 1)
		if w.lowered {
			t.Error("the TTL stays low")
		}
		w.until(all[0].ID, Keep)
		if want := []time.Duration{90 * time.Second, time.Minute}; !slices.Equal(w.planned, want) {
			t.Errorf("owners were told of %v, want %v", w.planned, want)
		}
	})
}

// TestAMovesStepsRunTwice: the process dies after each step, before it has written that it is done.
func TestAMovesStepsRunTwice(t *testing.T) {
	engines(t, func(w *world) {
		w.write(first, "before the move")
		id := w.move("").ID
		seen := map[Step]int{}
		testkit.Eventually(t, time.Minute, func() bool {
			m, err := w.Get(t.Context(), id)
			w.must(err)
			if m.Step == Keep {
				return true
			}
			seen[m.Step]++
			_, err = w.act(t.Context(), m)
			w.must(err)
			_, err = w.act(t.Context(), m)
			w.must(err)
			_, err = w.Step(t.Context(), id)
			w.must(err)
			w.clock.Advance(100 * time.Millisecond)
			return false
		}, "the move comes through")
		for _, step := range []Step{Save, Adopt, Check, Make, Hold, Ready, Commit, Open} {
			if seen[step] == 0 {
				t.Errorf("%s did not die", step)
			}
		}
		w.served(second, 1)
		if status, page := w.visit(second); status != http.StatusOK || page != "before the move" {
			t.Errorf("it is answered %d %q", status, page)
		}
	})
}

// TestAMoveThatIsCalledOff at each step before the service has moved leaves everything as it was.
func TestAMoveThatIsCalledOff(t *testing.T) {
	engines(t, func(w *world) {
		w.write(first, "before the move")
		for _, step := range []Step{Lower, Save, Adopt, Check, Make, Hold, Ready, Commit} {
			if w.Wait = 0; step == Lower {
				w.Wait = time.Minute
			}
			m := w.until(w.move("second").ID, step)
			_, err := w.Cancel(t.Context(), m.ID)
			w.must(err)
			if step == Make { // its account is being made meanwhile
				_, err := w.act(t.Context(), m)
				w.must(err)
			}
			m = w.until(m.ID, Closed)
			if !m.Failed() || *m.FailureKey != errCancelled.Key {
				t.Errorf("called off at %s: %+v", step, m)
			}
			w.served(first, 0)
			w.must(w.writable(first))
			if _, err := w.at(second).Account(t.Context(), ref); !errors.Is(err, panel.ErrNotFound) {
				t.Errorf("called off at %s, the other machine has it: %v", step, err)
			}
			for _, name := range []string{first, second} {
				if left, _ := w.at(name).ListBackups(t.Context(), ref); len(left) != 0 {
					t.Errorf("called off at %s, copies are left on %s: %v", step, name, left)
				}
			}
		}
		m := w.until(w.move("second").ID, Open)
		if _, err := w.Cancel(t.Context(), m.ID); !errors.Is(err, ErrCommitted) {
			t.Errorf("called off: %v", err)
		}
		w.until(m.ID, Keep)
		w.served(second, 1)
	})
}

// TestAHoldThatEnds by itself, because the control plane was away, is begun anew: what was written meanwhile comes along.
func TestAHoldThatEnds(t *testing.T) {
	engines(t, func(w *world) {
		w.write(first, "before the move")
		id := w.move("second").ID
		for _, step := range []Step{Hold, Ready, Commit} {
			w.until(id, step)
			if step == Hold {
				_, err := w.Step(t.Context(), id) // the service is being moved
				w.must(err)
				_, err = w.Step(t.Context(), id) // it is held
				w.must(err)
			}
			w.clock.Advance(lease + time.Second)
			w.machines[first].Thaw(t.Context())
			w.write(first, "written after "+string(step))
			_, err := w.Step(t.Context(), id)
			w.must(err)
			if m, err := w.Get(t.Context(), id); err != nil || m.Step != Hold || w.clock.Now().Sub(m.StepAt) > settling {
				t.Errorf("another hold after %s: %+v %v", step, m, err)
			}
		}
		m := w.until(id, Keep)
		if m.FailureKey != nil {
			t.Errorf("the move: %+v", m)
		}
		w.served(second, 1)
		if status, page := w.visit(second); status != http.StatusOK || page != "written after commit" {
			t.Errorf("it is answered %d %q", status, page)
		}
	})
}

// TestAHoldWhileABackupIsMade does not last: the service lives until that backup is made, and another copy follows. Each hold
// lasts a moment before its copy begins, for mail that is being delivered.
func TestAHoldWhileABackupIsMade(t *testing.T) {
	engines(t, func(w *world) {
		w.write(first, "before the move")
		id := w.move("second").ID
		w.until(id, Hold)
		w.busy = true
		w.until(id, Save)
		for range 5 {
			_, err := w.Step(t.Context(), id)
			w.must(err)
		}
		if s, _ := w.service(); s.Moving {
			t.Error("its owner may not change it meanwhile")
		}
		w.write(first, "while a backup was made")
		w.busy = false
		begun := w.until(id, Hold)
		if ready := w.until(id, Ready); ready.StepAt.Sub(begun.StepAt) < settling {
			t.Errorf("the last copy began %s after the hold", ready.StepAt.Sub(begun.StepAt))
		}
		w.until(id, Keep)
		if status, page := w.visit(second); status != http.StatusOK || page != "while a backup was made" {
			t.Errorf("it is answered %d %q", status, page)
		}
	})
}

// TestAMachineDiesInAMove: the move waits for it. The one that it leaves may be recovered from instead.
func TestAMachineDiesInAMove(t *testing.T) {
	engines(t, func(w *world) {
		w.write(first, "backed up")
		w.backUp(1)
		id := w.move("second").ID
		for _, step := range []Step{Save, Adopt, Check, Hold, Ready, Commit} {
			m := w.until(id, step)
			for _, name := range []string{first, second} {
				w.dead[name] = true
				_, err := w.Step(t.Context(), id)
				w.must(err)
				delete(w.dead, name)
			}
			if now, err := w.Get(t.Context(), id); err != nil || now.FailureKey != nil && *now.FailureKey != fault.PanelUnreachable.Key {
				t.Errorf("at %s: %+v %v, before it %+v", step, now, err, m)
			}
		}
		if now, err := w.Get(t.Context(), id); err == nil && now.committed() {
			t.Fatalf("it has moved: %+v", now)
		}
		w.dead[first] = true
		r := w.recover(Recovery{})
		if r.ID == id || r.Kind != Recover {
			t.Fatalf("begun: %+v", r)
		}
		if m, err := w.Get(t.Context(), id); err != nil || m.Step != Undo {
			t.Errorf("the move: %+v %v", m, err)
		}
		for range 2 { // nothing of it is left on the other machine, though the first is never told
			_, err := w.Step(t.Context(), id)
			w.must(err)
		}
		w.until(r.ID, Leave)
		w.served(second, 1)
		if got := w.page(second); got != "backed up" {
			t.Errorf("the page is %q", got)
		}
	})
}

// TestTheMachineToWhichAServiceMovesDies: the service is given back where it was, and what was made there is deleted when the machine
// answers again, or forgotten when it was removed.
func TestTheMachineToWhichAServiceMovesDies(t *testing.T) {
	engines(t, func(w *world) {
		w.write(first, "before the move")
		for _, end := range []string{"answers", "removed"} {
			id := w.move("second").ID
			w.until(id, Ready)
			_, err := w.Step(t.Context(), id) // the account is being filled
			w.must(err)
			w.dead[second] = true
			w.clock.Advance(longestHold + time.Second)
			for range 3 {
				_, err := w.Step(t.Context(), id)
				w.must(err)
			}
			if m, err := w.Get(t.Context(), id); err != nil || m.Step != Undo || m.To != second || *m.FailureKey != errDisturbed.Key {
				t.Fatalf("the move: %+v %v", m, err)
			}
			w.served(first, 0)
			w.must(w.writable(first))
			if _, err := w.Move(t.Context(), 7, Target{Node: "second"}, true); !errors.Is(err, fault.Validation) {
				t.Errorf("to the dead machine: %v", err)
			}
			if end == "removed" {
				w.gone[second] = true
				w.until(id, Closed)
				break
			}
			delete(w.dead, second)
			w.until(id, Closed)
			if _, err := w.at(second).Account(t.Context(), ref); !errors.Is(err, panel.ErrNotFound) {
				t.Errorf("the other machine has it: %v", err)
			}
			w.served(first, 0)
		}
	})
}

func TestWhatCannotBeMoved(t *testing.T) {
	engines(t, func(w *world) {
		refused := func(what, to string, want *fault.Def) {
			t.Helper()
			if _, err := w.Move(t.Context(), 7, Target{Node: to}, true); !errors.Is(err, want) {
				t.Errorf("%s: %v, want %s", what, err, want.Key)
			}
		}
		if _, err := w.Move(t.Context(), 8, Target{}, true); !errors.Is(err, fault.NotFound) {
			t.Errorf("an unknown service: %v", err)
		}
		refused("to where it is", "first", fault.Validation)
		refused("to an unknown node", "third", fault.Validation)
		w.dead[second] = true
		refused("to a silent node", "second", fault.Validation)
		delete(w.dead, second)
		w.full = true
		refused("to a full node", "second", fault.OutOfStock)
		w.full = false
		w.dead[first] = true
		refused("from a silent node", "", ErrNodeSilent)
		if _, err := w.Evacuate(t.Context(), "first", Target{}, true); !errors.Is(err, ErrNodeSilent) {
			t.Errorf("a silent node is evacuated: %v", err)
		}
		delete(w.dead, first)
		w.exec(`UPDATE test_services SET status = 'terminated' WHERE id = 7`)
		refused("one that has ended", "", fault.ServiceNotActive)
		w.exec(`UPDATE test_services SET status = 'active', panel = 'node' WHERE id = 7`)
		refused("one on no node", "", ErrNoNode)
		w.exec(`UPDATE test_services SET panel = 'node:1' WHERE id = 7`)

		all, err := w.Evacuate(t.Context(), "first", Target{Node: "second"}, true)
		w.must(err)
		again, err := w.Evacuate(t.Context(), "first", Target{Node: "second"}, true)
		w.must(err)
		if len(all) != 1 || all[0].Step != Plan || len(again) != 1 || again[0].ID != all[0].ID {
			t.Errorf("begun %+v, then %+v", all, again)
		}
		refused("one that moves", "second", ErrRunning)
		w.until(all[0].ID, Keep)
		w.served(second, 1)
	})
}

// TestTwoNodesWithoutACommonStore: the service stays where it was.
func TestTwoNodesWithoutACommonStore(t *testing.T) {
	enginesApart(t, func(w *world) {
		m := w.until(w.move("second").ID, Closed)
		if !m.Failed() || *m.FailureKey != errNoStore.Key {
			t.Errorf("the move: %+v", m)
		}
		w.served(first, 0)
		w.must(w.writable(first))
	})
}

// TestAnEvacuationStopsWhereSomethingIsWrong: what has not begun stays, until the operator asks again.
func TestAnEvacuationStopsWhereSomethingIsWrong(t *testing.T) {
	enginesApart(t, func(w *world) {
		for id := 8; id <= 12; id++ {
			w.exec(`INSERT INTO test_services VALUES ($1, 1, 'node:1', 'active', 0, FALSE, '192.0.2.1', 'node:1')`, id)
		}
		for range 2 {
			all, err := w.Evacuate(t.Context(), "first", Target{Node: "second"}, true)
			w.must(err)
			if len(all) != 6 {
				t.Fatalf("begun: %+v", all)
			}
			_, err = w.Cancel(t.Context(), all[0].ID) // is no failure
			w.must(err)
			var why []string
			for _, m := range all {
				m = w.until(m.ID, Closed)
				if !m.Failed() || m.FailureKey == nil {
					t.Fatalf("the move of service %d: %+v", m.ServiceID, m)
				}
				why = append(why, *m.FailureKey)
			}
			none := fault.NotFound.Key // the machine has no account of them
			if want := []string{errCancelled.Key, none, none, none, errStopped.Key, errStopped.Key}; !slices.Equal(why, want) {
				t.Errorf("the moves failed by %v, want %v", why, want)
			}
			w.clock.Advance(time.Hour)
		}
	})
}

// TestOperatorsSayWhereToByLabels: a target that means no living node, or none that has what the service needs, is refused and
// nothing is begun; the move remembers its target until there is room.
func TestOperatorsSayWhereToByLabels(t *testing.T) {
	engines(t, func(w *world) {
		w.write(first, "before the move")
		nvme := labels.Set{"disk": "nvme"}
		refused := func(to Target, want *fault.Def, field string) {
			t.Helper()
			_, moving := w.Move(t.Context(), 7, to, true)
			_, evacuating := w.Evacuate(t.Context(), "first", to, true)
			_, recovering := w.Recover(t.Context(), Recovery{Node: "first", To: to, Force: true})
			for what, err := range map[string]error{"move": moving, "evacuate": evacuating, "recover": recovering} {
				var refusal *fault.Error
				if !errors.As(err, &refusal) || refusal.Def != want || field != "" && refusal.Invalid[field] == nil {
					t.Errorf("%s to %+v: %v", what, to, err)
				}
			}
			if all, total, err := w.List(t.Context(), Filter{}, page.Params{}); total != 0 {
				t.Errorf("to %+v began %+v, %v", to, all, err)
			}
		}
		refused(Target{Location: "at-first"}, fault.Validation, "location")
		refused(Target{Location: "nowhere"}, fault.Validation, "location")
		refused(Target{Labels: labels.Set{"disk": "sata"}}, fault.Validation, "labels")
		refused(Target{Labels: labels.Set{"Disk": "nv me"}}, fault.Validation, "labels")
		refused(Target{Location: "at-first", Labels: nvme}, fault.Validation, "labels")
		refused(Target{Node: "second", Labels: labels.Set{"gpu": ""}}, fault.Validation, "labels")
		w.unsuited = true
		refused(Target{Labels: nvme}, ErrUnsuited, "")
		w.unsuited = false

		w.full = true
		all, err := w.Evacuate(t.Context(), "first", Target{Location: "at-second", Labels: nvme}, true)
		w.must(err)
		if len(all) != 1 || all[0].Wanted.Location != "at-second" || all[0].Wanted.Labels["disk"] != "nvme" {
			t.Fatalf("begun: %+v", all)
		}
		w.full = false
		w.until(all[0].ID, Keep)
		w.served(second, 1)
	})
}

// TestVisitorsArePassedOnToMachinesOnly: a machine names its addresses itself, and may be in the hands of somebody else.
func TestVisitorsArePassedOnToMachinesOnly(t *testing.T) {
	engines(t, func(w *world) {
		for address, want := range map[string]string{
			"192.0.2.1": "192.0.2.1:80", "10.0.0.7": "10.0.0.7:80", "127.0.0.1": "", "169.254.169.254": "", "0.0.0.0": "", "::ffff:127.0.0.1": "",
		} {
			w.exec(`UPDATE test_services SET ipv4 = $1`, address)
			to, err := w.address(w.T.Context(), Move{ServiceID: 7, To: first})
			w.must(err)
			if to.HTTP != want {
				t.Errorf("%s: visitors are passed on to %q, want %q", address, to.HTTP, want)
			}
		}
	})
}
