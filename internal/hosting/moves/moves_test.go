package moves

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/testkit"
	"stead.dev/stead/internal/port/panel"
)

// TestADeadMachinesServiceIsMadeElsewhere is the whole life of a move: the service is on the other machine as its backup has
// it, the dead machine serves it no more when it is back, and what is left there goes in the end.
func TestADeadMachinesServiceIsMadeElsewhere(t *testing.T) {
	engines(t, func(w *world) {
		w.write(first, "backed up")
		w.backUp(1)
		w.write(first, "newer")
		begun := w.recover(Recovery{})
		if begun.BackupID != nil || begun.BackupAt == nil || !begun.BackupAt.Equal(backupTime(1)) {
			t.Errorf("when it begins, it says of the backup: %v %v", begun.BackupID, begun.BackupAt)
		}
		m := w.until(begun.ID, Leave)
		if m.FailureKey != nil || m.OpenedAt == nil || *m.BackupID != 1 || !m.BackupAt.Equal(backupTime(1)) {
			t.Errorf("the move: %+v", m)
		}
		w.served(second, 1)
		if got := w.page(second); got != "backed up" {
			t.Errorf("the page is %q", got)
		}
		if s, _ := w.service(); s.IPv4 != "192.0.2.2" {
			t.Errorf("it is at %s", s.IPv4)
		}
		if !w.behind["b1"] || w.ended != 1 {
			t.Errorf("backups on the other machine: %v", w.behind)
		}
		if wait, err := w.Step(t.Context(), m.ID); err != nil || wait < soon {
			t.Errorf("while the machine is dead: %v %v", wait, err)
		}
		left, err := w.Left(t.Context(), w.db, first)
		w.must(err)
		if len(left) != 1 || left[0].Ref != ref || left[0].Epoch != 1 {
			t.Errorf("the machine is told %+v", left)
		}

		delete(w.dead, first)
		w.until(m.ID, Keep)
		if _, err := w.at(first).Account(t.Context(), ref); !errors.Is(err, panel.ErrNotFound) {
			t.Errorf("the former machine has it: %v", err)
		}
		w.clock.Advance(keptAfter + time.Hour)
		if wait, err := w.Step(t.Context(), m.ID); err != nil || wait == 0 {
			t.Errorf("without a newer backup: %v %v", wait, err)
		}
		now := w.clock.Now()
		w.newest = &now
		w.until(m.ID, Closed)
		if left, err := w.Left(t.Context(), w.db, first); err != nil || len(left) != 0 {
			t.Errorf("the machine is told %+v %v", left, err)
		}
		if err := w.at(first).DropAccount(t.Context(), ref, 1); !errors.Is(err, panel.ErrNotFound) {
			t.Errorf("something is left: %v", err)
		}
	})
}

// TestAStepThatRunsTwice: the process dies after each step, before it has written that it is done.
func TestAStepThatRunsTwice(t *testing.T) {
	engines(t, func(w *world) {
		w.write(first, "backed up")
		w.backUp(1)
		id := w.recover(Recovery{}).ID
		seen := map[Step]int{}
		testkit.Eventually(t, time.Minute, func() bool {
			m, err := w.Get(t.Context(), id)
			w.must(err)
			if m.Step == Leave {
				return true
			}
			seen[m.Step]++
			_, err = w.act(t.Context(), m)
			w.must(err)
			_, err = w.act(t.Context(), m) // also late, when the move is at another step
			w.must(err)
			_, err = w.Step(t.Context(), id)
			w.must(err)
			return false
		}, "the move comes through")
		for _, step := range []Step{Plan, Adopt, Check, Make, Commit, Fill, Restore, Open} {
			if seen[step] == 0 && step != Adopt && step != Fill { // these follow in the same run upon a step that is one commit
				t.Errorf("%s did not die", step)
			}
		}
		w.served(second, 1)
		if got := w.page(second); got != "backed up" {
			t.Errorf("the page is %q", got)
		}
		delete(w.dead, first)
		m := w.until(id, Leave)
		_, err := w.act(t.Context(), m)
		w.must(err)
		w.until(id, Keep)
	})
}

