package services

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/port/panel"
)

// ends orders the end of one of account 1's services.
func (w *world) ends(id int64, atPeriodEnd bool) error {
	return w.db.InTx(w.t.Context(), func(ctx context.Context, tx *db.Tx) error { return w.EndOwn(ctx, tx, 1, id, atPeriodEnd) })
}

func (w *world) comesBack(id int64) error {
	return w.db.InTx(w.t.Context(), func(ctx context.Context, tx *db.Tx) error { return w.RestoreOwn(ctx, tx, 1, id, true) })
}

// steps does what is due with a service.
func (w *world) stepsOf(id int64) {
	w.t.Helper()
	if err := w.Step(w.t.Context(), id); err != nil {
		w.t.Fatal(err)
	}
}

func TestAnOwnerEndsAService(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		w.Keeper = &keeper{kept: true}
		for name, c := range map[string]struct {
			before string // what the service is made
			atEnd  bool
			want   error
			status Status
		}{
			"active":                 {"", false, nil, Terminating},
			"past due":               {"status = 'past_due', expires_at = 1, grace_until = 2", true, nil, Terminating},
			"not paid":               {"status = 'suspended', suspend_reason = 'unpaid', suspended_at = 1, expires_at = 1", false, nil, Terminating},
			"by the owner":           {"status = 'suspended', suspend_reason = 'manual', suspended_at = 1, owner_suspended_at = 1", false, nil, Terminating},
			"on its way":             {"status = 'terminating'", false, nil, Terminating},
			"for abuse":              {"status = 'suspended', suspend_reason = 'abuse', suspended_at = 1", false, fault.ServiceSuspended, Suspended},
			"by an operator":         {"status = 'suspended', suspend_reason = 'manual', suspended_at = 2, owner_suspended_at = 1", true, fault.ServiceSuspended, Suspended},
			"for what it takes":      {"status = 'suspended', suspend_reason = 'resource_limit', suspended_at = 1", false, fault.ServiceSuspended, Suspended},
			"ended":                  {"status = 'terminated'", false, ErrTerminated, Terminated},
			"with its paid time":     {"", true, nil, Active},
			"not there yet":          {"status = 'provisioning', panel_ref = ''", true, fault.ServiceNotActive, Provisioning},
			"failed":                 {"status = 'failed', failure_key = 'internal_error'", false, fault.ServiceNotActive, Failed},
			"suspended, at its time": {"status = 'suspended', suspend_reason = 'manual', suspended_at = 1, owner_suspended_at = 1", true, nil, Suspended},
		} {
			id := w.active(ask(strings.Map(letters, name) + ".test"))
			if c.before != "" {
				w.exec(`UPDATE services SET `+c.before+` WHERE id = $1`, id)
			}
			if err := w.ends(id, c.atEnd); !errors.Is(err, c.want) || (err == nil) != (c.want == nil) {
				t.Errorf("%s: %v, want %v", name, err, c.want)
			}
			if r := w.record(id); r.status != c.status {
				t.Errorf("%s: it is %s, want %s", name, r.status, c.status)
			}
			if err := w.db.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error { return w.EndOwn(ctx, tx, 2, id, c.atEnd) }); !errors.Is(err, fault.NotFound) {
				t.Errorf("%s, of another: %v", name, err)
			}
		}
	})
}

