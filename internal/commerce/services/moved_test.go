package services

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"stead.dev/stead/internal/commerce/services/servicestest"
	"stead.dev/stead/internal/hosting/site"
	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/testkit"
	"stead.dev/stead/internal/port/panel"
)

// TestAServiceMovesFromWhereItIs, once: what is asked for twice, or late, is refused and changes nothing.
func TestAServiceMovesFromWhereItIs(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		w := newWorld(t, d, clk)
		id := w.active(servicestest.Ask("shop.test"))
		from := w.record(id).panel
		there := panel.Account{Ref: w.record(id).panelRef, Username: usernameOf(id), IPv4: "192.0.2.99", Location: "far", Nameservers: []string{"ns1.test"}}
		move := func(from string) (epoch int64, err error) {
			err = d.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
				epoch, err = w.Relocate(ctx, tx, id, from, "node:9", there, 0)
				return err
			})
			return epoch, err
		}
		before := len(w.Told(id))
		if _, err := move("node:8"); !errors.Is(err, fault.Conflict) {
			t.Errorf("from where it is not: %v", err)
		}
		epoch, err := move(from)
		if err != nil || epoch != 1 {
			t.Fatalf("epoch %d, %v", epoch, err)
		}
		if _, err := move(from); !errors.Is(err, fault.Conflict) {
			t.Errorf("a second time: %v", err)
		}
		w.Same("events", []string{"service.migrated"}, w.Told(id)[before:])
		data := w.Texts(`SELECT data FROM outbox_events WHERE type = 'service.migrated' AND subject_id = $1`, id)
		if len(data) != 1 || !strings.Contains(data[0], `"192.0.2.99"`) {
			t.Errorf("the owner is told %s", data)
		}
		if err := d.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error { return w.TellMovePlanned(ctx, tx, id, time.Hour) }); err != nil {
			t.Error(err)
		}
		data = w.Texts(`SELECT data FROM outbox_events WHERE type = 'service.migration_planned' AND subject_id = $1`, id)
		if len(data) != 1 || !strings.Contains(data[0], `"minutes":60`) {
			t.Errorf("the owner is told %s", data)
		}
		former := func(since time.Time) []string {
			all, err := w.Former(t.Context(), d, id, since)
			if err != nil {
				t.Error(err)
			}
			return all
		}
		if now := clk.Now(); len(former(now)) == 0 || slices.Contains(former(now), "192.0.2.99") || former(now.Add(time.Second)) != nil {
			t.Errorf("it was at %q, and later at %q", former(now), former(now.Add(time.Second)))
		}
		r := w.record(id)
		w.Same("where it is", "node:9", r.panel)
		w.Same("its address", "192.0.2.99", r.place.ipv4)
		w.Same("its state", Active, r.Status)
		on, err := w.On(t.Context(), d, "node:9")
		if err != nil || len(on) != 1 || on[0].ServiceID != id || on[0].Epoch != 1 {
			t.Errorf("on the other panel: %+v %v", on, err)
		}
		if on, err := w.On(t.Context(), d, from); err != nil || len(on) != 0 {
			t.Errorf("on the former panel: %+v %v", on, err)
		}
	})
}

// TestNobodyChangesAServiceThatMoves: its owner is told to wait, and machines follow its rows even while it is suspended.
func TestNobodyChangesAServiceThatMoves(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		w := newWorld(t, d, clk)
		id := w.active(servicestest.Ask("shop.test"))
		for _, moving := range []bool{true, false} {
			w.In(func(ctx context.Context, tx *db.Tx) error { return w.SetMoving(ctx, tx, id, moving) })
			of, err := w.Wanted(t.Context(), d, id)
			if err != nil {
				t.Fatal(err)
			}
			if errors.Is(of.Changeable(), fault.JobRunning) != moving {
				t.Errorf("moving %v: %v", moving, of.Changeable())
			}
			suspended := site.Site{Status: "suspended", Moving: of.Moving}
			if suspended.Follows() != moving {
				t.Errorf("moving %v: a machine follows what is suspended: %v", moving, suspended.Follows())
			}
		}
	})
}
