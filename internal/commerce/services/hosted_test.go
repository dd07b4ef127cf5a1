package services

import (
	"context"
	"errors"
	"fmt"
	"math"
	"testing"

	"stead.dev/stead/internal/commerce/services/servicestest"
	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/page"
	"stead.dev/stead/internal/platform/testkit"
)

func TestAFurtherNameOfAnotherServiceIsTaken(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		w := newWorld(t, d, clk)
		first := w.reserve(servicestest.Ask("shop.test"))
		w.Names.Taken = map[string]bool{"shop.test": true} // somebody added it to a service meanwhile
		for what, f := range map[string]func(ctx context.Context, tx *db.Tx) error{
			"paid": func(ctx context.Context, tx *db.Tx) error { return w.Provision(ctx, tx, first) },
			"ordered": func(ctx context.Context, tx *db.Tx) error {
				_, err := w.Reserve(ctx, tx, servicestest.Ask("shop.test"))
				return err
			},
		} {
			if err := w.DB.InTx(t.Context(), f); !errors.Is(err, fault.DomainUnavailable) {
				t.Errorf("%s: %v", what, err)
			}
		}
		w.Same("status", Pending, w.record(first).Status)
	})
}

func TestAServiceIsKnownByItsNewDomain(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		w := newWorld(t, d, clk)
		id := w.active(servicestest.Ask("shop.test"))
		w.In(func(ctx context.Context, tx *db.Tx) error {
			if _, err := w.LockSite(ctx, tx, 1, id); err != nil {
				return err
			}
			return w.SetDomain(ctx, tx, id, "xn--bcher-kva.test")
		})
		w.Same("domain", "xn--bcher-kva.test", *w.record(id).Domain)
		w.Same("found by its new name", 1, len(w.Texts(`SELECT domain FROM services WHERE search LIKE '%bücher%'`)))
		told := w.Told(id)
		w.Same("told", "service.updated", told[len(told)-1])
		h, err := w.Site(t.Context(), w.DB, 1, id)
		if err != nil || h.Panel != "node" || h.Ref != servicestest.RefOf(id) || h.Status != string(Active) || h.IPv4 != "203.0.113.7" {
			t.Errorf("hosted: %+v, %v", h, err)
		}
		if _, err := w.Site(t.Context(), w.DB, 2, id); !errors.Is(err, fault.NotFound) {
			t.Errorf("another's: %v", err)
		}
	})
}

func TestOfVeryManyServicesEachIsFoundAgain(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		w := newWorld(t, d, clk)
		oldest, newest := w.active(servicestest.Ask("oldest.test")), int64(0)
		for i := range 2 * page.MaxPerPage {
			n := servicestest.Ask(fmt.Sprintf("s%d.test", i))
			if i < page.MaxPerPage {
				w.provisioning(n)
				continue
			}
			newest = w.reserve(n) // those that are over, or not paid, take nobody's place
			w.Exec(`UPDATE services SET status = $2, failure_key = 'disk_full' WHERE id = $1`, newest, []Status{Failed, Cancelled, Pending}[i%3])
		}
		first, more, err := w.Hosting(t.Context(), 1, 0)
		if err != nil || !more || len(first) != page.MaxPerPage {
			t.Fatalf("%d services, more: %v, %v", len(first), more, err)
		}
		rest, more, err := w.Hosting(t.Context(), 1, first[len(first)-1].ID)
		if err != nil || more || len(rest) != 1 || rest[0] != (Own{ID: oldest, Domain: "oldest.test", Name: "oldest.test", Plan: "Start", Status: string(Active)}) {
			t.Fatalf("%+v, more: %v, %v", rest, more, err)
		}
		if o, err := w.OneHosting(t.Context(), 1, oldest); err != nil || o != rest[0] {
			t.Errorf("%+v, %v", o, err)
		}
		for _, of := range [][2]int64{{2, oldest}, {1, newest}, {1, 0}, {1, math.MaxInt64}} {
			if o, err := w.OneHosting(t.Context(), of[0], of[1]); !errors.Is(err, fault.NotFound) {
				t.Errorf("%v: %+v, %v", of, o, err)
			}
		}
	})
}

func TestTheLimitsOfServicesOfOnePlanAreReadOnce(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		w := newWorld(t, d, clk)
		for _, name := range []string{"one.test", "two.test", "three.test"} {
			w.active(servicestest.Ask(name))
		}
		w.reserve(servicestest.Ask("unpaid.test"))
		other := w.active(servicestest.Ask("other.test"))
		w.In(func(ctx context.Context, tx *db.Tx) error {
			_, err := tx.Exec(ctx, `UPDATE services SET limits = '{"monitors": 7}' WHERE id = $1`, other)
			return err
		})
		all, err := w.OnlineLimits(t.Context(), w.DB, 1)
		if err != nil || len(all) != 2 || all[0].Services != 3 || all[1].Services != 1 || all[1].Limits.Of("monitors") != 7 {
			t.Errorf("%+v, %v", all, err)
		}
	})
}
