package services

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"testing"
	"time"

	"stead.dev/stead/internal/commerce/services/provisioning"
	"stead.dev/stead/internal/commerce/services/servicestest"
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
func (w *world) twoPanels() (first *servicestest.Machine) {
	first = &servicestest.Machine{Made: map[string]panel.Account{}, Now: w.Clk.Now}
	w.prov.Panels = servicestest.Panels{"first": first, "node": w.Panel}
	w.prov.Placer = inOrder{"first", "node"}
	return first
}

func (w *world) clear(id int64) time.Duration {
	w.T.Helper()
	wait, err := w.prov.Clear(w.T.Context(), id, "first")
	if err != nil {
		w.T.Fatal(err)
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
		id := w.provisioning(servicestest.Ask("shop.test"))
		first.Fails = panel.ErrUnreachable
		if err := w.attempt(id, 1); !errors.Is(err, panel.ErrUnreachable) {
			t.Fatalf("an agent that starts anew is waited for: %v", err)
		}
		w.Same("where it is", "first", w.record(id).panel)
		if err := w.attempt(id, 2); err == nil {
			t.Fatal("the job does not come again")
		}
		w.Same("where it is then", "node", w.record(id).panel)
		w.Same("its state", Provisioning, w.record(id).Status)
		w.Same("jobs that clear", 1, w.Jobs("services.clear"))
		if err := w.attempt(id, 2); err != nil {
			t.Fatal(err)
		}
		w.Same("its state on the other panel", Active, w.record(id).Status)
		w.Same("the order", []string{"completed"}, w.Outcomes())

		// The first panel comes back, and has made the account late.
		first.Fails = nil
		if wait := w.clear(id); wait <= 0 {
			t.Error("the panel may be at it still")
		}
		if _, err := first.CreateAccount(t.Context(), panel.AccountSpec{Ref: strconv.FormatInt(id, 10)}); err != nil {
			t.Fatal(err)
		}
		clk.Advance(3 * time.Minute)
		for range 2 {
			w.Same("how long to wait", time.Duration(0), w.clear(id))
		}
		w.Same("accounts on the panel that was dead", 0, first.Accounts())
		w.Same("accounts on the other", 1, w.Panel.Accounts())
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
		id := w.provisioning(servicestest.Ask("shop.test"))
		first.After = func() {
			first.After = nil
			if moved, err := w.PlaceElsewhere(t.Context(), id, "first"); err != nil || !moved {
				t.Errorf("moved: %v %v", moved, err)
			}
		}
		if err := w.attempt(id, 1); err != nil {
			t.Fatal(err)
		}
		w.Same("its state", Provisioning, w.record(id).Status)
		if err := w.attempt(id, 1); err != nil {
			t.Fatal(err)
		}
		r := w.record(id)
		w.Same("its state in the end", Active, r.Status)
		w.Same("where it is", "node", r.panel)
		w.Same("the order", []string{"completed"}, w.Outcomes())
		if err := w.prov.Reconcile(t.Context()); err != nil {
			t.Fatal(err)
		}
		w.Same("jobs that clear", 1, w.Jobs("services.clear"))
		clk.Advance(3 * time.Minute)
		w.clear(id)
		w.Same("accounts on the first panel", 0, first.Accounts())
		// Where the service is, nothing is ever cleared.
		if wait, err := w.prov.Clear(t.Context(), id, "node"); err != nil || wait != 0 {
			t.Errorf("%v %v", wait, err)
		}
		w.Same("accounts on the other", 1, w.Panel.Accounts())
	})
}

func TestAServiceStaysWhereItIsWhenNoOtherPanelTakesIt(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		w := newWorld(t, d, clk)
		first := w.twoPanels()
		id := w.provisioning(servicestest.Ask("shop.test"))
		first.Fails, w.Panel.Fails = panel.ErrUnreachable, panel.ErrUnreachable
		for n := 2; n <= 4; n++ {
			if err := w.attempt(id, n); err == nil {
				t.Fatal("nothing is tried again")
			}
		}
		w.Same("where it is", "node", w.record(id).panel)
		first.Fails, w.Panel.Fails = nil, nil
		if err := w.attempt(id, 5); err != nil {
			t.Fatal(err)
		}
		w.Same("its state", Active, w.record(id).Status)

		// One that comes back goes to where what was kept of it is.
		back := w.active(servicestest.Ask("back.test"))
		w.Exec(`UPDATE services SET status = 'provisioning' WHERE id = ` + strconv.FormatInt(back, 10))
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
		id := w.provisioning(servicestest.Ask("shop.test"))
		if moved, err := w.PlaceElsewhere(t.Context(), id, "first"); !errors.Is(err, errMoved) || moved {
			t.Errorf("moved: %v %v", moved, err)
		}
		w.Same("where it is", "first", w.record(id).panel)
		w.Same("jobs that clear", 0, w.Jobs("services.clear"))
	})
}