func TestWhatAResellerCanDo(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		k := &keeper{}
		w.Keeper = k
		for name, c := range map[string]struct {
			is   string // what the service is made
			kept bool
			want []string
		}{
			"active":          {"", false, []string{"update", "manage_files", "renew", "change_tariff", "login_link", "suspend", "terminate"}},
			"past due":        {"status = 'past_due', expires_at = 1, grace_until = 2", false, []string{"update", "manage_files", "renew", "change_tariff", "login_link", "terminate"}},
			"not paid":        {"status = 'suspended', suspend_reason = 'unpaid', suspended_at = 1", false, []string{"update", "renew", "terminate"}},
			"by the owner":    {"status = 'suspended', suspend_reason = 'manual', suspended_at = 1, owner_suspended_at = 1", false, []string{"update", "unsuspend", "terminate"}},
			"by an operator":  {"status = 'suspended', suspend_reason = 'manual', suspended_at = 2, owner_suspended_at = 1", false, []string{"update"}},
			"on its way":      {"status = 'terminating'", false, []string{}},
			"ended":           {"status = 'terminated'", true, []string{"restore"}},
			"ended for good":  {"status = 'terminated'", false, []string{}},
			"ended for abuse": {"status = 'terminated', suspend_reason = 'abuse', suspended_at = 1", true, []string{}},
			"not there yet":   {"status = 'provisioning', panel_ref = ''", false, []string{"update"}},
			"failed":          {"status = 'failed', failure_key = 'internal_error'", false, []string{}},
		} {
			id := w.active(ask(strings.Map(letters, name) + ".test"))
			if c.is != "" {
				w.exec(`UPDATE services SET `+c.is+` WHERE id = $1`, id)
			}
			k.kept = c.kept
			s, err := w.OwnedOne(t.Context(), w.db, 1, id)
			if err != nil {
				t.Fatal(err)
			}
			w.same(name, c.want, s.AvailableActions)
		}
	})
}

// letters leaves out of a text what no name has.
func letters(r rune) rune {
	if r < 'a' || r > 'z' {
		return -1
	}
	return r
}

func TestAServiceEndsWithItsPaidTime(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		w.Keeper = &keeper{kept: true}
		id := w.active(ask("shop.test"))
		until := *w.record(id).expiresAt
		for range 2 { // the second time changes nothing
			if err := w.ends(id, true); err != nil {
				t.Fatal(err)
			}
		}
		r := w.record(id)
		if r.status != Active || r.autoRenew || r.terminatesAt == nil || !r.terminatesAt.Equal(until) || r.nextRenewalAttemptAt != nil {
			t.Errorf("%+v", r)
		}
		told := w.told(id)
		w.same("told", []string{"service.provisioned", "service.termination_scheduled"}, told[len(told)-2:])

		// Suspended meanwhile and brought back, it ends all the same.
		w.in(func(ctx context.Context, tx *db.Tx) error { return w.SuspendOwn(ctx, tx, 1, id, "") })
		w.in(func(ctx context.Context, tx *db.Tx) error { return w.UnsuspendOwn(ctx, tx, 1, id) })
		before := len(w.told(id))
		w.clk.Advance(until.Sub(w.clk.Now()) - 36*time.Hour)
		w.stepsOf(id)
		w.clk.Advance(36*time.Hour - time.Second)
		w.stepsOf(id)
		w.same("is active to the last second", Active, w.record(id).status)
		w.clk.Advance(time.Second)
		w.stepsOf(id)
		w.same("status", Terminating, w.record(id).status)
		// It was warned three days and one day before, and never reminded of a renewal or called past due.
		w.same("told", []string{"service.termination_scheduled", "service.termination_scheduled", "service.updated"}, w.told(id)[before:])
		w.same("nothing is sold", 0, len(w.till.sales))

		// A change of mind: automatic renewal takes it back, and so does a renewal.
		on := true
		for name, back := range map[string]func(id int64) error{
			"renews by itself": func(id int64) error { return w.Note(t.Context(), 1, id, Notes{AutoRenew: &on}) },
			"renewed": func(id int64) error {
				return w.db.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
					_, _, err := w.renew(ctx, tx, 1, id, renewalWish{})
					return err
				})
			},
		} {
			id := w.active(ask("x" + strings.Map(letters, name) + ".test"))
			if err := errors.Join(w.ends(id, true), back(id)); err != nil {
				t.Fatal(err)
			}
			if r := w.record(id); r.endsAtExpiry || r.terminatesAt != nil {
				t.Errorf("%s: it still ends at %v", name, r.terminatesAt)
			}
		}
	})
}

