package services

import (
	"context"
	"errors"
	"testing"
	"time"

	"stead.dev/stead/internal/commerce/sale"
	"stead.dev/stead/internal/commerce/services/servicestest"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/money"
	"stead.dev/stead/internal/port/panel"
)

// takeOver takes a service over from another system.
func (w *world) takeOver(domain string, from sale.Takeover) (id int64, err error) {
	n := servicestest.Ask(domain)
	n.PeriodMonths, n.RenewPrice = 12, from.Paid
	err = w.DB.InTx(w.T.Context(), func(ctx context.Context, tx *db.Tx) (err error) {
		id, err = w.TakeOver(ctx, tx, n, from)
		return err
	})
	return id, err
}

func (w *world) takenOver(domain string, from sale.Takeover) int64 {
	w.T.Helper()
	id, err := w.takeOver(domain, from)
	if err == nil {
		err = w.attempt(id, 1)
	}
	if err != nil {
		w.T.Fatal(err)
	}
	return id
}

// TestAServiceOfAnotherSystemGoesOn from the day until which it is paid there, without an order that anybody pays.
func TestAServiceOfAnotherSystemGoesOn(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		until := time.Date(2026, 9, 20, 0, 0, 0, 0, time.UTC)
		id := w.takenOver("old.test", sale.Takeover{Source: "whmcs", ID: "7", PaidUntil: until, Paid: 1200})
		r := w.record(id)
		w.Same("status", Active, r.Status)
		w.Same("paid until", until, *r.ExpiresAt)
		w.Same("the price of its renewal", money.USDCents(1200), r.RenewPrice)
		w.Same("accounts", 1, w.Panel.Accounts())
		w.Same("orders that were ended", []string{}, w.Outcomes())
		w.Same("events", []string{"service.created", "service.updated", "service.provisioned"}, w.Told(id))
		paid, err := w.sold.PaidTimes(t.Context(), w.DB, id, r.createdAt, until)
		if err != nil {
			t.Fatal(err)
		}
		w.Same("what is paid", []sale.PaidTime{{Start: until.AddDate(-1, 0, 0), End: until, Amount: 1200}}, paid)

		if _, err := w.takeOver("again.test", sale.Takeover{Source: "whmcs", ID: "7", PaidUntil: until}); !errors.Is(err, fault.AlreadyExists) {
			t.Errorf("a second time: %v", err)
		}
		all, err := w.TakenOver(t.Context(), w.DB, "whmcs")
		if err != nil {
			t.Fatal(err)
		}
		w.Same("what came", map[string]TakenOver{"7": {ServiceID: id, AccountID: 1, Status: Active}}, all)
		w.live()
		w.Same("sales before it is due", 0, len(w.Till.Sales))
		w.Clk.Set(until.AddDate(0, 0, -3))
		w.live()
		w.Same("sales when it is due", 1, len(w.Till.Sales))
		w.Same("paid until then", until.AddDate(1, 0, 0), *w.record(id).ExpiresAt)
	})
}

// TestWhatIsSuspendedElsewhereIsSuspendedHere, on the panel too.
func TestWhatIsSuspendedElsewhereIsSuspendedHere(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		over := w.Clk.Now().AddDate(0, 0, -5)
		for reason, ends := range map[SuspendReason]bool{Unpaid: true, Manual: false} {
			id := w.takenOver(string(reason)+".test", sale.Takeover{Source: "whmcs", ID: string(reason), PaidUntil: over, Paid: 100, Suspended: string(reason)})
			w.followTwice(id)
			r := w.record(id)
			w.Same("status", Suspended, r.Status)
			w.Same("reason", reason, *r.suspendReason)
			w.Same("whether it ends", ends, r.terminatesAt != nil)
			w.Same("on the panel", panel.AccountSuspended, w.Panel.Made[servicestest.RefOf(id)].Status)
			w.Same("events", []string{"service.created", "service.updated", "service.provisioned", "service.suspended"}, w.Told(id))
		}
	})
}

// TestATakeoverThatFailedIsMadeAgain: nobody waits for money.
func TestATakeoverThatFailedIsMadeAgain(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		from := sale.Takeover{Source: "whmcs", ID: "7", PaidUntil: w.Clk.Now().AddDate(0, 1, 0), Paid: 100}
		w.Panel.Fails = panel.ErrInvalid
		failed := w.takenOver("old.test", from)
		w.Same("status", Failed, w.record(failed).Status)
		w.Same("orders that were ended", []string{}, w.Outcomes())
		w.Panel.Fails = nil
		id := w.takenOver("old.test", from)
		w.Same("status of the second", Active, w.record(id).Status)
		all, err := w.TakenOver(t.Context(), w.DB, "whmcs")
		if err != nil {
			t.Fatal(err)
		}
		w.Same("what came", map[string]TakenOver{"7": {ServiceID: id, AccountID: 1, Status: Active}}, all)
	})
}

func TestPeriodsThatArePaidElsewhere(t *testing.T) {
	now := at("2026-03-02 09:00")
	for until, begins := range map[string][]string{
		"2026-03-20 00:00": {"2026-02-20 00:00"},
		"2026-05-31 00:00": {"2026-02-28 00:00", "2026-03-31 00:00", "2026-04-30 00:00"},
		"2025-12-01 00:00": {"2025-11-01 00:00"},
	} {
		got := paidPeriods(at(until), 1, 50, now)
		if len(got) != len(begins) || !got[len(got)-1].End.Equal(at(until)) {
			t.Errorf("until %s: %+v", until, got)
			continue
		}
		for i, p := range got {
			if !p.Start.Equal(at(begins[i])) || p.Amount != 50 || i > 0 && !p.Start.Equal(got[i-1].End) {
				t.Errorf("until %s: %+v", until, got)
			}
		}
	}
}
