package orders

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"stead.dev/stead/internal/commerce/sale"
	"stead.dev/stead/internal/platform/money"
)

var everyStatus = []Status{Pending, Paid, Processing, Completed, Failed, Refunded, Cancelled, Expired}

// TestAnOrderMovesOnlyAlongTheTable goes through every state and event. What the table
// does not hold must be refused.
func TestAnOrderMovesOnlyAlongTheTable(t *testing.T) {
	type step struct {
		from Status
		by   event
	}
	want := map[step]Status{
		{Pending, payment}:       Paid,
		{Pending, cancellation}:  Cancelled,
		{Pending, timeUp}:        Expired,
		{Paid, workBegun}:        Processing,
		{Processing, workDone}:   Completed,
		{Processing, workFailed}: Failed,
		{Failed, moneyBack}:      Refunded,
	}
	got := map[step]Status{}
	for _, from := range everyStatus {
		for _, by := range []event{payment, workBegun, workDone, workFailed, moneyBack, cancellation, timeUp} {
			if to, ok := from.after(by); ok {
				got[step{from, by}] = to
			}
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("transitions (-want +got):\n%s", diff)
	}
}

func TestOnlyAPendingOrderCanBePaid(t *testing.T) {
	now := time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)
	for status, want := range map[Status]error{
		Pending: nil, Paid: ErrAlreadyPaid, Processing: ErrAlreadyPaid, Completed: ErrAlreadyPaid,
		Failed: ErrNotPayable, Refunded: ErrNotPayable, Cancelled: ErrNotPayable, Expired: ErrNotPayable,
	} {
		if err := (order{status: status, expiresAt: now.Add(time.Second)}).payable(now); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", status, err, want)
		}
	}
	if err := (order{status: Pending, expiresAt: now}).payable(now); !errors.Is(err, ErrNotPayable) {
		t.Errorf("a pending order whose time is up: %v", err)
	}
}

func TestAnItemIsPricedFromTheOffer(t *testing.T) {
	cents := func(c money.USDCents) *money.USDCents { return &c }
	for name, c := range map[string]struct {
		price, setup          money.USDCents
		first                 *money.USDCents
		unit, discount, total money.USDCents
	}{
		"plain":             {price: 500, unit: 500, total: 500},
		"setup":             {price: 500, setup: 300, unit: 500, total: 800},
		"cheap at first":    {price: 500, first: cents(100), unit: 500, discount: 400, total: 100},
		"free at first":     {price: 500, first: cents(0), setup: 50, unit: 500, discount: 500, total: 50},
		"dear at first":     {price: 500, first: cents(900), unit: 900, total: 900},
		"free for all time": {},
	} {
		got, err := newItem(sale.Offer{PlanID: 1, PlanName: "Start", PeriodMonths: 1, Price: c.price, FirstPeriodPrice: c.first, Setup: c.setup}, "a.test")
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if got.unitPrice != c.unit || got.discount != c.discount || got.setup != c.setup || got.total != c.total {
			t.Errorf("%s: %+v", name, got)
		}
	}
	if _, err := newItem(sale.Offer{Price: 1<<63 - 1, Setup: 1}, "a.test"); !errors.Is(err, money.ErrOverflow) {
		t.Errorf("a price beyond all bounds: %v", err)
	}
}

func TestTheNumberBearsTheYearAndTheID(t *testing.T) {
	at := time.Date(2026, 12, 31, 23, 59, 0, 0, time.UTC)
	for id, want := range map[int64]string{123: "ORD-2026-000123", 1_234_567: "ORD-2026-1234567"} {
		if got := (order{id: id, createdAt: at}).number(); got != want {
			t.Errorf("%d: %s", id, got)
		}
	}
}
