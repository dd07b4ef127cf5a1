package services

import (
	"context"
	"errors"
	"testing"

	"stead.dev/stead/internal/commerce/sale"
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
	w.t.Helper()
	k = &keeper{}
	w.Keeper = k
	id = w.active(ask(domain))
	w.in(func(ctx context.Context, tx *db.Tx) error { return w.Suspend(ctx, tx, id, Abuse) })
	w.in(func(ctx context.Context, tx *db.Tx) error { return w.Terminate(ctx, tx, id) })
	return id, k
}

func (w *world) order(f func(ctx context.Context, tx *db.Tx, id int64) error, id int64) error {
	return w.db.InTx(w.t.Context(), func(ctx context.Context, tx *db.Tx) error { return f(ctx, tx, id) })
}

func TestAnAccountGoesWhenAllOfItIsKept(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		w := newWorld(t, d, clk)
		id, k := w.terminating("shop.test")
		w.same("jobs", 1, w.jobs("services.end"))
		w.same("accounts", 1, w.panel.accounts())

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
		w.same("the account is there", 1, w.panel.accounts())
		w.same("status", Terminating, w.record(id).status)

		k.broken, k.kept = nil, true
		for range 2 {
			if wait, err := w.prov.End(t.Context(), id, false); err != nil || wait != 0 {
				t.Errorf("kept: %v, %v", wait, err)
			}
		}
		w.same("the account is gone", 0, w.panel.accounts())
		w.same("status", Terminated, w.record(id).status)
		told := w.told(id)
		w.same("told", []string{"service.suspended", "service.updated", "service.terminated"}, told[len(told)-3:])
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
		if err := w.panel.DeleteAccount(t.Context(), w.record(id).panelRef); err != nil {
			t.Fatal(err)
		}
		k.broken = errors.New("there is no account to keep")
		if wait, err := w.prov.End(t.Context(), id, false); err != nil || wait != 0 {
			t.Errorf("%v, %v", wait, err)
		}
		w.same("status", Terminated, w.record(id).status)

		other, _ := w.terminating("other.test")
		w.exec(`DELETE FROM river_job`)
		if err := w.prov.Reconcile(t.Context()); err != nil {
			t.Fatal(err)
		}
		w.same("a job again", 1, w.jobs("services.end"))
		w.same("still", Terminating, w.record(other).status)
	})
}

func TestATerminatedServiceComesBack(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		w := newWorld(t, d, clk)
		id, k := w.terminating("shop.test")
		until := *w.record(id).expiresAt
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
		outcomes := w.outcomes()

		// The panel will not have it: it is terminated as before, and no money moves.
		w.in(func(ctx context.Context, tx *db.Tx) error { return w.Restore(ctx, tx, id) })
		w.same("status", Provisioning, w.record(id).status)
		w.panel.fails = panel.ErrInvalid
		if err := w.prov.Provision(t.Context(), id, 1); err != nil {
			t.Fatal(err)
		}
		w.same("refused", Terminated, w.record(id).status)
		w.cleanUpTwice(id)
		w.panel.fails = nil

		w.in(func(ctx context.Context, tx *db.Tx) error { return w.Restore(ctx, tx, id) })
		for range 2 {
			if err := w.prov.Provision(t.Context(), id, 1); err != nil {
				t.Fatal(err)
			}
		}
		r := w.record(id)
		w.same("status", Active, r.status)
		w.same("paid until", until, *r.expiresAt)
		w.same("accounts", 1, w.panel.accounts())
		w.same("put back", []int64{id}, k.returned)
		w.same("orders", outcomes, w.outcomes())
		if r.suspendReason != nil || r.suspendedAt != nil {
			t.Error("a service that is back has a reason of suspension")
		}
		told := w.told(id)
		w.same("told", "service.restored", told[len(told)-1])
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
		w.active(ask("shop.test"))
		if err := w.order(w.Restore, id); !errors.Is(err, fault.DomainUnavailable) {
			t.Errorf("restored: %v", err)
		}
		w.same("status", Terminated, w.record(id).status)
		w.names.standIn = "displaced-s1.invalid" // the name is somebody else's
		w.in(func(ctx context.Context, tx *db.Tx) error { return w.Restore(ctx, tx, id) })
		w.same("status", Provisioning, w.record(id).status)
		w.same("domain", w.names.standIn, *w.record(id).domain)
		if err := w.order(w.Terminate, w.active(ask("live.test"))); !errors.Is(err, ErrNotSuspended) {
			t.Errorf("an active service terminated: %v", err)
		}
	})
}

func TestAFinalBackupIsKeptAsThePlanSays(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		w := newWorld(t, d, clk)
		kept, err := w.KeptFor(t.Context(), w.db, w.active(ask("shop.test")))
		w.same("error", nil, err)
		w.same("kept", days(sale.DefaultTerms.Kept), kept)
		if _, err := w.KeptFor(t.Context(), w.db, 999); !errors.Is(err, fault.NotFound) {
			t.Errorf("of no service: %v", err)
		}
	})
}

// TestAServiceEndsWithoutItsFinalBackupOnAnOperatorsWordOnly: the backup cannot be made, whatever is tried.
func TestAServiceEndsWithoutItsFinalBackupOnAnOperatorsWordOnly(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		if err := w.order(w.EndUnkept, w.active(ask("live.test"))); !errors.Is(err, fault.ServiceNotActive) {
			t.Errorf("an active service: %v", err)
		}
		id, k := w.terminating("shop.test")
		k.broken = errors.New("the repository is damaged")
		if _, err := w.prov.End(t.Context(), id, false); !errors.Is(err, k.broken) {
			t.Errorf("without a word: %v", err)
		}
		w.same("the account is there", 2, w.panel.accounts())
		if err := w.order(w.EndUnkept, id); err != nil {
			t.Fatal(err)
		}
		w.same("jobs", 2, w.jobs("services.end"))
		for range 2 {
			if _, err := w.prov.End(t.Context(), id, true); err != nil {
				t.Fatal(err)
			}
		}
		w.same("status", Terminated, w.record(id).status)
		w.same("accounts", 1, w.panel.accounts())
		if err := w.order(w.EndUnkept, id); !errors.Is(err, ErrTerminated) {
			t.Errorf("once more: %v", err)
		}
	})
}