// TestADamagedBackupIsPassedOver: the older one is restored.
func TestADamagedBackupIsPassedOver(t *testing.T) {
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		shared := filepath.Join(t.TempDir(), "shared")
		w := newWorld(t, d, clk, shared, shared)
		w.write(first, "older")
		w.backUp(1)
		w.write(first, "damaged")
		w.backUp(2)
		w.spoil(shared, "b2")
		m := w.until(w.recover(Recovery{}).ID, Leave)
		if *m.BackupID != 1 || w.page(second) != "older" {
			t.Errorf("restored from %d: %q", *m.BackupID, w.page(second))
		}
	})
}

// TestWithoutABackupNothingIsTouched, unless the operator says that the service may be empty.
func TestWithoutABackupNothingIsTouched(t *testing.T) {
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		dir := t.TempDir()
		w := newWorld(t, d, clk, filepath.Join(dir, "one"), filepath.Join(dir, "other"))
		w.dead[first] = true
		out, err := w.Recover(t.Context(), Recovery{Node: "first"})
		w.must(err)
		if len(out.Moves) != 0 || len(out.WithoutBackup) != 1 || out.WithoutBackup[0] != 7 {
			t.Errorf("begun: %+v", out)
		}
		delete(w.dead, first)
		w.backUp(1) // in a store of its own

		m := w.until(w.recover(Recovery{}).ID, Closed)
		if !m.Failed() || *m.FailureKey != ErrNoBackup.Key {
			t.Errorf("the move: %+v", m)
		}
		w.served(first, 0)
		if _, err := w.at(second).Account(t.Context(), ref); !errors.Is(err, panel.ErrNotFound) {
			t.Errorf("something was made: %v", err)
		}

		m = w.until(w.recover(Recovery{Empty: true}).ID, Leave)
		if m.FailureKey != nil || m.BackupID != nil {
			t.Errorf("the move: %+v", m)
		}
		w.served(second, 1)
		if w.behind["b1"] {
			t.Errorf("backups: %v", w.behind)
		}
	})
}

func TestWhoRecoversFromWhat(t *testing.T) {
	engines(t, func(w *world) {
		w.backUp(1)
		refused := func(r Recovery, want *fault.Def) {
			t.Helper()
			if _, err := w.Recover(t.Context(), r); !errors.Is(err, want) {
				t.Errorf("%+v: %v, want %s", r, err, want.Key)
			}
		}
		refused(Recovery{Node: "third"}, fault.NotFound)
		refused(Recovery{Node: "first"}, ErrNodeAlive)
		w.draining[first] = true
		refused(Recovery{Node: "first", To: Target{Node: "first"}}, fault.Validation)
		refused(Recovery{Node: "first", To: Target{Node: "third"}}, fault.Validation)
		delete(w.draining, first)
		out, err := w.Recover(t.Context(), Recovery{Node: "first", Force: true})
		w.must(err)
		again, err := w.Recover(t.Context(), Recovery{Node: "first", Force: true})
		w.must(err)
		if len(out.Moves) != 1 || len(again.Moves) != 1 || out.Moves[0].ID != again.Moves[0].ID {
			t.Errorf("begun %+v, then %+v", out, again)
		}

		// No room: it waits, and can be called off.
		w.full = true
		id := out.Moves[0].ID
		_, err = w.Step(t.Context(), id)
		w.must(err)
		m, err := w.Get(t.Context(), id)
		w.must(err)
		if m.Step != Plan || m.FailureKey == nil || *m.FailureKey != fault.OutOfStock.Key {
			t.Errorf("without room: %+v", m)
		}
		w.full = false
		m = w.until(id, Commit)
		if m.FailureKey != nil {
			t.Errorf("with room: %+v", m)
		}
		_, err = w.Cancel(t.Context(), id)
		w.must(err)
		m = w.until(id, Closed)
		if !m.Failed() || *m.FailureKey != errCancelled.Key {
			t.Errorf("called off: %+v", m)
		}
		w.served(first, 0)
		if _, err := w.at(second).Account(t.Context(), ref); !errors.Is(err, panel.ErrNotFound) {
			t.Errorf("what was made is there: %v", err)
		}

		// It can be begun anew, and not be called off any more once the service has moved.
		m = w.until(w.recover(Recovery{}).ID, Fill)
		if _, err := w.Cancel(t.Context(), m.ID); !errors.Is(err, ErrCommitted) {
			t.Errorf("called off: %v", err)
		}
		w.until(m.ID, Leave)
		w.served(second, 1)
	})
}

