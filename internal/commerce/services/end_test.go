package services

import (
	"context"
	"errors"
	"testing"

	"stead.dev/stead/internal/commerce/sale"
	"stead.dev/stead/internal/commerce/services/servicestest"
	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/testkit"
	"stead.dev/stead/internal/port/panel"
)

// keeping is the keeper of the world as it then is.
type keeping struct{ *world }

func (k keeping) Keep(ctx context.Context, accountID, serviceID int64) (bool, error) {
	return k.Keeper.(*keeper).Keep(ctx, accountID, serviceID)
}

// keeper keeps in memory.
type keeper struct {
	kept, gone bool // all is kept; what was kept is no more
	broken     error
	asked      int
	returned   []int64
}

func (k *keeper) Keep(context.Context, int64, int64) (bool, error) {
	k.asked++
	return k.kept, k.broken
}

func (k *keeper) Kept(_ context.Context, _ db.Querier, ids []int64) ([]int64, error) {
	if !k.kept || k.gone {
		return nil, nil
	}
	return ids, nil
}

func (k *keeper) Return(_ context.Context, _ *db.Tx, id int64) error {
	k.returned = append(k.returned, id)
	return k.broken
}

// terminating is a service whose end was ordered.
func (w *world) terminating(domain string) (id int64, k *keeper) {
	w.T.Helper()
	k = &keeper{}
	w.Keeper = k
	id = w.active(servicestest.Ask(domain))
	w.In(func(ctx context.Context, tx *db.Tx) error { return w.Suspend(ctx, tx, id, Abuse) })
	w.In(func(ctx context.Context, tx *db.Tx) error { return w.Terminate(ctx, tx, id) })
	return id, k
}

func (w *world) order(f func(ctx context.Context, tx *db.Tx, id int64) error, id int64) error {
	return w.DB.InTx(w.T.Context(), func(ctx context.Context, tx *db.Tx) error { return f(ctx, tx, id) })
}

func TestAnAccountGoesWhenAllOfItIsKept(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		w := newWorld(t, d, clk)
		id, k := w.terminating("shop.test")
		w.Same("jobs", 1, w.Jobs("services.end"))
		w.Same("accounts", 1, w.Panel.Accounts())

		for range 2 {
			wait, err := w.prov.End(t.Context(), id, false)
			if err != nil || wait == 0 {
				t.Errorf("not kept yet: %v, %v", wait, err)
			}
		}
		k.broken = errors.New("no backup")
		if _, err := w.prov.End(t.Context(), id, false); !errors.Is(err, k.broken) {
			t.Errorf("nothing is kept: %v", err)
		}
		w.Same("the account is there", 1, w.Panel.Accounts())
		w.Same("status", Terminating, w.record(id).Status)

		k.broken, k.kept = nil, true
		for range 2 {
			if wait, err := w.prov.End(t.Context(), id, false); err != nil || wait != 0 {
				t.Errorf("kept: %v, %v", wait, err)
			}
		}
		w.Same("the account is gone", 0, w.Panel.Accounts())
		w.Same("status", Terminated, w.record(id).Status)
		told := w.Told(id)
		w.Same("told", []string{"service.suspended", "service.updated", "service.terminated"}, told[len(told)-3:])
		if err := w.order(w.Terminate, id); !errors.Is(err, ErrTerminated) {
			t.Errorf("terminated again: %v", err)
		}
	})
}

// TestAnEndGoesOnAfterACrash: the account is gone, and the process died before it wrote so.
func TestAnEndGoesOnAfterACrash(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		w := newWorld(t, d, clk)
		id, k := w.terminating("shop.test")
		if err := w.Panel.DeleteAccount(t.Context(), w.record(id).panelRef); err != nil {
			t.Fatal(err)
		}
		k.broken = errors.New("there is no account to keep")
		if wait, err := w.prov.End(t.Context(), id, false); err != nil || wait != 0 {
			t.Errorf("%v, %v", wait, err)
		}
		w.Same("status", Terminated, w.record(id).Status)

		other, _ := w.terminating("other.test")
		w.Exec(`DELETE FROM river_job`)
		if err := w.prov.Reconcile(t.Context()); err != nil {
			t.Fatal(err)
		}
		w.Same("a job again", 1, w.Jobs("services.end"))
		w.Same("still", Terminating, w.record(other).Status)
	})
}

