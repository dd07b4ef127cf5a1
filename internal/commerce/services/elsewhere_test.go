package services

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"testing"
	"time"

	"stead.dev/stead/internal/commerce/services/provisioning"
	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/testkit"
	"stead.dev/stead/internal/port/panel"
)

// inOrder is the Placer of an installation whose panels take services in that order.
type inOrder []string

func (inOrder) Check(context.Context, db.Querier, provisioning.Placement) error { return nil }

func (p inOrder) Place(context.Context, *db.Tx, provisioning.Placement) (string, error) {
	return p[0], nil
}

func (p inOrder) PlaceElsewhere(_ context.Context, _ *db.Tx, _ provisioning.Placement, failed []string) (string, error) {
	for _, name := range p {
		if !slices.Contains(failed, name) {
			return name, nil
		}
	}
	return "", fault.OutOfStock.New()
}

func (inOrder) Resize(context.Context, *db.Tx, provisioning.Placement) error { return nil }

// twoPanels are the world's panel, which is the second to take a service, and one named first.
func (w *world) twoPanels() (first *machine) {
	first = &machine{made: map[string]panel.Account{}, now: w.clk.Now}
	w.prov.Panels = panels{"first": first, "node": w.panel}
	w.prov.Placer = inOrder{"first", "node"}
	return first
}

func (w *world) clear(id int64) time.Duration {
	w.t.Helper()
	wait, err := w.prov.Clear(w.t.Context(), id, "first")
	if err != nil {
		w.t.Fatal(err)
	}
	return wait
}

// TestAServiceIsMadeElsewhereWhenItsPanelIsDead: the order does not wait for the panel to come back, and what that panel has
// made of it all the same is removed.
func TestAServiceIsMadeElsewhereWhenItsPanelIsDead(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		w := newWorld(t, d, clk)
		first := w.twoPanels()
		id := w.provisioning(ask("shop.test"))
		first.fails = panel.ErrUnreachable
		if err := w.attempt(id, 1); !errors.Is(err, panel.ErrUnreachable) {
			t.Fatalf("an agent that starts anew is waited for: %v", err)
		}
		w.same("where it is", "first", w.record(id).panel)
		if err := w.attempt(id, 2); err == nil {
			t.Fatal("the job does not come again")
		}
		w.same("where it is then", "node", w.record(id).panel)
		w.same("its state", Provisioning, w.record(id).status)
		w.same("jobs that clear", 1, w.jobs("services.clear"))
		if err := w.attempt(id, 2); err != nil {
			t.Fatal(err)
		}
		w.same("its state on the other panel", Active, w.record(id).status)
		w.same("the order", []string{"completed"}, w.outcomes())

		// The first panel comes back, and has made the account late.
		first.fails = nil
		if wait := w.clear(id); wait <= 0 {
			t.Error("the panel may be at it still")
		}
		if _, err := first.CreateAccount(t.Context(), panel.AccountSpec{Ref: strconv.FormatInt(id, 10)}); err != nil {
			t.Fatal(err)
		}
		clk.Advance(3 * time.Minute)
		for range 2 {
			w.same("how long to wait", time.Duration(0), w.clear(id))
		}
		w.same("accounts on the panel that was dead", 0, first.accounts())
		w.same("accounts on the other", 1, w.panel.accounts())
		if left, err := w.Left(t.Context(), d, 0, 10); err != nil || len(left) != 0 {
			t.Errorf("left: %v %v", left, err)
		}
	})
}

// TestAnAccountThatIsMadeTooLateIsNotTaken: one run of the job waits for the first panel while another one places the service
// elsewhere.
func TestAnAccountThatIsMadeTooLateIsNotTaken(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		w := newWorld(t, d, clk)
		first := w.twoPanels()
		id := w.provisioning(ask("shop.test"))
		first.after = func() {
			first.after = nil
			if moved, err := w.PlaceElsewhere(t.Context(), id, "first"); err != nil || !moved {
				t.Errorf("moved: %v %v", moved, err)
			}
		}
		if err := w.attempt(id, 1); err != nil {
			t.Fatal(err)
		}
		w.same("its state", Provisioning, w.record(id).status)
		if err := w.attempt(id, 1); err != nil {
			t.Fatal(err)
		}
		r := w.record(id)
		w.same("its state in the end", Active, r.status)
		w.same("where it is", "node", r.panel)
		w.same("the order", []string{"completed"}, w.outcomes())
		if err := w.prov.Reconcile(t.Context()); err != nil {
			t.Fatal(err)
		}
		w.same("jobs that clear", 1, w.jobs("services.clear"))
		clk.Advance(3 * time.Minute)
		w.clear(id)
		w.same("accounts on the first panel", 0, first.accounts())
		// Where the service is, nothing is ever cleared.
		if wait, err := w.prov.Clear(t.Context(), id, "node"); err != nil || wait != 0 {
			t.Errorf("%v %v", wait, err)
		}
		w.same("accounts on the other", 1, w.panel.accounts())
	})
}

func TestAServiceStaysWhereItIsWhenNoOtherPanelTakesIt(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		w := newWorld(t, d, clk)
		first := w.twoPanels()
		id := w.provisioning(ask("shop.test"))
		first.fails, w.panel.fails = panel.ErrUnreachable, panel.ErrUnreachable
		for n := 2; n <= 4; n++ {
			if err := w.attempt(id, n); err == nil {
				t.Fatal("nothing is tried again")
			}
		}
		w.same("where it is", "node", w.record(id).panel)
		first.fails, w.panel.fails = nil, nil
		if err := w.attempt(id, 5); err != nil {
			t.Fatal(err)
		}
		w.same("its state", Active, w.record(id).status)

		// One that comes back goes to where what was kept of it is.
		back := w.active(ask("back.test"))
		w.exec(`UPDATE services SET status = 'provisioning' WHERE id = ` + strconv.FormatInt(back, 10))
		if moved, err := w.PlaceElsewhere(t.Context(), back, w.record(back).panel); err != nil || moved {
			t.Errorf("moved: %v %v", moved, err)
		}
	})
}

// overtaken is a Placer beside which another run has placed the service.
type overtaken struct{ inOrder }

func (p overtaken) PlaceElsewhere(ctx context.Context, tx *db.Tx, s provisioning.Placement, failed []string) (string, error) {
	if _, err := tx.Exec(ctx, `UPDATE services SET panel = 'third' WHERE id = $1`, s.ServiceID); err != nil {
		return "", err
	}
	return p.inOrder.PlaceElsewhere(ctx, tx, s, failed)
}

// TestRoomIsNotKeptForAServiceThatMovedMeanwhile: what the placer took in the transaction goes back with it.
func TestRoomIsNotKeptForAServiceThatMovedMeanwhile(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		w := newWorld(t, d, clk)
		w.twoPanels()
		w.prov.Placer = overtaken{inOrder{"first", "node"}}
		id := w.provisioning(ask("shop.test"))
		if moved, err := w.PlaceElsewhere(t.Context(), id, "first"); !errors.Is(err, errMoved) || moved {
			t.Errorf("moved: %v %v", moved, err)
		}
		w.same("where it is", "first", w.record(id).panel)
		w.same("jobs that clear", 0, w.jobs("services.clear"))
	})
}