// TestAServiceThatEndsMeanwhile is not made elsewhere.
func TestAServiceThatEndsMeanwhile(t *testing.T) {
	engines(t, func(w *world) {
		w.backUp(1)
		m := w.until(w.recover(Recovery{}).ID, Commit)
		w.exec(`UPDATE test_services SET status = 'terminating' WHERE id = 7`)
		m = w.until(m.ID, Closed)
		if !m.Failed() || *m.FailureKey != fault.Conflict.Key {
			t.Errorf("the move: %+v", m)
		}
		if _, err := w.at(second).Account(t.Context(), ref); !errors.Is(err, panel.ErrNotFound) {
			t.Errorf("what was made is there: %v", err)
		}
	})
}

// TestTheOtherMachineDiesToo: the move waits for it, and says so.
func TestTheOtherMachineDiesToo(t *testing.T) {
	engines(t, func(w *world) {
		w.write(first, "backed up")
		w.backUp(1)
		id := w.recover(Recovery{}).ID
		for _, step := range []Step{Adopt, Check, Make, Commit, Fill, Restore, Open} {
			m := w.until(id, step)
			w.dead[second] = true
			wait, err := w.Step(t.Context(), id)
			w.must(err)
			now, err := w.Get(t.Context(), id)
			w.must(err)
			if step == Fill { // which asks sections alone
				delete(w.dead, second)
				continue
			}
			if now.Step != m.Step || wait < soon || (step != Open && (now.FailureKey == nil || *now.FailureKey != fault.PanelUnreachable.Key)) {
				t.Errorf("at %s: %+v, again in %v", step, now, wait)
			}
			delete(w.dead, second)
		}
		w.until(id, Leave)
		w.served(second, 1)
		if got := w.page(second); got != "backed up" {
			t.Errorf("the page is %q", got)
		}
	})
}

// TestTheOtherMachineStaysDead: a move that cannot be undone there is in nobody's way, and a recovery from a machine to which a
// service has come half begins anew.
func TestTheOtherMachineStaysDead(t *testing.T) {
	engines(t, func(w *world) {
		w.write(first, "backed up")
		w.backUp(1)
		m := w.until(w.recover(Recovery{}).ID, Commit)
		w.dead[second] = true
		_, err := w.Cancel(t.Context(), m.ID)
		w.must(err)
		again := w.recover(Recovery{})
		if again.ID == m.ID {
			t.Fatal("no other move can begin")
		}
		w.must(w.db.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
			left, err := leftOf(ctx, tx, 7)
			if len(left) != 1 || left[0] != second {
				t.Errorf("something is left on %v", left)
			}
			return err
		}))
		delete(w.dead, second)
		w.until(m.ID, Closed)
		m = w.until(again.ID, Restore)

		w.dead[second] = true
		w.draining[first] = true // somebody has mended it
		delete(w.dead, first)
		out, err := w.Recover(t.Context(), Recovery{Node: "second"})
		w.must(err)
		if len(out.Moves) != 1 || out.Moves[0].ID == m.ID || out.Moves[0].From != second {
			t.Fatalf("begun: %+v", out)
		}
		m, err = w.Get(t.Context(), m.ID)
		w.must(err)
		if m.Step != Leave || m.FailureKey == nil {
			t.Errorf("the former move: %+v", m)
		}
	})
}