func TestAnOwnerPaysForAServiceThatComesBack(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		k := &keeper{kept: true}
		w.Keeper = k
		ended := func(domain string) int64 {
			id := w.active(ask(domain))
			if err := w.ends(id, false); err != nil {
				t.Fatal(err)
			}
			if _, err := w.prov.End(t.Context(), id, false); err != nil {
				t.Fatal(err)
			}
			return id
		}
		provision := func(id int64) record {
			t.Helper()
			if err := w.prov.Provision(t.Context(), id, 1); err != nil {
				t.Fatal(err)
			}
			return w.record(id)
		}

		// What is paid already is not paid again.
		early := ended("early.test")
		until := *w.record(early).expiresAt
		if err := w.comesBack(early); err != nil {
			t.Fatal(err)
		}
		if r := provision(early); r.status != Active || !r.expiresAt.Equal(until) || len(w.till.sales) != 0 {
			t.Errorf("%s until %v, %d sales", r.status, r.expiresAt, len(w.till.sales))
		}

		late := ended("late.test")
		w.clk.Advance(w.record(late).expiresAt.Sub(w.clk.Now()))
		price := w.record(late).renewPrice
		outcomes := len(w.outcomes())

		k.gone = true
		if err := w.comesBack(late); !errors.Is(err, ErrRestoreWindow) {
			t.Errorf("too late: %v", err)
		}
		k.gone = false
		w.till.short = true
		if err := w.comesBack(late); !errors.Is(err, fault.InsufficientFunds) {
			t.Errorf("without money: %v", err)
		}
		w.till.short = false
		if err := w.db.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error { return w.RestoreOwn(ctx, tx, 2, late, false) }); !errors.Is(err, fault.NotFound) {
			t.Errorf("of another: %v", err)
		}
		w.same("nothing was sold", 0, len(w.till.sales))
		w.same("status", Terminated, w.record(late).status)

		// The panel refuses it: the money goes back, and it can come back again.
		if err := w.comesBack(late); err != nil {
			t.Fatal(err)
		}
		if err := w.comesBack(late); !errors.Is(err, fault.ServiceNotActive) {
			t.Errorf("twice: %v", err)
		}
		w.panel.fails = panel.ErrInvalid
		if r := provision(late); r.status != Terminated || r.restoreOrderID != nil {
			t.Errorf("%s with the order %v", r.status, r.restoreOrderID)
		}
		w.same("the order", []string{"failed: domain_invalid"}, w.outcomes()[outcomes:])
		w.cleanUpTwice(late)
		w.panel.fails = nil

		// What was kept of it goes while the panel makes its account: the money goes back, and the account goes.
		if err := w.comesBack(late); err != nil {
			t.Fatal(err)
		}
		accounts := w.panel.accounts()
		k.broken = fault.NotFound.New()
		if r := provision(late); r.status != Terminated || r.restoreOrderID != nil {
			t.Errorf("%s with the order %v", r.status, r.restoreOrderID)
		}
		w.same("the orders", []string{"failed: domain_invalid", "failed: restore_window_passed"}, w.outcomes()[outcomes:])
		w.cleanUpTwice(late)
		w.same("accounts", accounts, w.panel.accounts())
		k.broken = nil

		// Its period begins when the panel has it, however long that takes.
		if err := w.comesBack(late); err != nil {
			t.Fatal(err)
		}
		w.clk.Advance(5 * time.Hour)
		began := w.clk.Now()
		for range 2 {
			provision(late)
		}
		r := w.record(late)
		if r.status != Active || !r.expiresAt.Equal(addMonths(began, r.periodMonths)) || r.restoreOrderID != nil {
			t.Errorf("%s until %v with the order %v", r.status, r.expiresAt, r.restoreOrderID)
		}
		w.same("the orders", []string{"completed", "failed: domain_invalid", "failed: restore_window_passed"}, w.outcomes()[outcomes:]) // sorted
		all, err := periodsAfter(t.Context(), w.db, late, began)
		if err != nil || len(all) != 1 || all[0].amount != price || !all[0].starts.Equal(began) || !all[0].ends.Equal(*r.expiresAt) {
			t.Errorf("%+v, %v", all, err)
		}
		for _, sold := range w.till.sales {
			if sold.Kind != "renewal" || sold.Price != price || sold.ServiceID != late || !sold.Keyed {
				t.Errorf("%+v", sold)
			}
		}

		// What an operator suspended, no owner brings back.
		abused := w.active(ask("abused.test"))
		w.in(func(ctx context.Context, tx *db.Tx) error { return w.Suspend(ctx, tx, abused, Abuse) })
		w.in(func(ctx context.Context, tx *db.Tx) error { return w.Terminate(ctx, tx, abused) })
		if _, err := w.prov.End(t.Context(), abused, false); err != nil {
			t.Fatal(err)
		}
		if err := w.comesBack(abused); !errors.Is(err, fault.ServiceSuspended) {
			t.Errorf("suspended for abuse: %v", err)
		}
	})
}

