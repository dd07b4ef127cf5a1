package services

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"stead.dev/stead/internal/commerce/sale"
	"stead.dev/stead/internal/commerce/services/servicestest"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/port/panel"
)

// ends orders the end of one of account 1's services.
func (w *world) ends(id int64, atPeriodEnd bool) error {
	return w.DB.InTx(w.T.Context(), func(ctx context.Context, tx *db.Tx) error { return w.EndOwn(ctx, tx, 1, id, atPeriodEnd) })
}

func (w *world) comesBack(id int64) error {
	return w.DB.InTx(w.T.Context(), func(ctx context.Context, tx *db.Tx) error { return w.RestoreOwn(ctx, tx, 1, id, true) })
}

// steps does what is due with a service.
func (w *world) stepsOf(id int64) {
	w.T.Helper()
	if err := w.Step(w.T.Context(), id); err != nil {
		w.T.Fatal(err)
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
			id := w.active(servicestest.Ask(strings.Map(letters, name) + ".test"))
			if c.before != "" {
				w.Exec(`UPDATE services SET `+c.before+` WHERE id = $1`, id)
			}
			if err := w.ends(id, c.atEnd); !errors.Is(err, c.want) || (err == nil) != (c.want == nil) {
				t.Errorf("%s: %v, want %v", name, err, c.want)
			}
			if r := w.record(id); r.Status != c.status {
				t.Errorf("%s: it is %s, want %s", name, r.Status, c.status)
			}
			if err := w.DB.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error { return w.EndOwn(ctx, tx, 2, id, c.atEnd) }); !errors.Is(err, fault.NotFound) {
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
			id := w.active(servicestest.Ask(strings.Map(letters, name) + ".test"))
			if c.is != "" {
				w.Exec(`UPDATE services SET `+c.is+` WHERE id = $1`, id)
			}
			k.kept = c.kept
			s, err := w.OwnedOne(t.Context(), w.DB, 1, id)
			if err != nil {
				t.Fatal(err)
			}
			w.Same(name, c.want, s.AvailableActions)
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
		id := w.active(servicestest.Ask("shop.test"))
		until := *w.record(id).ExpiresAt
		for range 2 { // the second time changes nothing
			if err := w.ends(id, true); err != nil {
				t.Fatal(err)
			}
		}
		r := w.record(id)
		if r.Status != Active || r.autoRenew || r.terminatesAt == nil || !r.terminatesAt.Equal(until) || r.nextRenewalAttemptAt != nil {
			t.Errorf("%+v", r)
		}
		told := w.Told(id)
		w.Same("told", []string{"service.provisioned", "service.termination_scheduled"}, told[len(told)-2:])

		// Suspended meanwhile and brought back, it ends all the same.
		w.In(func(ctx context.Context, tx *db.Tx) error { return w.SuspendOwn(ctx, tx, 1, id, "") })
		w.In(func(ctx context.Context, tx *db.Tx) error { return w.UnsuspendOwn(ctx, tx, 1, id) })
		before := len(w.Told(id))
		w.Clk.Advance(until.Sub(w.Clk.Now()) - 36*time.Hour)
		w.stepsOf(id)
		w.Clk.Advance(36*time.Hour - time.Second)
		w.stepsOf(id)
		w.Same("is active to the last second", Active, w.record(id).Status)
		w.Clk.Advance(time.Second)
		w.stepsOf(id)
		w.Same("status", Terminating, w.record(id).Status)
		// It was warned three days and one day before, and never reminded of a renewal or called past due.
		w.Same("told", []string{"service.termination_scheduled", "service.termination_scheduled", "service.updated"}, w.Told(id)[before:])
		w.Same("nothing is sold", 0, len(w.Till.Sales))

		// A change of mind: automatic renewal takes it back, and so does a renewal.
		on := true
		for name, back := range map[string]func(id int64) error{
			"renews by itself": func(id int64) error { return w.Note(t.Context(), 1, id, Notes{AutoRenew: &on}) },
			"renewed":          w.renew,
		} {
			id := w.active(servicestest.Ask("x" + strings.Map(letters, name) + ".test"))
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
			id := w.active(servicestest.Ask(domain))
			if err := w.ends(id, false); err != nil {
				t.Fatal(err)
			}
			if _, err := w.prov.End(t.Context(), id, false); err != nil {
				t.Fatal(err)
			}
			return id
		}
		provision := func(id int64) Row {
			t.Helper()
			if err := w.prov.Provision(t.Context(), id, 1); err != nil {
				t.Fatal(err)
			}
			return w.record(id)
		}

		// What is paid already is not paid again.
		early := ended("early.test")
		until := *w.record(early).ExpiresAt
		if err := w.comesBack(early); err != nil {
			t.Fatal(err)
		}
		if r := provision(early); r.Status != Active || !r.ExpiresAt.Equal(until) || len(w.Till.Sales) != 0 {
			t.Errorf("%s until %v, %d sales", r.Status, r.ExpiresAt, len(w.Till.Sales))
		}

		late := ended("late.test")
		w.Clk.Advance(w.record(late).ExpiresAt.Sub(w.Clk.Now()))
		price := w.record(late).RenewPrice
		outcomes := len(w.Outcomes())

		k.gone = true
		if err := w.comesBack(late); !errors.Is(err, ErrRestoreWindow) {
			t.Errorf("too late: %v", err)
		}
		k.gone = false
		w.Till.Short = true
		if err := w.comesBack(late); !errors.Is(err, fault.InsufficientFunds) {
			t.Errorf("without money: %v", err)
		}
		w.Till.Short = false
		if err := w.DB.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error { return w.RestoreOwn(ctx, tx, 2, late, false) }); !errors.Is(err, fault.NotFound) {
			t.Errorf("of another: %v", err)
		}
		w.Same("nothing was sold", 0, len(w.Till.Sales))
		w.Same("status", Terminated, w.record(late).Status)

		// The panel refuses it: the money goes back, and it can come back again.
		if err := w.comesBack(late); err != nil {
			t.Fatal(err)
		}
		if err := w.comesBack(late); !errors.Is(err, fault.ServiceNotActive) {
			t.Errorf("twice: %v", err)
		}
		w.Panel.Fails = panel.ErrInvalid
		if r := provision(late); r.Status != Terminated || r.restoreOrderID != nil {
			t.Errorf("%s with the order %v", r.Status, r.restoreOrderID)
		}
		w.Same("the order", []string{"failed: domain_invalid"}, w.Outcomes()[outcomes:])
		w.cleanUpTwice(late)
		w.Panel.Fails = nil

		// What was kept of it goes while the panel makes its account: the money goes back, and the account goes.
		if err := w.comesBack(late); err != nil {
			t.Fatal(err)
		}
		accounts := w.Panel.Accounts()
		k.broken = fault.NotFound.New()
		if r := provision(late); r.Status != Terminated || r.restoreOrderID != nil {
			t.Errorf("%s with the order %v", r.Status, r.restoreOrderID)
		}
		w.Same("the orders", []string{"failed: domain_invalid", "failed: restore_window_passed"}, w.Outcomes()[outcomes:])
		w.cleanUpTwice(late)
		w.Same("accounts", accounts, w.Panel.Accounts())
		k.broken = nil

		// Its period begins when the panel has it, however long that takes.
		if err := w.comesBack(late); err != nil {
			t.Fatal(err)
		}
		w.Clk.Advance(5 * time.Hour)
		began := w.Clk.Now()
		for range 2 {
			provision(late)
		}
		r := w.record(late)
		if r.Status != Active || !r.ExpiresAt.Equal(sale.AddMonths(began, r.PeriodMonths)) || r.restoreOrderID != nil {
			t.Errorf("%s until %v with the order %v", r.Status, r.ExpiresAt, r.restoreOrderID)
		}
		w.Same("the orders", []string{"completed", "failed: domain_invalid", "failed: restore_window_passed"}, w.Outcomes()[outcomes:]) // sorted
		all, err := w.sold.PaidTimes(t.Context(), w.DB, late, began, *r.ExpiresAt)
		if err != nil || len(all) != 1 || all[0].Amount != price || !all[0].Start.Equal(began) || !all[0].End.Equal(*r.ExpiresAt) {
			t.Errorf("%+v, %v", all, err)
		}
		for _, sold := range w.Till.Sales {
			if sold.Kind != "renewal" || sold.Price != price || sold.ServiceID != late || !sold.Keyed {
				t.Errorf("%+v", sold)
			}
		}

		// What an operator suspended, no owner brings back.
		abused := w.active(servicestest.Ask("abused.test"))
		w.In(func(ctx context.Context, tx *db.Tx) error { return w.Suspend(ctx, tx, abused, Abuse) })
		w.In(func(ctx context.Context, tx *db.Tx) error { return w.Terminate(ctx, tx, abused) })
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
		id := w.active(servicestest.Ask("a.test"))
		if status, answer := w.Post("own", id, "tariff", `{"plan_id": 4, "when": "renewal"}`); status != http.StatusOK {
			t.Fatal(answer)
		}
		w.days(50)
		if _, err := w.prov.End(t.Context(), id, false); err != nil {
			t.Fatal(err)
		}
		w.Same("status", Terminated, w.record(id).Status)
		w.pay(1, 10_000)
		if err := w.comesBack(id); err != nil {
			t.Fatal(err)
		}
		if err := w.prov.Provision(t.Context(), id, 1); err != nil {
			t.Fatal(err)
		}
		w.pay(1, 1)
		w.live()
		if err := w.sold.ApplyTariffs(t.Context()); err != nil {
			t.Fatal(err)
		}
		w.Same("charges", []string{"499"}, w.Texts(`SELECT CAST(amount AS TEXT) FROM test_sales`))
		r := w.record(id)
		w.Same("the plan that was paid", []any{int64(3), (*int64)(nil)}, []any{r.PlanID, r.PendingPlanID})
		if h, err := w.Health(t.Context(), time.Hour); err != nil || h.Failing != 0 {
			t.Errorf("%+v, %v", h, err)
		}
		before := len(w.Told(id))
		w.days(26)
		w.Same("told", []string{"service.renewal_upcoming", "service.renewal_upcoming"}, w.Told(id)[before:])
	})
}

func TestAServiceHasAHistory(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		history := func(id int64) []string {
			return w.Texts(`SELECT type || ' ' || COALESCE(previous_status, '') || ' ' || status || ' ' || COALESCE(suspend_reason, '') || ' ' ||
				COALESCE(error_key, '') FROM services_history WHERE service_id = $1 ORDER BY id DESC`, id)
		}
		id := w.active(servicestest.Ask("shop.test"))
		w.In(func(ctx context.Context, tx *db.Tx) error { return w.Suspend(ctx, tx, id, Abuse) })
		w.In(func(ctx context.Context, tx *db.Tx) error { return w.Unsuspend(ctx, tx, id) })
		all := history(id)
		w.Same("the newest", []string{"service.unsuspended suspended active  ", "service.suspended active suspended abuse "}, all[:2])
		w.Same("as many as were told", len(w.Told(id)), len(all))
		failed := w.provisioning(servicestest.Ask("failed.test"))
		w.Panel.Fails = panel.ErrInvalid
		if err := w.prov.Provision(t.Context(), failed, 1); err != nil {
			t.Fatal(err)
		}
		w.Same("a failure", "service.provision_failed provisioning failed  domain_invalid", history(failed)[0])
	})
}