func TestATerminatedServiceComesBack(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		w := newWorld(t, d, clk)
		id, k := w.terminating("shop.test")
		until := *w.record(id).ExpiresAt
		if err := w.order(w.Restore, id); !errors.Is(err, fault.ServiceNotActive) {
			t.Errorf("restored while it ends: %v", err)
		}
		k.kept = true
		if _, err := w.prov.End(t.Context(), id, false); err != nil {
			t.Fatal(err)
		}
		k.gone = true
		if err := w.order(w.Restore, id); !errors.Is(err, ErrRestoreWindow) {
			t.Errorf("restored too late: %v", err)
		}
		k.gone = false
		outcomes := w.Outcomes()

		// The panel will not have it: it is terminated as before, and no money moves.
		w.In(func(ctx context.Context, tx *db.Tx) error { return w.Restore(ctx, tx, id) })
		w.Same("status", Provisioning, w.record(id).Status)
		w.Panel.Fails = panel.ErrInvalid
		if err := w.prov.Provision(t.Context(), id, 1); err != nil {
			t.Fatal(err)
		}
		w.Same("refused", Terminated, w.record(id).Status)
		w.cleanUpTwice(id)
		w.Panel.Fails = nil

		w.In(func(ctx context.Context, tx *db.Tx) error { return w.Restore(ctx, tx, id) })
		for range 2 {
			if err := w.prov.Provision(t.Context(), id, 1); err != nil {
				t.Fatal(err)
			}
		}
		r := w.record(id)
		w.Same("status", Active, r.Status)
		w.Same("paid until", until, *r.ExpiresAt)
		w.Same("accounts", 1, w.Panel.Accounts())
		w.Same("put back", []int64{id}, k.returned)
		w.Same("orders", outcomes, w.Outcomes())
		if r.suspendReason != nil || r.suspendedAt != nil {
			t.Error("a service that is back has a reason of suspension")
		}
		told := w.Told(id)
		w.Same("told", "service.restored", told[len(told)-1])
	})
}

func TestADomainThatIsTakenMeanwhileKeepsAServiceAway(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		w := newWorld(t, d, clk)
		id, k := w.terminating("shop.test")
		k.kept = true
		if _, err := w.prov.End(t.Context(), id, false); err != nil {
			t.Fatal(err)
		}
		w.active(servicestest.Ask("shop.test"))
		if err := w.order(w.Restore, id); !errors.Is(err, fault.DomainUnavailable) {
			t.Errorf("restored: %v", err)
		}
		w.Same("status", Terminated, w.record(id).Status)
		w.Names.StandIn = "displaced-s1.invalid" // the name is somebody else's
		w.In(func(ctx context.Context, tx *db.Tx) error { return w.Restore(ctx, tx, id) })
		w.Same("status", Provisioning, w.record(id).Status)
		w.Same("domain", w.Names.StandIn, *w.record(id).Domain)
		if err := w.order(w.Terminate, w.active(servicestest.Ask("live.test"))); !errors.Is(err, ErrNotSuspended) {
			t.Errorf("an active service terminated: %v", err)
		}
	})
}

func TestAFinalBackupIsKeptAsThePlanSays(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		w := newWorld(t, d, clk)
		kept, err := w.KeptFor(t.Context(), w.DB, w.active(servicestest.Ask("shop.test")))
		w.Same("error", nil, err)
		w.Same("kept", days(sale.DefaultTerms.Kept), kept)
		if _, err := w.KeptFor(t.Context(), w.DB, 999); !errors.Is(err, fault.NotFound) {
			t.Errorf("of no service: %v", err)
		}
	})
}

// TestAServiceEndsWithoutItsFinalBackupOnAnOperatorsWordOnly: the backup cannot be made, whatever is tried.
func TestAServiceEndsWithoutItsFinalBackupOnAnOperatorsWordOnly(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		if err := w.order(w.EndUnkept, w.active(servicestest.Ask("live.test"))); !errors.Is(err, fault.ServiceNotActive) {
			t.Errorf("an active service: %v", err)
		}
		id, k := w.terminating("shop.test")
		k.broken = errors.New("the repository is damaged")
		if _, err := w.prov.End(t.Context(), id, false); !errors.Is(err, k.broken) {
			t.Errorf("without a word: %v", err)
		}
		w.Same("the account is there", 2, w.Panel.Accounts())
		if err := w.order(w.EndUnkept, id); err != nil {
			t.Fatal(err)
		}
		w.Same("jobs", 2, w.Jobs("services.end"))
		for range 2 {
			if _, err := w.prov.End(t.Context(), id, true); err != nil {
				t.Fatal(err)
			}
		}
		w.Same("status", Terminated, w.record(id).Status)
		w.Same("accounts", 1, w.Panel.Accounts())
		if err := w.order(w.EndUnkept, id); !errors.Is(err, ErrTerminated) {
			t.Errorf("once more: %v", err)
		}
	})
}

// hearing are add-ons that hear of the end and the return of services.
type hearing struct {
	NoAddons
	ended, returned int
}

func (h *hearing) Ended(context.Context, *db.Tx, int64) error    { h.ended++; return nil }
func (h *hearing) Returned(context.Context, *db.Tx, int64) error { h.returned++; return nil }

func TestAddonsHearOfTheEndAndTheReturnOfTheirService(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		e := &hearing{}
		w.Addons = e
		id, k := w.terminating("shop.test")
		k.kept = true
		if _, err := w.prov.End(t.Context(), id, false); err != nil {
			t.Fatal(err)
		}
		if e.ended != 1 || w.record(id).Status != Terminated {
			t.Errorf("%d ended", e.ended)
		}
		if err := w.order(w.Restore, id); err != nil {
			t.Fatal(err)
		}
		if err := w.attempt(id, 1); err != nil {
			t.Fatal(err)
		}
		if e.returned != 1 || w.record(id).Status != Active {
			t.Errorf("%d returned", e.returned)
		}
	})
}