// A service that ended because it was not paid comes back with a period that is paid: what went wrong before is over.
func TestAServiceThatComesBackBeginsAnew(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		w.openPurse()
		w.Keeper = &keeper{kept: true}
		id := w.active(ask("a.test"))
		if status, answer := w.post("own", id, "tariff", `{"plan_id": 4, "when": "renewal"}`); status != http.StatusOK {
			t.Fatal(answer)
		}
		w.days(50)
		if _, err := w.prov.End(t.Context(), id, false); err != nil {
			t.Fatal(err)
		}
		w.same("status", Terminated, w.record(id).status)
		w.pay(1, 10_000)
		if err := w.comesBack(id); err != nil {
			t.Fatal(err)
		}
		if err := w.prov.Provision(t.Context(), id, 1); err != nil {
			t.Fatal(err)
		}
		w.pay(1, 1)
		w.live()
		if err := w.ApplyTariffs(t.Context()); err != nil {
			t.Fatal(err)
		}
		w.same("charges", []string{"499"}, w.texts(`SELECT CAST(amount AS TEXT) FROM test_sales`))
		r := w.record(id)
		w.same("the plan that was paid", []any{int64(3), (*int64)(nil)}, []any{r.planID, r.pendingPlanID})
		if h, err := w.Health(t.Context(), time.Hour); err != nil || h.Failing != 0 {
			t.Errorf("%+v, %v", h, err)
		}
		before := len(w.told(id))
		w.days(26)
		w.same("told", []string{"service.renewal_upcoming", "service.renewal_upcoming"}, w.told(id)[before:])
	})
}

func TestAServiceHasAHistory(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		history := func(id int64) []string {
			return w.texts(`SELECT type || ' ' || COALESCE(previous_status, '') || ' ' || status || ' ' || COALESCE(suspend_reason, '') || ' ' ||
				COALESCE(error_key, '') FROM services_history WHERE service_id = $1 ORDER BY id DESC`, id)
		}
		id := w.active(ask("shop.test"))
		w.in(func(ctx context.Context, tx *db.Tx) error { return w.Suspend(ctx, tx, id, Abuse) })
		w.in(func(ctx context.Context, tx *db.Tx) error { return w.Unsuspend(ctx, tx, id) })
		all := history(id)
		w.same("the newest", []string{"service.unsuspended suspended active  ", "service.suspended active suspended abuse "}, all[:2])
		w.same("as many as were told", len(w.told(id)), len(all))
		failed := w.provisioning(ask("failed.test"))
		w.panel.fails = panel.ErrInvalid
		if err := w.prov.Provision(t.Context(), failed, 1); err != nil {
			t.Fatal(err)
		}
		w.same("a failure", "service.provision_failed provisioning failed  domain_invalid", history(failed)[0])
	})
}
